"""Annotators who are no better than chance: spammers, and adversaries, whose answers point the wrong way.

The invariant: both are read from draws of the fit alone, by `above_chance` of the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bayesanno.fits.parts import FitPart
from bayesanno.ground.lazy import xr
from bayesanno.modeling.base import AnnotationModel

MARGIN = 0.1  # above chance, on a scale where 1 is perfect, by which an annotator counts as better than chance
SURE = 0.9  # least probability with which an annotator is listed


def find_chance(model: AnnotationModel, posterior: xr.Dataset, parts: Iterable[FitPart]) -> dict[str, list[Any]]:
    """List the spammers and the adversaries among the annotators of a fit, the most certain first.

    A spammer is no better than chance with a probability of 0.9 or more: at most 0.1 above it. An adversary is more
    than 0.1 below it with that probability, and is no spammer.

    Returns
    -------
    dict
        `spammers` and `adversaries`: lists of dicts with `dimension`, `annotator`, `probability` and `n_annotations`.
    """
    found: dict[str, list[Any]] = {"spammers": [], "adversaries": []}
    for part in parts:
        above = measure_above(model, posterior, part)
        if above is None:
            continue
        worse = (above < -MARGIN).mean(("chain", "draw")).values
        spam = np.where(worse < SURE, (above <= MARGIN).mean(("chain", "draw")).values, 0.0)
        for kind, p in (("spammers", spam), ("adversaries", worse)):
            found[kind] += [
                {
                    "dimension": part.dimension,
                    "annotator": part.data.annotators[code],
                    "probability": float(p[code]),
                    "n_annotations": int(part.data.by_annotator[code]),
                }
                for code in np.argsort(-p, kind="stable").tolist()
                if p[code] >= SURE
            ]
    return found


def measure_above(model: AnnotationModel, posterior: xr.Dataset, part: FitPart) -> xr.DataArray | None:
    """Return how far the annotators of a part are above chance in each draw, (chain, draw, annotator)."""
    own = posterior.sel(dimension=part.dimension) if "dimension" in posterior.dims else posterior
    return model.above_chance(own, part.data)
