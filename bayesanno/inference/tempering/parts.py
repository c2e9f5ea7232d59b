"""Tempering of the items of a fit, by the check and by known labels, and the groups of a fit that store it.

The invariant: the posterior in `latent` is the model's own, and controls do not change. All that is read of labels is
tempered here, for a fit's own items, new items, and draws of labels alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno.fits.parts import FitPart, is_given, label_groups, log_label_posterior, split_data, with_posterior
from bayesanno.fits.storage import groups_by_dimension, is_on_dask, read_by_dimension
from bayesanno.fits.view import ADJUSTMENT, FitView
from bayesanno.inference.diagnosis.measures import count_independent
from bayesanno.inference.diagnosis.misfit import Misfit
from bayesanno.inference.tempering.rule import Answers, Tempering
from bayesanno.modeling.class_prior import log_classes_of_items
from bayesanno.modeling.importance_weights import average_logs
from bayesanno.modeling.posterior import take_draws

PRIOR_DRAWS = 100  # for the prior of each item


def adjust_labels(tree: xr.DataTree, parts: Sequence[FitPart], misfits: Sequence[Misfit]) -> None:
    """Add the adjustments of labels to a fit, and the adjusted labels of its items.

    What was done is added to the results of the check. `parts` have the items that were checked.
    """
    view, adjusted, stored = FitView(tree), [], {}
    checked = {misfit.found["dimension"]: misfit for misfit in misfits}
    for part in parts:
        misfit = checked.get(part.dimension)
        if misfit is None or part.is_of_types:
            continue
        tempering = Tempering.from_check(log_label_posterior(part), misfit, part.data.n_annotators)
        adjusted.append(temper_part(view, part, tempering))
        stored[part.dimension] = store(part, tempering, ADJUSTMENT)
        r, n = float(tempering.correlation.mean()), misfit.found.get("errors", {"n_answers": 1.0})["n_answers"]
        misfit.found["adjustment"] = {
            "weight": tempering.weight,
            "vote_weight": tempering.vote_weight,
            "correlation": r,
            "worth": float(count_independent(n, r)),
            "expected_errors": [_expect_errors(part), _expect_errors(adjusted[-1])],
        }
    groups = groups_by_dimension(ADJUSTMENT, stored) | ({} if is_on_dask(tree) else label_groups(adjusted))
    for path, group in groups.items():
        tree[path] = xr.DataTree(group)


def _expect_errors(part: FitPart) -> float:
    """Return the expected number of wrong labels, except those of controls."""
    return float(np.nansum(1 - part.posterior.values[~is_given(part)].max(axis=1)))


def count_answers(view: FitView, part: FitPart, tempering: Tempering) -> Answers | None:
    """Return the answers to the items of a part, with their own priors in a model with a class prior.

    None for a recalibration, which has no vote.
    """
    if not tempering.informedness.size:
        return None
    each = log_classes_of_items(view.model, part.data, take_draws(view.posterior, PRIOR_DRAWS))
    return tempering.count(part.data, None if each is None else average_logs(np.stack(list(each))))


def temper_part(view: FitView, part: FitPart, tempering: Tempering) -> FitPart:
    """Return a part of a fit, or of new items, with tempered probabilities."""
    return replace_logs(part, tempering.average(log_label_posterior(part), count_answers(view, part, tempering)))


def replace_logs(part: FitPart, after: np.ndarray) -> FitPart:
    """Return a part with these log probabilities of labels (item, label), except those of controls."""
    before = log_label_posterior(part)
    return replace(part, latent=with_posterior(part, np.where(is_given(part)[:, None], before, after)))


def temper_parts(view: FitView, parts: Sequence[FitPart], *groups: str) -> list[FitPart]:
    """Return parts of a fit, or of new items, tempered by what these groups of the fit store."""
    found = list(parts)
    for stored in (temperings_of(view, group) for group in groups):
        found = [
            temper_part(view, part, stored[part.dimension]) if part.dimension in stored else part for part in found
        ]
    return found


def adjusted_parts(view: FitView) -> dict[str, FitPart]:
    """Return the parts of a fit by dimension, adjusted but not recalibrated."""
    return {part.dimension: part for part in temper_parts(view, split_data(view.data, view.latents), ADJUSTMENT)}


# -------------------------------------------------------------------------------------------- what a fit holds


def store(part: FitPart, tempering: Tempering, group: str, **coords: Any) -> xr.Dataset:
    """Return the variables of the group that stores a tempering, with further coordinates."""
    draw, label = f"{group}_draw", str(part.posterior.dims[1])  # a selection of draws or chains keeps all of these
    dims = {"temperature": [draw], "correlation": [draw], "shift": [draw, label], "log_share": [label]}
    dims |= {"informedness": ["annotator"]} if tempering.informedness.size else {}
    coords |= {"annotator": list(part.data.annotators)} if tempering.informedness.size else {}
    variables = {name: (dims.get(name, []), value) for name, value in vars(tempering).items() if np.size(value)}
    return xr.Dataset(variables, coords={label: part.states, **coords})


def temperings_of(view: FitView, group: str) -> dict[str, Tempering]:
    """Return the adjustments or recalibrations of a fit by dimension ("" without dimensions); empty if it has none."""
    if group not in view.tree.children:
        return {}
    return {
        dimension: Tempering(**{"informedness": np.ones(0)} | {str(name): of.values for name, of in found.items()})
        for dimension, found in read_by_dimension(view.tree, group).items()
    }
