"""Annotators who are no better than chance: spammers, and adversaries, whose answers point the wrong way.

The invariant: both are read from draws of the fit alone, by `above_chance` of the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayesanno._core.lazy import xr
from bayesanno.fits.parts import FitPart
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.findings import threshold_of

MARGIN = 0.1  # above chance, on a scale where 1 is perfect, by which an annotator counts as better than chance


def find_chance(model: AnnotationModel, posterior: xr.Dataset, parts: Iterable[FitPart]) -> dict[str, list[Any]]:
    """List the spammers and the adversaries among the annotators of a fit.

    A spammer is probably no better than chance: at most 0.1 above it. An adversary is probably more than 0.1 below it,
    and no spammer. The rules of the findings `spammer` and `adversary` say how probably.

    Returns
    -------
    dict
        `spammers` and `adversaries`: lists of dicts with `dimension`, `annotator`, `n_annotations` and `probability`.
    """
    found: dict[str, list[Any]] = {"spammers": [], "adversaries": []}
    for part in parts:
        above = measure_above(model, posterior, part)
        if above is None:
            continue
        p_chance, p_worse = (are.mean(("chain", "draw")).values for are in (above <= MARGIN, above < -MARGIN))
        for code, annotator in enumerate(part.data.annotators):
            who = {
                "dimension": part.dimension,
                "annotator": annotator,
                "n_annotations": int(part.data.by_annotator[code]),
            }
            if p_worse[code] >= threshold_of("adversary"):
                found["adversaries"].append({**who, "probability": float(p_worse[code])})
            elif p_chance[code] >= threshold_of("spammer"):
                found["spammers"].append({**who, "probability": float(p_chance[code])})
    return found


def measure_above(model: AnnotationModel, posterior: xr.Dataset, part: FitPart) -> xr.DataArray | None:
    """Return how far the annotators of a part are above chance in each draw, (chain, draw, annotator)."""
    own = posterior.sel(dimension=part.dimension) if "dimension" in posterior.dims else posterior
    return model.above_chance(own, part.data)
