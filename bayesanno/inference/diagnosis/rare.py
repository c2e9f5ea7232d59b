"""Nearly empty classes: which bad mixing is theirs, and whether everything else mixes.

Chains seldom agree on such a class: its parameters are known from the prior alone, and a few items are in it or not.
These are the numbers; they are said in `bayesanno.inference.diagnosis.explain_rare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.inference.diagnosis.measures import find_extremes, measure_convergence
from bayesanno.inference.diagnosis.thresholds import MAX_RHAT, MIN_ESS
from bayesanno.modeling.between_chains import Compared
from bayesanno.modeling.capabilities import Latent

FEW_ITEMS = 5.0  # expected in a class: of fewer, its rows of a confusion matrix are little more than the prior
FEW_OF_ALL = 0.1  # the share of all items that such a class has at most: where items are few, all classes are small
CLASSES = "true_class"  # how the dimensions of classes begin; the types of items have others
MOST_ITEMS = 5  # that are named
SHARED = 20.0  # times as many items as move between it and a nearly empty class: in a larger one these do not show


def mixes(found: Mapping[str, Any]) -> bool:
    """Whether chains agree and are long enough, by the R-hat and ESS that `find_extremes` gives.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.rare import mixes
    >>> mixes({"max_rhat": 1.002, "min_ess_bulk": 900.0, "min_ess_tail": 350.0})
    False
    """
    rhat, least = found["max_rhat"], [found["min_ess_bulk"], found["min_ess_tail"]]
    return (rhat is None or rhat <= MAX_RHAT) and all(ess is None or ess >= MIN_ESS for ess in least)


def find_doubtful(convergence: xr.Dataset | None, modes: Mapping[str, Any]) -> list[list[int]]:
    """Return the groups of chains that do not mix, of all chains and of those that share a mode; none without chains.

    Parameters
    ----------
    convergence : xarray.Dataset or None
        Of all chains, as `measure_convergence` gives it.
    modes : mapping
        As `record_modes` gives it, with `within` as `measure_within_modes` does.
    """
    if convergence is None:
        return []
    everyone = [] if mixes(find_extremes(convergence)) else [list(range(len(modes["log_density"])))]
    return everyone + [group["chains"] for group in modes["within"] if not mixes(group)]


def add_rare(
    diagnostics: dict[str, Any],
    posterior: xr.Dataset,
    convergence: xr.Dataset | None,
    latents: Sequence[Latent],
    compared: Mapping[str, Sequence[Compared]],
    items: Sequence[str],
) -> None:
    """Add to a fit's diagnostics, as `rare`, what `find_rare` finds: of all chains, and of those that share a mode.

    Parameters
    ----------
    compared : mapping of str to sequence of Compared
        What each doubtful group of chains says of items, of each latent by its name.
    """
    for each in zip(*(compared[latent.name] for latent in latents), strict=True):
        if not _find_small_classes(latents, each)[0]:
            continue  # R-hat of a group of chains takes long where parameters are many
        chains = list(each[0].chains)
        of_all = len(chains) == posterior.sizes["chain"]
        measured = convergence if of_all and convergence else measure_convergence(posterior.isel(chain=chains))
        if rare := find_rare(measured, latents, each, items):
            whole = [group for group in diagnostics["modes"]["within"] if group["chains"] == chains]
            (diagnostics if of_all else whole[0])["rare"] = rare


def find_rare(
    convergence: xr.Dataset, latents: Sequence[Latent], compared: Sequence[Compared], items: Sequence[str]
) -> dict[str, Any] | None:
    """Find the nearly empty classes, and split bad mixing into theirs and the rest.

    Parameters
    ----------
    convergence : xarray.Dataset
        R-hat and ESS of each parameter among some chains, as `measure_convergence` gives them.
    latents : sequence of Latent
        Of the model.
    compared : sequence of Compared
        What these chains say of items, one of each latent.
    items : sequence of str
        Their names.

    Returns
    -------
    dict or None
        None if there is no such class, or if the parameters of such classes mix. `classes`: those with fewer than five
        expected items, and no more than a tenth of all, each with its `name`, `dim`, expected `items`, and whether it
        `mixes`, fewest first; `beside`, the same of small classes between which and those items move; `n_items`; of the
        parameters of all these `max_rhat`, `min_ess_bulk`, `min_ess_tail` and `worst` as `find_extremes` gives them,
        and the same of all other parameters as `rest`; `differ`, of how many items label or probability differs between
        chains, with a few of them as `named`; and `apart`, how far the probability of the most probable label goes
        apart between chains, of the other items the furthest.
    """
    classes, beside = _find_small_classes(latents, compared)
    if not classes:
        return None
    if mixes(find_extremes(_part(convergence, classes)[0])):
        return None
    own, rest = _part(convergence, classes + beside)
    if find_extremes(rest)["min_ess_bulk"] is None:  # there is no rest
        return None
    for one_class in classes + beside:
        one_class["mixes"] = mixes(find_extremes(_part(convergence, [one_class])[0]))
    differs = np.any([one.differs for one in compared], axis=0)  # (item,)
    apart = np.max([one.apart for one in compared], axis=0)[~differs]  # (other item,)
    return find_extremes(own) | {
        "classes": sorted(classes, key=lambda found: float(found["items"])),
        "beside": [found for found in beside if not found["mixes"]],
        "n_items": len(items),
        "rest": find_extremes(rest),
        "differ": int(differs.sum()),
        "named": [str(items[at]) for at in np.flatnonzero(differs)[:MOST_ITEMS]],
        "apart": float(apart.max(initial=0.0)),
    }


def _find_small_classes(
    latents: Sequence[Latent], compared: Sequence[Compared]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the nearly empty classes, and the small ones between which and those items move."""
    classes: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    for latent, one in zip(latents, compared, strict=True):
        if latent.dim.startswith(CLASSES):
            sizes = one.probability.sum(axis=0)  # (class,)
            few = (sizes < FEW_ITEMS) & (sizes <= FEW_OF_ALL * sizes.sum())
            shared = one.moves[one.moves[:, few].any(axis=1)].sum(axis=0)  # (class,)
            near = ~few & (shared > 0) & (sizes < SHARED * shared)
            for at, found in ((few, classes), (near, beside)):
                found += [
                    {"name": latent.states[i], "dim": latent.dim, "items": float(sizes[i])} for i in np.flatnonzero(at)
                ]
    return classes, beside


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
