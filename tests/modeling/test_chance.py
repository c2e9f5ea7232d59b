"""How far annotators are above chance, in each model: from parameters that are given, without a fit."""

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.modeling.registry import list_models
from tests.samples import tabulate

K = 3
PREVALENCE = np.array([0.7, 0.2, 0.1])
COIN, ALWAYS, PERFECT = np.full((K, K), 1 / K), np.tile([1.0, 0, 0], (K, 1)), np.eye(K)
TURNED = np.roll(np.eye(K), 1, axis=1)  # each class has the label of the next


@pytest.fixture(scope="module")
def data():
    return tabulate([0, 1, 2, 0], [[0, 1, 2, 0]] * 4, labels=("a", "b", "c"))


def posterior(data, **values):
    """A posterior of one draw; the last dims of each variable are given by its shape and its name."""
    dims = {
        "confusion": ("annotator", "true_class", "response"), "prevalence": ("true_class",),
        "class_accuracy": ("annotator", "true_class"), "habit": ("annotator", "response"),
    }  # fmt: skip
    variables = {
        name: (("chain", "draw", *dims.get(name, ("annotator",))), np.asarray(value, dtype=float)[None, None])
        for name, value in values.items()
    }
    names = {"annotator": list(data.annotators), "true_class": list(data.classes), "response": list(data.labels)}
    used = {dim for of, _ in variables.values() for dim in of}
    return xr.Dataset(variables, coords={dim: of for dim, of in names.items() if dim in used})


def above(model, data, **values):
    found = ba.get_model(model).above_chance(posterior(data, **values), data)
    assert set(found.dims) == {"chain", "draw", "annotator"}
    return found.transpose("chain", "draw", "annotator").values[0, 0]


def by_matrix(model, data, matrices, prevalence=PREVALENCE):
    matrices = np.array(matrices)
    right = np.einsum("k,jkk->j", prevalence, matrices[:, :, data.class_codes])
    return above(model, data, confusion=matrices, prevalence=prevalence, accuracy=right)


@pytest.mark.parametrize("model", ["model_b", "hierarchical_dawid_skene"])
def test_equal_rows_are_at_chance_and_a_perfect_annotator_is_at_1(model, data):
    found = by_matrix(model, data, [COIN, ALWAYS, PERFECT, TURNED])
    np.testing.assert_allclose(found, [0, 0, 1, -0.5], atol=1e-12)  # .23 are right by chance, of .46 that could be more


def test_it_is_the_slope_of_answers_on_the_truth(data, rng):
    """Covariances of saying k and of being k, and variances of being k, added up over k."""
    matrices = rng.dirichlet(np.ones(K), size=(4, K))
    together = PREVALENCE * np.diagonal(matrices, axis1=1, axis2=2)  # (annotator, k): said k and is k
    covariance = together - (PREVALENCE @ matrices) * PREVALENCE
    expected = covariance.sum(axis=1) / (PREVALENCE * (1 - PREVALENCE)).sum()
    np.testing.assert_allclose(by_matrix("model_b", data, matrices), expected)


def test_a_label_that_is_no_class_is_no_knowledge():
    records = [("i1", name, label) for name in "wxyz" for label in ("no", "yes", "unsure")]
    unsure = ba.AnnotationData.from_records(records, unsure="unsure")
    assert unsure.labels == ("no", "yes", "unsure")
    never, half, either = [[0, 0, 1]] * 2, [[0.5, 0, 0.5], [0, 0.5, 0.5]], [[0.3, 0.3, 0.4]] * 2
    found = by_matrix("model_b", unsure, [never, half, either, np.eye(2, 3)], np.array([0.8, 0.2]))
    np.testing.assert_allclose(found, [0, 0.5, 0, 1], atol=1e-12)


def test_accuracies_of_classes_are_their_confusion_matrix(data, rng):
    right = rng.uniform(0.1, 0.9, size=(4, K))
    matrices = np.where(np.eye(K, dtype=bool), right[:, :, None], (1 - right[:, :, None]) / (K - 1))
    values = {"class_accuracy": right, "prevalence": PREVALENCE, "accuracy": right @ PREVALENCE}
    expected = by_matrix("model_b", data, matrices)
    np.testing.assert_allclose(above("class_conditional", data, **values), expected, atol=1e-12)


def test_the_matrix_of_mace_has_its_competence(data, rng):
    know, habit = np.array([0, 0.3, 0.8, 1]), rng.dirichlet(np.ones(K), size=4)
    matrices = know[:, None, None] * np.eye(K) + (1 - know)[:, None, None] * habit[:, None]
    np.testing.assert_allclose(by_matrix("model_b", data, matrices), know, atol=1e-12)
    assert above("mace", data, competence=know).tolist() == know.tolist()


@pytest.mark.parametrize("model", ["one_coin", "model_a"])
def test_one_accuracy_is_at_chance_at_one_in_so_many_labels(model, data):
    np.testing.assert_allclose(above(model, data, accuracy=[1 / 3, 0, 0.6, 1]), [0, -0.5, 0.4, 1])


def test_an_ability_counts_on_an_average_item_and_with_habits(data):
    """An annotator who always gives the label of a strong habit passes nothing on, even with some ability."""
    for model, at_chance in (
        (ba.models.ItemDifficulty(), 0.0),
        (ba.models.ItemDifficulty(form="1pl"), -np.log(K - 1)),
        (ba.models.SharedErrors(), -np.log(K - 1)),
    ):
        ability = np.array([0, 50, 1, 1]) + at_chance
        values = {"ability": ability, "prevalence": np.full(K, 1 / K), "habit": np.zeros((4, K))}
        values["habit"][3] = [20, -10, -10]
        one = (np.e - 1) / (np.e + K - 1)  # the accuracy is e / (e + K - 1)
        np.testing.assert_allclose(above(model, data, **values), [0, 1, one, 0], atol=1e-6)
    del values["habit"]
    assert above(ba.models.ItemDifficulty(form="1pl", habits=False), data, **values)[2] == pytest.approx(one)


def test_graders_and_models_without_annotators_have_no_chance(data):
    for name in list_models()["name"]:
        model = ba.get_model(name)
        if model.competence is None or name == "ordinal_dawid_skene":
            assert model.above_chance(xr.Dataset({"severity": 0.0}), data) is None
