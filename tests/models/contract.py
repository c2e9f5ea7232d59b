"""What the contract of the zoo is checked with: tiny designs, graphs on the natural scale, tolerances."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from pytensor.graph.replace import clone_replace
from scipy.stats import chisquare

from bayesanno import AnnotationData, AnnotationModel, list_models
from bayesanno.modeling.arguments import Design
from bayesanno.modeling.arguments import Parameters as SymbolicParameters
from bayesanno.modeling.data_adapters import DATA_ADAPTERS
from bayesanno.modeling.likelihood import observed_arrays
from bayesanno.modeling.registry import model_class
from tests.models.guests import GUESTS
from tests.models.references import REFERENCES, Parameters, Reference, Said

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

# Compiles in a second, and values are exact in any mode; without sums of more terms than Python can evaluate at once.
FAST = Mode(linker="py", optimizer="fast_compile").excluding("fusion", "add_mul_fusion", "local_add_canonizer")
EXACT = 1e-10  # graph against enumeration, absolute and relative
GRADIENT = 1e-6  # gradient against central differences, relative
P_VALUE = 1e-4  # below it, draws do not come from the probabilities they should come from
ROUND_TRIP = 1e-6  # after a way to the unconstrained scale and back, which costs digits near the edge of a range
PRIOR_DRAWS = 100
COPIES = 20_000  # draws that a chi-square test is made of
FEW_COPIES = 4_000  # draws that suffice to notice a broken model


def search_sorted(cumulative: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The index of the first number that is not below u, among those along the last axis, which ascend.

    `np.searchsorted` of many rows at once. PyTensor's categorical draws call that row by row, where they are not
    compiled, and take most of the time of the chi-square tests.
    """
    return (cumulative < np.asarray(u)[..., None]).sum(axis=-1)


RECORDS = (
    ("s1", "ada", "no"),
    ("s1", "ada", "yes"),  # ada answers twice
    ("s1", "bo", "no"),
    ("s2", "cy", "yes"),
    ("s2", "bo", "yes"),
    ("s2", "ada", "no"),
    ("s3", "cy", "no"),
    ("s5", "ada", "no"),  # the answers of s2 in another order
    ("s5", "bo", "yes"),
    ("s5", "cy", "yes"),
    ("s6", "cy", "yes"),
    ("s6", "cy", "yes"),  # cy repeats the same answer
)
ITEMS = ("s1", "s2", "s3", "s4", "s5", "s6")  # s4 has no annotation
LABELS = ("no", "perhaps", "yes")  # nobody says "perhaps"


@dataclass(frozen=True)
class Designs:
    """The tiny designs, with these labels: the first, the last, and whatever is between, which nobody says."""

    labels: tuple[str, ...]

    def annotations(self, *more: tuple[str, str, str], controls: Mapping[str, str] | None = None) -> AnnotationData:
        """The records, and more."""
        return AnnotationData.from_records([*RECORDS, *more], items=ITEMS, labels=self.labels, controls=controls)

    @cached_property
    def tiny(self) -> AnnotationData:
        return self.annotations()

    @cached_property
    def every_label(self) -> AnnotationData:
        """What models take from data beforehand, they take from these, where all labels are used."""
        return self.annotations(("s4", "bo", self.labels[1]), ("s4", "cy", self.labels[1]))

    @cached_property
    def controlled(self) -> AnnotationData:
        return self.annotations(controls={"s1": "yes", "s4": self.labels[1], "s5": "no"})

    def two_items(self, said: tuple[int, ...] | None = None, *, control: str | None = None) -> AnnotationData:
        """Item u, which ada answers twice and bo once, and item v, which bo and cy answer: five answers."""
        last = len(self.labels) - 1
        return AnnotationData(
            item=[0, 0, 0, 1, 1],
            annotator=[0, 0, 1, 1, 2],
            label=[0, last, 0, 0, last] if said is None else list(said),
            items=("u", "v"),
            annotators=("ada", "bo", "cy"),
            labels=self.labels,
            controls={} if control is None else {"u": control},
        )

    def answers_to(self, n_questions: int) -> list[tuple[int, ...]]:
        return list(product(range(len(self.labels)), repeat=n_questions))


THREE_LABELS, TWO_LABELS = Designs(LABELS), Designs(("no", "yes"))
TINY, CONTROLLED = THREE_LABELS.tiny, THREE_LABELS.controlled


def replicate(data: AnnotationData, copies: int) -> AnnotationData:
    """The same items many times, copy after copy."""
    shift = np.repeat(np.arange(copies), data.n_annotations) * data.n_items
    return AnnotationData(
        item=np.tile(data.item, copies) + shift,
        annotator=np.tile(data.annotator, copies),
        label=np.tile(data.label, copies),
        items=tuple(f"{name}.{copy}" for copy in range(copies) for name in data.items),
        annotators=data.annotators,
        labels=data.labels,
        controls={f"{name}.{copy}": label for copy in range(copies) for name, label in data.controls.items()},
    )


def said_of(data: AnnotationData, item: int) -> Said:
    return [(int(data.annotator[n]), int(data.label[n])) for n in np.flatnonzero(data.item == item)]


# --------------------------------------------------------------------------------------------------- the cases


def models_of(data_class: type) -> list[str]:
    """The models of the zoo for one kind of data."""
    return [name for name in list_models()["name"] if model_class(name).data_class is data_class]


def cases() -> list[Any]:
    """Each model of annotations with each of its variants, and the guests, as pytest parameters."""
    found = []
    for name in models_of(AnnotationData):
        variants = REFERENCES[name].variants if name in REFERENCES else {"default": {}}
        found += [pytest.param((name, fields), id=f"{name}-{variant}") for variant, fields in variants.items()]
    guests = {name: reference.variants for name, (_, reference) in GUESTS.items()}
    for name, variants in guests.items():
        found += [pytest.param((name, fields), id=f"{name}-{variant}") for variant, fields in variants.items()]
    return found


def known_values(model: AnnotationModel, data: Any) -> dict[str, np.ndarray]:
    """The parameters that a model has beforehand."""
    return {name: known.value for name, known in model.fixed_parameters(data).items()}


class Case:
    """One model with its reference, and its graphs as functions of parameters on their natural scale."""

    def __init__(self, entry: AnnotationModel, reference: Reference) -> None:
        self.entry = entry
        self.reference = reference
        self.designs = designs_for(entry)
        self.known = known_values(entry, self.designs.every_label)
        self.graph = Graph(entry, self.designs.tiny, self.known)
        free = self.graph.model.free_RVs
        values = pm.draw(free, draws=PRIOR_DRAWS, random_seed=PRIOR_DRAWS, mode=FAST)
        names = [variable.name for variable in free]
        self.prior_draws = [dict(zip(names, one, strict=True)) for one in zip(*values, strict=True)]

    @property
    def has_classes(self) -> bool:
        """The states are the labels, and can be permuted."""
        return self.entry.state_dim == "true_class"

    def whole(self, parameters: Parameters, data: AnnotationData | None = None) -> dict[str, Any]:
        """The parameters, those that were taken from data included, and the reference's number of nodes."""
        whole, data = {**self.known, **parameters}, self.designs.tiny if data is None else data
        return whole | self.reference.nodes(whole, [said_of(data, i) for i in range(data.n_items)])

    def draw(self, n: int, rng: np.random.Generator) -> list[Parameters]:
        """Parameters from the prior."""
        return [self.prior_draws[i] for i in rng.choice(PRIOR_DRAWS, size=n, replace=False)]

    def states(self, parameters: Parameters, data: AnnotationData) -> np.ndarray:
        """The reference's p(state, answers), impossible states left out; shape (item, state)."""
        whole, known = self.whole(parameters, data), data.control_codes
        each = (self._of_item(whole, i) for i in range(data.n_items))
        return np.array([self.reference.states(one, said_of(data, i), known[i]) for i, one in enumerate(each)])

    def _of_item(self, parameters: Parameters, item: int) -> Parameters:
        """The parameters as one item sees them: of those that items have, its own."""
        return {name: values[item] if name in self.of_items else values for name, values in parameters.items()}

    @cached_property
    def of_items(self) -> set[str]:
        """The parameters that every item has one of."""
        return {name for name, dims in self.graph.model.named_vars_to_dims.items() if dims[:1] == ("item",)}

    def for_copies(self, parameters: Parameters, n_items: int, copies: int) -> Parameters:
        """The parameters of the first items, over and over, as `replicate` repeats the items."""
        tiled = {name: np.tile(parameters[name][:n_items], copies) for name in self.of_items if name in parameters}
        return {**parameters, **tiled}

    def item_logp(self, parameters: Parameters, data: AnnotationData) -> np.ndarray:
        """The reference's log p(answers), shape (item,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.states(parameters, data).sum(axis=1))

    def posterior(self, samples: list[Parameters], n_chains: int) -> xr.Dataset:
        return as_posterior(self.graph.model, samples, n_chains)


def designs_for(entry: AnnotationModel) -> Designs:
    return TWO_LABELS if entry.two_labels else THREE_LABELS


def make_case(name: str, fields: Mapping[str, Any]) -> Case:
    if name in GUESTS:
        model, reference = GUESTS[name]
        return Case(model.from_fields(fields), reference)
    if name not in REFERENCES:
        pytest.fail(f"the zoo has a model {name!r} without a reference: add one to REFERENCES in tests/references.py")
    entry = model_class(name).from_fields(fields)
    return Case(entry, REFERENCES[name].with_fields(entry.to_fields()))


class Graph:
    """A model's likelihood per item as a function of parameters and, by `set_data`, of answers."""

    def __init__(
        self, entry: AnnotationModel, data: AnnotationData, fixed: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.entry, self.data = entry, data
        self.model = entry.build(data)
        dims = self.model.named_vars_to_dims  # items have columns of their own in every design
        pm.set_data({name: of for name, of in (fixed or {}).items() if dims[name] != ("item",)}, self.model)
        observed = self.model[DATA_ADAPTERS[entry.data_class].observed]
        logp = pm.logp(observed, self.model.rvs_to_values[observed], warn_rvs=False)
        # a parameter may only say where others come from
        self._evaluate = pytensor.function(self.model.free_RVs, logp, mode=FAST, on_unused_input="ignore")

    def item_logp(self, parameters: Parameters, data: AnnotationData | None = None) -> np.ndarray:
        pm.set_data(observed_arrays(self.entry, self.data if data is None else data), self.model)
        return self._evaluate(*(parameters[variable.name] for variable in self.model.free_RVs))

    @cached_property
    def density(self) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
        """The log density that samplers see, and its gradient, at points on their scale."""
        return self.model.compile_fn([self.model.logp(), self.model.dlogp()], mode=FAST)

    @cached_property
    def prior_and_joint(self) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
        """The log densities of the parameters, and of them with the answers, on the scale of the parameters."""
        prior = self.model.logp(vars=self.model.free_RVs, jacobian=False)
        return self.model.compile_fn([prior, self.model.logp(jacobian=False)], mode=FAST)


def simulate(
    entry: AnnotationModel,
    case: Case,
    parameters: Parameters,
    data: AnnotationData,
    rng: np.random.Generator,
    copies: int = COPIES,
) -> np.ndarray:
    """Draws of (state of u, state of v, their five answers), one row per copy of the design."""
    many = replicate(data, copies)
    design = Design(
        annotator=pt.as_tensor(many.annotator),
        item=pt.as_tensor(many.item),
        n_items=pt.as_tensor(many.n_items),
        names_class=many.names_class,
        control=pt.as_tensor(many.control_codes) if many.controls else None,
    )
    whole = case.for_copies(case.whole(parameters), data.n_items, copies)
    process = entry.generate(design, SymbolicParameters({name: pt.as_tensor(values) for name, values in whole.items()}))
    state, said = pm.draw(list(process), random_seed=rng, mode=FAST)
    return np.column_stack([state.reshape(copies, -1), said.reshape(copies, -1)])


def as_posterior(model: pm.Model, samples: list[Parameters], n_chains: int = 1) -> xr.Dataset:
    """Parameters as draws of a posterior, dims (chain, draw, ...)."""
    n_draws = len(samples) // n_chains
    variables, coords = {}, {"chain": np.arange(n_chains), "draw": np.arange(n_draws)}
    for variable in model.free_RVs:
        dims = model.named_vars_to_dims.get(variable.name, ())
        values = np.stack([one[variable.name] for one in samples])
        variables[variable.name] = (("chain", "draw", *dims), values.reshape(n_chains, n_draws, *values.shape[1:]))
        coords |= {dim: list(model.coords[dim]) for dim in dims}
    return xr.Dataset(variables, coords=coords)


def unconstrained(model: pm.Model, samples: list[Parameters]) -> list[dict[str, np.ndarray]]:
    """The same points on the scale that samplers see, which may be one that depends on other parameters."""
    free, outside = model.free_RVs, []
    value_of = {variable: variable.type() for variable in free}
    for variable, value in value_of.items():
        transform = model.rvs_to_transforms[variable]  # none where samplers see the variable as it is
        outside.append(transform.forward(value, *variable.owner.inputs) if transform else value * 1.0)
    forward = pytensor.function(list(value_of.values()), clone_replace(outside, value_of), mode=FAST)
    names = [model.rvs_to_values[variable].name for variable in free]
    moved = (forward(*(parameters[variable.name] for variable in free)) for parameters in samples)
    return [dict(zip(names, one, strict=True)) for one in moved]


def is_simplex(values: np.ndarray) -> bool:
    return values.ndim > 0 and bool(np.allclose(values.sum(axis=-1), 1))


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=EXACT, atol=EXACT)


# --------------------------------------------------------------------------------------------------- broken models


def broken(entry: AnnotationModel, **methods: Any) -> AnnotationModel:
    """The same model with methods replaced: what a test must notice."""
    return type("Broken", (type(entry),), methods)(**entry.to_fields())


def with_wrong_formula(entry: AnnotationModel) -> AnnotationModel:
    """Favours the first state: a factor that the generative process does not have."""

    def state_logp(self: AnnotationModel, answers: Any, p: Any) -> Any:
        logp = type(entry).state_logp(self, answers, p)
        return logp + pt.eq(pt.arange(logp.shape[1]), 0) * np.log(2.0)

    return broken(entry, state_logp=state_logp)


def with_wrong_annotators(entry: AnnotationModel) -> AnnotationModel:
    """Gives every answer to the annotator before."""

    def generate(self: AnnotationModel, design: Design, p: Any) -> Any:
        moved = pt.mod(design.annotator + 2, 3)
        wrong = replace(design, annotator=moved)
        return type(entry).generate(self, wrong, p)

    return broken(entry, generate=generate)


def with_wrong_truth(entry: AnnotationModel) -> AnnotationModel:
    """Says another truth than the one that the answers came from."""

    def generate(self: AnnotationModel, design: Design, p: Any) -> Any:
        state, said = type(entry).generate(self, design, p)
        return pt.mod(state + 1, len(entry.states(designs_for(entry).tiny))), said

    return broken(entry, generate=generate)


# --------------------------------------------------------------------------------------------------- statistics


def joint_pmf(case: Case, parameters: Parameters, *, control: str | None = None) -> dict[Hashable, float]:
    """By enumeration, p(state of u, state of v, all five answers), given the control if there is one."""
    two_items, answers_to = case.designs.two_items, case.designs.answers_to
    u = {said: case.states(parameters, two_items((*said, 0, 0), control=control))[0] for said in answers_to(3)}
    v = {said: case.states(parameters, two_items((0, 0, 0, *said)))[1] for said in answers_to(2)}
    pmf = {
        (i, j, *of_u, *of_v): u[of_u][i] * v[of_v][j]
        for of_u, of_v in product(u, v)
        for i, j in product(range(u[of_u].size), range(v[of_v].size))
    }
    total = sum(pmf.values())
    return {cell: probability / total for cell, probability in pmf.items()}


def answers_pmf(pmf: Mapping[Any, float]) -> dict[Hashable, float]:
    """Sum the states out of a joint pmf."""
    summed: Counter[Hashable] = Counter()
    for (_, _, *said), probability in pmf.items():
        summed[tuple(said)] += probability
    return dict(summed)


def chi_square(draws: np.ndarray, pmf: Mapping[Any, float], *, least: float = 5.0) -> float:
    """The p-value of draws (draw, number) against a pmf over tuples; cells that expect few draws are taken together."""
    counts = Counter(map(tuple, draws.tolist()))
    if any(pmf.get(cell, 0.0) == 0 for cell in counts):
        return 0.0
    cells = sorted(pmf, key=pmf.__getitem__)
    expected, observed, e, o = [], [], 0.0, 0
    for cell in cells:
        e, o = e + len(draws) * pmf[cell], o + counts[cell]
        if e >= least:
            expected, observed, e, o = [*expected, e], [*observed, o], 0.0, 0
    expected[-1] += e
    observed[-1] += o
    return float(chisquare(observed, np.asarray(expected, dtype=float), sum_check=False).pvalue)
