"""EM as a method of `fit`: from a model and annotations to a fit that is one point, without PyMC.

The invariant: what a fit by EM holds under a name, it holds in the form that other fits do, and a posterior that was
not computed (draws, intervals, convergence) is not there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.inference.climbing.climb import away_from_zero, require_updates
from bayesanno.inference.climbing.em import EM, EMSettings
from bayesanno.inference.climbing.restarts import find_best
from bayesanno.inference.climbing.without_graph import (
    describe_found,
    make_fit,
    of_draws,
    tabulate_e_step,
    tabulate_items,
    tabulate_parameters,
)
from bayesanno.inference.dask.annotations import items_of
from bayesanno.modeling.capabilities import Relabels, is_exchangeable

if TYPE_CHECKING:
    import xarray

    from bayesanno.data.labelled import Labelled
    from bayesanno.inference.climbing.restarts import Found
    from bayesanno.modeling.base import AnnotationModel


def fit_by_em(
    model: AnnotationModel,
    data: Labelled,
    settings: EMSettings,
    *,
    initvals: Any,
    relabel: bool,
    random_seed: int,
    progressbar: bool,
) -> xarray.DataTree:
    """Fit a model by EM; the arguments are those of `fit`.

    The first start is near the majority vote ("auto", "vote"), or the given point; the others are drawn from the prior,
    and with "prior" the first as well.
    """
    begin = time.perf_counter()
    problem, found = find_point(
        model, data, settings, initvals=initvals, relabel=relabel, random_seed=random_seed, progressbar=progressbar
    )
    seconds = time.perf_counter() - begin
    values = problem.as_values(found.best.point)
    groups = {
        "posterior": tabulate_parameters(problem, data, {name: value[None] for name, value in values.items()}),
        "sample_stats": of_draws({"lp": np.array([found.best.objective])}),
    }
    if isinstance(data, AnnotationData):
        groups["log_likelihood"] = of_draws({"annotations": found.log_likelihood[None]}, data.items)
        groups["latent"] = tabulate_items(problem, data, found.probability, values)
    else:
        groups["e_step"] = tabulate_e_step(problem, data, found.best.point)
    diagnostics = describe_found(found) | {"n_draws": 1, "em": found.comparison}
    return make_fit(model, data, groups, seconds=seconds, random_seed=random_seed, diagnostics=diagnostics)


def find_point(
    model: AnnotationModel,
    data: Labelled,
    settings: EMSettings,
    *,
    initvals: Any = "auto",
    relabel: bool = True,
    random_seed: int,
    progressbar: bool = False,
) -> tuple[EM, Found]:
    """Run EM from all starts, and compare where they ended."""
    problem = EM(require_updates(model, "em"), data, items_of(data), settings)
    exchangeable = relabel and (
        is_exchangeable(model, data)
        if settings.objective == "map"
        else isinstance(model, Relabels) and not data.controls  # the likelihood does not tell the classes apart
    )
    found = find_best(
        problem, data, initvals, exchangeable=exchangeable, random_seed=random_seed, progressbar=progressbar
    )
    return problem, found


def start_at_point(model: AnnotationModel, data: Any, random_seed: int) -> dict[str, np.ndarray]:
    """Return the best point that EM finds for the posterior density, off the edges: where chains may start."""
    problem, found = find_point(model, data, EMSettings(objective="map"), random_seed=random_seed)
    return problem.as_values({name: away_from_zero(values) for name, values in found.best.point.items()})
