"""A separate prevalence for each group of items, with annotators' parameters fixed at each draw of a fit.

Generative process, for one draw of a fit with prevalence `pi` and p(answers_i | k) for item i:

    sqrt(rho)  ~ Uniform(0, 1),  c = (1 - rho) / rho     how far groups differ: rho is the share of the variance of an
                                                         item's class that is between groups
    theta_g    ~ Dirichlet(c pi)                         the prevalence of group g
    C_i        ~ Categorical(theta_g(i)),  answers_i ~ p(answers_i | C_i)

C, theta and c are drawn by Gibbs sampling, theta from its full conditional and c with theta integrated out.

The invariant: pi and p(answers_i | k) are those of the draw. The prevalences of groups do not inform the annotators,
who were learnt with the common prevalence (a cut model, Plummer 2015, doi:10.1007/s11222-014-9503-z).
"""

from __future__ import annotations

import numpy as np

from bayesanno._core.draw import draw_codes

N_RISES = 200  # EM steps towards the mode of the prevalences, where the first sweep starts
N_SWEEPS = 25  # Gibbs sweeps; the last one is kept
LEAST = -700.0  # lower bound for log likelihoods
GRID = (np.arange(24) + 0.5) / 24  # sqrt(rho)


def draw_with_own_prevalence(
    log_likelihood: np.ndarray,
    log_prevalence: np.ndarray,
    codes: np.ndarray,
    known: np.ndarray,
    rng: np.random.Generator,
    *,
    n_sweeps: int = N_SWEEPS,
) -> np.ndarray:
    """Draw the class of every item in every draw of a fit, with a separate prevalence for each group of items.

    Parameters
    ----------
    log_likelihood : array, shape (sample, item, class)
        Log p(the item's answers | its class), up to a constant for each item.
    log_prevalence : array, shape (sample, class)
    codes : array of int, shape (item,)
        The group of each item, 0 to G - 1, none of them empty.
    known : array of int, shape (item,)
        The class of items with a known class, -1 for all others.
    rng : Generator
    n_sweeps : int, default 25

    Returns
    -------
    array of int, shape (sample, item)
    """
    order = np.argsort(codes, kind="stable")  # items of a group are neighbours
    begin = np.searchsorted(codes[order], np.arange(codes.max() + 1))  # (group,)
    is_class = known[order, None] == np.arange(log_likelihood.shape[2])  # (item, class)
    log_likelihood = np.where(known[order, None] >= 0, np.where(is_class, 0.0, LEAST), log_likelihood[:, order])
    log_likelihood = (log_likelihood - log_likelihood.max(axis=2, keepdims=True)).clip(LEAST)
    pi = np.exp(log_prevalence)[:, None].clip(1e-12)  # (sample, 1, class)
    of_item = codes[order]
    start = _rise(np.exp(log_likelihood.mean(axis=0)), pi.mean(axis=0), begin, of_item)  # (group, class)
    theta = np.repeat(start[None], len(pi), axis=0)  # (sample, group, class)
    likelihood = np.ascontiguousarray(np.exp(log_likelihood).transpose(2, 0, 1))  # (class, sample, item)

    drawn = np.empty(likelihood.shape[1:], dtype=int)
    for _ in range(n_sweeps):
        drawn = _draw_classes(likelihood, theta.transpose(2, 0, 1), of_item, rng)
        counts = np.stack([np.add.reduceat(drawn == k, begin, axis=1, dtype=int) for k in range(pi.shape[2])], axis=2)
        theta = rng.standard_gamma(_draw_concentration(counts, pi, rng)[:, None, None] * pi + counts)
        theta = theta.clip(np.finfo(float).tiny)
        theta /= theta.sum(axis=2, keepdims=True)
    back = np.empty_like(drawn)
    back[:, order] = drawn
    return back


def _draw_classes(
    likelihood: np.ndarray, theta: np.ndarray, of_item: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw classes (sample, item) from likelihoods (class, sample, item) and prevalences (class, sample, group)."""
    below = np.empty_like(likelihood)
    np.multiply(likelihood[0], theta[0][:, of_item], out=below[0])
    for k in range(1, len(below)):
        np.multiply(likelihood[k], theta[k][:, of_item], out=below[k])
        below[k] += below[k - 1]
    u = rng.uniform(size=below.shape[1:]) * below[-1]
    drawn = np.zeros(u.shape, dtype=int)
    for k in range(len(below) - 1):
        drawn += u >= below[k]
    return drawn


def _rise(likelihood: np.ndarray, pi: np.ndarray, begin: np.ndarray, of_item: np.ndarray) -> np.ndarray:
    """Return prevalences (group, class) near their mode, by EM with c = 1, for one likelihood (item, class)."""
    theta = np.repeat(pi, begin.size, axis=0)
    for _ in range(N_RISES):
        p = likelihood * theta[of_item]
        p /= p.sum(axis=1, keepdims=True).clip(np.finfo(float).tiny)
        theta = np.add.reduceat(p, begin, axis=0) + pi
        theta /= theta.sum(axis=1, keepdims=True)
    return theta


def _draw_concentration(counts: np.ndarray, pi: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw c given the classes of items, counts (sample, group, class); shape (sample,)."""
    from scipy.special import gammaln

    concentration = 1 / GRID**2 - 1  # (point,)
    log_p = np.empty((len(counts), GRID.size))  # (sample, point)
    n_groups, total = counts.shape[1], counts[0].sum(axis=1)  # (group,)
    for point, c in enumerate(concentration):
        own = gammaln(c * pi + counts).sum(axis=(1, 2)) - n_groups * gammaln(c * pi).sum(axis=(1, 2))
        log_p[:, point] = own + (gammaln(c) - gammaln(c + total)).sum()
    return np.asarray(concentration[draw_codes(np.exp(log_p - log_p.max(axis=1, keepdims=True)), rng)])
