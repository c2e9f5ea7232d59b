"""Graphs without their sizes: the same for other annotators and items, and of the same density."""

from dataclasses import replace
from functools import cache

import numpy as np
import pymc as pm
import pytensor
import pytest

import bayesanno as ba
from bayesanno.graph import functions
from bayesanno.graph.density import compile_graph
from bayesanno.graph.flat import flatten
from bayesanno.graph.functions import BY_NUMPY, keep, plain_compiling
from bayesanno.modeling.class_prior import start_of
from bayesanno.modeling.ops.transforms import use_log_simplex
from bayesanno.modeling.posterior import compile_formula


def annotations(rng, items, annotators, labels):
    each = range(min(annotators, 6))  # answers to an item: model_a takes up to eight
    records = [(f"s{i}", f"a{(i + j) % annotators}", f"l{rng.integers(labels)}") for i in range(items) for j in each]
    return ba.AnnotationData.from_records(records, labels=[f"l{k}" for k in range(labels)])


def random_data(model, rng, items=8, annotators=4, labels=3, each=5):
    if model.data_class is ba.CountData:
        trials = np.full(items, each)
        return ba.CountData(items=[f"s{i}" for i in range(items)], successes=rng.integers(0, trials + 1), trials=trials)
    if model.data_class is ba.RatingData:
        one = annotations(rng, items, annotators, 2)
        names = {name: getattr(one, name) for name in ("item", "annotator", "items", "annotators")}
        return ba.RatingData(value=rng.uniform(1, 99, one.n_annotations), scale=(0, 100), **names)
    if model.data_class is ba.MultiAnnotationData:
        parts = {name: annotations(rng, items, annotators, labels) for name in ("evidence", "polarity")}
        return ba.MultiAnnotationData(by_dimension=parts)
    return annotations(rng, items, annotators, 2 if model.two_labels else labels)


@cache
def usual_of(name):
    """A model's graph of some data, the same without sizes, and the data."""
    model = ba.get_model(name)
    data = random_data(model, np.random.default_rng(1))
    graph = model.build(data)
    return graph, flatten(graph), data


def evaluate(values, outputs, numbers):
    """The outputs by NumPy, operation by operation."""
    with plain_compiling():
        function = pytensor.function(values, outputs, mode=BY_NUMPY, on_unused_input="ignore")
    return function(*numbers)


FEWEST = {"hierarchical_dawid_skene": 3}  # labels: of two, a row has one coordinate
LOOP_OVER_LABELS = {"model_a", "model_a_multi"}  # where frequencies are given draw by draw: a recurrence over labels


@pytest.mark.parametrize("name", ba.list_models()["name"])
class TestZoo:
    def test_other_items_annotators_and_controls_are_the_same_graph(self, name, rng):
        model = ba.get_model(name)
        _, free, data = usual_of(name)
        others = [random_data(model, rng, items=11, annotators=6, each=7)]
        if model.data_class is ba.AnnotationData and model.takes_controls:
            others.append(replace(data, controls={"s1": data.labels[1], "s3": data.labels[0]}))
        assert [flatten(model.build(each)).name == free.name for each in others] == [True] * len(others)

    def test_other_numbers_of_labels_are_the_same_graph(self, name, rng):
        model = ba.get_model(name)
        if model.data_class in (ba.CountData, ba.RatingData) or model.two_labels:
            pytest.skip("labels are two, or there are none")
        data = (
            random_data(model, rng, labels=n, annotators=10) for n in (FEWEST.get(name, 2), 4)
        )  # enough for one way to sample
        one, other = (flatten(model.build(each)).name for each in data)
        assert one == other

    @pytest.mark.usefixtures("by_numpy")
    def test_formulas_of_other_sizes_are_compiled_once(self, name, rng, monkeypatch):
        model, compiled = ba.get_model(name), []
        monkeypatch.setattr(functions, "keep", lambda key, make: compiled.append(key) or keep(key, make))
        fewest = FEWEST.get(name, 2) if name not in LOOP_OVER_LABELS else 4
        for sizes in ({"labels": fewest, "annotators": 10}, {"labels": 4, "annotators": 11, "items": 12, "each": 7}):
            data = random_data(model, rng, **sizes)
            graph = model.build(data)
            draws = functions.add_deterministics(graph, functions.as_chains(graph, [start_of(model, data)]))
            compile_formula(model, data, draws)
        assert compiled[: len(compiled) // 2] == compiled[len(compiled) // 2 :]

    def test_density_and_values_are_the_graphs(self, name, rng, caplog):
        """As PyTensor has them by NumPy: the value, its gradient and the kept values, also far from the start."""
        caplog.set_level("INFO")
        graph, sizeless, data = usual_of(name)
        density = compile_graph(graph, ba.get_model(name).start(data))
        assert not caplog.records  # of a graph that is compiled in another way, or a rewriting that failed
        kept = [value for value in graph.unobserved_value_vars if value.name in sizeless.kept]
        outputs = [graph.logp(), graph.dlogp(), *kept]
        shapes = [density.parts[value.name][1] for value in graph.value_vars]
        ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])[:-1]
        for spread in (0.0, 0.1, 1.0):
            point = density.start + rng.normal(0, spread, density.n_dim)
            parts = [part.reshape(shape) for part, shape in zip(np.split(point, ends), shapes, strict=True)]
            expected = [np.ravel(one) for one in evaluate(graph.value_vars, outputs, parts)]
            value, gradient = density(point)
            assert np.isfinite(value)
            np.testing.assert_allclose(value, expected[0][0], rtol=1e-13)
            np.testing.assert_allclose(gradient, expected[1], rtol=1e-13, atol=1e-13 * np.abs(expected[1]).max())
            found = density.functions.call_kept(point, max(part.stop for part, _ in density.parts.values()))
            np.testing.assert_allclose(found, np.concatenate([point, *expected[2:]]), rtol=1e-13)


def test_class_priors_are_loops_too(rng, caplog):
    """Although PyTensor's softmax, with its gradient, has a graph inside."""
    caplog.set_level("INFO", "bayesanno")
    data = annotations(rng, 8, 4, 3)
    names = {"length": rng.normal(size=8).tolist(), "system": list("abcabcab"), "language": list("xyzzyxxy")}
    shares = dict(zip((f"p[{label}]" for label in data.labels), rng.dirichlet(np.ones(3), 8).T.tolist(), strict=True))
    data = replace(data, item_columns=names | shares)
    prior = ba.Columns("system + length + (1 | language)") + ba.Classifier(columns_of="p")
    model = ba.models.MACE(class_prior=prior)
    graph = model.build(data)
    density = compile_graph(graph, model.start(data))
    assert not caplog.records
    shapes = [density.parts[value.name][1] for value in graph.value_vars]
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])[:-1]
    point = density.start + rng.normal(0, 0.3, density.n_dim)
    parts = [part.reshape(shape) for part, shape in zip(np.split(point, ends), shapes, strict=True)]
    expected, slopes = evaluate(graph.value_vars, [graph.logp(), graph.dlogp()], parts)
    value, gradient = density(point)
    assert value == pytest.approx(float(expected), rel=1e-13)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-13, atol=1e-13 * np.abs(slopes).max())


def of_lengths(n_groups, n_classes):
    """A graph with arrays of constants, a simplex, and a variable of one number that is stretched."""
    with pm.Model(coords={"group": range(n_groups), "class": range(n_classes)}) as graph:
        shares = pm.Dirichlet("shares", 2 * np.ones(n_classes), dims=("group", "class"))
        use_log_simplex(graph)
        level = pm.Normal("level", np.zeros(1), 1.0)
        weights = np.linspace(0.0, 1.0, n_classes)
        pm.Normal("seen", (shares * weights).sum(axis=1) + level, 0.5, observed=pm.Data("data", np.arange(n_groups)))
    return graph


def test_one_function_serves_graphs_of_several_sizes(rng):
    functions = set()
    for sizes in ((2, 3), (4, 3), (3, 5)):
        graph = of_lengths(*sizes)
        compiled = compile_graph(graph, {})
        functions.add(id(compiled.functions.logp))
        flat = rng.normal(0, 0.5, compiled.n_dim)
        value, gradient = compiled(flat)
        ends = np.cumsum([sizes[0] * (sizes[1] - 1)])
        shares, level = np.split(flat, ends)
        point = {"shares_simplex__": shares.reshape(sizes[0], -1), "level": level}
        assert value == pytest.approx(float(graph.compile_logp(mode="FAST_COMPILE")(point)), rel=1e-12)
        np.testing.assert_allclose(gradient, graph.compile_dlogp(mode="FAST_COMPILE")(point), rtol=1e-9)
        kept = compiled.values_at(flat)
        assert set(kept) == {"shares", "level"}
        assert kept["shares"].shape == sizes
        np.testing.assert_allclose(kept["shares"].sum(axis=1), 1.0)
    assert len(functions) == 1
