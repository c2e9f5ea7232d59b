"""Modes of a likelihood or a posterior density, found from many starts: position, height, and number of visits.

A fit gives the posterior; modes are the alternative explanations of the data. Use them to reproduce a paper's table of
maxima, to see whether chains miss an explanation, or for parameters with a best value of 0 or 1.

The invariant: each listed point is a maximum by its slopes and curvature, or is marked as not being one, and no
explanation is listed twice. Two ends are one mode if they are equally high and agree on every item. On a plateau, one
point stands for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesanno._core.errors import FitError
from bayesanno._core.lazy import pd, xr
from bayesanno._core.running import one_blas_thread, status, track
from bayesanno._core.validate import check_seed, known_seed
from bayesanno._core.wording import name_elements
from bayesanno.graph.density import retry_without_cache
from bayesanno.graph.draws import add_deterministics, as_chains
from bayesanno.inference.modes.objective import Objective, Parameters, Target, check_target
from bayesanno.inference.modes.polish import End, ascend, find_better, polish
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import start_of
from bayesanno.modeling.data_adapters import Data
from bayesanno.modeling.posterior import Formula, compile_formula
from bayesanno.modeling.registry import get_model

SAME_VALUE = 1e-6  # largest difference, in nats, between ends of the same mode
SAME_ITEMS = 1e-4  # largest difference in any item's log likelihood, and in any probability of a state
NEARLY = 10.0  # these tolerances are wider by this factor before polishing
MOST_ROUNDS = 5  # of searching for better points near each mode
LEAST = 1e-4  # least distance of a start from the boundary
NOBODY_KNOWS = 0.02  # the competence of all annotators in a start that explains answers without the truth


def find_modes(
    model: AnnotationModel | str,
    data: Data,
    *,
    objective: Target = "ml",
    starts: int = 200,
    random_seed: int | None = None,
    progressbar: bool = True,
) -> pd.DataFrame:
    """Find the modes of a model's likelihood, or of its posterior density, from many starts.

    L-BFGS climbs from each start, and Newton's method refines the end to full precision, with parameters on the
    boundary where appropriate. The first start is that of chains, often the majority vote. The second is the same with
    incompetent annotators, if they have a competence. All others are uniform points.

    Parameters
    ----------
    model : AnnotationModel or str
        A model, or its name.
    data : AnnotationData, CountData or MultiAnnotationData
    objective : {"ml", "map"}, default "ml"
        The likelihood, or the posterior density of the parameters on their own scale (without a Jacobian, so modes
        differ from those on a sampler's unconstrained scale).
    starts : int, default 200
        The number of starting points. More of them find rarer modes, but no number proves that there are no others.
    random_seed : int, optional
        Makes the result reproducible. By default a seed is drawn and stored in the attributes.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    pandas.DataFrame
        One row per mode, the highest first, numbered from 1 (`mode`): `objective`, its log in nats; `visits`, the
        number of starts that led there; `boundary`, the parameters on the boundary; `maximum`, whether slopes and
        curvature confirm a maximum; `flat`, the number of interior directions in which the objective is constant, so
        that the values are one choice of many; `same_as`, the first mode that gives every item the same likelihood, as
        modes with swapped classes do; then one column per parameter. The attributes (`attrs`) have `model`,
        `objective`, `starts`, `random_seed`, `n_modes`, `n_distinct` (modes that are not the same as another),
        `unbounded` (directions in which the objective grows without bound, "competence[ada] -> 0", and their number of
        starts) and `lost` (failed starts).

    Raises
    ------
    ModelError
        If the model is unknown.
    DataError
        If the data are not of the kind that the model takes, or cannot support it.
    FitError
        If the objective is unknown, the number of starts is below 1, or the model has an unbounded parameter.

    Examples
    --------
    >>> import bayesanno as ba
    >>> modes = ba.find_modes("model_b", ba.read_annotations("@table14"), starts=20, random_seed=1, progressbar=False)
    >>> modes["objective"].round(4).tolist(), modes["same_as"].tolist()[1]
    ([-19866.6532, -19866.6532], 1)
    """
    model = get_model(model)
    check_search(objective, starts, random_seed)
    if model.scale_parameters():
        raise FitError(
            f"the density of {model.name} is highest where all annotators are equal, and it has no mass there: its "
            "modes are meaningless; look for those of model_b"
        )
    model.check(data)
    seed = known_seed(random_seed)
    with one_blas_thread():
        return retry_without_cache(lambda: _find(model, data, objective, int(starts), seed, show=progressbar))


def check_search(objective: Any, starts: Any, random_seed: int | None) -> None:
    """Raise a FitError if a setting of the search is invalid."""
    check_target(objective)
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
        raise FitError(f"starts is {starts!r}: it must be a whole number, 1 or more")
    check_seed(random_seed)


def _find(model: AnnotationModel, data: Data, target: Target, n_starts: int, seed: int, *, show: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    with status("compiling", show=show):
        reader = _Reader(model, data, target)
    objective = reader.objective
    views = [start_of(model, data)]
    if model.competence in views[0]:
        views.append(views[0] | {model.competence: np.full(np.shape(views[0][model.competence]), NOBODY_KNOWS)})
    starts = choose_points(objective, [reader.read_start(view) for view in views], n_starts, rng)
    climbed = [ascend(objective, start) for start in track(starts, "climbing", show=show)]
    found = [end for end in climbed if np.isfinite(end.value)]
    groups = _merge(reader.explain(found), tolerance=NEARLY)
    ends = [polish(objective, end) for end in track(groups, "refining", show=show)]
    unbounded: Counter[str] = Counter()
    tried: set[bytes] = set()  # points from which no better one was found
    modes: list[End] = []
    for _ in range(MOST_ROUNDS):
        for end in ends:
            for which in end.singular:
                unbounded[" -> ".join(reader.edges[which])] += end.visits
        modes = _merge(reader.explain([end for end in ends if not end.singular]))
        if tried >= {end.point.tobytes() for end in modes}:
            break
        ends = []
        for end in track(modes, "searching near each mode", show=show):
            place = end.point.tobytes()
            better = end if place in tried else find_better(objective, end, rng)
            if better is end:
                tried.add(place)
            ends.append(replace(better, visits=end.visits))
    about: dict[str, Any] = {
        "model": model.name,
        "objective": target,
        "starts": n_starts,
        "random_seed": seed,
        "unbounded": dict(unbounded.most_common()),
        "lost": n_starts - len(found),
    }
    return _tabulate(_put_in_order(modes, reader, model.competence), reader, about)


def choose_points(
    objective: Objective, first: Sequence[np.ndarray], n_starts: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return starting points: the given ones, then uniform ones, none nearer to 0 than LEAST."""
    points = [*first, *(objective.draw(rng) for _ in range(n_starts - len(first)))]
    return [objective.move_inside(point, LEAST) for point in points[:n_starts]]


class _Reader:
    """Reads points of an objective: their predictions for items, and their named parameters."""

    def __init__(self, model: AnnotationModel, data: Data, target: Target) -> None:
        import pytensor

        self._graph = model.build(data)
        self._parameters = Parameters(self._graph)
        self.objective, self.edges = self._parameters.compile(target), self._parameters.edges
        with pytensor.config.change_flags(mode="FAST_COMPILE"):  # it is evaluated a few hundred times at most
            self._formula: Formula = compile_formula(model, data, self.read([self.objective.middle]))

    def read_start(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return the point with given values of some parameters and middle values of all others."""
        return self._parameters.coordinates_of(self._parameters.values_at(self.objective.middle) | dict(values))

    def read(self, points: Sequence[np.ndarray]) -> xr.Dataset:
        """Return parameters and deterministics at points, one chain per point."""
        values = [self._parameters.values_at(point) for point in points]
        return add_deterministics(self._graph, as_chains(self._graph, values))

    def explain(self, ends: Sequence[End]) -> list[End]:
        """Return ends with their predictions for the items."""
        if not ends:
            return []
        draws = self.read([self.objective.move_inside(end.point) for end in ends])
        values = {name: draws[name].values[:, 0] for name in self._formula.draws}  # (end, ...)
        return [
            replace(end, items=one.log_likelihood, states=np.concatenate(list(one.probability.values()), axis=1))
            for end, one in zip(ends, replace(self._formula, draws=values).evaluate(), strict=True)
        ]


def _merge(ends: Sequence[End], *, tolerance: float = 1.0) -> list[End]:
    """Return distinct explanations, the highest of each, with the visits of equal ones added up."""
    kept: list[End] = []
    for one in sorted(ends, key=lambda one: -one.value):
        for place, other in enumerate(kept):
            if _are_one(one, other, tolerance):
                kept[place] = replace(other, visits=other.visits + one.visits)
                break
        else:
            kept.append(one)
    return kept


def _are_one(one: End, other: End, tolerance: float) -> bool:
    if abs(one.value - other.value) > tolerance * SAME_VALUE or not _alike(one, other, tolerance):
        return False
    if np.abs(one.states - other.states).max() <= tolerance * SAME_ITEMS:
        return True
    # On a plateau along which the states of items change, ends differ by more than the names of the states.
    return bool(len(one.flat) and len(other.flat)) and not _are_swapped(one, other)


def _alike(one: End, other: End, tolerance: float = 1.0) -> bool:
    """Whether every item has the same likelihood."""
    return bool(np.abs(one.items - other.items).max() <= tolerance * SAME_ITEMS)


def _are_swapped(one: End, other: End) -> bool:
    """Whether two ends differ only in the names of the states."""
    from scipy.optimize import linear_sum_assignment

    apart = np.abs(one.states[:, :, None] - other.states[:, None, :]).max(axis=0)  # (state there, state here)
    return bool(apart[linear_sum_assignment(apart)].max() <= SAME_ITEMS)


def _put_in_order(modes: Sequence[End], reader: _Reader, competence: str | None) -> list[End]:
    """Return the highest first; among equally high ones, the one with the most competent annotators."""
    level = np.zeros(len(modes))
    if competence is not None and modes:
        level = reader.read([one.point for one in modes])[competence].values.reshape(len(modes), -1).mean(1)
    keys = [(-round(one.value / SAME_VALUE / 10), -level[number], number) for number, one in enumerate(modes)]
    return [modes[number] for *_, number in sorted(keys)]


def _tabulate(modes: Sequence[End], reader: _Reader, attrs: dict[str, Any]) -> pd.DataFrame:
    first = [next(number for number, other in enumerate(modes) if _alike(one, other)) for one in modes]
    columns: dict[str, Any] = {
        "objective": [one.value for one in modes],
        "visits": [one.visits for one in modes],
        "boundary": [
            "; ".join(" = ".join(reader.edges[which]) for which in np.flatnonzero(one.point <= 0)) for one in modes
        ],
        "maximum": [one.maximum for one in modes],
        "flat": [len(one.flat) for one in modes],
        "same_as": pd.array([1 + at if at < number else None for number, at in enumerate(first)], dtype="Int64"),
    }
    points = [one.point for one in modes]
    parameters = reader.read(points or [reader.objective.middle]).isel(draw=0, drop=True)  # (chain, ...), the modes
    for name, variable in parameters.data_vars.items():
        ordered = variable.transpose("chain", ...)
        labels = name_elements(str(name), [ordered[dim].values for dim in ordered.dims[1:]])
        values = ordered.values[: len(modes)].reshape(len(modes), len(labels))
        columns |= dict(zip(labels, values.T, strict=True))
    table = pd.DataFrame(columns, index=pd.RangeIndex(1, 1 + len(modes), name="mode"))
    table.attrs.update(attrs, n_modes=len(modes), n_distinct=len(set(first)))
    return table
