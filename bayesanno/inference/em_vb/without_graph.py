"""A fit without a graph: the groups of a fit, made in NumPy from the results of EM or VB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import Labelled
from bayesanno.fits.storage import data_groups
from bayesanno.inference.diagnosis.measures import find_extremes
from bayesanno.inference.em_vb.fixed_point import FixedPointProblem, Found, Point, as_draws
from bayesanno.inference.settings import Results
from bayesanno.modeling.arguments import Answers, Parameters
from bayesanno.modeling.independent import derives_accuracy


def tabulate_parameters(problem: FixedPointProblem, data: Labelled, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Return draws of the parameters on their own scale, (draw, ...), and derived quantities, as one chain."""
    free = as_draws(problem.dims, data, values)
    if not derives_accuracy(problem.dims):
        return free
    is_class = problem.items.names_class.T
    draws = [Parameters({name: value[draw] for name, value in values.items()}) for draw in range(free.sizes["draw"])]
    accuracy = {"accuracy": np.stack([problem.model.accuracy_of(p, is_class) for p in draws])}
    return free.assign(as_draws({"accuracy": ("annotator",)}, data, accuracy).data_vars)


def tabulate_items(found: Found, data: AnnotationData, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Return the posterior of each item's class and its log, its entropy, and the views under parameters."""
    from scipy.special import entr

    problem, probability = found.problem, found.probability  # (item, true_class)
    variables: dict[str, Any] = {
        "probability": (("item", "true_class"), probability),
        "log_probability": (("item", "true_class"), found.log_probability),
        "entropy": (("item",), entr(probability).sum(axis=1)),
    }
    answers: Any = Answers(
        annotator=data.annotator,
        item=data.item,
        n_items=data.n_items,
        all_responses=data.label,
        kept=slice(None),
        n_annotators=data.n_annotators,
        n_responses=data.n_labels,
        names_class=problem.items.names_class,
    )  # derived quantities are arithmetic, of arrays as well as of symbols
    derived = problem.model.derived(answers, probability, Parameters(values))
    variables |= {name: (of.dims, of.values) for name, of in derived.items()}
    return xr.Dataset(variables, coords={"item": list(data.items), "true_class": list(data.classes)})


def tabulate_e_step(problem: FixedPointProblem, data: Labelled, point: Point) -> xr.Dataset:
    """Return the shares from which an item's posterior is computed; they replace labels in a fit without items.

    A probability has two shares, along a last dimension `<name>_share`; see `ConjugateModel`.
    """
    coords: dict[str, Any] = data.coords(true_class=data.classes)
    variables: dict[str, Any] = {}
    for name, values in problem.e_step_shares(point).items():
        dims = problem.dims[name]
        variables[name] = ((*dims, f"{name}_share") if problem.is_pair(name) else dims, values)
    used = {dim for dims, _ in variables.values() for dim in dims}
    return xr.Dataset(variables, coords={dim: names for dim, names in coords.items() if dim in used})


def make_fit(
    found: Found,
    data: Labelled,
    values: Mapping[str, np.ndarray],
    stats: xr.Dataset,
    *,
    views_at: Mapping[str, np.ndarray],
    log_likelihood: np.ndarray | None,
    seconds: float,
    random_seed: int,
    groups: Mapping[str, xr.Dataset] | None = None,
    diagnostics: Mapping[str, Any],
) -> Results:
    """Make the results of a fit from the best end and draws (draw, ...) of the parameters; `groups` are added.

    Views are computed with the parameters `views_at`; log likelihoods are (draw, item), for items in memory.
    """
    problem = found.problem
    groups = {"posterior": tabulate_parameters(problem, data, values), "sample_stats": stats} | dict(groups or {})
    if isinstance(data, AnnotationData):
        groups["latent"] = tabulate_items(found, data, views_at)
    else:
        groups["e_step"] = tabulate_e_step(problem, data, found.best.point)
    if log_likelihood is not None and isinstance(data, AnnotationData):
        groups["log_likelihood"] = of_draws({"annotations": log_likelihood}, data.items)
    swapped = bool((found.permutation != np.arange(found.permutation.size)).any())
    of_chains = dict.fromkeys(("n_chains", "divergences", "maxdepth_reached", "min_bfmi"))  # there are none
    diagnosed = (
        find_extremes(None) | of_chains | {"relabelled_fraction": float(swapped), "n_draws": stats.sizes["draw"]}
    )
    attrs = {"random_seed": random_seed, "seconds_compile": 0.0, "seconds_sample": seconds}
    return Results(groups | data_groups(data), attrs, diagnosed | dict(diagnostics))


def of_draws(values: Mapping[str, np.ndarray], items: Sequence[str] | None = None) -> xr.Dataset:
    """Return values of draws, (draw,) or (draw, item), as variables of one chain."""
    dims = ("chain", "draw", "item")
    n_draws = len(next(iter(values.values())))
    coords: dict[str, Any] = {"chain": [0], "draw": np.arange(n_draws)}
    if items is not None:
        coords["item"] = list(items)
    return xr.Dataset({name: (dims[: value.ndim + 1], value[None]) for name, value in values.items()}, coords=coords)
