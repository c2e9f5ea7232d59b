"""The log probability of a random number between two ends: precise far from the mean, with finite gradients.

The number has mean 0 and standard deviation 1, and is normal or logistic. With F its cumulative distribution and
l(x) = log F(x), and as F(-x) = 1 - F(x):

    logistic    log (F(b) - F(a)) = l(b) + l(-a) + log (1 - exp(-s (b - a))),   s = pi / sqrt(3), l(x) = -softplus(-s x)
    normal      log (F(b) - F(a)) = l(b) + log (1 - exp(l(a) - l(b))),          if a + b <= 0; else of -b and -a

A difference of cumulative distributions rounds to 0 a few standard deviations above the mean, and its log to -inf.
Here the log is -inf only if the interval has no length or lies at infinity.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from bayesanno._core.lazy import pt

Noise = Literal["logistic", "normal"]
ALL_BELOW = 40.0  # standard deviations above the mean: the log of the probability below is 0 in double precision
STEEP = math.pi / math.sqrt(3)  # the logistic distribution of scale 1 / STEEP has the standard deviation 1


def log_between(low: Any, high: Any, noise: Noise, *, is_first: Any, is_last: Any) -> pt.TensorVariable:
    """Return log P(low < x < high) of a standard number x, elementwise.

    Parameters
    ----------
    low, high : TensorVariable
        The ends, low <= high.
    noise : {"logistic", "normal"}
        The distribution of x.
    is_first, is_last : TensorVariable of bool
        Where there is no lower end, and no upper end; the log is 0 if there is neither.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.ops.intervals import log_between
    >>> ends = np.array([-1.0, 0.0, 60.0]), np.array([0.0, 1.0, 61.0])
    >>> of_normal = log_between(*ends, "normal", is_first=np.array([True, False, False]), is_last=np.zeros(3, bool))
    >>> of_normal.eval().round(3).tolist()
    [-0.693, -1.075, -1805.014]
    """
    is_end = is_first | is_last
    if noise == "logistic":
        below = pt.switch(is_last, 0.0, -pt.softplus(-STEEP * high))
        above = pt.switch(is_first, 0.0, -pt.softplus(STEEP * low))
        apart = pt.switch(is_end | pt.eq(low, high), 1.0, high - low)
        shorter = pt.log1mexp(-STEEP * apart)
        return below + above + pt.switch(is_end, 0.0, pt.switch(pt.eq(low, high), -math.inf, shorter))
    is_mirrored = is_last | (~is_first & (low + high > 0))
    near, far = pt.switch(is_mirrored, -low, high), pt.switch(is_mirrored, -high, low)  # far <= near, far < 0
    near = pt.switch(is_first & is_last, ALL_BELOW, near)
    log_near, log_far = log_normal_cdf(near), log_normal_cdf(far)
    has_length = log_far < log_near
    ratio = pt.switch(is_end | ~has_length, -1.0, log_far - log_near)
    return log_near + pt.switch(is_end, 0.0, pt.switch(has_length, pt.log1mexp(ratio), -math.inf))


def log_normal_cdf(z: pt.TensorVariable) -> pt.TensorVariable:
    """Return the log of the normal distribution's cumulative distribution function.

    Each branch sees only its own values: others would be infinite there, with a gradient of nan.
    """
    is_low = z < -1
    low, rest = pt.switch(is_low, z, -1.0), pt.switch(is_low, -1.0, z)
    of_low = pt.log(pt.erfcx(-low / math.sqrt(2)) / 2) - low**2 / 2
    return pt.switch(is_low, of_low, pt.log1p(-pt.erfc(rest / math.sqrt(2)) / 2))
