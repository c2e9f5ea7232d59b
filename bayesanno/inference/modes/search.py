"""The modes of a density: ascents from several starts, and how probable their ends are.

The curvature is computed from differences of gradients (Tierney and Kadane 1986, doi:10.1080/01621459.1986.10478240).
Such an integral shows which modes may be probable; `bayesanno.inference.modes.search` estimates how probable they are.

If a model learns scale parameters, its density is highest where all that has this scale is equal, with almost no
probability there. So ascents keep the scales: their ends are conditional modes, which are told apart by the labels of
the items, and whose integral is unknown.

The density is that of NUTS, so that the probability of a mode is that of the draws around it. Random starts find modes
that chains from one start would never reach, but they cannot show that there are no others. An end where the density
still rises is not a mode: its probability is unknown, and therefore that of all modes. No mode of a model with scale
parameters has a known probability before sampling: chains start in all that are nearly as high as the highest.

If classes can be permuted, each mode exists once for every order of its classes. Its probability is that of all these
labellings together, whether or not each was found.

The masses.  Laplace's method takes each mode for a normal distribution, and its errors of some nats are factors of ten.
So it only shows which modes may be probable. Points are drawn around each of these, from a t distribution with its
centre and curvature, and weighted by the ratio of the posterior density and the density of all these distributions
together (importance sampling). Some of them, chosen by weight, then are draws from the posterior. The probability of a
mode is the share of those from which an ascent leads to it. Modes have probabilities only if there are enough such
draws, and all of them are from one estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm
from bayesanno._core.running import status, track
from bayesanno.graph.density import Density, compile_graph
from bayesanno.graph.functions import add_deterministics, as_chains
from bayesanno.inference.diagnosis.measures import smooth_ratios
from bayesanno.inference.diagnosis.thresholds import FEW_ITEMS_DIFFER
from bayesanno.inference.relabelling import align_classes
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import start_of
from bayesanno.modeling.kinds import Data
from bayesanno.modeling.posterior import Formula, compile_formula

NEAR = 0.5  # largest difference of two ends of one mode, in any number
EQUAL = 0.05  # largest difference of their log densities, in nats
MOST_EXACT = 100  # most dimensions for which a Hessian is computed at every end
PROBES = 20  # random directions, whose mean estimates the diagonal of a Hessian
STEP = 1e-4  # of differences of gradients
LEAST_CURVATURE = 1e-6  # of one number given all others
NO_DENSITY = 1e300  # the minimised value of points without a density
OUT_OF_STEPS = 1  # SciPy's status of an optimisation that was stopped
MOST_KEPT = 1_000  # most dimensions for which a Hessian is kept: with more, draws do not suffice to weigh modes


@dataclass(frozen=True)
class Mode:
    """A mode of a density, or an end of an ascent that did not reach one.

    Attributes
    ----------
    point : array, shape (dimension,)
    log_density : float
        In nats, at the point; with scale parameters, at the scales that the ascent kept.
    is_reached : bool
        Whether this is a mode: the ascent ended, with nothing left to gain.
    log_integral : float
        The log of the integral of the density around it by Laplace's method; nan if unknown.
    share : float
        The share of the posterior uphill of which it is, up to a constant common to all modes; nan if unknown.
    sd : array, shape (dimension,)
        The standard deviation of each number given all others; 1 for scale parameters.
    root : array, shape (dimension, dimension), or None
        root' root is the negative Hessian; None if it is only roughly known, or too large to keep.
    states : array of int, shape (item,), or None
        The most probable state of each item, if modes are told apart by these.
    visits : int
        The number of starts that led here.
    is_first : bool
        Whether the first start led here.
    """

    point: np.ndarray
    log_density: float
    is_reached: bool
    log_integral: float = np.nan
    share: float = np.nan
    sd: np.ndarray = field(default_factory=lambda: np.ones(1))
    root: np.ndarray | None = None
    states: np.ndarray | None = None
    visits: int = 1
    is_first: bool = False

    def is_one_with(self, other: Mode) -> bool:
        """Whether two ends belong to one mode: they are close, or give almost all items the same label."""
        if self.states is not None and other.states is not None:
            return bool((self.states != other.states).sum() <= max(1.0, FEW_ITEMS_DIFFER * self.states.size))
        far = np.abs(self.point - other.point).max()
        return bool(far < NEAR and abs(self.log_density - other.log_density) < EQUAL)


def merge[M: Mode](ends: Sequence[M], are_one: Callable[[M, M], bool]) -> list[M]:
    """Return the highest end of each mode, the highest mode first, with the visits of all its ends."""
    modes: list[M] = []
    for end in sorted(ends, key=lambda end: -end.log_density):
        at = next((at for at, mode in enumerate(modes) if are_one(end, mode)), None)
        if at is None:
            modes.append(end)
        else:
            mode = modes[at]
            modes[at] = replace(mode, visits=mode.visits + end.visits, is_first=mode.is_first or end.is_first)
    return modes


@dataclass(frozen=True)
class LogDensity:
    """A log density whose modes are looked for.

    Parameters
    ----------
    density : Density, or another function of a point that returns a value and its gradient
    most_steps : int
        The largest number of gradients of an ascent.
    scales : array of bool, shape (dimension,), optional
        Which numbers are scale parameters of others; none by default.
    count_labellings : callable, optional
        If classes can be permuted: a function of a point that returns the number of its different permutations.
    read_states : callable, optional
        A function of points (point, dimension) that returns the most probable state of each item, (point, item).
    """

    density: Any
    most_steps: int
    scales: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=bool))
    count_labellings: Callable[[np.ndarray], int] | None = None
    read_states: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def has_scales(self) -> bool:
        """Whether some numbers are scale parameters, so that no integral is known by Laplace's method."""
        return bool(self.scales.any())

    def maximize(self, point: np.ndarray, **options: float) -> Mode | None:
        """Ascend from a point to a mode, at the scale parameters of the density's start; None without a density.

        The end is a mode if L-BFGS ended regularly, and a step to the top by its own estimate of the curvature would
        gain less than the difference between two modes. `options` are those of SciPy's L-BFGS-B.
        """
        from scipy.optimize import minimize

        whole = np.where(self.scales, self.density.start, point) if self.has_scales else point.copy()
        moves = np.broadcast_to(~self.scales, point.shape)

        def downhill(z: np.ndarray) -> tuple[float, np.ndarray]:
            whole[moves] = z
            value, gradient = self.density(whole)
            return (-value, -gradient[moves]) if np.isfinite(value) else (NO_DENSITY, np.zeros_like(z))

        options = {"maxiter": self.most_steps, "maxfun": self.most_steps, "ftol": 1e-12, "gtol": 1e-6} | options
        found = minimize(downhill, point[moves], jac=True, method="L-BFGS-B", options=options)
        if not found.fun < NO_DENSITY:
            return None
        whole[moves] = found.x
        gain = 0.5 * float(found.jac @ (found.hess_inv @ found.jac))  # nats
        return Mode(whole, -float(found.fun), is_reached=bool(found.status != OUT_OF_STEPS and gain < EQUAL))

    def describe(self, modes: Sequence[Mode], *, rough: bool) -> list[Mode]:
        """Return modes with standard deviations, and with their integrals, or the states of items if there are scales.

        A rough integral is estimated without the correlations of the numbers. An end where the density curves upwards
        in some direction is no mode, and has no integral.
        """
        if self.has_scales and self.read_states is not None and modes:
            states = self.read_states(np.array([mode.point for mode in modes]))
            return [
                replace(mode, sd=self._estimate_sd(mode.point), states=own)
                for mode, own in zip(modes, states, strict=True)
            ]
        return [self._integrate(mode, rough=rough) for mode in modes]

    def _integrate(self, mode: Mode, *, rough: bool) -> Mode:
        root = None
        if rough:
            sd = self._estimate_sd(mode.point)
            log_det = -2 * float(np.log(sd).sum())
        else:
            hessian = self._compute_hessian(mode.point)
            sd = 1 / np.sqrt(np.maximum(np.diag(hessian), LEAST_CURVATURE))
            try:
                root = np.linalg.cholesky(hessian).T
            except np.linalg.LinAlgError:
                return replace(mode, is_reached=False, sd=sd)
            log_det = 2 * float(np.log(np.diag(root)).sum())
            root = root if sd.size <= MOST_KEPT else None
        log_integral = self.density(mode.point)[0] + 0.5 * (sd.size * np.log(2 * np.pi) - log_det)
        return replace(mode, log_integral=float(log_integral), sd=sd, root=root)

    def _estimate_sd(self, point: np.ndarray) -> np.ndarray:
        """Return the standard deviation of each number given all others, (dimension,); 1 for scale parameters.

        With many numbers, it is estimated from products of the Hessian with random signs (Hutchinson).
        """
        if point.size <= MOST_EXACT:
            curvature = np.diag(self._compute_hessian(point))
        else:
            signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(PROBES, point.size)) * ~self.scales
            curvature = -np.mean([sign * self._differentiate(point, sign) for sign in signs], axis=0)
        return np.where(self.scales, 1.0, 1 / np.sqrt(np.maximum(curvature, LEAST_CURVATURE)))

    def _compute_hessian(self, point: np.ndarray) -> np.ndarray:
        """Return the negative Hessian."""
        hessian = -np.array([self._differentiate(point, unit) for unit in np.eye(point.size)])
        return (hessian + hessian.T) / 2

    def _differentiate(self, point: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the derivative of the gradient along a direction."""
        by = STEP * direction
        return (self.density(point + by)[1] - self.density(point - by)[1]) / (2 * STEP)


SPREAD = 1.5  # standard deviation of the random starts, on the unconstrained scale
MOST_MODES = 8  # modes with the highest density, whose probability is estimated
MOST_DIMENSIONS = 6_000  # with more, the Hessian does not fit in memory
HESSIANS = 2  # budget of gradients for Hessians, relative to that of ascents
LAPLACE_ERROR = 10.0  # nats: the possible error of integrals by Laplace's method
ROUGH_ERROR = 40.0  # the same without the whole Hessian
LEAST_ASCENT = 1_000  # gradients that every ascent may take, or more if the budget is large
ASCENTS = 4  # number of longest ascents that fit into half the budget
NEARLY = 10.0  # nats below the highest end: chains may start at unfinished ends that are higher
NEAR_SCALES = 15.0  # the same for modes at fixed scales, whose heights differ from those at the best scales of each
ALIKE = 1e-3  # classes of a mode that differ by less in every number are equal: swapping them gives no new labelling


@dataclass(frozen=True)
class Modes:
    """The modes found of a density.

    Attributes
    ----------
    log_density : LogDensity
        The density that was searched.
    found : tuple of Mode
        The modes, that of the largest integral first, or the highest if there are scale parameters; empty if no ascent
        reached one.
    unfinished : tuple of Mode
        The ends that are not modes but may be probable: the end of the first start, if it is one of them, and those
        that are nearly as high as the highest.
    n_asked, n_starts : int
        The numbers of starts requested and made.
    n_unfinished : int
        The number of starts that did not end at a mode.
    rough : bool
        Whether integrals are estimates without the whole Hessian.
    most_gradients : int
        The approximate budget of gradients for weighing the modes, and of the Hessians of modes found later.
    n_effective : float
        The number of independent draws from which probabilities were estimated; infinite if there are none, since only
        one mode may be probable.
    """

    log_density: LogDensity
    found: tuple[Mode, ...] = ()
    unfinished: tuple[Mode, ...] = ()
    n_asked: int = 0
    n_starts: int = 0
    n_unfinished: int = 0
    rough: bool = False
    most_gradients: int = 10_000
    n_effective: float = np.inf

    @property
    def has_probabilities(self) -> bool:
        """Whether the probability of each mode is known."""
        return bool(self.found) and not np.isnan(self.probabilities).any()

    @cached_property
    def near(self) -> list[int]:
        """The numbers of the groups that may be probable."""
        if self.log_density.has_scales:
            height, error = [mode.log_density for mode in self.found], NEAR_SCALES
        else:
            height, error = [mode.log_integral for mode in self.found], ROUGH_ERROR if self.rough else LAPLACE_ERROR
        least = max(height, default=np.nan) - error
        return [at for at, group in enumerate(self.groups) if max(height[mode] for mode in group) > least]

    @cached_property
    def groups(self) -> list[list[int]]:
        """The numbers of the modes, grouped if they differ only in the names of exchangeable classes."""
        groups: list[list[int]] = []
        for number, mode in enumerate(self.found):
            for group in groups if self.log_density.count_labellings is not None else []:
                first = self.found[group[0]]
                if max(abs(first.log_density - mode.log_density), abs(first.log_integral - mode.log_integral)) < EQUAL:
                    group.append(number)
                    break
            else:
                groups.append([number])
        return groups

    @cached_property
    def probabilities(self) -> np.ndarray:
        """The probability of each group, including all its labellings, (group,); nan if unknown.

        Every labelling counts with the mean share of those found. K classes have K! labellings, fewer if some are
        equal.
        """
        if self.log_density.has_scales or self.rough or self.unfinished:
            return np.full(len(self.groups), np.nan)
        count = self.log_density.count_labellings
        share = np.zeros(len(self.groups))
        for at in self.near:
            own = np.mean([self.found[mode].share for mode in self.groups[at]]) if len(self.near) > 1 else 1.0
            share[at] = own if count is None else own * count(self.found[self.groups[at][0]].point)
        return share / share.sum()

    def ascend_from_draws(
        self, points: np.ndarray, *, most_gradients: float = np.inf, show: bool = False
    ) -> tuple[Modes, np.ndarray]:
        """Find the modes uphill of draws (chain, draw, dimension), including modes that no start led to.

        When the budget of gradients is spent, there are no more ascents.

        Returns
        -------
        Modes
            With new modes at the end, which have no visits.
        array of int, shape (chain, draw)
            The number of the mode of each draw, or -1 if no ascent from it reached a mode.
        """
        found, rough = list(self.found), self.rough
        n_affordable = min(MOST_MODES, count_hessians(self.most_gradients, points.shape[2]))
        places = np.full(points.shape[:2], -1)
        most_calls = self.log_density.density.n_calls + most_gradients
        for draw in track(range(points.shape[1]), "finding the modes of draws", show=show):
            for chain, point in enumerate(points[:, draw]):
                if self.log_density.density.n_calls > most_calls:
                    break
                end = self.log_density.maximize(point)
                if end is None or not end.is_reached:
                    continue
                if (at := _find_same(end, found)) is None:
                    rough |= len(found) - len(self.found) >= n_affordable and not self.log_density.has_scales
                    (end,) = self.log_density.describe([end], rough=rough)
                    if not end.is_reached:
                        continue
                    if (at := _find_same(end, found)) is None:
                        at = len(found)
                        found.append(replace(end, visits=0))
                places[chain, draw] = at
        return replace(self, found=tuple(found), rough=rough), places

    def groups_of(self, places: np.ndarray) -> np.ndarray:
        """Return the groups of modes, given by their numbers; -1 remains."""
        group_of = {-1: -1} | {mode: at for at, group in enumerate(self.groups) for mode in group}
        return np.vectorize(group_of.get)(places)


def normalize(log_integral: Sequence[float]) -> np.ndarray:
    """Return probabilities in proportion to integrals, given by their logs; all are nan if one is unknown."""
    logs = np.array(log_integral)
    return np.full(logs.shape, np.nan) if np.isnan(logs).any() else np.exp(logs - np.logaddexp.reduce(logs))


def count_hessians(most_gradients: int, n_dim: int) -> int:
    """Return how many whole Hessians may be computed by a budget of gradients for ascents; 0 if they are too large."""
    return HESSIANS * most_gradients // (2 * n_dim) if n_dim <= MOST_DIMENSIONS else 0


def search(
    log_density: LogDensity,
    start: np.ndarray,
    *,
    n_starts: int,
    most_gradients: int,
    rng: np.random.Generator,
    show: bool = False,
) -> Modes:
    """Find the modes of a density.

    Parameters
    ----------
    log_density : LogDensity
        Scale parameters keep the values of its start.
    start : array, shape (dimension,)
        The first start.
    n_starts : int
        The number of random starts in addition.
    most_gradients : int
        The approximate budget of gradients for ascents; Hessians may take twice as many. When it is spent, there are
        no more starts, and integrals are rough.
    rng : numpy.random.Generator
    show : bool
        Whether to show progress.

    Returns
    -------
    Modes
        Probabilities are unknown if several modes may be probable.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.modes.search import LogDensity
    >>> from bayesanno.inference.modes.search import search
    >>> def two_humps(z):  # of widths 0.1 and 0.2
    ...     logs = -((z[0] - [-2, 2]) ** 2) / [0.02, 0.08]
    ...     share = np.exp(logs - np.logaddexp(*logs))
    ...     return np.logaddexp(*logs), np.array([(share * -2 * (z[0] - [-2, 2]) / [0.02, 0.08]).sum()])
    >>> two_humps.n_calls = 0
    >>> settings = {"n_starts": 10, "most_gradients": 1000, "rng": np.random.default_rng(1)}
    >>> found = search(LogDensity(two_humps, 1000), np.array([-2.0]), **settings).found
    >>> [mode.point.round(3).tolist() for mode in found]
    [[2.0], [-2.0]]
    """
    density = log_density.density
    begun = density.n_calls
    ends: list[Mode] = []
    n_done = 0
    points = [start, *(SPREAD * rng.standard_normal((n_starts, start.size)))]
    for point in track(points, "looking for modes", show=show):
        if n_done and density.n_calls - begun > most_gradients / 2:
            break
        n_done += 1
        end = log_density.maximize(point)
        if end is not None:
            ends.append(replace(end, is_first=n_done == 1))
    found, rest = (
        merge([end for end in ends if end.is_reached == reached], Mode.is_one_with) for reached in (True, False)
    )
    highest = max((end.log_density for end in ends), default=-np.inf)
    found, rough = found[:MOST_MODES] + [end for end in found[MOST_MODES:] if end.is_first], False
    with status("comparing modes", show=show):
        if log_density.has_scales:
            found = merge(log_density.describe(found, rough=True), Mode.is_one_with)
        else:
            found, rough = _integrate(log_density, found, count_hessians(most_gradients, start.size))
            rest += [end for end in found if not end.is_reached]
            found = sorted((end for end in found if end.is_reached), key=lambda mode: -mode.log_integral)
        unfinished = [end for end in rest if end.is_first or end.log_density > highest - NEARLY]
        unfinished.sort(key=lambda end: not end.is_first)
        unfinished = log_density.describe(unfinished[:MOST_MODES], rough=True)
    return Modes(
        log_density,
        found=tuple(found),
        unfinished=tuple(replace(end, log_integral=np.nan) for end in unfinished),
        n_asked=1 + n_starts,
        n_starts=n_done,
        n_unfinished=sum(end.visits for end in rest),
        rough=rough,
        most_gradients=most_gradients,
    )


def _integrate(log_density: LogDensity, modes: list[Mode], n_affordable: int) -> tuple[list[Mode], bool]:
    """Return modes with their integrals, and whether these are rough.

    If there are not enough gradients for all Hessians, estimates show which modes may be probable.
    """
    if len(modes) <= n_affordable:
        return log_density.describe(modes, rough=False), False
    roughly = log_density.describe(modes, rough=True)
    best = max((mode.log_integral for mode in roughly), default=np.nan)
    near = [mode.log_integral > best - ROUGH_ERROR for mode in roughly]
    if sum(near) > n_affordable:
        return roughly, True
    exact = iter(
        log_density.describe([mode for mode, is_near in zip(roughly, near, strict=True) if is_near], rough=False)
    )
    return [next(exact) if is_near else mode for mode, is_near in zip(roughly, near, strict=True)], False


def _find_same(end: Mode, modes: list[Mode]) -> int | None:
    """Return the number of the mode that an end belongs to; None if it is a new one."""
    return next((at for at, mode in enumerate(modes) if end.is_one_with(mode)), None)


def make_log_density(
    model: AnnotationModel, data: Data, graph: pm.Model, density: Density, most_gradients: int
) -> LogDensity:
    """Return the density of a graph, with the scale parameters and the exchangeable classes of its model.

    Parameters
    ----------
    most_gradients : int
        The budget of gradients for all ascents.
    """
    scales, permuted = find_scales(density, model, graph), model.is_exchangeable(data)
    formula: Formula | None = None

    def read_states(points: np.ndarray) -> np.ndarray:
        """Return the most probable state of each item, (point, item), for the first latent; 0 if none has states."""
        nonlocal formula
        values = as_chains(graph, [density.values_at(point) for point in points])
        values = add_deterministics(graph, align_classes(values)[0] if permuted else values)
        formula = formula.with_draws(values) if formula else compile_formula(model, data, values)
        if not formula.discrete:
            return np.zeros((len(points), data.n_items), dtype=int)
        states = [one.log_probability[formula.discrete[0]].argmax(axis=1) for one in formula.evaluate()]
        return np.stack(states)[:, formula.patterns.of_item]

    return LogDensity(
        density,
        max(LEAST_ASCENT, most_gradients // (2 * ASCENTS)),
        scales,
        (lambda point: count_labellings(graph, density.values_at(point))) if permuted else None,
        read_states,
    )


def count_labellings(graph: pm.Model, values: Mapping[str, np.ndarray]) -> int:
    """Return the number of different points that result from all permutations of the classes of a point.

    Parameters
    ----------
    graph : pymc.Model
        The graph of a model whose classes can be permuted.
    values : mapping of name to array
        The free variables at the point.
    """
    parts = []
    for name, value in values.items():
        dims = graph.named_vars_to_dims.get(name) or ()
        if "true_class" in dims:
            first = np.moveaxis(value, list(dims).index("true_class"), 0)
            parts.append(first.reshape(len(first), -1))
    classes = np.concatenate(parts, axis=1)  # (true_class, number)
    alike = (np.abs(classes[:, None] - classes) < ALIKE).all(axis=2)  # (true_class, true_class)
    return math.factorial(len(classes)) // math.prod(np.tril(alike).sum(axis=1).tolist())  # of m equal ones: m!


# ------------------------------------------------------------------------------------------------- the masses of modes

TAILS = 6  # degrees of freedom: tails heavier than those of a posterior
DRAWS = 1_000  # around each mode, shared among its labellings
CHOSEN = 200  # draws from which an ascent starts
LEAST_CHOSEN = 50
LEAST_EFFECTIVE = 10.0  # independent draws: with fewer, probabilities are unknown


def weigh(modes: Modes, rng: np.random.Generator, *, show: bool = False) -> Modes:
    """Estimate the probability of each mode, if more than one may be probable.

    Returns
    -------
    Modes
        With shares, and with modes that ascents have found. Probabilities remain unknown if a mode that may be probable
        has no known curvature, the draws are worth fewer than 10 independent ones, or the budget of gradients allows
        fewer than 50 ascents.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.graph.density import Density
    >>> from bayesanno.inference.modes.search import LogDensity
    >>> from bayesanno.inference.modes.search import search
    >>> from bayesanno.inference.modes.search import weigh
    >>> class TwoHumps:  # of widths 0.1 and 0.2
    ...     n_calls = 0
    ...
    ...     def __call__(self, z):
    ...         logs = -((z[0] - [-2, 2]) ** 2) / [0.02, 0.08]
    ...         share = np.exp(logs - np.logaddexp(*logs))
    ...         return np.logaddexp(*logs), np.array([(share * -2 * (z[0] - [-2, 2]) / [0.02, 0.08]).sum()])
    ...
    ...     log_at = Density.log_at
    >>> rng = np.random.default_rng(1)
    >>> found = search(LogDensity(TwoHumps(), 1000), np.array([-2.0]), n_starts=10, most_gradients=10_000, rng=rng)
    >>> weigh(found, rng).probabilities.round(2)
    array([0.67, 0.33])
    """
    around = [(modes.found[at], len(modes.groups[group])) for group in modes.near for at in modes.groups[group]]
    is_known = not (modes.log_density.has_scales or modes.rough or modes.unfinished)
    budget = modes.most_gradients // 2  # of densities, and of ascents
    if len(modes.near) < 2 or not is_known or any(mode.root is None for mode, _ in around) or budget < CHOSEN:
        return modes
    points, log_ratio = _draw_around(modes.log_density, around, min(DRAWS, budget // len(modes.near)), rng)
    n_effective = np.exp(2 * np.logaddexp.reduce(log_ratio) - np.logaddexp.reduce(2 * log_ratio))
    if n_effective < LEAST_EFFECTIVE:
        return modes
    each = (rng.uniform() + np.arange(CHOSEN)) / CHOSEN
    at, times = np.unique(np.searchsorted(np.cumsum(np.exp(smooth_ratios(log_ratio)[0])), each), return_counts=True)
    order = rng.permutation(at.size)  # if gradients do not suffice for all
    n_before = len(modes.found)
    found, (places,) = modes.ascend_from_draws(points[None, at[order]], most_gradients=budget, show=show)
    modes = replace(found, rough=False)  # draws show how probable a mode is whose Hessian was not affordable
    reached = places >= 0
    counts = np.bincount(places[reached], times[order][reached], minlength=len(modes.found))
    if counts.sum() < LEAST_CHOSEN:
        return modes
    share_of: dict[int, float] = {}
    for group in modes.groups:
        drawn_around = [number for number in group if number < n_before] or group
        share_of |= dict.fromkeys(group, float(counts[drawn_around].mean()))
    weighed = tuple(replace(mode, share=share_of[number]) for number, mode in enumerate(modes.found))
    return replace(modes, found=weighed, n_effective=float(min(n_effective, counts.sum())))


def _draw_around(
    log_density: LogDensity, around: Sequence[tuple[Mode, int]], n_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points (sample, dimension) around modes, and return them with their log weights (sample,).

    `around` has each mode with the number of its labellings, among which its draws are divided.
    """
    drawn, shapes = [], []
    for mode, n_labellings in around:
        root, n, n_dim = np.asarray(mode.root), n_draws // n_labellings, mode.point.size
        far = np.sqrt(TAILS / rng.chisquare(TAILS, size=n))  # (sample,)
        drawn.append(mode.point + np.linalg.solve(root, far * rng.standard_normal((n_dim, n))).T)
        shapes.append((mode.point, root, np.log(n) + np.log(np.diag(root)).sum()))
    points = np.concatenate(drawn)
    heights = [
        log - (TAILS + n_dim) / 2 * np.log1p((((points - centre) @ root.T) ** 2).sum(axis=1) / TAILS)
        for centre, root, log in shapes
    ]
    log_ratio = log_density.density.log_at(points) - np.logaddexp.reduce(heights)
    is_inside = np.isfinite(log_ratio)
    return points[is_inside], log_ratio[is_inside]


def compile_model(model: AnnotationModel, data: Data, graph: pm.Model) -> Density:
    """Compile the graph of a model, with the model's own start."""
    return compile_graph(graph, {name: np.asarray(value, dtype=float) for name, value in start_of(model, data).items()})


def find_scales(density: Density, model: Any, graph: pm.Model) -> np.ndarray:
    """Return which dimensions of a point are scale parameters of a model, (dimension,)."""
    found = np.zeros(density.n_dim, dtype=bool)
    for name in model.scale_parameters():
        found[density.parts[graph.rvs_to_values[graph[name]].name][0]] = True
    return found
