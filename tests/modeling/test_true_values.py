"""True values are integrated out as exactly as on a grid: totals, gradients, moments and quantiles."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import log_ndtr
from scipy.stats import norm
from scipy.stats import t as student_t

from bayesanno.graph.functions import compile_once
from bayesanno.modeling.ops.true_values import integrate_true_values
from tests.modeling.backends import compile_in

LEVELS = np.array([0.05, 0.5, 0.95])
POINTS = np.linspace(-8, 8, 1601)  # of a table, here of squares
EXACT = 1e-8


def inputs():
    vectors = [pt.vector(), pt.vector(), pt.lvector(), pt.lvector(), pt.vector()]
    return [*vectors, pt.scalar(), pt.lscalar(), pt.vector(), pt.matrix()]


@pytest.fixture(scope="module")
def integrate():
    symbols = inputs()
    outputs = integrate_true_values(*symbols)
    wanted = [symbols[0], symbols[1], symbols[5]]
    function = compile_once(symbols, [*outputs, *pytensor.grad(outputs[0].sum(), wanted)])

    def call(residual, loading, side, item, n_items=1, *, known=np.nan, ambiguity=0.0, student=False, level=LEVELS):
        known = np.broadcast_to(known, n_items).astype(float)
        levels = np.tile(level, (n_items, 1))
        (*found,) = function(
            residual, loading, side, item, known, np.array(ambiguity), np.array(int(student)), POINTS**2, levels
        )
        names = "total mean square expected by_residual by_loading by_known by_ambiguity quantile"
        return dict(zip([*names.split(), "residual", "loading", "ambiguity"], found, strict=True))

    return call


def on_grid(residual, loading, side, *, ambiguity, student):
    """Log of the integral, mean, mean of squares and quantiles, on a grid of u and one of log a."""
    u = np.linspace(-12, 12, 40_001 if ambiguity == 0 else 1_201)

    def log_density(x, at):
        if student:
            return (student_t.logpdf(x, 4) - np.log(3 / 8), student_t.logsf(x, 4), student_t.logcdf(x, 4))[at]
        return (-(x**2) / 2, log_ndtr(-x), log_ndtr(x))[at]

    logs = []
    steps = np.linspace(-9, 9, 91) if ambiguity else [0.0]
    for z in steps:
        a, log_z = np.exp(ambiguity * z), norm.logpdf(z) + np.log(18 / 90) if ambiguity else 0.0
        each = (
            log_density((r - ell * u) / a, end) - np.log(a) * (end == 0)
            for r, ell, end in zip(residual, loading, side, strict=True)
        )
        logs.append(norm.logpdf(u) + log_z + sum(each))
    top = np.max(logs)
    weight = np.exp(np.array(logs) - top).sum(axis=0)
    total = weight.sum()
    middle = (np.cumsum(weight) - weight / 2) / total
    moments = [(weight * u**k).sum() / total for k in (1, 2)]
    return top + np.log(total * (u[1] - u[0])), *moments, np.interp(LEVELS, middle, u)


def ratings(rng, n, at_ends, loading):
    u, ell = rng.normal(), rng.normal(1, 0.3, n) * loading
    side = np.where(rng.uniform(size=n) < at_ends, rng.choice([-1, 1], p=[0.8, 0.2], size=n), 0)
    return ell * u + rng.normal(size=n), ell, side


CASES = [(0, 0, 1), (1, 1, 2), (3, 0.3, 5), (8, 0.65, 2), (8, 1, 1), (30, 0, 2), (30, 0.65, 3)]


@pytest.mark.parametrize("ambiguity", [0.0, 0.5])
@pytest.mark.parametrize("student", [False, True])
@pytest.mark.parametrize(("n", "at_ends", "loading"), CASES)
def test_an_item_is_integrated_as_on_a_grid(integrate, rng, n, at_ends, loading, student, ambiguity):
    if ambiguity and n > 8:
        pytest.skip("the grid has too many numbers")
    residual, ell, side = ratings(rng, n, at_ends, loading)
    found = integrate(residual, ell, side, np.zeros(n, int), ambiguity=ambiguity, student=student)
    total, mean, square, quantile = on_grid(residual, ell, side, ambiguity=ambiguity, student=student)
    assert found["total"] == pytest.approx(total, abs=EXACT)
    assert found["mean"] == pytest.approx(mean, abs=5 * EXACT)
    assert found["square"] == pytest.approx(square, abs=1e-6)
    assert found["expected"] == pytest.approx(square, abs=1e-4)  # of a table with steps
    np.testing.assert_allclose(found["quantile"][0], quantile, atol=1e-2)  # a hundredth of the prior sd


def test_raters_who_contradict_each_other_without_doubt_are_integrated(integrate):
    """Far from the start, where products underflow and the best node is hundreds of nats above the first."""
    residual, ell, side = np.array([-60.0, 200.0, 3.0]), np.array([30.0, 40.0, 0.0]), np.array([-1, -1, 1])
    for student in (False, True):
        found = integrate(residual, ell, side, np.zeros(3, int), student=student)
        total, mean, *_ = on_grid(residual, ell, side, ambiguity=0.0, student=student)
        assert found["total"] == pytest.approx(total, abs=1e-6)
        assert found["mean"] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("ambiguity", [0.0, 0.4])
@pytest.mark.parametrize("student", [False, True])
def test_gradients_are_those_of_finite_differences(integrate, rng, student, ambiguity):
    """Of items of which one is known and one has no ratings."""
    item = np.repeat([0, 1, 3], 5)
    residual, ell, side = ratings(rng, item.size, 0.4, 2)
    known = np.array([np.nan, 0.4, np.nan, np.nan])
    given = {"known": known, "ambiguity": ambiguity, "student": student, "level": LEVELS[:0]}

    def total(**changed):
        own = {"residual": residual, "loading": ell, **given} | changed
        return integrate(own.pop("residual"), own.pop("loading"), side, item, 4, **own)["total"].sum()

    found = integrate(residual, ell, side, item, 4, **given)
    h = 1e-4
    for name, values in (
        ("residual", residual),
        ("loading", ell),
        ("ambiguity", np.array(ambiguity)),
        ("known", known),
    ):
        if name == "ambiguity" and not ambiguity:
            continue
        slopes = found["by_known" if name == "known" else name]
        for at in [(1,)] if name == "known" else np.ndindex(values.shape):
            up, down = (np.array(values, dtype=float) for _ in range(2))
            up[at] += h
            down[at] -= h
            slope = (total(**{name: up}) - total(**{name: down})) / (2 * h)
            assert slopes[at] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_nothing_is_integrated_where_the_true_value_is_known(integrate):
    found = integrate(np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array([0, -1]), np.zeros(2, int), known=0.3)
    assert found["total"] == pytest.approx(norm.logpdf(0.3) - 0.4**2 / 2 + log_ndtr(1.7))
    assert (found["mean"], found["square"]) == (0.3, pytest.approx(0.09))
    np.testing.assert_array_equal(found["quantile"], [[0.3] * 3])


def test_a_loop_ends_where_parameters_overflow(integrate):
    for wrong in (np.inf, np.nan, 1e200):
        for student in (False, True):
            found = integrate(
                np.array([wrong, 1.0]), np.array([1.0, wrong]), np.array([0, -1]), np.zeros(2, int), student=student
            )
            assert not np.isfinite(found["total"]).all() or np.isfinite(found["by_residual"]).all()


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.slow)])
def test_values_of_other_backends_are_those_of_our_loops(backend, rng):
    item = np.repeat([0, 1], 4)
    residual, ell, side = ratings(rng, 8, 0.4, 2)
    known, levels = np.full(2, np.nan), np.tile(LEVELS, (2, 1))
    values = [residual, ell, side, item, known, np.array(0.3), np.array(0), np.zeros(0), levels]
    symbols = inputs()
    outputs = integrate_true_values(*symbols)
    for one, other in zip(
        compile_in(backend, symbols, outputs)(*values), compile_once(symbols, outputs)(*values), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
