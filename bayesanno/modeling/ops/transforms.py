"""Transforms for sampling: shares that add up to 1, shares near 0 or 1, rows around a common row, ascending values.

The logarithms of shares that add up to 1 are computed in one pass. PyMC's coordinates of p_1 ... p_K are y_1 ...
y_{K-1}, with p = softmax(w) and w = (y, -(y_1 + ... + y_{K-1})). Priors and likelihoods use log p_k = w_k - s, with
s = log sum_k exp w_k. The log-Jacobian is log K - K s, since the w_k add up to 0. Here one loop over each row computes
both, and p is exp(log p). PyTensor would need a dozen operations, which are slower and take much longer to compile in
each new graph. Values, draws and names of variables are the same as with PyMC's transform.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph import Apply

from bayesanno._core.private import LoopOp, SimplexTransform, Transform
from bayesanno.modeling.ops.right_response import join_right, split_right

LEAST = 1e-15  # the smallest distance of a share from 0 and 1; below it, 1 - share is 0 in double precision
N_PARAMETERS = 5  # of the distribution of rows around a common row


class LogSimplex(LoopOp):
    """y (..., K - 1) -> log p (..., K), s (...)."""

    reads_coordinates = True

    def make_node(self, y: Any) -> Apply:
        """Check the input and name the outputs' types."""
        y = pt.as_tensor(y)
        if y.ndim == 0 or y.dtype not in ("float32", "float64"):
            raise TypeError(f"LogSimplex takes rows of floats, not {y.type}")
        *rows, last = y.type.shape
        shapes = [(*rows, None if last is None else last + 1), rows]
        return Apply(self, [y], [pt.tensor(dtype=y.dtype, shape=shape) for shape in shapes])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy."""
        (y,) = inputs
        whole = np.concatenate([y, -y.sum(axis=-1, keepdims=True)], axis=-1)  # (..., K)
        top = whole.max(axis=-1, keepdims=True)
        s = top + np.log(np.exp(whole - top).sum(axis=-1, keepdims=True))
        output_storage[0][0], output_storage[1][0] = whole - s, s[..., 0]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Return the gradient: in w, g - p (sum g - h), with g of log p, h of s; y_j is in w_j, and -y_j in w_K."""
        (log_p, _), (g, h) = outputs, cotangents
        total: Any = 0.0
        if not isinstance(g.type, DisconnectedType):
            total = g.sum(axis=-1)
        if not isinstance(h.type, DisconnectedType):
            total = total - h
        of_whole = -pt.exp(log_p) * total[..., None]
        if not isinstance(g.type, DisconnectedType):
            of_whole = g + of_whole
        return [of_whole[..., :-1] - of_whole[..., -1, None]]

    @staticmethod
    def lengths(y: Any) -> Any:
        """Return (..., K) and (...)."""
        return (*y[:-1], y[-1] + 1), y[:-1]

    @staticmethod
    def loop(y, log_p, s):  # type: ignore[no-untyped-def]
        """For each row, compute w and subtract the log of the sum of its exponentials."""
        n_free = len(y) // max(len(s), 1)
        for row in range(len(s)):
            begin, end = row * (n_free + 1), row * (n_free + 1) + n_free
            last = 0.0
            for k in range(n_free):
                log_p[begin + k] = y[row * n_free + k]
                last -= y[row * n_free + k]
            log_p[end] = last
            top = last
            for k in range(begin, end):
                top = max(top, log_p[k])
            weights = 0.0
            for k in range(begin, end + 1):
                weights += exp(log_p[k] - top)
            s[row] = top + log(weights)
            for k in range(begin, end + 1):
                log_p[k] -= s[row]

    @staticmethod
    def in_jax(y: Any) -> Any:
        """Compute the same."""
        import jax.numpy as jnp
        from jax.scipy.special import logsumexp

        whole = jnp.concatenate([y, -y.sum(axis=-1, keepdims=True)], axis=-1)  # (..., K)
        s = logsumexp(whole, axis=-1, keepdims=True)
        return whole - s, s[..., 0]


log_simplex = LogSimplex()


class LogSimplexTransform(SimplexTransform):  # type: ignore[misc]  # PyMC is not typed
    """PyMC's transform, with `backward` and the log-Jacobian computed from the same logarithms."""

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return p as exp(log p): PyTensor simplifies its logarithm."""
        return pt.exp(log_simplex(value)[0])

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return log K - K s."""
        log_p, s = log_simplex(value)
        n_classes = log_p.shape[-1].astype(s.dtype)
        return pt.log(n_classes) - n_classes * s


def use_log_simplex(model: pm.Model) -> None:
    """Replace the transform of every variable on a simplex by the cheaper one."""
    for variable, transform in model.rvs_to_transforms.items():
        if type(transform) is SimplexTransform:
            model.rvs_to_transforms[variable] = LogSimplexTransform()


class Probit(Transform):  # type: ignore[misc]
    """Between (0, 1) and the line, for a Beta."""

    name = "probit"

    def forward(self, value: pt.TensorVariable, *_: Any) -> pt.TensorVariable:
        """Return the quantile of the normal distribution."""
        tail = pt.minimum(value, 1 - value)  # small, so that no digits are lost
        return pt.sign(value - 0.5) * np.sqrt(2) * pt.erfcinv(2 * tail)

    def backward(self, value: pt.TensorVariable, *_: Any) -> pt.TensorVariable:
        """Return the share, rounded."""
        return pt.clip(0.5 * pt.erfc(-value / np.sqrt(2)), LEAST, 1 - LEAST)

    def log_jac_det(self, value: pt.TensorVariable, *inputs: Any) -> pt.TensorVariable:
        """Return log |d share / d value|, plus the change of the Beta density by rounding the share."""
        alpha, beta = inputs[-2:]
        low, share = value < 0, self.backward(value)
        log_tail = pt.log(pt.erfcx(pt.switch(low, -value, value) / np.sqrt(2)) / 2) - value**2 / 2  # exact
        lost = log_tail - pt.log(pt.switch(low, share, 1 - share))  # almost 0, unless near 0 or 1
        return -0.5 * (value**2 + np.log(2 * np.pi)) + (pt.switch(low, alpha, beta) - 1) * lost


def log_odds(rows: pt.TensorVariable, right: pt.TensorVariable) -> pt.TensorVariable:
    """Return the log odds of wrong responses against the right one, shape (..., row, response - 1)."""
    wrong, own = split_right(pt.log(rows), right)
    return wrong - own[..., None]


def mean_of(centre: pt.TensorVariable, right: pt.TensorVariable, shift: pt.TensorVariable) -> pt.TensorVariable:
    """Return the means of the log odds of rows."""
    return log_odds(centre, right) + shift[..., None]


def rows_of(odds: pt.TensorVariable, right: pt.TensorVariable, like: pt.TensorVariable) -> pt.TensorVariable:
    """Return the rows with these log odds, shape (..., row, response): the inverse of `log_odds`.

    A row has as many log odds as the last axis of `like` has entries.
    """
    mean = odds.sum(axis=-1) / (like.shape[-1] + 1)  # of them and the 0 of the right response
    log_total = mean + log_simplex(odds - mean[..., None])[1]  # log of the sum of exponentials of odds and 0
    return pt.exp(join_right(odds - log_total[..., None], -log_total, right))


def log_normal(number: Any, mean: Any, spread: Any) -> pt.TensorVariable:
    """Return the log density of normal numbers."""
    return -0.5 * ((number - mean) / spread) ** 2 - 0.5 * np.log(2 * np.pi) - pt.log(spread)


def centre_partly(number: Any, mean: Any, spread: Any, sampled_mean: Any, centring: Any) -> Any:
    """Return the sampled value: w times the sampled mean, plus the deviation in units of s^(1 - w)."""
    return centring * sampled_mean + (number - mean) / spread ** (1 - centring)


def uncentre(value: Any, mean: Any, spread: Any, sampled_mean: Any, centring: Any) -> Any:
    """Return the numbers: the inverse of `centre_partly`."""
    return mean + spread ** (1 - centring) * (value - centring * sampled_mean)


def draw_around(
    centre: pt.TensorVariable,
    spread: pt.TensorVariable,
    right: pt.TensorVariable,
    centring: pt.TensorVariable,
    shift: pt.TensorVariable,
    size: Any,
) -> pt.TensorVariable:
    """Draw rows with log odds that are normal around the shifted ones of a centre."""
    mean = mean_of(centre, right, shift)  # (..., row, wrong response)
    shape = centring.shape if size is None or getattr(size, "data", 0) is None else (*size, centring.shape[-1])
    drawn = pm.Normal.dist(shape=shape)
    return rows_of(mean + spread[..., None] * drawn, right, centring)


def log_density_around(
    rows: pt.TensorVariable,
    centre: pt.TensorVariable,
    spread: pt.TensorVariable,
    right: pt.TensorVariable,
    _: pt.TensorVariable,
    shift: pt.TensorVariable,
) -> pt.TensorVariable:
    """Return the log density of each row, with respect to all but one of its probabilities."""
    of_odds = log_normal(log_odds(rows, right), mean_of(centre, right, shift), spread[..., None])
    return of_odds.sum(axis=-1) - pt.log(rows).sum(axis=-1)


class LogOddsOfWrong(Transform):  # type: ignore[misc]
    """Between rows of probabilities and their partially centred log odds."""

    name = "logodds"
    ndim_supp = 1

    def forward(self, value: pt.TensorVariable, *inputs: Any) -> pt.TensorVariable:
        """Return u of rows."""
        centre, spread, right, centring, shift = inputs[1 : 1 + N_PARAMETERS]
        mean = mean_of(centre, right, shift)
        return centre_partly(log_odds(pt.as_tensor(value), right), mean, spread[..., None], mean, centring)

    def backward(self, value: pt.TensorVariable, *inputs: Any) -> pt.TensorVariable:
        """Return the rows of u."""
        centre, spread, right, centring, shift = inputs[1 : 1 + N_PARAMETERS]
        mean = mean_of(centre, right, shift)
        return rows_of(uncentre(value, mean, spread[..., None], mean, centring), right, value)

    def log_jac_det(self, value: pt.TensorVariable, *inputs: Any) -> pt.TensorVariable:
        """Return log |d row / d value|: the derivative of the row by its log odds, times that of these by the value."""
        _, spread, _, centring, _ = inputs[1 : 1 + N_PARAMETERS]
        rows = self.backward(value, *inputs)
        return pt.log(rows).sum(axis=-1) + ((1 - centring) * pt.log(spread[..., None])).sum(axis=-1)


class Numbers(NamedTuple):
    """Normal or lognormal numbers around a mean, for `CustomDist`."""

    by_log: bool

    def draw(
        self, mean: Any, spread: Any, _: pt.TensorVariable, centring: pt.TensorVariable, size: Any
    ) -> pt.TensorVariable:
        """Draw numbers."""
        shape = centring.shape if size is None or getattr(size, "data", 0) is None else size
        number = mean + spread * pm.Normal.dist(shape=shape)
        return pt.exp(number) if self.by_log else number

    def log_density(self, value: pt.TensorVariable, mean: Any, spread: Any, *_: Any) -> pt.TensorVariable:
        """Return the log density of each number."""
        number = pt.log(value) if self.by_log else value
        density = log_normal(number, mean, spread)
        return density - number if self.by_log else density

    def middle(self, value: pt.TensorVariable, _size: Any, mean: Any, *_: Any) -> pt.TensorVariable:
        """Return the median of each number."""
        number = mean + pt.zeros_like(value)
        return pt.exp(number) if self.by_log else number


class PartlyCentred(Transform):  # type: ignore[misc]
    """Between these numbers and their partially centred values.

    With m and s the mean and standard deviation of the number x, or of its log,
    u = w (m + level) + (x - m) / s^(1 - w).
    """

    name = "centred"

    def __init__(self, *, by_log: bool = False) -> None:
        self.by_log = by_log

    def forward(self, value: pt.TensorVariable, *inputs: Any) -> pt.TensorVariable:
        """Return u."""
        mean, spread, level, centring = inputs[1:5]
        number = pt.log(value) if self.by_log else value
        return centre_partly(number, mean, spread, mean + level, centring)

    def backward(self, value: pt.TensorVariable, *inputs: Any) -> pt.TensorVariable:
        """Return the number."""
        mean, spread, level, centring = inputs[1:5]
        number = uncentre(value, mean, spread, mean + level, centring)
        return pt.exp(number) if self.by_log else number

    def log_jac_det(self, value: pt.TensorVariable, *inputs: Any) -> pt.TensorVariable:
        """Return log |d number / d u|."""
        mean, spread, level, centring = inputs[1:5]
        volume = pt.zeros_like(value) + (1 - centring) * pt.log(spread)
        return volume + uncentre(value, mean, spread, mean + level, centring) if self.by_log else volume


def gaps_of(value: pt.TensorVariable) -> pt.TensorVariable:
    """Return the gaps of ascending values between 0 and 1: shape (item_type + 1,)."""
    zero = pt.zeros_like(value[..., :1])
    return pt.diff(pt.concatenate([zero, value, zero + 1], axis=-1), axis=-1)


class Ascending(Transform):  # type: ignore[misc]
    """Between ascending values in (0, top) and the whole space: each value's share of the remaining way to the top.

    On the log-odds scale of these shares, a first or last gap near 0 is one coordinate. As parts of a simplex, all
    coordinates would move with each small gap, and chains would move slowly.
    """

    name = "ascending"

    def __init__(self, top: float, highest: Any) -> None:
        self.top, self.highest = top, highest  # a number, and the same in formulas

    def forward(self, value: pt.TensorVariable, *_: Any) -> pt.TensorVariable:
        """Return the log odds of each value's share of the remaining way."""
        gaps = gaps_of(value / self.highest)[..., :-1]
        return pt.log(gaps) - pt.log1p(-value / self.highest)

    def backward(self, value: pt.TensorVariable, *_: Any) -> pt.TensorVariable:
        """Return the values."""
        return -self.highest * pt.expm1(_log_above(value))

    def log_jac_det(self, value: pt.TensorVariable, *_: Any) -> pt.TensorVariable:
        """Return log |d values / d value|."""
        each = _log_above(value) - pt.softplus(-value)
        return each.sum(axis=-1) + value.shape[-1] * pt.log(self.highest)


def _log_above(value: pt.TensorVariable) -> pt.TensorVariable:
    """Return the log of the share of the way that remains above each value."""
    return -pt.cumsum(pt.softplus(value), axis=-1)
