"""The posterior of a temperature and shifts, given the true labels of some items.

Priors.  The temperature has no natural scale: it is 2 for one crowd and 200 for another. The log odds after scaling
have one. With s the root mean square of L_ik - (its mean over k), which is known without any true label,

    s / T    ~ LogNormal(log 2, 1.25)   so that 94% of it is in 0.2 to 21
    T        ~ LogNormal(0, 0.6)        instead, where labels were tempered before
    shift_k  ~ Normal(0, 0.7)           a label is from a quarter of to 4 times as frequent as it seems

Of labels that were adjusted with the weight b, mean and standard deviation of log T are b of the way from the first
prior to the second.

Computation.  log T has a grid over the region with posterior mass, with or without any one of the known labels. At each
of its values, shifts are approximated by a normal distribution at their mode (the log density is concave), on points
that are spread evenly in every direction. Each point is weighted by the posterior density over that approximation, so
that its error does not matter. Only K - 1 directions of the shifts count: a constant added to all has no effect. On
four tables, with 20 to 200 labels, probabilities are within .002 of those by dense quadrature.

The invariant: nothing is random, and nothing is exponentiated before it is normalised. The probabilities of an item
with a known true label do not use that label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesanno.inference.tempering import Tempering, find_odds, log_probabilities, measure_logs
from bayesanno.modeling.posterior import average_logs

SIZE_PRIOR = (-float(np.log(2.0)), 1.25)  # mean and standard deviation of log(T / s)
TEMPERED_PRIOR = (0.0, 0.6)  # of log T, if labels were tempered before
N_DRAWS = 2000
SHIFT_SD = 0.7
N_TEMPERATURES = 48
N_SHIFTS = 128  # points at each temperature
WIDEST = 5.0  # standard deviations of the prior of log T
REGION = 9.0  # nats below the highest density
WIDER = 1.25  # than the normal approximation, whose tails are too short
N_STEPS = 50  # of Newton's method, which takes five to ten
STRIDE = 617  # coprime to the number of draws, so that neighbouring draws have distant temperatures
CHUNK_BYTES = 64 * 2**20  # memory for probabilities over points at a time


def learn_tempering(
    logs: np.ndarray, known: np.ndarray, truth: np.ndarray, *, tempered: float
) -> tuple[Tempering, np.ndarray]:
    """Make the recalibration of log probabilities by true labels of known items.

    Parameters
    ----------
    logs : array, shape (item, label)
        Of all items that were no controls; they tell the scale of log odds.
    known : array, shape (known, label)
        Of the items with known labels.
    truth : array of int, shape (known,)
    tempered : float
        b, the weight with which labels were tempered before.

    Returns
    -------
    Tempering, and array of shape (known, label)
        The log probabilities of the known items, each without its own true label.
    """
    log_share, least, size = measure_logs(logs)
    odds = find_odds(known, log_share, least)
    wide = np.array([np.log(size) + SIZE_PRIOR[0], SIZE_PRIOR[1]])
    mean, sd = (1 - tempered) * wide + tempered * np.array(TEMPERED_PRIOR)
    points = find_posterior(odds, log_share, truth, (float(mean), float(sd)))
    temperature, shift = points.draw(N_DRAWS)
    found = Tempering(temperature, np.zeros(N_DRAWS), shift, log_share, least, weight=1.0, vote_weight=0.0)
    return found, points.leave_each_out(odds, log_share, truth)


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """The posterior of temperature and shifts.

    Attributes
    ----------
    temperature : array, shape (point,)
        Nearly in ascending order.
    shift : array, shape (point, label)
    log_weight : array, shape (point,)
        The weights add up to 1.
    """

    temperature: np.ndarray
    shift: np.ndarray
    log_weight: np.ndarray

    def draw(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n temperatures and their shifts without weights, evenly spaced (systematic resampling), mixed."""
        steps = (np.arange(n) * STRIDE % n + 0.5) / n  # each once
        chosen = np.searchsorted(np.exp(self.log_weight).cumsum(), steps).clip(max=self.log_weight.size - 1)
        return self.temperature[chosen], self.shift[chosen]

    def leave_each_out(self, odds: np.ndarray, centre: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the log probabilities (known, label) of known items, each without its own true label.

        Weights are divided by the probability of that label.
        """
        found = []
        for rows in _chunks(self.log_weight.size * centre.size, truth.size):
            each = log_probabilities(self.temperature[:, None], self.shift, centre, odds[rows])  # (point, known, label)
            found.append(average_logs(each, self.log_weight[:, None] - each[:, np.arange(rows.size), truth[rows]]))
        return np.concatenate(found)


def find_posterior(
    odds: np.ndarray, centre: np.ndarray, truth: np.ndarray, prior: tuple[float, float]
) -> WeightedPoints:
    """Find the posterior of temperature and shifts.

    Parameters
    ----------
    odds : array, shape (known, label)
        L - c of the items with known labels.
    centre : array, shape (label,)
        c.
    truth : array of int, shape (known,)
    prior : (float, float)
        Mean and standard deviation of log T.
    """
    directions = np.linalg.svd(np.ones((1, centre.size)))[2][1:]  # (direction, label), orthogonal to a constant
    own = np.arange(truth.size)
    z = np.linspace(-WIDEST, WIDEST, N_TEMPERATURES)  # of log T, in standard deviations of its prior
    for _ in range(2):
        mode, log_p, hessian = _find_modes(np.exp(prior[0] + prior[1] * z), odds, centre, truth, directions)
        log_mass = -(z**2) / 2 - (mode**2).sum(axis=1) / SHIFT_SD**2 / 2 - np.linalg.slogdet(hessian)[1] / 2
        each = log_p[:, own, truth]  # (temperature, known)
        log_mass = (log_mass + each.sum(axis=1))[:, None] - np.pad(each, ((0, 0), (0, 1)))  # without each, and with all
        inside = np.flatnonzero((log_mass > log_mass.max(axis=0) - REGION).any(axis=1))
        z = np.linspace(z[max(inside[0] - 1, 0)], z[min(inside[-1] + 1, z.size - 1)], z.size)
    mode, _, hessian = _find_modes(np.exp(prior[0] + prior[1] * z), odds, centre, truth, directions)
    root = WIDER * np.linalg.cholesky(np.linalg.inv(hessian))  # (temperature, direction, direction)
    spread, offset = _spread_points(len(directions))
    shift = ((mode[:, None] + spread @ root.swapaxes(1, 2)) @ directions).reshape(-1, centre.size)  # (point, label)
    z = (z[:, None] + (z[1] - z[0]) * offset).ravel()
    temperature = np.exp(prior[0] + prior[1] * z)  # (point,)
    log_approximation = np.linalg.slogdet(hessian)[1][:, None] / 2 - (spread**2).sum(axis=1) / 2
    log_weight = -(z**2) / 2 - (shift**2).sum(axis=1) / SHIFT_SD**2 / 2 - log_approximation.ravel()
    for rows in _chunks(shift.size, truth.size):
        logs = log_probabilities(temperature[:, None], shift, centre, odds[rows])  # (point, known, label)
        log_weight += logs[:, own[: rows.size], truth[rows]].sum(axis=1)
    return WeightedPoints(temperature, shift, log_weight - np.logaddexp.reduce(log_weight))


def _find_modes(
    temperature: np.ndarray, odds: np.ndarray, centre: np.ndarray, truth: np.ndarray, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, at each temperature, the mode of the shifts, the log probabilities, and minus the second derivatives."""
    counts = np.bincount(truth, minlength=centre.size)
    at = np.zeros((temperature.size, len(directions)))
    for _ in range(N_STEPS):
        log_p = log_probabilities(temperature[:, None], at @ directions, centre, odds)  # (temperature, known, label)
        p = np.exp(log_p)
        own, total = p @ directions.T, p.sum(axis=1)  # (temperature, known, direction), (temperature, label)
        slope = (total - counts) @ directions.T + at / SHIFT_SD**2
        curvature = (directions * total[:, None, :]) @ directions.T - own.swapaxes(1, 2) @ own
        hessian = curvature + np.eye(len(directions)) / SHIFT_SD**2
        step = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        decrement = np.sqrt((step * slope).sum(axis=1, keepdims=True).clip(0))
        at -= step / (1 + decrement)  # damped, so that no step is too long
        if decrement.max() < 1e-6:
            break
    return at, log_p, hessian


def _spread_points(n_directions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normal points (point, direction), ascending in the first, and offsets in a cell of the grid."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    n_half = N_SHIFTS // 2
    z = ndtri(Sobol(n_directions, scramble=False).random(n_half) + 0.5 / n_half)
    z = np.concatenate([z, -z])
    return z[np.argsort(z[:, 0])], np.arange(N_SHIFTS) * (np.sqrt(5) - 1) / 2 % 1 - 0.5


def _chunks(n_numbers: int, n_known: int) -> list[np.ndarray]:
    """Return the known items in parts that fit into memory, with this number of numbers for each."""
    return np.array_split(np.arange(n_known), min(n_known, 1 + 8 * n_numbers * n_known // CHUNK_BYTES))
