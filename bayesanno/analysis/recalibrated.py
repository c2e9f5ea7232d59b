"""What a recalibrated fit holds, and how its recalibration is applied: to its own items, to new ones, and to draws.

The invariant: a recalibration is of the posterior of labels, for any states of a model; and an item whose true label
was given to the fit as a control is as the fit has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesanno.analysis.parts import (
    CORRECT,
    ENTROPY,
    LABEL_PROBABILITY,
    LOG_PROBABILITY,
    PROBABILITY,
    PROBABILITY_MCSE,
    FitPart,
    measure_entropy,
    split_data,
)
from bayesanno.analysis.temperature import LogOddsScale, Recalibration
from bayesanno.fits.storage import read_by_dimension
from bayesanno.fits.view import RECALIBRATION, FitView
from bayesanno.ground.draw import draw_codes
from bayesanno.ground.lazy import xr

DRAW = "recalibration_draw"  # not "draw": a selection of draws or chains keeps all of these
BEFORE = "latent_before"  # the group that has the posterior of labels as it was


def log_label_posterior(part: FitPart, logs: np.ndarray | None = None) -> np.ndarray:
    """Return the log posterior of each item's label, (item, label), as the fit has it, or one draw with these `logs`.

    Where the last state is that nobody gave the true label, that one is spread over the labels not given as it is in
    the posterior of labels.
    """
    logs = np.asarray(part.latent[LOG_PROBABILITY].values if logs is None else logs)  # (item, state)
    if LABEL_PROBABILITY not in part.latent:
        return logs
    was_said = part.data.votes > 0  # (item, label)
    spread = np.where(was_said, 0.0, part.latent[LABEL_PROBABILITY].values)
    total = spread.sum(axis=1, keepdims=True)
    spread = np.where(total > 0, spread, ~was_said)  # evenly, where the probabilities are 0 as doubles
    with np.errstate(divide="ignore"):
        share = np.log(spread) - np.log(spread.sum(axis=1, keepdims=True).clip(np.finfo(float).tiny))
        return np.where(was_said, logs[:, :-1], logs[:, -1:] + share)


def is_given(part: FitPart) -> np.ndarray:
    """Return whether an item's true label was given to the fit, as a control: (item,)."""
    return np.array([item in part.data.controls for item in part.data.items], dtype=bool)


def recalibrate_part(
    part: FitPart, recalibration: Recalibration, known: Mapping[int, np.ndarray] | None = None
) -> FitPart:
    """Return a part with the recalibrated posterior in place of the fit's.

    `known` are the log posteriors (label,) of items that have their own, by row. Other results for items, such as
    difficulty or spam, stay as they are.
    """
    before = log_label_posterior(part)
    after = recalibration.average(before)  # (item, label)
    for row, own in (known or {}).items():
        after[row] = own
    after = np.where(is_given(part)[:, None], before, after)
    return replace(part, latent=_with_posterior(part, after))


def _with_posterior(part: FitPart, logs: np.ndarray) -> xr.Dataset:
    """Return what a fit says of items, with these log posteriors of labels (item, label)."""
    probability, found = np.exp(logs), part.latent.drop_vars(PROBABILITY_MCSE, errors="ignore")
    probability /= probability.sum(axis=1, keepdims=True)
    of_states, log_states = probability, logs
    if LABEL_PROBABILITY in found:
        found = found.assign({LABEL_PROBABILITY: found[LABEL_PROBABILITY].copy(data=probability)})
        was_said = part.data.votes > 0  # (item, label)
        unsaid = np.where(was_said, -np.inf, logs)
        none_said = np.logaddexp.reduce(unsaid, axis=1, keepdims=True)
        log_states = np.concatenate([np.where(was_said, logs, -np.inf), none_said], axis=1)
        of_states = np.exp(log_states)
    if CORRECT in found:
        found = found.assign({CORRECT: found[CORRECT].copy(data=probability[part.data.item, part.data.label])})
    return found.assign(
        {
            PROBABILITY: found[PROBABILITY].copy(data=of_states),
            LOG_PROBABILITY: found[LOG_PROBABILITY].copy(data=log_states),
            ENTROPY: found[ENTROPY].copy(data=measure_entropy(of_states)),
        }
    )


def recalibrate_new(view: FitView, parts: Sequence[FitPart]) -> list[FitPart]:
    """Return the parts of new items as a fit's recalibration has them: as they are, if it was not recalibrated."""
    recalibrations = recalibrations_of(view)
    return [
        recalibrate_part(part, recalibrations[part.dimension]) if part.dimension in recalibrations else part
        for part in parts
    ]


def draw_recalibrated(view: FitView, part: FitPart, rng: np.random.Generator) -> xr.DataArray:
    """Draw every item's label once per posterior draw of the parameters: indices of labels, dims (chain, draw, item).

    Each draw is of one temperature and its shifts, for all items but the known ones: these have posteriors of their
    own, each without its own true label, and are drawn from them.
    """
    n_chains, n_draws = view.posterior.sizes["chain"], view.posterior.sizes["draw"]
    drawn = np.empty((n_chains * n_draws, part.data.n_items), dtype=int)
    for sample, logs in enumerate(each_recalibrated(view, part, n_chains * n_draws, rng)):
        drawn[sample] = draw_codes(np.exp(logs), rng)
    coords = {"chain": view.posterior["chain"], "draw": view.posterior["draw"], "item": list(part.data.items)}
    name = str(part.latent[PROBABILITY].dims[1])
    return xr.DataArray(drawn.reshape(n_chains, n_draws, -1), dims=tuple(coords), coords=coords, name=name)


def each_recalibrated(view: FitView, part: FitPart, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the log posterior of labels (item, label) by n draws of the temperature and the shifts, in random order."""
    recalibration = recalibrations_of(view)[part.dimension]
    before = log_label_posterior(parts_before(view)[part.dimension])
    own = log_label_posterior(part)
    known = np.isin(list(part.data.items), list(known_items(view, part.dimension))) | is_given(part)  # (item,)
    for draw in rng.permuted(np.resize(np.arange(recalibration.log_size.size), n)):
        one = Recalibration(recalibration.scale, recalibration.log_size[[draw]], recalibration.shift[[draw]])
        yield np.where(known[:, None], own, one.evaluate(before)[0])


# -------------------------------------------------------------------------------------------- what a fit holds


def view_before(view: FitView) -> FitView:
    """Return a recalibrated fit as it was, but for the gold that it has now."""
    tree = view.tree.copy()
    tree["latent"] = tree[BEFORE].copy()  # with the groups of dimensions in it
    del tree[BEFORE], tree[RECALIBRATION]
    del tree.attrs[RECALIBRATION]
    return FitView(tree)


def parts_before(view: FitView) -> dict[str, FitPart]:
    """Return the parts of a fit by dimension, with the posterior as it was before any recalibration."""
    latents = read_by_dimension(view.tree, BEFORE) if view.is_recalibrated else view.latents
    return {part.dimension: part for part in split_data(view.data, latents)}


def tabulate_recalibration(part: FitPart, learnt: Recalibration, known: Sequence[str]) -> xr.Dataset:
    """Return a recalibration as variables of the group that holds it."""
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
    """Return the recalibration of each dimension that has one, of "" where there are no dimensions."""
    if not view.is_recalibrated:
        return {}
    found = {}
    for dimension, group in read_by_dimension(view.tree, RECALIBRATION).items():
        size, least = (float(group[of]) for of in ("log_odds_size", "least_log_probability"))
        scale = LogOddsScale(group["log_share"].values, size, least)
        found[dimension] = Recalibration(scale, np.log(size / group["temperature"].values), group["shift"].values)
    return found


def known_items(view: FitView, dimension: str) -> list[str]:
    """Return the items whose true labels a recalibration learnt from."""
    return [str(item) for item in read_by_dimension(view.tree, RECALIBRATION)[dimension]["known_item"].values]
