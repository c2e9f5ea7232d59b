"""The modes of a likelihood or a posterior density that many starts lead to: places, heights and visits.

A fit gives the posterior; modes are the alternative explanations of the data. Use them to reproduce a paper's table of
maxima, to see whether chains miss an explanation, or for parameters whose best value is 0 or 1.

The invariant: what is listed is a maximum by its slopes and curvature, or says that it is not; and no explanation is
listed twice. Two ends are one mode if they are equally high and say the same of every item; of an end on a level,
where the function is equal at many values, one point stands for all.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pd, pm
from bayesanno.ground.running import one_blas_thread, status, track
from bayesanno.ground.validate import check_seed, known_seed
from bayesanno.inference.find_modes.maximise import End, ascend, find_better, polish
from bayesanno.inference.find_modes.objective import Objective, Target, check_target, name_elements
from bayesanno.inference.find_modes.starts import choose_mode_starts
from bayesanno.inference.graph.density import retry_without_cache
from bayesanno.inference.graph.draws import add_deterministics, as_chains
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import HasSpreads
from bayesanno.modeling.data_kinds import Data
from bayesanno.modeling.posterior import Formula, compile_formula
from bayesanno.modeling.registry import get_model

SAME_VALUE = 1e-6  # nats between ends that may be one
SAME_ITEMS = 1e-4  # by how much they may differ in any item's log likelihood, and in any probability of a state
NEARLY = 10.0  # these times as much before the last digits are computed
MOST_ROUNDS = 5  # of searching for better points near each mode


@dataclass(frozen=True)
class Explanation:
    """An end, and what it says of the items.

    Attributes
    ----------
    end : End
    items : array, shape (pattern,)
        Log likelihood of each kind of item.
    states : array, shape (pattern, state)
        The probabilities of its states; of several latents, side by side.
    visits : int
    """

    end: End
    items: np.ndarray
    states: np.ndarray
    visits: int = 1


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

    L-BFGS climbs from each start, and Newton's method brings its end to the last digits, with parameters on the
    boundary where they belong. The first starts are the majority vote, the minority being right, everybody spamming,
    and the vote mirrored; then these with jitter, draws from the prior, and uniform points.

    Parameters
    ----------
    model : AnnotationModel or str
        A model, or its name.
    data : AnnotationData, CountData or MultiAnnotationData
    objective : {"ml", "map"}, default "ml"
        The likelihood, or the posterior density of the parameters on their own scale: no Jacobian, so that modes are
        not those of a sampler's unconstrained scale.
    starts : int, default 200
        How many points to start from. More find rarer modes; none proves that there are no others.
    random_seed : int, optional
        Makes the result reproducible. Without it one is drawn and given in the attributes.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    pandas.DataFrame
        One row per mode, the highest first, numbered from 1 (`mode`): `objective`, its log in nats; `visits`, how many
        starts led there; `boundary`, which parameters are on the boundary; `maximum`, whether slopes and curvature say
        that it is one; `flat`, in how many inner directions the objective is constant, so that the values are one
        choice of many; `same_as`, the first mode that gives every item the same likelihood, as do those in which
        classes have swapped names; then a column per parameter. The attributes (`attrs`) hold `model`, `objective`,
        `starts`, `random_seed`, `n_modes`, `n_distinct` (those not the same as another), `unbounded` (directions in
        which the objective grows without bound, "competence[ada] -> 0", and how many starts went there) and `lost`
        (starts that failed).

    Raises
    ------
    ModelError
        If the model is unknown.
    DataError
        If the data are not of the kind that the model takes, or cannot support it.
    FitError
        If there is no such objective, the number of starts is below 1, or the model has a parameter that can be any
        number.

    Examples
    --------
    >>> import bayesanno as ba
    >>> modes = ba.find_modes("model_b", ba.read_annotations("@table14"), starts=20, random_seed=1, progressbar=False)
    >>> modes["objective"].round(4).tolist(), modes["same_as"].tolist()[1]
    ([-19866.6532, -19866.6532], 1)
    """
    model = get_model(model)
    check_search(objective, starts, random_seed)
    if isinstance(model, HasSpreads) and model.spreads():
        raise FitError(
            f"the density of {model.name} is highest where all annotators are equal, and it has no mass there: its "
            "modes are meaningless; look for those of model_b"
        )
    model.check(data)
    seed = known_seed(random_seed)

    def run() -> pd.DataFrame:
        return _find(model, data, objective, int(starts), seed, progressbar)

    with one_blas_thread():
        return retry_without_cache(run)


def check_search(objective: Any, starts: Any, random_seed: int | None) -> None:
    """Raise a FitError unless modes can be looked for so."""
    check_target(objective)
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
        raise FitError(f"starts is {starts!r}: it must be a whole number, 1 or more")
    check_seed(random_seed)


def _find(
    model: AnnotationModel, data: Data, objective: Target, n_starts: int, seed: int, progressbar: bool
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    with status("compiling", show=progressbar):
        graph = model.build(data)
        function = Objective(graph, objective)
        points = choose_mode_starts(model, data, graph, function, n_starts, rng)
        reader = _Reader(model, data, graph, function)
    region = function.region
    climbed = [ascend(function, region, point) for point in track(list(points), "climbing", show=progressbar)]
    found = [end for end in climbed if np.isfinite(end.value)]
    groups = _merge(reader.explain(found, [1] * len(found)), tolerance=NEARLY)
    ends = [polish(function, region, one.end) for one in track(groups, "to the last digits", show=progressbar)]
    pairs = [(end, one.visits) for end, one in zip(ends, groups, strict=True)]
    unbounded: Counter[str] = Counter()
    tried: list[End] = []
    for _ in range(MOST_ROUNDS):
        for end, visits in pairs:
            for which in end.singular:
                name, limit = function.edges[which]
                unbounded[f"{name} -> {limit}"] += visits
        bounded = [(end, visits) for end, visits in pairs if not end.singular]
        modes = _merge(reader.explain(*map(list, zip(*bounded, strict=True)))) if bounded else []
        new = [one for one in modes if not any(one.end is end for end in tried)]
        if not new:
            break
        better = {
            id(one.end): find_better(function, region, one.end, rng)
            for one in track(new, "searching near each mode", show=progressbar)
        }
        tried += [one.end for one in new if better[id(one.end)] is one.end]
        pairs = [(better.get(id(one.end), one.end), one.visits) for one in modes]
    about: dict[str, Any] = {
        "model": model.name,
        "objective": objective,
        "starts": n_starts,
        "random_seed": seed,
        "unbounded": dict(unbounded.most_common()),
        "lost": n_starts - len(found),
    }
    return _tabulate(
        _put_in_order(modes, reader, model.competence),
        reader,
        about,
    )


class _Reader:
    """What points on a function say: of the items, and as parameters under their names."""

    def __init__(self, model: AnnotationModel, data: Data, graph: pm.Model, function: Objective) -> None:
        import pytensor

        self.graph, self.function = graph, function
        middle = function.region.inside(np.ones(function.region.owner.size))
        with pytensor.config.change_flags(mode="FAST_COMPILE"):  # it is evaluated a few hundred times at most
            self._formula: Formula = compile_formula(model, data, self.parameters([middle]))

    def parameters(self, points: Sequence[np.ndarray]) -> Any:
        """Return the parameters at points, deterministics among them, one chain for each point."""
        return add_deterministics(self.graph, as_chains(self.graph, [self.function.values_at(z) for z in points]))

    def explain(self, ends: Sequence[End], visits: Sequence[int]) -> list[Explanation]:
        """Say what each end makes of the items."""
        if not ends:
            return []
        draws = self.parameters([self.function.region.inside(end.point) for end in ends])
        values = {name: draws[name].values[:, 0] for name in self._formula.draws}  # (end, ...)
        read = dataclasses.replace(self._formula, draws=values).evaluate()
        return [
            Explanation(end, one.log_likelihood, np.concatenate(list(one.probability.values()), axis=1), visited)
            for end, one, visited in zip(ends, read, visits, strict=True)
        ]


def _merge(ends: Sequence[Explanation], *, tolerance: float = 1.0) -> list[Explanation]:
    """Return one of each, the highest, with the visits of all that are the same."""
    kept: list[Explanation] = []
    for one in sorted(ends, key=lambda one: -one.end.value):
        for place, other in enumerate(kept):
            if _are_one(one, other, tolerance):
                kept[place] = replace(other, visits=other.visits + one.visits)
                break
        else:
            kept.append(one)
    return kept


def _are_one(one: Explanation, other: Explanation, tolerance: float) -> bool:
    if abs(one.end.value - other.end.value) > tolerance * SAME_VALUE or not _alike(one, other, tolerance):
        return False
    if np.abs(one.states - other.states).max() <= tolerance * SAME_ITEMS:
        return True
    # On a level along which the states of items change, ends differ by more than the names of the states.
    return bool(len(one.end.flat) and len(other.end.flat)) and _find_swap(one, other) is None


def _alike(one: Explanation, other: Explanation, tolerance: float = 1.0) -> bool:
    """Whether every item has the same likelihood."""
    return bool(np.abs(one.items - other.items).max() <= tolerance * SAME_ITEMS)


def _find_swap(one: Explanation, other: Explanation) -> np.ndarray | None:
    """Return which state of the one is each state of the other, shape (state,), or None if they differ otherwise."""
    from scipy.optimize import linear_sum_assignment

    apart = np.abs(one.states[:, :, None] - other.states[:, None, :]).max(axis=0)  # (state there, state here)
    there, here = linear_sum_assignment(apart)
    return here if apart[there, here].max() <= SAME_ITEMS else None


def _put_in_order(modes: Sequence[Explanation], reader: _Reader, competence: str | None) -> list[Explanation]:
    """Return the highest first; of equally high ones the one in which annotators are most competent."""
    level = np.zeros(len(modes))
    if competence is not None and modes:
        level = reader.parameters([one.end.point for one in modes])[competence].values.reshape(len(modes), -1).mean(1)
    keys = [(-round(one.end.value / SAME_VALUE / 10), -level[number], number) for number, one in enumerate(modes)]
    return [modes[number] for *_, number in sorted(keys)]


def _tabulate(modes: Sequence[Explanation], reader: _Reader, attrs: dict[str, Any]) -> pd.DataFrame:

    edges = reader.function.edges
    first = [next(number for number, other in enumerate(modes) if _alike(one, other)) for one in modes]
    columns = {
        "objective": [one.end.value for one in modes],
        "visits": [one.visits for one in modes],
        "boundary": [
            "; ".join(" = ".join(edges[which]) for which in np.flatnonzero(one.end.point <= 0)) for one in modes
        ],
        "maximum": [one.end.maximum for one in modes],
        "flat": [len(one.end.flat) for one in modes],
        "same_as": pd.array([1 + at if at < number else None for number, at in enumerate(first)], dtype="Int64"),
    }
    points = [one.end.point for one in modes] or [np.ones(reader.function.region.owner.size)]
    parameters = reader.parameters(points).isel(draw=0, drop=True)  # (chain, ...), the modes
    named: dict[str, np.ndarray] = {}
    for name, variable in parameters.data_vars.items():
        ordered = variable.transpose("chain", ...)
        labels = name_elements(str(name), [ordered[dim].values for dim in ordered.dims[1:]])
        named |= dict(zip(labels, ordered.values.reshape(len(points), -1).T[:, : len(modes)], strict=True))
    table = pd.DataFrame(columns | named, index=pd.RangeIndex(1, 1 + len(modes), name="mode"))
    table.attrs.update(attrs, n_modes=len(modes), n_distinct=len(set(first)))
    return table
