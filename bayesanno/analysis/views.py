"""The view of a fit for a table, with a warning if its labels are those of draws since removed."""

from __future__ import annotations

from bayesanno._core.lazy import xr
from bayesanno._core.messages import ConvergenceWarning, counted, option, warn
from bayesanno.fits.view import FitView, view_of


def view_for_table(fit: xr.DataTree | FitView, *, from_draws: bool = False) -> FitView:
    """Return a view of a fit, with a warning if `isel` removed chains or draws of a fit that a user passed in.

    It does not update labels and diagnostics. There is no warning if the whole table is computed `from_draws`.
    """
    view = view_of(fit)
    if isinstance(fit, FitView):
        return view
    sizes, before = view.posterior.sizes, view.diagnostics
    for what, now in (("chain", sizes["chain"]), ("draw", sizes["chain"] * sizes["draw"])):
        then = before.get(f"n_{what}s")
        if then not in (None, now):
            if not from_draws:
                still = f"its labels and diagnostics are still those of {then:,}, since isel does not update them"
                again = f"take the whole fit, or fit again with {option('draws')}"
                remedy = again if what == "draw" else "use bayesanno.drop_chains(fit, ...), which does"
                warn(f"this fit has {counted(now, what)}, and {still}: {remedy}", ConvergenceWarning)
            break
    return view
