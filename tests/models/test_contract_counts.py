"""The contract of the models of counts, which each of them joins by existing: graph, process, the way back, fields."""

import json
from itertools import product
from math import comb

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from bayesanno import CountData
from bayesanno._core.errors import DataError, ModelError
from bayesanno.modeling.arguments import CountDesign, Parameters
from bayesanno.modeling.likelihood import observed_arrays
from bayesanno.modeling.posterior import compile_formula, recover
from tests.models.contract import (
    COPIES,
    FAST,
    FEW_COPIES,
    GRADIENT,
    P_VALUE,
    PRIOR_DRAWS,
    ROUND_TRIP,
    Graph,
    as_posterior,
    broken,
    chi_square,
    close,
    unconstrained,
    with_wrong_formula,
)
from tests.models.references_counts import count_probability, counts

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

N = 3  # answers to each of the two items of a process


# ------------------------------------------------------------------------------------------------- the likelihood


def check_likelihood(case, graph, data, samples):
    for parameters in samples:
        close(graph.item_logp(parameters, data), case.item_logp(parameters, data))


def test_likelihood_is_the_sum_over_all_latent_states(counted, rng):
    samples = counted.draw(10, rng)
    check_likelihood(counted, counted.graph, counted.data, samples)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_likelihood(counted, Graph(with_wrong_formula(counted.entry), counted.data), counted.data, samples)


@given(
    pairs=st.lists(st.integers(0, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=30)
def test_likelihood_of_any_table(counted, pairs, seed):
    if len(set(counted.data.trials)) == 1:  # a model of items with equal numbers of answers
        pairs = [(min(x, 4), 4) for x, _ in pairs]
    if any(n for _, n in pairs):
        check_likelihood(counted, counted.graph, counts(*pairs), counted.draw(1, np.random.default_rng(seed)))


def test_probabilities_of_all_counts_sum_to_one(counted, rng):
    (parameters,) = counted.draw(1, rng)
    for n in set(counted.data.trials.tolist()) | {7}:
        every = CountData(
            items=tuple("abcdefgh"[: n + 1]), successes=np.arange(n + 1), trials=np.full(n + 1, max(n, 1))
        )
        if n == 0:  # a table needs an answer
            continue
        orders = [comb(n, x) for x in range(n + 1)]
        close(orders @ np.exp(counted.graph.item_logp(parameters, every)), 1.0)
        wrong = Graph(with_wrong_formula(counted.entry), every).item_logp(parameters, every)
        assert abs(orders @ np.exp(wrong) - 1) > ROUND_TRIP


def test_the_order_of_answers_counts(counted, rng):
    """The likelihood is of answers in their order: with log C(n, x) added it is that of a count."""
    (parameters,) = counted.draw(1, rng)
    whole = counted.whole(parameters)
    found = np.exp(counted.graph.item_logp(parameters, counted.data))
    for p, x, n in zip(found, counted.data.successes.tolist(), counted.data.trials.tolist(), strict=True):
        close(comb(n, x) * p, count_probability(counted.reference, whole, x, n).sum())


def test_gradient_is_the_finite_difference(counted, rng):
    model = counted.graph.model
    pm.set_data(observed_arrays(counted.entry, counted.data), model)
    density = counted.graph.density
    origin = pm.blocking.DictToArrayBijection.map(model.initial_point())
    assert np.isfinite(density(model.initial_point())[0])

    def at(x):
        return pm.blocking.DictToArrayBijection.rmap(pm.blocking.RaveledVars(x, origin.point_map_info))

    x = rng.normal(size=origin.data.size)
    step = 1e-5
    differences = [(density(at(x + e))[0] - density(at(x - e))[0]) / (2 * step) for e in step * np.eye(x.size)]
    np.testing.assert_allclose(density(at(x))[1], differences, rtol=GRADIENT, atol=GRADIENT)


def test_the_density_is_prior_likelihood_and_jacobian(counted, rng):
    model = counted.graph.model
    pm.set_data(observed_arrays(counted.entry, counted.data), model)
    samples = counted.draw(3, rng)
    for parameters, point in zip(samples, unconstrained(model, samples), strict=True):
        prior, everything = counted.graph.prior_and_joint(point)
        expected = counted.log_prior(parameters)
        np.testing.assert_allclose(prior, expected, rtol=ROUND_TRIP)
        total = expected + counted.item_logp(parameters, counted.data).sum()
        np.testing.assert_allclose(everything, total, rtol=ROUND_TRIP)


def test_zero_probabilities_never_give_nan(counted, rng):
    impossible, edges = 0, 0
    for parameters in counted.draw(20, rng):
        edge = {name: np.round(parameters[name]) for name in counted.reference.shares if name in parameters}
        if "weight" in parameters:
            edge["weight"] = np.eye(parameters["weight"].size)[parameters["weight"].argmax()]
        for mixed in [{**parameters, name: values} for name, values in edge.items()] + [{**parameters, **edge}]:
            found = counted.graph.item_logp(mixed, counted.data)
            close(found, counted.item_logp(mixed, counted.data))
            impossible += np.isneginf(found).sum()
            edges += len(edge)
    assert edges > 0 or not counted.reference.shares
    assert impossible > 0 or "rate" not in counted.prior_draws[0]  # a known rate between 0 and 1 excludes no answers


def test_the_order_of_items_does_not_matter(counted, rng):
    (parameters,) = counted.draw(1, rng)
    expected = counted.graph.item_logp(parameters, counted.data)
    order = rng.permutation(counted.data.n_items)
    pairs = zip(counted.data.successes[order].tolist(), counted.data.trials[order].tolist(), strict=True)
    close(counted.graph.item_logp(parameters, counts(*pairs)), expected[order])


def test_many_answers_do_not_overflow(counted, rng):
    many = counts((0, 100_000), (50_000, 100_000), (100_000, 100_000))
    for parameters in counted.draw(3, rng):
        assert np.isfinite(Graph(counted.entry, many).item_logp(parameters)).all()


# ----------------------------------------------------------------------------------- the generative process


def simulate(entry, parameters, rng, copies):
    """Draws of (type of u, type of v, successes of u, of v), one row per copy of two items."""
    design = CountDesign(trials=pt.as_tensor(np.full(2 * copies, N)), n_items=pt.as_tensor(2 * copies))
    given = Parameters({name: pt.as_tensor(values) for name, values in parameters.items()})
    state, successes = pm.draw(list(entry.generate(design, given)), random_seed=rng, mode=FAST)
    return np.column_stack([state.reshape(copies, -1), successes.reshape(copies, -1)])


def process_pmf(case, parameters):
    one = {x: count_probability(case.reference, case.whole(parameters), x, N) for x in range(N + 1)}
    return {
        (i, j, x, y): one[x][i] * one[y][j]
        for x, y in product(one, one)
        for i, j in product(range(case.entry.n_types), repeat=2)
    }


def with_wrong_process(entry):
    def generate(self, design, p):
        state, successes = type(entry).generate(self, design, p)
        return state, design.trials - successes

    return broken(entry, generate=generate)


def with_wrong_type(entry):
    def generate(self, design, p):
        state, successes = type(entry).generate(self, design, p)
        return pt.mod(state + 1, max(2, self.n_types)), successes

    return broken(entry, generate=generate)


def spread_out(case, rng, pmf_of, reverse):
    """Parameters from the prior under which draws can disagree, and successes are not failures; and their pmf."""
    for parameters in case.draw(PRIOR_DRAWS, rng):
        pmf = pmf_of(parameters)
        apart = sum(abs(probability - pmf[reverse(cell)]) for cell, probability in pmf.items()) / 2
        if max(pmf.values()) < 0.8 and apart > 0.1:
            return parameters, pmf
    return pytest.fail("no draw of the prior is fit to test with")


def test_simulated_counts_have_the_probabilities_of_the_formula(counted, rng):
    parameters, pmf = spread_out(
        counted,
        rng,
        lambda parameters: process_pmf(counted, parameters),
        lambda cell: (*cell[:2], N - cell[2], N - cell[3]),
    )
    whole = counted.whole(parameters)
    assert chi_square(simulate(counted.entry, whole, rng, COPIES), pmf) > P_VALUE
    for wrong in (with_wrong_process(counted.entry), with_wrong_type(counted.entry)):
        assert chi_square(simulate(wrong, whole, rng, FEW_COPIES), pmf) < P_VALUE


def test_predictions_have_the_probabilities_of_the_formula(counted, rng):
    def pmf_of(parameters):
        whole = counted.whole(parameters)
        return {(x,): count_probability(counted.reference, whole, x, N).sum() for x in range(N + 1)}

    parameters, pmf = spread_out(counted, rng, pmf_of, lambda cell: (N - cell[0],))

    def predict(entry, copies):
        fixed = pm.do(entry.build(counts(*[(0, N)] * copies)), parameters)
        return pm.draw(fixed["successes"], random_seed=rng, mode=FAST).reshape(copies, 1)

    assert chi_square(predict(counted.entry, COPIES), pmf) > P_VALUE
    assert chi_square(predict(with_wrong_process(counted.entry), FEW_COPIES), pmf) < P_VALUE


def test_prior_predictive_has_named_coords(counted):
    tree = pm.sample_prior_predictive(
        draws=3,
        model=counted.entry.build(counted.data),
        random_seed=1,
        compile_kwargs={"mode": FAST},
        var_names=["successes"],
    )
    found = tree["prior_predictive"]["successes"]
    assert found.dims == ("chain", "draw", "item")
    assert (found.values <= counted.data.trials).all()
    assert (found.values >= 0).all()


# ------------------------------------------------------------------------------------------------- the way back


def check_recovered(case, entry, samples):
    found = recover(entry, case.data, as_posterior(case.graph.model, samples, n_chains=2))
    by_draw = [case.probability(parameters, case.data) for parameters in samples]
    close(found.latent["probability"].values, np.mean(by_draw, axis=0))
    close(found.latent["entropy"].values, entropy(np.mean(by_draw, axis=0), axis=1))
    likelihood = [case.item_logp(parameters, case.data) for parameters in samples]
    close(found.log_likelihood.reshape(len(samples), -1), likelihood)
    return found.latent, by_draw


def test_recovered_types_follow_bayes_rule(counted, rng):
    samples = counted.draw(8, rng)
    latent, by_draw = check_recovered(counted, counted.entry, samples)
    assert set(latent.data_vars) == {"probability", "log_probability", "probability_mcse", "entropy", "hard"}
    assert latent["probability"].dims == ("item", "item_type")
    assert tuple(latent["item_type"].values) == tuple(f"type {t + 1}" for t in range(counted.entry.n_types))
    n = int(counted.data.trials.max())
    rates = [counted.reference.rates(counted.whole(one), n) for one in samples]
    hard = [p[:, np.argmin(np.abs(rate - 0.5))] for p, rate in zip(by_draw, rates, strict=True)]
    close(latent["hard"].values, np.mean(hard, axis=0))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_recovered(counted, with_wrong_formula(counted.entry), samples)


def test_drawn_types_have_the_recovered_probabilities(counted, rng):
    (parameters,) = counted.draw(1, rng)
    pairs = [*zip(counted.data.successes[:3].tolist(), counted.data.trials[:3].tolist(), strict=True)]
    rows = counted.probability(parameters, counts(*pairs))
    posterior = as_posterior(counted.graph.model, [parameters])
    formula = compile_formula(counted.entry, counts(*pairs * COPIES), posterior)
    drawn = formula.draw_states(random_seed=rng).values.reshape(COPIES, -1)
    pmf = {cell: float(np.prod(rows[np.arange(3), cell])) for cell in np.ndindex(*[rows.shape[1]] * 3)}
    assert chi_square(drawn, pmf) > P_VALUE if len(pmf) > 1 else (drawn == 0).all()


# ------------------------------------------------------------------------------------------------- data and fields


def test_hyperparameters_are_data(counted, rng):
    model = counted.entry.build(counted.data)
    logp = model.compile_logp(vars=model.free_RVs, jacobian=False, mode=FAST)
    (parameters,) = counted.draw(1, rng)
    (point,) = unconstrained(model, [parameters])
    before, named = logp(point), {container.name for container in model.data_vars}
    for name, value in counted.entry.to_fields().items():
        if isinstance(value, int):  # no prior: a number of types, or whether something is known
            continue
        smaller = (0.7 * np.asarray(value)).tolist()
        if name not in named:  # a prior that this variant does not have
            assert counted.log_prior(parameters, **{name: smaller}) == counted.log_prior(parameters)
            continue
        pm.set_data({name: smaller}, model)
        after = logp(point)
        np.testing.assert_allclose(after, counted.log_prior(parameters, **{name: smaller}), rtol=ROUND_TRIP)
        assert abs(after - before) > ROUND_TRIP
        pm.set_data({name: value}, model)


def test_other_counts_can_be_put_into_a_graph(counted, rng):
    (parameters,) = counted.draw(1, rng)
    other = CountData(items=counted.data.items, successes=counted.data.trials, trials=counted.data.trials)
    close(counted.graph.item_logp(parameters, other), Graph(counted.entry, other).item_logp(parameters))


def test_fields_round_trip_through_json_and_can_be_hashed(counted):
    fields = json.loads(json.dumps(counted.entry.to_fields()))
    again = type(counted.entry).from_fields(fields)
    assert (again, hash(again)) == (counted.entry, hash(counted.entry))
    text = {name: ":".join(map(str, v)) if isinstance(v, list) else str(v) for name, v in fields.items()}
    assert type(counted.entry).from_fields(text) == counted.entry


def test_a_field_that_does_not_exist_is_refused_with_the_nearest(counted, refuses):
    field = next(iter(counted.entry.to_fields()))
    with refuses(ModelError, f"{counted.entry.name} has no field '{field}s': did you mean '{field}'"):
        type(counted.entry).from_fields({field + "s": 1})
    for bad in ("many", float("nan"), None, 0):
        with refuses(ModelError, f"{counted.entry.name}: {field} is "):
            type(counted.entry).from_fields({field: bad})


def test_data_of_another_kind_are_refused(counted, refuses):
    with refuses(DataError, f"{counted.entry.name} needs CountData .*, not str"):
        counted.entry.check("answers")


STARTS = {
    "tiny": ((1, 4), (0, 4), (3, 4), (4, 4), (2, 4)),
    "all negative": ((0, 4), (0, 4)),
    "all positive": ((4, 4), (4, 4)),
    "one answer": ((1, 1),),
}


@pytest.mark.parametrize("pairs", STARTS)
def test_start_is_a_possible_point(counted, pairs):
    data = counts(*STARTS[pairs])
    graph, start = Graph(counted.entry, data), counted.entry.start(data)
    assert set(start) == {variable.name for variable in graph.model.free_RVs}
    for variable in graph.model.free_RVs:
        assert start[variable.name].shape == tuple(variable.shape.eval(mode=FAST))
    assert np.isfinite(graph.item_logp(start)).all()
    for values in unconstrained(graph.model, [start])[0].values():
        assert np.isfinite(values).all()
