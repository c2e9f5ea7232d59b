"""Shared code of the models of item types: ordered types, binomial probabilities, the hard type, starts.

The invariant: types are numbered by ascending rate, so that "type 1" is the same type everywhere: in every draw of the
prior, of the posterior and of a simulation, or by their prior means where the priors of the types differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, override

import numpy as np

from bayesanno.data.counts import CountData
from bayesanno.ground.errors import DataError, ModelError
from bayesanno.ground.lazy import pm, pt, xr
from bayesanno.modeling.any_size import as_data
from bayesanno.modeling.arguments import Counts, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import ITEM_TYPE, HasKnownParameters, HasViews, Known, View

RARE = 0.05  # a type with less of the items than this can hardly be seen,
CLOSE = 0.05  # and so can two whose rates differ by less than this,
OFTEN = 0.1  # if it is so in more of the draws than this


class ItemTypeModel(AnnotationModel, HasViews, HasKnownParameters):
    """A model whose items are of types 1, 2, ..., by ascending rate of positive answers."""

    state_dim: ClassVar[str] = ITEM_TYPE
    has_hard_items: ClassVar[bool] = True
    types: int  # a field, of models that ask for as many

    @property
    def n_types(self) -> int:
        """Number of item types."""
        return self.types

    def rate_of(self, parameters: Any, data: Any) -> Any:  # noqa: ARG002
        """Return the rate of positive answers to each type, between 0 and 1, from the model's parameters.

        `data` are the data, or as `state_logp` sees them.
        """
        return parameters["rate"]

    @override
    def states(self, data: Any) -> tuple[str, ...]:
        """Return the names of the types."""
        return type_names(self.n_types)

    @override
    def known_parameters(self, data: Any) -> dict[str, Known]:
        """Return the known parameters: the weight of a single type."""
        return {"weight": Known(np.ones(1), (ITEM_TYPE,))} if self.n_types == 1 else {}

    def views(self, answers: Any, probability: pt.TensorVariable, p: Parameters) -> dict[str, View]:
        """Return `hard`: P(an item is of the hard type), the one whose rate is nearest to one half in the draw."""
        hard = pt.argmin(pt.abs(self.rate_of(p, answers) - 0.5))
        return {"hard": View(("item",), probability[:, hard])}


def type_names(n_types: int) -> tuple[str, ...]:
    """Return the names of item types, by ascending rate.

    Examples
    --------
    >>> from bayesanno.modeling.item_types import type_names
    >>> type_names(2)
    ('type 1', 'type 2')
    """
    return tuple(f"type {number}" for number in range(1, n_types + 1))


def check_types(model: str, n_types: int, data: CountData) -> None:
    """Raise unless there are at least as many different shares of successes as types.

    Raises
    ------
    DataError
        If there are fewer: some types could hold no item at all.
    """
    asked = data.trials > 0
    found = np.unique(data.successes[asked] / data.trials[asked]).size
    if n_types > found:
        raise DataError(
            f"{model}: {n_types} types are asked for, but these data have only {found} different "
            f"share{'' if found == 1 else 's'} of successes: set types to {found} or less"
        )


def check_given_types(
    model: str, weight_mean: Sequence[float], rate_mean: Sequence[float], rate_strength: float | Sequence[float]
) -> None:
    """Raise unless types that are given have one number each, rates that ascend and weights that sum to 1.

    Raises
    ------
    ModelError
        If not; the message names the field.
    """
    n_types = len(weight_mean)
    strengths = n_types if isinstance(rate_strength, float) else len(rate_strength)
    for field, size in (("rate_mean", len(rate_mean)), ("rate_strength", strengths)):
        if size != n_types:
            raise ModelError(f"{model}: {field} has {size} numbers, weight_mean has {n_types}: give one per type")
    if list(rate_mean) != sorted(rate_mean):
        raise ModelError(f"{model}: rate_mean is {rate_mean}: types are numbered by ascending rate")
    if not np.isclose(sum(weight_mean), 1, rtol=0, atol=1e-6):
        raise ModelError(f"{model}: weight_mean is {weight_mean}: its sum must be 1, not {sum(weight_mean):g}")


# ------------------------------------------------------------------------------------------------ the parameters


def declare_weight(prior: Priors, n_types: int) -> None:
    """Declare `weight` (item_type), its prior a symmetric Dirichlet; the weight of a single type is known to be 1."""
    if n_types > 1:
        pm.Dirichlet("weight", prior.weight_prior * np.ones(n_types), dims=ITEM_TYPE)


def declare_ascending(name: str, gap_prior: pt.TensorVariable, n_types: int, *, top: float = 1.0) -> pt.TensorVariable:
    """Declare a parameter (item_type) that ascends in every draw, from 0 to `top`.

    Its gaps, of 0 to the first value, between neighbours, and of the last to `top`, are together 1 after division by
    `top`, and have a Dirichlet prior: `gap_prior[0]` for the two outer gaps, `gap_prior[1]` for the inner ones. With
    (1, 1) the values are independent uniform ones, put in order.
    """
    from bayesanno.modeling.ops.transforms import Ascending, gaps_of

    highest = top if top == 1 else as_data(top)
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
        dims=ITEM_TYPE,
        default_transform=Ascending(top, highest),
    )


# --------------------------------------------------------------------------------------------------- the formulas


def ordered_answers_logp(counts: Counts, rate: pt.TensorVariable) -> pt.TensorVariable:
    """Return log p(an item's answers, in their order | type): x log p + (n - x) log(1 - p), shape (item, item_type).

    0 log 0 is 0: a rate of 0 or 1 excludes items, and gives no nan.
    """
    positive = counts.successes[:, None]  # (item, 1)
    negative = counts.trials[:, None] - positive
    p = pt.broadcast_arrays(rate[None, :], positive)[0]  # (item, item_type)
    log_p = pt.log(pt.switch(pt.eq(positive, 0), 1.0, p))
    log_q = pt.log1p(-pt.switch(pt.eq(negative, 0), 0.0, p))
    return positive * log_p + negative * log_q


def log_orders(counts: Counts) -> pt.TensorVariable:
    """Return log C(n, x), in how many orders x positive answers can come among n: shape (item,)."""
    n, x = counts.trials, counts.successes
    return pt.gammaln(n + 1.0) - pt.gammaln(x + 1.0) - pt.gammaln(n - x + 1.0)


def log_between(
    low: pt.TensorVariable, high: pt.TensorVariable, first: pt.TensorVariable, last: pt.TensorVariable
) -> pt.TensorVariable:
    """Return log(Phi(high) - Phi(low)), accurate in both tails; the `first` has no lower, the `last` no upper end."""
    from pymc.math import logdiffexp

    upper = low + high > 0  # there Phi is near 1, and the complement keeps its digits
    inside = ~(first | last)
    near = pt.switch(inside, pt.switch(upper, -low, high), 1.0)
    far = pt.switch(inside, pt.switch(upper, -high, low), -1.0)
    between = logdiffexp(_log_phi(near), _log_phi(far))
    end = pt.switch(first & last, 0.0, _log_phi(pt.switch(first, high, -low)))
    return pt.switch(inside, between, end)


def _log_phi(z: pt.TensorVariable) -> pt.TensorVariable:
    """Return log Phi(z); PyMC's has an error of 1e-8, from a root of 2 in single precision."""
    root = np.sqrt(2.0)
    below, above = pt.minimum(z, -1.0), pt.maximum(z, -1.0)
    tail = pt.log(pt.erfcx(-below / root) / 2) - below**2 / 2
    return pt.switch(z < -1, tail, pt.log1p(-pt.erfc(above / root) / 2))


# ------------------------------------------------------------------------------------------------------ the start


def start_weights(n_types: int) -> dict[str, np.ndarray]:
    """Return even weights of types; nothing for a single type, whose weight is known."""
    return {} if n_types == 1 else {"weight": np.full(n_types, 1 / n_types)}


def start_rates(data: CountData, n_types: int) -> np.ndarray:
    """Return ascending rates near the quantiles of the items' shares of successes; shape (item_type,)."""
    asked = data.trials > 0
    shares = data.successes[asked] / data.trials[asked]  # (item that was asked about,)
    quantiles = np.quantile(shares, (np.arange(n_types) + 0.5) / n_types)
    even = np.arange(1, n_types + 1) / (n_types + 1)
    return 0.8 * quantiles + 0.2 * even  # apart, and inside (0, 1), however the quantiles fall


# ---------------------------------------------------------------------------------------------- what a posterior says


def explain_types(posterior: xr.Dataset, *, rate: str | None, remedy: str) -> list[str]:
    """Say in plain words whether a posterior could do with fewer types, which keeps chains from mixing.

    Parameters
    ----------
    posterior : xarray.Dataset
        With `weight`, dims (chain, draw, item_type).
    rate : str or None
        The variable that distinguishes neighbouring types, on the scale from 0 to 1, if there is one.
    remedy : str
        What to do about it.
    """
    if "weight" not in posterior or posterior.sizes[ITEM_TYPE] < 2:
        return []
    small = (posterior["weight"] < RARE).any(ITEM_TYPE).values  # (chain, draw)
    near = np.zeros_like(small)
    if rate is not None and rate in posterior:
        near = (posterior[rate].diff(ITEM_TYPE) < CLOSE).any(ITEM_TYPE).values
    share = float((small | near).mean())
    if share <= OFTEN:
        return []
    n_types = posterior.sizes[ITEM_TYPE]
    why = [f"a type holds less than {RARE:.0%} of the items in {small.mean():.0%} of them"] if small.any() else []
    why += [f"two rates are within {CLOSE} of each other in {near.mean():.0%}"] if near.any() else []
    return [
        f"in {share:.0%} of the draws one of the {n_types} types is hardly needed ({', '.join(why)}): the data do not "
        f"tell {n_types} types apart, and chains wander between explanations; {remedy}"
    ]
