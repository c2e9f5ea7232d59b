"""What is found of a fit, once: how it was made, what the model fails to predict, and what to do.

The invariant: `is_off` decides whether what rests on the probabilities of labels is shown as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, FitError
from bayesanno.analysis.annotators import annotator_table
from bayesanno.analysis.dependence import dependence_table
from bayesanno.criticism.power_scaling import (
    BY_BOTH,
    BY_PRIOR,
    THRESHOLD,
    label_power_scaling,
    power_scaling_table,
)
from bayesanno.criticism.predictive import PredictiveCheck, predictive_check
from bayesanno.criticism.sbc import gives_labels
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.view import FitPart, FitView, parts_of
from bayesanno.inference.diagnosis.findings import MISFIT, SHARED, WRONG, modes_found, read_findings
from bayesanno.io.check import doubt_data
from bayesanno.modeling.class_prior import class_prior_of
from bayesanno.modeling.findings import Finding, Rule, read_rules, threshold_of
from bayesanno.report.blocks import join_ends
from bayesanno.report.plots.style import WORDS


def list_modes(view: FitView) -> pd.DataFrame | None:
    """Return the modes of the posterior; None if there is one."""
    modes = modes_found(view.diagnostics.get("modes", {}))
    if len(modes) < 2:
        return None
    rows = {
        "mode": range(1, len(modes) + 1),
        "probability": [mode["probability"] for mode in modes],
        "nats below the highest": [mode["nats"] for mode in modes],
        "chains in it": [", ".join(map(str, mode["chains"])) or "none" for mode in modes],
        "items labelled differently": [str(mode.get("items_differ", "")) for mode in modes],
    }
    return pd.DataFrame(rows).astype({"probability": float})


def list_cards(view: FitView) -> dict[str, str]:
    """Return the cards of the model and of the terms of its class prior, by name."""
    of_class = class_prior_of(view.model)
    terms = of_class.terms if of_class is not None else ()
    cards = {one.name: sys.modules[type(one).__module__].__doc__ for one in (view.model, *terms)}
    return {name: card.strip() for name, card in cards.items() if card}


SMALL = threshold_of("statistic-off")  # p-values below it are reported
MOST_ROWS = 10  # parameters that are listed
MOST_CHECKED = 12  # statistics, and values of them, that are listed
# Largest variable that is scaled besides competence: the more elements, the more are sensitive by chance.
MOST_OF_ONE = 20
SURE_OF_SIGN = 2  # standard errors of a slope
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
    """Return which labels and parameters depend on the prior; None without draws and their log densities."""
    if view.yields != "mcmc" or not {"log_prior", "log_likelihood"} <= set(view.tree.children):
        return None
    few = [str(name) for name, values in view.posterior.items() if values[0, 0].size <= MOST_OF_ONE]
    competence = [view.model.competence] if view.model.competence is not None else []
    names = list(dict.fromkeys([*competence, *few]))
    if not names:
        return None
    table = power_scaling_table(view, names)
    moving = table[table["diagnosis"].isin([BY_BOTH, BY_PRIOR])]
    signs = [
        np.sign(moving[of]).where(moving[of].abs() > SURE_OF_SIGN * moving[f"{of}_mcse"], 0)
        for of in ("prior_slope", "likelihood_slope")
    ]
    return {
        "n": len(table),
        "n_moving": len(moving),
        "n_apart": int((signs[0] * signs[1] < 0).sum()),
        "threshold": THRESHOLD,
        "table": moving.nlargest(MOST_ROWS, "prior")[SENSITIVITY],
        "labels": _scale_labels(view),
    }


def _scale_labels(view: FitView) -> dict[str, Any] | None:
    """Return which labels of the posterior a doubled or halved prior would change; None if items have no label."""
    if not gives_labels(view.model, view.data):
        return None
    table = label_power_scaling(view)
    return {"n": len(table), "changing": table.loc[table["doublings"].abs() < 1, "item"].tolist()}


LEAST_ITEMS = 20  # that two annotators share, for a row of their own
REPLICATES = 200  # tables that are simulated: enough to see a p-value below the threshold


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found of a fit, with the caveats that follow for the rest of its page.

    Attributes
    ----------
    view : FitView
    listed : list of Finding
    check : PredictiveCheck or None
    dependence : dict of str to DataFrame
        The dependence table of each dimension that has one.
    """

    view: FitView
    listed: Sequence[Finding]
    check: PredictiveCheck | None
    dependence: Mapping[str, pd.DataFrame]

    def has(self, *codes: str) -> bool:
        """Whether one of these was found."""
        return any(one.code in codes for one in self.listed)

    @cached_property
    def parts(self) -> list[FitPart]:
        """The parts of the fit; none if it holds no items."""
        return [] if isinstance(self.view.named_data, AnnotationTotals) else parts_of(self.view)

    @property
    def has_problems(self) -> bool:
        """Whether chains, or another method, may not have found the posterior."""
        return any(one.warning == "ConvergenceWarning" for one in self.listed)

    @property
    def is_misfit(self) -> bool:
        """Whether the answers are not as the model predicts them."""
        return self.has(*MISFIT)

    @property
    def is_off(self) -> bool:
        """Whether the probabilities of labels cannot be relied on: known labels contradict them, or the answers do.

        Adjusted labels can be relied on, unless annotators err together whom the labels may follow.
        """
        if self.has(*WRONG) or self.view.is_recalibrated:
            return self.has(*WRONG)
        return self.has(*SHARED) or (self.is_misfit and not self.view.is_adjusted)

    @property
    def copies(self) -> list[tuple[str, ...]]:
        """Groups of annotators who err together, the most serious finding first; nobody is in two of them."""
        groups: list[tuple[str, ...]] = []
        for one in self.listed:
            if one.code in SHARED and all(set(one.about).isdisjoint(group) for group in groups):
                groups.append(one.about)
        return groups

    @property
    def doubts(self) -> int:
        """How many findings are more than notes."""
        return sum(one.level != "note" for one in self.listed)

    @property
    def notes(self) -> int:
        """How many findings are notes."""
        return len(self.listed) - self.doubts

    @cached_property
    def annotators(self) -> pd.DataFrame | None:
        """The annotator table; None if the model has no competence."""
        return None if self.view.model.competence is None else annotator_table(self.view)

    @cached_property
    def doubts_of_names(self) -> list[str]:
        """What is doubted of labels and names, as when the data were read."""
        return doubt_data(self.view.named_data)


def explain_rule(code: str) -> Rule | None:
    """Return the rule of a finding; None for a model's own."""
    return read_rules().get(code)


def find_all(view: FitView, *, checks: bool, random_seed: int) -> Findings:
    """Return what is found of a fit, and what its page shows beside it; answers are simulated only if `checks`."""
    check = None
    if checks and view.yields != "point" and not isinstance(view.named_data, AnnotationTotals):
        check = predictive_check(view, replicates=REPLICATES, random_seed=random_seed)
    parts = [] if isinstance(view.named_data, AnnotationTotals) else parts_of(view)
    tables = {part.dimension: _tabulate_dependence(view, part.dimension) for part in parts}
    dependence = {dimension: table for dimension, table in tables.items() if table is not None}
    return Findings(view, read_findings(view), check, dependence)


def _tabulate_dependence(view: FitView, dimension: str) -> pd.DataFrame | None:
    """Return the dependence table of a part, by known labels, or by those of the fit if too few items have one."""
    how: dict[str, Any] = {"dimension": dimension or None, "least_items": LEAST_ITEMS, "ci_prob": 0.95}
    for truth in (None, "posterior"):
        try:
            table = dependence_table(view, truth=truth, **how)
        except (DataError, FitError):  # its states are no labels, or no two annotators share an item
            continue
        whole = table.iloc[0]
        if whole["n_items"] >= LEAST_ITEMS and np.isfinite(whole["worth_ci95_lb"]):
            return table
    return None


def p_values(check: PredictiveCheck) -> dict[str, float]:
    """Return the p-value of each statistic as a whole, by its name."""
    whole = check.table[check.table["level"] == "total"]
    names = whole["statistic"] if "dimension" not in whole else whole["dimension"] + ": " + whole["statistic"]
    return dict(zip(names, whole["p"], strict=True))
