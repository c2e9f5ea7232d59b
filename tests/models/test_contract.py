"""The contract of the zoo, which every model joins by existing: its graph against enumeration, its data, its fields."""

import json
from dataclasses import replace

import numpy as np
import nutpie
import pymc as pm
import pytest

from bayesanno import AnnotationData
from bayesanno._core.errors import ModelError
from bayesanno.modeling.likelihood import observed_arrays
from bayesanno.modeling.posterior import recover
from tests.models.contract import make_case
from tests.models.designs import LABELS, TINY
from tests.models.graphs import EXACT, FAST, GRADIENT, ROUND_TRIP, as_posterior, close, is_simplex, unconstrained

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

# ------------------------------------------------------------------------------------------------- the likelihood


def check_likelihood(case, graph, data, samples):
    for parameters in samples:
        close(graph.item_logp(parameters, data), case.item_logp(parameters, data))


def test_likelihood_is_the_sum_over_all_latent_states(any_case, rng):
    samples = any_case.draw(10, rng)
    for data in any_case.tables:
        check_likelihood(any_case, any_case.graph, data, samples)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_likelihood(any_case, any_case.wrong_graph, any_case.data, samples)


def test_likelihood_of_any_table(any_case, rng):
    for _ in range(30):
        check_likelihood(any_case, any_case.graph, any_case.random_table(rng), any_case.draw(1, rng))


def test_probabilities_of_all_answers_sum_to_one(any_case, rng):
    (parameters,) = any_case.draw(1, rng)
    close(any_case.total_probability(any_case.graph, parameters), 1.0)
    assert abs(any_case.total_probability(any_case.wrong_graph, parameters) - 1) > ROUND_TRIP


def test_gradient_is_the_finite_difference(any_case, rng):
    """In random directions, each of which every parameter has a share in."""
    density, origin = any_case.graph.density, any_case.graph.model.initial_point()
    flat = pm.blocking.DictToArrayBijection.map(origin)

    def at(x):
        return density(pm.blocking.DictToArrayBijection.rmap(pm.blocking.RaveledVars(x, flat.point_map_info)))

    step = 1e-5
    for data in any_case.tables:
        any_case.graph.observe(data)
        assert np.isfinite(at(flat.data)[0])
        x, directions = rng.normal(size=flat.data.size) / 2, rng.normal(size=(5, flat.data.size))
        differences = [(at(x + step * d)[0] - at(x - step * d)[0]) / (2 * step) for d in directions]
        np.testing.assert_allclose(directions @ at(x)[1], differences, rtol=GRADIENT, atol=GRADIENT)


def test_the_model_is_prior_plus_likelihood(any_case, rng):
    samples = any_case.draw(3, rng)
    for data in any_case.tables:
        any_case.graph.observe(data)
        for parameters, point in zip(samples, any_case.graph.unconstrained(samples), strict=True):
            prior, everything = any_case.graph.prior_and_joint(point)
            expected = any_case.log_prior(parameters)
            np.testing.assert_allclose(prior, expected, rtol=ROUND_TRIP)
            total = expected + any_case.item_logp(parameters, data).sum()
            np.testing.assert_allclose(everything, total, rtol=ROUND_TRIP)


FAR_OUT = 20.0


def at_the_edge(values, *, whole_line):
    """Parameters at an end of their range, or at a whole number where it has none above."""
    if is_simplex(values):
        return np.eye(values.shape[-1])[values.argmax(axis=-1)]
    if values.ndim and np.allclose(values.sum(axis=-1), 0):
        return FAR_OUT * values  # of infinite numbers no sum is 0
    return np.copysign(np.inf, values) if whole_line else np.round(values)


def test_zero_probabilities_never_give_nan(any_case, rng):
    impossible = 0
    on_the_line = {name for one in any_case.prior_draws for name, values in one.items() if np.min(values) < 0}
    for parameters in any_case.draw(15, rng):
        edge = {n: at_the_edge(parameters[n], whole_line=n in on_the_line) for n in any_case.at_edges}
        for mixed in (parameters | edge, *({**parameters, name: values} for name, values in edge.items())):
            for data in any_case.tables:
                found = any_case.graph.item_logp(mixed, data)
                close(found, any_case.item_logp(mixed, data))
                impossible += np.isneginf(found).sum()
    assert impossible > 0 or not any_case.excludes_answers


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


EVEN = {"confusion_accuracy": 1 / 3, "confusion_strength": 3.0}  # rows of a matrix whose prior knows no diagonal


def test_classes_are_exchangeable_exactly_if_the_model_says_so(case, rng):
    (parameters,) = case.draw(1, rng)
    tiny = case.designs.tiny
    swapped = permuted_parameters(case, parameters, {"true_class": np.array([1, 2, 0])})
    moves = any((swapped[name] != parameters[name]).any() for name in parameters)
    fields = case.entry.to_fields()
    for changed in ({}, EVEN) if set(EVEN) <= set(fields) else ({},):
        entry = type(case.entry).from_fields(fields | changed)
        of_prior = [case.log_prior(at, **changed) for at in (swapped, parameters)]
        density = [
            case.graph.item_logp(at, tiny).sum() + p for at, p in zip((swapped, parameters), of_prior, strict=True)
        ]
        same = bool(np.isclose(*density, rtol=EXACT))
        assert entry.is_exchangeable(tiny) == (moves and same)
        assert entry.is_exchangeable(tiny) or changed != EVEN
        assert not entry.is_exchangeable(case.designs.controlled)


# ------------------------------------------------------------------------------------------------- data and fields


def changed_prior(case):
    """Every field that the graph holds as data, made smaller."""
    named = {container.name for container in case.graph.model.data_vars}
    return {
        n: (0.7 * np.asarray(v)).tolist()
        for n, v in case.entry.to_fields().items()
        if n in named and not isinstance(v, str)
    }


@pytest.mark.slow  # nutpie compiles by itself
def test_nutpie_takes_other_answers_and_priors_without_compiling_again():
    case = make_case("one_coin", {})  # the mechanism is the same for every model, and compiling takes long
    other = replace(TINY, label=np.where(TINY.item == 0, 0, TINY.n_labels - 1))
    model, changed = case.entry.build(TINY), changed_prior(case)
    prior = {name: np.asarray(value) for name, value in changed.items()}
    compiled = nutpie.compile_pymc_model(model)
    used = {variable.name for variable in compiled.shared_var_keys}
    arrays = {name: array for name, array in observed_arrays(case.entry, other).items() if name in used}
    tree = nutpie.sample(compiled.with_data(**arrays, **prior), draws=5, tune=5, chains=1, seed=1, progress_bar=False)

    fresh = type(case.entry).from_fields(changed).build(other)
    logp = fresh.compile_logp(mode=FAST)
    posterior = tree["posterior"].isel(chain=0)
    samples = [{variable.name: posterior[variable.name].values[i] for variable in model.free_RVs} for i in range(5)]
    for draw, point in enumerate(unconstrained(fresh, samples)):
        np.testing.assert_allclose(tree["sample_stats"]["logp"].values[0, draw], logp(point), rtol=ROUND_TRIP)


def test_hyperparameters_are_data(any_case, rng):
    (parameters,) = any_case.draw(1, rng)
    (point,), logp = any_case.graph.unconstrained([parameters]), any_case.graph.prior_and_joint
    before, fields, changed = logp(point)[0], any_case.entry.to_fields(), changed_prior(any_case)
    for name, value in changed.items():
        pm.set_data({name: value}, any_case.graph.model)
        after = logp(point)[0]
        pm.set_data({name: fields[name]}, any_case.graph.model)
        np.testing.assert_allclose(after, any_case.log_prior(parameters, **{name: value}), rtol=ROUND_TRIP)
        assert abs(after - before) > ROUND_TRIP
    for name, value in fields.items():
        if name not in changed and not isinstance(value, str):  # a prior that this variant does not have
            other = 0.7 * np.asarray(value)
            assert any_case.log_prior(parameters, **{name: other}) == any_case.log_prior(parameters)


def test_fields_round_trip_through_json_and_can_be_hashed(any_case):
    fields = json.loads(json.dumps(any_case.entry.to_fields()))
    again = type(any_case.entry).from_fields(fields)
    assert again == any_case.entry
    assert hash(again) == hash(any_case.entry)
    text = {name: ":".join(map(str, v)) if isinstance(v, list) else str(v) for name, v in fields.items()}
    assert type(any_case.entry).from_fields(text) == any_case.entry


def test_a_field_that_does_not_exist_is_refused_with_the_nearest(any_case, refuses):
    entry = any_case.entry
    field = next(iter(entry.to_fields()))
    with refuses(ModelError, f"{entry.name} has no field '{field}s': did you mean '{field}'"):
        type(entry).from_fields({field + "s": 1})
    for bad in ("many", float("nan"), None, any_case.no_field):
        with refuses(ModelError, f"{entry.name}: {field} is "):
            type(entry).from_fields({field: bad})


# ------------------------------------------------------------------------------------------------- the start


def test_start_is_a_possible_point(any_case):
    like = any_case.prior_draws[0]
    for data in any_case.starts:
        start = any_case.entry.start(data)
        assert {name: values.shape for name, values in start.items()} == {n: np.shape(v) for n, v in like.items()}
        assert all(is_simplex(values) or not is_simplex(like[name]) for name, values in start.items())
        assert np.isfinite(any_case.graph.item_logp(start, data)).all()
        for values in any_case.graph.unconstrained([start])[0].values():
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
