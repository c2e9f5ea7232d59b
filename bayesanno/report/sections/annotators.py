"""Who are the annotators? How good each is, how sure that is, and what they confuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesanno.analysis.annotators import annotator_table, low_competence_probability
from bayesanno.analysis.parts import parts_of
from bayesanno.ground.wording import counted, enumerated
from bayesanno.report.blocks import Block, Heading, Text, draw, grid_of
from bayesanno.report.plots.annotators import plot_annotators, plot_confusion

if TYPE_CHECKING:
    import pandas as pd

    from bayesanno.fits.view import FitView

LOW = 0.5  # a competence below it is low
CONFUSION = "confusion"  # the parameter of models whose annotators confuse labels


def show_annotators(view: FitView) -> list[Block]:
    """Return who is good, who is not, in a figure and in a table, and what they confuse."""
    table = annotator_table(view)
    n = table["annotator"].nunique()
    called = view.model.competence
    what = "" if called == "competence" else f"; their competence is what {view.model.name} calls {called}"
    blocks: list[Block] = [Text(text=f"{counted(n, 'annotator')}{what}.")]
    blocks += [Text(text=sentence) for sentence in _tell_low(view, table)]
    for part in parts_of(view):
        name = part.dimension or None
        if name:
            blocks.append(Heading(text=name))
        said = "Competence of each annotator" + (" with its 94% interval." if view.yields != "point" else ".")
        blocks.append(draw(plot_annotators(view, dimension=name), alt=said, caption=said))
        if CONFUSION in view.posterior:
            said = "What annotators answer (columns) where the truth is the row, of those with most answers."
            blocks.append(draw(plot_confusion(view, dimension=name), alt=said, caption=said))
    shown = table.rename(columns=lambda name: str(name).removeprefix("competence_"))
    shown = shown.dropna(axis="columns", how="all")  # a point has no intervals
    return [
        *blocks,
        Heading(text="Every annotator, the least competent first"),
        grid_of(shown, name="annotator-table", what="annotators", by="mean", down=False),
    ]


def _tell_low(view: FitView, table: pd.DataFrame) -> list[str]:
    """Say whose competence is more probably low than not."""
    if view.yields == "point":
        low = table.loc[table["competence_mean"] < LOW, "annotator"].drop_duplicates().tolist()
        which = f"an estimate below {LOW}"
    else:
        found = low_competence_probability(view, below=LOW)
        low = found.loc[found["probability"] > LOW, "annotator"].drop_duplicates().tolist()
        which = f"a competence that is more probably than not below {LOW}"
    if not low:
        return [f"Nobody has {which}."]
    return [f"{counted(len(low), 'annotator')} {'has' if len(low) == 1 else 'have'} {which}: {enumerated(low)}."]
