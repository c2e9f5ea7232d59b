"""Answers that are unsure are no votes, and missing where agreement is measured; a use of the labels they are."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.agreement.coefficients import count_disagreement, estimate_coins
from bayesanno.agreement.skew import measure_skew
from bayesanno.agreement.subsets import alpha_without_each
from bayesanno.agreement.vote import split_vote
from tests.samples import simulate_unsure


@pytest.fixture(scope="module")
def data():
    return simulate_unsure(np.random.default_rng(1))


@pytest.fixture(scope="module")
def missing(data):
    """The same table with holes where annotators were unsure, read as any table with holes."""
    frame = data.to_frame()
    return ba.read_annotations(frame.assign(label=frame["label"].where(frame["label"] != "unsure")))


def test_tables_and_numbers_are_those_of_a_table_with_holes(data, missing):
    assert data.n_annotations > missing.n_annotations
    for tabulate in (
        lambda data: ba.agreement_table(data, resamples=20, random_seed=1),
        ba.pair_table,
        ba.annotator_agreement,
        ba.agreement.confusable_labels,
        lambda data: ba.agreement.subset_table(data, largest=3),
    ):
        pd.testing.assert_frame_equal(tabulate(data), tabulate(missing))
    assert ba.noise.bound_noise_of(data) == ba.noise.bound_noise_of(missing)
    assert count_disagreement(data) == count_disagreement(missing)
    skew = measure_skew(data)
    assert skew == measure_skew(missing)
    others = missing.binarise(positive=skew.label)  # the alpha is that of the label against all others
    alpha = ba.agreement_table(others, resamples=0).set_index("coefficient").loc["krippendorff_alpha_nominal", "value"]
    assert skew.alpha == pytest.approx(alpha, rel=1e-12)
    for measure in (estimate_coins, alpha_without_each, split_vote):
        np.testing.assert_array_equal(measure(data), measure(missing))
    outliers = ba.agreement.outlier_table(data)
    assert outliers["alpha"].iloc[0] == ba.agreement.outlier_table(missing)["alpha"].iloc[0]


def test_use_of_labels_is_that_of_unsure_ones_too(data):
    table = ba.usage_table(data)
    shares = table.set_index("annotator")["usage[unsure]"]
    np.testing.assert_allclose(shares, data.unsure_by_annotator / data.by_annotator)
    assert shares.filter(like="careless").eq(0).all()
    assert shares.filter(regex="careful").gt(0).all()


def test_an_unsure_answer_is_no_vote():
    said = [("s1", "ada", "unsure"), ("s1", "bo", "unsure"), ("s2", "ada", "unsure"), ("s2", "bo", "no")]
    data = ba.AnnotationData.from_records(said, labels=["no", "yes"], unsure="unsure")
    assert split_vote(data).tolist() == [[0.5, 0.5], [1, 0]]
    table = ba.majority_vote(data)
    assert table["label"].tolist() == ["no", "no"]  # of an item without votes, what all items got most often
    assert table["n_annotations"].tolist() == [0, 1]
    assert np.isnan(table["share"][0])
    assert table["tied"].tolist() == [True, False]


def test_agreement_needs_two_answers_that_are_not_unsure(refuses):
    said = [("s1", "ada", "unsure"), ("s1", "bo", "no"), ("s2", "ada", "yes"), ("s2", "bo", "unsure")]
    data = ba.AnnotationData.from_records(said, unsure="unsure")
    of_library = (ba.agreement_table, ba.pair_table, ba.annotator_agreement, ba.noise.bound_noise_of)
    for measure in (*of_library, count_disagreement, ba.agreement.subset_table, ba.agreement.outlier_table):
        with refuses(DataError, "no item has answers by two annotators"):
            measure(data)
