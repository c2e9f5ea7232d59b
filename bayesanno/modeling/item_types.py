"""Shared code of the models of item types: ordered types, binomial probabilities, the hard type, starting values.

The invariant: types are numbered by ascending rate, so "type 1" is the same type in every draw of the prior, of the
posterior and of a simulation. If the priors of the types differ, their prior means ascend.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.lazy import pm, pt, xr
from bayesanno._core.messages import DataError
from bayesanno.data.counts import CountData
from bayesanno.graph.flat import as_size
from bayesanno.modeling.arguments import ITEM_TYPE, Counts, Derived, FixedParameter, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.findings import Finding, check

RARE = 0.05  # a type with a smaller share of the items is hardly needed,
CLOSE = 0.05  # as is one of two types whose rates differ by less


class ItemTypeModel(AnnotationModel):
    """A model with item types 1, 2, ..., by ascending rate of positive answers."""

    state_dim: ClassVar[str] = ITEM_TYPE
    types: int  # a field, in models that let the user choose

    @property
    def n_types(self) -> int:
        """Number of item types."""
        return self.types

    def rate_of(self, parameters: Any, data: Any) -> Any:  # noqa: ARG002
        """Return the rate of positive answers to each type, between 0 and 1, from the model's parameters.

        `data` are the data, or the argument of `state_logp`.
        """
        return parameters["rate"]

    @override
    def states(self, data: Any) -> tuple[str, ...]:
        """Return the names of the types."""
        return tuple(f"type {number}" for number in range(1, self.n_types + 1))

    @override
    def fixed_parameters(self, data: Any) -> dict[str, FixedParameter]:
        """Return the known parameters: the weight of a single type."""
        return {"weight": FixedParameter(np.ones(1), (ITEM_TYPE,))} if self.n_types == 1 else {}

    @override
    def findings_of_posterior(self, posterior: xr.Dataset) -> Iterable[Finding]:
        """Return that a type is hardly needed, unless the weights of types are known."""
        if "weight" not in posterior:
            return ()
        needless = (posterior["weight"] < RARE).any(ITEM_TYPE)  # (chain, draw)
        if "rate" in posterior:
            needless = needless | (posterior["rate"].diff(ITEM_TYPE) < CLOSE).any(ITEM_TYPE)
        prior = next(name for name in ("weight_prior", "weight_strength") if hasattr(self, name))
        return check("type-not-needed", needless.mean(), types=posterior.sizes[ITEM_TYPE], field=prior)

    def derived(self, answers: Any, probability: pt.TensorVariable, p: Parameters) -> dict[str, Derived]:
        """Return `hard`: P(an item is of the hard type), the one with the rate nearest to one half in the draw."""
        hard = pt.argmin(pt.abs(self.rate_of(p, answers) - 0.5))
        return {"hard": Derived(("item",), probability[:, hard])}


def check_types(model: ItemTypeModel, data: CountData) -> None:
    """Raise a DataError if there are fewer different shares of successes than types, since some would be empty."""
    asked = data.trials > 0
    found = np.unique(data.successes[asked] / data.trials[asked]).size
    if model.n_types > found:
        raise DataError(
            f"{model.name}: {model.n_types} types are asked for, but these data have only {found} different "
            f"share{'' if found == 1 else 's'} of successes: set types to {found} or less"
        )


def declare_weight(prior: Priors, n_types: int) -> None:
    """Declare `weight` (item_type) with a symmetric Dirichlet prior; the weight of a single type is known to be 1."""
    if n_types > 1:
        pm.Dirichlet("weight", prior.weight_prior * np.ones(n_types), dims=ITEM_TYPE)


def declare_ascending(name: str, gap_prior: pt.TensorVariable, n_types: int, *, top: int = 1) -> pt.TensorVariable:
    """Declare a parameter (item_type) that ascends in every draw, from 0 to `top`.

    The gaps from 0 to the first value, between neighbours, and from the last value to `top`, divided by `top`, have a
    Dirichlet prior with `gap_prior[0]` for the two outer gaps and `gap_prior[1]` for the inner ones. With (1, 1) the
    values are sorted independent uniform ones.
    """
    from bayesanno.modeling.ops.transforms import Ascending, gaps_of

    highest = as_size(top)
    concentration = pt.concatenate([gap_prior[:1], pt.ones(n_types - 1) * gap_prior[1], gap_prior[:1]])

    def logp(value: pt.TensorVariable, concentration: pt.TensorVariable) -> pt.TensorVariable:
        return pm.logp(pm.Dirichlet.dist(concentration), gaps_of(value / highest)) - n_types * pt.log(highest)

    def dist(concentration: pt.TensorVariable, size: Any) -> pt.TensorVariable:  # noqa: ARG001
        return highest * pt.cumsum(pm.Dirichlet.dist(concentration), axis=-1)[..., :-1]

    def middle(_: pt.TensorVariable, __: Any, concentration: pt.TensorVariable) -> pt.TensorVariable:
        return highest * pt.cumsum(concentration / concentration.sum())[:-1]

    return pm.CustomDist(
        name,
        concentration,
        logp=logp,
        dist=dist,
        support_point=middle,
        signature="(gap)->(type)",
        class_name="AscendingByDirichletGaps",
        dims=ITEM_TYPE,
        default_transform=Ascending(top, highest),
    )


def ordered_answers_logp(counts: Counts, rate: pt.TensorVariable) -> pt.TensorVariable:
    """Return log p(an item's answers, in their order | type): x log p + (n - x) log(1 - p), shape (item, item_type).

    0 log 0 is 0: a rate of 0 or 1 excludes items without giving nan.
    """
    positive = counts.successes[:, None]  # (item, 1)
    negative = counts.trials[:, None] - positive
    p = pt.broadcast_arrays(rate[None, :], positive)[0]  # (item, item_type)
    log_p = pt.log(pt.switch(pt.eq(positive, 0), 1.0, p))
    log_q = pt.log1p(-pt.switch(pt.eq(negative, 0), 0.0, p))
    return positive * log_p + negative * log_q


def start_weights(n_types: int) -> dict[str, np.ndarray]:
    """Return even weights of types; empty for a single type, which has a known weight."""
    return {} if n_types == 1 else {"weight": np.full(n_types, 1 / n_types)}


def start_rates(data: CountData, n_types: int) -> np.ndarray:
    """Return ascending rates near the quantiles of the items' shares of successes; shape (item_type,)."""
    asked = data.trials > 0
    shares = data.successes[asked] / data.trials[asked]  # (item that was asked about,)
    quantiles = np.quantile(shares, (np.arange(n_types) + 0.5) / n_types)
    even = np.arange(1, n_types + 1) / (n_types + 1)
    return 0.8 * quantiles + 0.2 * even  # apart, and inside (0, 1), however the quantiles fall
