"""Temperature scaling with a posterior: a few true labels show how certain the labels of a fit should be.

Models assume that annotators' errors are independent given the class. If they are not, the log odds of labels are too
large, by much the same factor for all items (Guo et al. 2017), and the labels are overconfident.

Generative process.  Let L_i be the log probabilities of the labels of item i by the fit. Its true label is drawn from

    log p_i(k)  =  c_k + (L_ik - c_k) / T + shift_k - log(sum over labels of the same)

with c_k the log of the share of label k among all items, by the fit. T = 1 with no shifts changes nothing. As T grows
without bound, all items get the shares. A shift makes a label more or less frequent than in the fit.

Priors.  The temperature has no natural scale: it is 2 for one crowd and 200 for another. The log odds after scaling
have one. With s the root mean square of L_ik - (its mean over k), which is known without any true label,

    s / T    ~ LogNormal(log 2, 1.25)   so that 94% of it is in 0.2 to 21
    T        ~ LogNormal(0, 0.6)        instead, if the labels were adjusted for correlated errors
    shift_k  ~ Normal(0, 0.7)            a label is from a quarter of to 4 times as frequent as it seems

The posterior of these K + 1 numbers is nearly normal on the scale of log T. It is sampled by importance sampling from a
multivariate t distribution around the mode, with the curvature there. The points come from a Sobol sequence, so the
same true labels give the same draws. Weights are smoothed (PSIS), and draws are resampled with them.

The invariant: nothing is exponentiated before it is normalised, so log odds may be arbitrarily large. The probabilities
of an item with a known true label do not use that label.

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

import numpy as np

from bayesanno.inference.diagnosis.measures import smooth_ratios
from bayesanno.inference.diagnosis.thresholds import MAX_PARETO_K
from bayesanno.modeling.weighing import average_logs, effective_number, normalise_weights

SIZE_PRIOR = (float(np.log(2.0)), 1.25)  # mean and standard deviation of log(s / T)
ADJUSTED_SD = 0.6  # standard deviation of log T if labels were adjusted for correlated errors; T is then about 1
SHIFT_SD = 0.7
N_POINTS = 4096  # of the Sobol sequence: a power of 2
N_DRAWS = 1000
STRIDE = 617  # coprime to the number of draws, so that neighbouring draws have distant temperatures
DEGREES_OF_FREEDOM = 8  # of the t distribution: tails heavier than those of the posterior
ROUNDS = 4  # of moving the t distribution to where the weights are
ENOUGH = 0.9  # with this share of effective points, the weights have no tail to smooth
LEAST_SURE = np.log(1e-16)  # an upper bound for the log probability of labels that the fit excludes
CHUNK_BYTES = 64 * 2**20  # memory for probabilities over draws at a time


@dataclass(frozen=True, eq=False)
class LogOddsScale:
    """The scale on which temperature and shifts are measured; known without any true label.

    Attributes
    ----------
    centre : array, shape (label,)
        c, the log shares of the labels.
    size : float
        s, the root mean square of log odds.
    least : float
        The log probability of labels that the fit excludes, so that a true label may contradict it.
    prior : (float, float)
        Mean and standard deviation of log(s / T).
    """

    centre: np.ndarray
    size: float
    least: float
    prior: tuple[float, float] = SIZE_PRIOR

    def measure(self, logs: np.ndarray) -> np.ndarray:
        """Return (L - c) / s for log probabilities (item, label); 0 for items that the fit cannot explain."""
        held = np.where(np.isneginf(logs), self.least, logs)
        return np.nan_to_num((held - self.centre) / self.size)


def find_scale(logs: np.ndarray, *, is_adjusted: bool = False) -> LogOddsScale:
    """Return the scale of the log probabilities (item, label) of all items that were not controls in the fit.

    If labels were adjusted for correlated errors, the prior of the temperature has median 1 (no correction).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.analysis.temperature import find_scale
    >>> round(find_scale(np.log([[0.9, 0.1], [0.1, 0.9]])).size, 3)  # half of log 9
    1.099
    """
    counts = np.nansum(np.exp(logs), axis=0) + 1  # (label,): one more, so that unused labels stay possible
    finite = logs[np.isfinite(logs)]
    least = min(LEAST_SURE, float(finite.min(initial=0.0)))
    held = np.nan_to_num(np.where(np.isneginf(logs), least, logs))
    spread = held - held.mean(axis=1, keepdims=True)
    size = max(float(np.sqrt((spread**2).mean())), 1e-6)
    prior = (float(np.log(size)), ADJUSTED_SD) if is_adjusted else SIZE_PRIOR
    return LogOddsScale(np.log(counts / counts.sum()), size, least, prior)


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Draws of temperature and shifts, and their effect on log probabilities.

    Attributes
    ----------
    scale : LogOddsScale
    log_size : array, shape (draw,)
        log(s / T).
    shift : array, shape (draw, label)
        The shift of each label; the shifts of a draw add up to 0.
    """

    scale: LogOddsScale
    log_size: np.ndarray
    shift: np.ndarray

    @property
    def temperature(self) -> np.ndarray:
        """T, (draw,)."""
        return self.scale.size * np.exp(-self.log_size)

    def evaluate(self, logs: np.ndarray) -> np.ndarray:
        """Return the log probabilities (item, label) as recalibrated by each draw: (draw, item, label)."""
        return log_probabilities(self.log_size, self.shift, self.scale.centre, self.scale.measure(logs))

    def average(self, logs: np.ndarray) -> np.ndarray:
        """Return the log of the mean over draws of the recalibrated probabilities, (item, label)."""
        n_parts = 1 + 8 * logs.size * self.log_size.size // CHUNK_BYTES
        parts = np.array_split(logs, min(n_parts, max(1, len(logs))))
        return np.concatenate([average_logs(self.evaluate(part)) for part in parts])


def log_probabilities(log_size: np.ndarray, shift: np.ndarray, centre: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Return log p_i(k) for each draw, (draw, item, label): the formula of this module.

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
        The log of the ratio of the posterior density to the proposal density, up to a constant.
    log_weight : array, shape (point,)
        The log of the smoothed weights, which add up to 1.
    """

    scale: LogOddsScale
    points: np.ndarray
    log_ratio: np.ndarray
    log_weight: np.ndarray

    def draw(self) -> Recalibration:
        """Return unweighted draws, deterministic and evenly spaced among temperatures, in a mixed order."""
        order = np.argsort(self.points[:, 0])
        chosen = _resample(np.exp(self.log_weight[order]), N_DRAWS)
        mixed = np.arange(N_DRAWS) * STRIDE % N_DRAWS  # each once
        kept = self.points[order[chosen[mixed]]]
        shift = kept[:, 1:] - kept[:, 1:].mean(axis=1, keepdims=True)  # a constant added to all labels has no effect
        return Recalibration(self.scale, kept[:, 0], shift)

    def leave_each_out(self, logs: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the log probabilities (known, label) of known items, each without its own true label.

        Weights are divided by p(the item's true label), and smoothed (PSIS) if that leaves fewer effective points. If
        the smoothed weights are unreliable, the posterior is recomputed without the item.
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
                log_weight, k = smooth_ratios(log_ratio[:, at])
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
        log_weight, k = smooth_ratios(log_ratio)
        if k <= MAX_PARETO_K / 2:
            break
        proposal = _move(points, np.exp(log_weight))
    return WeightedPoints(scale, points, log_ratio, log_weight)


def score_shares(truth: np.ndarray, n_labels: int) -> np.ndarray:
    """Return the log probabilities of true labels from the shares of the other labels alone, with 1 added to counts.

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
    """A multivariate t distribution: `mean` (dimension,) and the `root` (dimension, dimension) of the scale matrix."""

    mean: np.ndarray
    root: np.ndarray

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points (point, dimension) of a Sobol sequence under it, and their log density up to a constant."""
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
    """Return a curvature that is at least a tenth of the prior's in every direction."""
    values, vectors = np.linalg.eigh(curvature)
    return (vectors * np.maximum(values, 0.1 / sd**2)) @ vectors.T


def _move(points: np.ndarray, weight: np.ndarray) -> _Proposal:
    """Return a proposal with the mean and covariance of weighted points."""
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
    """Return the log posterior of points (point, dimension), up to a constant."""
    mean, sd = scale.prior
    standing = (points[:, 0] - mean) / sd
    found: np.ndarray = -0.5 * standing**2 - 0.5 * (points[:, 1:] ** 2).sum(axis=1) / SHIFT_SD**2
    per_chunk = max(1, CHUNK_BYTES // (8 * len(points) * scale.centre.size))
    for begin in range(0, truth.size, per_chunk):
        chunk = slice(begin, begin + per_chunk)
        logs = log_probabilities(points[:, 0], points[:, 1:], scale.centre, measured[chunk])
        found += logs[:, np.arange(logs.shape[1]), truth[chunk]].sum(axis=1)
    return found


def _resample(weight: np.ndarray, n: int) -> np.ndarray:
    """Return the indices of n draws in proportion to their weights (systematic resampling)."""
    steps = (np.arange(n) + 0.5) / n * weight.sum()
    return np.minimum(np.searchsorted(weight.cumsum(), steps), weight.size - 1)
