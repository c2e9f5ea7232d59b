"""EM as a method of `fit`: from a model and annotations to a fit that is one point, without PyMC.

The invariant: what a fit by EM holds under a name, it holds in the form that other fits do, and a posterior that was
not computed (draws, intervals, convergence) is not there.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.fits.storage import data_groups, versions
from bayesanno.ground.errors import ConvergenceWarning, FitError, warn
from bayesanno.ground.lazy import xr
from bayesanno.ground.threads import one_blas_thread
from bayesanno.inference.diagnostics import explain, find_extremes
from bayesanno.inference.em import EMSettings, Problem, away_from_zero, climb_from_all, require_updates
from bayesanno.inference.relabel import align_classes
from bayesanno.modeling.capabilities import HasViews, Relabels, is_exchangeable
from bayesanno.modeling.expectation import make_blocks, read_items
from bayesanno.modeling.observations import Answers
from bayesanno.modeling.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.inference.em import Ascent
    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.expectation import Shares

AGREE = 1e-2  # nats between the ends of starts that found the same maximum: more than the tolerance leaves


@dataclass(frozen=True)
class Found:
    """What EM found: the best end, its items, and how all ends compare.

    Attributes
    ----------
    best : Ascent
        With the classes under their own names.
    problem : Problem
    permuted : bool
        Whether classes had swapped names in the best end, and were given their own.
    probability : array, shape (item, true_class)
    log_likelihood : array, shape (item,)
    diagnostics : dict
    """

    best: Ascent
    problem: Problem
    permuted: bool
    probability: np.ndarray
    log_likelihood: np.ndarray
    diagnostics: dict[str, Any]


def fit_by_em(
    model: AnnotationModel,
    data: AnnotationData,
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
    found = find_point(
        model, data, settings, initvals=initvals, relabel=relabel, random_seed=random_seed, progressbar=progressbar
    )
    seconds = time.perf_counter() - begin
    posterior, latent = _tabulate_parameters(data, found), _tabulate_items(model, data, found)
    of_draw = {"chain": [0], "draw": [0]}
    stats = {"lp": (("chain", "draw"), [[found.best.objective]])}
    log_likelihood = found.log_likelihood[None, None]
    groups = {
        "posterior": posterior,
        "sample_stats": xr.Dataset(stats, coords=of_draw),
        "log_likelihood": xr.Dataset(
            {"annotations": (("chain", "draw", "item"), log_likelihood)}, coords=of_draw | {"item": list(data.items)}
        ),
        "latent": latent,
        **data_groups(data),
    }
    for problem in explain(found.diagnostics):
        warn(problem, ConvergenceWarning)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {
        "random_seed": random_seed,
        "seconds_compile": 0.0,
        "seconds_sample": seconds,
        "model": model.name,
        "fields": json.dumps(model.to_fields()),
        "data_hash": data.hash,
        "versions": json.dumps(versions()),
        "diagnostics": json.dumps(found.diagnostics),
    }
    return tree


def find_point(
    model: AnnotationModel,
    data: AnnotationData,
    settings: EMSettings,
    *,
    initvals: Any = "auto",
    relabel: bool = True,
    random_seed: int,
    progressbar: bool = False,
) -> Found:
    """Run EM from all starts, and compare where they ended."""
    updates = require_updates(model)
    items = make_blocks(data)
    problem = Problem(updates, data, items, settings)
    first = None
    if not (isinstance(initvals, str) and initvals == "prior"):
        given = {} if isinstance(initvals, str) else initvals
        start = problem.as_shares(_checked(problem, {**model.start(data), **given}))
        first = start if given else {name: away_from_zero(values) for name, values in start.items()}
    free = relabel and (
        is_exchangeable(model, data)
        if settings.objective == "map"
        else isinstance(model, Relabels) and not data.controls  # the likelihood does not tell the classes apart
    )
    with one_blas_thread():
        ends = climb_from_all(problem, first, random_seed, progressbar=progressbar)
        named = [_name_classes(problem, data, end) if free else (end, False) for end in ends]
        order = sorted(range(len(ends)), key=lambda at: -ends[at].objective)
        best, permuted = named[order[0]]
        read = [read_items(updates, items, named[at][0].shares) for at in order]
    diagnostics = find_extremes(None) | {
        "n_chains": None,
        "n_draws": 1,
        "divergences": None,
        "maxdepth_reached": None,
        "min_bfmi": None,
        "relabelled_fraction": float(permuted),
        "em": _compare_ends([named[at][0] for at in order], [one[0] for one in read], settings),
    }
    return Found(best, problem, permuted, *read[0], diagnostics)


def start_at_point(model: AnnotationModel, data: Any, random_seed: int) -> dict[str, np.ndarray]:
    """Return the best point that EM finds for the posterior density, off the edges: where chains may start."""
    found = find_point(model, data, EMSettings(objective="map"), random_seed=random_seed)
    inside = {name: away_from_zero(values) for name, values in found.best.shares.items()}
    return found.problem.as_values(inside)


def _checked(problem: Problem, start: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return a start if it has the parameters of the model, in their shapes, and they are shares."""
    dims, values = problem.model.parameter_dims, {}
    for name, value in start.items():
        if name not in problem.prior:
            raise FitError(f"initvals: the model has no free variable {name!r}: it has {', '.join(problem.prior)}")
        shape = problem.prior[name].shape[: len(dims[name])]
        values[name] = np.asarray(value, dtype=float)
        if values[name].shape != shape:
            raise FitError(f"initvals: {name} has shape {values[name].shape}, the model's is {shape}")
    shares = problem.as_shares(values)
    for name, value in shares.items():
        if not (value >= 0).all() or not np.allclose(value.sum(axis=-1), 1):
            raise FitError(f"initvals: {name} must hold probabilities, that add up to 1 where they are of one whole")
    return values


def _name_classes(problem: Problem, data: AnnotationData, end: Ascent) -> tuple[Ascent, bool]:
    """Return an end with its classes under the names by which annotators are right most often, and if they were not."""
    aligned, permutation = align_classes(_as_draw(problem, data, end.shares))
    dims = problem.model.parameter_dims
    values = {name: aligned[name].transpose("chain", "draw", *dims[name]).values[0, 0] for name in end.shares}
    permuted = bool((permutation.values != np.arange(data.n_classes)).any())
    return replace(end, shares=problem.as_shares(values)), permuted


def _as_draw(problem: Problem, data: AnnotationData, shares: Shares) -> xarray.Dataset:
    """Return parameters as the one draw of one chain."""
    values, dims = problem.as_values(shares), problem.model.parameter_dims
    coords = data.coords(true_class=data.classes)
    used = {dim for name in values for dim in dims[name]}
    return xr.Dataset(
        {name: (("chain", "draw", *dims[name]), value[None, None]) for name, value in values.items()},
        coords={"chain": [0], "draw": [0]} | {dim: coords[dim] for dim in coords if dim in used},
    )


def _tabulate_parameters(data: AnnotationData, found: Found) -> xarray.Dataset:
    posterior = _as_draw(found.problem, data, found.best.shares)
    values = found.problem.as_values(found.best.shares)
    more = found.problem.model.deterministics(values, found.problem.items.names_class)
    dims = found.problem.model.parameter_dims
    return posterior.assign({name: (("chain", "draw", *dims[name]), value[None, None]) for name, value in more.items()})


def _tabulate_items(model: AnnotationModel, data: AnnotationData, found: Found) -> xarray.Dataset:
    from scipy.special import entr

    variables: dict[str, Any] = {
        "probability": (("item", "true_class"), found.probability),
        "entropy": (("item",), entr(found.probability).sum(axis=1)),
    }
    if isinstance(model, HasViews):
        answers: Any = Answers(
            annotator=data.annotator,
            item=data.item,
            n_items=data.n_items,
            all_responses=data.label,
            kept=slice(None),
            n_annotators=data.n_annotators,
            n_responses=data.n_labels,
            names_class=found.problem.items.names_class,
        )  # a view is arithmetic, of arrays as well as of symbols
        p = Parameters(found.problem.as_values(found.best.shares))
        views = model.views(answers, found.probability, p)
        variables |= {name: (view.dims, view.values) for name, view in views.items()}
    coords = {"item": list(data.items), "true_class": list(data.classes)}
    return xr.Dataset(variables, coords=coords)


def _compare_ends(ends: list[Ascent], probability: list[np.ndarray], settings: EMSettings) -> dict[str, Any]:
    """Say how many starts agree with the best one, and how far from it the others ended.

    Returns
    -------
    dict
        `objective` and `log_likelihood` of the best end; `steps`, how many E-steps led there, and `total_steps` of all
        starts; `change`, `converged`; `restarts`; `agreed`, how many of them ended as high, to a hundredth of a nat;
        `unfinished`, how many did not converge; and of each that ended elsewhere, the highest first, in `others`:
        `nats_lower`, `items_differ` (whose most probable class is another), `starts` that ended there.
    """
    best, labels = ends[0], [values.argmax(axis=1) for values in probability]
    lower = [best.objective - end.objective for end in ends]
    others: list[dict[str, Any]] = []
    for at, nats in enumerate(lower):
        if nats <= AGREE:
            continue
        if others and nats - others[-1]["nats_lower"] <= AGREE:
            others[-1]["starts"] += 1
        else:
            differ = int((labels[at] != labels[0]).sum())
            others.append({"nats_lower": float(nats), "items_differ": differ, "starts": 1})
    return {
        "objective": float(best.objective),
        "log_likelihood": float(best.log_likelihood),
        "steps": best.steps,
        "total_steps": sum(end.steps for end in ends),
        "change": float(best.change),
        "converged": best.change <= settings.tolerance,
        "restarts": len(ends),
        "agreed": sum(nats <= AGREE for nats in lower),
        "unfinished": sum(end.change > settings.tolerance for end in ends),
        "others": others,
    }
