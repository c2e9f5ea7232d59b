"""Draws of labels from a fit's tempered posterior, and a recalibrated fit as it was before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, repeat

import numpy as np

from bayesanno._core.draw import draw_codes
from bayesanno._core.lazy import xr
from bayesanno.fits.storage import read_by_dimension
from bayesanno.fits.view import (
    ADJUSTMENT,
    LABELS,
    PROBABILITY,
    RECALIBRATION,
    FitPart,
    FitView,
    is_given,
    label_groups,
    log_label_posterior,
)
from bayesanno.inference.tempering import adjusted_parts, count_answers, temperings_of
from bayesanno.modeling.posterior import compile_formula


def draw_labels(view: FitView, part: FitPart, rng: np.random.Generator) -> xr.DataArray:
    """Draw every item's label once per posterior draw of the parameters: indices of labels, dims (chain, draw, item).

    Draws come from the model's posterior, or from `each_posterior` if the fit was adjusted or recalibrated.
    """
    if part.labels is None:
        return compile_formula(view.model, view.data, view.posterior, view.known).draw_states(part.dimension, rng)
    sizes = [view.posterior.sizes[dim] for dim in ("chain", "draw")]
    drawn = [draw_codes(np.exp(logs), rng) for logs, _ in each_posterior(view, part, sizes[0] * sizes[1], rng)]
    coords = {"chain": view.posterior["chain"], "draw": view.posterior["draw"], "item": list(part.data.items)}
    name = str(part.latent[PROBABILITY].dims[1])
    return xr.DataArray(np.reshape(drawn, (*sizes, -1)), dims=tuple(coords), coords=coords, name=name)


def each_posterior(view: FitView, part: FitPart, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, bool]]:
    """Yield n draws of the log posterior of labels (item, label), and whether each is a draw of the model's own.

    In a recalibrated fit, each draw has one temperature and its shifts for all items but the known ones, which have
    their own posteriors, computed without their true label. In an adjusted fit, each draw of an item is the model's
    own, with a little of the vote, or one tempered for a correlation, in proportion to their weights. If n is more than
    the number of posterior draws, these are used again and again.
    """
    before, kept = part.of_model, is_given(part)
    tempering = temperings_of(view, ADJUSTMENT).get(part.dimension)
    if view.yields == "point":  # evaluated once for all
        each: Iterable[np.ndarray] = repeat(next(_draw_own(view, before)), n)
    else:
        each = islice(_draw_own(view, before), n)
    if recalibration := temperings_of(view, RECALIBRATION).get(part.dimension):
        kept |= np.isin(part.data.items, known_items(view, part.dimension))
        before, tempering = adjusted_parts(view)[part.dimension], recalibration
        each = repeat(log_label_posterior(before), n)
    if tempering is None:
        yield from ((logs, True) for logs in each)
        return
    own = log_label_posterior(part if recalibration else before)
    for logs, is_own in tempering.draw(each, log_label_posterior(before), count_answers(view, before, tempering), rng):
        yield np.where(kept[:, None], own, logs), is_own


def _draw_own(view: FitView, part: FitPart) -> Iterator[np.ndarray]:
    """Yield the model's log posterior of labels (item, label) in each draw, chain after chain, again and again."""
    formula = compile_formula(view.model, view.data, view.posterior, view.known)
    while True:
        for one in formula.evaluate():
            yield log_label_posterior(part, one.log_probability[part.dimension][formula.patterns.of_item])


def view_before(view: FitView) -> FitView:
    """Return a recalibrated fit as it was before recalibration, with its present gold."""
    tree = view.tree.copy()
    del tree[LABELS], tree[RECALIBRATION]
    del tree.attrs[RECALIBRATION]
    for path, group in label_groups([*adjusted_parts(view).values()]).items():
        tree[path] = xr.DataTree(group)
    return FitView(tree)


def known_items(view: FitView, dimension: str) -> list[str]:
    """Return the items with the true labels that a recalibration used."""
    return [str(item) for item in read_by_dimension(view.tree, RECALIBRATION)[dimension]["known_item"].values]
