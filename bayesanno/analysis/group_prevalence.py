"""A prevalence of its own for each group of items, with what annotators do held at each draw of a fit.

Generative process, for one draw of a fit: `pi` is its prevalence, and p(answers_i | k) what it says of item i.

    sqrt(rho)  ~ Uniform(0, 1),  c = (1 - rho) / rho     how far groups differ: rho is the share of the variance of an
                                                         item's class that is between groups
    theta_g    ~ Dirichlet(c pi)                         the prevalence of group g
    C_i        ~ Categorical(theta_g(i)),  answers_i ~ p(answers_i | C_i)

C, theta and c are drawn by Gibbs sampling, theta from its full conditional and c with theta integrated out.

The invariant: pi and p(answers_i | k) are those of the draw. What prevalences of groups would say of annotators is left
out: annotators were learnt with the common prevalence (a cut model, Plummer 2015, doi:10.1007/s11222-014-9503-z).
"""

from __future__ import annotations

import numpy as np

N_RISES = 25  # of the prevalences to their mode, before the first draw
N_SWEEPS = 25  # of Gibbs sampling, of which the last is kept
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
    """Draw the class of every item, in every draw of a fit, where each group of items has its own prevalence.

    Parameters
    ----------
    log_likelihood : array, shape (sample, item, class)
        Log p(the item's answers | its class), up to a constant for each item.
    log_prevalence : array, shape (sample, class)
    codes : array of int, shape (item,)
        The group of each item, 0 to G - 1, none of them empty.
    known : array of int, shape (item,)
        The class of items that is known, -1 of all others.
    rng : Generator
    n_sweeps : int, default 25

    Returns
    -------
    array of int, shape (sample, item)
    """
    order = np.argsort(codes, kind="stable")  # items of a group are neighbours
    begin = np.searchsorted(codes[order], np.arange(codes.max() + 1))  # (group,)
    is_class = known[order, None] == np.arange(log_likelihood.shape[2])  # (item, class)
    top = log_likelihood.max(axis=2, keepdims=True)
    likelihood = np.exp(log_likelihood - np.where(np.isfinite(top), top, 0))[:, order]
    likelihood = np.where(known[order, None] >= 0, is_class, likelihood)
    pi = np.exp(log_prevalence)[:, None].clip(1e-12)  # (sample, 1, class)

    theta = np.repeat(pi, begin.size, axis=1)  # (sample, group, class)
    of_item = codes[order]
    for _ in range(N_RISES):
        p = likelihood * theta[:, of_item]
        p /= p.sum(axis=2, keepdims=True).clip(np.finfo(float).tiny)
        theta = np.add.reduceat(p, begin, axis=1) + pi
        theta /= theta.sum(axis=2, keepdims=True)

    drawn = np.empty(likelihood.shape[:2], dtype=int)
    for _ in range(n_sweeps):
        below = (likelihood * theta[:, of_item]).cumsum(axis=2)
        drawn = (rng.uniform(size=below[:, :, :1].shape) * below[:, :, -1:] >= below[:, :, :-1]).sum(axis=2)
        counts = np.add.reduceat((drawn[:, :, None] == np.arange(pi.shape[2])).astype(float), begin, axis=1)
        theta = rng.standard_gamma(_draw_concentration(counts, pi, rng)[:, None, None] * pi + counts)
        theta = theta.clip(np.finfo(float).tiny)
        theta /= theta.sum(axis=2, keepdims=True)
    back = np.empty_like(drawn)
    back[:, order] = drawn
    return back


def _draw_concentration(counts: np.ndarray, pi: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw c given the classes of items, counts (sample, group, class); shape (sample,)."""
    from scipy.special import gammaln

    concentration = 1 / GRID**2 - 1  # (point,)
    log_p = np.empty((len(counts), GRID.size))  # (sample, point)
    total = counts.sum(axis=2)  # (sample, group)
    for point, c in enumerate(concentration):
        own = (gammaln(c * pi + counts) - gammaln(c * pi)).sum(axis=(1, 2))
        log_p[:, point] = own + (gammaln(c) - gammaln(c + total)).sum(axis=1)
    below = np.exp(log_p - log_p.max(axis=1, keepdims=True)).cumsum(axis=1)
    chosen = (rng.uniform(size=(len(below), 1)) * below[:, -1:] >= below[:, :-1]).sum(axis=1)
    return np.asarray(concentration[chosen])
