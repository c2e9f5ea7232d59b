"""What studies by simulation say: of ranks, of intervals, and of the probabilities of labels."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import binomtest

import bayesanno as ba
from bayesanno.criticism.calibration import bound_share
from tests.samples import bounds_of, is_covered


def study(ranks, probability=None, state=None):
    """A study with these ranks (simulation, annotator), and what its fits say of items."""
    found = {"usage": (("simulation", "annotator"), ranks)}
    if probability is not None:
        found |= {"probability": (("simulation", "item", "true_class"), probability)}
        found |= {"state": (("simulation", "item"), state)}
    flags = {name: ("simulation", np.zeros(len(ranks), dtype=bool)) for name in ("warned", "several_modes")}
    coords = {"annotator": ["ada", "bo"]}
    return xr.Dataset({**found, **flags}, coords=coords, attrs={"ranked": ["usage"], "model": "some_model"})


def test_uniform_ranks_pass_and_others_do_not(rng):
    n = 200
    right = rng.integers(100, size=n)
    narrow = np.where(rng.random(n) < 0.5, rng.integers(25, size=n), rng.integers(75, 100, size=n))
    found = study(np.stack([right, narrow], axis=1)).assign(warned=("simulation", np.arange(n) < 7))
    table = ba.sbc_table(found).set_index("parameter")
    assert table.index.tolist() == ["usage[bo]", "usage[ada]"]
    assert (table["simulations"].tolist(), table["warned"].tolist()) == ([n, n], [7, 7])
    assert table.loc["usage[ada]", "p"] > 0.001
    assert table.loc["usage[ada]", "spread"] == pytest.approx(1, abs=0.2)
    assert table.loc["usage[bo]", "p_adjusted"] < 1e-6
    assert table.loc["usage[bo]", "spread"] > 1.5  # too far out: the posterior would be too narrow
    assert table.loc["usage[bo]", "p_adjusted"] / table.loc["usage[bo]", "p"] == pytest.approx(2)  # both are tiny
    low = ba.sbc_table(study(np.stack([right, right // 2], axis=1))).set_index("parameter")
    assert low.loc["usage[bo]", "mean_rank"] < 0.3


def test_intervals_hold_as_many_ranks_as_they_say():
    each = np.arange(100)
    table = ba.sbc_table(study(np.stack([each, each // 2], axis=1))).set_index("parameter")
    assert table.loc["usage[ada]", ["covers_50", "covers_94"]].tolist() == [0.5, 0.94]
    assert table.loc["usage[bo]", ["covers_50", "covers_94"]].tolist() == [0.5, 0.94]  # ranks 25 to 49, 3 to 49
    coverage = ba.sbc_table(study(np.stack([each, each], axis=1)), of="coverage")
    assert coverage["variable"].tolist() == ["usage", "usage"]
    assert coverage[["level", "n", "covered"]].to_numpy().tolist() == [[0.5, 200, 0.5], [0.94, 200, 0.94]]


def test_what_hangs_together_counts_once(rng):
    ranks = rng.integers(100, size=(200, 2))
    one = ba.sbc_table(study(ranks[:, [0, 0]]), of="coverage").iloc[0]  # both annotators are covered, or none is
    held = int(((ranks[:, 0] >= 25) & (ranks[:, 0] <= 74)).sum())
    exact = binomtest(held, 200).proportion_ci(0.89, method="exact")
    assert one["covered"] == held / 200
    assert [one["ci89_lb"], one["ci89_ub"]] == pytest.approx([exact.low, exact.high], abs=0.001)
    two = ba.sbc_table(study(ranks), of="coverage").iloc[0]
    assert two["ci89_ub"] - two["ci89_lb"] < 0.8 * (one["ci89_ub"] - one["ci89_lb"])


def test_intervals_of_clustered_shares_hold_the_share(rng):
    """At 95%, over data of which half of the spread is between clusters; of independent items they would be at 75%."""
    held = naive = 0
    for _ in range(400):
        share = rng.beta(0.6 / 0.9, 0.4 / 0.9, size=100)
        counts = rng.binomial(10, share)
        low, high = bound_share(counts, np.full(100, 10), 0.95)
        held += low <= 0.6 <= high
        alone = binomtest(int(counts.sum()), 1000).proportion_ci(0.95, method="wilson")
        naive += alone.low <= 0.6 <= alone.high
    assert binomtest(held, 400, 0.95).pvalue > 1e-3
    assert naive < 0.8 * 400
    assert bound_share(np.full(20, 10), np.full(20, 10), 0.95) == pytest.approx((0.025 ** (1 / 20), 1))
    assert bound_share(np.array([0, 3, 0]), np.array([5, 5, 0]), 0.95) == bound_share(
        np.array([0, 3]), np.array([5, 5]), 0.95
    )


def calibrated(rng, n=300, items=10):
    probability = rng.dirichlet(np.ones(3), size=(n, items))
    state = (rng.random((n, items, 1)) > probability.cumsum(axis=2)).sum(axis=2)
    return probability, state


def test_labels_of_all_simulations_are_as_often_right_as_they_say(rng):
    probability, state = calibrated(rng)
    ranks = rng.integers(100, size=(300, 2))
    right = study(ranks, probability, state)
    table = ba.sbc_table(right, of="labels", ci_prob=0.99)
    assert table["n"].sum() == 3000
    assert is_covered(table, "predicted").all()
    sharper = probability**2 / (probability**2).sum(axis=2, keepdims=True)
    wrong = ba.sbc_table(study(ranks, sharper, state), of="labels")
    assert (bounds_of(wrong)["high"] < wrong["predicted"]).sum() >= 3  # labels are said to be surer than they are
    scores = ba.sbc_table(right, of="scores", random_seed=1).set_index("score")
    away = (table["right"] - table["predicted"]).abs()
    assert scores.loc["calibration_error", "value"] == pytest.approx((table["n"] * away).sum() / 3000)
    assert scores.loc["accuracy", "value"] == np.mean(probability.argmax(axis=2) == state)
    assert scores["n"].tolist() == [3000] * 4
    worse = ba.sbc_table(study(ranks, sharper, state), of="scores", random_seed=1).set_index("score")
    assert worse.loc["calibration_error", "ci89_lb"] > scores.loc["calibration_error", "ci89_ub"]


def test_simulations_are_drawn_again_as_wholes(rng):
    probability, state = calibrated(rng, items=1)
    ranks = rng.integers(100, size=(300, 2))
    one = ba.sbc_table(study(ranks, probability, state), of="scores", random_seed=1)
    same = ba.sbc_table(
        study(ranks, probability.repeat(10, axis=1), state.repeat(10, axis=1)), of="scores", random_seed=1
    )
    np.testing.assert_allclose(same[["value", "ci89_lb", "ci89_ub"]], one[["value", "ci89_lb", "ci89_ub"]])


def test_dimensions_are_pooled(rng):
    probability, state = calibrated(rng)
    of_one = study(rng.integers(100, size=(300, 2)), probability, state)
    several = of_one.drop_vars(["probability", "state"]).assign(
        probability=(("dimension", "simulation", "item", "label"), np.stack([probability, probability[:, :, ::-1]])),
        state=(("dimension", "simulation", "item"), np.stack([state, 2 - state])),
    )
    both = np.concatenate([probability] * 2, axis=1), np.concatenate([state] * 2, axis=1)
    alone = study(of_one["usage"].values, *both)
    np.testing.assert_allclose(ba.sbc_table(several, of="labels"), ba.sbc_table(alone, of="labels"))
