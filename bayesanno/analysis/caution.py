"""Warnings of tables: a fit whose chains are in several modes averages over modes without their weights."""

from __future__ import annotations

from bayesanno.fits.view import FitView, view_of
from bayesanno.ground.errors import ConvergenceWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import counted
from bayesanno.inference.diagnosis.explain_modes import explain_chains


def view_for_table(fit: xr.DataTree | FitView, *, from_draws: bool = False) -> FitView:
    """Return a view of a fit; of one that a user hands in, with a warning if its chains are in several modes.

    The same if `isel` removed chains, since it does not update labels and diagnostics; but not where all of the table
    is computed `from_draws`.
    """
    view = view_of(fit)
    if not isinstance(fit, FitView):
        n_chains, n_before = view.posterior.sizes["chain"], view.diagnostics.get("n_chains")
        if n_before is not None and n_chains != n_before:
            if not from_draws:
                warn(
                    f"this fit has {counted(n_chains, 'chain')}, and its labels and diagnostics are still those of "
                    f"{n_before}, since isel does not update them: use bayesanno.drop_chains(fit, ...), which does",
                    ConvergenceWarning,
                )
            return view
        for problem in explain_chains(view.diagnostics):
            warn(problem, ConvergenceWarning)
    return view
