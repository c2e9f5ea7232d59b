"""Which system is best? Strengths and ranks of the systems that items compare, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.analysis.group_shares import POWERED, group_table
from bayesanno.analysis.ranking import has_pairs, ranking_table, win_table
from bayesanno.inference.diagnosis.findings import WRONG
from bayesanno.modeling.pairs import SYSTEM
from bayesanno.report.blocks import PageBlock, Text, draw, large_table
from bayesanno.report.plots.systems import MOST_IN_MATRIX, draw_ranking, of_all_items, plot_groups, plot_wins
from bayesanno.report.sections.findings import Findings
from bayesanno.simulation.quantities import says_labels

SURE = 0.95  # of which of two systems is stronger
MOST_SYSTEMS = 100  # with shares of labels
DOUBT = (
    " The answers are not as the model predicts them: where judges err together, intervals of strengths are too "
    "narrow. Fit shared_errors, or give true answers of some comparisons as controls, and compare."
)


def show_ranking(found: Findings) -> Iterator[PageBlock]:
    """Show the ranking of systems; nothing where items compare none."""
    view = found.view
    if not has_pairs(view) or view.yields == "point":
        return
    table, wins = ranking_table(view), win_table(view)
    overall = of_all_items(table)
    best = overall.iloc[0]
    unsure = int((wins["p_stronger"] < SURE).sum())
    yield Text(
        f"{best['system']} is the strongest of {len(overall):,} systems with a probability of {best['p_best']:.3g}. Of "
        f"{len(wins):,} pairs of systems, {unsure:,} are undecided: less than {SURE:.0%} certain which is stronger."
        + (DOUBT if found.is_misfit or found.has(*WRONG) else "")
    )
    said = "Strength, and rank with the probability of being the best, of each system, with intervals."
    yield draw(draw_ranking(table), said)
    of_each = ("subset", "system", "n_answers", "elo", "share_won", "rank", "p_best")  # ranking.csv has more
    shown = [name for kind in of_each for name in map(str, table) if name == kind or name.startswith(f"{kind}_")]
    yield large_table(table[[name for name in shown if not name.endswith("_sd")]], name="ranking-table", what="systems",
                      by="elo_mean")  # fmt: skip
    if len(overall) <= MOST_IN_MATRIX:
        said = "How often judges like these say that the row wins against the column, with ties as half a win."
        yield draw(plot_wins(view), said)


def show_systems(found: Findings, *, random_seed: int) -> Iterator[PageBlock]:
    """Show the share of labels among the items of each system; nothing without a column `system` of the items."""
    view, data = found.view, found.view.named_data
    if view.yields == "point" or SYSTEM not in getattr(data, "item_columns", {}) or not says_labels(view.model, data):
        return
    n_systems = len(data.item_columns[SYSTEM].levels)
    if not 2 <= n_systems <= MOST_SYSTEMS or data.item_columns[SYSTEM].is_missing.any():
        return
    table = group_table(view, SYSTEM, random_seed=random_seed)
    yield Text(
        "The share of each label among the items of a system, and its rank"
        + ("; rows of ppi hold for any errors of the model." if (table["source"] == POWERED).any() else ".")
        + (DOUBT if found.is_misfit or found.has(*WRONG) else "")
    )
    yield draw(plot_groups(table), "Shares of labels by system, with intervals.")
    yield large_table(table, name="system-table", what="rows", by="mean")
