"""Variational Bayes against Hovy et al. (2013), on the data of the paper's section 3, and against exact evidence.

The paper prints two digits. ELBOs, pseudo log likelihoods and competences come from an implementation written apart
from this one, which agrees with the authors' own program to 1e-8.
"""

import numpy as np
import pytest
from scipy.special import gammaln

import bayesanno as ba
from bayesanno.inference.em_vb.fixed_point import away_from_zero, iterate, iterate_from_all
from bayesanno.inference.em_vb.vb import VB, VBSettings
from bayesanno.modeling.expectation import make_blocks, read_items
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


@pytest.mark.parametrize(
    ("name", "log_likelihood", "elbo", "right", "written", "mean"),
    [
        (
            "rte", -3923.613922, -4218.867440, 741, [0.63651777, 0.79515789, 0.6917193, 0.85557427, 0.87543148],
            [0.64092704, 0.79540106, 0.69898641, 0.85583109, 0.87837158],
        ),
        (
            "wsd", -308.361058, -370.273547, 176, [0.99685048, 0.97273015, 0.93804126, 0.99278589, 0.97098991],
            [0.99685932, 0.97337408, 0.93854768, 0.99283203, 0.97111266],
        ),
    ],
)  # fmt: skip
def test_mace_on_the_data_of_its_paper(shared, name, log_likelihood, elbo, right, written, mean):
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


def test_the_fixed_points_of_temporal_are_told_apart_by_their_elbo(shared):
    """The other implementation found the two lower ones; which start leads where is chance, and the vote is no better.

    Plain steps stay at each of them.
    """
    data = ba.read_annotations(shared / "data" / "temp.csv")
    problem = problem_of(MACE, data, tolerance=1e-9, restarts=30)
    ends = iterate_from_all(problem, None, 1)
    expected = {
        -1572.477793: (-1379.096580, 435),
        -1572.594230: (-1379.415057, 435),
        -1572.769890: (-1379.585567, 436),
    }
    assert {round(end.objective, 4) for end in ends} == {round(elbo, 4) for elbo in expected}
    for elbo, (log_likelihood, right) in expected.items():
        end = next(end for end in ends if abs(end.objective - elbo) < 1e-4)
        assert end.log_likelihood == pytest.approx(log_likelihood, abs=1e-4)
        assert read(problem, data, end)[0] == right
        at = end.point
        for _ in range(20):
            value, _, at = problem.step(at)
        assert value == pytest.approx(elbo, abs=1e-5)


# ---------------------------------------------------------------------------------------------------- exact evidence


def log_integral(counts, prior):
    """The log of the integral of a product of shares, to the power of counts, over a Dirichlet; (..., share)."""
    total = counts + prior
    return (
        gammaln(total).sum(-1) - gammaln(total.sum(-1)) - gammaln(prior).sum(-1) + gammaln(prior.sum(-1))
    ).sum()  # fmt: skip


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
