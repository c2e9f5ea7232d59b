"""The contract of models with updates: their E-step is the graph's, and their counts are those of the likelihood."""

import numpy as np
import pytest

from bayesanno.graph.functions import add_deterministics, compute_log_prior
from bayesanno.inference.em_vb.em import EM, EMSettings
from bayesanno.inference.em_vb.fixed_point import iterate_from_all
from bayesanno.inference.em_vb.vb import VB, VBSettings, draw_from, evaluate_draws, log_dirichlet, weigh_draws
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.expectation import expect, make_blocks, read_items
from bayesanno.modeling.independent import ConjugateModel, derives_accuracy
from tests.models.contract import cases, entry_of, make_case
from tests.models.graphs import close

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

STEP = 1e-6  # of central differences
SLOPES = 1e-5  # counts against differences, relative


def updatable():
    """The cases that EM can fit."""
    for one in cases():
        model = entry_of(*one.values[0])
        if isinstance(model, ConjugateModel) and not model.without_updates():
            yield one


@pytest.fixture(params=updatable())
def updates(request):
    """A model that EM can fit, with its reference."""
    return make_case(*request.param)


@pytest.fixture(params=["tiny", "controlled"])
def tiny(request, updates):
    """The tiny design, without and with items whose true label is known."""
    return getattr(updates.designs, request.param)


def problem_of(entry, data, **settings):
    return EM(entry, data, make_blocks(data), EMSettings(**settings))


def test_the_e_step_is_the_posterior(updates, tiny, rng):
    problem = problem_of(updates.entry, tiny)
    for parameters in updates.draw(3, rng):
        posterior, log_likelihood = read_items(updates.entry, problem.items, problem.as_shares(parameters))
        close(log_likelihood, updates.item_logp(parameters, tiny))
        states = updates.states(parameters, tiny)
        close(posterior, states / states.sum(axis=1, keepdims=True))


def test_parameters_deterministics_and_priors_are_those_of_the_graph(updates, rng):
    data, graph = updates.designs.tiny, updates.graph.model
    named = {name: tuple(graph.named_vars_to_dims[name]) for name in updates.prior_draws[0]}
    named |= {variable.name: tuple(graph.named_vars_to_dims[variable.name]) for variable in graph.deterministics}
    problem = problem_of(updates.entry, data)
    accuracy = {"accuracy": ("annotator",)} if derives_accuracy(problem.dims) else {}
    assert problem.dims | accuracy == named
    assert set(problem.prior) == set(updates.prior_draws[0])
    (parameters,) = updates.draw(1, rng)
    close_all(problem.as_values(problem.as_shares(parameters)), parameters)
    assert set(accuracy) == {variable.name for variable in graph.deterministics}
    if accuracy:
        whole = add_deterministics(graph, updates.posterior([parameters], 1))
        close(updates.entry.accuracy_of(Parameters(parameters), data.names_class.T), whole["accuracy"].values[0, 0])


def vb_of(entry, data, **settings):
    return VB(entry, data, make_blocks(data), VBSettings(**settings))


def test_counts_are_slopes_where_shares_add_up_to_less(updates, tiny, rng):
    """What variational Bayes takes an E-step with: each share a number of its own, and not what others leave."""
    problem = vb_of(updates.entry, tiny)
    shares = problem.e_step_shares({name: values + rng.uniform(0, 2) for name, values in problem.prior.items()})
    assert all((values.sum(axis=-1) < 1).all() for values in shares.values())
    counts = updates.entry.expected_counts(
        shares, expect(updates.entry, problem.items, shares), problem.items.names_class
    )
    for name, values in shares.items():
        for cell in np.ndindex(values.shape):
            found = []
            for sign in (1, -1):
                moved = {key: value.copy() for key, value in shares.items()}
                moved[name][cell] *= np.exp(sign * STEP)
                found.append(expect(updates.entry, problem.items, moved).log_likelihood)
            slope = (found[0] - found[1]) / (2 * STEP)
            np.testing.assert_allclose(counts[name][cell], slope, rtol=SLOPES, atol=SLOPES)


def test_densities_of_draws_are_those_of_the_graph(updates, rng):
    """`lp` is the density that NUTS sees, `log_prior` that of each variable on its own scale."""
    problem = vb_of(updates.entry, updates.data)
    q = {name: values + rng.uniform(0, 2) for name, values in problem.prior.items()}
    log_shares, values = draw_from(problem, q, 3, rng)
    log_likelihood, _ = evaluate_draws(problem, values)
    found = weigh_draws(problem, q, log_shares, log_likelihood)
    updates.graph.observe(updates.data)
    samples = [{name: value[draw] for name, value in values.items()} for draw in range(3)]
    for draw, point in enumerate(updates.graph.unconstrained(samples)):
        np.testing.assert_allclose(found["lp"][draw], updates.graph.density(point)[0], rtol=1e-7)
    of_prior = compute_log_prior(updates.graph.model, updates.posterior(samples, 1))
    for name, logs in log_shares.items():
        np.testing.assert_allclose(log_dirichlet(logs, problem.prior[name]), of_prior[name].values[0], rtol=1e-8)
        log_likelihood += of_prior[name].values[0].reshape(3, -1).sum(axis=1)
        log_likelihood -= log_dirichlet(logs, q[name]).reshape(3, -1).sum(axis=1)
    np.testing.assert_allclose(found["log_ratio"], log_likelihood, rtol=1e-8)


def close_all(found, expected):
    assert set(found) == set(expected)
    for name, values in found.items():
        close(values, expected[name])


@pytest.mark.parametrize("objective", ["ml", "map", "elbo"])
def test_no_step_makes_the_objective_worse(updates, tiny, objective, rng):
    by_vb = objective == "elbo"
    problem = vb_of(updates.entry, tiny) if by_vb else problem_of(updates.entry, tiny, objective=objective)
    at, before = problem.begin(problem.draw(rng)).point if by_vb else problem.draw(rng), -np.inf
    for _ in range(50):
        value, _, moved = problem.step(at)
        assert value >= before - 1e-9
        for name, values in moved.items():
            assert (values >= (problem.prior[name] if by_vb else 0)).all()
            assert by_vb or np.allclose(values.sum(axis=-1), 1)
        at, before = moved, value


def test_map_is_likelihood_and_prior(updates, tiny, rng):
    """Where no concentration is below 1, which then counts as 1."""
    problem = problem_of(updates.entry, tiny, objective="map")
    fields = updates.entry.to_fields()
    if any((values < 1).any() for values in problem.prior.values()):
        fields = {
            name: tuple(np.maximum(value, 1.0)) if isinstance(value, tuple) else value for name, value in fields.items()
        }
    (parameters,) = updates.draw(1, rng)
    value, log_likelihood, _ = problem.step(problem.as_shares(parameters))
    close(log_likelihood, updates.item_logp(parameters, tiny).sum())
    np.testing.assert_allclose(value - log_likelihood, updates.reference.log_prior(parameters, fields), rtol=1e-8)


def test_acceleration_ends_at_a_fixed_point_of_plain_steps(updates, tiny):
    problem = problem_of(updates.entry, tiny, objective="map", restarts=3, tolerance=1e-9)
    for end in iterate_from_all(problem, None, 1):
        assert end.change <= 1e-9
        value, _, moved = problem.step(end.point)
        assert value == pytest.approx(end.objective, rel=1e-12)
        for name, values in moved.items():
            np.testing.assert_allclose(values, end.point[name], rtol=0, atol=1e-9)
