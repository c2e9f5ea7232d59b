"""Comparisons in both orders: the table of a judge is about sides as shown, labels are about the sides of the item."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from bayesanno.fits.storage import data_of
from bayesanno.inference.diagnosis.residuals import measure_error_correlation
from bayesanno.modeling.posterior import recover
from bayesanno.modeling.states import find_states
from bayesanno.simulation.quantities import ModelDraws, ask, replicate
from tests.inference.draws import make_fit
from tests.models.contract import Graph, as_posterior
from tests.models.references import REFERENCES
from tests.models.test_item_priors import LABELS, classes_of, complete, draw, make_data

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of twelve items, each evaluated a few times

CLASS_MODELS = ("model_b", "item_difficulty", "ordinal_dawid_skene")  # a formula each
TURNED = np.array([1, 0, 2])  # first, second, tie, with the sides exchanged


def in_both_orders():
    """The comparisons of `make_data`: items 0 to 2 in one order, item 3 in the other one, the others in both."""
    swapped = np.random.default_rng(2).random(30) < 0.5
    swapped[:9], swapped[9:12] = False, True
    return replace(make_data(controls={"q9": "first"}), sides=("first", "second"), swapped=swapped)


def turn(data, items):
    """The same answers to the same pairs, with the sides of some items exchanged."""
    is_turned = np.isin(data.item, items)
    first, second = (np.array(data.item_columns[side].names, dtype=object) for side in ("first", "second"))
    of_item = np.isin(np.arange(data.n_items), items)
    columns = {
        **data.item_columns,
        "first": np.where(of_item, second, first),
        "second": np.where(of_item, first, second),
    }
    controls = {item: {"first": "second", "second": "first"}.get(label, label) for item, label in data.controls.items()}
    return replace(
        data,
        label=np.where(is_turned, TURNED[data.label], data.label),
        swapped=data.swapped ^ is_turned,
        item_columns={name: columns[name] for name in data.item_columns},
        controls={
            item: controls[item] if data.items.index(item) in items else data.controls[item] for item in controls
        },
    )


DATA = in_both_orders()


def pairs_model(name):
    return ba.get_model(name, {"class_prior": ba.Pairs(strength_prior=1.5)})


@pytest.mark.parametrize("name", CLASS_MODELS)
def test_the_order_of_an_item_does_not_matter(name):
    model, items = pairs_model(name), [0, 3, 4, 7, 9, 11]
    graph, samples = draw(model, 3)
    one, other = Graph(model, DATA), Graph(model, turn(DATA, items))
    for parameters in samples:
        np.testing.assert_allclose(one.item_logp(parameters), other.item_logp(parameters), rtol=1e-10, atol=1e-10)
    draws = complete(graph, samples)
    found, turned = (recover(model, data, draws).latent["probability"].values for data in (DATA, turn(DATA, items)))
    found[items] = found[items][:, TURNED]
    np.testing.assert_allclose(found, turned, atol=1e-10)


def test_likelihood_is_that_of_judges_who_see_the_other_sides():
    model = pairs_model("model_b")
    _, (parameters,) = draw(model, 1)
    confusion = parameters["confusion"]
    doubled = np.concatenate([confusion, confusion[:, TURNED][:, :, TURNED]])
    reference = REFERENCES["model_b"].with_fields(model.to_fields() | {"class_prior": "learnt"})
    expected = []
    for i, prevalence in enumerate(classes_of(parameters, DATA)):
        mine = DATA.item == i
        said = list(zip((DATA.annotator + 3 * DATA.swapped)[mine], DATA.label[mine], strict=True))
        states = reference.states({"confusion": doubled, "prevalence": prevalence}, said)
        known = DATA.control_codes[i]
        expected.append(np.log(states[known] if known >= 0 else states.sum()))
    np.testing.assert_allclose(Graph(model, DATA).item_logp(parameters), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["model_b", "one_coin"])
def test_answers_are_drawn_in_the_order_that_is_shown(name):
    model = pairs_model(name)
    graph, (parameters,) = draw(model, 1, seed=4)
    many = complete(graph, [parameters]).isel(draw=np.zeros(3000, dtype=int)).assign_coords(draw=np.arange(3000))
    known = replace(DATA, controls={f"q{i}": LABELS[i % 3] for i in range(10)})
    drawn = ModelDraws(model, known, many, {})
    answers = np.array([said for said, _ in replicate(drawn, np.random.default_rng(1))])  # (draw, annotation)
    joint = next(ask(drawn._replace(draws=many.isel(draw=[0])), np.arange(6)[:, None]))  # (viewer, response, class)
    law = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(law[3:], law[:3, TURNED][:, :, TURNED], rtol=1e-6)
    p, in_one_order = [], []
    for at, (who, item, turned) in enumerate(zip(known.annotator, known.item, known.swapped, strict=True)):
        counts = np.bincount(answers[:, at], minlength=3)
        p.append(chisquare(counts, 3000 * law[who + 3 * turned, :, item % 3]).pvalue)
        in_one_order.append(chisquare(counts, 3000 * law[who, :, item % 3]).pvalue)
    assert min(p) > 1e-4
    assert (min(in_one_order) < 1e-4) == (name != "one_coin")  # in which sides are alike


@pytest.mark.parametrize("name", ["model_b", "item_difficulty"])
def test_states_and_answers_are_of_viewers(name):
    model = pairs_model(name)
    graph, samples = draw(model, 3)
    draws = complete(graph, samples)
    states = find_states(model, DATA, draws, {})  # which compares a product of answers with the likelihood
    np.testing.assert_allclose(states.answer[:, 3:], states.answer[:, :3, TURNED][:, :, :, TURNED], rtol=1e-5)
    np.testing.assert_allclose(states.probability, recover(model, DATA, draws).latent["probability"], atol=1e-5)


def test_errors_correlate_alike_in_whichever_order_the_items_are():
    model = pairs_model("model_b")
    graph, samples = draw(model, 20)
    draws = complete(graph, samples)
    found = []
    for data in (DATA, turn(DATA, range(12))):
        joints = ask(ModelDraws(model, data, draws, {}), np.arange(3)[:, None])
        said = DATA.label if data is DATA else TURNED[DATA.label]
        rng = np.random.default_rng(1)
        predicted = [np.where(rng.random(30) < 0.5, said, TURNED[said]) for _ in range(20)]
        found.append(measure_error_correlation(data, zip(joints, predicted, strict=True)).found)
    uneven = [one.pop("unevenness") for one in found]
    assert found[0] == pytest.approx(found[1])
    assert uneven[0] == pytest.approx(uneven[1])


def test_sides_are_kept_with_the_data(tmp_path):
    frame = DATA.to_frame()
    again = ba.read_annotations(frame, pairs=("first", "second"), labels=LABELS)
    assert frame["label"].tolist() == [LABELS[v] for v in np.where(DATA.swapped, TURNED[DATA.label], DATA.label)]
    assert again.votes[3].tolist() == DATA.votes[3, TURNED].tolist()  # nobody saw the order of item 3: it is turned
    assert replace(DATA, swapped=()).hash != DATA.hash != turn(DATA, [0]).hash
    model = pairs_model("model_b")
    ba.save(make_fit(model, DATA, as_posterior(*draw(model, 8), 2)), tmp_path / "orders.nc")
    loaded = data_of(ba.load(tmp_path / "orders.nc"))
    assert (loaded.hash, loaded.sides) == (DATA.hash, DATA.sides)


def test_what_cannot_take_both_orders_says_so():
    for error, match, call in (
        (DataError, "easy_hard takes comparisons in one order", lambda: ba.fit("easy_hard", DATA)),
        (FitError, "EM and VB take comparisons in one order", lambda: ba.fit("model_b", DATA, method="em")),
        (DataError, "comparisons in both orders keep both sides", lambda: DATA.binarise(positive="first")),
        (DataError, "sides must be two of the labels", lambda: replace(DATA, sides=("first", "third"))),
        (DataError, "swapped must have one entry per", lambda: replace(DATA, swapped=[True, False])),
    ):
        with pytest.raises(error, match=match):
            call()
