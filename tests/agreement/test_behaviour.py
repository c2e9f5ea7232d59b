"""Anveshan's statistics: known values, the statements of the paper, and errors."""

import math
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2, chi2_contingency, entropy
from sklearn.metrics import silhouette_samples

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.agreement.alpha import alpha_of_votes
from bayesanno.agreement.behaviour import (
    find_distances,
    find_divergence,
    find_leverage,
    find_outliers,
    mean_distances,
)
from bayesanno.agreement.groups import measure_silhouette
from bayesanno.agreement.subsets import alpha_without_each, leave_out
from tests.agreement.test_coefficients import from_matrix
from tests.samples import tiny_data


def shares_of(*counts):
    counts = np.array(counts, dtype=float)
    return counts / counts.sum(axis=1, keepdims=True)


def test_a_label_of_one_annotator_is_infinitely_far_unless_smoothed():
    data = from_matrix(
        [*[[0, 0, 0]] * 4, *[[0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]], [1, 1, 2], [1, 1, 2]]
    )  # counts (6, 4, 0), (5, 5, 0), (4, 4, 2)
    table = ba.usage_table(data)
    np.testing.assert_allclose(table["kld"], [0.1254960292, 0.1115717757, np.inf], atol=1e-9)
    assert np.isfinite(table[["leverage", "jsd_mean"]]).all(axis=None)
    assert not table["outlier"].any()  # two answers of three annotators can be chance
    smoothed = ba.usage_table(data, smoothing=0.5)
    np.testing.assert_allclose(smoothed["kld"], [0.0592990656, 0.0482071896, 0.1960785334], atol=1e-9)


@settings(max_examples=30)
@given(
    arrays(int, st.tuples(st.integers(2, 6), st.integers(2, 5)), elements=st.integers(0, 9)).filter(
        lambda counts: (counts.sum(axis=1) > 0).all()
    ),
    st.sampled_from([math.e, 2]),
)
def test_divergences_are_those_of_scipy_and_identities_hold(counts, base):
    shares = shares_of(*counts)
    n = len(shares)
    leverage, divergence, distance = find_leverage(shares), find_divergence(shares, base), find_distances(shares, base)
    for who, own in enumerate(shares):
        others = np.delete(shares, who, axis=0).mean(axis=0)
        assert divergence[who] == pytest.approx(entropy(own, others, base), abs=1e-9)
        assert leverage[who] == pytest.approx((n - 1) / n * np.abs(own - others).sum(), abs=1e-12)
    for one, other in combinations(range(n), 2):
        expected = jensenshannon(shares[one], shares[other], base) ** 2
        assert distance[one, other] == distance[other, one] == pytest.approx(expected, abs=1e-9)
    assert (np.diag(distance) < 1e-12).all()
    assert (distance <= math.log(2, base)).all()


def test_the_mean_divergence_of_many_is_that_of_every_two(rng, monkeypatch):
    shares = shares_of(*rng.integers(1, 3, size=(40, 2)), *rng.integers(1, 9, size=(10, 2)))
    shares[[3, 20]] = np.nan  # two who answered nothing
    others = np.where(np.eye(50), np.nan, find_distances(shares))
    expected = np.full(50, np.nan)
    known = np.isfinite(shares[:, 0])
    expected[known] = np.nanmean(others[known], axis=1)
    np.testing.assert_allclose(mean_distances(shares), expected, atol=1e-12)
    monkeypatch.setattr("bayesanno.agreement.resampling.MAX_CELLS", 50)  # a few rows at a time
    np.testing.assert_allclose(mean_distances(shares), expected, atol=1e-12)
    assert np.isnan(mean_distances(shares[2:4])).all()


def test_draws_are_measured_one_by_one(rng):
    draws = rng.dirichlet(np.ones(3), size=(5, 4))
    for measure in (find_leverage, find_divergence, find_distances):
        np.testing.assert_allclose(measure(draws), [measure(draw) for draw in draws], rtol=1e-12)


def test_outliers_are_far_above_the_rest_and_none_is_below_it():
    values = np.array([1.0, 1.1, 0.9, 1.0, 1.05, 0.0, 1.9])
    assert find_outliers(values).tolist() == [False] * 6 + [True]
    assert find_outliers(np.array([1.0, 1.0, 1.0, 1.01])).tolist() == [False] * 3 + [True]
    assert not find_outliers(np.ones(5)).any()
    assert find_outliers(np.array([1.0, 1.1, np.inf, np.nan])).tolist() == [False, False, True, False]


def test_one_table_in_twenty_at_most_names_somebody_by_chance(rng):
    """Before, 31 of 100 such tables did."""
    named = 0
    for _ in range(60):
        truth = rng.integers(2, size=(30, 1))
        answers = np.where(rng.random((30, 6)) < 0.8, truth, 1 - truth)
        named += ba.usage_table(from_matrix(answers))["outlier"].any()
    assert named <= 7  # more have a probability of 0.01


def test_who_always_says_one_is_named_also_where_one_is_frequent(rng):
    truth = rng.random((60, 1)) < 0.7
    answers = np.where(rng.random((60, 6)) < 0.85, truth, ~truth).astype(int)
    answers[:, 2] = 1
    table = ba.usage_table(from_matrix(answers))
    assert table["outlier"].tolist() == [False] * 2 + [True] + [False] * 3
    assert table["p_value"].idxmin() == 2


def test_the_p_value_is_that_of_shuffled_answers_within_items(rng):
    answers = rng.integers(3, size=(12, 4))
    answers[:, 0] = np.minimum(answers[:, 0], rng.integers(3, size=12))
    answers[0, 1:] = -1  # an item with one answer says nothing

    def distance(table):
        given = np.where(table < 0, np.nan, np.stack([table == label for label in range(3)]))
        return np.nansum(given[:, :, 0] - np.nanmean(given, axis=2), axis=1)

    drawn = [distance(np.vstack([answers[:1], rng.permuted(answers[1:], axis=1)])) for _ in range(4000)]
    inverse = np.linalg.pinv(np.cov(np.transpose(drawn)), rcond=1e-6)
    statistics = np.einsum("di,ij,dj->d", drawn, inverse, drawn)
    by_shuffling = np.mean(statistics >= distance(answers) @ inverse @ distance(answers))
    assert ba.usage_table(from_matrix(answers))["p_value"].iloc[0] == pytest.approx(by_shuffling, abs=0.03)


def test_answers_to_different_items_are_compared_as_a_whole():
    counts = np.array([[30, 10], [18, 22], [20, 20]])
    said = [
        (f"i{a}{k}{n}", str(a), str(k)) for a, row in enumerate(counts) for k, n in enumerate(row) for n in range(n)
    ]
    p = ba.usage_table(ba.AnnotationData.from_records(said))["p_value"]
    plain = chi2_contingency([counts[0], counts[1:].sum(axis=0)], correction=False)
    assert p[0] == pytest.approx(chi2.sf(plain.statistic * 119 / 120, 1))


def test_dropping_a_spammer_raises_alpha(rng):
    """Table 3: one of ten annotators always gives the same label."""
    truth = rng.integers(3, size=(80, 1))
    answers = np.where(rng.random((80, 10)) < 0.8, truth, rng.integers(3, size=(80, 10)))
    answers[:, 4] = 2
    table = ba.agreement.outlier_table(from_matrix(answers))
    assert table["dropped"].tolist() == ["", "e"]
    assert table["alpha"].is_monotonic_increasing
    assert table["alpha"].iloc[0] == pytest.approx(alpha_of_votes(from_matrix(answers).votes))
    assert len(ba.agreement.outlier_table(from_matrix(answers), most=0)) == 1


def test_two_camps_who_read_a_label_differently_are_two_groups(rng):
    """Half of the annotators say "sit" for what the other half calls "stand"; both are as often right otherwise."""
    truth = rng.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=(120, 1))
    answers = np.where(rng.random((120, 10)) < 0.85, truth, rng.integers(4, size=(120, 10)))
    camp = np.arange(10) % 2 == 1
    answers[:, camp] = np.where(answers[:, camp] == 1, 2, answers[:, camp])
    table = ba.agreement.group_annotators(from_matrix(answers)).set_index("annotator")
    groups = table.loc[list("abcdefghij"), "group"].to_numpy()
    assert set(groups) == {1, 2}
    assert len(set(groups[camp])) == len(set(groups[~camp])) == 1
    assert (table["silhouette"] > 0.3).all()
    assert ba.agreement.group_annotators(from_matrix(answers), groups=5)["group"].nunique() == 5
    first = ba.agreement.confusable_labels(from_matrix(answers)).iloc[0]
    assert (first["label_1"], first["label_2"]) == ("1", "2")


def test_silhouettes_are_those_of_scikit_learn(rng):
    points = rng.normal(size=(12, 2))
    far = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    group = np.array([1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4])
    np.testing.assert_allclose(measure_silhouette(far, group), silhouette_samples(far, group, metric="precomputed"))
    assert (measure_silhouette(far, np.ones(12)) == 0).all()


def test_confusions_are_counted_by_pairs_of_answers():
    data = from_matrix([[0, 1, -1], [1, 1, 0], [2, -1, -1], [2, 2, 2]])
    table = ba.agreement.confusable_labels(data).set_index(["label_1", "label_2"])
    assert table.loc[("0", "1"), "times_confused"] == 3
    assert table.loc[("0", "1"), "rate"] == pytest.approx(3 / 4)
    assert table.loc[("0", "2"), "times_confused"] == 0
    used = {"0": 3, "1": 5}  # answers in pairs of both
    assert table.loc[("0", "1"), "rate_by_chance"] == pytest.approx(2 * used["0"] * used["1"] / 8**2)


def test_alpha_of_every_subset_is_that_of_krippendorff(rng):
    answers = np.where(rng.random((30, 5)) < 0.3, -1, rng.integers(3, size=(30, 5)))
    data = from_matrix(answers)
    table = ba.agreement.subset_table(data, least_items=1).set_index("annotators")
    for size in range(2, 6):
        for subset in combinations(range(5), size):
            said = np.where(answers < 0, np.nan, answers)[:, list(subset)].T
            expected = krippendorff.alpha(said, value_domain=[0, 1, 2], level_of_measurement="nominal")
            name = "; ".join("abcde"[who] for who in subset)
            assert table.loc[name, "alpha"] == pytest.approx(expected, abs=1e-9)
    assert len(table) == 26
    assert (table["search"] == "all").all()
    assert table.groupby("size")["alpha"].apply(lambda alphas: alphas.is_monotonic_decreasing).all()


def test_members_of_a_subset_share_items():
    """a and b share ten items, b and c two."""
    answers = np.full((12, 3), -1)
    answers[:10, :2], answers[10:, 1:] = 0, 1
    answers[0, 0] = 1
    data = from_matrix(answers)
    assert ba.agreement.subset_table(data, least_items=3)["annotators"].tolist() == ["a; b"]
    assert ba.agreement.subset_table(data, least_items=2)["annotators"].tolist() == ["a; b", "b; c", "a; b; c"]
    assert ba.agreement.subset_table(data, least_items=11).empty


def test_a_search_finds_the_best_pairs_and_says_that_it_is_one(rng):
    truth = rng.integers(3, size=(60, 1))
    accuracy = np.linspace(0.4, 0.95, 16)
    answers = np.where(rng.random((60, 16)) < accuracy, truth, rng.integers(3, size=(60, 16)))
    data = from_matrix(answers)
    names = data.annotators
    table = ba.agreement.subset_table(data, largest=4)
    assert (table["search"] == "beam").all()
    assert sorted(table["size"].unique()) == [2, 3, 4]
    pairs = {}
    for one, other in combinations(range(16), 2):
        two = leave_out(data, set(names) - {names[one], names[other]})
        pairs[f"{names[one]}; {names[other]}"] = float(alpha_of_votes(two.votes))
    best = max(pairs, key=pairs.get)
    assert table["annotators"].iloc[0] == best
    assert table["alpha"].iloc[0] == pytest.approx(pairs[best])


def test_alpha_without_each_is_alpha_of_the_others(crowd):
    data = crowd[0]
    found = alpha_without_each(data)
    for who in (0, 7, 29):
        others = leave_out(data, [data.annotators[who]])
        assert others.n_annotations == data.n_annotations - (data.annotator == who).sum()
        assert found[who] == pytest.approx(float(alpha_of_votes(others.votes)), abs=1e-12)


def test_wrong_arguments_are_refused(refuses, monkeypatch):
    data, two, room = tiny_data(), from_matrix([[0, 1], [1, 1]]), ba.agreement
    for call, match in (
        (lambda: ba.usage_table(data, base=1), "base is 1"),
        (lambda: ba.usage_table(data, smoothing=-1), "smoothing is -1"),
        (lambda: room.group_annotators(data, groups=9), "groups is 9: it must be 1 to 3"),
        (lambda: room.group_annotators(two), "annotators with annotations: 2"),
        (lambda: room.subset_table(data, least_items=0), "least_items is 0"),
        (lambda: room.subset_table(data, largest=4), "largest is 4: it must be 2 to 3"),
        (lambda: room.outlier_table(data, most=-1), "most is -1"),
    ):
        with refuses(DataError, match):
            call()
    monkeypatch.setattr("bayesanno.agreement.groups.MOST_GROUPED", 2)
    with refuses(DataError, "among 2 at most"):
        room.group_annotators(data)


def test_an_annotator_without_annotations_has_no_usage():
    table = ba.usage_table(from_matrix([[0, 0, -1], [1, 0, -1]])).set_index("annotator")
    assert table.loc["c", ["leverage", "kld", "jsd_mean", "usage[0]"]].isna().all()
    assert table.loc["a", "kld"] == pytest.approx(np.inf)
    assert np.isfinite(table.loc[["a", "b"], ["leverage", "jsd_mean"]]).all(axis=None)
