"""Tables and figures of annotators: how good each is, which labels they confuse, and whether they err together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayesanno._core.chains import DIAGNOSTICS
from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd
from bayesanno.analysis.dependence import MOST_PAIRS
from bayesanno.analysis.population import population_table
from bayesanno.fits.view import FitView
from bayesanno.report.blocks import join_ends, large_table
from bayesanno.report.plots.agreement import draw_dependence
from bayesanno.report.plots.annotators import is_at_chance
from bayesanno.report.sections.findings import Findings

MOST_LISTED = 10  # pairs that are listed
LITTLE = 0.03  # a correlation that the fit's own labels may show of independent annotators with few answers each


def list_at_chance(found: Findings) -> list[str] | None:
    """Return the annotators who are probably no better than chance; None where that is not measured."""
    table = found.annotators
    if table is None or "p_chance" not in table:
        return None
    return table.loc[is_at_chance(table), "annotator"].drop_duplicates().tolist()


def list_annotators(table: pd.DataFrame, is_of_graders: bool) -> dict[str, Any]:
    """Return the table of all annotators, the severest or the least competent first."""
    beside = [f"{name}_{what}" for name in ("severity", "sd") for what in DIAGNOSTICS]  # summary.csv has them
    shown = table.drop(columns=[*beside, "competence_ess_tail"], errors="ignore")
    shown = shown.dropna(axis="columns", how="all")  # EM: no intervals
    shown = shown.rename(columns=lambda name: str(name).removeprefix("competence_"))
    return large_table(shown, "annotators", "severity_mean" if is_of_graders else "mean", down=is_of_graders)


def describe_typical(view: FitView) -> pd.DataFrame | None:
    """Return how often the typical annotator recognises each class, and how strongly annotators are pooled."""
    if not view.has_population:
        return None
    table = population_table(view)
    own = table[table["true_class"] == table["response"]]
    low, high, _ = find_bounds(own, "annotators")
    shown = join_ends(own[["true_class", "mean", low, high]], "annotators")
    return shown.rename(columns={"mean": "recognised"}).assign(**{"pooling, in answers": own["pooling"].round()})


def describe_pairs(found: Findings) -> Iterator[dict[str, Any]]:
    """Yield how far annotators err together, of each dimension in which that is known of enough items."""
    for dimension, table in found.dependence.items():
        whole, pairs = table.iloc[0], table[table["level"] == "pair"]
        low, high, _ = find_bounds(table, "correlation")
        by_gold = whole["truth"] == "gold"
        least = 0 if by_gold else LITTLE
        sure = pairs[pairs[low] > least]
        named = {"first": "annotator", "second": "and", "n_items": "items"}
        yield {
            "dimension": dimension,
            "whole": whole,
            "ends": (whole[low], whole[high]),
            "by_gold": by_gold,
            "is_dependent": whole[low] > least,
            "least": least,
            "n_pairs": len(pairs),
            "are_cut": len(pairs) == MOST_PAIRS,
            "n_sure": len(sure),
            "figure": draw_dependence(table, {}, dimension or None) if len(sure) else None,
            "sure": join_ends(sure.head(MOST_LISTED)[[*named, "correlation", low, high]], "correlation").rename(
                columns=named
            ),
        }
