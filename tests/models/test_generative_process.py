"""The contract of the zoo, continued: the generative process against the formula, and the way back to the states."""

import numpy as np
import pytest
from pytensor.tensor.random import basic

from tests.models.contract import COPIES, FEW_COPIES
from tests.models.graphs import (
    P_VALUE,
    answers_pmf,
    chi_square,
    search_sorted,
)

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

# ----------------------------------------------------------------------------------- the generative process


def test_the_categorical_draws_of_these_tests_are_pytensors(rng):
    cumulative = rng.dirichlet([0.5, 0.5, 0.5, 0.5], size=(5, 300)).cumsum(axis=-1)
    cumulative[0] = [0.0, 0.25, 0.25, 1.0]  # labels that are never drawn
    u = np.concatenate([rng.choice([0.0, 0.25, 0.5, 1.0], size=(2, 300)), rng.uniform(size=(3, 300))])
    row_by_row = np.vectorize(np.searchsorted, otypes=[int], signature="(n),()->()")
    for of, at in ((cumulative, u), (cumulative[0, 0], u), (cumulative[:, :1], u), (cumulative[0, 0], u[0, 0])):
        found = search_sorted(of, at)
        np.testing.assert_array_equal(found, row_by_row(of, at))
        assert np.shape(found) == np.shape(at)
    assert basic.vsearchsorted is search_sorted


def test_simulated_answers_have_the_probabilities_of_the_formula(any_case, rng):
    parameters = any_case.telling
    for control in any_case.controls:
        drawn = any_case.simulate(any_case.entry, parameters, rng, COPIES, control)
        assert chi_square(drawn, any_case.pmf(parameters, control)) > P_VALUE
        if control is None:
            for wrong in any_case.of_other_annotators(parameters) + any_case.of_another_truth(parameters):
                assert chi_square(drawn[:FEW_COPIES], wrong) < P_VALUE


def test_predictions_have_the_probabilities_of_the_formula(any_case, rng):
    parameters = any_case.telling
    drawn = any_case.predict(parameters, rng, FEW_COPIES)
    assert chi_square(drawn, answers_pmf(any_case.pmf(parameters))) > P_VALUE
    for wrong in any_case.of_other_annotators(parameters):
        assert chi_square(drawn, answers_pmf(wrong)) < P_VALUE
