"""Modes: the tables of Rzhetsky et al. (2009) as corrected, boundaries, levels, unbounded directions, bad input."""

import numpy as np
import pymc as pm
import pytensor
import pytest
from threadpoolctl import threadpool_limits

import bayesanno as ba
from bayesanno import AnnotationData
from bayesanno._core.messages import DataError, FitError
from bayesanno.inference.modes.objective import Coordinates, Objective
from bayesanno.inference.modes.polish import Maximum, ascend, polish
from bayesanno.models.binomial_mixture import BinomialMixture
from bayesanno.models.model_a import ModelA
from bayesanno.models.model_b import ModelB
from tests.models import oracles_model_a as oracle
from tests.samples import TINY_RECORDS, rte_counts

EXACT = 1e-6  # the oracles have six decimals


def find(model, data, starts=20, **settings):
    return ba.find_modes(model, data, starts=starts, random_seed=1, progressbar=False, **settings)


def columns(table, name):
    """The values of a parameter in each mode, (mode, element), in the order of the table's columns."""
    return table[[column for column in table if column.partition("[")[0] == name]].to_numpy()


@pytest.fixture(autouse=True)
def one_thread():
    """Vectors are short here: threads would only wait for each other, as `find_modes` knows."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def few_calls():
    """NumPy evaluates the objective: the search calls it so seldom that compiling it takes longer."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="module")
def table9():
    return ba.read_annotations("@table9")


# ---------------------------------------------------------------------------------------- model A: tables 10 and 16


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize(
    ("objective", "expected"), [("map", oracle.TABLE10_MODES), ("ml", oracle.TABLE10_LIKELIHOOD_MODES)]
)
def test_table_10_has_five_modes(table9, objective, expected):
    modes = find("model_a", table9, starts=50, objective=objective)
    np.testing.assert_allclose(modes["objective"], [value for _, value in expected], rtol=0, atol=EXACT)
    np.testing.assert_allclose(columns(modes, "accuracy"), [theta for theta, _ in expected], rtol=0, atol=EXACT)
    assert modes["maximum"].all()
    assert (modes["flat"] == 0).all()
    assert modes["boundary"].tolist() == ["", *(f"accuracy[{who}] = 1" for who in "jik"), ""]
    assert (columns(modes, "accuracy")[1:4].max(axis=1) == 1).all()  # exactly
    assert modes["visits"].sum() == 50
    assert (modes.attrs["n_modes"], modes.attrs["n_distinct"], modes.attrs["unbounded"]) == (5, 5, {})


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("omega", oracle.UNNORMALISED_MODES, ids=["pooled", "true"])
def test_modes_under_the_alphas_and_frequencies_of_the_data(table9, omega):
    """Frequencies that are not the pooled ones are no option of the model: they are set in its graph."""
    graph = ModelA(alpha="unnormalised").build(table9)
    pm.set_data({"frequency": np.array(omega)}, graph)
    parameters = Coordinates(graph)
    likelihood = parameters.compile("ml")
    for theta, value in oracle.UNNORMALISED_MODES[omega]:
        near = ascend(likelihood, parameters.coordinates_of({"accuracy": np.array(theta) - 0.01}))
        end = polish(likelihood, near, np.random.default_rng(1))
        assert end.log_density == pytest.approx(value, rel=0, abs=2e-6)
        np.testing.assert_allclose(end.point[::2], theta, rtol=0, atol=EXACT)


@pytest.mark.usefixtures("few_calls")
def test_two_labels_have_two_modes_that_are_mirrored():
    data = ba.read_annotations("@table15")
    likelihood, posterior = find("model_a", data), find("model_a", data, objective="map")
    for modes, rows in ((likelihood, oracle.TABLE16[:2]), (posterior, oracle.TABLE16[2:])):
        assert len(modes) == 2
        np.testing.assert_allclose(modes["objective"], [row.answers for row in rows], rtol=0, atol=2 * EXACT)
        np.testing.assert_allclose(columns(modes, "accuracy"), [row.theta for row in rows], rtol=0, atol=EXACT)
    assert likelihood["same_as"].fillna(0).tolist() == [0, 1]  # every item is as likely in the one as in the other
    assert posterior["same_as"].isna().all()  # they differ in the last digits of theta


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
    modes = find("model_b", table9, starts=30)
    first = modes[modes["same_as"].isna()]
    np.testing.assert_allclose(first["objective"], [-25386.305183, -25440.347225, -25505.044535], rtol=0, atol=EXACT)
    assert modes["maximum"].all()
    assert (modes["flat"] == 0).all()
    assert modes.attrs["n_distinct"] == 3
    assert (modes.groupby(modes["same_as"].fillna(modes.index.to_series()))["visits"].count() <= 6).all()
    np.testing.assert_allclose(columns(modes, "prevalence")[0], [0.191036, 0.053565, 0.755398], rtol=0, atol=EXACT)
    np.testing.assert_allclose(columns(modes, "accuracy")[0], [0.563584, 0.563278, 0.525702], rtol=0, atol=EXACT)
    assert (columns(modes, "confusion") == 0).any(axis=1).all()  # exactly, on the boundary
    assert modes["visits"].sum() == 30


# ------------------------------------------------------------------------------------------------- other parameters


def test_types_of_items_may_be_at_the_end_of_the_scale():
    """Three binomials for the counts of Snow et al.'s data: the third type is of items that all say yes to."""
    modes = find(BinomialMixture(types=3), rte_counts())
    best = modes.iloc[0]
    assert best["boundary"] == "rate[type 3] = 1"
    np.testing.assert_allclose(
        best[[f"weight[type {t}]" for t in (1, 2, 3)]].astype(float), [0.540916, 0.429113, 0.029970], atol=EXACT, rtol=0
    )
    np.testing.assert_allclose(
        best[[f"rate[type {t}]" for t in (1, 2)]].astype(float), [0.350225, 0.823121], atol=EXACT, rtol=0
    )
    assert best["rate[type 3]"] == 1


@pytest.mark.usefixtures("few_calls")
def test_priors_that_are_infinite_on_the_boundary_are_named_and_no_mode():
    data = AnnotationData.from_records(TINY_RECORDS)
    modes = find("mace", data, starts=12, objective="map")
    assert modes.empty
    assert {"objective", "visits", "competence[ada]", "strategy[cy, yes]"} <= set(modes.columns)
    assert modes.attrs["unbounded"]
    ends = {f"competence[{who}] -> {limit}" for who in ("ada", "bo", "cy") for limit in (0, 1)}
    assert set(modes.attrs["unbounded"]) <= ends
    bounded = find(ba.models.MACE(competence_prior=(1, 1)), data, starts=12, objective="map")
    assert bounded.attrs["unbounded"] == {}
    assert len(bounded) > 0
    assert bounded["maximum"].all()


# --------------------------------------------------------------------------------------------- what data leave open


def answers_of_eight(seed=1):
    """Three annotators of two labels who answer 200 items, 85% right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=200)
    said = np.where(rng.uniform(size=(200, 3)) < [0.9, 0.8, 0.7], truth[:, None], 1 - truth[:, None])
    return [(f"s{i}", who, "ny"[said[i, j]]) for i in range(200) for j, who in enumerate(("ada", "bo", "cy"))]


def test_parameters_of_which_nothing_is_known_make_no_further_modes():
    """One annotator without annotations, one with one, an item without: two names of one explanation, both flat."""
    plain = AnnotationData.from_records(answers_of_eight())
    data = AnnotationData(
        item=[*plain.item, 0], annotator=[*plain.annotator, 3], label=[*plain.label, 0],
        items=(*plain.items, "nobody's"), annotators=(*plain.annotators, "once", "never"), labels=plain.labels,
    )  # fmt: skip
    without, modes = find("model_b", plain), find("model_b", data)
    assert without.attrs["n_distinct"] == 1
    assert (without["flat"] == 0).all()
    assert modes.attrs["n_distinct"] <= 2  # who answers once may be right or wrong by it
    assert (modes["flat"] >= 2).all()  # the rows of the one without annotations
    assert len(modes) <= 4
    best = modes.iloc[0]
    np.testing.assert_allclose(columns(modes, "confusion")[0, :12], columns(without, "confusion")[0], rtol=0, atol=5e-3)
    assert best["maximum"]


def test_controls_tell_the_classes_apart():
    rows = answers_of_eight()
    said = {item: label for item, who, label in rows if who == "ada"}
    data = AnnotationData.from_records(rows, controls={f"s{i}": said[f"s{i}"] for i in range(40)})
    modes = find("model_b", data)
    assert modes["same_as"].isna().all()
    assert columns(modes, "accuracy")[0].mean() > 0.7


# ---------------------------------------------------------------------------------------------------------- starts


def test_that_nobody_knows_is_an_explanation_that_is_looked_for():
    """Of 25 annotators no uniform start has next to all in the wrong."""
    modes = find("model_a", ba.read_annotations("@crowd"), starts=2)
    right, wrong = columns(modes, "accuracy").mean(axis=1)
    assert right > 0.6
    assert wrong < 0.4


def test_a_point_on_a_saddle_is_left():
    """A class nobody is of has no slope of its own; the way up shows once its row is somewhere else."""
    data = ba.read_annotations("@table14")
    parameters = Coordinates(ModelB().build(data))
    likelihood = parameters.compile("ml")
    alike = {"prevalence": [0.5, 0.5], "confusion": np.full((3, 2, 2), 0.5)}
    saddle = ascend(likelihood, parameters.coordinates_of(alike))
    end = polish(likelihood, saddle, np.random.default_rng(1))
    assert end.log_density == pytest.approx(CLOSED["@table14"][0], abs=1e-6)


def test_a_level_is_left_where_a_way_leads_up():
    """The second simplex has no influence on the boundary, and other values of it let the first one rise."""
    objective = Objective(lambda z: (z[0] * (z[2] - 0.3), np.array([z[2] - 0.3, 0.0, z[0], 0.0])), (2, 2))
    level = Maximum(np.array([0.0, 1.0, 0.1, 0.9]), 0.0, is_reached=False)
    end = polish(objective, level, np.random.default_rng(1))
    np.testing.assert_allclose(end.point, [1, 0, 1, 0], atol=1e-12)
    assert (end.log_density, end.is_reached) == (pytest.approx(0.7), True)


def test_a_level_on_which_boundaries_differ_is_one_explanation():
    """Two answer the same to both items, and only the third tells them apart: at best, with probability 1/4.

    Which point stands for the level depends on rounding, and so whether its mirror image is listed, too.
    """
    answers = [
        (item, who, label)
        for item, said in {"s1": "yyn", "s2": "nyn"}.items()
        for who, label in zip("abc", said, strict=True)
    ]
    modes = find("mace", AnnotationData.from_records(answers))
    assert modes.attrs["n_distinct"] == 1
    assert len(modes) <= 2
    np.testing.assert_allclose(modes["objective"], -2 * np.log(2), rtol=0, atol=EXACT)
    assert modes["maximum"].all()


# ------------------------------------------------------------------------------------------------------- bad input


def test_what_is_no_search_is_refused(refuses):
    for settings, error, match in (
        ({"objective": "mle"}, FitError, "objective is 'mle'"),
        ({"starts": 0}, FitError, "starts is 0"),
        ({"starts": 1.5}, FitError, "starts is 1.5"),
        ({"starts": True}, FitError, "starts is True"),
        ({"random_seed": -1}, FitError, "random_seed is -1"),
        ({"model": "binomial_mixture"}, DataError, "binomial_mixture needs CountData"),
        ({"model": "hierarchical_dawid_skene"}, FitError, "its modes are meaningless"),
    ):
        with refuses(error, match):
            ba.find_modes(**{"model": "model_b", "data": AnnotationData.from_records(TINY_RECORDS)} | settings)


def test_a_parameter_that_can_be_any_number_is_refused(refuses):
    part = AnnotationData.from_records(TINY_RECORDS[1:])  # one answer of each annotator to each item
    data = ba.MultiAnnotationData(by_dimension={"first": part, "second": part})
    with refuses(FitError, "direction can be any number: use a variant of the model without it"):
        find("model_a_multi", data)
