"""Prevalences of groups: drawn as enumeration over all classes of a few items has them, and by simulation."""

import itertools

import numpy as np
from scipy.special import gammaln, logsumexp

from bayesanno.analysis.group_shares import GRID, draw_with_own_prevalence
from tests.samples import frequencies_agree

N = 20_000


def enumerate_posterior(log_likelihood, pi, codes, known):
    """P(each combination of classes | answers), with theta integrated out and c summed over its grid."""
    n_items, n_classes = log_likelihood.shape
    states = np.array(list(itertools.product(range(n_classes), repeat=n_items)))  # (combination, item)
    log_p = log_likelihood[np.arange(n_items), states].sum(axis=1)
    log_p[((states != known) & (known >= 0)).any(axis=1)] = -np.inf
    by_c = []
    for c in 1 / GRID**2 - 1:
        total = np.zeros(len(states))
        for group in np.unique(codes):
            counts = (states[:, codes == group, None] == np.arange(n_classes)).sum(axis=1)
            total += gammaln(c) - gammaln(c + counts.sum(axis=1))
            total += (gammaln(c * pi + counts) - gammaln(c * pi)).sum(axis=1)
        by_c.append(total)
    log_p += logsumexp(by_c, axis=0)
    return states, np.exp(log_p - logsumexp(log_p))


def test_classes_are_drawn_as_enumeration_has_them(rng):
    n_classes, pi = 3, np.array([0.6, 0.3, 0.1])
    codes, known = np.array([1, 0, 1, 1, 0, 2]), np.array([-1, -1, 0, -1, 1, -1])
    log_likelihood = rng.normal(0, 1.5, size=(codes.size, n_classes))
    states, p = enumerate_posterior(log_likelihood, pi, codes, known)
    drawn = draw_with_own_prevalence(
        np.repeat(log_likelihood[None], N, axis=0), np.repeat(np.log(pi)[None], N, axis=0), codes, known, rng
    )  # (sample, item)
    marginal = np.stack([((states == k) * p[:, None]).sum(axis=0) for k in range(n_classes)], axis=1)
    free = known < 0
    assert frequencies_agree(drawn[:, free], marginal[free])
    assert (drawn[:, ~free] == known[~free]).all()
    joint = np.array([[p[(states[:, [0, 3]] == pair).all(axis=1)].sum() for pair in np.ndindex(n_classes, n_classes)]])
    both = drawn[:, [0]] * n_classes + drawn[:, [3]]  # of one group: their classes depend on each other
    assert frequencies_agree(both, joint)
    apart = np.array([[np.prod([marginal[0, a], marginal[3, b]]) for a, b in np.ndindex(n_classes, n_classes)]])
    assert not frequencies_agree(both, apart)


def test_what_is_impossible_stays_so_and_one_item_is_a_group():
    log_likelihood = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, 0.0]])
    drawn = draw_with_own_prevalence(
        np.repeat(log_likelihood[None], 500, axis=0), np.full((500, 2), np.log(0.5)), np.array([0, 1, 2]),
        np.full(3, -1), np.random.default_rng(1),
    )  # fmt: skip
    assert (drawn[:, :2] == [0, 1]).all()
    assert 0.4 < drawn[:, 2].mean() < 0.6
