"""How annotators use labels, with posteriors: tables of draws of the known posterior, and how sure one can be."""

import math

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
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


@pytest.fixture(scope="module")
def data():
    return simulate_crowd()[0]


@pytest.fixture(scope="module")
def usage_fit(data):
    return draw_usage(data, find_common_habit(data) + data.usage)


def test_the_table_is_made_of_draws(usage_fit):
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
    in_bits = ba.behaviour_table(usage_fit, base=2)
    np.testing.assert_allclose(in_bits["kld_mean"] * math.log(2), table["kld_mean"], rtol=1e-9)


def test_two_who_differ_more_than_two_others(usage_fit, data):
    names = list(data.annotators)
    far = find_distances(usage_fit["posterior"]["usage"].values)
    one, other = (names[4], names[9]), (names[0], names[20])
    expected = (far[..., 4, 9] > far[..., 0, 20]).mean()
    assert ba.analysis.differ_more_probability(usage_fit, one, than=other) == pytest.approx(expected)
    assert ba.analysis.differ_more_probability(usage_fit, other, than=one) == pytest.approx(1 - expected)


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
    table = ba.confusion_table(tiny_fit).set_index(["true_class", "response"])
    assert set(table.index) == {("no", "yes"), ("yes", "no")}
    confusion = tiny_fit["posterior"]["confusion"].sel(true_class="no", response="yes").mean(("chain", "draw"))
    weight = np.bincount(ba.data_of(tiny_fit).annotator) / 15
    assert table.loc[("no", "yes"), "mean"] == pytest.approx(weight @ confusion.values)
