"""Classes and responses are two coordinates: a label that annotators can give need not be one that items can have."""

import numpy as np
import pymc as pm
import pytest

from bayesanno import AnnotationData
from bayesanno._core.messages import DataError
from bayesanno.inference.em_vb.em import EM, EMSettings
from bayesanno.modeling.expectation import expect, make_blocks, read_items, votes_of
from bayesanno.modeling.independent import ConjugateModel
from bayesanno.modeling.posterior import recover
from bayesanno.models import MACE, EasyHard, HierarchicalDawidSkene, ModelA, ModelB, PooledDawidSkene
from tests.models.designs import said_of
from tests.models.graphs import FAST, Graph, as_posterior, close
from tests.models.references import mace_states, model_b_states, pooled_states

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

STEP = 1e-6  # of central differences

RECORDS = [
    ("s1", "ada", "no"), ("s1", "bo", "unsure"), ("s2", "ada", "yes"), ("s2", "bo", "yes"), ("s2", "cy", "no"),
    ("s3", "cy", "unsure"), ("s4", "ada", "unsure"), ("s4", "bo", "no"), ("s4", "cy", "no"), ("s5", "bo", "yes"),
]  # fmt: skip


DATA = AnnotationData.from_records(RECORDS, labels=["no", "unsure", "yes"], unsure="unsure")
CLASS_LABEL = (0, 2)  # the labels "no" and "yes"


def mace_of_two(parameters, said):
    """Of three labels, two of which are classes."""
    return mace_states({**parameters, "prevalence": np.array([0.5, 0.0, 0.5])}, said)[list(CLASS_LABEL)]


REFERENCES = {
    "model_b": (ModelB(), model_b_states),
    "hierarchical_dawid_skene": (HierarchicalDawidSkene(), model_b_states),
    "pooled_dawid_skene": (PooledDawidSkene(), pooled_states),
    "mace": (MACE(class_prior="uniform"), mace_of_two),
}
WITH_UPDATES = [name for name, (model, _) in REFERENCES.items() if isinstance(model, ConjugateModel)]


@pytest.mark.parametrize("name", REFERENCES)
def test_likelihood_with_two_classes_and_three_responses(name):
    model, states = REFERENCES[name]
    graph = Graph(model, DATA)
    drawn = pm.draw(graph.model.free_RVs, random_seed=1, mode=FAST)
    parameters = {variable.name: value for variable, value in zip(graph.model.free_RVs, drawn, strict=True)}
    joint = np.array([states(parameters, said_of(DATA, item)) for item in range(DATA.n_items)])  # (item, true_class)
    close(graph.item_logp(parameters), np.log(joint.sum(axis=1)))
    latent = recover(model, DATA, as_posterior(graph.model, [parameters])).latent
    assert latent["true_class"].values.tolist() == ["no", "yes"]
    probability = joint / joint.sum(axis=1, keepdims=True)
    close(latent["probability"], probability)
    if name in WITH_UPDATES:
        problem = EM(model, DATA, make_blocks(DATA), EMSettings())
        of_em, log_likelihood = read_items(model, problem.items, problem.as_shares(parameters))
        close(log_likelihood, np.log(joint.sum(axis=1)))
        close(of_em, probability)


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


def test_accuracy_of_a_confusion_matrix_is_how_often_the_class_is_named():
    confusion = np.array([[[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]] * 3)  # (annotator, true_class, response)
    given = {"prevalence": np.array([0.25, 0.75]), "confusion": confusion}
    close(Graph(ModelB(), DATA).accuracy(given), [0.25 * 0.7 + 0.75 * 0.4] * 3)


@pytest.mark.parametrize("model", [ModelA(frequency="shared"), EasyHard()], ids=["model_a", "easy_hard"])
def test_models_whose_labels_must_be_classes_refuse_others(model, refuses):
    with refuses(DataError, f"{model.name} takes each label as a class, and 'unsure' is not one"):
        model.build(DATA)
    model.check(DATA.without_unsure())


# ------------------------------------------------------------------------------------------------- EM, VB and NUTS


def shares_of(model, rng):
    """Parameters drawn from the prior, as `concentrations` has them."""
    return {
        name: np.apply_along_axis(rng.dirichlet, -1, prior + 1) for name, prior in model.concentrations(DATA).items()
    }


@pytest.mark.parametrize("name", WITH_UPDATES)
def test_counts_are_slopes_of_the_likelihood(name, rng):
    """Each share a number of its own: what an M-step, and a step of variational Bayes, is made of."""
    model, _ = REFERENCES[name]
    items = make_blocks(DATA)
    shares = {key: values * 0.9 for key, values in shares_of(model, rng).items()}
    counts = model.expected_counts(shares, expect(model, items, shares), items.names_class)
    for key, values in shares.items():
        for cell in np.ndindex(values.shape):
            found = []
            for sign in (1, -1):
                moved = {one: value.copy() for one, value in shares.items()}
                moved[key][cell] *= np.exp(sign * STEP)
                found.append(expect(model, items, moved).log_likelihood)
            np.testing.assert_allclose(counts[key][cell], (found[0] - found[1]) / (2 * STEP), rtol=1e-5, atol=1e-5)


def test_an_unsure_answer_is_no_vote_where_chains_and_climbs_start():
    votes = votes_of(DATA)
    unsure = DATA.labels.index("unsure")
    assert votes.shares[unsure] == 0
    close(votes.shares[list(CLASS_LABEL)], DATA.class_shares.sum(axis=0))
    assert votes.given.sum() == DATA.n_annotations
    close(votes.agreed[1], 1 + 2 / 3 + 1)  # bo: s2, s4 (all but ada), s5; of s1 nothing


def test_an_unsure_label_leaves_the_prior_of_other_answers():
    """Of a Dirichlet vector, the shares among some of its cells have the concentrations of these cells."""
    model = ModelB(confusion_accuracy=0.7)
    ours, without = (model.concentrations(data)["confusion"] for data in (DATA, DATA.without_unsure()))
    close(ours[:, :, list(CLASS_LABEL)], without)
    assert ModelB(confusion_accuracy=0.5).is_exchangeable(DATA)
    assert not ModelB(confusion_accuracy=0.3333).is_exchangeable(DATA)
