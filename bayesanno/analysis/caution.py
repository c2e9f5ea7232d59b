"""Warnings of tables: of chains in several modes, and of draws that are no longer those that labels were made of."""

from __future__ import annotations

from bayesanno.fits.view import FitView, view_of
from bayesanno.ground.errors import ConvergenceWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import counted
from bayesanno.inference.diagnosis.explain_modes import explain_chains


def view_for_table(fit: xr.DataTree | FitView, *, from_draws: bool = False) -> FitView:
    """Return a view of a fit; of one that a user hands in, with a warning if its chains are in several modes.

    The same if `isel` removed chains or draws, since it does not update labels and diagnostics; but not where all of
    the table is computed `from_draws`.
    """
    view = view_of(fit)
    if isinstance(fit, FitView):
        return view
    sizes, before = view.posterior.sizes, view.diagnostics
    n_chains, n_draws = sizes["chain"], sizes["chain"] * sizes["draw"]
    if before.get("n_chains") not in (None, n_chains):
        fewer, remedy = (
            f"{counted(n_chains, 'chain')}, and its labels and diagnostics are still those of {before['n_chains']}",
            "use bayesanno.drop_chains(fit, ...), which does",
        )
    elif before.get("n_draws") not in (None, n_draws):
        fewer, remedy = (
            f"{counted(n_draws, 'draw')}, and its labels and diagnostics are still those of {before['n_draws']:,}",
            "take the whole fit, or fit again with draws=...",
        )
    else:
        for problem in explain_chains(before):
            warn(problem, ConvergenceWarning)
        return view
    if not from_draws:
        warn(f"this fit has {fewer}, since isel does not update them: {remedy}", ConvergenceWarning)
    return view
