"""Plate diagrams: what they show is what the model's graph and process are."""

from __future__ import annotations

import pytest

import bayesanno as ba
from bayesanno.modeling.process import describe_process
from bayesanno.modeling.registry import describe_models
from bayesanno.report.plots.plates import _smallest

DATA = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "bo", "no")])


def edges(model):
    return set(describe_process(model, _smallest(model)).edges)


def test_what_depends_on_what_in_mace():
    assert edges(ba.models.MACE()) == {
        ("prevalence", "true_class"),
        ("true_class", "annotations"),
        ("competence", "annotations"),
        ("strategy", "annotations"),
    }
    learnt = edges(ba.models.MACE(competence_prior="learnt", class_prior="uniform"))
    assert {("competence_mean", "competence"), ("competence_concentration", "competence")} < learnt
    assert not any(parent == "prevalence" for parent, _ in learnt)


def test_a_population_is_above_its_annotators():
    found = edges(ba.models.HierarchicalDawidSkene())
    assert {("population", "confusion"), ("spread", "confusion"), ("confusion", "annotations")} < found
    assert ("population", "annotations") not in found  # but by way of the confusion


@pytest.mark.parametrize("name", [row["name"] for row in describe_models()])
def test_every_model_has_a_diagram_with_all_its_parameters(name):
    model = ba.get_model(name)
    process = describe_process(model, _smallest(model))
    (axes,) = ba.plot_plates(name).axes
    shown = {text.get_text().replace("\n", "") for text in axes.texts}
    assert {*process.dims, process.state} <= shown
    reached = {child for _, child in process.edges}
    assert {process.state, process.answers} & reached == (
        {process.answers} if name == "label_usage" else {process.state, process.answers}
    )
    low, high = axes.get_ylim()
    assert all(low < text.get_position()[1] < high for text in axes.texts)


def test_plates_have_the_sizes_of_data():
    shown = [text.get_text() for text in ba.plot_plates("one_coin", DATA).axes[0].texts]
    assert {"item i = 1 ... 2", "annotator j = 1 ... 2"} <= set(shown)


def test_what_is_refused():
    with pytest.raises(ba.ModelError, match="nobody"):
        ba.plot_plates("nobody")
    with pytest.raises(ba.DataError, match="CountData"):
        ba.plot_plates("binomial_mixture", DATA)
