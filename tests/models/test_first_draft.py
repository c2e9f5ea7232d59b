"""A first draft of a model of one's own: parameters are declared by their shapes, and have no dims."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayesanno as ba
from bayesanno._core.fields import Positive
from bayesanno.modeling.base import AnnotationModel, name_dims
from tests.samples import tiny_data


@dataclass(frozen=True, kw_only=True)
class Draft(AnnotationModel):
    """One accuracy per annotator, as one would write it down first."""

    name: ClassVar[str] = "first_draft"

    accuracy_prior: tuple[Positive, Positive] = (4.0, 2.0)

    def priors(self, data, prior):
        accuracy = pm.Beta("accuracy", prior.accuracy_prior[0], prior.accuracy_prior[1], shape=data.n_annotators)
        pm.Dirichlet("prevalence", np.ones(data.n_classes))
        pm.Deterministic("odds", accuracy / (1 - accuracy))

    def generate(self, design, p):
        true_class = design.with_controls(pm.Categorical.dist(p.prevalence, shape=(design.n_items,)))
        truth, right = true_class[design.item], pm.Bernoulli.dist(p.accuracy[design.annotator])
        return true_class, pt.as_tensor(design.class_response)[pt.switch(right, truth, 1 - truth)]

    def state_logp(self, answers, p):
        right = p.accuracy[:, None, None]
        table = pt.log(pt.switch(answers.names_class.T, right, 1 - right))
        return pt.log(p.prevalence) + answers.sum_over_annotations(table)

    def start(self, data):
        return {"accuracy": np.full(data.n_annotators, 0.7), "prevalence": np.full(data.n_classes, 0.5)}


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")
def test_a_first_draft_just_works(tmp_path):
    data = tiny_data()
    made = ba.fit(Draft(), data, draws=20, tune=20, chains=2, random_seed=1, progressbar=False)
    ba.save(made, tmp_path / "fit.nc")
    fit = ba.load(tmp_path / "fit.nc")
    for name in ("accuracy", "odds"):
        assert fit["posterior"][name].dims == ("chain", "draw", f"{name}_dim_0")
        assert fit["posterior"][name][f"{name}_dim_0"].values.tolist() == list(range(data.n_annotators))
    np.testing.assert_array_equal(fit["posterior"]["accuracy"], made["posterior"]["accuracy"])
    assert {"accuracy[0]", "prevalence[1]", "odds[2]"} <= set(ba.summary(fit)["parameter"])
    assert ba.label_table(fit)["item"].tolist() == list(data.items)
    assert ba.predict_labels(fit, data)["item"].tolist() == list(data.items)


def test_lengths_that_only_the_graph_knows_are_computed():
    with pm.Model(coords={"annotator": ["a", "b"]}) as graph:
        length = pm.Data("length", 3)
        pm.Normal("habit", dims="annotator")
        pm.Normal("score", shape=(2, length))
    name_dims(graph)
    assert graph.named_vars_to_dims["habit"] == ("annotator",)
    assert graph.named_vars_to_dims["score"] == ("score_dim_0", "score_dim_1")
    assert [list(graph.coords[dim]) for dim in graph.named_vars_to_dims["score"]] == [[0, 1], [0, 1, 2]]
