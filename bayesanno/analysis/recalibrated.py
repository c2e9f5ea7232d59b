"""Adjustment and recalibration of labels: of a fit's own items, of new items, and of draws of labels.

The invariant: both change the posterior of labels, for any states of a model. An item that was a control in the fit
keeps the model's posterior.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from bayesanno.analysis.temperature import LogOddsScale, Recalibration
from bayesanno.fits.parts import PROBABILITY, FitPart, is_given, label_groups, log_label_posterior, with_posterior
from bayesanno.fits.storage import read_by_dimension
from bayesanno.fits.view import LABELS, RECALIBRATION, FitView
from bayesanno.ground.draw import draw_codes
from bayesanno.ground.lazy import xr
from bayesanno.inference.adjust import adjust_part, adjusted_parts, adjustments_of
from bayesanno.modeling.posterior import compile_formula

DRAW = "recalibration_draw"  # not "draw": a selection of draws or chains keeps all of these


def recalibrate_part(
    part: FitPart, recalibration: Recalibration, known: Mapping[int, np.ndarray] | None = None
) -> FitPart:
    """Return a part with the recalibrated posterior of labels.

    `known` has the log posteriors (label,) of items with their own posterior, by row. Other results for items, such as
    difficulty or spam, do not change.
    """
    before = log_label_posterior(part)
    after = recalibration.average(before)  # (item, label)
    for row, own in (known or {}).items():
        after[row] = own
    after = np.where(is_given(part)[:, None], before, after)
    return replace(part, latent=with_posterior(part, after))


def adjust_new(view: FitView, parts: Sequence[FitPart]) -> list[FitPart]:
    """Return the parts of new items adjusted and recalibrated like the fit's own items."""
    adjustments, recalibrations = adjustments_of(view), recalibrations_of(view)
    found = []
    for part in parts:
        if part.dimension in adjustments:
            part = adjust_part(part, adjustments[part.dimension])
        if part.dimension in recalibrations:
            part = recalibrate_part(part, recalibrations[part.dimension])
        found.append(part)
    return found


def draw_labels(view: FitView, part: FitPart, rng: np.random.Generator) -> xr.DataArray:
    """Draw every item's label once per posterior draw of the parameters: indices of labels, dims (chain, draw, item).

    Draws come from the model's posterior, unless `each_posterior` gives other probabilities.
    """
    sizes = [view.posterior.sizes[dim] for dim in ("chain", "draw")]
    other = each_posterior(view, part, sizes[0] * sizes[1], rng)
    if part.dimension in recalibrations_of(view):
        drawn = np.empty((sizes[0] * sizes[1], part.data.n_items), dtype=int)
    else:
        formula = compile_formula(view.model, view.data, view.posterior, view.known)
        found = formula.draw_states(part.dimension, rng)
        if part.dimension not in adjustments_of(view):
            return found
        drawn = found.values.reshape(-1, part.data.n_items)
    for sample, logs in enumerate(other):
        if logs is not None:
            drawn[sample] = draw_codes(np.exp(logs), rng)
    coords = {"chain": view.posterior["chain"], "draw": view.posterior["draw"], "item": list(part.data.items)}
    name = str(part.latent[PROBABILITY].dims[1])
    return xr.DataArray(drawn.reshape(*sizes, -1), dims=tuple(coords), coords=coords, name=name)


def each_posterior(view: FitView, part: FitPart, n: int, rng: np.random.Generator) -> Iterator[np.ndarray | None]:
    """Yield n draws of the log posterior of labels (item, label), or None for the model's own posterior.

    In a recalibrated fit, each draw has one temperature and its shifts for all items but the known ones, which have
    their own posteriors, computed without their true label. In an adjusted fit, each draw is the model's own posterior
    or one adjusted for a correlation, in proportion to their weights.
    """
    recalibration = recalibrations_of(view).get(part.dimension)
    adjustment = adjustments_of(view).get(part.dimension)
    given = is_given(part)[:, None]
    if recalibration is not None:
        before = log_label_posterior(adjusted_parts(view)[part.dimension])
        own, known = log_label_posterior(part), np.isin(list(part.data.items), known_items(view, part.dimension))
        for draw in rng.permuted(np.resize(np.arange(recalibration.log_size.size), n)):
            one = Recalibration(recalibration.scale, recalibration.log_size[[draw]], recalibration.shift[[draw]])
            yield np.where(known[:, None] | given, own, one.evaluate(before)[0])
    elif adjustment is not None:
        before = log_label_posterior(replace(part, latent=view.latents[part.dimension]))
        for logs in adjustment.draw(before, adjustment.count(part.data), n, rng):
            yield None if logs is None else np.where(given, before, logs)
    else:
        yield from repeat(None, n)


# -------------------------------------------------------------------------------------------- what a fit holds


def view_before(view: FitView) -> FitView:
    """Return a recalibrated fit as it was before recalibration, with its present gold."""
    tree = view.tree.copy()
    del tree[LABELS], tree[RECALIBRATION]
    del tree.attrs[RECALIBRATION]
    parts = adjusted_parts(view)
    for path, group in label_groups([parts[dimension] for dimension in adjustments_of(view)]).items():
        tree[path] = xr.DataTree(group)
    return FitView(tree)


def tabulate_recalibration(part: FitPart, learnt: Recalibration, known: Sequence[str]) -> xr.Dataset:
    """Return the variables of the group that stores a recalibration."""
    dim = str(part.posterior.dims[1])
    variables: dict[str, Any] = {
        "temperature": ((DRAW,), learnt.temperature),
        "shift": ((DRAW, dim), learnt.shift),
        "log_share": ((dim,), learnt.scale.centre),
        "log_odds_size": ((), learnt.scale.size),
        "least_log_probability": ((), learnt.scale.least),
    }
    return xr.Dataset(variables, coords={dim: part.states, "known_item": list(known)})


def recalibrations_of(view: FitView) -> dict[str, Recalibration]:
    """Return the recalibrations by dimension ("" without dimensions)."""
    if not view.is_recalibrated:
        return {}
    found = {}
    for dimension, group in read_by_dimension(view.tree, RECALIBRATION).items():
        size, least = (float(group[of]) for of in ("log_odds_size", "least_log_probability"))
        scale = LogOddsScale(group["log_share"].values, size, least)
        found[dimension] = Recalibration(scale, np.log(size / group["temperature"].values), group["shift"].values)
    return found


def known_items(view: FitView, dimension: str) -> list[str]:
    """Return the items with the true labels that a recalibration used."""
    return [str(item) for item in read_by_dimension(view.tree, RECALIBRATION)[dimension]["known_item"].values]
