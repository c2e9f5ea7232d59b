"""Few annotators whom the labels follow are named where they share errors, and not where they are precise."""

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.fits.view import FitPart
from bayesanno.inference.diagnosis.findings import EXPLAINED, find_in_diagnostics
from bayesanno.inference.diagnosis.misfit import label_copiers, measure_copying
from tests.inference.answers import data_of
from tests.inference.draws import fit_quietly

GRADES = ("1", "2", "3", "4")


def grade(rng, *, n_items=200, careless=9, copies=3, shared=0.8, own=0.1, severity=0.0):
    """Answers (item, annotator) to items of known grades (item,): first of copies, then of careless annotators."""
    truth = rng.integers(4, size=n_items)
    heard = truth + severity + shared * rng.normal(size=n_items)
    perceived = [heard + own * rng.normal(size=n_items) for _ in range(copies)]
    perceived += [truth + 1.2 * rng.normal(size=n_items) for _ in range(careless)]
    return np.clip(np.rint(perceived), 0, 3).astype(int).T, truth


def said_of(data, labels):
    latent = xr.Dataset({"probability": (("item", "true_class"), np.eye(data.n_labels)[labels])})
    return find_in_diagnostics({"misfit": [{"dimension": ""} | measure_copying(FitPart(data, latent))]})


def leave_out(answers, rng, *, copies, others):
    """Each item is answered by all copies, and by so many of the others."""
    kept = answers.copy()
    for row in kept:
        row[rng.permutation(np.arange(copies, answers.shape[1]))[others:]] = -1
    return kept


@pytest.mark.parametrize("more", [{}, {"copies": 2}, {"severity": 0.7}, {"careless": 20}], ids=str)
def test_copies_are_named(more, rng):
    answers, _ = grade(rng, **more)
    if "careless" in more:  # each item has few answers
        answers = leave_out(answers, rng, copies=3, others=5)
    found = label_copiers(data_of(answers, GRADES), answers[:, 0])
    assert found["who"] == tuple(f"a{j:02}" for j in range(more.get("copies", 3)))
    (said,) = said_of(data_of(answers, GRADES), answers[:, 0])
    assert (said.code, said.about, said.value) == ("labels-follow", found["who"], pytest.approx(found["z"]))


def test_the_precise_are_not_named(rng):
    """Nor are these z scores off: of 30 tables, their mean is within 4 standard errors of 0, or below."""
    z = []
    for _ in range(30):
        answers, truth = grade(rng, careless=20, shared=0.0, own=0.3)
        data = data_of(leave_out(answers, rng, copies=3, others=3), GRADES)
        assert said_of(data, truth) == []
        z.append(label_copiers(data, truth)["z"])
    assert np.mean(z) < 4 / np.sqrt(len(z))


def test_annotators_who_turn_the_scale_round_do_not_hide_who_is_precise(rng):
    answers, truth = grade(rng, shared=0.0, own=0.3)
    answers[:, 3:7] = 3 - answers[:, 3:7]  # four of the nine
    found = label_copiers(data_of(answers, GRADES), truth)
    assert found["who"] == ("a00", "a01", "a02")
    assert found["explained"] > EXPLAINED


def test_nothing_is_found_where_nothing_can_be(rng):
    answers, _ = grade(rng)
    labels = answers[:, 0]
    assert label_copiers(data_of(answers, tuple("abcd"), order_declared=True), labels)["who"] == ("a00", "a01", "a02")
    assert label_copiers(data_of(answers, tuple("abcd")), labels) is None  # nobody declared an order
    assert label_copiers(data_of(answers, GRADES, unsure=("4",)), labels) is None
    assert label_copiers(data_of(answers[:, :5], GRADES), labels) is None  # most answers are theirs
    assert label_copiers(data_of(answers[:, 2:], GRADES), labels) is None  # one
    assert label_copiers(data_of(answers, GRADES), rng.integers(4, size=200)) is None  # nobody's labels
    answers[100:, :3] = -1
    assert label_copiers(data_of(answers, GRADES), labels)["who"] == ("a00", "a01", "a02")  # half of the items
    answers[99, :3] = -1
    assert label_copiers(data_of(answers, GRADES), labels) is None


def test_a_fit_names_them_unless_all_but_one_are_left_out(rng):
    answers, _ = grade(rng, n_items=150, copies=5, careless=7)
    followed = fit_quietly("model_b", data_of(answers, GRADES), method="vb")
    assert ba.findings(followed).set_index("code").loc["labels-follow", "about"] == "a00, a01, a02, a03, a04"
    answers[:, 1:5] = -1
    alone = fit_quietly("model_b", data_of(answers, GRADES), method="vb")
    assert "labels-follow" not in set(ba.findings(alone)["code"])


def test_other_kinds_of_data_and_states_have_nothing(rng):
    of_types = xr.Dataset({"probability": (("item", "item_type"), np.ones((200, 1)))})
    data = data_of(grade(rng)[0], GRADES)
    assert measure_copying(FitPart(data, of_types)) == measure_copying(FitPart(data, xr.Dataset())) == {}
