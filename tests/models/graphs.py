"""Graphs of models as functions of parameters on their natural scale, and broken models."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from pytensor.compile.mode import Mode
from pytensor.graph.replace import clone_replace
from scipy.stats import chisquare

from bayesanno import AnnotationData, AnnotationModel
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.likelihood import observed_arrays
from tests.models.references import Parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

# Compiles in a second, and values are exact in any mode; without sums of more terms than Python can evaluate at once.
FAST = Mode(linker="py", optimizer="fast_compile").excluding("fusion", "add_mul_fusion", "local_add_canonizer")
EXACT = 1e-10  # graph against enumeration, absolute and relative
GRADIENT = 1e-6  # gradient against central differences, relative
P_VALUE = 1e-4  # below it, draws do not come from the probabilities they should come from
ROUND_TRIP = 1e-6  # after a way to the unconstrained scale and back, which costs digits near the edge of a range


def search_sorted(cumulative: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The index of the first number that is not below u, among those along the last axis, which ascend.

    `np.searchsorted` of many rows at once. PyTensor's categorical draws call that row by row, where they are not
    compiled, and take most of the time of the chi-square tests.
    """
    return (cumulative < np.asarray(u)[..., None]).sum(axis=-1)


class Graph:
    """A model's likelihood per item as a function of parameters and, by `set_data`, of answers."""

    def __init__(
        self, entry: AnnotationModel, data: AnnotationData, fixed: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.entry, self.data = entry, data
        self.model = entry.build(data)
        dims = self.model.named_vars_to_dims  # items have columns of their own in every design
        pm.set_data({name: of for name, of in (fixed or {}).items() if dims[name] != ("item",)}, self.model)

    @cached_property
    def _evaluate(self) -> Callable[..., np.ndarray]:
        observed = self.model[kind_of(self.entry).observed]
        logp = pm.logp(observed, self.model.rvs_to_values[observed], warn_rvs=False)
        # a parameter may only say where others come from
        return pytensor.function(self.model.free_RVs, logp, mode=FAST, on_unused_input="ignore")

    def observe(self, data: Any) -> None:
        """Put other answers into the graph."""
        pm.set_data(observed_arrays(self.entry, data), self.model)

    def item_logp(self, parameters: Parameters, data: AnnotationData | None = None) -> np.ndarray:
        self.observe(self.data if data is None else data)
        return self._evaluate(*(parameters[variable.name] for variable in self.model.free_RVs))

    def accuracy(self, parameters: Parameters) -> np.ndarray:
        """The deterministic of that name."""
        return pm.draw(pm.do(self.model, parameters)["accuracy"], mode=FAST)

    @cached_property
    def density(self) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
        """The log density that samplers see, and its gradient, at points on their scale."""
        return self.model.compile_fn([self.model.logp(), self.model.dlogp()], mode=FAST)

    @cached_property
    def prior_and_joint(self) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
        """The log densities of the parameters, and of them with the answers, on the scale of the parameters."""
        prior = self.model.logp(vars=self.model.free_RVs, jacobian=False)
        return self.model.compile_fn([prior, self.model.logp(jacobian=False)], mode=FAST)

    @cached_property
    def unconstrained(self) -> Callable[[list[Parameters]], list[dict[str, np.ndarray]]]:
        """The function from points to the scale that samplers see."""
        return compile_unconstrained(self.model)


def compile_unconstrained(model: pm.Model) -> Callable[[list[Parameters]], list[dict[str, np.ndarray]]]:
    """The function from points to the scale that samplers see, which may depend on other parameters."""
    free, outside = model.free_RVs, []
    value_of = {variable: variable.type() for variable in free}
    for variable, value in value_of.items():
        transform = model.rvs_to_transforms[variable]  # none where samplers see the variable as it is
        outside.append(transform.forward(value, *variable.owner.inputs) if transform else value * 1.0)
    forward = pytensor.function(list(value_of.values()), clone_replace(outside, value_of), mode=FAST)
    names = [model.rvs_to_values[variable].name for variable in free]

    def move(samples: list[Parameters]) -> list[dict[str, np.ndarray]]:
        moved = (forward(*(parameters[variable.name] for variable in free)) for parameters in samples)
        return [dict(zip(names, one, strict=True)) for one in moved]

    return move


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


def is_simplex(values: np.ndarray) -> bool:
    return values.ndim > 0 and bool(np.allclose(values.sum(axis=-1), 1))


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=EXACT, atol=EXACT)


def answers_pmf(pmf: Mapping[Any, float]) -> dict[Hashable, float]:
    """Sum the states out of a joint pmf."""
    summed: Counter[Hashable] = Counter()
    for (_, _, *said), probability in pmf.items():
        summed[tuple(said)] += probability
    return dict(summed)


def turn_states(pmf: Mapping[Any, float], n_states: int) -> dict[Hashable, float]:
    """The joint pmf if each of the two states were the next one."""
    return {((i + 1) % n_states, (j + 1) % n_states, *said): p for (i, j, *said), p in pmf.items()}


def distance_between(pmf: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    """The total variation distance."""
    return sum(abs(p - other.get(cell, 0.0)) for cell, p in pmf.items()) / 2


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
