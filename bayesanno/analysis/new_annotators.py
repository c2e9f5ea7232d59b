"""Annotators that a fit has never seen, drawn from its population."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.modeling.capabilities import HasPopulation


def add_new_annotators(
    model: HasPopulation, data: Any, posterior: xr.Dataset, rng: np.random.Generator, *, copies: int = 1
) -> xr.Dataset:
    """Return each draw of a posterior so many times, with new annotators drawn from the population.

    They are those of the data that come after the annotators of the posterior. What follows from parameters of
    annotators is left out.
    """
    n_known = posterior.sizes["annotator"]
    again = np.repeat(np.arange(posterior.sizes["draw"]), copies)
    repeated = posterior.isel(draw=again).assign_coords(draw=np.arange(again.size))
    ordered = {str(name): values.transpose("chain", "draw", ...) for name, values in repeated.data_vars.items()}
    draws = {name: values.values.reshape(-1, *values.shape[2:]) for name, values in ordered.items()}
    drawn = model.draw_annotators(draws, len(data.annotators) - n_known, data.class_codes, rng)
    of_annotators = [name for name, values in ordered.items() if "annotator" in values.dims]
    whole = {}
    for name, values in drawn.items():
        dims = tuple(ordered[name].dims)
        added = values.reshape(*ordered[name].shape[:2], *values.shape[1:])
        whole[name] = (dims, np.concatenate([ordered[name].values, added], axis=dims.index("annotator")))
    kept = repeated.drop_vars([*of_annotators, "annotator"])
    return kept.assign(whole).assign_coords(annotator=list(data.annotators))
