"""The check of a fit against its data: the last step of fitting, and of functions that make a fit of other draws.

The invariant: what a fit says of its misfit is of the draws that it has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from bayesanno.fits.view import FitView, view_of
from bayesanno.ground.errors import MisfitWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.inference.diagnosis.explain_misfit import explain_misfit
from bayesanno.inference.diagnosis.misfit import measure_misfit
from bayesanno.simulation.quantities import Drawn


def check_answers(fit: xr.DataTree) -> xr.DataTree:
    """Return a fit with its misfit among its diagnostics; warn if there is any.

    Warns
    -----
    MisfitWarning
        If the answers are not as the fit predicts them.
    """
    view = view_of(fit)
    seeds = [int(seed) for seed in str(fit.attrs["random_seed"]).split(", ")]  # of each fit that was put together
    drawn = Drawn(view.model, view.data, view.posterior, view.known)
    found = view.diagnostics | {"misfit": measure_misfit(drawn, seeds)}
    for problem in explain_misfit(found):
        warn(problem, MisfitWarning)
    checked = fit.copy()
    checked.attrs = dict(fit.attrs) | {"diagnostics": json.dumps(found)}
    return checked


def check_again(fit: xr.DataTree, before: Iterable[FitView]) -> xr.DataTree:
    """Return a fit whose draws were taken from others, checked as `check_answers` does if all of these were."""
    return check_answers(fit) if all("misfit" in view.diagnostics for view in before) else fit
