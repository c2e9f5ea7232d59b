"""Classes and responses are two coordinates: a label that annotators can give need not be one that items can have."""

import numpy as np
import pymc as pm
import pytest

from bayesanno import AnnotationData
from bayesanno.ground.errors import DataError
from bayesanno.modeling.posterior import recover
from bayesanno.models import MACE, EasyHard, HierarchicalDawidSkene, ModelA, ModelB
from tests.models.contract import FAST, Graph, as_posterior, close, said_of

RECORDS = [
    ("s1", "ada", "no"), ("s1", "bo", "unsure"), ("s2", "ada", "yes"), ("s2", "bo", "yes"), ("s2", "cy", "no"),
    ("s3", "cy", "unsure"), ("s4", "ada", "unsure"), ("s4", "bo", "no"), ("s4", "cy", "no"), ("s5", "bo", "yes"),
]  # fmt: skip


class WithUnsure(AnnotationData):
    """Annotators may say that they are unsure, which no item is."""

    @property
    def classes(self):
        return ("no", "yes")


DATA = WithUnsure.from_records(RECORDS, labels=["no", "unsure", "yes"])
CLASS_LABEL = (0, 2)  # the labels "no" and "yes"


def model_b_states(parameters, answers):
    joint = []
    for k in range(2):
        probability = parameters["prevalence"][k]
        for annotator, label in answers:
            probability *= parameters["confusion"][annotator, k, label]
        joint.append(probability)
    return joint


def mace_states(parameters, answers):
    joint = []
    for truth in CLASS_LABEL:
        probability = 0.5
        for annotator, label in answers:
            know = parameters["competence"][annotator]
            probability *= know * (label == truth) + (1 - know) * parameters["strategy"][annotator, label]
        joint.append(probability)
    return joint


REFERENCES = {
    "model_b": (ModelB(), model_b_states),
    "hierarchical_dawid_skene": (HierarchicalDawidSkene(), model_b_states),
    "mace": (MACE(class_prior="uniform"), mace_states),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_likelihood_and_posterior_are_those_of_two_classes_and_three_responses(name):
    model, states = REFERENCES[name]
    graph = Graph(model, DATA)
    drawn = pm.draw(graph.model.free_RVs, random_seed=1, mode=FAST)
    parameters = {variable.name: value for variable, value in zip(graph.model.free_RVs, drawn, strict=True)}
    joint = np.array([states(parameters, said_of(DATA, item)) for item in range(DATA.n_items)])  # (item, true_class)
    close(graph.item_logp(parameters), np.log(joint.sum(axis=1)))
    latent = recover(model, DATA, as_posterior(graph.model, [parameters])).latent
    assert latent["true_class"].values.tolist() == ["no", "yes"]
    close(latent["probability"], joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", REFERENCES)
def test_start_and_simulated_answers_have_their_sizes(name, rng):
    model, _ = REFERENCES[name]
    graph = Graph(model, DATA)
    start = model.start(DATA)
    assert {name: value.shape for name, value in start.items()} == {
        variable.name: tuple(variable.shape.eval(mode=FAST)) for variable in graph.model.free_RVs
    }
    assert np.isfinite(graph.item_logp(start)).all()
    held = pm.do(graph.model, start)
    answers = pm.draw(held["annotations"], draws=50, random_seed=rng, mode=FAST)
    assert set(np.unique(answers)) == {0, 1, 2}


def test_who_knows_always_names_the_class_and_is_never_unsure(rng):
    graph = Graph(MACE(class_prior="uniform"), DATA)
    knows = {"competence": np.ones(3), "strategy": np.full((3, 3), 1 / 3)}
    answers = pm.draw(pm.do(graph.model, knows)["annotations"], draws=20, random_seed=rng, mode=FAST)
    assert set(np.unique(answers)) == set(CLASS_LABEL)


def test_accuracy_of_a_confusion_matrix_is_how_often_the_class_is_named():
    confusion = np.array([[[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]] * 3)  # (annotator, true_class, response)
    graph = Graph(ModelB(), DATA).model
    given = {graph["prevalence"]: np.array([0.25, 0.75]), graph["confusion"]: confusion}
    close(graph["accuracy"].eval(given, mode=FAST), [0.25 * 0.7 + 0.75 * 0.4] * 3)


@pytest.mark.parametrize("model", [ModelA(frequency="shared"), EasyHard()], ids=["model_a", "easy_hard"])
def test_models_whose_labels_must_be_classes_refuse_others(model, refuses):
    with refuses(DataError, f"{model.name} takes each label for a class, and 1 of these are none: leave those out"):
        model.build(DATA)
