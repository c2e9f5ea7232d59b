"""How annotators use labels, with posteriors: tables of draws of the known posterior, and how sure one can be."""

import math

import numpy as np
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy.stats import dirichlet

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError
from bayesanno.agreement.behaviour import find_distances, find_leverage
from bayesanno.models.label_usage import LabelUsage, find_common_habit
from tests.inference.draws import make_fit
from tests.samples import simulate_crowd, tiny_data

LABELS = ("common", "middling", "seldom", "rare")
SHARES = np.array([0.35, 0.3, 0.2, 0.15])


def draw_usage(data, alpha):
    """A fit of draws of the Dirichlet distributions that the posterior is: alpha (annotator, response)."""
    rng = np.random.default_rng(1)
    draws = np.stack([rng.dirichlet(own, size=(2, 150)) for own in alpha], axis=2)
    dims = ("chain", "draw", "annotator", "response")
    coords = dict(zip(dims, (range(2), range(150), data.annotators, data.labels), strict=True))
    return make_fit(LabelUsage(), data, xr.Dataset({"usage": (dims, draws)}, {k: list(v) for k, v in coords.items()}))


def simulate_annotators(n_each, rng, *, spammer=True, few=None):
    """20 annotators who draw labels from the same shares, and one of them who always gives the rarest."""
    records = []
    for who in range(20):
        n = few if few is not None and who == 19 else n_each
        said = rng.choice(4, size=n, p=SHARES)
        if spammer and who == 0:
            said[:] = 3
        records += [(f"s{item}", f"a{who}", LABELS[label]) for item, label in enumerate(said)]
    return ba.AnnotationData.from_records(records, labels=LABELS)


@pytest.fixture(scope="module")
def data():
    return simulate_crowd()[0]


@pytest.fixture(scope="module")
def usage_fit(data):
    return draw_usage(data, find_common_habit(data) + data.usage)


def test_the_posterior_is_that_of_labels_counted_beside_a_habit(rng):
    data = tiny_data()
    logp = LabelUsage().build(data).compile_logp(mode=Mode(linker="py"), jacobian=False)
    alpha = find_common_habit(data) + data.usage  # (annotator, response)
    found, expected = [], []
    for _ in range(4):
        y = rng.normal(size=(3, 1))
        usage = np.exp(np.hstack([y, -y])) / np.exp(np.hstack([y, -y])).sum(axis=1, keepdims=True)
        found.append(logp({"usage_simplex__": y}))
        expected.append(sum(dirichlet(own).logpdf(shares) for own, shares in zip(alpha, usage, strict=True)))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-8)


def test_the_table_is_made_of_draws(usage_fit, data):
    table = ba.behaviour_table(usage_fit, farthest_by="leverage")
    draws = usage_fit["posterior"]["usage"].values  # (chain, draw, annotator, response)
    leverage = find_leverage(draws)
    np.testing.assert_allclose(table["leverage_mean"], leverage.mean(axis=(0, 1)), rtol=1e-10)
    np.testing.assert_allclose(table["leverage_sd"], leverage.reshape(-1, 30).std(axis=0, ddof=1), rtol=1e-10)
    for what in ("leverage", "kld", "jsd_mean"):
        low, mean, high = (table[f"{what}_{end}"] for end in ("eti89_lb", "mean", "eti89_ub"))
        assert ((low < mean) & (mean < high)).all()
    farthest = np.bincount(leverage.argmax(axis=2).ravel(), minlength=30) / leverage[..., 0].size
    np.testing.assert_allclose(table["farthest_probability"], farthest)
    assert table["n_annotations"].sum() == data.n_annotations
    in_bits = ba.behaviour_table(usage_fit, base=2)
    np.testing.assert_allclose(in_bits["kld_mean"] * math.log(2), table["kld_mean"], rtol=1e-9)


def test_two_who_differ_more_than_two_others(usage_fit, data):
    names = list(data.annotators)
    far = find_distances(usage_fit["posterior"]["usage"].values)
    one, other = (names[4], names[9]), (names[0], names[20])
    expected = (far[..., 4, 9] > far[..., 0, 20]).mean()
    assert ba.analysis.differ_more_probability(usage_fit, one, than=other) == pytest.approx(expected)
    assert ba.analysis.differ_more_probability(usage_fit, other, than=one) == pytest.approx(1 - expected)


def test_a_spammer_is_the_outlier_with_many_answers_and_not_with_few():
    rng = np.random.default_rng(0)
    many, few = (
        ba.behaviour_table(draw_usage(data, find_common_habit(data) + data.usage))["farthest_probability"]
        for data in (simulate_annotators(100, rng), simulate_annotators(5, rng))
    )
    assert many[0] > 0.95
    assert few.max() < 0.5


def test_an_annotator_of_few_answers_is_shrunk_to_the_others():
    data = simulate_annotators(250, np.random.default_rng(4), spammer=False, few=5)
    common, even = (
        ba.behaviour_table(draw_usage(data, habit + data.usage)).set_index("annotator")["farthest_probability"]
        for habit in (find_common_habit(data), np.ones(4))
    )
    assert common["a19"] < 0.5
    assert even["a19"] > 0.9


def test_the_common_habit_is_recovered(rng):
    usage = rng.dirichlet(30 * SHARES, size=400)
    records = [
        (f"s{item}", f"a{who}", LABELS[label])
        for who, own in enumerate(usage)
        for item, label in enumerate(rng.choice(4, size=60, p=own))
    ]
    habit = find_common_habit(ba.AnnotationData.from_records(records, labels=LABELS))
    np.testing.assert_allclose(habit / habit.sum(), SHARES, atol=0.02)
    assert habit.sum() == pytest.approx(30, rel=0.15)
    assert (find_common_habit(tiny_data()) >= 0.5).all()


def test_confusions_are_averaged_over_annotators_by_their_answers(tiny_fit):
    table = ba.confusion_table(tiny_fit)
    assert sorted(table[["true_class", "response"]].to_numpy().tolist()) == [["no", "yes"], ["yes", "no"]]
    weight = np.bincount(ba.data_of(tiny_fit).annotator) / 15
    confusion = tiny_fit["posterior"]["confusion"].mean(("chain", "draw")).transpose("annotator", ...).values
    expected = np.tensordot(weight, confusion, axes=1)
    row = table.set_index(["true_class", "response"]).loc[("no", "yes")]
    assert row["mean"] == pytest.approx(expected[0, 1])
    assert row["eti89_lb"] < row["mean"] < row["eti89_ub"]


def test_fits_without_the_quantity_are_refused(refuses, usage_fit, tiny_fit):
    with refuses(FitError, "a fit of model_b does not say how annotators use labels"):
        ba.behaviour_table(tiny_fit)
    with refuses(FitError, "there is no measure 'kl'"):
        ba.behaviour_table(usage_fit, farthest_by="kl")
    with refuses(DataError, "base is 0"):
        ba.behaviour_table(usage_fit, base=0)
    with refuses(FitError, "annotator 'nobody' is not in this fit"):
        ba.analysis.differ_more_probability(usage_fit, ("nobody", "a1"), than=("a2", "a3"))
    with refuses(FitError, "a fit of label_usage has no confusion matrices"):
        ba.confusion_table(usage_fit)
    with refuses(FitError, "label_usage has no competence"):
        ba.annotator_table(usage_fit)
