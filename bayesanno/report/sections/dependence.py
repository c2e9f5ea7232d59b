"""Do annotators err together? How many independent answers an item's answers are worth, and pairs that err together."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.analysis.dependence import MOST_PAIRS
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted
from bayesanno.report.blocks import Heading, PageBlock, Text, draw, small_table
from bayesanno.report.plots.dependence import describe_worth, draw_dependence
from bayesanno.report.sections.findings import LEAST_ITEMS, Findings

MOST_ROWS = 10  # pairs that are listed
LITTLE = 0.03  # a correlation that the fit's own labels may show of independent annotators with few answers each
SHOWN = {"first": "annotator", "second": "and", "n_items": "items", "correlation": "correlation"}


def show_dependence(found: Findings) -> Iterator[PageBlock]:
    """Show how far annotators err together; nothing where that is unknown, or known of few items only."""
    for dimension, table in found.dependence.items():
        if dimension:
            yield Heading(dimension)
        yield from _show_part(found.view, dimension, table)


def _show_part(view: FitView, dimension: str, table: pd.DataFrame) -> Iterator[PageBlock]:
    whole, pairs = table.iloc[0], table[table["level"] == "pair"]
    values = [f"{round(whole[f'correlation{end}'], 2) + 0:.2f}" for end in ("", "_low", "_high")]
    by, on = whole["truth"], counted(int(whole["n_items"]), "item")
    how = f"the known labels of {on}" if by == "gold" else f"the fit's own labels of {on}"
    sentences = [
        f"By {how}, errors of two annotators correlate by {values[0]} ({values[1]} to {values[2]}) beyond what "
        f"{view.model.name} predicts, which assumes independence: {describe_worth(whole)}."
    ]
    if whole["correlation_low"] > (0 if by == "gold" else LITTLE):
        adjusted = "were adjusted for what the fit saw of that"
        sentences.append(f"The labels {adjusted if view.is_adjusted else 'are therefore overconfident'}.")
    if by == "posterior":
        sentences.append("The fit treats widely shared errors as the truth, so dependence is understated.")
    if pairs.empty:
        sentences.append(f"No two annotators share {LEAST_ITEMS} items, so pairs are not listed.")
    yield Text(" ".join(sentences))
    if pairs.empty:
        return
    said = f"Correlation of errors beyond the model, for each pair of annotators who share {LEAST_ITEMS} or more items."
    yield draw(draw_dependence(table, {}, dimension or None), said)
    sure = pairs[pairs["correlation_low"] > 0]
    if sure.empty:
        yield Text(f"No interval among {len(pairs):,} pairs is above 0.")
        return
    most = f" of the {MOST_PAIRS:,} that share most items" if len(pairs) == MOST_PAIRS else f" among {len(pairs):,}"
    caption = f"{counted(len(sure), 'pair')}{most} with an interval above 0"
    shown = sure.head(MOST_ROWS).rename(columns=SHOWN)[[*SHOWN.values(), "correlation_low", "correlation_high"]]
    yield small_table(shown, caption=f"{caption}, the surest first")
