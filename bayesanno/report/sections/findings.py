"""What a page says of a fit, found once: every section reads it here, so that none contradicts the verdict on top.

The invariant: `is_off` decides whether what rests on the probabilities of labels is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayesanno.analysis.dependence import dependence_table
from bayesanno.criticism.predictive import PredictiveCheck, predictive_check
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import FitPart, parts_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError, FitError
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted
from bayesanno.inference.diagnosis.findings import MISFIT, WRONG, name_followed, read_findings
from bayesanno.inference.diagnosis.known_labels import Errors, count_errors
from bayesanno.modeling.findings import Finding, Level, find, sort_findings, threshold_of
from bayesanno.report.plots.agreement import RESAMPLES

LEAST_ITEMS = 20  # that two annotators share, for a row of their own
SMALL = threshold_of("statistic-off")  # p-values below it are reported; over their number, they count against the model
OF_ANSWERS = (*MISFIT, "statistic-off", "errors-like-copies", "most-err-together")
REPLICATES = 200  # tables that are simulated: enough to see a p-value below that


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """What was found of a fit, with the caveats that follow for the rest of its page.

    Attributes
    ----------
    view : FitView
    parts : list of FitPart
        Empty where the fit holds no items.
    listed : list of Finding
        The findings of the fit, and those of this page.
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
    listed: Sequence[Finding]
    errors: Mapping[str, Errors]
    dependence: Mapping[str, pd.DataFrame]
    copies: Sequence[Sequence[str]]
    check: PredictiveCheck | None

    @property
    def problems(self) -> list[Finding]:
        """Why chains, or another method, may not have found the posterior."""
        return [one for one in self.listed if one.warning == "ConvergenceWarning"]

    def has(self, *codes: str) -> bool:
        """Whether one of these was found."""
        return any(one.code in codes for one in self.listed)

    @property
    def is_misfit(self) -> bool:
        """Whether the answers are not as the model predicts them."""
        return self.has(*OF_ANSWERS)

    @property
    def is_wrong(self) -> bool:
        """Whether known labels contradict the fit's, beyond chance."""
        return self.has(*WRONG)

    @property
    def is_off(self) -> bool:
        """Whether the probabilities of labels cannot be relied on: known labels contradict them, or the answers do.

        The adjustment of labels spreads errors over all annotators, and so does not do for a few who copy.
        """
        if self.is_wrong or self.view.is_recalibrated:
            return self.is_wrong
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
    copies = _find_copies(view, dependence)
    own = [*_find_failed(check), *_find_groups(view, dependence, copies)]
    return Findings(
        view=view,
        parts=parts,
        listed=sort_findings([*read_findings(view), *own]),
        errors=errors,
        dependence=dependence,
        copies=copies,
        check=check,
    )


def _find_failed(check: PredictiveCheck | None) -> Iterator[Finding]:
    """Yield the statistics that simulated answers do not reproduce."""
    p = {} if check is None else p_values(check)
    for name, one in p.items():
        if one < SMALL / len(p):
            yield find("statistic-off", [name], one, threshold=SMALL / len(p), statistic=name)


def _find_groups(
    view: FitView, dependence: Mapping[str, pd.DataFrame], copies: Sequence[Sequence[str]]
) -> Iterator[Finding]:
    """Yield the groups of annotators who err like copies."""
    n = len(getattr(view.named_data, "annotators", ()))
    level: Level | None = "note" if view.is_recalibrated else None
    for group in copies:
        if len(group) > threshold_of("most-err-together") * n:
            yield find("most-err-together", group, len(group) / n, level=level, annotators=counted(n, "annotator"))
            continue
        for table in dependence.values():
            pairs = table[(table["level"] == "pair") & table["first"].isin(group) & table["second"].isin(group)]
            close = pairs[pairs["correlation_ci95_lb"] > threshold_of("errors-like-copies")]
            for most in close[:1].to_dict("records"):
                who: dict[str, Any] = {"first": most["first"], "second": most["second"]}
                who["items"] = counted(int(most["n_items"]), "item")
                yield find("errors-like-copies", group, most["correlation"], level=level, **who)


def p_values(check: PredictiveCheck) -> dict[str, float]:
    """Return the p-value of each statistic as a whole, by its name."""
    whole = check.table[check.table["of"] == ""]
    names = whole["statistic"] if "dimension" not in whole else whole["dimension"] + ": " + whole["statistic"]
    return dict(zip(names, whole["p"], strict=True))


def _tabulate_dependence(view: FitView, part: FitPart, random_seed: int) -> pd.DataFrame | None:
    """Return the dependence table of a part that has one, if enough items are in it."""
    dimension = part.dimension or None
    try:
        table = dependence_table(
            view, dimension=dimension, least_items=LEAST_ITEMS, resamples=RESAMPLES, random_seed=random_seed
        )
    except (DataError, FitError):  # its states are no labels, or no two annotators share an item
        return None
    whole = table.iloc[0]
    return table if whole["n_items"] >= LEAST_ITEMS and np.isfinite(whole["worth_ci95_lb"]) else None


def _find_copies(view: FitView, dependence: Mapping[str, pd.DataFrame]) -> list[tuple[str, ...]]:
    """Return groups of annotators who err like copies: by known labels, or else also by the fit's own check."""
    pairs, by_gold = [], False
    for table in dependence.values():
        close = table[(table["level"] == "pair") & (table["correlation_ci95_lb"] > threshold_of("errors-like-copies"))]
        pairs += list(zip(close["first"], close["second"], strict=True))
        by_gold |= table["truth"].iloc[0] == "gold"
    for one in () if by_gold else view.diagnostics.get("misfit", []):
        agree = one.get("pairs") or {"close": 0, "named": []}
        pairs += [tuple(named["annotators"]) for named in agree["named"][: agree["close"]]]
        followed = name_followed(one.get("followed"))
        pairs += list(pairwise(followed))
    return _join(pairs)


def _join(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the groups that pairs connect."""
    groups: list[set[str]] = []
    for pair in pairs:
        touching = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group.isdisjoint(pair)] + [set(pair).union(*touching)]
    return [tuple(sorted(group)) for group in groups]
