"""Modes of a likelihood or a posterior density, found from many starts: position, height, and number of visits.

A fit gives the posterior; modes are the alternative explanations of the data. Use them to reproduce a paper's table of
maxima, to see whether chains miss an explanation, or for parameters with a best value of 0 or 1.

The invariant: each listed point is a maximum by its slopes and curvature, or is marked as not being one, and no
explanation is listed twice. Two ends are one mode if they are equally high and agree on every item. On a plateau, one
point stands for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import FitError, name_elements
from bayesanno._core.running import one_blas_thread, status, track
from bayesanno._core.validate import check_seed, known_seed
from bayesanno.inference.modes.objective import FLOOR, Coordinates, Objective, Target
from bayesanno.inference.modes.polish import Maximum, ascend, polish
from bayesanno.inference.modes.search import merge
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import start_of
from bayesanno.modeling.kinds import Data
from bayesanno.modeling.posterior import Formula, compile_formula
from bayesanno.modeling.registry import get_model

SAME_VALUE = 1e-6  # largest difference, in nats, between ends of the same mode
SAME_ITEMS = 1e-4  # largest difference in any item's log likelihood, and in any probability of a state
NEARLY = 10.0  # these tolerances are wider by this factor before polishing
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
    data : data of the kind that the model takes
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
            f"the density of {model.name} is highest where all annotators are equal, and there are no draws there: its "
            "modes are meaningless; look for those of model_b"
        )
    model.check(data)
    seed = known_seed(random_seed)
    with one_blas_thread():
        return _find(model, data, objective, int(starts), seed, show=progressbar)


def check_search(objective: Any, starts: Any, random_seed: int | None) -> None:
    """Raise a FitError if a setting of the search is invalid."""
    if objective not in get_args(Target):
        raise FitError(f"objective is {objective!r}: it must be 'ml' (the likelihood) or 'map' (the posterior density)")
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
        raise FitError(f"starts is {starts!r}: it must be a whole number, 1 or more")
    check_seed(random_seed)


def _find(model: AnnotationModel, data: Data, target: Target, n_starts: int, seed: int, *, show: bool) -> pd.DataFrame:
    import pytensor

    rng = np.random.default_rng(seed)
    with status("compiling", show=show):
        parameters = Coordinates(model.build(data))
        objective = parameters.compile(target)
        with pytensor.config.change_flags(mode="FAST_COMPILE"):  # it is evaluated a few hundred times at most
            formula = compile_formula(model, data, parameters.draws_at([objective.middle]))
    views = [start_of(model, data)]
    if model.competence in views[0]:
        views.append(views[0] | {model.competence: np.full(np.shape(views[0][model.competence]), NOBODY_KNOWS)})
    starts = choose_points(objective, [parameters.coordinates_of(view) for view in views], n_starts, rng)
    climbed = [ascend(objective, start) for start in track(starts, "climbing", show=show)]
    found = [end for end in climbed if np.isfinite(end.log_density)]
    groups = merge(_predict(found, parameters, formula), partial(_are_one, tolerance=NEARLY))
    ends = [polish(objective, end, rng) for end in track(groups, "refining", show=show)]
    modes = merge(_predict([end for end in ends if not end.singular], parameters, formula), _are_one)
    unbounded: Counter[str] = Counter()
    for end in ends:
        unbounded.update({" -> ".join(parameters.edges[which]): end.visits for which in end.singular})
    table = _tabulate(modes, parameters, model.competence)
    table.attrs.update(
        {"model": model.name, "objective": target, "starts": n_starts, "random_seed": seed},
        unbounded=dict(unbounded.most_common()),
        lost=n_starts - len(found),
    )
    return table


def choose_points(
    objective: Objective, first: Sequence[np.ndarray], n_starts: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return starting points: the given ones, then uniform ones, none nearer to 0 than LEAST."""
    points = [*first, *(objective.draw(rng) for _ in range(n_starts - len(first)))]
    return [objective.move_inside(point, LEAST) for point in points[:n_starts]]


def _predict(ends: Sequence[Maximum], parameters: Coordinates, formula: Formula) -> list[Maximum]:
    """Return ends with their predictions for the items."""
    if not ends:
        return []
    formula = formula.with_draws(parameters.draws_at([np.maximum(end.point, FLOOR) for end in ends]))
    return [
        replace(end, items=one.log_likelihood, classes=np.concatenate(list(one.probability.values()), axis=1))
        for end, one in zip(ends, formula.evaluate(), strict=True)
    ]


def _are_one(one: Maximum, other: Maximum, tolerance: float = 1.0) -> bool:
    if abs(one.log_density - other.log_density) > tolerance * SAME_VALUE or not _alike(one, other, tolerance):
        return False
    if np.abs(one.classes - other.classes).max() <= tolerance * SAME_ITEMS:
        return True
    # On a plateau along which the states of items change, ends differ by more than the names of the states.
    return bool(len(one.flat) and len(other.flat)) and not _are_swapped(one, other)


def _alike(one: Maximum, other: Maximum, tolerance: float = 1.0) -> bool:
    """Whether every item has the same likelihood."""
    return bool(np.abs(one.items - other.items).max() <= tolerance * SAME_ITEMS)


def _are_swapped(one: Maximum, other: Maximum) -> bool:
    """Whether two ends differ only in the names of the states."""
    from scipy.optimize import linear_sum_assignment

    apart = np.abs(one.classes[:, :, None] - other.classes[:, None, :]).max(axis=0)  # (state there, state here)
    return bool(apart[linear_sum_assignment(apart)].max() <= SAME_ITEMS)


def _tabulate(modes: Sequence[Maximum], parameters: Coordinates, competence: str | None) -> pd.DataFrame:
    """Return one row per mode, the highest first; of equally high ones, that of the most competent annotators first."""
    points = [one.point for one in modes] or [1 / np.repeat(parameters.sizes, parameters.sizes)]  # for the columns
    draws = parameters.draws_at(points).isel(draw=0, drop=True)  # (chain, ...), the modes
    level = (
        np.zeros(len(modes)) if competence is None else draws[competence].values.reshape(len(points), -1).mean(axis=1)
    )
    height = [round(one.log_density / SAME_VALUE / 10) for one in modes]
    order = sorted(range(len(modes)), key=lambda at: (-height[at], -level[at]))
    modes = [modes[at] for at in order]
    first = [next(number for number, other in enumerate(modes) if _alike(one, other)) for one in modes]
    edges = [[" = ".join(parameters.edges[which]) for which in np.flatnonzero(one.point <= 0)] for one in modes]
    columns: dict[str, Any] = {
        "objective": [one.log_density for one in modes],
        "visits": [one.visits for one in modes],
        "boundary": ["; ".join(names) for names in edges],
        "maximum": [one.is_reached for one in modes],
        "flat": [len(one.flat) for one in modes],
        "same_as": pd.array([1 + at if at < number else None for number, at in enumerate(first)], dtype="Int64"),
    }
    for name, variable in draws.data_vars.items():
        values = variable.transpose("chain", ...)[order]
        labels = name_elements(str(name), [values[dim].values for dim in values.dims[1:]])
        columns |= dict(zip(labels, values.values.reshape(len(modes), len(labels)).T, strict=True))
    table = pd.DataFrame(columns, index=pd.RangeIndex(1, 1 + len(modes), name="mode"))
    table.attrs.update(n_modes=len(modes), n_distinct=len(set(first)))
    return table
