"""Functions of one number that loops call: in the language of `compiler`, and so in Python.

The formulas and their limits are those of PyTensor.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p


def sigmoid(x):  # type: ignore[no-untyped-def]
    """Return 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + exp(-x))


def softplus(x):  # type: ignore[no-untyped-def]
    """Return log(1 + exp(x))."""
    if x < -37.0:
        return exp(x)
    if x < 18.0:
        return log1p(exp(x))
    if x < 33.3:
        return x + exp(-x)
    return float64(x)


def log1mexp(x):  # type: ignore[no-untyped-def]
    """Return log(1 - exp(x))."""
    if x < -0.6931471805599453:
        return log1p(-exp(x))
    return log(-expm1(x))


def sign(x):  # type: ignore[no-untyped-def]
    """Return -1, 0 or 1; nan of nan."""
    return x if x != x else float64(x > 0) - float64(x < 0)


def isfinite(x):  # type: ignore[no-untyped-def]
    """Return whether a number is neither infinite nor nan."""
    return x - x == 0.0


def isinf(x):  # type: ignore[no-untyped-def]
    """Return whether a number is infinite."""
    return x == x and x - x != 0.0


float64 = float
LIBRARY = {each.__name__: each for each in (sigmoid, softplus, log1mexp, sign, isfinite, isinf)}
