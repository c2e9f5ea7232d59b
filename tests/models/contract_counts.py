"""What the contract of the models of counts is checked with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytest
from scipy.special import logsumexp

from bayesanno import CountData, get_model
from tests.models.contract import FAST, PRIOR_DRAWS, Graph, known_values, models_of
from tests.models.references_counts import REFERENCES, Parameters

if TYPE_CHECKING:
    from collections.abc import Mapping


def count_cases() -> list[Any]:
    """Each model of counts with each of its variants, as pytest parameters."""
    found = []
    for name in models_of(CountData):
        variants = REFERENCES[name].variants if name in REFERENCES else {"default": {}}
        found += [pytest.param((name, fields), id=f"{name}-{variant}") for variant, fields in variants.items()]
    return found


class CountCase:
    """One model of counts with its reference, and its graph as a function of parameters on their natural scale."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        if name not in REFERENCES:
            pytest.fail(f"the zoo has a model {name!r} of counts without a reference: add one to references_counts.py")
        self.reference, self.entry = REFERENCES[name], get_model(name, fields)
        self.data = self.reference.data
        self.known = known_values(self.entry, self.data)
        self.graph = Graph(self.entry, self.data)
        free = self.graph.model.free_RVs
        values = pm.draw(free, draws=PRIOR_DRAWS, random_seed=PRIOR_DRAWS, mode=FAST)
        names = [variable.name for variable in free]
        self.prior_draws = [dict(zip(names, one, strict=True)) for one in zip(*values, strict=True)]

    def draw(self, n: int, rng: np.random.Generator) -> list[Parameters]:
        """Parameters from the prior."""
        return [self.prior_draws[i] for i in rng.choice(PRIOR_DRAWS, size=n, replace=False)]

    def whole(self, parameters: Parameters) -> dict[str, np.ndarray]:
        """The parameters, those that are known beforehand included."""
        return {**parameters, **self.known}

    def state_logp(self, parameters: Parameters, data: CountData) -> np.ndarray:
        """The reference's log p(type, answers in order), shape (item, type)."""
        whole, rows = self.whole(parameters), []
        for x, n in zip(data.successes.tolist(), data.trials.tolist(), strict=True):
            rows.append(self.reference.answers_logp(whole, (1,) * x + (0,) * (n - x)))
        return np.array(rows)

    def item_logp(self, parameters: Parameters, data: CountData) -> np.ndarray:
        """The reference's log p(answers in order), shape (item,)."""
        return logsumexp(self.state_logp(parameters, data), axis=1)

    def probability(self, parameters: Parameters, data: CountData) -> np.ndarray:
        """By Bayes' rule, p(type | answers), shape (item, type)."""
        joint = self.state_logp(parameters, data)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def log_prior(self, parameters: Parameters, **changed: Any) -> float:
        """The reference's log prior density, with some fields changed."""
        fields = self.entry.to_fields() | changed
        return self.reference.log_prior(self.whole(parameters), fields, int(self.data.trials.max()))
