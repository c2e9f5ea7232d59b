"""Tempering of the items of a fit, by the check and by known labels, and the groups of a fit that store it.

The invariant: the posterior in `latent` is the model's own, and controls do not change. All that is read of labels is
tempered here, for a fit's own items, new items, and draws of labels alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesanno.fits.parts import FitPart, is_given, label_groups, log_label_posterior, split_data, with_posterior
from bayesanno.fits.storage import groups_by_dimension, is_on_dask, read_by_dimension
from bayesanno.fits.view import ADJUSTMENT, RECALIBRATION, FitView
from bayesanno.ground.lazy import xr
from bayesanno.inference.diagnosis.measures import count_independent
from bayesanno.inference.diagnosis.misfit import Misfit
from bayesanno.inference.tempering.rule import Answers, Tempering
from bayesanno.modeling.class_prior import log_classes_of_items
from bayesanno.modeling.posterior import take_draws
from bayesanno.modeling.weighing import average_logs

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
        adjusted.append(adjust_part(view, part, tempering))
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


def count_answers(view: FitView, part: FitPart, adjustment: Tempering) -> Answers:
    """Return the answers to the items of a part, with the items' own priors in a model with a class prior."""
    each = log_classes_of_items(view.model, part.data, take_draws(view.posterior, PRIOR_DRAWS))
    return adjustment.count(part.data, None if each is None else average_logs(np.stack(list(each))))


def adjust_part(view: FitView, part: FitPart, adjustment: Tempering) -> FitPart:
    """Return a part of a fit, or of new items, with adjusted probabilities."""
    return replace_logs(part, adjustment.average(log_label_posterior(part), count_answers(view, part, adjustment)))


def replace_logs(part: FitPart, after: np.ndarray) -> FitPart:
    """Return a part with these log probabilities of labels (item, label), except those of controls."""
    before = log_label_posterior(part)
    return replace(part, latent=with_posterior(part, np.where(is_given(part)[:, None], before, after)))


def adjusted_parts(view: FitView) -> dict[str, FitPart]:
    """Return the parts of a fit by dimension, adjusted but not recalibrated."""
    stored, parts = temperings_of(view, ADJUSTMENT), split_data(view.data, view.latents)
    return {
        part.dimension: adjust_part(view, part, stored[part.dimension]) if part.dimension in stored else part
        for part in parts
    }


def temper_new(view: FitView, parts: Sequence[FitPart]) -> list[FitPart]:
    """Return the parts of new items adjusted and recalibrated like the fit's own items."""
    found = list(parts)
    for at, part in enumerate(parts):
        if (adjustment := temperings_of(view, ADJUSTMENT).get(part.dimension)) is not None:
            found[at] = adjust_part(view, part, adjustment)
        if (recalibration := temperings_of(view, RECALIBRATION).get(part.dimension)) is not None:
            found[at] = replace_logs(found[at], recalibration.average(log_label_posterior(found[at])))
    return found


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
