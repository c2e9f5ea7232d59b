"""From a fit to one with permuted classes. Labels and diagnostics are recomputed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesanno._core.lazy import xr
from bayesanno._core.messages import FitError
from bayesanno.fits.view import FitView, require_as_fitted
from bayesanno.inference.assemble import assemble
from bayesanno.inference.modes.record import searched_of
from bayesanno.inference.relabelling import Rule, align_fit, compose
from bayesanno.simulation.quantities import says_labels


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
        "accuracy" and "weighted" relabel each draw separately, by eq. 56 or eq. 55 of Rzhetsky et al. (2009): by the
        sum of the annotators' accuracies over classes, or so that annotators are right most often. "stephens" makes the
        items' class probabilities agree over all draws (Stephens 2000); if they do not fit in 512 MiB, it uses evenly
        spaced items. "pivot" brings each draw close to a reference draw. See `bayesanno.inference.relabelling`.
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
    >>> ba.relabel(ba.load("run1"), rule="weighted")  # doctest: +SKIP
    """
    view = require_as_fitted(fit, "relabel")
    model, data = view.model, view.data
    if not says_labels(model, data):
        raise FitError(f"{model.name} has no classes, and types keep their order: there is nothing to relabel")
    if not model.is_exchangeable(data):
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
