"""The states of items whose class has a prior of its own, against sums by hand over classes."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import bayesanno as ba
from bayesanno.modeling.states import find_states
from bayesanno.simulation.quantities import draw_prior

pytestmark = pytest.mark.usefixtures("by_numpy")

LABELS = ("first", "second", "tie")
SYSTEMS = ("bloom", "llama", "opt")
COLUMNS = {
    "first": ["llama", "opt", "bloom", "llama", "opt", "llama"],
    "second": ["opt", "bloom", "llama", "bloom", "llama", "opt"],
    "length": [3.0, 5.0, 4.0, 9.0, 1.0, 2.0],
}
RECORDS = [  # nobody answers q5 and q6, and cy gives one answer
    ("q1", "ada", "first"), ("q1", "bo", "first"), ("q2", "ada", "tie"), ("q2", "bo", "second"), ("q2", "cy", "tie"),
    ("q3", "ada", "second"), ("q4", "ada", "first"), ("q4", "bo", "second"),
]  # fmt: skip
ITEMS = ["q1", "q2", "q3", "q4", "q5", "q6"]
CONTROLS = {"q3": "first", "q6": "tie"}


def make_data():
    return ba.AnnotationData.from_records(RECORDS, items=ITEMS, labels=LABELS, item_columns=COLUMNS, controls=CONTROLS)


def log_class_by_pairs(one):
    """log p(class) of each item, by Davidson's formula: (item, class)."""
    strength, rows = dict(zip(SYSTEMS, one["strength"].values, strict=True)), []
    for a, b in zip(COLUMNS["first"], COLUMNS["second"], strict=True):
        weights = [np.exp(strength[a]), np.exp(strength[b])]
        weights.append(np.exp(float(one["tie"])) * np.sqrt(weights[0] * weights[1]))
        rows.append(np.log(weights / np.sum(weights)))
    return np.array(rows)


def log_class_by_length(one):
    length = np.array(COLUMNS["length"])
    x = (length - length.mean()) / length.std()
    return log_softmax(np.log(one["base_rate"].values) + x[:, None] * one["length"].values, axis=1)


PRIORS = {"pairs": (ba.Pairs(), log_class_by_pairs), "columns": (ba.Columns("length"), log_class_by_length)}


@pytest.mark.parametrize("prior", PRIORS)
def test_states_are_those_of_each_items_own_prior(prior, rng):
    data, (term, log_class_of) = make_data(), PRIORS[prior]
    chosen = ba.models.ModelB(class_prior=term)
    posterior = draw_prior(chosen, data, 4, rng)
    found = find_states(chosen, data, posterior, {})
    for draw in range(4):
        one = posterior.isel(chain=0, draw=draw)
        log_answer = np.log(one["confusion"].values).swapaxes(1, 2)  # (annotator, response, class)
        logs = log_class_of(one)  # (item, class)
        for item, annotator, label in RECORDS:
            logs[ITEMS.index(item)] += log_answer[data.annotators.index(annotator), LABELS.index(label)]
        for item, label in CONTROLS.items():
            logs[ITEMS.index(item), [k for k in range(3) if LABELS[k] != label]] = -np.inf
        state = softmax(logs, axis=1)
        np.testing.assert_allclose(found.state[draw].sum(axis=2), state, atol=2e-5)
        expected = np.einsum("ik,jvk->ijvk", state, np.exp(log_answer))  # what each annotator would answer next
        by_factors = np.einsum("ikn,jvkn->ijvk", found.state[draw], found.answer[draw])
        np.testing.assert_allclose(by_factors, expected, atol=2e-5)
    nobody = found.state[:, ITEMS.index("q5")].sum(axis=2)  # (draw, class)
    of_items = np.exp([log_class_of(posterior.isel(chain=0, draw=draw))[ITEMS.index("q5")] for draw in range(4)])
    np.testing.assert_allclose(nobody, of_items, atol=2e-5)
    assert np.abs(nobody - posterior["prevalence"].values[0]).max() > 0.05
