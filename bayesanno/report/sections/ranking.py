"""Which system is best? Strengths and ranks of the systems that items compare, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.analysis.group_shares import POWERED, group_table
from bayesanno.analysis.parameters import DIAGNOSTICS
from bayesanno.analysis.ranking import has_pairs, ranking_table, win_table
from bayesanno.ground.lazy import pd
from bayesanno.inference.diagnosis.findings import WRONG
from bayesanno.modeling.pairs import STRENGTH, SYSTEM
from bayesanno.report.blocks import Heading, PageBlock, Text, draw, large_table, small_table
from bayesanno.report.plots.systems import draw_ranking, of_all_items, plot_groups
from bayesanno.report.sections.findings import Findings
from bayesanno.simulation.quantities import says_labels

SURE = 0.95  # of which of two systems is stronger
MOST_SYSTEMS = 100  # with shares of labels
MOST_NEIGHBOURS = 30  # pairs of neighbours in the ranking that are listed
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
    shown = table.drop(columns=[f"{STRENGTH}_{what}" for what in DIAGNOSTICS])  # summary.csv has them
    yield large_table(shown, name="ranking-table", what="systems", by="strength_mean")
    neighbours = wins[_are_neighbours(overall, wins)].head(MOST_NEIGHBOURS)
    yield Heading("Neighbours in the ranking")
    yield small_table(neighbours, caption="How often the first truly wins, a tie counting half")


def show_systems(found: Findings, *, random_seed: int) -> Iterator[PageBlock]:
    """Show the share of labels among the items of each system; nothing without a column `system` of the items."""
    view, data = found.view, found.view.data
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


def _are_neighbours(table: pd.DataFrame, wins: pd.DataFrame) -> pd.Series[bool]:
    place = {name: at for at, name in enumerate(table["system"])}
    return wins["second"].map(place) == wins["first"].map(place) + 1
