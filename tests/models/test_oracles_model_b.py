"""Model B against the tables of its paper: Rzhetsky, Shatkay and Wilbur (2009), supplement, sections 9 to 13.

Labels, classes and annotators i, j, k are in the paper's order. Where the paper prints six digits, more come from a
closed form: with two labels and three annotators the model is saturated, so that moments determine its parameters.
"""

import itertools

import numpy as np
import pytest

from bayesanno import AnnotationData, read_annotations
from bayesanno.modeling.posterior import recover
from bayesanno.models.model_b import ModelB
from tests.models.graphs import Graph, as_posterior

pytestmark = pytest.mark.usefixtures("by_numpy")  # of eight patterns

PRINTED = 1e-6  # the log-likelihoods are printed to six decimals


def binary(gamma1, *lambdas):
    """Parameters from gamma_1 and lambda^x(2|1), lambda^x(1|2) of i, j and k, the columns of Tables 14 and 15."""
    confusion = [[[1 - a, a], [b, 1 - b]] for a, b in zip(lambdas[::2], lambdas[1::2], strict=True)]
    return {"prevalence": np.array([gamma1, 1 - gamma1]), "confusion": np.array(confusion)}


TRUTH14 = binary(0.7, 0.4, 0.2, 0.5, 0.45, 0.1, 0.1)  # section 12
PRINTED14 = binary(0.605934, 0.376684, 0.232731, 0.494840, 0.454763, 0.060050, 0.212534)
CLOSED14 = binary(
    0.6059342155727985,
    *(0.3766839848416613, 0.23273144466063633),
    *(0.4948402429940034, 0.4547626969444034),
    *(0.0600502593839663, 0.21253378129163703),
)
PRINTED15_SWAPPED = binary(0.850300, 0.712360, 0.718234, 0.868736, 0.540325, 0.312940, 0.591135)
CLOSED15 = binary(
    0.14969994746117526,
    *(0.2817659401623017, 0.28764010803857076),
    *(0.45967518494421505, 0.13126355013259683),
    *(0.40886498312386277, 0.687059958760271),
)


def log_likelihood_of(name):
    graph = Graph(ModelB(), read_annotations(name))
    return lambda parameters: graph.item_logp(parameters).sum()


def test_table_13_exactly():
    """And eq. 37 for patterns 111 and 112."""
    patterns = list(itertools.product("12", repeat=3))
    data = AnnotationData.from_records(
        ("".join(pattern), annotator, label)
        for pattern in patterns
        for annotator, label in zip("ijk", pattern, strict=True)
    )
    expected = [0.1917, 0.0453, 0.1923, 0.0507, 0.1368, 0.1112, 0.1392, 0.1328]
    found = recover(ModelB(), data, as_posterior(ModelB().build(data), [TRUTH14]))
    np.testing.assert_allclose(np.exp(found.log_likelihood[0, 0]), expected, rtol=0, atol=1e-12)
    of_first = [0.7 * 0.6 * 0.5 * 0.9 / 0.1917, 0.7 * 0.6 * 0.5 * 0.1 / 0.0453]
    np.testing.assert_allclose(found.latent["probability"][:2, 0], of_first, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "rounded", "printed", "closed", "exact"),
    [
        ("@table14", PRINTED14, -19866.653175, CLOSED14, -19866.653175345),
        ("@table15", PRINTED15_SWAPPED, -17633.090670, CLOSED15, -17633.090669554),
    ],
)
def test_log_likelihoods_of_tables_14_and_15(name, rounded, printed, closed, exact):
    log_likelihood = log_likelihood_of(name)
    assert log_likelihood(rounded) == pytest.approx(printed, rel=0, abs=PRINTED)
    assert log_likelihood(closed) == pytest.approx(exact, rel=0, abs=1e-8)
