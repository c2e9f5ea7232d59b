"""Prediction-powered means of groups: known classes of some items correct the predictions for all items.

Y is the value of an item, such as 1 for one class and 0 for all others, and f its mean under the predicted
probabilities. For a group with n items of known class and N others:

    mean     = mean_n(Y) + lambda (mean_N(f) - mean_n(f)),    lambda = beta N / (n + N)
    beta     = the sum of cov(Y, f) over that of var(f), over groups and classes; at least 0
    at large : variance = var_n(Y - lambda f) / n + lambda^2 var_N(f) / N
    of these : variance = (1 - n / (n + N)) var_n(Y - beta f) / n

The first three are prediction-powered inference (Angelopoulos et al. 2023, doi:10.1126/science.adi6000; its lambda:
Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453, here with one beta for all groups). The last is the difference
estimator of survey sampling, with its finite population correction. Intervals use Student's t with n - 1 degrees of
freedom. If all known values are equal, their variance is 0; so two more items are added to it, half of the possible
range above the mean and below.

The invariant: items with a known class are a random sample of their group, and predictions did not use these classes.
Nothing else is assumed: predictions may be wrong in any way, and more for one group than for another.
"""

from __future__ import annotations

import numpy as np

N_DRAWS = 4000


def draw_powered(
    known: np.ndarray,
    probability: np.ndarray,
    codes: np.ndarray,
    worth: np.ndarray,
    rng: np.random.Generator,
    *,
    at_large: bool,
    ends: tuple[float, float] | None = None,
) -> np.ndarray:
    """Draw means of groups from their confidence distributions.

    Parameters
    ----------
    known : array of int, shape (item,), or of numbers, shape (item, class)
        The class of items with a known class, -1 for all others. Or known numbers, nan for items without.
    probability : array, shape (item, class)
        The predicted probabilities, or numbers.
    codes : array of int, shape (item,)
        The group of each item, 0 to G - 1; each has two known items or more.
    worth : array, shape (class, quantity)
        The value of each class in each quantity, such as 1 in its own share and 0 in the shares of others.
    rng : Generator
    at_large : bool
        Whether the means are those of all possible items of a group, instead of those of these items.
    ends : tuple of two floats, optional
        The possible values; by default those of `worth`.

    Returns
    -------
    array, shape (draw, group, quantity)
        Their quantiles are those of the t distribution around the estimate, within the range of possible values.
    """
    from scipy.stats import t

    is_known = np.isfinite(known[:, 0]) if known.ndim == 2 else known >= 0  # (item,)
    truth = known if known.ndim == 2 else np.eye(len(worth))[known]  # (item, class); meaningless where it is unknown
    low, high = (worth.min(axis=0), worth.max(axis=0)) if ends is None else ends
    members = [((codes == one) & is_known, (codes == one) & ~is_known) for one in range(int(codes.max()) + 1)]
    shared = sum(_multiply(truth[own], probability[own]).sum() for own, _ in members)
    whole = sum(_multiply(probability[own], probability[own]).sum() for own, _ in members)
    beta = max(shared / whole, 0.0) if whole > 0 else 0.0
    half_range = (high - low) / 2
    quantiles = (np.arange(N_DRAWS) + 0.5) / N_DRAWS
    draws = []
    for own, rest in members:
        n, n_rest = int(own.sum()), int(rest.sum())
        power = beta * n_rest / (n + n_rest)
        left = (truth[own] - (power if at_large else beta) * probability[own]) @ worth  # (item, quantity)
        variance = (_multiply(left, left).sum(axis=0) + 2 * half_range**2) / (n + 1) / n
        mean = truth[own].mean(axis=0) @ worth
        if n_rest:
            predicted = probability[rest] @ worth
            mean = mean + power * (predicted.mean(axis=0) - probability[own].mean(axis=0) @ worth)
            variance = variance + at_large * power**2 * predicted.var(axis=0) / n_rest
        if not at_large:
            variance = variance * n_rest / (n + n_rest)
        draws.append(mean + np.sqrt(variance) * rng.permuted(t.ppf(quantiles, n - 1))[:, None])
    return np.stack(draws, axis=1).clip(low, high)


def _multiply(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the products of deviations from the means over items, (item, class)."""
    return (one - one.mean(axis=0)) * (other - other.mean(axis=0))
