"""Declarations of parameters that sample well: shares near 0 or 1; numbers, or rows of shares, around a common one.

*Shares.* If data bound a share only from below, such as the competence of annotators who never err, it has a long tail
on the log-odds scale, and there may be as many tails as annotators. On the probit scale the tail of a Beta is normal.
The density is that of the share before rounding; only quantities computed from the share use the rounded value.

*Rows.* A row p of R probabilities has R - 1 log odds, log p_r - log p_right, of the wrong responses against the right
one. They are normal around the log odds of a centre, all with one standard deviation, the spread.

Sampling uses not the log odds e but u = w m + (e - m) / spread^(1 - w), with m the log odds of the centre and w between
0 and 1 (Gorinova, Moore and Hoffman 2020, arXiv:1906.03028). A row with many answers is determined by them and mixes
well on its own scale, w = 1. A row with few answers is determined by the centre and mixes well as a deviation from it,
w = 0. If rows are far apart, fewer answers determine a row; how far, is estimated from the votes beforehand. So w is a
constant. The invariant: for every w, the density of the row is that of its log odds. Draws hold the rows, not u. A
shift of all log odds of a row moves m, and is sampled in the same way, with m = 0.

Dirichlet rows have only one parametrisation. In `hierarchical_dawid_skene`, with 2,665 items, 177 annotators and five
labels, they took 402 steps per draw and did not mix; log odds take about 20.

*Numbers.* A normal number of each annotator with a learnt standard deviation is sampled in the same way, and so is a
lognormal one. If answers determine only the sum of the number and a level common to all annotators, w times the level
is added to u. A chain then moves the level, and all numbers with it, in one step.
"""

from __future__ import annotations

import numpy as np

from bayesanno._core.lazy import pm, pt

SMALL = 0.2  # a small spread of a posterior: answers with more weight than this prior determine a row
MIDDLING = 0.35  # a medium spread


def beta_by_probit(name: str, prior: pt.TensorVariable, *, dims: str | tuple[str, ...]) -> pt.TensorVariable:
    """Declare a parameter with a Beta prior that is sampled on the probit scale.

    Parameters
    ----------
    name : str
    dims : str or tuple of str
    prior : TensorVariable, shape (2,)
        The two concentrations.

    Examples
    --------
    >>> import pymc as pm
    >>> import pytensor.tensor as pt
    >>> from bayesanno.modeling.ops.variables import beta_by_probit
    >>> with pm.Model(coords={"annotator": ["ada", "bo"]}) as graph:
    ...     competence = beta_by_probit("competence", pt.as_tensor([0.5, 0.5]), dims="annotator")
    >>> graph.value_vars
    [competence_probit__]
    """
    from bayesanno.modeling.ops.transforms import Probit

    return pm.Beta(name, prior[0], prior[1], dims=dims, default_transform=Probit())


def spread_of(counts: np.ndarray, common: np.ndarray, right: np.ndarray, expected: float) -> np.ndarray:
    """Return a rough estimate of the spread of each row's log odds, from moments: (row,).

    Squared distances from the common log odds have the mean spread^2 + 1 / information. The estimate is at least 0.35.

    Parameters
    ----------
    counts, common, right : array
        As in `centring_of`.
    expected : float
        The spread that is expected, with the weight of one log odds that has many answers.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.ops.variables import spread_of
    >>> common, right = np.array([[0.9, 0.1]]), np.array([0])
    >>> counts = np.array([[[500.0, 500.0]], [[980.0, 20.0]], [[900.0, 100.0]], [[0.0, 0.0]]])
    >>> spread_of(counts, common, right, 1.0).round(2).tolist()
    [1.47]
    """
    n_answers = counts.sum(axis=2, keepdims=True)
    information = n_answers * common * (1 - common)
    distance = np.log((counts + common) / (n_answers + 1) / common)
    distance -= np.take_along_axis(distance, right[None, :, None], axis=2)  # (annotator, row, response)
    shrunk = (n_answers / (n_answers + 1)) ** 2  # by the one answer added, in squares
    wrong = np.arange(common.shape[1]) != right[:, None]  # (row, response)
    weight = wrong / (information + 1)
    excess = (weight * (information * distance**2 - shrunk)).sum(axis=(0, 2))
    known = (weight * information * shrunk).sum(axis=(0, 2))
    return np.sqrt(((excess + expected**2) / (known + 1)).clip(MIDDLING**2))


def centring_of(counts: np.ndarray, common: np.ndarray, right: np.ndarray, spread: np.ndarray | float) -> np.ndarray:
    """Return the w of each log odds: the information in its answers, relative to a small spread around a centre.

    Parameters
    ----------
    counts : array, shape (annotator, row, response)
        The approximate number of answers in each row.
    common : array, shape (row, response)
        The approximate rows.
    right : array of int, shape (row,)
    spread : array or float, shape () or (row,)
        The approximate spread of the rows. The small spread is 0.2, times its square where it is above 1.

    Returns
    -------
    array, shape (annotator, row, response - 1)

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.ops.variables import centring_of
    >>> counts = np.array([[[90.0, 10.0]], [[9.0, 1.0]], [[0.0, 0.0]]])
    >>> centring_of(counts, np.array([[0.9, 0.1]]), np.array([0]), 1.0).ravel().round(2).tolist()
    [0.26, 0.03, 0.0]
    """
    information = counts.sum(axis=2, keepdims=True) * common * (1 - common)  # Fisher's, for each log odds
    w = information / (information + _small(spread, len(right)) ** -2)  # (annotator, row, response)
    wrong = np.arange(common.shape[1]) != right[:, None]  # (row, response)
    return w[:, wrong].reshape(len(counts), len(common), -1)


def shift_centring_of(centring: np.ndarray, spread: np.ndarray | float) -> np.ndarray:
    """Return the w of a shift of all log odds of an annotator, (annotator,), from that of (annotator, row, response-1).

    For any number of answers, the log odds of a row differ from the shifted ones by the approximate spread, (row,).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.ops.variables import shift_centring_of
    >>> shift_centring_of(np.array([[[0.0]], [[0.26]], [[1.0]]]), 0.35).round(3).tolist()
    [0.0, 0.145, 0.246]
    """
    n_rows = centring.shape[1]
    far = np.broadcast_to(spread, n_rows)[:, None]
    each = centring / (far**2 * centring + _small(spread, n_rows) ** 2 * (1 - centring))  # as centring
    return centre_by(each.sum(axis=(1, 2)))


def _small(spread: np.ndarray | float, n_rows: int) -> np.ndarray:
    """Return the spread of a posterior that is small relative to that of rows, (row, 1)."""
    return SMALL * np.maximum(np.broadcast_to(spread, n_rows), 1.0)[:, None] ** 2


def centre_by(information: np.ndarray) -> np.ndarray:
    """Return the w of numbers: the information of answers about each, relative to a small spread around a mean.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.ops.variables import centre_by
    >>> centre_by(np.array([0.0, 25.0, 225.0])).round(2).tolist()
    [0.0, 0.5, 0.9]
    """
    return information / (information + SMALL**-2)


def normal_around(
    name: str,
    mean: pt.TensorVariable | float,
    spread: pt.TensorVariable,
    *,
    dims: str,
    centring: pt.TensorVariable | np.ndarray,
    level: pt.TensorVariable | float = 0.0,
    by_log: bool = False,
) -> pt.TensorVariable:
    """Declare normal or lognormal numbers around a mean.

    Parameters
    ----------
    name : str
    mean, spread : TensorVariable, shape ()
        Mean and standard deviation of the numbers, or of their logs.
    dims : str
    centring : TensorVariable or array, of the shape of the numbers
        The w of each: 0 for a number determined by mean and spread, 1 for one determined by its own answers.
    level : TensorVariable, shape ()
        A level of which answers determine only the sum with the numbers: the sum is sampled. It does not change the
        density.
    by_log : bool, default False
        Whether the logs are normal.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from bayesanno.modeling.ops.variables import normal_around
    >>> with pm.Model(coords={"annotator": ["ada", "bo"]}) as graph:
    ...     spread, w = pm.Gamma("spread", 2, 2), np.array([0.0, 0.9])
    ...     severity = normal_around("severity", 0.0, spread, centring=w, dims="annotator")
    >>> graph.value_vars
    [spread_log__, severity_centred__]
    """
    from bayesanno.modeling.ops import transforms as to

    numbers = to.Numbers(by_log)
    return pm.CustomDist(
        name,
        mean,
        spread,
        level,
        pt.as_tensor(centring),
        dist=numbers.draw,
        logp=numbers.log_density,
        support_point=numbers.middle,
        signature="(),(),(),()->()",
        class_name="LogNormal" if by_log else "Normal",
        default_transform=to.PartlyCentred(by_log=by_log),
        dims=dims,
    )


def draw_rows(
    centre: np.ndarray,
    spread: np.ndarray,
    right: np.ndarray,
    rng: np.random.Generator,
    shift: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Draw a row around each centre, in NumPy.

    Parameters
    ----------
    centre : array, shape (..., row, response)
    spread : array, shape (..., row)
    right : array of int, shape (row,)
    rng : numpy.random.Generator
    shift : array or float, shape () or (..., row)
        An addition to the means of all log odds of a row.

    Returns
    -------
    array, shape (..., row, response)
    """
    from scipy.special import softmax

    logs = np.log(centre)
    wrong = np.arange(centre.shape[-1]) != right[:, None]  # (row, response)
    deviation = spread[..., None] * rng.standard_normal(centre.shape)  # (..., row, response)
    return softmax(logs + wrong * (np.asarray(shift)[..., None] + deviation), axis=-1)


def level_of(rows: pt.TensorVariable, right: np.ndarray) -> pt.TensorVariable:
    """Return the mean log odds of the right response against each wrong one, over all rows."""
    from bayesanno.modeling.ops import transforms as to

    odds = to.log_odds(rows, pt.as_tensor(np.asarray(right, dtype="int64")))
    return -odds.sum() / pt.ones_like(odds).sum()  # a mean would make their number a constant of the graph


def logistic_normal(
    name: str,
    centre: pt.TensorVariable,
    spread: pt.TensorVariable,
    right: np.ndarray,
    *,
    dims: tuple[str, ...],
    centring: pt.TensorVariable | float = 0.0,
    shift: pt.TensorVariable | float = 0.0,
) -> pt.TensorVariable:
    """Declare rows of probabilities with log odds that are normal around those of a centre.

    Parameters
    ----------
    name : str
    centre : TensorVariable, shape (..., row, response)
        The rows with the mean log odds.
    spread : TensorVariable, shape () or (row,)
        The standard deviation of the log odds.
    right : array of int, shape (row,)
        The reference response of each row.
    dims : tuple of str
        The dimensions of the rows, and last that of the responses.
    centring : TensorVariable or float, shape () or (..., row, response - 1)
        The w of each log odds of the wrong responses, in their order; it changes the sampling, not the posterior.
    shift : TensorVariable or float, shape () or (..., row)
        An addition to the means of all log odds of a row.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from bayesanno.modeling.ops.variables import logistic_normal
    >>> coords = {"annotator": ["ada", "bo"], "true_class": ["a", "b"], "response": ["a", "b"]}
    >>> with pm.Model(coords=coords) as graph:
    ...     centre = np.array([[0.9, 0.1], [0.2, 0.8]])
    ...     rows = logistic_normal("confusion", centre, 0.5, np.array([0, 1]), dims=tuple(coords))
    >>> graph.value_vars
    [confusion_logodds__]
    """
    from bayesanno.modeling.ops import transforms as to

    centre = pt.as_tensor(centre)
    like_one = pt.zeros_like(centre[..., 1:])
    inputs = [centre, spread, pt.as_tensor(np.asarray(right, dtype="int64")), centring + like_one, pt.as_tensor(shift)]
    return pm.CustomDist(
        name,
        *inputs,
        dist=to.draw_around,
        logp=to.log_density_around,
        support_point=lambda rows, _size, centre, *_: pt.zeros_like(rows) + centre,
        signature="(r),(),(),(s),()->(r)",
        class_name="LogisticNormal",
        default_transform=to.LogOddsOfWrong(),
        dims=dims,
    )
