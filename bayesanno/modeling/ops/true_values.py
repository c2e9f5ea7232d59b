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

STEP, T_STEP = 1.0, 0.55  # between nodes
NEGLIGIBLE = 1e-10  # the weight of a node relative to the greatest
FINEST, MOST_NODES = 256.0, 5000  # nodes in a standard deviation of u, and to one side: wide enough for any sensible sd
FINER = 16.0  # nodes of quantiles, relative to those of the integral
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


def log_density(u, a, student, n_densities, n_terms, shift, rate, piece, slope):  # type: ignore[no-untyped-def]
    """Return the sum of log f((shift - rate u) / a) over terms, densities and then probabilities, and each slope."""
    total, product = 0.0, 1.0
    if student > 0:
        for n in range(n_terms):
            x = (shift[n] - rate[n] * u) / a
            share = 4.0 / (4.0 + x * x)
            density = share * share * sqrt(share)
            if n < n_densities:
                slope[n] = -1.25 * x * share
            else:
                root = sqrt(4.0 + x * x)
                below = 1.0 + x / root if x > 0.0 else 4.0 / (root * (root - x))
                below = below * below * (3.0 - below) / 4.0
                slope[n] = 0.375 * density / below
                density = below
            product *= density
            if product < 1e-200:
                total += log(product)
                product = 1.0
        return total + log(product)
    for n in range(n_terms):
        x = (shift[n] - rate[n] * u) / a
        if x > LOWEST:
            place = (min(x, -LOWEST) - LOWEST) / WIDTH
            at = int64(min(place, N_CELLS - 1.0))
            t, at = place - at, 6 * at
            c2, c3, c4, c5 = piece[at + 2], piece[at + 3], piece[at + 4], piece[at + 5]
            total += piece[at] + t * (piece[at + 1] + t * (c2 + t * (c3 + t * (c4 + t * c5))))
            slope[n] = (piece[at + 1] + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)))) / WIDTH
        else:
            ratio = -x
            for level in range(LEVELS):
                ratio = (LEVELS - level) / ratio - x
            total -= 0.5 * x * x + LN_SQRT_2PI + log(ratio)
            slope[n] = ratio
    return total


class IntegrateTrueValues(LoopOp):
    """Integrate over the true values of items.

    Inputs: residual, loading (annotation,); side (annotation,) of int, -1 or 1 for a rating at the lower or upper end;
    item (annotation,); known (item,), the known u or nan; ambiguity, the standard deviation s, or 0; student, 1 for t;
    table, the values of a function of u at equally spaced points from -TOP to TOP; level (item, level), ascending.

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
        from bayesanno.graph.c_functions import ArrayFunction
        from bayesanno.graph.functions import keep

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
        """Collect the ratings of each item; then pass over its nodes."""
        n_items, n_ratings = len(total), len(residual)
        n_levels = len(level) // max(n_items, 1)
        begin = empty(n_items + 1, int64)  # of each item's ratings, in the order of items
        free = empty(n_items + 1, int64)
        order = empty(n_ratings, int64)
        shift = empty(n_ratings, float64)  # of an item's terms: densities of t, and then probabilities
        rate = empty(n_ratings, float64)
        slope = empty(n_ratings, float64)
        by_shift = empty(n_ratings, float64)
        by_rate = empty(n_ratings, float64)
        piece = empty(6 * N_CELLS, float64)
        tabulate_log_cdf(piece)  # type: ignore[no-untyped-call]
        for i in range(n_items + 1):
            begin[i] = 0
        for n in range(n_ratings):
            begin[item[n] + 1] += 1
        for i in range(n_items):
            begin[i + 1] += begin[i]
            free[i] = begin[i]
        for n in range(n_ratings):
            order[free[item[n]]] = n
            free[item[n]] += 1
        for i in range(n_items):
            n_inside, p, b, q = 0.0, 0.0, 0.0, 0.0  # of normal densities: their number, and P, sum of l r, of r^2
            all_p, all_b, reach, low, high = 0.0, 0.0, 0.0, 0.0, 0.0
            n_terms, n_densities = 0, 0
            for ends in range(2):
                for at in range(begin[i], begin[i + 1]):
                    n = order[at]
                    r, ell = residual[n], loading[n]
                    if (side[n] != 0) == (ends > 0):
                        all_p += ell * ell
                        all_b += ell * r
                        n_inside += 1.0 - ends
                        if student > 0 or ends > 0:
                            sign = -1.0 if side[n] > 0 else 1.0
                            shift[n_terms] = sign * r
                            rate[n_terms] = sign * ell
                            by_shift[n_terms] = 0.0
                            by_rate[n_terms] = 0.0
                            n_terms += 1
                            if student > 0 and abs(ell) > 0.0:
                                reach += 1.25 * abs(ell)
                                low, high = min(low, r / ell), max(high, r / ell)
                        else:
                            p += ell * ell
                            b += ell * r
                            q += r * r
                if ends == 0:
                    n_densities = n_terms
            is_known = known[i] == known[i]
            reference, top, weight = -inf, 0.0, 0.0
            u_sum, u_square, function, z_sum, known_sum, of_0, of_1, of_2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            u_low, u_high, u_step, z_low, z_high = inf, -inf, inf, 0, 0
            z_step = STEP / sqrt(1.0 + 2.0 * ambiguity * ambiguity * (begin[i + 1] - begin[i]) + 12.0 * ambiguity)
            for z_way in range(2):
                k, z_last, z_goes = -z_way, -inf, ambiguity > 0.0 or z_way == 0
                while z_goes:
                    z = z_step * k
                    a = exp(ambiguity * z)
                    a2 = a * a
                    precision = 1.0 + p / a2
                    middle = all_b / a2 / (1.0 + all_p / a2)
                    u_width = max(STEP / sqrt(1.0 + all_p / a2), 1.0 / (FINEST * sqrt(precision)))
                    if student > 0:
                        u_width = max(T_STEP / sqrt(1.0 + all_p / a2), 1.0 / FINEST)
                    variance, log_width = 0.0, log(u_width) - LN_SQRT_2PI
                    is_exact = is_known or (n_terms == 0 and len(table) < 2)
                    if is_known:
                        middle, log_width = known[i], -LN_SQRT_2PI
                    elif is_exact:
                        middle, variance, log_width = b / a2 / precision, 1.0 / precision, -0.5 * log(precision)
                    if ambiguity > 0.0:
                        log_width += log(z_step) - LN_SQRT_2PI
                    z_top = -inf
                    for way in range(2):
                        j, g_last, goes = 0 - way, -inf, way == 0 or not is_exact
                        while goes:
                            u = middle + u_width * j
                            g = log_density(u, a, student, n_densities, n_terms, shift, rate, piece, slope)  # type: ignore[no-untyped-call]
                            g += (b * u - 0.5 * p * u * u - 0.5 * q) / a2 - 0.5 * (u * u + z * z)
                            g += log_width - n_inside * ambiguity * z
                            if g > reference + 30.0:
                                shrink = exp(reference - g)
                                reference = g
                                top *= shrink
                                weight *= shrink
                                u_sum *= shrink
                                u_square *= shrink
                                function *= shrink
                                z_sum *= shrink
                                known_sum *= shrink
                                of_0 *= shrink
                                of_1 *= shrink
                                of_2 *= shrink
                                for n in range(n_terms):
                                    by_shift[n] *= shrink
                                    by_rate[n] *= shrink
                            w = exp(g - reference)
                            uu = u * u + variance
                            by_log_a = (q - 2.0 * b * u + p * uu) / a2 - n_inside
                            by_u = (b - p * u) / a2 - u
                            for n in range(n_terms):
                                by_shift[n] += w / a * slope[n]
                                by_rate[n] -= w / a * u * slope[n]
                            if is_known or ambiguity > 0.0:
                                for n in range(n_terms):
                                    by_log_a -= slope[n] * (shift[n] - rate[n] * u) / a
                                    by_u -= slope[n] * rate[n] / a
                            if len(table) > 1:
                                place = (min(max(u, -TOP), TOP) + TOP) / (2.0 * TOP) * (len(table) - 1.0)
                                at = int64(min(place, len(table) - 2.0))
                                function += w * (table[at] + (place - at) * (table[at + 1] - table[at]))
                            weight += w
                            u_sum += w * u
                            u_square += w * uu
                            z_sum += w * z * by_log_a
                            known_sum += w * by_u
                            of_0 += w / a2
                            of_1 += w * u / a2
                            of_2 += w * uu / a2
                            top, z_top = max(top, w), max(z_top, g)
                            u_low, u_high = min(u_low, u - 7.0 * sqrt(variance)), max(u_high, u + 7.0 * sqrt(variance))
                            rises = g > g_last or w > NEGLIGIBLE * top
                            between = student > 0 and (
                                u < min(high, reach / a) if way == 0 else u > max(low, -reach / a)
                            )
                            j += 1 - 2 * way
                            goes = not is_exact and (rises or between) and abs(j) < MOST_NODES
                            g_last = g
                    u_step = min(u_step, u_width)
                    z_low, z_high = min(z_low, k), max(z_high, k)
                    k += 1 - 2 * z_way
                    z_goes = (
                        ambiguity > 0.0
                        and (z_top > z_last or exp(z_top - reference) > NEGLIGIBLE * top)
                        and abs(z) < 12.0
                    )
                    z_last = z_top
            total[i] = reference + log(weight)
            mean[i] = u_sum / weight
            square[i] = u_square / weight
            expected[i] = function / weight
            by_known[i] = known_sum / weight if is_known else 0.0
            by_ambiguity[i] = z_sum / weight
            n_terms = 0
            for ends in range(2):
                for at in range(begin[i], begin[i + 1]):
                    n = order[at]
                    if (side[n] != 0) == (ends > 0):
                        if student > 0 or ends > 0:
                            sign = -1.0 if side[n] > 0 else 1.0
                            by_residual[n] = sign * by_shift[n_terms] / weight
                            by_loading[n] = sign * by_rate[n_terms] / weight
                            n_terms += 1
                        else:
                            by_residual[n] = (loading[n] * of_1 - residual[n] * of_0) / weight
                            by_loading[n] = (residual[n] * of_1 - loading[n] * of_2) / weight
            count = 1 + int64((u_high - u_low) / u_step * FINER) if n_levels > 0 and not is_known else 0
            fine = (u_high - u_low) / max(count, 1)
            log_width = log(z_step) - 2.0 * LN_SQRT_2PI if ambiguity > 0.0 else -LN_SQRT_2PI
            below, density, at, end = 0.0, 0.0, i * n_levels, (i + 1) * n_levels
            for j in range(count + 1):
                u, before, density = u_low + fine * j, density, 0.0
                for k in range(z_low, z_high + 1):
                    z = z_step * k
                    a = exp(ambiguity * z)
                    g = log_density(u, a, student, n_densities, n_terms, shift, rate, piece, slope)  # type: ignore[no-untyped-call]
                    g += (b * u - 0.5 * p * u * u - 0.5 * q) / (a * a) - 0.5 * (u * u + z * z)
                    density += exp(g + log_width - n_inside * ambiguity * z - reference)
                cell = 0.5 * fine * (before + density) if j > 0 else 0.0
                while at < end and below + cell >= level[at] * weight:
                    missing = max(level[at] * weight - below, 0.0)  # of a density that is linear within the step
                    root = sqrt(max(before * before + 2.0 * missing * (density - before) / fine, 0.0))
                    quantile[at] = u - fine + 2.0 * missing / max(before + root, 1e-300)
                    at += 1
                below += cell
            while at < end:
                quantile[at] = known[i] if is_known else u_high
                at += 1


integrate_true_values = IntegrateTrueValues()
