"""The log probability of an interval: beside an integral, with its slopes, as far out as doubles go."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy.stats import logistic, norm

from bayesanno.modeling.ops.intervals import log_between

PYTHON = Mode(linker="py", optimizer="fast_run")
OF = {"logistic": logistic(scale=np.sqrt(3) / np.pi), "normal": norm()}
FAR = np.array([0.0, 0.3, 1.0, 5.0, 30.0, 300.0, 1e4])
LOW, LENGTH = (grid.ravel() for grid in np.meshgrid(np.r_[-FAR[::-1], FAR], [1e-3, 0.5, 2.0, 50.0, 1e4]))
NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


def by_quadrature(of, low, high):
    """log P(low < x < high): the integral of the density, relative to the highest, over short pieces from there on."""
    if low < 0 < high:
        return np.logaddexp(by_quadrature(of, low, 0.0), by_quadrature(of, 0.0, high))
    near, far = sorted((abs(low), abs(high)))
    top = of.logpdf(near)
    step = 1 / max(1.0, near) if of is OF["normal"] else 1.0  # the density falls by a factor of e within about a step
    edges = near + np.minimum(step * np.arange(61) / 1.5, far - near)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    each = np.exp(of.logpdf(middle[:, None] + half[:, None] * NODES) - top) @ WEIGHTS * half
    return top + np.log(each.sum())


@pytest.fixture(scope="module", params=["logistic", "normal"])
def formula(request):
    low, high, is_first, is_last = pt.dvector(), pt.dvector(), pt.bvector(), pt.bvector()
    value = log_between(low, high, request.param, is_first=pt.cast(is_first, "bool"), is_last=pt.cast(is_last, "bool"))
    slopes = pytensor.grad(value.sum(), [low, high])
    inputs = [low, high, is_first, is_last]
    return OF[request.param], pytensor.function(inputs, [value, *slopes], mode=PYTHON)


def test_values_and_slopes_are_those_of_the_integral(formula):
    of, evaluate = formula
    none = np.zeros(LOW.size, dtype="int8")
    value, by_low, by_high = evaluate(LOW, LOW + LENGTH, none, none)
    high = LOW + LENGTH
    expected = np.array([by_quadrature(of, *ends) for ends in zip(LOW, high, strict=True)])
    np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(by_high, np.exp(of.logpdf(high) - expected), rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(by_low, -np.exp(of.logpdf(LOW) - expected), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("side", ["first", "last"])
def test_an_end_that_is_not_there_has_no_slope(formula, side):
    of, evaluate = formula
    high = LOW + LENGTH
    is_first = np.full(LOW.size, side == "first", dtype="int8")
    value, by_low, by_high = evaluate(LOW, high, is_first, 1 - is_first)
    expected, slope = (of.logcdf(high), of.logpdf(high)) if side == "first" else (of.logsf(LOW), of.logpdf(LOW))
    there, missing = (by_high, by_low) if side == "first" else (-by_low, by_high)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(there, np.exp(slope - expected), rtol=1e-6, atol=1e-12)
    assert (missing == 0).all()


def test_all_is_within_an_interval_without_ends(formula):
    _, evaluate = formula
    both = np.ones(LOW.size, dtype="int8")
    value, by_low, by_high = evaluate(LOW, LOW + LENGTH, both, both)
    assert [np.abs(found).max() for found in (value, by_low, by_high)] == [0.0, 0.0, 0.0]


def test_only_the_impossible_is_minus_infinity(formula):
    _, evaluate = formula
    low = np.array([0.7, -np.inf, np.inf, -np.inf, -np.inf, np.inf, -3.0])
    high = np.array([0.7, -np.inf, np.inf, np.inf, 0.0, np.inf, np.inf])
    is_first, is_last = np.zeros((2, 7), dtype="int8")
    is_last[5] = 1  # beginning at infinity
    value, *_ = evaluate(low, high, is_first, is_last)
    assert np.isneginf(value).tolist() == [True, True, True, False, False, True, False]
    np.testing.assert_allclose(value[3:5], np.log([1.0, 0.5]), atol=1e-15)
    for size in (1e100, 1e150):  # a probability that is 0 as a double has a log, and slopes
        found = evaluate(np.array([size]), np.array([2 * size]), np.zeros(1, "int8"), np.zeros(1, "int8"))
        assert np.isfinite(found).all()
