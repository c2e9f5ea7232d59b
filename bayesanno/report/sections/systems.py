"""Tables and figures of systems: their ranking where items compare them, and their labels where items are of them."""

from __future__ import annotations

from typing import Any

from bayesanno._core.lazy import pd
from bayesanno.analysis.group_shares import POWERED, group_table
from bayesanno.analysis.ranking import has_pairs, ranking_table, win_table
from bayesanno.modeling.pairs import SYSTEM
from bayesanno.report.blocks import join_ends, large_table
from bayesanno.report.plots.systems import MOST_IN_MATRIX, draw_ranking, of_all_items, plot_groups, plot_wins
from bayesanno.report.sections.findings import Findings
from bayesanno.simulation.quantities import says_labels

SURE = 0.95  # of which of two systems is stronger
MOST_SYSTEMS = 100  # with shares of labels
MOST_LEADING = 10  # rows of a leaderboard


def rank_systems(found: Findings) -> dict[str, Any] | None:
    """Return the ranking of systems; None where items compare none, or the fit is one point."""
    view = found.view
    if not has_pairs(view) or view.yields == "point":
        return None
    table, wins = ranking_table(view), win_table(view)
    overall = of_all_items(table)
    of_each = ("subset", "system", "n_answers", "elo", "share_won", "rank", "p_best")  # ranking.csv has more
    shown = [name for kind in of_each for name in map(str, table) if name == kind or name.startswith(f"{kind}_")]
    leading = overall[[name for name in shown if name.split("_")[0] in ("system", "elo", "rank", "p")]]
    leading = leading.drop(columns=["elo_sd", "rank_mean"]).rename(columns={"elo_mean": "elo", "p_best": "P(best)"})
    return {
        "best": overall.iloc[0],
        "n": len(overall),
        "n_pairs": len(wins),
        "unsure": int((wins["p_stronger"] < SURE).sum()),
        "leaderboard": join_ends(join_ends(leading.head(MOST_LEADING), "elo"), "rank"),
        "figure": draw_ranking(table),
        "table": large_table(table[[name for name in shown if not name.endswith("_sd")]], "systems", "elo_mean"),
        "wins": plot_wins(view) if len(overall) <= MOST_IN_MATRIX else None,
    }


def share_labels(found: Findings, random_seed: int) -> dict[str, Any] | None:
    """Return the shares of labels among the items of each system; None without a column `system` of the items."""
    view, data = found.view, found.view.named_data
    if view.yields == "point" or SYSTEM not in getattr(data, "item_columns", {}) or not says_labels(view.model, data):
        return None
    n_systems = len(data.item_columns[SYSTEM].levels)
    if not 2 <= n_systems <= MOST_SYSTEMS or data.item_columns[SYSTEM].is_missing.any():
        return None
    table = group_table(view, SYSTEM, random_seed=random_seed)
    return {
        "leaderboard": _list_leading(table),
        "has_powered": bool((table["source"] == POWERED).any()),
        "figure": plot_groups(table),
        "table": large_table(table, "rows", "mean"),
    }


def _list_leading(table: pd.DataFrame) -> pd.DataFrame:
    """Return the first systems by the last quantity of a group table: a positive label's share, or the mean grade."""
    last = table[(table["label"] == table["label"].iloc[-1]) & (table["quantity"] == table["quantity"].iloc[-1])]
    label = last["label"].iloc[0]
    what = f"share of {label!r}" if label else "mean grade"
    ends = [name for name in last if name.endswith(("_lb", "_ub"))]
    leading = join_ends(join_ends(last[["group", "source", "mean", *ends, "p_best"]]), "rank")
    return leading.rename(columns={"group": "system", "mean": what, "p_best": "P(largest)"}).head(2 * MOST_LEADING)
