"""The contract of the zoo, which every model joins by existing: its graph against enumeration, its data, its fields."""

import json
from dataclasses import replace

import numpy as np
import nutpie
import pymc as pm
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesanno import AnnotationData
from bayesanno._core.errors import ModelError
from bayesanno.modeling.likelihood import observed_arrays
from bayesanno.modeling.posterior import recover
from tests.models.contract import (
    EXACT,
    FAST,
    GRADIENT,
    ITEMS,
    LABELS,
    ROUND_TRIP,
    TINY,
    Graph,
    as_posterior,
    close,
    is_simplex,
    make_case,
    unconstrained,
    with_wrong_formula,
)

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

# ------------------------------------------------------------------------------------------------- the likelihood


def check_likelihood(case, graph, data, samples):
    for parameters in samples:
        close(graph.item_logp(parameters, data), case.item_logp(parameters, data))


def test_likelihood_is_the_sum_over_all_latent_states(case, tiny, rng):
    check_likelihood(case, case.graph, tiny, case.draw(10, rng))


def test_a_wrong_formula_is_noticed(case, rng):
    graph = Graph(with_wrong_formula(case.entry), case.designs.tiny, case.known)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_likelihood(case, graph, case.designs.tiny, case.draw(1, rng))


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=25),
    controls=st.dictionaries(st.sampled_from(ITEMS), st.sampled_from(LABELS)),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=30)
def test_likelihood_of_any_table(case, rows, controls, seed):
    item, annotator, label = np.array(rows).T
    assume(np.bincount(item).max() <= 8)  # model_a takes no more
    labels = case.designs.labels
    data = AnnotationData(
        item=item,
        annotator=annotator,
        label=label % len(labels),
        items=ITEMS,
        annotators=TINY.annotators,
        labels=labels,
        controls={name: known for name, known in controls.items() if known in labels and case.entry.takes_controls},
    )
    check_likelihood(case, case.graph, data, case.draw(1, np.random.default_rng(seed)))


def total_probability(case, graph, parameters):
    answers = map(case.designs.two_items, case.designs.answers_to(5))
    return sum(np.exp(graph.item_logp(parameters, data).sum()) for data in answers)


def test_probabilities_of_all_answers_sum_to_one(case, rng):
    (parameters,) = case.draw(1, rng)
    close(total_probability(case, case.graph, parameters), 1.0)
    wrong = Graph(with_wrong_formula(case.entry), case.designs.two_items(), case.known)
    assert abs(total_probability(case, wrong, parameters) - 1) > 0.01


def test_gradient_is_the_finite_difference(case, tiny, rng):
    model = case.graph.model
    pm.set_data(observed_arrays(case.entry, tiny), model)
    density = case.graph.density
    origin = model.initial_point()
    shape = pm.blocking.DictToArrayBijection.map(origin).point_map_info

    def at(x):
        return pm.blocking.DictToArrayBijection.rmap(pm.blocking.RaveledVars(x, shape))

    x = rng.normal(size=pm.blocking.DictToArrayBijection.map(origin).data.size)
    step = 1e-5
    differences = [(density(at(x + e))[0] - density(at(x - e))[0]) / (2 * step) for e in step * np.eye(x.size)]
    np.testing.assert_allclose(density(at(x))[1], differences, rtol=GRADIENT, atol=GRADIENT)


def test_the_model_is_prior_plus_likelihood(case, tiny, rng):
    model = case.graph.model
    pm.set_data(observed_arrays(case.entry, tiny), model)
    fields = case.entry.to_fields()
    samples = case.draw(3, rng)
    for parameters, point in zip(samples, unconstrained(model, samples), strict=True):
        prior, everything = case.graph.prior_and_joint(point)
        # a draw near the edge of its range loses digits on its way to the unconstrained scale and back
        expected = case.reference.log_prior(case.whole(parameters), fields)
        np.testing.assert_allclose(prior, expected, rtol=1e-6)
        total = expected + case.item_logp(parameters, tiny).sum()
        np.testing.assert_allclose(everything, total, rtol=1e-6)


FAR_OUT = 20.0


def at_the_edge(values, *, whole_line):
    """Parameters at an end of their range, or at a whole number where it has none above."""
    if is_simplex(values):
        return np.eye(values.shape[-1])[values.argmax(axis=-1)]
    if values.ndim and np.allclose(values.sum(axis=-1), 0):
        return FAR_OUT * values  # of infinite numbers no sum is 0
    return np.copysign(np.inf, values) if whole_line else np.round(values)


def test_zero_probabilities_never_give_nan(case, tiny, rng):
    impossible = 0
    on_the_line = {name for one in case.prior_draws for name, values in one.items() if np.min(values) < 0}
    for parameters in case.draw(30, rng):
        edge = {name: at_the_edge(values, whole_line=name in on_the_line) for name, values in parameters.items()}
        for mixed in (edge, *({**parameters, name: values} for name, values in edge.items())):
            found = case.graph.item_logp(mixed, tiny)
            close(found, case.item_logp(mixed, tiny))
            impossible += np.isneginf(found).sum()
    assert impossible > 0


# ------------------------------------------------------------------------------------------------- invariance


def permuted(data, items, annotators, labels):
    """The same annotations with everything renumbered: entry i of a permutation is the old number of the new i."""
    new_item, new_annotator, new_label = (np.argsort(order) for order in (items, annotators, labels))
    rows = np.argsort(new_item[data.item] * 7 % 5, kind="stable")
    return AnnotationData(
        item=new_item[data.item][rows],
        annotator=new_annotator[data.annotator][rows],
        label=new_label[data.label][rows],
        items=tuple(data.items[i] for i in items),
        annotators=tuple(data.annotators[i] for i in annotators),
        labels=tuple(data.labels[i] for i in labels),
        controls=data.controls,
    )


def permuted_parameters(case, parameters, orders):
    dims = case.graph.model.named_vars_to_dims
    moved = {}
    for name, values in parameters.items():
        for axis, dim in enumerate(dims.get(name, ())):
            values = np.take(values, orders[dim], axis=axis) if dim in orders else values
        moved[name] = values
    return moved


def test_order_of_items_annotators_and_labels_does_not_matter(case, tiny, rng):
    (parameters,) = case.draw(1, rng)
    expected = case.graph.item_logp(parameters, tiny)
    for _ in range(5):
        items, annotators, labels = (rng.permutation(n) for n in (tiny.n_items, tiny.n_annotators, tiny.n_labels))
        if case.entry.two_labels or "severity" in case.prior_draws[0]:  # of two, the last is the positive one
            labels = np.arange(tiny.n_labels)
        orders = {"item": items, "annotator": annotators, "response": labels, "true_class": labels}
        moved = permuted(tiny, items, annotators, labels)
        pm.set_data(permuted_parameters(case, case.known, orders), case.graph.model)
        found = case.graph.item_logp(permuted_parameters(case, parameters, orders), moved)
        pm.set_data(case.known, case.graph.model)
        close(found, expected[items])


def test_classes_are_exchangeable_exactly_if_the_model_says_so(case, rng):
    (parameters,) = case.draw(1, rng)
    tiny = case.designs.tiny
    swapped = permuted_parameters(case, parameters, {"true_class": np.array([1, 2, 0])})
    moves = any((swapped[name] != parameters[name]).any() for name in parameters)
    fields = case.entry.to_fields()

    def density(at):
        return case.graph.item_logp(at, tiny).sum() + case.reference.log_prior(case.whole(at), fields)

    same = bool(np.isclose(density(swapped), density(parameters), rtol=EXACT))
    assert case.entry.is_exchangeable(tiny) == (moves and same)
    assert not case.entry.is_exchangeable(case.designs.controlled)


# ------------------------------------------------------------------------------------------------- data and fields


def other_answers(data, controls=None):
    """Other answers to the design of the tiny data, with fewer patterns."""
    return replace(data, label=np.where(data.item == 0, 0, data.n_labels - 1), controls=controls or {})


@pytest.mark.slow  # nutpie compiles by itself
def test_nutpie_takes_other_answers_and_priors_without_compiling_again():
    case = make_case("one_coin", {})  # the mechanism is the same for every model, and compiling takes long
    model = case.entry.build(TINY)
    prior = {name: np.asarray(value) for name, value in changed_prior(case, model).items()}
    compiled = nutpie.compile_pymc_model(model)
    used = {variable.name for variable in compiled.shared_var_keys}
    arrays = {name: array for name, array in observed_arrays(case.entry, other_answers(TINY)).items() if name in used}
    tree = nutpie.sample(compiled.with_data(**arrays, **prior), draws=5, tune=5, chains=1, seed=1, progress_bar=False)

    fresh = type(case.entry).from_fields(changed_prior(case, model)).build(other_answers(TINY))
    logp = fresh.compile_logp(mode=FAST)
    posterior = tree["posterior"].isel(chain=0)
    samples = [{variable.name: posterior[variable.name].values[i] for variable in model.free_RVs} for i in range(5)]
    for draw, point in enumerate(unconstrained(fresh, samples)):
        np.testing.assert_allclose(tree["sample_stats"]["logp"].values[0, draw], logp(point), rtol=ROUND_TRIP)


def changed_prior(case, model):
    """Every field that the graph holds as data, made smaller."""
    named = {container.name for container in model.data_vars}
    return {
        n: (0.7 * np.asarray(v)).tolist()
        for n, v in case.entry.to_fields().items()
        if n in named and not isinstance(v, str)
    }


def test_hyperparameters_are_data(case, rng):
    model = Graph(case.entry, case.designs.tiny, case.known).model
    logp = model.compile_logp(vars=model.free_RVs, jacobian=False, mode=FAST)
    (parameters,) = case.draw(1, rng)
    (point,), whole = unconstrained(model, [parameters]), case.whole(parameters)
    before, fields = logp(point), case.entry.to_fields()
    changed = changed_prior(case, model)
    for name, value in changed.items():
        pm.set_data({name: value}, model)
        after = logp(point)
        np.testing.assert_allclose(after, case.reference.log_prior(whole, fields | {name: value}), rtol=ROUND_TRIP)
        assert abs(after - before) > ROUND_TRIP
        pm.set_data({name: fields[name]}, model)
    for name, value in fields.items():
        if name not in changed and not isinstance(value, str):  # a prior that this variant does not have
            other = fields | {name: 0.7 * np.asarray(value)}
            assert case.reference.log_prior(whole, other) == case.reference.log_prior(whole, fields)


def test_other_answers_can_be_put_into_a_graph(case, tiny, rng):
    (parameters,) = case.draw(1, rng)
    other = other_answers(tiny, controls={"s1": "no"} if tiny.controls else {})
    fresh = Graph(case.entry, other, case.known).item_logp(parameters)
    close(case.graph.item_logp(parameters, other), fresh)
    assert not np.allclose(case.graph.item_logp(parameters, tiny), fresh)


def test_fields_round_trip_through_json_and_can_be_hashed(case):
    fields = json.loads(json.dumps(case.entry.to_fields()))
    again = type(case.entry).from_fields(fields)
    assert again == case.entry
    assert hash(again) == hash(case.entry)
    text = {name: ":".join(map(str, v)) if isinstance(v, list) else str(v) for name, v in fields.items()}
    assert type(case.entry).from_fields(text) == case.entry


def test_a_field_that_does_not_exist_is_refused_with_the_nearest(case, refuses):
    field = next(iter(case.entry.to_fields()))
    with refuses(ModelError, f"{case.entry.name} has no field '{field}s': did you mean '{field}'"):
        type(case.entry).from_fields({field + "s": 1})
    for bad in ("many", float("nan"), None, [1, 2, 3, 4, 5]):
        with refuses(ModelError, f"{case.entry.name}: {field} is "):
            type(case.entry).from_fields({field: bad})


# ------------------------------------------------------------------------------------------------- the start

STARTS = {
    "tiny": lambda designs: designs.tiny,
    "controlled": lambda designs: designs.controlled,
    "three annotations": lambda designs: AnnotationData.from_records(
        [("s1", "ada", "no"), ("s2", "bo", "yes"), ("s2", "cy", "yes")], items=ITEMS, labels=designs.labels
    ),
    "a silent annotator": lambda designs: replace(
        designs.tiny, item=[1, 1, 1], annotator=[0, 0, 2], label=[len(designs.labels) - 1, 0, len(designs.labels) - 1]
    ),
}


@pytest.mark.parametrize("design", STARTS)
def test_start_is_a_possible_point(case, design):
    data = STARTS[design](case.designs)
    if data.controls and not case.entry.takes_controls:
        pytest.skip("it takes no controls")
    graph = Graph(case.entry, data, case.known)
    start = case.entry.start(data)
    assert set(start) == {variable.name for variable in graph.model.free_RVs}
    for variable in graph.model.free_RVs:
        shape = tuple(variable.shape.eval(mode=FAST))
        assert start[variable.name].shape == shape
        assert is_simplex(start[variable.name]) or not is_simplex(case.prior_draws[0][variable.name])
    assert np.isfinite(graph.item_logp(start)).all()
    for values in unconstrained(graph.model, [start])[0].values():
        assert np.isfinite(values).all()


def test_start_agrees_with_a_unanimous_vote(case):
    if not case.has_classes:
        pytest.skip("it has no classes")
    truth = [0, 1, 2, 2, 1, 0, 2]
    data = AnnotationData.from_records(
        [(str(i), a, LABELS[k]) for i, k in enumerate(truth) for a in ("ada", "bo", "cy")], labels=LABELS
    )
    found = recover(case.entry, data, as_posterior(case.entry.build(data), [case.entry.start(data)])).latent
    assert found["probability"].argmax(case.entry.state_dim).values.tolist() == truth
    assert (found["probability"].max(case.entry.state_dim) > 0.8).all()
