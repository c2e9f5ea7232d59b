"""Variational Bayes against Hovy et al. (2013), on the data of the paper's section 3, and against exact evidence.

The paper prints two digits. ELBOs, pseudo log likelihoods and competences come from an implementation written apart
from this one, which agrees with the authors' own program to 1e-8.
"""

from itertools import product

import numpy as np
import pytest
from scipy.special import entr, gammaln, logsumexp

import bayesanno as ba
from bayesanno.inference.em_vb.fixed_point import away_from_zero, iterate, iterate_from_all
from bayesanno.inference.em_vb.vb import VB, VBSettings
from bayesanno.modeling.expectation import make_blocks, read_items
from tests.inference.exact import exact_posterior
from tests.samples import tiny_data

MACE = ba.models.MACE(class_prior="uniform")  # as in the paper


def problem_of(model, data, **settings):
    return VB(model, data, make_blocks(data), VBSettings(**settings))


def from_vote(problem, data):
    start = problem.as_shares(problem.model.start(data))
    return iterate(problem, {name: away_from_zero(values) for name, values in start.items()})


def read(problem, data, end):
    """How many labels are right, and the posterior means of the competences."""
    posterior, _ = read_items(problem.model, problem.items, problem.e_step_shares(end.point))
    right = int((posterior.argmax(axis=1) == data.gold_codes).sum())
    return right, problem.mean_shares(end.point)["competence"][:, 0]


def at_coverage(problem, data, end):
    """Accuracy of the surest items, and how many these are, by the rule of the authors' program: ties are kept."""
    posterior, _ = read_items(problem.model, problem.items, problem.e_step_shares(end.point))
    entropy, right = entr(posterior).sum(axis=1), posterior.argmax(axis=1) == data.gold_codes
    kept = [entropy <= np.sort(entropy)[int(share * data.n_items)] * (1 + 1e-6) for share in (0.9, 0.75)]
    return [(right[surest].mean().round(6), surest.sum()) for surest in kept]


def pearson(data, competence):
    """With how often annotators are right, as in the paper's Table 1."""
    right = data.label == data.gold_codes[data.item]
    return np.corrcoef(competence, np.bincount(data.annotator, weights=right) / np.bincount(data.annotator))[0, 1]


@pytest.mark.parametrize(
    ("name", "log_likelihood", "elbo", "right", "written", "mean", "correlation"),
    [
        (
            "rte", -3923.613922, -4218.867440, 741, [0.63651777, 0.79515789, 0.6917193, 0.85557427, 0.87543148],
            [0.64092704, 0.79540106, 0.69898641, 0.85583109, 0.87837158], 0.9057036,
        ),
        (
            "wsd", -308.361058, -370.273547, 176, [0.99685048, 0.97273015, 0.93804126, 0.99278589, 0.97098991],
            [0.99685932, 0.97337408, 0.93854768, 0.99283203, 0.97111266], 0.8989464,
        ),
    ],
)  # fmt: skip
def test_mace_on_the_data_of_its_paper(shared, name, log_likelihood, elbo, right, written, mean, correlation):
    data = ba.read_annotations(shared / "data" / f"{name}.csv")
    problem = problem_of(MACE, data, tolerance=1e-9)
    end = from_vote(problem, data)
    assert end.log_likelihood == pytest.approx(log_likelihood, abs=1e-5)
    assert end.objective == pytest.approx(elbo, abs=1e-5)
    found, competence = read(problem, data, end)
    assert found == right
    first = [data.annotators.index(f"a{number:04d}") for number in range(5)]
    know = problem.e_step_shares(end.point)["competence"][:, 0]  # what the authors' program writes: exp(E log share)
    np.testing.assert_allclose(know[first], written, atol=1e-6)
    np.testing.assert_allclose(competence[first], mean, atol=1e-6)
    assert pearson(data, competence) == pytest.approx(correlation, abs=1e-6)
    surest = {"rte": [(0.959778, 721), (0.976705, 601)], "wsd": [(1.0, 162), (1.0, 141)]}  # Table 2: .96, .97; 1, 1
    assert at_coverage(problem, data, end) == surest[name]


def test_the_fixed_points_of_temporal_are_told_apart_by_their_elbo(shared):
    """The other implementation found the two lower ones; which start leads where is chance, and the vote is no better.

    Plain steps stay at each of them.
    """
    data = ba.read_annotations(shared / "data" / "temp.csv")
    problem = problem_of(MACE, data, tolerance=1e-9, restarts=30)
    ends = iterate_from_all(problem, None, 1)
    expected = {
        -1572.477793: (-1379.096580, 435, 0.8974869),
        -1572.594230: (-1379.415057, 435, 0.8998055),
        -1572.769890: (-1379.585567, 436, 0.9091081),
    }
    assert {round(end.objective, 4) for end in ends} == {round(elbo, 4) for elbo in expected}
    for elbo, (log_likelihood, right, correlation) in expected.items():
        end = next(end for end in ends if abs(end.objective - elbo) < 1e-4)
        assert end.log_likelihood == pytest.approx(log_likelihood, abs=1e-4)
        found, competence = read(problem, data, end)
        assert found == right
        assert pearson(data, competence) == pytest.approx(correlation, abs=1e-5)
        assert at_coverage(problem, data, end)[0] == (0.96875, 416)  # Table 2: .97
        at = end.point
        for _ in range(100):
            value, _, at = problem.step(at)
        assert value == pytest.approx(elbo, abs=1e-5)


# ---------------------------------------------------------------------------------------------------- exact evidence


def log_integral(counts, prior):
    """The log of the integral of a product of shares, to the power of counts, over a Dirichlet; (..., share)."""
    total = counts + prior
    return (
        gammaln(total).sum(-1) - gammaln(total.sum(-1)) - gammaln(prior).sum(-1) + gammaln(prior.sum(-1))
    ).sum()  # fmt: skip


def enumerate_mace(model, data):
    """The exact log evidence, and the posterior means of competences: the sum over every truth, and every who spams."""
    prior = model.concentrations(data)
    logs, means = [], []
    for truth in product(range(data.n_classes), repeat=data.n_items):
        right = np.array(truth)[data.item] == data.label
        for spams in product([False, True], repeat=data.n_annotations):
            spam = np.array(spams)
            if not (right | spam).all():
                continue
            pair = np.stack([np.bincount(data.annotator[at], minlength=data.n_annotators) for at in (~spam, spam)], -1)
            said = np.zeros((data.n_annotators, data.n_labels))
            np.add.at(said, (data.annotator[spam], data.label[spam]), 1)
            log = log_integral(pair, prior["competence"]) + log_integral(said, prior["strategy"])
            if "prevalence" in prior:
                log += log_integral(np.bincount(truth, minlength=data.n_classes), prior["prevalence"])
            else:
                log -= data.n_items * np.log(data.n_classes)
            logs.append(log)
            own = pair + prior["competence"]
            means.append(own[:, 0] / own.sum(axis=1))
    evidence = logsumexp(logs)
    return evidence, np.exp(np.array(logs) - evidence) @ np.array(means)


def small(**answers):
    return ba.AnnotationData.from_records(
        [(item, who, said) for item, each in answers.items() for who, said in zip("xyz", each, strict=False)]
    )


@pytest.mark.parametrize(
    ("model", "lost"),
    [(MACE, 2.2), (ba.models.MACE(), 2.2), (ba.models.MACE(competence_prior=(3.0, 1.0)), 1.0)],
)
def test_the_elbo_is_below_the_evidence_of_mace(model, lost):
    """A prior that favours the extremes is what independence costs most: there are several modes on so few data."""
    data = small(s1="aab", s2="bbb", s3="ab")
    evidence, competence = enumerate_mace(model, data)
    problem = problem_of(model, data, restarts=5)
    best = max(iterate_from_all(problem, None, 1), key=lambda end: end.objective)
    assert evidence - lost < best.objective < evidence
    assert problem.step(problem.begin(problem.draw(np.random.default_rng(1))).point).objective < evidence
    np.testing.assert_allclose(problem.mean_shares(best.point)["competence"][:, 0], competence, atol=0.15)


def test_the_elbo_is_the_evidence_where_everything_is_known():
    """With all classes given, q(latents) is a point in model B, so that nothing is lost."""
    known = dict(zip(("s1", "s2", "s3", "s4", "s5", "s6"), ("yes", "no", "yes", "no", "yes", "no"), strict=True))
    data = tiny_data(controls=known)
    model = ba.models.ModelB()
    problem = problem_of(model, data)
    truth = data.control_codes
    counts = np.zeros((data.n_annotators, 2, 2))
    np.add.at(counts, (data.annotator, truth[data.item], data.label), 1)
    evidence = log_integral(np.bincount(truth), problem.prior["prevalence"])
    evidence += log_integral(counts, problem.prior["confusion"])
    end = from_vote(problem, data)
    assert end.objective == pytest.approx(evidence, rel=1e-12)
    np.testing.assert_allclose(end.point["confusion"], problem.prior["confusion"] + counts)


@pytest.mark.parametrize("errors", ["uniform", "prevalence"])
def test_the_elbo_is_below_the_evidence_of_one_coin(errors):
    """Errors by prevalence need numbers of classes drawn and put back as latents too: a bound all the same."""
    data = small(s1="aab", s2="bbc", s3="ab")
    model = ba.models.OneCoin(errors=errors)
    grid = (np.arange(400) + 0.5) / 400
    first, second = (values.ravel() for values in np.meshgrid(grid, grid))
    inside = first + second < 1
    gamma = np.stack([first, second, 1 - first - second])[:, inside]  # (true_class, point)
    weight = gamma.prod(axis=0) ** (model.prevalence_prior - 1)
    weight /= weight.sum()
    evidence = 0.0
    for truth in product(range(3), repeat=3):
        of = np.array(truth)[data.item]  # (annotation,)
        right = of == data.label
        pair = np.stack([np.bincount(data.annotator[at], minlength=3) for at in (right, ~right)], axis=-1)
        p = gamma[list(truth)].prod(axis=0)
        for true, said in zip(of[~right], data.label[~right], strict=True):
            p = p * (gamma[said] / (1 - gamma[true]) if errors == "prevalence" else 0.5)
        evidence += np.exp(log_integral(pair, np.array(model.accuracy_prior) + np.zeros((3, 2)))) * (weight @ p)
    problem = problem_of(model, data)
    best = max(iterate_from_all(problem, None, 1), key=lambda end: end.objective)
    assert np.log(evidence) - 1.0 < best.objective < np.log(evidence) - 0.01


def test_against_the_exact_posterior_of_model_b():
    """Means are close, but q is narrower than the posterior, and surer of every label: independence costs that."""
    data = tiny_data()
    exact = exact_posterior(data)
    problem = problem_of(ba.models.ModelB(), data)
    end = from_vote(problem, data)
    mean = problem.mean_shares(end.point)
    np.testing.assert_allclose(mean["prevalence"], exact.prevalence, atol=0.01)
    np.testing.assert_allclose(mean["confusion"], exact.confusion, atol=0.02)
    for name, sd in (("prevalence", exact.prevalence_sd), ("confusion", exact.confusion_sd)):
        own = np.sqrt(mean[name] * (1 - mean[name]) / (end.point[name].sum(axis=-1, keepdims=True) + 1))
        assert (own < sd).all()
        assert (own > 0.75 * sd).all()
    posterior, _ = read_items(problem.model, problem.items, problem.e_step_shares(end.point))
    assert (posterior.argmax(axis=1) == exact.probability.argmax(axis=1)).all()
    assert (posterior.max(axis=1) > exact.probability.max(axis=1)).all()
