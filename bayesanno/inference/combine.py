"""From fits to another fit: chains combined, classes relabelled. Labels and diagnostics are recomputed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bayesanno.fits.storage import is_tree
from bayesanno.fits.view import FitView, require_as_fitted
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.inference.assemble import assemble
from bayesanno.inference.diagnosis.measures import concat_datasets
from bayesanno.inference.modes.record import merge_modes, searched_of
from bayesanno.inference.relabelling import Rule, align_fit, compose
from bayesanno.modeling.capabilities import ITEM_TYPE, is_exchangeable, latents


def concat_chains(fits: Iterable[xr.DataTree | FitView]) -> xr.DataTree:
    """Combine the chains of several fits of one model to the same data, with common diagnostics.

    Parameters
    ----------
    fits : sequence of xarray.DataTree or FitView

    Returns
    -------
    xarray.DataTree
        A fit with all chains, numbered from 0.

    Raises
    ------
    FitError
        If there are no fits; one has no chains (it is not by NUTS, or combines modes) or was recalibrated; or they
        differ in model, priors, data, method or number of draws.

    Warns
    -----
    ConvergenceWarning
        If a diagnostic of all chains shows that the posterior is not yet reliable.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fits = [ba.load(f"run{seed}/posterior.nc") for seed in (1, 2)]  # doctest: +SKIP
    >>> ba.concat_chains(fits)["posterior"].sizes["chain"]  # doctest: +SKIP
    8
    """
    if is_tree(fits) or not isinstance(fits, Iterable):
        raise FitError(f"fits is of type {type(fits).__name__}: give a list of fits, as in [first, second]")
    views = [require_as_fitted(fit, "concat_chains") for fit in fits]
    if not views:
        raise FitError("there is no fit to concatenate: give at least one")
    first, trees = views[0], [view.tree for view in views]
    for view in views:
        if view.yields != "mcmc":
            raise FitError(
                f"a fit by {view.tree.attrs['method']} has no chains to concatenate (it yields: {view.yields}): give "
                "fits by nuts, as they were sampled"
            )
    for what in ("model", "fields", "data_hash", "method"):
        values = {str(tree.attrs[what]) for tree in trees}
        if len(values) > 1:
            raise FitError(f"fits to be concatenated differ in {what}: {', '.join(sorted(values))}")
    sizes = {view.posterior.sizes["draw"] for view in views}
    if len(sizes) > 1:
        raise FitError(f"fits to be concatenated differ in their number of draws: {sorted(sizes)}")
    chains = range(sum(view.posterior.sizes["chain"] for view in views))
    posterior = concat_datasets([_number_draws(view.posterior) for view in views], "chain", chains)
    stats = concat_datasets([_number_draws(one) for one in _stats(views)], "chain", chains)
    attrs = dict(trees[0].attrs) | {
        "random_seed": ", ".join(str(tree.attrs["random_seed"]) for tree in trees),
        "settings": json.dumps(_common_settings(trees) | {"chains": len(chains)}),
    }
    for seconds in ("seconds_compile", "seconds_sample"):
        attrs[seconds] = float(sum(tree.attrs[seconds] for tree in trees))
    known = [(searched_of(view.diagnostics), view.posterior.sizes["chain"]) for view in views]
    modes = merge_modes([(one, n) for one, n in known if one is not None]) if all(one for one, _ in known) else None
    check = all("misfit" in view.diagnostics for view in views)
    return assemble(first.model, first.data, posterior, stats, attrs=attrs, searched=modes, check=check)


def _number_draws(part: xr.Dataset) -> xr.Dataset:
    """Renumber chains and draws, since thinned fits have different numbers, which would prevent concatenation."""
    return part.assign_coords({dim: range(part.sizes[dim]) for dim in ("chain", "draw")})


def _stats(views: Sequence[FitView]) -> list[xr.Dataset]:
    """Return the sample statistics of fits, with a permutation in all if one has been permuted."""
    stats = [view.tree["sample_stats"].to_dataset() for view in views]
    known = [one["permutation"] for one in stats if "permutation" in one]
    if not known:
        return stats
    names = known[0]["true_class"].values
    order = xr.DataArray(range(names.size), dims="true_class", coords={"true_class": names})
    return [
        one if "permutation" in one else one.assign(permutation=xr.zeros_like(one["lp"], dtype=int) + order)
        for one in stats
    ]


def _common_settings(trees: Sequence[xr.DataTree]) -> dict[str, Any]:
    """Return the settings of fits by one method; a setting that differs is a list."""
    settings = [json.loads(tree.attrs["settings"]) for tree in trees]
    columns = {name: [one[name] for one in settings] for name in settings[0]}
    return {name: each[0] if each.count(each[0]) == len(each) else each for name, each in columns.items()}


def relabel(
    fit: xr.DataTree | FitView,
    *,
    rule: Rule = "accuracy",
    reference: Mapping[str, Any] | xr.Dataset | None = None,
) -> xr.DataTree:
    """Undo label switching in a fit: permute the classes of each draw as the rule prefers.

    Every variable with a class dimension is permuted. The posterior of the labels, deterministics, log prior and
    diagnostics are recomputed. The diagnostics include the share of changed draws.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    rule : {"accuracy", "weighted", "stephens", "pivot"}
        "accuracy" and "weighted" relabel each draw separately, so that annotators are right most often, by eq. 56 or
        eq. 55 of Rzhetsky et al. (2008). "stephens" makes the items' class probabilities agree over all draws (Stephens
        2000); if they do not fit in 512 MiB, it uses evenly spaced items. "pivot" brings each draw close to a reference
        draw. See `bayesanno.inference.relabelling`.
    reference : mapping of name to array, or xarray.Dataset, optional
        The pivot: the matrices over true classes and responses (`confusion`) of one draw, which also names the classes.
        The default is the draw with the highest log density (`lp`), with its classes named by "accuracy".

    Returns
    -------
    xarray.DataTree

    Raises
    ------
    FitError
        If the prior distinguishes the classes or there are controls, so that a permuted draw has another density; if
        the latents are item types, which are ordered; if no variable has true classes and responses; if the rule is
        unknown or lacks its inputs; or if the fit was recalibrated.

    Warns
    -----
    ConvergenceWarning
        If a diagnostic shows that the relabelled posterior is not yet reliable.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fits = [ba.load(f"run{seed}") for seed in (1, 2)]  # doctest: +SKIP
    >>> ba.relabel(ba.concat_chains(fits), rule="weighted")  # doctest: +SKIP
    """
    view = require_as_fitted(fit, "relabel")
    model, data = view.model, view.data
    if any(latent.dim == ITEM_TYPE for latent in latents(model, data)):
        raise FitError(f"items are of types in {model.name}, and types keep their order: there is nothing to relabel")
    if not is_exchangeable(model, data):
        why = (
            "it has controls"
            if getattr(data, "controls", None)
            else f"the prior of {model.name} distinguishes the classes"
        )
        raise FitError(f"relabelling would change the density of this fit's draws: {why}")
    posterior, permutation = align_fit(view, rule, reference)
    stats = view.tree["sample_stats"].to_dataset()
    if "permutation" in stats:
        permutation = compose(stats["permutation"], permutation)
    return assemble(
        view.model,
        view.data,
        posterior,
        stats.assign(permutation=permutation),
        searched=searched_of(view.diagnostics),
        more_diagnostics=view.diagnostics,
        attrs=view.tree.attrs,
    )
