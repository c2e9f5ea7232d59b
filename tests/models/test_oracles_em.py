"""Model B and MACE against their papers, by EM: section 12 and (48), (50) to (52), and the data of MACE's section 3.

Sources: Rzhetsky, Shatkay and Wilbur (2009), supplement, Tables 9, 14 and 15; Hovy et al. (2013), section 2.1. Where a
paper prints fewer digits, or none, values come from an implementation written apart from this one.
"""

import itertools

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.inference.em_vb.em import EM, EMSettings
from bayesanno.inference.em_vb.fixed_point import iterate, iterate_from_all
from bayesanno.modeling.expectation import expect, make_blocks, read_items
from bayesanno.modeling.posterior import recover
from tests.models.graphs import as_posterior

MODEL_B = ba.models.ModelB()
MACE = ba.models.MACE(class_prior="uniform")  # as in the paper
QUICK = {"method": "em", "method_options": {"restarts": 1}, "check": False, "progressbar": False}


def problem_of(model, data, **settings):
    return EM(model, data, make_blocks(data), EMSettings(**settings))


# ------------------------------------------------------------------------------------------------------------ model B


def binary(gamma1, *lambdas):
    """Parameters from gamma_1 and lambda^x(2|1), lambda^x(1|2) of i, j and k, the columns of Tables 14 and 15."""
    confusion = [[[1 - a, a], [b, 1 - b]] for a, b in zip(lambdas[::2], lambdas[1::2], strict=True)]
    return {"prevalence": np.array([gamma1, 1 - gamma1]), "confusion": np.array(confusion)}


TRUTH14 = binary(0.7, 0.4, 0.2, 0.5, 0.45, 0.1, 0.1)  # section 12
CLOSED14 = binary(
    0.6059342155727985,
    *(0.3766839848416613, 0.23273144466063633),
    *(0.4948402429940034, 0.4547626969444034),
    *(0.0600502593839663, 0.21253378129163703),
)
CLOSED15 = binary(
    0.14969994746117526,
    *(0.2817659401623017, 0.28764010803857076),
    *(0.45967518494421505, 0.13126355013259683),
    *(0.40886498312386277, 0.687059958760271),
)


def test_table_13_exactly():
    """And eq. 37 for patterns 111 and 112."""
    patterns = list(itertools.product("12", repeat=3))
    data = ba.AnnotationData.from_records(
        ("".join(pattern), annotator, label)
        for pattern in patterns
        for annotator, label in zip("ijk", pattern, strict=True)
    )
    expected = [0.1917, 0.0453, 0.1923, 0.0507, 0.1368, 0.1112, 0.1392, 0.1328]
    found = recover(MODEL_B, data, as_posterior(MODEL_B.build(data), [TRUTH14]))
    np.testing.assert_allclose(np.exp(found.log_likelihood[0, 0]), expected, rtol=0, atol=1e-12)
    of_first = [0.7 * 0.6 * 0.5 * 0.9 / 0.1917, 0.7 * 0.6 * 0.5 * 0.1 / 0.0453]
    np.testing.assert_allclose(found.latent["probability"][:2, 0], of_first, rtol=1e-12)


def test_one_step_from_the_truth_of_table_14():
    problem = problem_of(MODEL_B, ba.read_annotations("@table14"))
    value, _, moved = problem.step(TRUTH14)
    assert value == pytest.approx(-19869.448612, abs=1e-6)
    np.testing.assert_allclose(moved["prevalence"], [0.6935986500807191, 0.3064013499192809], rtol=1e-12)
    expected = [
        [[0.5913322691273941, 0.4086677308726059], [0.1933827523921832, 0.8066172476078168]],
        [[0.5007595657846968, 0.4992404342153032], [0.45030428616935064, 0.5496957138306493]],
        [[0.8985015278699515, 0.10149847213004848], [0.0982389704936606, 0.9017610295063393]],
    ]
    np.testing.assert_allclose(moved["confusion"], expected, rtol=1e-12)
    assert problem.step(moved)[0] == pytest.approx(-19866.819499519923, abs=1e-7)


def test_the_smoothed_posterior_of_52():
    data = ba.AnnotationData.from_records(
        [(said, who, label) for said in ("111", "112") for who, label in zip("ijk", said, strict=True)]
    )
    items = make_blocks(data)
    leant = expect(MODEL_B, items, TRUTH14, epsilon=0.1)
    assert leant.classes[0] == pytest.approx(0.9945088468578401 + 0.6400231682594845, rel=1e-12)
    assert expect(MODEL_B, items, TRUTH14).classes[0] == pytest.approx(0.985915 + 0.463576, abs=1e-6)


@pytest.mark.parametrize(("name", "truth"), [("table14", CLOSED14), ("table15", CLOSED15)])
def test_tables_14_and_15_from_many_starts(name, truth):
    """Plain EM takes tens of thousands of steps here; every start must come to the maximum or its mirror image."""
    data = ba.read_annotations(f"@{name}")
    problem = problem_of(MODEL_B, data, tolerance=1e-9, restarts=10)
    highest = {"table14": -19866.653175345, "table15": -17633.090669554}[name]
    for end in iterate_from_all(problem, problem.as_shares(MODEL_B.start(data)), 1):
        assert end.objective == pytest.approx(highest, abs=1e-8)
        assert end.steps < 3_000
        mirrored = abs(end.point["prevalence"][0] - truth["prevalence"][0]) > 0.05
        swap = slice(None, None, -1 if mirrored else 1)
        np.testing.assert_allclose(end.point["prevalence"][swap], truth["prevalence"], atol=1e-5)
        np.testing.assert_allclose(end.point["confusion"][:, swap], truth["confusion"], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "leaning", "prevalence", "highest", "best"),
    [
        ("table9", -25677.344885, [0.084161, 0.301713, 0.614126], -25386.305184, [0.191036, 0.053565, 0.755398]),
        ("table15", -17754.010817, [0.402063, 0.597937], -17633.090670, [0.149701, 0.850299]),
    ],
)
def test_the_two_phases_of_52(name, leaning, prevalence, highest, best):
    """Phase one has a single fixed point, wherever it starts; from there phase two reaches the global maximum."""
    data = ba.read_annotations(f"@{name}")
    problem = problem_of(MODEL_B, data, tolerance=1e-9, restarts=3, epsilon=0.1)
    for end in iterate_from_all(problem, None, 2):
        assert end.leaning.objective == pytest.approx(leaning, abs=1e-6)
        np.testing.assert_allclose(end.leaning.point["prevalence"], prevalence, atol=1e-6)
        assert end.leaning.steps < 40
        assert end.objective == pytest.approx(highest, abs=1e-4)
        np.testing.assert_allclose(end.point["prevalence"], best, atol=1e-4)


@pytest.mark.filterwarnings("ignore:labels-against-vote")  # of whom two are hardly right
def test_the_preferred_names_of_56():
    data = ba.read_annotations("@table14")
    problem = problem_of(MODEL_B, data)
    swapped = {"prevalence": CLOSED14["prevalence"][::-1], "confusion": CLOSED14["confusion"][:, ::-1]}
    for start in (CLOSED14, swapped):
        fit = ba.fit(MODEL_B, data, initvals=start, **QUICK)
        found = fit["posterior"].isel(chain=0, draw=0)
        np.testing.assert_allclose(found["prevalence"], CLOSED14["prevalence"], atol=1e-5)
        np.testing.assert_allclose(found["accuracy"], [0.680043, 0.520953, 0.879861], atol=1e-5)
        read, _ = read_items(MODEL_B, problem.items, {name: found[name].values for name in CLOSED14})
        np.testing.assert_allclose(fit["latent"]["probability"], read, atol=1e-12)
    as_started = ba.fit(MODEL_B, data, initvals=swapped, relabel=False, **QUICK)
    np.testing.assert_allclose(as_started["posterior"]["prevalence"][0, 0], swapped["prevalence"], atol=1e-5)


# --------------------------------------------------------------------------------------------------------------- MACE


@pytest.mark.parametrize(
    ("name", "smoothing", "log_likelihood", "right", "competence", "mean"),
    [
        ("rte", 0.01, -3681.1632417540013, 743, [0.63649, 0.797744, 0.706561, 0.868973, 0.908526], 0.6953136722),
        ("temp", 0.01, -1259.2830887408595, 435, [0.998911, 0.911457, 0.998911, 3e-05, 0.998911], 0.7050990372),
        ("wsd", 0.1, -272.97132824991536, 176, [0.999696, 0.997036, 0.605707, 0.999264, 0.981577], 0.9615876653),
    ],
)
def test_mace_on_the_data_of_its_paper(shared, name, smoothing, log_likelihood, right, competence, mean):
    data = ba.read_annotations(shared / "data" / f"{name}.csv")
    problem = problem_of(MACE, data, smoothing=smoothing, tolerance=1e-9)
    end = iterate(problem, problem.as_shares(MACE.start(data)))
    assert end.log_likelihood == pytest.approx(log_likelihood, abs=1e-4)
    posterior, _ = read_items(MACE, problem.items, end.point)
    assert (posterior.argmax(axis=1) == data.gold_codes).sum() == right
    found = end.point["competence"][:, 0]
    by_name = dict(zip(data.annotators, found, strict=True))
    np.testing.assert_allclose([by_name[f"a{number:04d}"] for number in range(5)], competence, atol=1e-4)
    assert found.mean() == pytest.approx(mean, abs=1e-4)


def test_table_2_of_the_paper(shared):
    data = ba.read_annotations(shared / "data" / "rte.csv")
    fit = ba.fit(MACE, data, method="em", check=False, random_seed=1, progressbar=False)
    table = ba.coverage_table(fit, [0.75, 0.9, 1]).set_index("coverage")
    assert table["accuracy"].round(3).to_dict() == {0.75: 0.977, 0.9: 0.957, 1.0: 0.928}
    assert ba.majority_vote(data)["right"].mean() == pytest.approx(0.896875)  # ties split at random, exactly
