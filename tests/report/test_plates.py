"""Plate diagrams: what they show is what the model's graph and process are."""

from __future__ import annotations

import pytest

import bayesanno as ba
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.process import describe_process
from bayesanno.modeling.registry import describe_models

DATA = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "bo", "no")])


ZOO = [row["name"] for row in describe_models()]


ANSWERS = "annotations"
OF_CLASS = {("prevalence", "true_class"), ("true_class", ANSWERS)}


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (
            ba.models.MACE(competence_prior="learnt", class_prior="uniform"),
            {("true_class", ANSWERS), ("competence", ANSWERS), ("strategy", ANSWERS)}
            | {(f"competence_{name}", "competence") for name in ("mean", "concentration")},
        ),
        (ba.models.LabelUsage(), {("habit", "usage"), ("usage", ANSWERS)}),  # no latent
        (
            ba.models.ItemDifficulty(form="2pl", habits=False),
            OF_CLASS | {(name, ANSWERS) for name in ("ability", "spread", "slope_spread", "difficulty", "slope")},
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
    assert set(describe_process(model, kind_of(model).make_smallest()).edges) == known


@pytest.mark.parametrize("name", ZOO)
def test_every_model_has_a_diagram_with_all_its_parameters(name):
    model = ba.get_model(name)
    process = describe_process(model, kind_of(model).make_smallest())
    (axes,) = ba.plot_plates(name).axes
    shown = {text.get_text().replace("\n", "") for text in axes.texts}
    scale = {"low", "high"} if name == "rating" else set()  # set only the priors of parameters
    assert {*process.dims, *process.numbers, *filter(None, [process.state])} - scale <= shown
    assert scale.isdisjoint(shown)
    assert (process.state != "") == (name not in ("label_usage", "rating"))
    assert ("summed out" in shown) == (name != "label_usage")
    assert ("from the data" in shown) == bool({*process.known} - scale)
    reaching, before = {process.answers}, set()
    while reaching != before:
        before, reaching = reaching, reaching | {parent for parent, child in process.edges if child in reaching}
    assert reaching == {*process.dims, *process.numbers, process.answers, *filter(None, [process.state])}


def test_what_is_of_annotators_is_on_their_plate():
    for name in ("rating", "pooled_dawid_skene", "binomial_mixture"):
        shown = {text.get_text().split(" ")[0].split("\n")[0] for text in ba.plot_plates(name).axes[0].texts}
        assert ("annotator" in shown) == (name != "binomial_mixture")


def test_plates_have_the_sizes_of_data_of_their_kind():
    shown = [text.get_text() for text in ba.plot_plates("one_coin", DATA).axes[0].texts]
    assert {"item i = 1 ... 2", "annotator j = 1 ... 2"} <= set(shown)
    with pytest.raises(ba.ModelError, match="nobody"):
        ba.plot_plates("nobody")
    with pytest.raises(ba.DataError, match="CountData"):
        ba.plot_plates("binomial_mixture", DATA)
