"""The contract of the zoo, continued: the generative process against the formula, and the way back to the states."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from pytensor.tensor.random import basic
from scipy.stats import entropy

from bayesanno.modeling import posterior as way_back
from bayesanno.modeling.posterior import compile_formula, recover
from tests.models.contract import (
    COPIES,
    EXACT,
    FAST,
    FEW_COPIES,
    ITEMS,
    P_VALUE,
    ROUND_TRIP,
    Graph,
    answers_pmf,
    broken,
    chi_square,
    close,
    joint_pmf,
    replicate,
    said_of,
    search_sorted,
    simulate,
    with_wrong_annotators,
    with_wrong_formula,
    with_wrong_truth,
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


def of_annotators(case):
    """The process with another's answers, if annotators differ in anything."""
    differ = any("annotator" in dims for dims in case.graph.model.named_vars_to_dims.values())
    return [with_wrong_annotators(case.entry)] if differ else []


@pytest.mark.parametrize("control", [None, "yes"], ids=["free", "controlled"])
def test_simulated_answers_have_the_probabilities_of_the_formula(case, control, rng):
    if control and not case.entry.takes_controls:
        pytest.skip("it takes no controls")
    (parameters,) = case.draw(1, rng)
    data = case.designs.two_items(control=control)
    pmf = joint_pmf(case, parameters, control=control)
    assert chi_square(simulate(case.entry, case, parameters, data, rng), pmf) > P_VALUE
    of_truth = [with_wrong_truth(case.entry)] if len(case.entry.states(data)) > 1 else []  # one state is always right
    for wrong in (*of_annotators(case), *of_truth):
        assert chi_square(simulate(wrong, case, parameters, data, rng, FEW_COPIES), pmf) < P_VALUE


def test_answers_of_the_process_as_a_story_have_the_probabilities_of_the_formula(case, rng):
    if case.entry.name not in PROCESSES:
        pytest.skip("its own process is the story")
    (parameters,) = case.draw(1, rng)
    told = broken(case.entry, generate=PROCESSES[case.entry.name])
    draws = simulate(told, case, parameters, case.designs.two_items(), rng)
    assert chi_square(draws, joint_pmf(case, parameters)) > P_VALUE


def predict_answers(entry, case, parameters, rng, copies=COPIES):
    """Draws of the observed variable with the parameters held, one row per copy of the design."""
    many = replicate(case.designs.two_items(), copies)
    held = pm.do(Graph(entry, many, case.known).model, case.for_copies(parameters, 2, copies))
    return pm.draw(held["annotations"], random_seed=rng, mode=FAST).reshape(copies, -1)


def test_predictions_have_the_probabilities_of_the_formula(case, rng):
    (parameters,) = case.draw(1, rng)
    pmf = answers_pmf(joint_pmf(case, parameters))
    assert chi_square(predict_answers(case.entry, case, parameters, rng), pmf) > P_VALUE
    for wrong in of_annotators(case):
        assert chi_square(predict_answers(wrong, case, parameters, rng, FEW_COPIES), pmf) < P_VALUE


def test_prior_predictive_has_named_coords(case):
    tiny, labels = case.designs.tiny, case.designs.labels
    tree = pm.sample_prior_predictive(
        draws=3, model=case.entry.build(tiny), random_seed=1, compile_kwargs={"mode": FAST}
    )
    said = tree["prior_predictive"]["annotations"]
    assert said.dims == ("chain", "draw", "annotation")
    assert set(np.unique(said)) <= set(range(len(labels)))
    for group in ("prior", "prior_predictive", "observed_data"):
        for dim in tree[group].dims:
            assert dim in tree[group].coords
            assert dim != "label"
            assert "_dim_" not in dim
    for name, names in (("annotator", tiny.annotators), ("response", labels), ("true_class", labels)):
        if name in tree["prior"].dims:
            assert tuple(tree["prior"][name].values) == names


# ------------------------------------------------------------------------------------------------- the way back


def expected_probability(case, samples, data):
    """Bayes' rule by enumeration, averaged over the samples; shape (item, state)."""
    each = [case.states(parameters, data) for parameters in samples]
    return np.mean([joint / joint.sum(axis=1, keepdims=True) for joint in each], axis=0)


def check_recovered(case, entry, samples, data):
    found = recover(entry, data, case.posterior(samples, n_chains=2), case.known)
    probability = expected_probability(case, samples, data)
    close(found.latent["probability"].values, probability)
    close(found.latent["entropy"].values, entropy(np.asarray(probability, dtype=float), axis=1))
    likelihood = [case.item_logp(parameters, data) for parameters in samples]
    close(found.log_likelihood.reshape(len(samples), -1), likelihood)
    return found.latent


def test_recovered_states_follow_bayes_rule(case, tiny, rng):
    samples = case.draw(8, rng)
    found = check_recovered(case, case.entry, samples, tiny)
    assert found["probability"].dims == ("item", case.entry.state_dim)
    assert tuple(found["item"].values) == ITEMS
    assert tuple(found[case.entry.state_dim].values) == case.entry.states(tiny)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_recovered(case, with_wrong_formula(case.entry), samples, tiny)


def test_recovered_views_are_those_of_enumeration(case, tiny, rng):
    samples = case.draw(8, rng)
    found = recover(case.entry, tiny, case.posterior(samples, n_chains=2), case.known).latent
    every = {"probability", "log_probability", "probability_mcse", "entropy"}
    assert set(found.data_vars) == every | set(case.reference.views)
    for name, view in case.reference.views.items():
        each = [(case.whole(one), case.states(one, tiny)) for one in samples]
        for item, known in enumerate(tiny.control_codes):
            said = said_of(tiny, item)
            expected = np.mean([view(one, said, joint[item], known) for one, joint in each], axis=0)
            mine = tiny.item == item if found[name].dims[0] == "annotation" else item
            close(found[name].values[mine], expected)


def test_recovered_error_is_that_of_the_mean(case, tiny, rng):
    samples = case.draw(40, rng)
    found = recover(case.entry, tiny, case.posterior(samples, n_chains=2), case.known).latent["probability_mcse"]
    each = [case.states(parameters, tiny) for parameters in samples]
    by_draw = np.array([joint / joint.sum(axis=1, keepdims=True) for joint in each])  # (sample, item, state)
    for item, state in np.ndindex(found.shape):
        series = by_draw[:, item, state].reshape(2, 20)
        expected = 0.0 if np.ptp(series) < EXACT else array_stats.mcse(series, chain_axis=0, draw_axis=1)
        np.testing.assert_allclose(found.values[item, state], expected, rtol=ROUND_TRIP, atol=EXACT)


def test_chunks_change_nothing(case, tiny, rng, monkeypatch):
    posterior = case.posterior(case.draw(6, rng), n_chains=2)
    whole = recover(case.entry, tiny, posterior, case.known)
    monkeypatch.setattr(way_back, "CHUNK_BYTES", 1)
    chunks = recover(case.entry, tiny, posterior, case.known)
    xr.testing.assert_allclose(chunks.latent, whole.latent, rtol=EXACT)
    close(chunks.log_likelihood, whole.log_likelihood)


def draw_copies(entry, case, parameters, data, rng, copies=COPIES):
    """Drawn states, one row per copy of the design."""
    posterior = case.posterior([parameters], n_chains=1)
    if case.of_items:
        posterior = posterior.isel(item=np.tile(np.arange(data.n_items), copies), missing_dims="ignore")
        posterior = posterior.assign_coords(item=list(replicate(data, copies).items))
    known = case.for_copies(case.known, data.n_items, copies)
    drawn = compile_formula(entry, replicate(data, copies), posterior, known).draw_states(random_seed=rng)
    return drawn.values.reshape(copies, -1)


def test_drawn_states_have_the_recovered_probabilities(case, tiny, rng):
    if len(case.entry.states(tiny)) == 1:
        pytest.skip("items have one state")
    (parameters,) = case.draw(1, rng)
    rows = expected_probability(case, [parameters], tiny)
    pmf = {cell: float(np.prod(rows[np.arange(len(rows)), cell])) for cell in np.ndindex(*[rows.shape[1]] * len(rows))}
    assert chi_square(draw_copies(case.entry, case, parameters, tiny, rng), pmf) > P_VALUE
    assert (
        chi_square(draw_copies(with_wrong_formula(case.entry), case, parameters, tiny, rng, FEW_COPIES), pmf) < P_VALUE
    )
