"""Modes: the tables of Rzhetsky et al. (2008) as corrected, boundaries, levels, unbounded directions, bad input."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno import AnnotationData, CountData
from bayesanno.ground.errors import DataError, FitError, ModelError
from bayesanno.inference.maximise import Region, climb, find_better, polish
from bayesanno.inference.mode_starts import choose_mode_starts, oppose
from bayesanno.inference.surface import Surface
from bayesanno.models.binomial_mixture import BinomialMixture
from bayesanno.models.model_a import ModelA
from bayesanno.models.model_b import ModelB
from tests.models import oracles_model_a as oracle
from tests.samples import TINY_RECORDS

VALUE, PLACE = 1e-5, 1e-5  # the oracles have six decimals; a square root of an error in value is one in place
EXACT = 1e-6
SRTE = (5, 25, 90, 105, 103, 65, 62, 59, 108, 105, 73)  # items with 0, 1, ..., 10 positive answers (table of ORACLES)


def find(model, data, starts=60, **settings):
    return ba.find_modes(model, data, starts=starts, random_seed=1, progressbar=False, **settings)


def columns(table, name):
    """The values of a parameter in each mode, (mode, element), in the order of the table's columns."""
    return table[[column for column in table if column.partition("[")[0] == name]].to_numpy()


@pytest.fixture(scope="module")
def table9():
    return ba.read_annotations("@table9")


# ---------------------------------------------------------------------------------------- model A: tables 10 and 16


@pytest.mark.parametrize(
    ("objective", "expected"), [("map", oracle.TABLE10_MODES), ("ml", oracle.TABLE10_LIKELIHOOD_MODES)]
)
def test_table_10_has_five_modes(table9, objective, expected):
    modes = find("model_a", table9, starts=200, objective=objective)
    np.testing.assert_allclose(modes["objective"], [value for _, value in expected], rtol=0, atol=EXACT)
    np.testing.assert_allclose(columns(modes, "accuracy"), [theta for theta, _ in expected], rtol=0, atol=EXACT)
    assert modes["maximum"].all()
    assert (modes["flat"] == 0).all()
    assert modes["boundary"].tolist() == ["", *(f"accuracy[{who}] = 1" for who in "jik"), ""]
    assert (columns(modes, "accuracy")[1:4].max(axis=1) == 1).all()  # exactly
    assert modes["visits"].sum() == 200
    assert (modes.attrs["n_modes"], modes.attrs["n_distinct"], modes.attrs["unbounded"]) == (5, 5, {})


@pytest.mark.parametrize("omega", oracle.UNNORMALISED_MODES, ids=["pooled", "true"])
def test_modes_under_the_alphas_and_frequencies_of_the_data(table9, omega):
    """Frequencies that are not the pooled ones are no option of the model: they are set in its graph."""
    import pymc as pm

    model = ModelA(alpha="unnormalised")
    graph = model.build(table9)
    pm.set_data({"frequency": np.array(omega)}, graph)
    surface = Surface(graph, "ml")
    rng = np.random.default_rng(1)
    starts = choose_mode_starts(model, table9, graph, surface, 40, rng)
    ends = [polish(surface, surface.region, climb(surface, surface.region, start)) for start in starts]
    inside = {round(end.value, 6): end.point[::2] for end in ends if (end.point > 0).all()}
    expected = oracle.UNNORMALISED_MODES[omega]
    np.testing.assert_allclose(sorted(inside, reverse=True), [value for _, value in expected], rtol=0, atol=2e-6)
    for (theta, _), value in zip(expected, sorted(inside, reverse=True), strict=True):
        np.testing.assert_allclose(inside[value], theta, rtol=0, atol=EXACT)


def test_two_labels_have_two_modes_that_are_mirrored():
    data = ba.read_annotations("@table15")
    likelihood, posterior = find("model_a", data), find("model_a", data, objective="map")
    for modes, rows in ((likelihood, oracle.TABLE16[:2]), (posterior, oracle.TABLE16[2:])):
        prior = [np.log(2 * np.array(row.theta)).sum() if row.prior else 0.0 for row in rows]
        values = [row.answers if not row.prior else row.answers for row in rows]
        assert len(prior) == len(modes) == 2
        np.testing.assert_allclose(modes["objective"], values, rtol=0, atol=2 * EXACT)
        np.testing.assert_allclose(columns(modes, "accuracy"), [row.theta for row in rows], rtol=0, atol=EXACT)
    assert likelihood["same_as"].fillna(0).tolist() == [0, 1]  # every item is as likely in the one as in the other
    assert posterior["same_as"].isna().all()  # they differ in the last digits of theta


def test_table_16_is_what_its_program_maximised():
    """Its own objective: the patterns alone, and the prior of k at theta_j."""
    same = np.array([2290, 4068, 2094, 1548])  # all agree, k is alone, j is alone, i is alone

    def printed(z):
        right = np.stack([z[::2], z[1::2]])  # (right or wrong, annotator)
        value, gradient = np.log(2 * z[0]) + 2 * np.log(2 * z[2]), np.zeros(6)
        gradient[[0, 2]] = 1 / z[0], 2 / z[2]
        for n, alone in zip(same, ([0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]), strict=True):
            ways = [right[alone, range(3)], right[1 - np.array(alone), range(3)]]
            p = sum(way.prod() for way in ways)
            value += n * np.log(p)
            for way, which in zip(ways, (np.array(alone), 1 - np.array(alone)), strict=True):
                gradient[2 * np.arange(3) + which] += n / p * way.prod() / way
        return value, gradient

    region, rng = Region((2, 2, 2)), np.random.default_rng(1)
    ends = [polish(printed, region, climb(printed, region, region.draw(rng))) for _ in range(20)]
    best = {round(end.value, 6): end.point[::2] for end in ends}
    assert sorted(best) == sorted(value for _, value in oracle.TABLE16_PRINTED)
    for theta, value in oracle.TABLE16_PRINTED:
        np.testing.assert_allclose(best[value], theta, rtol=0, atol=EXACT)


# ------------------------------------------------------------------------------------ model B: tables 11, 14 and 15

CLOSED = {  # prevalence of the first class, then lambda(2|1), lambda(1|2) of i, j and k, from moments
    "@table14": (-19866.653175345, .605934216, .376683985, .232731445, .494840243, .454762697, .060050259, .212533781),
    "@table15": (-17633.090669554, .149699947, .281765940, .287640108, .459675185, .131263550, .408864983, .687059959),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_tables_14_and_15_have_one_maximum_under_two_names(name):
    modes = find("model_b", ba.read_annotations(name))
    value, gamma, *lambdas = CLOSED[name]
    assert len(modes) == 2
    np.testing.assert_allclose(modes["objective"], value, rtol=0, atol=1e-8)
    np.testing.assert_allclose(columns(modes, "prevalence")[0], [gamma, 1 - gamma], rtol=0, atol=EXACT)
    confusion = columns(modes, "confusion").reshape(2, 3, 2, 2)  # (mode, annotator, true_class, response)
    off_diagonal = confusion[0][:, [0, 1], [1, 0]].ravel()
    np.testing.assert_allclose(off_diagonal, lambdas, rtol=0, atol=EXACT)
    np.testing.assert_allclose(confusion[1], confusion[0][:, ::-1], rtol=0, atol=EXACT)  # the names have changed places
    assert modes["same_as"].fillna(0).tolist() == [0, 1]
    assert (modes.attrs["n_modes"], modes.attrs["n_distinct"]) == (2, 1)
    assert modes["maximum"].all()
    assert columns(modes, "accuracy")[0].mean() > columns(modes, "accuracy")[1].mean()


def test_table_11_as_it_is(table9):
    """Three maxima, each under six names; what lies between them are stalls at parameters that underflowed."""
    modes = find("model_b", table9, starts=200)
    first = modes[modes["same_as"].isna()]
    np.testing.assert_allclose(first["objective"], [-25386.305183, -25440.347225, -25505.044535], rtol=0, atol=EXACT)
    assert modes["maximum"].all()
    assert (modes["flat"] == 0).all()
    assert modes.attrs["n_distinct"] == 3
    assert (modes.groupby(modes["same_as"].fillna(modes.index.to_series()))["visits"].count() <= 6).all()
    np.testing.assert_allclose(columns(modes, "prevalence")[0], [0.191036, 0.053565, 0.755398], rtol=0, atol=EXACT)
    np.testing.assert_allclose(columns(modes, "accuracy")[0], [0.563584, 0.563278, 0.525702], rtol=0, atol=EXACT)
    assert (columns(modes, "confusion") == 0).any(axis=1).all()  # exactly, on the boundary
    assert modes["visits"].sum() == 200
