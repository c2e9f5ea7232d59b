"""Each model of counts with its independent reference, and the same methods as `contract` has."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp

from bayesanno import CountData, get_model
from bayesanno.modeling.arguments import CountDesign
from bayesanno.modeling.posterior import compile_formula
from tests.models.contract import PRIOR_DRAWS, AnyCase, as_params, make_case, models_of, variants_of
from tests.models.graphs import FAST, Graph, distance_between, turn_states
from tests.models.references_counts import REFERENCES, Parameters, count_probability, counts

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping


N = 3  # answers to each of the two items of a process
STARTS = (
    ((1, 4), (0, 4), (3, 4), (4, 4), (2, 4)),
    ((0, 4), (0, 4)),
    ((4, 4), (4, 4)),
    ((1, 1),),
)  # fmt: skip


def count_cases() -> list[Any]:
    """Each model of counts with each of its variants, as pytest parameters."""
    return as_params({name: variants_of(name, REFERENCES) for name in models_of(CountData)})


_made: dict[str, CountCase] = {}


def make_any_case(name: str, fields: Mapping[str, Any]) -> AnyCase:
    """One model of annotations or of counts; its graphs are compiled once, and take other data."""
    if name not in models_of(CountData):
        return make_case(name, fields)
    key = f"{name} {fields}"
    if key not in _made:
        _made[key] = CountCase(name, fields)
    return _made[key]


class CountCase(AnyCase):
    """One model of counts, whose answers are 0 or 1 in an order."""

    controls = (None,)
    no_field = 0

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        if name not in REFERENCES:
            pytest.fail(f"the zoo has a model {name!r} of counts without a reference: add one to references_counts.py")
        reference = REFERENCES[name]
        super().__init__(get_model(name, fields), reference, reference.data, reference.data)
        self.tables, self.tables_to_draw = [self.data], [counts(*self._pairs()[:3])]
        self.starts = [counts(*pairs) for pairs in STARTS]
        self.at_edges = [name for name in (*reference.shares, "weight") if name in self.prior_draws[0]]
        self.excludes_answers = "rate" in self.prior_draws[0]  # a known rate between 0 and 1 does not

    def _pairs(self) -> list[tuple[int, int]]:
        return [*zip(self.data.successes.tolist(), self.data.trials.tolist(), strict=True)]

    def random_table(self, rng: np.random.Generator) -> CountData:
        """Counts of up to six answers, of which there is one at least; of four where all items have as many."""
        equal = len(set(self.data.trials)) == 1
        trials = [4 if equal else int(n) for n in rng.integers(7, size=rng.integers(1, 10))]
        trials[0] = max(trials[0], 1)
        return counts(*((int(rng.integers(n + 1)), n) for n in trials))

    def whole(self, parameters: Parameters, data: CountData | None = None) -> dict[str, np.ndarray]:  # noqa: ARG002
        """The parameters, those that are known beforehand included."""
        return {**parameters, **self.known}

    def log_prior(self, parameters: Parameters, **changed: Any) -> float:
        """The reference's log prior density, with some fields changed."""
        fields = self.entry.to_fields() | changed
        return self.reference.log_prior(self.whole(parameters), fields, int(self.data.trials.max()))

    def state_logp(self, parameters: Parameters, data: CountData) -> np.ndarray:
        """The reference's log p(type, answers in order), shape (item, type)."""
        whole, pairs = self.whole(parameters), zip(data.successes.tolist(), data.trials.tolist(), strict=True)
        return np.array([self.reference.answers_logp(whole, (1,) * x + (0,) * (n - x)) for x, n in pairs])

    def item_logp(self, parameters: Parameters, data: CountData) -> np.ndarray:
        """The reference's log p(answers in order), shape (item,)."""
        return logsumexp(self.state_logp(parameters, data), axis=1)

    def probability(self, parameters: Parameters, data: CountData) -> np.ndarray:
        """By Bayes' rule, p(type | answers), shape (item, type)."""
        joint = self.state_logp(parameters, data)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def total_probability(self, graph: Graph, parameters: Parameters) -> float:
        """Of all counts of four answers, each of which comes in several orders."""
        orders = [comb(4, x) for x in range(5)]
        return orders @ np.exp(graph.item_logp(parameters, counts(*((x, 4) for x in range(5)))))

    def views(self, parameters: Parameters, data: CountData) -> dict[str, np.ndarray]:
        """The probability that an item is of the type whose rate is nearest to one half."""
        rates = np.asarray(self.reference.rates(self.whole(parameters), int(data.trials.max())))
        return {"hard": self.probability(parameters, data)[:, np.abs(rates - 0.5).argmin()]}

    # ------------------------------------------------------------------------------------ the generative process

    @cached_property
    def telling(self) -> Parameters:
        """Parameters from the prior under which draws can disagree, and successes are not failures."""
        for parameters in self.draw(PRIOR_DRAWS, np.random.default_rng(1)):
            pmf = self.pmf(parameters)
            (failures,) = self.of_other_annotators(parameters)
            if max(pmf.values()) < 0.8 and distance_between(pmf, failures) > 0.1:
                return parameters
        return pytest.fail("no draw of the prior is fit to test with")

    def of_other_annotators(self, parameters: Parameters) -> list[dict[Hashable, float]]:
        """The pmf if successes were failures."""
        return [{(i, j, N - x, N - y): p for (i, j, x, y), p in self.pmf(parameters).items()}]

    def of_another_truth(self, parameters: Parameters) -> list[dict[Hashable, float]]:
        """The pmf if each type were the next one."""
        return [turn_states(self.pmf(parameters), max(2, self.entry.n_types))]

    def pmf(self, parameters: Parameters, control: None = None) -> dict[Hashable, float]:  # noqa: ARG002
        """By enumeration, p(type of u, type of v, successes of u, of v)."""
        one = {x: count_probability(self.reference, self.whole(parameters), x, N) for x in range(N + 1)}
        types = [*product(range(self.entry.n_types), repeat=2)]
        return {(i, j, x, y): one[x][i] * one[y][j] for x, y in product(one, one) for i, j in types}

    def copy_two_items(
        self,
        parameters: Parameters,
        copies: int,
        control: None,  # noqa: ARG002
    ) -> tuple[CountDesign, Parameters]:
        """Two items with N trials many times, and the parameters."""
        design = CountDesign(trials=pt.as_tensor(np.full(2 * copies, N)), n_items=pt.as_tensor(2 * copies))
        return design, self.whole(parameters)

    def predict(self, parameters: Parameters, rng: np.random.Generator, copies: int) -> np.ndarray:
        """Draws of the observed variable with the parameters held, one row per copy of two items."""
        held = pm.do(self.entry.build(counts(*[(0, N)] * 2 * copies)), parameters)
        return pm.draw(held["successes"], random_seed=rng, mode=FAST).reshape(copies, -1)

    def draw_states(self, parameters: Parameters, data: CountData, rng: np.random.Generator, copies: int) -> np.ndarray:
        """Drawn types, one row per copy of the items."""
        pairs = zip(data.successes.tolist(), data.trials.tolist(), strict=True)
        formula = compile_formula(self.entry, counts(*[*pairs] * copies), self.posterior([parameters], n_chains=1))
        return formula.draw_states(random_seed=rng).values.reshape(copies, -1)
