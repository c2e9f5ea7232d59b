"""The language of loops: each of its parts does what Python does, and what is not in it is refused."""

import tracemalloc
from math import exp, inf, log

import numpy as np
import pytest
from numpy import empty, float64, int64
from scipy import special

from bayesanno.graph.compiler import KINDS, compile_text
from bayesanno.graph.source import NotWrittenError

LIMIT = 3


def run(function, floats, integers, size=12):
    """Return what a function of three vectors writes into the last, as Python and as compiled code run it."""
    expected, found = np.full(size, np.nan), np.full(size, np.nan)
    function(floats, integers, expected)
    text = """
def main(a, n_a, b, n_b, c, n_c):
    x = vector(a, n_a, float64)
    k = vector(b, n_b, int64)
    y = vector(c, n_c, float64)
    f(x, k, y)
    return 0
"""
    compiled = compile_text(text, {"f": function, "helper": helper})["main"]
    arguments = [number for array in (floats, integers, found) for number in (array.ctypes.data, array.size)]
    assert compiled.call(*arguments) == 0
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    return found


def helper(x, times):
    """Has several ways out."""
    if times == 0:
        return 0.0
    if x > 0.0:
        return x * times
    return -x


def arithmetic(x, k, y):
    for i in range(len(y)):
        y[i] = 0.0
    at = 0
    for a in range(-4, 5):
        for b in range(-3, 4):
            if b != 0:  # Python has no quotient then, and here it is 0
                y[at % 9] = 3 * y[at % 9] + a // b + 100 * (a % b)
                at += 1
    y[9] = 7 / 2
    y[10] = 2.0**3 - x[0] ** 0.5
    y[11] = min(x[0], 2.0) + max(k[0], 7) + abs(-2) + abs(x[1])


def conditions(x, k, y):
    for i in range(len(y)):
        y[i] = 0.0
    n = 0
    while n < len(x) and x[n] < 2.0:  # the second is not computed beyond the end
        n += 1
    y[0] = n
    if n > 100 or not x[0] > 1e9:
        y[1] = 1.0
    elif x[0] == 0.0:
        y[1] = 2.0
    else:
        y[1] = 3.0
    y[2] = 5.0 if x[0] != x[0] else 6.0
    y[3] = (x[0] < 1.0) & (k[0] <= 1) | (x[1] >= 0.0)
    for i in range(1, 10, 4):
        y[4] += i
    for i in range(3):
        i += 10
        y[5] += i
    top = -inf
    for i in range(len(x)):
        top = max(top, x[i])
    y[6] = top
    y[7] = helper(x[1], LIMIT)
    y[8] = helper(x[0], k[0])
    a, b = y[6], y[7]
    a, b = b, a
    y[9] = a - b


def memory(x, k, y):  # noqa: ARG001 -- all three have the same arguments
    if k[0] > 0:
        part = empty(len(y), float64)
        count = empty(len(y), int64)
        for i in range(len(y)):
            part[i] = exp(float64(i)) - log(1.0 + i)
            count[i] = i * i
        for i in range(len(y)):
            y[i] = part[i] + count[i]


@pytest.mark.parametrize("function", [arithmetic, conditions, memory])
def test_it_does_what_python_does(function):
    found = run(function, np.array([0.25, -1.5, 7.0]), np.array([2, 0, 5]))
    assert np.isfinite(found).any()


@pytest.mark.parametrize("kind", KINDS)
def test_elements_of_each_kind_are_read_and_written(kind):
    given = np.array([0, 1, 100, 0]).astype(kind)
    found = np.zeros(4, kind)
    text = f"""
def main(a, b):
    x = vector(a, 4, {kind})
    y = vector(b, 4, {kind})
    y[0] = 1.0
    for i in range(1, 4):
        put(y, i, at(x, i, 1), 1)
    return 0
"""
    assert compile_text(text, {})["main"].call(given.ctypes.data, found.ctypes.data) == 0
    assert found.tolist() == [1, *given[1:].tolist()]


def test_functions_of_c_and_of_scipy():
    x, y = np.array([0.3]), np.zeros(5)
    text = """
def main(a, b):
    x = vector(a, 1, float64)
    y = vector(b, 5, float64)
    y[0] = log1p(x[0])
    y[1] = special.erfcx(x[0])
    y[2] = special.gammainc(2, x[0])
    y[3] = atan2(x[0], 2.0)
    y[4] = softplus(x[0])
    return 0
"""
    compile_text(text, {})["main"].call(x.ctypes.data, y.ctypes.data)
    expected = [np.log1p(0.3), special.erfcx(0.3), special.gammainc(2, 0.3), np.arctan2(0.3, 2), np.logaddexp(0, 0.3)]
    np.testing.assert_allclose(y, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "line",
    [
        "y = x[0] + 0.5j",
        "y = [1, 2]",
        "y = no_such_function(1.0)",
        "y = special.no_such_function(1.0)",
        "y = 1.5 // 0.2",
        "y = 1.5 & 2",
        "y = 1\n    y = 0.5",
        "y = 1\n    y[0] = 0.5",
        "y = unknown",
        "y = 1 < a < 2",
        "for i in [1, 2]:\n        y = i",
        "for i in range(3):\n        y = empty(3, float64)",
        "y = empty(3, complex128)",
        "with a:\n        y = 1",
        "return 1\n    return 0.5",
    ],
)
def test_what_is_not_in_it_is_refused(line):
    with pytest.raises(NotWrittenError):
        compile_text(f"def main(a):\n    x = vector(a, 1, float64)\n    {line}\n    return 0\n", {})


def test_memory_is_freed_where_a_function_ends_early():
    text = """
def main(n, fails):
    x = empty(n, float64)
    if fails:
        return 1
    y = empty(n, float64)
    y[0] = 1.0
    x[0] = y[0]
    return 0
"""
    call = compile_text(text, {})["main"].call
    tracemalloc.start()
    try:
        calls = [call(10_000, fails) for fails in (0, 1) * 1000]
        assert tracemalloc.get_traced_memory()[0] < 10_000 * 8
        assert tracemalloc.get_traced_memory()[1] >= 2 * 10_000 * 8
    finally:
        tracemalloc.stop()
    assert calls == [0, 1] * 1000


def test_a_function_without_memory_fails():
    text = """
def main(n):
    x = empty(n, float64)
    x[0] = 1.0
    return 0
"""
    call = compile_text(text, {})["main"].call
    assert [call(10), call(2**59), call(10)] == [0, 1, 0]
