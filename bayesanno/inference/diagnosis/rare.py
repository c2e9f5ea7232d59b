"""Nearly empty classes: which bad mixing is theirs, and whether everything else mixes.

Chains seldom agree on such a class: its parameters are known from the prior alone, and a few items are in it or not.
These are the numbers; `bayesanno.inference.diagnosis.explain` has the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.inference.diagnosis.measures import find_extremes, measure_convergence, mixes
from bayesanno.modeling.capabilities import ITEM_TYPE

FEW_ITEMS = 5.0  # expected in a class: of fewer, its rows of a confusion matrix are little more than the prior
FEW_OF_ALL = 0.1  # the share of all items that such a class has at most: where items are few, all classes are small
FAR = 0.1  # chains do not agree on an item if the probability of a state differs by more
SHARED = 20.0  # a class of at most so many times the items that move between it and a nearly empty one is small as well
MOST_NAMED = 5  # items that chains do not agree on


def add_rare(
    diagnostics: dict[str, Any], posterior: xr.Dataset, convergence: xr.Dataset, by_chain: Sequence[xr.DataArray]
) -> None:
    """Add `rare` to a fit's diagnostics, and to those of chains that share a mode, where `find_rare` finds any."""
    for found in [diagnostics, *diagnostics["modes"]["within"]]:
        chains = found.get("chains", slice(None))
        own = [values.isel(chain=chains) for values in by_chain]
        if mixes(found) or not any(map(_find_small_classes, own)):  # R-hat of many parameters takes long
            continue
        among = measure_convergence(posterior.isel(chain=chains)) if "chains" in found else convergence
        if rare := find_rare(among, own):
            found["rare"] = rare


def find_rare(convergence: xr.Dataset, by_chain: Sequence[xr.DataArray]) -> dict[str, Any] | None:
    """Find the nearly empty classes that do not mix, and split R-hat and ESS into theirs and the rest.

    Parameters
    ----------
    convergence : xarray.Dataset
        R-hat and ESS of each parameter among some chains, as `measure_convergence` gives them.
    by_chain : sequence of xarray.DataArray
        The probability of each item's states by each of these chains, (chain, item, state), for each latent.

    Returns
    -------
    dict or None
        None if there is no such class, or no parameter of anything else. `classes`: the `name`, `dim` and expected
        `items` of each, fewest first; `n_items`; of their parameters `max_rhat`, `min_ess_bulk`, `min_ess_tail` and
        `worst` as `find_extremes` gives them, and the same of all other parameters as `rest`; `differ`, the number of
        items that chains do not agree on, with a few of them as `named`.
    """
    classes = [
        found
        for values in by_chain
        for found in _find_small_classes(values)
        if not mixes(find_extremes(_part(convergence, [found])[0]))
    ]
    own, rest = (find_extremes(part) for part in _part(convergence, classes))
    if not classes or rest["min_ess_bulk"] is None:
        return None
    differs = np.any([_moves(values.values).any(axis=1) for values in by_chain], axis=0)  # (item,)
    items = by_chain[0]["item"].values
    return own | {
        "classes": sorted(classes, key=lambda found: float(found["items"])),
        "n_items": items.size,
        "rest": rest,
        "differ": int(differs.sum()),
        "named": [str(item) for item in items[differs][:MOST_NAMED]],
    }


def _moves(by_chain: np.ndarray) -> np.ndarray:
    """Return whether some chains have an item in a state and others do not, (item, state)."""
    return np.ptp(by_chain, axis=0) > FAR


def _find_small_classes(by_chain: xr.DataArray) -> list[dict[str, Any]]:
    """Return the nearly empty classes, and those small ones that share items with them; types of items are none."""
    dim = str(by_chain.dims[2])
    if dim == ITEM_TYPE:
        return []
    size, moves = by_chain.values.mean(axis=0).sum(axis=0), _moves(by_chain.values)  # (class,), (item, class)
    few = (size < FEW_ITEMS) & (size <= FEW_OF_ALL * size.sum())
    shared = moves[moves[:, few].any(axis=1)].sum(axis=0)  # (class,)
    small = np.flatnonzero(few | (size < SHARED * shared))
    return [{"name": str(by_chain[dim].values[at]), "dim": dim, "items": float(size[at])} for at in small]


def _part(convergence: xr.Dataset, classes: Sequence[Mapping[str, Any]]) -> tuple[xr.Dataset, xr.Dataset]:
    """Return what is of these classes and what is not; nan stands for what is left out."""
    own, rest = {}, {}
    for name, variable in convergence.data_vars.items():
        is_own = xr.zeros_like(variable, dtype=bool)
        for found in classes:
            if found["dim"] in variable.dims:
                is_own = is_own | (variable[found["dim"]] == found["name"])
        own[name], rest[name] = variable.where(is_own), variable.where(~is_own)
    return xr.Dataset(own), xr.Dataset(rest)
