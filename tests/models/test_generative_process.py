"""The contract of the zoo, continued: the generative process against the formula, and the way back to the states."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from pytensor.tensor.random import basic
from scipy.stats import entropy

from bayesanno.modeling import posterior as way_back
from bayesanno.modeling.posterior import recover
from tests.models.contract import COPIES, FEW_COPIES, make_case
from tests.models.graphs import (
    EXACT,
    FAST,
    P_VALUE,
    ROUND_TRIP,
    answers_pmf,
    broken,
    chi_square,
    close,
    search_sorted,
    with_wrong_formula,
)
from tests.models.processes import PROCESSES

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
    parameters = any_case.telling(rng)
    for control in any_case.controls:
        drawn = any_case.simulate(any_case.entry, parameters, rng, COPIES, control)
        assert chi_square(drawn, any_case.pmf(parameters, control)) > P_VALUE
        if control is None:
            for wrong in any_case.of_other_annotators(parameters) + any_case.of_another_truth(parameters):
                assert chi_square(drawn[:FEW_COPIES], wrong) < P_VALUE


def test_answers_of_the_process_as_a_story_have_the_probabilities_of_the_formula(case, rng):
    if case.entry.name not in PROCESSES:
        pytest.skip("its own process is the story")
    (parameters,) = case.draw(1, rng)
    told = broken(case.entry, generate=PROCESSES[case.entry.name])
    assert chi_square(case.simulate(told, parameters, rng), case.pmf(parameters)) > P_VALUE


def test_predictions_have_the_probabilities_of_the_formula(any_case, rng):
    parameters = any_case.telling(rng)
    drawn = any_case.predict(parameters, rng, FEW_COPIES)
    assert chi_square(drawn, answers_pmf(any_case.pmf(parameters))) > P_VALUE
    for wrong in any_case.of_other_annotators(parameters):
        assert chi_square(drawn, answers_pmf(wrong)) < P_VALUE


def test_prior_predictive_has_named_coords(any_case):
    data = any_case.data
    tree = pm.sample_prior_predictive(
        draws=3, model=any_case.entry.build(data), random_seed=1, compile_kwargs={"mode": FAST}
    )
    (drawn,) = tree["prior_predictive"].data_vars.values()
    of_answers = hasattr(data, "labels")
    assert drawn.dims == ("chain", "draw", "annotation" if of_answers else "item")
    assert (drawn.values >= 0).all()
    assert (drawn.values < data.n_labels if of_answers else drawn.values <= data.trials).all()
    for group in ("prior", "prior_predictive", "observed_data"):
        for dim in tree[group].dims:
            assert dim in tree[group].coords
            assert dim != "label"
            assert "_dim_" not in dim
    labels = getattr(data, "labels", ())
    for name, names in (("annotator", getattr(data, "annotators", ())), ("response", labels), ("true_class", labels)):
        if name in tree["prior"].dims:
            assert tuple(tree["prior"][name].values) == names


# ------------------------------------------------------------------------------------------------- the way back


def recover_and_check(case, entry, samples, data):
    """The latents, after a check of their probabilities; and those of each draw (sample, item, state)."""
    found = recover(entry, data, case.posterior(samples, n_chains=2), case.known)
    by_draw = np.array([case.probability(parameters, data) for parameters in samples], dtype=float)
    close(found.latent["probability"].values, by_draw.mean(axis=0))
    close(found.latent["entropy"].values, entropy(by_draw.mean(axis=0), axis=1))
    likelihood = [case.item_logp(parameters, data) for parameters in samples]
    close(found.log_likelihood.reshape(len(samples), -1), likelihood)
    return found.latent, by_draw


def test_recovered_states_and_what_is_read_off_follow_bayes_rule(any_case, rng):
    samples = any_case.draw(40, rng)  # of fewer, the effective number is what it can be at most, whatever the draws
    for data in any_case.tables:
        latent, by_draw = recover_and_check(any_case, any_case.entry, samples, data)
        state_dim = any_case.entry.state_dim
        assert latent["probability"].dims == ("item", state_dim)
        assert tuple(latent["item"].values) == data.items
        assert tuple(latent[state_dim].values) == any_case.entry.states(data)

        for item, state in np.ndindex(by_draw.shape[1:]):
            series = by_draw[:, item, state].reshape(2, -1)
            error = 0.0 if np.ptp(series) < EXACT else array_stats.mcse(series, chain_axis=0, draw_axis=1)
            found = latent["probability_mcse"].values[item, state]
            np.testing.assert_allclose(found, error, rtol=ROUND_TRIP, atol=EXACT)

        views = [any_case.views(parameters, data) for parameters in samples]
        every = {"probability", "log_probability", "probability_mcse", "entropy"}
        assert set(latent.data_vars) == every | set(views[0])
        for name in views[0]:
            for item in range(data.n_items):
                expected = np.mean([each[name][item] for each in views], axis=0)
                mine = data.item == item if latent[name].dims[0] == "annotation" else item
                close(latent[name].values[mine], expected)


def test_a_wrong_formula_gives_other_states(rng):
    case = make_case("one_coin", {})
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        recover_and_check(case, with_wrong_formula(case.entry), case.draw(2, rng), case.data)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("mace", {"class_prior": "uniform"}),  # reads something off each annotation
        ("item_difficulty", {"ability_prior": (2.0, 3.0)}),  # off each item, in bins
        ("hard_items", {"competence_prior": (3.0, 1.0), "difficulty_prior": (1.0, 2.0)}),  # its items differ
    ],
)
def test_chunks_change_nothing(name, fields, rng, monkeypatch):
    case = make_case(name, fields)
    posterior, data = case.posterior(case.draw(6, rng), n_chains=2), case.tables[-1]
    whole = recover(case.entry, data, posterior, case.known)
    monkeypatch.setattr(way_back, "CHUNK_BYTES", 1)
    chunks = recover(case.entry, data, posterior, case.known)
    xr.testing.assert_allclose(chunks.latent, whole.latent, rtol=EXACT)
    close(chunks.log_likelihood, whole.log_likelihood)


def test_drawn_states_have_the_recovered_probabilities(any_case, rng):
    (parameters,) = any_case.draw(1, rng)
    for data in any_case.tables_to_draw:
        rows = any_case.probability(parameters, data)
        drawn = any_case.draw_states(parameters, data, rng, FEW_COPIES)
        assert chi_square(drawn, pmf_of_rows(rows)) > P_VALUE if rows.shape[1] > 1 else (drawn == 0).all()
        if data is any_case.data:
            favoured = rows * np.where(np.arange(rows.shape[1]) == 0, 2, 1)  # by the first state
            wrong = pmf_of_rows(favoured / favoured.sum(axis=1, keepdims=True))
            assert chi_square(drawn, wrong) < P_VALUE


def pmf_of_rows(rows):
    """The joint pmf of the state of each item, given that of each (item, state)."""
    cells = np.ndindex(*[rows.shape[1]] * len(rows))
    return {cell: float(np.prod(rows[np.arange(len(rows)), cell])) for cell in cells}
