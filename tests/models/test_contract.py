"""The contract of the zoo, which every model joins by existing: its graph against enumeration, its data, its fields."""

import json

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from scipy.stats import entropy

from bayesanno import AnnotationData
from bayesanno._core.messages import ModelError
from bayesanno.modeling import posterior as way_back
from bayesanno.modeling.posterior import recover
from tests.models.contract import FEW_COPIES, make_case
from tests.models.designs import LABELS
from tests.models.graphs import (
    EXACT,
    GRADIENT,
    P_VALUE,
    ROUND_TRIP,
    Graph,
    chi_square,
    close,
    is_simplex,
    with_wrong_formula,
)

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

# ------------------------------------------------------------------------------------------------- the likelihood


def check_likelihood(case, graph, data, samples):
    for parameters in samples:
        close(graph.item_logp(parameters, data), case.item_logp(parameters, data))


def test_likelihood_is_the_sum_over_all_latent_states(any_case, rng):
    samples = any_case.draw(5, rng)
    for data in any_case.tables:
        check_likelihood(any_case, any_case.graph, data, samples)
    for _ in range(15):
        check_likelihood(any_case, any_case.graph, any_case.random_table(rng), any_case.draw(1, rng))


def test_probabilities_of_all_answers_sum_to_one(any_case, rng):
    (parameters,) = any_case.draw(1, rng)
    close(any_case.total_probability(any_case.graph, parameters), 1.0)


def test_a_wrong_formula_is_noticed(rng):
    case = make_case("one_coin", {})
    entry, samples = with_wrong_formula(case.entry), case.draw(2, rng)
    wrong = Graph(entry, case.data, case.known)
    assert abs(case.total_probability(wrong, samples[0]) - 1) > ROUND_TRIP
    for check in (
        lambda: check_likelihood(case, wrong, case.data, samples),
        lambda: recover_and_check(case, entry, samples, case.data),
    ):
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            check()


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
        x, directions = rng.normal(size=flat.data.size) / 2, rng.normal(size=(2, flat.data.size))
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
    for parameters in any_case.draw(5, rng):
        edge = {n: at_the_edge(parameters[n], whole_line=n in on_the_line) for n in any_case.at_edges}
        for mixed in (parameters | edge, *({**parameters, name: values} for name, values in edge.items())):
            for data in any_case.tables:
                found = any_case.graph.item_logp(mixed, data)
                close(found, any_case.item_logp(mixed, data))
                impossible += np.isneginf(found).sum()
    assert impossible > 0 or not any_case.excludes_answers


def test_accuracy_is_how_often_an_annotator_names_the_class(case, rng):
    deterministics = {variable.name for variable in case.graph.model.deterministics}
    if "accuracy" not in deterministics:
        pytest.skip("it is a parameter, or there is none")
    (parameters,) = case.draw(1, rng)
    np.testing.assert_allclose(case.graph.accuracy(parameters), case.accuracy(parameters), rtol=1e-5)


# ------------------------------------------------------------------------------------------------- invariance


def swap_classes(case, parameters, order):
    dims = case.graph.model.named_vars_to_dims
    moved = {}
    for name, values in parameters.items():
        for axis, dim in enumerate(dims.get(name, ())):
            values = np.take(values, order, axis=axis) if dim == "true_class" else values
        moved[name] = values
    return moved


EVEN = {"confusion_accuracy": 1 / 3, "confusion_strength": 3.0}  # rows of a matrix whose prior knows no diagonal


def test_classes_are_exchangeable_exactly_if_the_model_says_so(case, rng):
    (parameters,) = case.draw(1, rng)
    tiny = case.designs.tiny
    swapped = swap_classes(case, parameters, [1, 2, 0])
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
    truth = [0, 1, 2, 2, 1, 0]
    data = AnnotationData.from_records(
        [(str(i), a, LABELS[k]) for i, k in enumerate(truth) for a in ("ada", "bo", "cy")], labels=LABELS
    )
    found = case.probability(case.entry.start(data), data)
    assert found.argmax(axis=1).tolist() == truth
    assert (found.max(axis=1) > 0.8).all()


# ------------------------------------------------------------------------------------------------- the way back


def recover_and_check(case, entry, samples, data):
    """The latents, after a check of their probabilities; and those of each draw (sample, item, state)."""
    found = recover(entry, data, case.posterior(samples, n_chains=2), case.known)
    likelihood = [case.item_logp(parameters, data) for parameters in samples]
    close(found.log_likelihood.reshape(len(samples), -1), likelihood)
    if not entry.latents(data):
        assert not found.latents
        return None, np.empty(0)
    by_draw = np.array([case.probability(parameters, data) for parameters in samples], dtype=float)
    close(found.latent["probability"].values, by_draw.mean(axis=0))
    close(found.latent["entropy"].values, entropy(by_draw.mean(axis=0), axis=1))
    return found.latent, by_draw


def test_recovered_states_and_what_is_read_off_follow_bayes_rule(any_case, rng):
    many = any_case.draw(40, rng)  # of fewer, the effective number is what it can be at most, whatever the draws
    for data in any_case.tables:
        samples = many if data is any_case.data else many[:6]
        latent, by_draw = recover_and_check(any_case, any_case.entry, samples, data)
        if latent is None:
            continue
        state_dim = any_case.entry.state_dim
        assert latent["probability"].dims == ("item", state_dim)
        assert tuple(latent["item"].values) == data.items
        assert tuple(latent[state_dim].values) == any_case.entry.states(data)

        for item, state in np.ndindex(by_draw.shape[1:] if samples is many else (0, 0)):
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


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("mace", {"class_prior": "uniform"}),  # reads something off each annotation
        ("item_difficulty", {"ability_prior": (2.0, 3.0)}),  # off each item, in bins
        ("lapse_difficulty", {"lapse_prior": (2.0, 3.0)}),  # its items differ
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
