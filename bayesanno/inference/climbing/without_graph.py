"""A fit without a graph: the groups that every fit has, made in NumPy of what a method that climbs has found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.fits.storage import data_groups, versions
from bayesanno.ground.errors import ConvergenceWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.inference.climbing.restarts import as_draws
from bayesanno.inference.diagnosis.explain import explain, explain_votes
from bayesanno.inference.diagnosis.measures import find_extremes
from bayesanno.modeling.arguments import Answers, Parameters
from bayesanno.modeling.capabilities import HasViews

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.data.labelled import Labelled
    from bayesanno.inference.climbing.climb import Point, Problem
    from bayesanno.inference.climbing.restarts import Found
    from bayesanno.modeling.base import AnnotationModel


def tabulate_parameters(problem: Problem, data: Labelled, values: Mapping[str, np.ndarray]) -> xarray.Dataset:
    """Return draws of the parameters on their own scale, (draw, ...), with what follows from them, as one chain."""
    model, names_class = problem.model, problem.items.names_class
    each = [
        model.deterministics({name: value[draw] for name, value in values.items()}, names_class)
        for draw in range(len(next(iter(values.values()))))
    ]
    more = {name: np.stack([found[name] for found in each]) for name in each[0]}
    free = as_draws(model.parameter_dims, data, values)
    return free.assign(as_draws(model.parameter_dims, data, more).data_vars) if more else free


def tabulate_items(
    problem: Problem, data: AnnotationData, probability: np.ndarray, values: Mapping[str, np.ndarray]
) -> xarray.Dataset:
    """Return the posterior of each item's class (item, true_class), its entropy, and the views under parameters."""
    from scipy.special import entr

    variables: dict[str, Any] = {
        "probability": (("item", "true_class"), probability),
        "entropy": (("item",), entr(probability).sum(axis=1)),
    }
    if isinstance(problem.model, HasViews):
        answers: Any = Answers(
            annotator=data.annotator,
            item=data.item,
            n_items=data.n_items,
            all_responses=data.label,
            kept=slice(None),
            n_annotators=data.n_annotators,
            n_responses=data.n_labels,
            names_class=problem.items.names_class,
        )  # a view is arithmetic, of arrays as well as of symbols
        views = problem.model.views(answers, probability, Parameters(values))
        variables |= {name: (view.dims, view.values) for name, view in views.items()}
    return xr.Dataset(variables, coords={"item": list(data.items), "true_class": list(data.classes)})


def tabulate_e_step(problem: Problem, data: Labelled, point: Point) -> xarray.Dataset:
    """Return the shares that an item's posterior is computed with: of a fit that holds no items, all of its labels.

    Of a probability there are two, along a last dimension `<name>_share`; see `HasUpdates`.
    """
    coords: dict[str, Any] = data.coords(true_class=data.classes)
    variables: dict[str, Any] = {}
    for name, values in problem.e_step_shares(point).items():
        dims = problem.model.parameter_dims[name]
        variables[name] = ((*dims, f"{name}_share") if problem.is_pair(name) else dims, values)
    used = {dim for dims, _ in variables.values() for dim in dims}
    return xr.Dataset(variables, coords={dim: names for dim, names in coords.items() if dim in used})


def describe_found(found: Found) -> dict[str, Any]:
    """Return the diagnostics that every fit has, of a method without chains."""
    swapped = bool((found.permutation != np.arange(found.permutation.size)).any())
    return find_extremes(None) | {
        "n_chains": None,
        "divergences": None,
        "maxdepth_reached": None,
        "min_bfmi": None,
        "relabelled_fraction": float(swapped),
    }


def make_fit(
    model: AnnotationModel,
    data: Labelled,
    groups: Mapping[str, xarray.Dataset],
    *,
    seconds: float,
    random_seed: int,
    diagnostics: Mapping[str, Any],
) -> xarray.DataTree:
    """Put the groups of a fit together with those of the data; warn of what the diagnostics say."""
    said = explain_votes(data, groups["latent"]) if "latent" in groups else []
    diagnostics = {**diagnostics, **({"remarks": said} if said else {})}
    for problem in explain(diagnostics):
        warn(problem, ConvergenceWarning)
    tree = xr.DataTree.from_dict({**groups, **data_groups(data)})
    tree.attrs = {
        "random_seed": random_seed,
        "seconds_compile": 0.0,
        "seconds_sample": seconds,
        "model": model.name,
        "fields": json.dumps(model.to_fields()),
        "data_hash": data.hash,
        "versions": json.dumps(versions()),
        "diagnostics": json.dumps(diagnostics),
    }
    return tree


def of_draws(values: Mapping[str, np.ndarray], items: Sequence[str] | None = None) -> xarray.Dataset:
    """Return numbers of draws, (draw,) or (draw, item), as the variables of one chain."""
    dims = ("chain", "draw", "item")
    n_draws = len(next(iter(values.values())))
    coords: dict[str, Any] = {"chain": [0], "draw": np.arange(n_draws)}
    if items is not None:
        coords["item"] = list(items)
    return xr.Dataset({name: (dims[: value.ndim + 1], value[None]) for name, value in values.items()}, coords=coords)
