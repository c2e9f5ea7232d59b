"""Plate diagrams: what they show is what the model's graph and process are."""

from __future__ import annotations

import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors

import bayesanno as ba
from bayesanno._core.private.pytensor import RandomVariable
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.data_adapters import DATA_ADAPTERS
from bayesanno.modeling.likelihood import declared_parameters, find_patterns, index_arrays
from bayesanno.modeling.process import describe_process, smallest_data
from bayesanno.modeling.registry import describe_models

DATA = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "bo", "no")])


ZOO = [row["name"] for row in describe_models()]


def edges(model):
    return set(describe_process(model, smallest_data(model)).edges)


ANSWERS = "annotations"
BY_NUMPY = Mode(linker="py", optimizer="fast_compile")
OF_CLASS = {("prevalence", "true_class"), ("true_class", ANSWERS)}


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (ba.models.MACE(), OF_CLASS | {("competence", ANSWERS), ("strategy", ANSWERS)}),
        (
            ba.models.MACE(competence_prior="learnt", class_prior="uniform"),
            {("true_class", ANSWERS), ("competence", ANSWERS), ("strategy", ANSWERS)}
            | {(f"competence_{name}", "competence") for name in ("mean", "concentration")},
        ),
        (
            ba.models.HierarchicalDawidSkene(),  # the population has an effect by way of the confusion alone
            OF_CLASS
            | {(name, "confusion") for name in ("population", "spread", "ability")}
            | {("ability_spread", "ability"), ("confusion", ANSWERS)},
        ),
        (ba.models.LabelUsage(), {("habit", "usage"), ("usage", ANSWERS)}),  # no latent
        (ba.models.LabelUsage(centre="even"), {("usage", ANSWERS)}),
        (
            ba.models.ItemDifficulty(),
            OF_CLASS | {(name, ANSWERS) for name in ("ability", "spread", "habit", "difficulty")},
        ),
        (
            ba.models.ItemDifficulty(form="2pl", habits=False),
            OF_CLASS | {(name, ANSWERS) for name in ("ability", "spread", "slope_spread", "difficulty", "slope")},
        ),
        (
            ba.models.SharedErrors(),
            OF_CLASS | {(name, ANSWERS) for name in ("ability", "spread", "habit", "loading", "shared_error")},
        ),
        (
            ba.models.ModelA(),  # the true class depends on no annotator
            {("frequency", "true_class"), ("frequency", ANSWERS), ("accuracy", ANSWERS), ("true_class", ANSWERS)},
        ),
        (
            ba.models.EasyHard(easy_error="learnt"),  # how many items are hard is not asked where one's type is known
            {("hard_fraction", "item_type"), ("easy_prevalence", "item_type")}
            | {(name, ANSWERS) for name in ("coin", "slip", "item_type")},
        ),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_the_edges_are_those_of_the_generative_process(model, known):
    assert edges(model) == known


@pytest.mark.parametrize("name", ZOO)
def test_every_model_has_a_diagram_with_all_its_parameters(name):
    model = ba.get_model(name)
    process = describe_process(model, smallest_data(model))
    (axes,) = ba.plot_plates(name).axes
    shown = {text.get_text().replace("\n", "") for text in axes.texts}
    assert {*process.dims, *process.numbers, *filter(None, [process.state])} <= shown
    assert ("summed out" in shown) == (process.state != "") == (name != "label_usage")
    assert ("from the data" in shown) == bool(model.fixed_parameters(smallest_data(model)))
    reaching, before = {process.answers}, set()
    while reaching != before:
        before, reaching = reaching, reaching | {parent for parent, child in process.edges if child in reaching}
    assert reaching == {*process.dims, *process.numbers, process.answers, *filter(None, [process.state])}
    low, high = axes.get_ylim()
    assert all(low < text.get_position()[1] < high for text in axes.texts)


OF_ANNOTATIONS = [one for one in map(ba.get_model, ZOO) if issubclass(one.data_class, ba.AnnotationData)]
IN_GRAPHS = [one for one in OF_ANNOTATIONS if one.name != "model_a"]  # whose process is one operation


@pytest.mark.parametrize("model", [*IN_GRAPHS, ba.models.OrdinalDawidSkene(shared=True)], ids=lambda one: one.name)
def test_what_is_drawn_for_each_item_is_in_the_diagram(model):
    """Random variables of the size of the items are the state, what it is made of, or named."""
    records = [(f"s{item}", who, "yes" if item % 2 else "no") for item in range(5) for who in "abc"]
    data = ba.AnnotationData.from_records(records)
    graph = model.build(data)
    arrays = index_arrays(model, data, find_patterns(model, data))
    given = {key: pt.as_tensor(array.values) for key, array in arrays.items()}
    parameters = Parameters(declared_parameters(model, data, graph, given))
    states, labels = model.generate(DATA_ADAPTERS[model.data_class].design(data, given), parameters)
    between = set(ancestors([labels], blockers=[states, *graph.free_RVs])) - {states, labels, *graph.free_RVs}
    drawn = [one for one in between if one.owner and isinstance(one.owner.op, RandomVariable) and one.type.ndim == 1]
    of_items = {one.name for one in drawn if len(one.eval(mode=BY_NUMPY)) == data.n_items}
    assert of_items == set(describe_process(model, data).numbers)


def test_plates_have_the_sizes_of_data():
    shown = [text.get_text() for text in ba.plot_plates("one_coin", DATA).axes[0].texts]
    assert {"item i = 1 ... 2", "annotator j = 1 ... 2"} <= set(shown)


def test_what_is_refused():
    with pytest.raises(ba.ModelError, match="nobody"):
        ba.plot_plates("nobody")
    with pytest.raises(ba.DataError, match="CountData"):
        ba.plot_plates("binomial_mixture", DATA)
