"""The two factors of an answer not yet given multiply to what the formula says of data with that answer."""

import numpy as np
import pytest

from bayesanno._core.messages import FitError
from bayesanno.modeling.posterior import compile_formula
from bayesanno.modeling.states import find_states
from tests.models.contract import known_values

pytestmark = pytest.mark.usefixtures("by_numpy")

N_DRAWS = 3
DEPENDENT = {"model_a", "label_usage"}  # answers of an item in loops of three, and items without a state


def test_an_item_with_one_more_answer_is_what_the_factors_say(case, rng):
    model, samples = case.entry, case.draw(N_DRAWS, rng)
    tiny = case.designs.controlled if model.takes_controls else case.designs.tiny
    posterior, known = case.posterior(samples, 1), known_values(model, tiny)
    if model.name in DEPENDENT or case.of_items:
        with pytest.raises(FitError, match=f"{model.name}.*fit another model"):
            find_states(model, tiny, posterior, known)
        return
    found = find_states(model, tiny, posterior, known)
    assert found.names == model.latents(tiny)[0].states
    np.testing.assert_allclose(found.state.sum(axis=(2, 3)), 1, atol=1e-5)
    np.testing.assert_allclose(found.answer.sum(axis=2), 1, atol=1e-5)
    item, annotator = 0, tiny.n_annotators - 1
    before = compile_formula(model, tiny, posterior, known).log_joint()
    before = np.array([joint[item] for joint in before])  # (draw, class)
    for response, label in enumerate(tiny.labels):
        more = case.designs.annotations((tiny.items[item], tiny.annotators[annotator], label), controls=tiny.controls)
        assert (more.items, more.annotators, more.labels) == (tiny.items, tiny.annotators, tiny.labels)
        after = np.array([joint[item] for joint in compile_formula(model, more, posterior, known).log_joint()])
        weight = np.exp(after - np.logaddexp.reduce(before, axis=1, keepdims=True))
        by_factors = (found.state[:, item] * found.answer[:, annotator, response]).sum(axis=2)
        np.testing.assert_allclose(by_factors, weight, rtol=1e-4, atol=1e-6)
