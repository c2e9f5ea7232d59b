"""Agreement of sets of labels: known distances, and alpha as another package gives it with these distances."""

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.agreement.coefficients import gather_sets

SPLIT = {"split": "|", "multi_label": True}


def read(said):
    """Annotations of sets of labels, from texts of an item, an annotator and labels such as "joy|fear"."""
    return ba.read_annotations(pd.DataFrame(said, columns=["item", "annotator", "label"]), **SPLIT)


@pytest.mark.parametrize(
    ("one", "other", "jaccard", "masi"),
    [  # those of nltk.metrics.distance, which rounds two thirds to .67 and one third to .33
        ("1|2", "1|2|3|4", 0.5, 0.665),
        ("1|2|3|4", "3|4|5", 0.6, 0.868),
        ("1|2", "1|2", 0, 0),
        ("1", "2", 1, 1),
    ],
)
def test_distances_are_those_of_nltk(one, other, jaccard, masi):
    data, distances = gather_sets(read([("i1", "ada", one), ("i1", "bo", other), ("i2", "ada", "6")]))
    first, second = (data.labels.index("; ".join(each.split("|"))) for each in (one, other))
    assert distances["jaccard"][first, second] == pytest.approx(jaccard)
    assert distances["masi"][first, second] == pytest.approx(masi, abs=0.002)
    for distance in distances.values():
        np.testing.assert_array_equal(distance, distance.T)
        assert not distance.diagonal().any()


@settings(max_examples=20)
@given(st.lists(st.lists(st.sets(st.integers(0, 3)), min_size=3, max_size=3), min_size=2, max_size=8))
def test_alpha_is_that_of_krippendorff_with_these_distances(rows):
    rows = [*rows, [{0}, {1}, {0, 1}]]  # at least two sets
    answers = [(f"i{i} / {label}", "abc"[j], "yes" if label in chosen else "no")
               for i, row in enumerate(rows) for j, chosen in enumerate(row) for label in range(4)]  # fmt: skip
    data = ba.AnnotationData.from_records(answers, labels=("no", "yes"))
    table = ba.agreement_table(data, sets=True, resamples=0).set_index("coefficient")["value"]
    kinds = sorted({tuple(sorted(chosen)) for row in rows for chosen in row})
    codes = np.array([[kinds.index(tuple(sorted(chosen))) for chosen in row] for row in rows], dtype=float).T

    def measure(near):
        def distance(one, other, **_):
            def each(a, b):
                a, b = set(kinds[int(a)]), set(kinds[int(b)])
                return 0.0 if a == b else 1 - near(a, b) * len(a & b) / len(a | b)

            return np.vectorize(each)(one, other)

        return krippendorff.alpha(codes, value_domain=np.arange(len(kinds)), level_of_measurement=distance)

    def near_of_masi(a, b):
        return 2 / 3 if a <= b or b <= a else 1 / 3

    assert table["krippendorff_alpha_jaccard"] == pytest.approx(measure(lambda *_: 1), abs=1e-12)
    assert table["krippendorff_alpha_masi"] == pytest.approx(measure(near_of_masi), abs=1e-12)
    nominal = krippendorff.alpha(codes, value_domain=np.arange(len(kinds)), level_of_measurement="nominal")
    assert table["krippendorff_alpha_nominal"] == pytest.approx(nominal, abs=1e-12)


def test_sets_near_each_other_agree_more_and_have_intervals():
    rng = np.random.default_rng(1)
    truth = rng.integers(4, size=60)
    said = [
        (f"i{i}", who, f"{label}|{(label + rng.integers(1, 4)) % 4}") for i, label in enumerate(truth) for who in "abc"
    ]
    table = ba.agreement_table(read(said), sets=True, resamples=100, random_seed=1).set_index("coefficient")
    nominal, masi, jaccard = (table.loc[f"krippendorff_alpha_{name}"] for name in ("nominal", "masi", "jaccard"))
    assert nominal["value"] < masi["value"] < jaccard["value"]
    assert masi["ci89_lb"] < masi["value"] < masi["ci89_ub"]
    assert "krippendorff_alpha_masi" not in set(ba.agreement_table(read(said), resamples=0)["coefficient"])


def test_data_of_other_kinds_have_no_sets(refuses):
    pair = [("i1", "ada", "no"), ("i1", "bo", "yes")]
    for records in (pair, [("i1 / joy", "ada", "good"), ("i1 / joy", "bo", "bad")]):
        data = ba.AnnotationData.from_records(records)
        with refuses(DataError, "sets of labels need every pair of item and label as an item"):
            ba.agreement_table(data, sets=True)
