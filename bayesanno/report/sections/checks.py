"""Tables of the model: what it fails to predict, and how much the prior mattered."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd
from bayesanno.criticism.power_scaling import THRESHOLD, power_scaling_table
from bayesanno.fits.view import FitView
from bayesanno.modeling.findings import threshold_of
from bayesanno.report.blocks import join_ends
from bayesanno.report.plots.style import WORDS
from bayesanno.report.sections.findings import Findings, p_values

SMALL = threshold_of("statistic-off")  # p-values below it are reported
MOST_ROWS = 10  # parameters that are listed
MOST_CHECKED = 12  # statistics, and values of them, that are listed
# Largest variable that is scaled besides competence: the more elements, the more are sensitive by chance.
MOST_OF_ONE = 20
SENSITIVITY = ["parameter", "mean", "sd", "prior", "likelihood", "prior_slope", "diagnosis"]


def check_predictions(found: Findings) -> dict[str, Any] | None:
    """Return what was observed and predicted of the statistics; None if answers were not simulated."""
    if found.check is None:
        return None
    p = p_values(found.check)
    return {
        "n": len(p),
        "small": [f"{name} (p = {one:.3f})" for name, one in p.items() if one < SMALL],
        "limit": SMALL,
        "table": _list_predictions(found.check.table),
    }


def _list_predictions(every: pd.DataFrame) -> pd.DataFrame:
    """Return what was observed and predicted of the statistics as a whole, and of the values with the smallest p."""
    by = [name for name in ("dimension", "statistic") if name in every]
    alone = every.groupby(by)["of"].transform("size") == 1  # a statistic of one number
    whole: pd.Series = every["statistic"].map(WORDS) + np.where(alone, "", ": distance")
    table = every.assign(of=every["of"].where(every["level"] == "each", whole), p=every["p"].round(3))
    shown = table[[*by, "of", "observed", "mean", *find_bounds(every)[:2], "p"]]
    first = shown.iloc[np.lexsort((every["p"], every["level"] == "each"))[:MOST_CHECKED]]
    return join_ends(first).rename(columns={"mean": "predicted"})


def scale_prior(view: FitView) -> dict[str, Any] | None:
    """Return which parameters depend on the prior; None without draws of the posterior and their log densities."""
    if view.yields != "mcmc" or not {"log_prior", "log_likelihood"} <= set(view.tree.children):
        return None
    few = [str(name) for name, values in view.posterior.items() if values[0, 0].size <= MOST_OF_ONE]
    competence = [view.model.competence] if view.model.competence is not None else []
    names = list(dict.fromkeys([*competence, *few]))
    if not names:
        return None
    table = power_scaling_table(view, names)
    moving = table[table["diagnosis"].str.startswith("potential")]
    return {
        "n": len(table),
        "n_moving": len(moving),
        "threshold": THRESHOLD,
        "table": moving.nlargest(MOST_ROWS, "prior")[SENSITIVITY],
    }
