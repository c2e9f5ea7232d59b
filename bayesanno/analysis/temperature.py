"""Temperature scaling with a posterior: a few true labels show how sure the labels of a fit should be.

Models take annotators' errors to be independent given the class. Where they are not, the log odds of labels are too
large, by much the same factor for all items (Guo et al. 2017), and the labels are overconfident.

Generative process.  The true label of an item whose log probabilities by the fit are L_i is drawn from

    log p_i(k)  =  c_k + (L_ik - c_k) / T + shift_k - log(sum over labels of the same)

with c_k the log of the share of label k among all items, by the fit. So T = 1 and no shift leave labels as they were;
T without bound leaves the shares, for any answers; and a shift says that a label is more frequent, or less, than the
fit has it.

Priors.  The temperature has no scale of its own: it is 2 for one crowd and 200 for another. The log odds after it have
one. With s the root mean square of L_ik - (its mean over k), which is known without any true label,

    s / T    ~ LogNormal(log 2, 1.25)   so that 94% of it is in 0.2 to 21
    T        ~ LogNormal(0, 0.6)        in place of that, where the labels were adjusted for correlated errors
    shift_k  ~ Normal(0, 0.7)            a label is up to 4 times as frequent as it seems, or a quarter as frequent

The posterior of these K + 1 numbers is nearly normal on the scale of log T. It is drawn from by importance sampling: a
multivariate t distribution around its mode, of the curvature there, at the points of a Sobol sequence, so that the same
true labels give the same draws; weights are smoothed (PSIS), and draws resampled by them.

The invariant: nothing is exponentiated before it is normalised, so that no log odds are too large; and the
probabilities of an item whose true label is known do not use that label.

References
----------
J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods,
in: Advances in Large Margin Classifiers, MIT Press, pages 61-74.
C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks, ICML, pages 1321-1330,
arXiv:1706.04599.
A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry (2024), Pareto smoothed importance sampling, Journal of Machine
Learning Research 25(72), 1-58, http://jmlr.org/papers/v25/19-556.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno.inference.diagnosis.thresholds import MAX_PARETO_K
from bayesanno.modeling.weighing import average_logs, effective_number, normalise_weights

SIZE_PRIOR = (float(np.log(2.0)), 1.25)  # of log(s / T): mean and standard deviation
ADJUSTED_SD = 0.6  # of log T, where labels were adjusted for correlated errors: their T is about 1
SHIFT_SD = 0.7
N_POINTS = 4096  # of the Sobol sequence: a power of 2
N_DRAWS = 1000
STRIDE = 617  # without a factor of the number of draws: neighbours have temperatures that are far apart
DEGREES_OF_FREEDOM = 8  # of the t distribution: tails heavier than those of the posterior
ROUNDS = 4  # in which the t distribution is moved to where the weights are
ENOUGH = 0.9  # of the effective points: weights that leave so many have no tail to smooth
LEAST_SURE = np.log(1e-16)  # what is impossible by the fit is at least so improbable
CHUNK_BYTES = 64 * 2**20  # of probabilities, over draws, at a time


@dataclass(frozen=True, eq=False)
class LogOddsScale:
    """What temperature and shifts are measured by; known without any true label.

    Attributes
    ----------
    centre : array, shape (label,)
        c, the log shares of the labels.
    size : float
        s, the root mean square of log odds.
    least : float
        The log probability of what is impossible by the fit, so that a true label may say otherwise.
    prior : (float, float)
        Mean and standard deviation of log(s / T).
    """

    centre: np.ndarray
    size: float
    least: float
    prior: tuple[float, float] = SIZE_PRIOR

    def measure(self, logs: np.ndarray) -> np.ndarray:
        """Return (L - c) / s of log probabilities (item, label); 0 of items that the fit cannot explain."""
        held = np.where(np.isneginf(logs), self.least, logs)
        return np.nan_to_num((held - self.centre) / self.size)


def find_scale(logs: np.ndarray, *, is_adjusted: bool = False) -> LogOddsScale:
    """Return the scale of log probabilities (item, label) of all items whose labels were not given to the fit.

    Of labels that were adjusted for correlated errors, the prior is that they need no temperature: its median is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.analysis.temperature import find_scale
    >>> round(find_scale(np.log([[0.9, 0.1], [0.1, 0.9]])).size, 3)  # half of log 9
    1.099
    """
    counts = np.nansum(np.exp(logs), axis=0) + 1  # (label,): a label that no item has may have one
    finite = logs[np.isfinite(logs)]
    least = min(LEAST_SURE, float(finite.min(initial=0.0)))
    held = np.nan_to_num(np.where(np.isneginf(logs), least, logs))
    spread = held - held.mean(axis=1, keepdims=True)
    size = max(float(np.sqrt((spread**2).mean())), 1e-6)
    prior = (float(np.log(size)), ADJUSTED_SD) if is_adjusted else SIZE_PRIOR
    return LogOddsScale(np.log(counts / counts.sum()), size, least, prior)


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Draws of temperature and shifts, and what they make of log probabilities.

    Attributes
    ----------
    scale : LogOddsScale
    log_size : array, shape (draw,)
        log(s / T).
    shift : array, shape (draw, label)
        Of each label, those of a draw adding up to 0.
    """

    scale: LogOddsScale
    log_size: np.ndarray
    shift: np.ndarray

    @property
    def temperature(self) -> np.ndarray:
        """T, (draw,)."""
        return self.scale.size * np.exp(-self.log_size)

    def evaluate(self, logs: np.ndarray) -> np.ndarray:
        """Return the log probabilities that each draw makes of log probabilities (item, label): (draw, item, label)."""
        return log_probabilities(self.log_size, self.shift, self.scale.centre, self.scale.measure(logs))

    def average(self, logs: np.ndarray) -> np.ndarray:
        """Return the log of the mean over draws of what each makes of log probabilities (item, label)."""
        n_parts = 1 + 8 * logs.size * self.log_size.size // CHUNK_BYTES
        parts = np.array_split(logs, min(n_parts, max(1, len(logs))))
        return np.concatenate([average_logs(self.evaluate(part)) for part in parts])


def log_probabilities(log_size: np.ndarray, shift: np.ndarray, centre: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Return log p_i(k) of each draw, (draw, item, label): the formula of this module.

    Parameters
    ----------
    log_size : array, shape (draw,)
    shift : array, shape (draw, label)
    centre : array, shape (label,)
    measured : array, shape (item, label)
        As from `LogOddsScale.measure`.
    """
    from scipy.special import log_softmax

    return log_softmax(np.exp(log_size)[:, None, None] * measured + (centre + shift)[:, None, :], axis=2)


# ----------------------------------------------------------------------------------------------- the posterior


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """The posterior of temperature and shifts as points with weights.

    Attributes
    ----------
    scale : LogOddsScale
    points : array, shape (point, 1 + label)
        log(s / T), then the shifts.
    log_ratio : array, shape (point,)
        The log of the posterior's density over that of the distribution which the points are of, but for a number.
    log_weight : array, shape (point,)
        Smoothed, and adding up to 1 as weights.
    """

    scale: LogOddsScale
    points: np.ndarray
    log_ratio: np.ndarray
    log_weight: np.ndarray

    def draw(self) -> Recalibration:
        """Return draws without weights: always the same ones, evenly spaced among temperatures, in a mixed order."""
        order = np.argsort(self.points[:, 0])
        chosen = _resample(np.exp(self.log_weight[order]), N_DRAWS)
        mixed = np.arange(N_DRAWS) * STRIDE % N_DRAWS  # each once
        kept = self.points[order[chosen[mixed]]]
        shift = kept[:, 1:] - kept[:, 1:].mean(axis=1, keepdims=True)  # what is added to all labels changes nothing
        return Recalibration(self.scale, kept[:, 0], shift)

    def leave_each_out(self, logs: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the log probabilities (known, label) of known items, each without its own true label.

        Weights are divided by p(the item's true label), and smoothed (PSIS) where that leaves fewer effective points;
        where it is not to be relied on, the posterior without the item is found again.
        """
        found = np.empty(logs.shape)
        per_chunk = max(1, CHUNK_BYTES // (8 * len(self.points) * logs.shape[1]))
        n_effective = effective_number(normalise_weights(self.log_ratio[:, None]))
        for begin in range(0, len(truth), per_chunk):
            rows = np.arange(begin, min(begin + per_chunk, len(truth)))
            each = self._evaluate(logs[rows])  # (point, known, label)
            log_ratio = self.log_ratio[:, None] - each[:, np.arange(rows.size), truth[rows]]  # (point, known)
            found[rows] = average_logs(each, log_ratio)
            few = effective_number(normalise_weights(log_ratio)) < ENOUGH * n_effective
            for at in np.flatnonzero(few):
                log_weight, k = _smooth(log_ratio[:, at])
                if k <= MAX_PARETO_K:
                    found[rows[at]] = average_logs(each[:, [at]], log_weight[:, None])[0]
                else:
                    others = np.arange(len(truth)) != rows[at]
                    without = weigh(self.scale, logs[others], truth[others])
                    found[rows[at]] = average_logs(without._evaluate(logs[[rows[at]]]), without.log_weight[:, None])[0]
        return found

    def _evaluate(self, logs: np.ndarray) -> np.ndarray:
        return log_probabilities(self.points[:, 0], self.points[:, 1:], self.scale.centre, self.scale.measure(logs))


def weigh(scale: LogOddsScale, logs: np.ndarray, truth: np.ndarray) -> WeightedPoints:
    """Find the posterior of temperature and shifts.

    Parameters
    ----------
    scale : LogOddsScale
    logs : array, shape (known, label)
        The log probabilities of the items whose true labels are known.
    truth : array of int, shape (known,)
    """
    measured = scale.measure(logs)  # (known, label)
    proposal = _climb(measured, scale, truth)
    for _ in range(ROUNDS):
        points, log_density = proposal.draw()
        log_ratio = evaluate_posterior(points, measured, scale, truth) - log_density
        log_weight, k = _smooth(log_ratio)
        if k <= MAX_PARETO_K / 2:
            break
        proposal = _move(points, np.exp(log_weight))
    return WeightedPoints(scale, points, log_ratio, log_weight)


def score_shares(truth: np.ndarray, n_labels: int) -> np.ndarray:
    """Return the log probabilities of true labels by the shares of the others alone, one added to each count.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.analysis.temperature import score_shares
    >>> np.exp(score_shares(np.array([0, 0, 1]), 2)).tolist()
    [0.5, 0.5, 0.25]
    """
    counts = np.bincount(truth, minlength=n_labels)
    return np.log(counts[truth] / (truth.size - 1 + n_labels))


@dataclass(frozen=True, eq=False)
class _Proposal:
    """A multivariate t distribution: `mean` (dimension,), and `root` (dimension, dimension) of its scale matrix."""

    mean: np.ndarray
    root: np.ndarray

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the points (point, dimension) of a Sobol sequence under it, and their log density but for a number."""
        from scipy.special import chdtri, ndtri
        from scipy.stats.qmc import Sobol

        n_dim, nu = self.mean.size, DEGREES_OF_FREEDOM
        u = Sobol(n_dim + 1, scramble=False).random(N_POINTS) + 0.5 / N_POINTS  # (point, dimension + 1), none 0
        z = ndtri(u[:, :-1]) / np.sqrt(chdtri(nu, u[:, -1:]) / nu)
        return self.mean + z @ self.root.T, -0.5 * (nu + n_dim) * np.log1p((z**2).sum(axis=1) / nu)


def _climb(measured: np.ndarray, scale: LogOddsScale, truth: np.ndarray) -> _Proposal:
    """Return the proposal at the mode of the posterior."""
    from scipy.optimize import minimize

    start = np.concatenate([scale.prior[:1], np.zeros(scale.centre.size)])
    arguments = (measured, scale, truth)
    found = minimize(_loss, start, arguments, method="trust-exact", jac=True, hess=_curve)
    return _around(found.x, np.linalg.inv(_bend(_curve(found.x, *arguments), scale.prior[1])))


def _around(mean: np.ndarray, covariance: np.ndarray) -> _Proposal:
    return _Proposal(mean, np.linalg.cholesky(covariance + 1e-8 * np.eye(mean.size)))


def _bend(curvature: np.ndarray, sd: float) -> np.ndarray:
    """Return a curvature that is one of a density: no flatter than a tenth of the prior's, in any direction."""
    values, vectors = np.linalg.eigh(curvature)
    return (vectors * np.maximum(values, 0.1 / sd**2)) @ vectors.T


def _move(points: np.ndarray, weight: np.ndarray) -> _Proposal:
    """Return a proposal with the mean and covariance of weighed points."""
    mean = weight @ points
    away = points - mean
    return _around(mean, (weight[:, None] * away).T @ away)


def _loss(at: np.ndarray, measured: np.ndarray, scale: LogOddsScale, truth: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the negative log posterior at (log(s / T), shifts), and its gradient."""
    logs = log_probabilities(at[:1], at[None, 1:], scale.centre, measured)[0]  # (known, label)
    rows = np.arange(truth.size)
    away = np.exp(logs)
    away[rows, truth] -= 1
    mean, sd = scale.prior
    standing = (at[0] - mean) / sd
    value = -logs[rows, truth].sum() + 0.5 * standing**2 + 0.5 * (at[1:] ** 2).sum() / SHIFT_SD**2
    of_size = np.exp(at[0]) * (away * measured).sum() + standing / sd
    return float(value), np.concatenate([[of_size], away.sum(axis=0) + at[1:] / SHIFT_SD**2])


def _curve(at: np.ndarray, measured: np.ndarray, scale: LogOddsScale, truth: np.ndarray) -> np.ndarray:
    """Return the second derivatives of `_loss`."""
    p = np.exp(log_probabilities(at[:1], at[None, 1:], scale.centre, measured)[0])  # (known, label)
    size = np.exp(at[0])
    apart = measured - (p * measured).sum(axis=1, keepdims=True)
    slope = size * ((p * measured).sum() - measured[np.arange(truth.size), truth].sum())
    found = np.empty((at.size, at.size))
    found[0, 0] = size**2 * (p * apart**2).sum() + slope + 1 / scale.prior[1] ** 2
    found[0, 1:] = found[1:, 0] = size * (p * apart).sum(axis=0)
    found[1:, 1:] = np.diag(p.sum(axis=0) + 1 / SHIFT_SD**2) - p.T @ p
    return found


def evaluate_posterior(points: np.ndarray, measured: np.ndarray, scale: LogOddsScale, truth: np.ndarray) -> np.ndarray:
    """Return the log posterior of points (point, dimension), but for a number."""
    mean, sd = scale.prior
    standing = (points[:, 0] - mean) / sd
    found: np.ndarray = -0.5 * standing**2 - 0.5 * (points[:, 1:] ** 2).sum(axis=1) / SHIFT_SD**2
    per_chunk = max(1, CHUNK_BYTES // (8 * len(points) * scale.centre.size))
    for begin in range(0, truth.size, per_chunk):
        chunk = slice(begin, begin + per_chunk)
        logs = log_probabilities(points[:, 0], points[:, 1:], scale.centre, measured[chunk])
        found += logs[:, np.arange(logs.shape[1]), truth[chunk]].sum(axis=1)
    return found


def _smooth(log_ratio: np.ndarray) -> tuple[np.ndarray, float]:
    """Return log weights (draw,) that add up to 1, smoothed, and their Pareto k."""
    from arviz_stats.base import array_stats

    if np.ptp(log_ratio) < 1e-9:  # there is no tail
        return np.full(log_ratio.shape, -np.log(log_ratio.size)), -np.inf
    smoothed: tuple[Any, Any] = array_stats.psislw(-log_ratio)  # it negates its argument itself
    log_weight = smoothed[0] - np.logaddexp.reduce(smoothed[0])
    return log_weight, float(smoothed[1])


def _resample(weight: np.ndarray, n: int) -> np.ndarray:
    """Return which draws to take, n of them, in proportion to their weights: evenly spaced along the sum."""
    steps = (np.arange(n) + 0.5) / n * weight.sum()
    return np.minimum(np.searchsorted(weight.cumsum(), steps), weight.size - 1)
