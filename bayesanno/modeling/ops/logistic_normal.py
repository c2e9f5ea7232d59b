"""Rows of probabilities around a common row: log odds that are normal, each against the response that is right.

A row p of R probabilities has R - 1 log odds, log p_r - log p_right, of the wrong responses against the right one. They
are drawn from normals around those of a centre, all with one standard deviation, the spread.

What is sampled is not the log odds e but u = w m + (e - m) / spread^(1 - w), with m the log odds of the centre and w
between 0 and 1 (Gorinova, Moore and Hoffman 2020, arXiv:1906.03028): a row of many answers is told by them and moves
well as itself, w = 1; one of few is told by the centre, and moves well as its deviation from it, w = 0. The invariant:
the density of the row is that of its log odds whatever w is. Draws hold the rows, and nothing of u.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.lazy import pm, pt

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

_N_PARAMETERS = 4
SMALL = 0.2  # a spread as small as there may be in a posterior: rows are themselves told by more than even it says


def centring_of(counts: np.ndarray, common: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the w of each log odds: how much answers say of it, beside how much a small spread around a centre says.

    Parameters
    ----------
    counts : array, shape (annotator, row, response)
        About how many answers there are in each row.
    common : array, shape (row, response)
        About what the rows are.
    right : array of int, shape (row,)

    Returns
    -------
    array, shape (annotator, row, response - 1)

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.ops.logistic_normal import centring_of
    >>> counts = np.array([[[90.0, 10.0]], [[9.0, 1.0]], [[0.0, 0.0]]])
    >>> centring_of(counts, np.array([[0.9, 0.1]]), np.array([0])).ravel().round(2).tolist()
    [0.26, 0.03, 0.0]
    """
    information = counts.sum(axis=2, keepdims=True) * common * (1 - common)  # Fisher's, of each log odds
    w = information / (information + SMALL**-2)  # (annotator, row, response)
    wrong = np.arange(common.shape[1]) != right[:, None]  # (row, response)
    kept: np.ndarray = w[:, wrong].reshape(len(counts), len(common), -1)
    return kept


def draw_rows(centre: np.ndarray, spread: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a row around each centre, in NumPy.

    Parameters
    ----------
    centre : array, shape (..., row, response)
    spread : array, shape (..., row)
    right : array of int, shape (row,)
    rng : numpy.random.Generator

    Returns
    -------
    array, shape (..., row, response)
    """
    from scipy.special import softmax

    logs = np.log(centre)
    wrong = np.arange(centre.shape[-1]) != right[:, None]  # (row, response)
    moved: np.ndarray = softmax(logs + wrong * spread[..., None] * rng.standard_normal(centre.shape), axis=-1)
    return moved


def logistic_normal(
    name: str,
    centre: TensorVariable,
    spread: TensorVariable,
    right: np.ndarray,
    *,
    dims: tuple[str, ...],
    centring: TensorVariable | float = 0.0,
) -> TensorVariable:
    """Declare rows of probabilities whose log odds are normal around those of a centre.

    Parameters
    ----------
    name : str
    centre : TensorVariable, shape (..., row, response)
        The rows whose log odds are the means.
    spread : TensorVariable, shape () or (row,)
        The standard deviation of the log odds.
    right : array of int, shape (row,)
        The response of each row that the others are compared with.
    dims : tuple of str
        Those of the rows and, last, of the responses.
    centring : TensorVariable or float, shape () or (..., row, response - 1)
        The w of each log odds, of the wrong responses in their order: a matter of how it is sampled, not of what.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from bayesanno.modeling.ops.logistic_normal import logistic_normal
    >>> coords = {"annotator": ["ada", "bo"], "true_class": ["a", "b"], "response": ["a", "b"]}
    >>> with pm.Model(coords=coords) as graph:
    ...     centre = np.array([[0.9, 0.1], [0.2, 0.8]])
    ...     rows = logistic_normal("confusion", centre, 0.5, np.array([0, 1]), dims=tuple(coords))
    >>> graph.value_vars
    [confusion_logodds__]
    """
    centre = pt.as_tensor(centre)
    like_one = pt.zeros_like(centre[..., 1:])
    inputs = [centre, spread, pt.as_tensor(np.asarray(right, dtype="int64")), centring + like_one]
    return pm.CustomDist(
        name,
        *inputs,
        dist=_draw,
        logp=_log_density,
        support_point=lambda rows, _size, centre, *_: pt.zeros_like(rows) + centre,
        signature="(r),(),(),(s)->(r)",
        default_transform=_transform()(),
        dims=dims,
    )


def log_odds(rows: TensorVariable, right: TensorVariable) -> TensorVariable:
    """Return the log odds of wrong responses against the right one, shape (..., row, response - 1)."""
    from bayesanno.modeling.ops.right_response import split_right

    wrong, own = split_right(pt.log(rows), right)
    return wrong - own[..., None]


def _rows_of(odds: TensorVariable, right: TensorVariable, like: TensorVariable) -> TensorVariable:
    """Return the rows that have these log odds, shape (..., row, response): the opposite of `log_odds`.

    There are as many log odds in a row as `like` has entries in its last axis.
    """
    from bayesanno.modeling.ops.right_response import join_right
    from bayesanno.modeling.ops.simplex import log_simplex

    mean = odds.sum(axis=-1) / (like.shape[-1] + 1)  # of them and the 0 of the right response
    log_total = mean + log_simplex(odds - mean[..., None])[1]  # of the exponentials of both
    return pt.exp(join_right(odds - log_total[..., None], -log_total, right))


def _draw(
    centre: TensorVariable, spread: TensorVariable, right: TensorVariable, centring: TensorVariable, size: Any
) -> TensorVariable:
    mean = log_odds(centre, right)  # (..., row, wrong response)
    shape = centring.shape if size is None or getattr(size, "data", 0) is None else (*size, centring.shape[-1])
    drawn = pm.Normal.dist(shape=shape)
    return _rows_of(mean + spread[..., None] * drawn, right, centring)


def _log_density(
    rows: TensorVariable, centre: TensorVariable, spread: TensorVariable, right: TensorVariable, _: TensorVariable
) -> TensorVariable:
    """Return the log density of each row, with respect to all of its probabilities but one."""
    deviation = (log_odds(rows, right) - log_odds(centre, right)) / spread[..., None]
    of_odds = -0.5 * deviation**2 - 0.5 * np.log(2 * np.pi) - pt.log(spread[..., None])
    return of_odds.sum(axis=-1) - pt.log(rows).sum(axis=-1)


@cache
def _transform() -> Any:
    from bayesanno.ground.private.pymc import Transform

    class LogOddsOfWrong(Transform):  # type: ignore[misc]  # PyMC is not seen by the type checker
        """Between rows of probabilities and their partially centred log odds."""

        name = "logodds"
        ndim_supp = 1

        def forward(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
            centre, spread, right, centring = inputs[1 : 1 + _N_PARAMETERS]
            mean, scale = log_odds(centre, right), spread[..., None] ** (1 - centring)
            return centring * mean + (log_odds(pt.as_tensor(value), right) - mean) / scale

        def backward(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
            centre, spread, right, centring = inputs[1 : 1 + _N_PARAMETERS]
            mean, scale = log_odds(centre, right), spread[..., None] ** (1 - centring)
            return _rows_of(mean + scale * (value - centring * mean), right, value)

        def log_jac_det(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
            """Return log |d row / d value|: of the row in its log odds, and of these in the value."""
            _, spread, _, centring = inputs[1 : 1 + _N_PARAMETERS]
            rows = self.backward(value, *inputs)
            return pt.log(rows).sum(axis=-1) + ((1 - centring) * pt.log(spread[..., None])).sum(axis=-1)

    return LogOddsOfWrong
