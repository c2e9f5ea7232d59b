"""Agreement of ratings: interval alpha is that of the package krippendorff, and ICC that of the mean squares."""

import krippendorff
import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError


def make(rng, n_items=30, n_annotators=5, share=0.6):
    truth = rng.normal(50, 15, n_items)
    pairs = [(i, j) for i in range(n_items) for j in range(n_annotators) if rng.random() < share]
    return ba.RatingData.from_records(
        [(f"s{i}", f"a{j}", float(np.clip(truth[i] + rng.normal(0, 12), 0, 100))) for i, j in pairs], scale=(0, 100)
    )


def test_alpha_is_krippendorffs(rng):
    data = make(rng)
    table = np.full((data.n_annotators, data.n_items), np.nan)
    table[data.annotator, data.item] = data.value
    found = ba.rating_agreement(data, resamples=0).set_index("coefficient")["value"]
    assert found["alpha"] == pytest.approx(krippendorff.alpha(table, level_of_measurement="interval"))


def test_icc_is_that_of_the_mean_squares(rng):
    """Of a balanced table, by the formulas of Shrout and Fleiss."""
    data = make(rng, share=2)
    x = data.value[np.argsort(data.item, kind="stable")].reshape(data.n_items, -1)
    k = x.shape[1]
    between = k * x.mean(axis=1).var(ddof=1)
    within = x.var(axis=1, ddof=1).mean()
    found = ba.rating_agreement(data, resamples=200, random_seed=1).set_index("coefficient")
    assert found.loc["ICC(1,1)", "value"] == pytest.approx((between - within) / (between + (k - 1) * within))
    assert found.loc["ICC(1,k)", "value"] == pytest.approx((between - within) / between)
    assert (found["ci89_lb"] < found["value"]).all()
    assert (found["ci89_ub"] > found["value"]).all()


def test_one_item_has_no_interval_and_none_no_agreement():
    one = ba.RatingData.from_records([("s1", "a", 3), ("s1", "b", 4), ("s2", "a", 9)], scale=(0, 10))
    assert ba.rating_agreement(one, resamples=50, random_seed=1)["ci89_lb"].isna().all()
    alone = ba.RatingData.from_records([("s1", "a", 3), ("s2", "b", 4)], scale=(0, 10))
    with pytest.raises(DataError, match="no item has two ratings"):
        ba.rating_agreement(alone)
