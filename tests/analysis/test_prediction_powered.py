"""Prediction-powered means: against the formulas written out, their coverage, and what must not happen."""

import numpy as np
import pytest
from scipy import stats

from bayesanno.analysis.prediction_powered import draw_powered

SHARE = np.array([[0.0], [1.0]])  # the share of the second of two classes


def simulate(rng, *, shares=(0.7, 0.5), items=150, n_known=20, favours=0.0):
    """Known classes, predictions, groups, and the classes of all items; items of the first group may be favoured."""
    codes = np.repeat(np.arange(len(shares)), items)
    truth = (rng.random(codes.size) < np.array(shares)[codes]).astype(int)
    seen = np.where(rng.random(codes.size) < 0.85, truth, 1 - truth)  # predictions are wrong on 15%
    good = 0.2 + 0.5 * seen + 0.25 * rng.random(codes.size)
    good = np.where(codes == 0, good + favours * (1 - good), good)
    turn = np.concatenate([rng.permutation(items) for _ in shares])
    known = np.where(turn < n_known, truth, -1)
    return known, np.stack([1 - good, good], axis=1), codes, truth


def by_hand(known, probability, codes, *, at_large):
    """The estimate, standard error and degrees of freedom of each group, with loops."""
    f, groups = probability[:, 1], range(codes.max() + 1)
    own = [[i for i in range(codes.size) if codes[i] == g and known[i] >= 0] for g in groups]
    rest = [[i for i in range(codes.size) if codes[i] == g and known[i] < 0] for g in groups]
    together = sum((len(o) - 1) * np.cov(known[o], f[o])[0, 1] for o in own)
    beta = together / sum((len(o) - 1) * np.var(f[o], ddof=1) for o in own)
    found = []
    for o, r in zip(own, rest, strict=True):
        n, more = len(o), len(r)
        power = beta * more / (n + more)
        estimate = np.mean(known[o]) + power * (np.mean(f[r]) - np.mean(f[o]))
        left = known[o] - (power if at_large else beta) * f[o]
        spread = np.var([*left, left.mean() - 0.5, left.mean() + 0.5], ddof=1)  # two more items
        variance = spread / n + power**2 * np.var(f[r]) / more if at_large else spread / n * more / (n + more)
        found.append((estimate, np.sqrt(variance), n - 1))
    return found


@pytest.mark.parametrize("at_large", [False, True])
def test_estimates_and_quantiles_are_those_of_the_formulas(rng, at_large):
    known, probability, codes, _ = simulate(rng, n_known=8)  # so few that a degree of freedom tells
    draws = draw_powered(known, probability, codes, SHARE, rng, at_large=at_large)[:, :, 0]
    for group, (estimate, error, df) in enumerate(by_hand(known, probability, codes, at_large=at_large)):
        assert np.median(draws[:, group]) == pytest.approx(estimate, abs=1e-6)
        tails = stats.t(df, estimate, error).ppf([0.03, 0.97]).clip(0, 1)
        np.testing.assert_allclose(np.quantile(draws[:, group], [0.03, 0.97]), tails, atol=1e-3)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.06  # groups are independent


def test_predictions_that_favour_a_group_do_not_bias_it(rng):
    """Intervals of 94% cover, where the mean prediction is off by more than their width."""
    covered, off, narrower = [], [], []
    for _ in range(200):
        known, probability, codes, truth = simulate(rng, favours=0.4)
        draws = draw_powered(known, probability, codes, SHARE, rng, at_large=True)[:, :, 0]
        low, high = np.quantile(draws, [0.03, 0.97], axis=0)
        covered.append((low <= (0.7, 0.5)) & ((0.7, 0.5) <= high))
        off.append(probability[codes == 0, 1].mean() - 0.7)
        among = draw_powered(known, probability, codes, SHARE, rng, at_large=False)[:, :, 0]
        low, high = np.quantile(among, [0.03, 0.97], axis=0)
        narrower.append([low[g] <= truth[codes == g].mean() <= high[g] for g in (0, 1)])
    assert abs(np.mean(off)) > 0.05
    for cover in (covered, narrower):
        low, high = stats.binom(400, 0.94).ppf([0.0005, 0.9995]) / 400
        assert low <= np.mean(cover) <= high


def test_what_is_known_of_all_items_is_certain(rng):
    known, probability, codes, truth = simulate(rng, n_known=150)
    draws = draw_powered(known, probability, codes, SHARE, rng, at_large=False)[:, :, 0]
    assert draws.std(axis=0).tolist() == pytest.approx([0, 0], abs=1e-9)
    np.testing.assert_allclose(draws[0], [truth[codes == group].mean() for group in (0, 1)])
    assert (draw_powered(known, probability, codes, SHARE, rng, at_large=True).std(axis=0) > 0.03).all()


def test_shares_add_up_to_one_and_make_the_grade(rng):
    truth, codes = rng.integers(3, size=200), np.repeat([0, 1], 100)
    probability = rng.dirichlet([1, 1, 1], 200) * 0.5 + 0.5 * np.eye(3)[truth]
    known = np.where(rng.random(200) < 0.2, truth, -1)
    worth = np.column_stack([np.eye(3), [1.0, 2.0, 5.0]])
    estimate = draw_powered(known, probability, codes, worth, rng, at_large=True).mean(axis=0)
    np.testing.assert_allclose(estimate[:, :3].sum(axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(estimate[:, 3], estimate[:, :3] @ [1, 2, 5], atol=5e-3)
