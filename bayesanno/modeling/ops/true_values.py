"""The true value of an item, integrated out of its ratings by quadrature, with its posterior.

In standard deviations of true values, u is standard normal a priori. A rating has the standardised residual r - l u,
with r and l its residual and its loading. An item may have noise of its own: a factor a of all standard deviations,
with log a = s z and z standard normal. So for the ratings n of an item

    exp(total) = integral N(z) integral N(u) prod_n f((r_n - l_n u) / a) / a du dz,

with f the density of the noise, normal (without 1 / sqrt(2 pi)) or Student's t with 4 degrees of freedom (without
3 / 8). For a rating at an end of the scale, f(x) / a is the probability of being there or beyond.

Normal densities are one parabola of u. Where there are no others, the integral over u is exact. Otherwise it is a sum
over equally spaced nodes (see `bayesanno.modeling.item_effects`), from the middle of the ratings to both sides, until
the rest is negligible; only ratings at the ends cost something at each node. With P the sum of all l^2, no integrand is
narrower than a normal one of precision 1 + P / a^2. Nodes one standard deviation of it apart have a relative error of
2 exp(-2 pi^2) = 5e-9. Densities of t have poles at a distance of 2 a / l, and need .55.

The invariant: total, gradient and posterior come from the same nodes.
"""

from __future__ import annotations

from math import erfc, exp, inf, log, sqrt
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy import empty, float64, int64
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply

from bayesanno._core.messages import FitError
from bayesanno._core.private import LoopOp
from bayesanno.graph.functions import ArrayFunction, keep

STEP, T_STEP = 1.0, 0.55  # between nodes
NEGLIGIBLE = 1e-10  # the weight of a node relative to the greatest
FINEST, MOST_NODES = 256.0, 5000  # nodes in a standard deviation of u, and to one side: wide enough for any sensible sd
FINER = 5.0  # nodes of quantiles, relative to those of the integral
TOP = 8.0  # of the table of a function of u
LN_SQRT_2PI, SQRT_2PI, SQRT_HALF = 0.9189385332046727, 2.5066282746310002, 0.7071067811865476
LOWEST, WIDTH, N_CELLS, LEVELS = -10.0, 0.125, 144, 40  # of log Phi: below, a continued fraction of so many levels


def tabulate_log_cdf(piece):  # type: ignore[no-untyped-def]
    """Write log Phi as polynomials of degree 5 between points, with its two derivatives there: exact to 1e-10."""
    f, slope, curvature = 0.0, 0.0, 0.0
    for at in range(N_CELLS + 1):
        x = LOWEST + WIDTH * at
        below = 0.5 * erfc(-x * SQRT_HALF)
        last_f, last_slope, last_curvature = f, slope, curvature
        f = log(below)
        ratio = exp(-0.5 * x * x) / (SQRT_2PI * below)
        slope = WIDTH * ratio
        curvature = -WIDTH * WIDTH * ratio * (ratio + x)
        if at > 0:
            of_f = f - last_f - last_slope - 0.5 * last_curvature
            of_slope = slope - last_slope - last_curvature
            of_curvature = 0.5 * (curvature - last_curvature)
            begin = 6 * (at - 1)
            piece[begin] = last_f
            piece[begin + 1] = last_slope
            piece[begin + 2] = 0.5 * last_curvature
            piece[begin + 3] = 10.0 * of_f - 4.0 * of_slope + of_curvature
            piece[begin + 4] = -15.0 * of_f + 7.0 * of_slope - 2.0 * of_curvature
            piece[begin + 5] = 6.0 * of_f - 3.0 * of_slope + of_curvature


def log_density(  # type: ignore[no-untyped-def]
    u, a, student, begin, end, residual, loading, side, piece, slope,
):  # fmt: skip
    """Return the sum of log f over ratings but normal densities; write the derivative of each by (r - l u) / a."""
    total, product = 0.0, 1.0
    for n in range(begin, end):
        sign = -1.0 if side[n] > 0 else 1.0
        x = sign * (residual[n] - loading[n] * u) / a
        if student > 0:
            share = 4.0 / (4.0 + x * x)
            density = share * share * sqrt(share)
            slope[n] = -1.25 * x * share
            if side[n] != 0:
                root = sqrt(4.0 + x * x)
                below = 1.0 + x / root if x > 0.0 else 4.0 / (root * (root - x))
                below = below * below * (3.0 - below) / 4.0
                slope[n] = sign * 0.375 * density / below
                density = below
            product *= density
            if product < 1e-200:
                total += log(product)
                product = 1.0
        elif side[n] != 0 and x > LOWEST:
            place = min((x - LOWEST) / WIDTH, float64(N_CELLS))
            at = int64(min(place, N_CELLS - 1.0))
            t, at = place - at, 6 * at
            c2, c3, c4, c5 = piece[at + 2], piece[at + 3], piece[at + 4], piece[at + 5]
            total += piece[at] + t * (piece[at + 1] + t * (c2 + t * (c3 + t * (c4 + t * c5))))
            by_t = piece[at + 1] + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)))
            slope[n] = sign * by_t / WIDTH
        elif side[n] != 0:
            ratio = -x
            for level in range(LEVELS):
                ratio = (LEVELS - level) / ratio - x
            total -= 0.5 * x * x + LN_SQRT_2PI + log(ratio)
            slope[n] = sign * ratio
        else:
            slope[n] = 0.0
    return total + log(product)


class IntegrateTrueValues(LoopOp):
    """Integrate over the true values of items.

    Inputs: residual, loading (annotation,); side (annotation,) of int, -1 or 1 for a rating at the lower or upper end;
    item (annotation,), ascending; known (item,), the known u or nan; ambiguity, the standard deviation s, or 0;
    student, 1 for t; table, the values of a function of u at equally spaced points from -TOP to TOP, or none; level
    (item, level), ascending.

    Outputs: total, mean and square of u, and mean of the function (item,); the derivatives of total by residual and
    loading (annotation,), and by known and ambiguity (item,); the quantiles of u (item, level).
    """

    def make_node(self, *given: Any) -> Apply:
        """Name the outputs' types."""
        inputs = [pt.as_tensor(variable) for variable in given]
        if [variable.ndim for variable in inputs] != [1, 1, 1, 1, 1, 0, 0, 1, 2]:
            raise TypeError("IntegrateTrueValues takes six vectors, two numbers and a matrix")
        return Apply(self, inputs, [pt.vector() for _ in range(8)] + [pt.matrix()])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with the compiled loop."""
        kinds = [one.type for one in node.inputs]

        def make() -> ArrayFunction:
            fresh = [kind() for kind in kinds]
            return ArrayFunction(fresh, self.make_node(*fresh).outputs)

        for storage, value in zip(output_storage, keep((type(self), *kinds), make)(*inputs), strict=True):
            storage[0] = value

    @staticmethod
    def lengths(residual, loading, side, item, known, ambiguity, student, table, level):  # type: ignore[no-untyped-def]
        """Return those of the outputs."""
        return known, known, known, known, residual, residual, known, known, level

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Return the gradient of the total; the posterior has none."""
        item, of_total = inputs[3], cotangents[0]
        by_residual, by_loading, by_known, by_ambiguity = outputs[4:8]
        return [
            by_residual * of_total[item], by_loading * of_total[item], disconnected_type(), disconnected_type(),
            by_known * of_total, (by_ambiguity * of_total).sum(), *(disconnected_type() for _ in range(3)),
        ]  # fmt: skip

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the total has a gradient."""
        return [[at in (0, 1, 4, 5), *[False] * 8] for at in range(9)]

    @staticmethod
    def in_jax(*_: Any) -> Any:
        """Refuse: the number of nodes depends on values."""
        raise FitError("ratings with these options are not integrated in JAX: leave nuts_sampler out, or use 'pymc'")

    @staticmethod
    def loop(  # type: ignore[no-untyped-def]
        residual, loading, side, item, known, ambiguity, student, table, level,
        total, mean, square, expected, by_residual, by_loading, by_known, by_ambiguity, quantile,
    ):  # fmt: skip
        """Pass over each item's ratings, nodes, and finer nodes for quantiles. `sums` are weighted by the nodes."""
        n_levels, end = len(level) // max(len(total), 1), 0
        slope = empty(len(residual), float64)
        piece = empty(6 * N_CELLS, float64)
        tabulate_log_cdf(piece)  # type: ignore[no-untyped-call]
        sums = empty(9, float64)  # of 1, u, u^2, the function, z d / d log a, d / du, and 1, u and u^2 by a^2
        for i in range(len(total)):
            begin = end
            p, b, q, n_terms = 0.0, 0.0, 0.0, 0  # of normal densities, their parabola: the sums of l^2, l r and r^2
            all_p, all_b, n_inside, reach, low, high = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            while end < len(item) and item[end] == i:
                r, ell = residual[end], loading[end]
                all_p += ell * ell
                all_b += ell * r
                n_inside += 1.0 if side[end] == 0 else 0.0
                if student == 0 and side[end] == 0:
                    p += ell * ell
                    b += ell * r
                    q += r * r
                else:
                    n_terms += 1
                if (
                    student > 0 and abs(ell) > 0.0
                ):  # densities of t may have peaks between the ends of `low` and `high`,
                    reach += 1.25 * abs(ell)  # but none farther, where the prior is steeper
                    low, high = min(low, r / ell), max(high, r / ell)
                by_residual[end] = 0.0
                by_loading[end] = 0.0
                end += 1
            for k in range(9):
                sums[k] = 0.0
            stop = end if n_terms > 0 else begin  # of the ratings that cost something at each node
            is_known = known[i] == known[i]
            is_exact = is_known or (n_terms == 0 and len(table) < 2)
            reference, top, u_low, u_high, u_finest, z_low, z_high = -inf, 0.0, inf, -inf, inf, 0, 0
            z_step = STEP / sqrt(1.0 + 2.0 * ambiguity * ambiguity * (end - begin) + 12.0 * ambiguity)
            log_z = log(z_step) - LN_SQRT_2PI if ambiguity > 0.0 else 0.0
            for z_way in range(2):
                k, z_last, z_goes = -z_way, -inf, ambiguity > 0.0 or z_way == 0
                while z_goes:
                    z = z_step * k
                    a = exp(ambiguity * z)
                    a2 = a * a
                    middle = all_b / (a2 + all_p)
                    precision = 1.0 + p / a2
                    u_step = STEP / sqrt(1.0 + all_p / a2) if student == 0 else T_STEP / sqrt(1.0 + all_p / a2)
                    u_step = max(u_step, 1.0 / (FINEST * sqrt(precision)))
                    variance, log_width = 0.0, log(u_step)
                    if is_known:
                        middle, log_width = known[i], 0.0
                    elif is_exact:
                        variance, log_width = 1.0 / precision, LN_SQRT_2PI - 0.5 * log(precision)
                    z_top = -inf
                    for way in range(2):
                        j, g_last, goes = -way, -inf, way == 0 or not is_exact
                        while goes:
                            u = middle + u_step * j
                            uu = u * u + variance
                            g = log_density(u, a, student, begin, stop, residual, loading, side, piece, slope)  # type: ignore[no-untyped-call]
                            g += (b * u - 0.5 * p * u * u - 0.5 * q) / a2 - 0.5 * (u * u + z * z) - LN_SQRT_2PI
                            g += log_width + log_z - n_inside * ambiguity * z
                            if g > reference + 30.0:  # all that was added up is relative to an earlier node
                                shrink = exp(reference - g)
                                reference = g
                                top *= shrink
                                for at in range(9):
                                    sums[at] *= shrink
                                for n in range(begin, stop):
                                    by_residual[n] *= shrink
                                    by_loading[n] *= shrink
                            w = exp(g - reference)
                            by_log_a = (q - 2.0 * b * u + p * uu) / a2 - n_inside
                            by_u = (b - p * u) / a2 - u
                            for n in range(begin, stop):
                                by_residual[n] += w / a * slope[n]
                                by_loading[n] -= w / a * u * slope[n]
                            if is_known or ambiguity > 0.0:
                                for n in range(begin, stop):
                                    by_log_a -= slope[n] * (residual[n] - loading[n] * u) / a
                                    by_u -= slope[n] * loading[n] / a
                            if len(table) > 1:
                                place = (min(max(u, -TOP), TOP) + TOP) / (2.0 * TOP) * (len(table) - 1.0)
                                here = int64(min(place, len(table) - 2.0))
                                step = table[here + 1] - table[here]
                                sums[3] += w * (table[here] + (place - here) * step)
                            sums[0] += w
                            sums[1] += w * u
                            sums[2] += w * uu
                            sums[4] += w * z * by_log_a
                            sums[5] += w * by_u if is_known else 0.0
                            sums[6] += w / a2
                            sums[7] += w * u / a2
                            sums[8] += w * uu / a2
                            top, z_top = max(top, w), max(z_top, g)
                            u_low, u_high = min(u_low, u - 7.0 * sqrt(variance)), max(u_high, u + 7.0 * sqrt(variance))
                            goes = g > g_last or w > NEGLIGIBLE * top
                            if student > 0:
                                goes = goes or (u < min(high, reach / a) if way == 0 else u > max(low, -reach / a))
                            j += 1 - 2 * way
                            goes = goes and not is_exact and abs(j) < MOST_NODES
                            g_last = g
                    u_finest, z_low, z_high = min(u_finest, u_step), min(z_low, k), max(z_high, k)
                    k += 1 - 2 * z_way
                    z_goes = z_top > z_last or exp(z_top - reference) > NEGLIGIBLE * top
                    z_goes = z_goes and ambiguity > 0.0 and abs(z) < 12.0
                    z_last = z_top
            weight = sums[0]
            total[i] = reference + log(weight)
            mean[i] = sums[1] / weight
            square[i] = sums[2] / weight
            expected[i] = sums[3] / weight
            by_ambiguity[i] = sums[4] / weight
            by_known[i] = sums[5] / weight
            for n in range(begin, end):
                inside = 1.0 if student == 0 and side[n] == 0 else 0.0
                of_parabola = inside * (loading[n] * sums[7] - residual[n] * sums[6])
                by_residual[n] = (by_residual[n] + of_parabola) / weight
                of_parabola = inside * (residual[n] * sums[7] - loading[n] * sums[8])
                by_loading[n] = (by_loading[n] + of_parabola) / weight
            count = 1 + int64((u_high - u_low) / u_finest * FINER) if n_levels > 0 and not is_known else 0
            fine = (u_high - u_low) / max(count, 1)
            below, density, at, last = 0.0, 0.0, i * n_levels, (i + 1) * n_levels
            for j in range(count + 1):
                u, before, density = u_low + fine * j, density, 0.0
                for k in range(z_low, z_high + 1):
                    z = z_step * k
                    a = exp(ambiguity * z)
                    g = log_density(u, a, student, begin, stop, residual, loading, side, piece, slope)  # type: ignore[no-untyped-call]
                    g += (b * u - 0.5 * p * u * u - 0.5 * q) / (a * a) - 0.5 * (u * u + z * z) - LN_SQRT_2PI
                    density += exp(g + log_z - n_inside * ambiguity * z - reference)
                cell = 0.5 * fine * (before + density) if j > 0 else 0.0
                while at < last and below + cell >= level[at] * weight:
                    missing = max(level[at] * weight - below, 0.0)  # of a density that is linear within the step
                    root = sqrt(max(before * before + 2.0 * missing * (density - before) / fine, 0.0))
                    quantile[at] = u - fine + 2.0 * missing / max(before + root, 1e-300)
                    at += 1
                below += cell
            for one in range(at, last):
                quantile[one] = known[i] if is_known else u_high


integrate_true_values = IntegrateTrueValues()
