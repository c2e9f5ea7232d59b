"""Model B against the tables of its paper: Rzhetsky, Shatkay and Wilbur (2009), supplement, sections 9 to 13.

Labels, classes and annotators i, j, k are in the paper's order. Where the paper prints six digits, more come from a
closed form: with two labels and three annotators the model is saturated, so that moments determine its parameters.
"""

import itertools

import numpy as np
import pymc as pm
import pytest

from bayesanno import AnnotationData, read_annotations
from bayesanno.data.patterns import lay_out
from bayesanno.inference.relabelling import class_permutations
from bayesanno.modeling.posterior import recover
from bayesanno.models.model_b import ModelB
from tests.models.graphs import FAST, Graph, as_posterior

PRINTED = 1e-6  # the log-likelihoods are printed to six decimals
SIX_DIGITS = 5e-4  # what parameters printed to six digits leave uncertain of the log-likelihood of Table 11


def binary(gamma1, *lambdas):
    """Parameters from gamma_1 and lambda^x(2|1), lambda^x(1|2) of i, j and k, the columns of Tables 14 and 15."""
    confusion = [[[1 - a, a], [b, 1 - b]] for a, b in zip(lambdas[::2], lambdas[1::2], strict=True)]
    return {"prevalence": np.array([gamma1, 1 - gamma1]), "confusion": np.array(confusion)}


def ternary(gamma, *lambdas):
    """Parameters from gamma_1, gamma_2 and lambda(2|1), (3|1), (1|2), (3|2), (1|3), (2|3) of i, j and k (Table 11)."""
    confusion = [
        [[1 - a - b, a, b], [c, 1 - c - d, d], [e, f, 1 - e - f]]
        for a, b, c, d, e, f in np.array(lambdas).reshape(3, 6)
    ]
    return {"prevalence": np.array([*gamma, 1 - sum(gamma)]), "confusion": np.array(confusion)}


TRUTH14 = binary(0.7, 0.4, 0.2, 0.5, 0.45, 0.1, 0.1)  # section 12
PRINTED14 = binary(0.605934, 0.376684, 0.232731, 0.494840, 0.454763, 0.060050, 0.212534)
PRINTED14_SWAPPED = binary(0.394075, 0.767266, 0.623320, 0.545237, 0.505161, 0.787455, 0.939954)
CLOSED14 = binary(
    0.6059342155727985,
    *(0.3766839848416613, 0.23273144466063633),
    *(0.4948402429940034, 0.4547626969444034),
    *(0.0600502593839663, 0.21253378129163703),
)
PRINTED15 = binary(0.149700, 0.281766, 0.287640, 0.459675, 0.131264, 0.408865, 0.687060)
PRINTED15_SWAPPED = binary(0.850300, 0.712360, 0.718234, 0.868736, 0.540325, 0.312940, 0.591135)
CLOSED15 = binary(
    0.14969994746117526,
    *(0.2817659401623017, 0.28764010803857076),
    *(0.45967518494421505, 0.13126355013259683),
    *(0.40886498312386277, 0.687059958760271),
)
TABLE11 = {  # printed log L_max -> the parameters printed with it
    -25510.168554: ternary(
        (0.072429, 0.091682),
        *(0.643967, 0.181024, 0.069346, 0.860127, 0.070614, 0.291446),
        *(0.563529, 0.228430, 0.037449, 0.928269, 0.066827, 0.296033),
        *(0.317300, 0.254958, 0.543633, 0.000000, 0.006615, 0.279374),
    ),
    -25513.788112: ternary(
        (0.052294, 0.048655),
        *(0.000012, 0.136700, 0.227834, 0.068975, 0.022146, 0.294202),
        *(0.058033, 0.613684, 0.097179, 0.044550, 0.062505, 0.277868),
        *(0.041889, 0.848665, 0.333664, 0.131729, 0.073904, 0.299874),
    ),
    -25733.589116: ternary(
        (0.017506, 0.000000),
        *(0.217812, 0.062223, 0.334380, 0.009519, 0.067055, 0.295998),
        *(0.000000, 0.000012, 0.132163, 0.279946, 0.034066, 0.303387),
        *(0.239152, 0.559573, 0.114760, 0.028080, 0.086721, 0.291228),
    ),
}


class Likelihood:
    """The log-likelihood of one data set under model B."""

    def __init__(self, data):
        self.data, self.per_item = data, Graph(ModelB(), data).item_logp

    def __call__(self, parameters):
        return self.per_item(parameters).sum()


@pytest.fixture(scope="module")
def table14():
    return Likelihood(read_annotations("@table14"))


@pytest.fixture(scope="module")
def table15():
    return Likelihood(read_annotations("@table15"))


@pytest.fixture(scope="module")
def table9():
    return Likelihood(read_annotations("@table9"))


def test_table_13_exactly():
    patterns = list(itertools.product("12", repeat=3))
    data = AnnotationData.from_records(
        ("".join(pattern), annotator, label)
        for pattern in patterns
        for annotator, label in zip("ijk", pattern, strict=True)
    )
    expected = [0.1917, 0.0453, 0.1923, 0.0507, 0.1368, 0.1112, 0.1392, 0.1328]
    np.testing.assert_allclose(np.exp(Likelihood(data).per_item(TRUTH14)), expected, rtol=0, atol=1e-12)


def test_ten_thousand_items_are_eight_patterns(table14):
    assert table14.data.n_items == 10_000
    assert lay_out(table14.data).n_patterns == 8
    counts = np.bincount(lay_out(table14.data).pattern)
    assert sorted(counts) == sorted([1882, 443, 1863, 506, 1376, 1152, 1412, 1366])


LOG_LIKELIHOODS = {
    "table14": ((PRINTED14, PRINTED14_SWAPPED), -19866.653175, CLOSED14, -19866.653175345),
    "table15": ((PRINTED15, PRINTED15_SWAPPED), -17633.090670, CLOSED15, -17633.090669554),
}


@pytest.mark.parametrize("name", LOG_LIKELIHOODS)
def test_log_likelihoods_of_tables_14_and_15(name, request):
    likelihood, (rows, printed, closed, exact) = request.getfixturevalue(name), LOG_LIKELIHOODS[name]
    for parameters in rows:
        assert likelihood(parameters) == pytest.approx(printed, rel=0, abs=PRINTED)
    assert likelihood(closed) == pytest.approx(exact, rel=0, abs=1e-8)


@pytest.mark.parametrize(("name", "parameters"), [("table14", CLOSED14), ("table15", CLOSED15)])
def test_the_maximum_reproduces_the_observed_frequencies(name, parameters, request):
    likelihood = request.getfixturevalue(name)
    layout = lay_out(likelihood.data)
    share = np.bincount(layout.pattern) / likelihood.data.n_items
    np.testing.assert_allclose(np.exp(likelihood.per_item(parameters)[layout.first]), share, rtol=1e-9)


@pytest.mark.parametrize(("printed", "parameters"), TABLE11.items())
def test_table_11_is_likelihood_times_a_prior(table9, printed, parameters):
    """Its caption says maximum likelihood; each value holds Beta(2, 1) priors of the accuracies (eq. 39)."""
    accuracy = np.einsum("k,xkk->x", parameters["prevalence"], parameters["confusion"])
    assert table9(parameters) + np.log(2 * accuracy).sum() == pytest.approx(printed, rel=0, abs=SIX_DIGITS)


def test_likelihood_does_not_change_when_classes_are_permuted(table9):  # eq. 53
    parameters = TABLE11[-25510.168554]
    for order in map(list, itertools.permutations(range(3))):
        moved = {"prevalence": parameters["prevalence"][order], "confusion": parameters["confusion"][:, order]}
        np.testing.assert_allclose(table9.per_item(moved), table9.per_item(parameters), rtol=1e-12)


def test_posterior_of_classes_at_the_truth(table14):
    """Eq. 37 for patterns 111 and 112."""
    data = table14.data
    posterior = recover(ModelB(), data, as_posterior(ModelB().build(data), [TRUTH14])).latent["probability"].values
    said = data.label.reshape(-1, 3)  # (item, annotator), as the items come from a table of triplets
    of = {pattern: posterior[np.flatnonzero((said == pattern).all(axis=1))[0], 0] for pattern in [(0, 0, 0), (0, 0, 1)]}
    assert of[0, 0, 0] == pytest.approx(0.7 * 0.6 * 0.5 * 0.9 / 0.1917, rel=1e-12)
    assert of[0, 0, 1] == pytest.approx(0.7 * 0.6 * 0.5 * 0.1 / 0.0453, rel=1e-12)


def value_of(parameters, order, *, weighted):
    """Eq. 56, or 55, by its definition: classes in this order under the names 1, 2, ..."""
    return sum(
        (parameters["prevalence"][there] if weighted else 1.0) * matrix[there][here]
        for matrix in parameters["confusion"]
        for here, there in enumerate(order)
    )


# What eq. 56 and eq. 55 give for the order as it is and for the swapped one
RULES = {
    "table 14": (CLOSED14, (4.168398, 1.831602), (2.080857, 0.919143)),
    "table 15": (CLOSED15, (3.743730, 2.256270), (1.887398, 1.112602)),
    "where they differ": (binary(0.9, *(0.6, 0.1) * 3), (3.9, 2.1), (1.35, 1.65)),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("weighted", [False, True], ids=["eq. 56", "eq. 55"])
def test_preferred_order_of_classes(name, weighted):
    parameters, *values = RULES[name]
    as_is, swapped = values[weighted]
    assert value_of(parameters, (0, 1), weighted=weighted) == pytest.approx(as_is, rel=0, abs=1e-6)
    assert value_of(parameters, (1, 0), weighted=weighted) == pytest.approx(swapped, rel=0, abs=1e-6)
    weight = parameters["prevalence"][None] if weighted else None
    chosen = class_permutations(parameters["confusion"][None], weight)
    assert chosen.tolist() == [[0, 1] if as_is > swapped else [1, 0]]


def test_accuracies_of_the_maxima():
    """Eq. 39 at the maxima of Tables 14 and 15, through the model's own deterministic."""
    for parameters, expected in (
        (CLOSED14, (0.680043, 0.520953, 0.879861)),
        (CLOSED15, (0.713239, 0.819573, 0.354586)),
    ):
        data = AnnotationData.from_records([("1", x, "1") for x in "ijk"], labels=("1", "2"))
        fixed = pm.do(ModelB().build(data), parameters)
        accuracy = fixed["accuracy"].eval(mode=FAST)
        np.testing.assert_allclose(accuracy, expected, rtol=0, atol=1e-6)
