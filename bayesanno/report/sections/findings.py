"""What a page says of a fit, found once: every section reads it here, so that none contradicts the verdict on top.

The invariant: `is_off` decides whether what rests on the probabilities of labels is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bayesanno.analysis.dependence import dependence_table
from bayesanno.criticism.predictive import PredictiveCheck, predictive_check
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import FitPart, parts_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError, FitError
from bayesanno.ground.lazy import pd
from bayesanno.inference.diagnosis.explain import explain
from bayesanno.inference.diagnosis.explain_misfit import (
    Errors,
    count_errors,
    explain_errors,
    explain_misfit,
    names_followed,
)
from bayesanno.report.plots.agreement import RESAMPLES

LEAST_ITEMS = 20  # that two annotators share, for a row of their own
COPIES = 0.3  # annotators err like copies if the interval of the correlation of their errors is above it
SMALL = 0.05  # p-values below it are reported; over the number of statistics, they count against the model
REPLICATES = 200  # tables that are simulated: enough to see a p-value below that


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """What was found of a fit, with the caveats that follow for the rest of its page.

    Attributes
    ----------
    view : FitView
    parts : list of FitPart
        Empty where the fit holds no items.
    problems : list of str
        Why chains, or another method, may not have found the posterior.
    misfit : list of str
        How the answers are not as the model predicts them.
    failed : dict of str to float
        The p-values of statistics that simulated answers do not reproduce.
    wrong : list of str
        How the labels contradict known ones, beyond chance.
    errors : dict of str to Errors
        Of each dimension, where true labels are known.
    dependence : dict of str to DataFrame
        The dependence table of each dimension that has one.
    copies : list of tuple of str
        Groups of annotators who err like copies of each other.
    check : PredictiveCheck or None
    """

    view: FitView
    parts: Sequence[FitPart]
    problems: Sequence[str]
    misfit: Sequence[str]
    failed: Mapping[str, float]
    wrong: Sequence[str]
    errors: Mapping[str, Errors]
    dependence: Mapping[str, pd.DataFrame]
    copies: Sequence[Sequence[str]]
    check: PredictiveCheck | None

    @property
    def is_misfit(self) -> bool:
        """Whether the answers are not as the model predicts them."""
        return bool(self.misfit or self.failed or self.copies)

    @property
    def is_off(self) -> bool:
        """Whether the probabilities of labels cannot be relied on: known labels contradict them, or the answers do.

        The adjustment of labels spreads errors over all annotators, and so does not do for a few who copy.
        """
        if self.wrong or self.view.is_recalibrated:
            return bool(self.wrong)
        return bool(self.copies) or (self.is_misfit and not self.view.is_adjusted)

    @property
    def caveat(self) -> str:
        """What to add where something rests on the probabilities of labels; empty if they can be relied on."""
        if self.is_off:
            return " These numbers rest on probabilities that are off: see the top of the page."
        if self.is_misfit:
            how = "recalibrated" if self.view.is_recalibrated else "adjusted"
            return f" These numbers rest on the {how} probabilities: see the top of the page."
        return ""


def find_all(view: FitView, *, checks: bool, random_seed: int) -> Findings:
    """Return what is found of a fit; answers are simulated only if `checks`."""
    parts = [] if isinstance(view.named_data, AnnotationTotals) else parts_of(view)
    counts = {part.dimension: count_errors(part) for part in parts}
    errors = {dimension: one for dimension, one in counts.items() if one is not None}
    tables = {part.dimension: _tabulate_dependence(view, part, random_seed) for part in parts}
    dependence = {dimension: table for dimension, table in tables.items() if table is not None}
    check = None
    if checks and parts and view.yields != "point":
        check = predictive_check(view, replicates=REPLICATES, random_seed=random_seed)
    p = {} if check is None else p_values(check)
    return Findings(
        view=view,
        parts=parts,
        problems=explain(view.diagnostics),
        misfit=explain_misfit(view.diagnostics),
        failed={name: one for name, one in p.items() if one < SMALL / len(p)},
        wrong=[text for dimension, one in errors.items() for text in explain_errors(one, dimension)],
        errors=errors,
        dependence=dependence,
        copies=_find_copies(view, dependence),
        check=check,
    )


def p_values(check: PredictiveCheck) -> dict[str, float]:
    """Return the p-value of each statistic as a whole, by its name."""
    whole = check.table[check.table["of"] == ""]
    names = whole["statistic"] if "dimension" not in whole else whole["dimension"] + ": " + whole["statistic"]
    return dict(zip(names, whole["p"], strict=True))


def _tabulate_dependence(view: FitView, part: FitPart, random_seed: int) -> pd.DataFrame | None:
    """Return the dependence table of a part that has one, if enough items are in it."""
    name = part.dimension or None
    try:
        table = dependence_table(
            view, dimension=name, least_items=LEAST_ITEMS, ci_prob=0.95, resamples=RESAMPLES, random_seed=random_seed
        )
    except (DataError, FitError):  # its states are no labels, or no two annotators share an item
        return None
    whole = table.iloc[0]
    return table if whole["n_items"] >= LEAST_ITEMS and np.isfinite(whole["worth_ci95_lb"]) else None


def _find_copies(view: FitView, dependence: Mapping[str, pd.DataFrame]) -> list[tuple[str, ...]]:
    """Return groups of annotators who err like copies: by known labels, or else also by the fit's own check."""
    pairs, by_gold = [], False
    for table in dependence.values():
        close = table[(table["level"] == "pair") & (table["correlation_ci95_lb"] > COPIES)]
        pairs += list(zip(close["first"], close["second"], strict=True))
        by_gold |= table["truth"].iloc[0] == "gold"
    for one in () if by_gold else view.diagnostics.get("misfit", []):
        agree = one.get("pairs") or {"close": 0, "named": []}
        pairs += [tuple(named["annotators"]) for named in agree["named"][: agree["close"]]]
        followed = names_followed(one.get("followed"))
        pairs += list(pairwise(followed))
    return _join(pairs)


def _join(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the groups that pairs connect."""
    groups: list[set[str]] = []
    for pair in pairs:
        touching = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group.isdisjoint(pair)] + [set(pair).union(*touching)]
    return [tuple(sorted(group)) for group in groups]
