"""Classes and responses are two coordinates: a label that annotators can give need not be one that items can have."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
from scipy.special import gammaln

import bayesanno as ba
from bayesanno import AnnotationData
from bayesanno._core.errors import DataError
from bayesanno.modeling.expectation import expect, make_blocks, read_items, votes_of
from bayesanno.modeling.independent import ConjugateModel
from bayesanno.modeling.posterior import recover
from bayesanno.models import MACE, EasyHard, HierarchicalDawidSkene, ModelA, ModelB, PooledDawidSkene
from tests.models.contract import FAST, Graph, as_posterior, close, said_of
from tests.samples import simulate_unsure

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

STEP = 1e-6  # of central differences

RECORDS = [
    ("s1", "ada", "no"), ("s1", "bo", "unsure"), ("s2", "ada", "yes"), ("s2", "bo", "yes"), ("s2", "cy", "no"),
    ("s3", "cy", "unsure"), ("s4", "ada", "unsure"), ("s4", "bo", "no"), ("s4", "cy", "no"), ("s5", "bo", "yes"),
]  # fmt: skip


DATA = AnnotationData.from_records(RECORDS, labels=["no", "unsure", "yes"], unsure="unsure")
CLASS_LABEL = (0, 2)  # the labels "no" and "yes"


def model_b_states(parameters, answers):
    joint = []
    for k in range(2):
        probability = parameters["prevalence"][k]
        for annotator, label in answers:
            probability *= parameters["confusion"][annotator, k, label]
        joint.append(probability)
    return joint


def pooled_states(parameters, answers):
    shared = np.broadcast_to(parameters["confusion"], (3, 2, 3))  # (annotator, true_class, response)
    return model_b_states({**parameters, "confusion": shared}, answers)


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
    "pooled_dawid_skene": (PooledDawidSkene(), pooled_states),
    "mace": (MACE(class_prior="uniform"), mace_states),
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
    with refuses(
        DataError, f"{model.name} takes each label as a class, and 'unsure' is not one: leave those answers out"
    ):
        model.build(DATA)
    model.check(DATA.without_unsure())


# ------------------------------------------------------------------------------------------------- EM, VB and NUTS


def shares_of(model, rng):
    """Parameters drawn from the prior, as `concentrations` has them."""
    return {
        name: np.apply_along_axis(rng.dirichlet, -1, prior + 1) for name, prior in model.concentrations(DATA).items()
    }


def as_parameters(shares):
    return {name: values[..., 0] if name == "competence" else values for name, values in shares.items()}


@pytest.mark.parametrize("name", WITH_UPDATES)
def test_e_step_is_that_of_two_classes_and_three_responses(name, rng):
    model, states = REFERENCES[name]
    items = make_blocks(DATA)
    shares = shares_of(model, rng)
    joint = np.array([states(as_parameters(shares), said_of(DATA, item)) for item in range(DATA.n_items)])
    posterior, log_likelihood = read_items(model, items, shares)
    close(log_likelihood, np.log(joint.sum(axis=1)))
    close(posterior, joint / joint.sum(axis=1, keepdims=True))


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


def log_rising(start, counts):
    """log of start (start + 1) ... : how a Dirichlet weighs counts, one after the other."""
    return gammaln(start + counts) - gammaln(start)


def exact_model_b(model):
    """Posterior means by enumeration: given the classes of all items, every parameter is Dirichlet."""
    prior = model.concentrations(DATA)
    found, total = {"prevalence": 0.0, "confusion": 0.0, "probability": 0.0}, 0.0
    for classes in product(range(2), repeat=DATA.n_items):
        of_item = np.array(classes)
        counts = {"prevalence": np.bincount(of_item, minlength=2), "confusion": np.zeros((3, 2, 3))}
        np.add.at(counts["confusion"], (DATA.annotator, of_item[DATA.item], DATA.label), 1)
        log_weight = sum(
            (log_rising(prior[key], n).sum(-1) - log_rising(prior[key].sum(-1), n.sum(-1))).sum()
            for key, n in counts.items()
        )
        weight = np.exp(log_weight)
        total += weight
        for key, n in counts.items():
            after = prior[key] + n
            found[key] = found[key] + weight * after / after.sum(-1, keepdims=True)
        found["probability"] = found["probability"] + weight * np.eye(2)[of_item]
    return {key: value / total for key, value in found.items()}


def exact_mace(model):
    """Posterior means by enumeration: given all classes and who knew, every parameter is Beta or Dirichlet."""
    prior = model.concentrations(DATA)
    spams = np.array(list(product([False, True], repeat=DATA.n_annotations)))  # (case, annotation)
    who, what = np.eye(3)[DATA.annotator], np.eye(3)[DATA.label]  # (annotation, annotator), (annotation, response)
    known, spammed = ~spams @ who, spams @ who  # (case, annotator)
    said = np.einsum("cn,na,nr->car", spams, who, what)  # (case, annotator, response)
    competence, strategy = prior["competence"], prior["strategy"]
    log_weight = (
        log_rising(competence[:, 0], known)
        + log_rising(competence[:, 1], spammed)
        - log_rising(competence.sum(-1), known + spammed)
        + log_rising(strategy, said).sum(-1)
        - log_rising(strategy.sum(-1), said.sum(-1))
    ).sum(-1)
    weight = np.exp(log_weight)  # (case,)
    found, total = {"competence": 0.0, "strategy": 0.0, "probability": 0.0}, 0.0
    for classes in product(range(2), repeat=DATA.n_items):
        truth = np.array(CLASS_LABEL)[list(classes)][DATA.item]  # (annotation,)
        possible = weight * (spams | (DATA.label == truth)).all(axis=1)
        total += possible.sum()
        found["competence"] += possible @ ((competence[:, 0] + known) / (competence.sum(-1) + known + spammed))
        after = strategy + said
        found["strategy"] += np.einsum("c,car->ar", possible, after / after.sum(-1, keepdims=True))
        found["probability"] = found["probability"] + possible.sum() * np.eye(2)[list(classes)]
    return {key: value / total for key, value in found.items()}


EXACT = {"model_b": exact_model_b, "mace": exact_mace}


@pytest.mark.parametrize("name", ["mace", "model_b"])
def test_weighed_draws_of_vb_have_the_exact_posterior(name):
    """Draws of the approximation, each by its density over that of the approximation: what is left is their error."""
    model, _ = REFERENCES[name]
    fit = ba.fit(model, DATA, method="vb", draws=20_000, random_seed=1, progressbar=False)
    log_ratio = fit["sample_stats"]["log_ratio"].values.ravel()
    weight = np.exp(log_ratio - log_ratio.max())
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > 1_000, "too few draws count"
    exact = EXACT[name](model)
    close(exact.pop("probability").sum(axis=1), 1.0)
    for key, value in exact.items():
        draws = fit["posterior"][key].values.reshape(-1, *value.shape)
        found = np.tensordot(weight, draws, axes=1)
        error = np.sqrt(np.tensordot(weight**2, (draws - found) ** 2, axes=1))
        assert (np.abs(found - value) < 5 * error).all(), key
    assert [name for name in ba.label_table(fit) if name.startswith("p[")] == ["p[no]", "p[yes]"]


# ------------------------------------------------------------------------------------------------ what it is worth


@pytest.fixture(scope="module")
def unsure_crowd():
    """Items of class "yes" are often hard; careful annotators then say that they are unsure, careless ones guess."""
    return simulate_unsure(np.random.default_rng(1))


# Variational Bayes, for its speed: it is far from the posterior of so many matrices, and says so.
FAR = pytest.mark.filterwarnings("ignore:pareto-k")


def log_score(data, model="model_b"):
    fit = ba.fit(model, data, method="vb", check=False, random_seed=1, progressbar=False)
    scores = ba.calibration_scores(fit, resamples=0).set_index("score")["value"]
    return scores["log_score"]


@FAR
def test_model_b_learns_what_unsure_answers_say_of_the_class(unsure_crowd):
    """They are said of hard items, which are of one class: left out, that evidence is lost."""
    assert log_score(unsure_crowd) > log_score(unsure_crowd.without_unsure()) + 0.1


def test_mace_takes_unsure_answers_for_spam_that_says_nothing_of_the_class(unsure_crowd):
    fit = ba.fit("mace", unsure_crowd, method="em", random_seed=1, progressbar=False, check=False)
    said = unsure_crowd.label == unsure_crowd.labels.index("unsure")
    assert said.any()
    np.testing.assert_allclose(fit["latent"]["spam"].values[said], 1.0)
    assert (fit["latent"]["spam"].values[~said] < 1).all()


def test_an_unsure_label_leaves_the_prior_of_other_answers():
    """Of a Dirichlet vector, the shares among some of its cells have the concentrations of these cells."""
    model = ModelB(confusion_accuracy=0.7)
    ours, without = (model.concentrations(data)["confusion"] for data in (DATA, DATA.without_unsure()))
    close(ours[:, :, list(CLASS_LABEL)], without)
    assert ModelB(confusion_accuracy=0.5).is_exchangeable(DATA)
    assert not ModelB(confusion_accuracy=0.3333).is_exchangeable(DATA)
