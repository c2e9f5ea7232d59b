"""Who are the annotators? How good each is, with its uncertainty, and which labels they confuse."""

from __future__ import annotations

from bayesanno.analysis.behaviour import behaviour_table
from bayesanno.analysis.parameters import DIAGNOSTICS
from bayesanno.analysis.parts import parts_of
from bayesanno.analysis.population import population_table
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted, enumerated
from bayesanno.modeling.capabilities import OF_GRADING, HasPopulation
from bayesanno.report.blocks import Block, Heading, Text, draw, grid_of
from bayesanno.report.plots.agreement import plot_divergence, plot_usage
from bayesanno.report.plots.annotators import LOW, draw_annotators, plot_confusion, tabulate_low

CONFUSION = "confusion"  # the parameter of models whose annotators confuse labels,
USAGE = "usage"  # and of those that say how labels are used


def describes_annotators(view: FitView) -> bool:
    """Whether a fit says how good annotators are, or how they use the labels."""
    return view.model.competence is not None or USAGE in view.posterior


def show_annotators(view: FitView) -> list[Block]:
    """Return who is good, who is not, in a figure and in a table, and what they confuse."""
    if view.model.competence is None:
        return _show_usage(view)
    table = tabulate_low(view)
    n = table["annotator"].nunique()
    called = view.model.competence
    what = "" if called == "competence" else f"; their competence is the parameter {called} of {view.model.name}"
    blocks: list[Block] = [Text(f"{counted(n, 'annotator')}{what}.")]
    blocks += [Text(sentence) for sentence in [*_describe_low(view, table), *_describe_population(view)]]
    for part in parts_of(view, need_items=False):
        name = part.dimension or None
        if name:
            blocks.append(Heading(name))
        said = "Competence of each annotator" + (" with its 94% interval." if view.yields != "point" else ".")
        blocks.append(draw(draw_annotators(view, table, name), said))
        if CONFUSION in view.posterior:
            said = "Answers (columns) by true label (rows), of the annotators with most answers."
            blocks.append(draw(plot_confusion(view, dimension=name), said))
    beside = [f"{name}_{what}" for name in OF_GRADING for what in DIAGNOSTICS]  # summary.csv has them
    shown = table.drop(columns=["low", *(name for name in beside if name in table)])
    shown = shown.rename(columns=lambda name: str(name).removeprefix("competence_"))
    shown = shown.dropna(axis="columns", how="all")  # a point has no intervals
    return [
        *blocks,
        Heading("All annotators, the least competent first"),
        grid_of(shown, name="annotator-table", what="annotators", by="mean", down=False),
    ]


def _show_usage(view: FitView) -> list[Block]:
    """Return how annotators use the labels, and who does so unlike the others."""
    table = behaviour_table(view)
    figures = {"How annotators use the labels.": plot_usage(view.data)}
    if table["kld_mean"].notna().any():  # not of one annotator alone
        said = "Divergence of each annotator's use of the labels from the others', with 94% intervals."
        figures = {said: plot_divergence(view)} | figures
    return [
        Text(f"{counted(len(table), 'annotator')}; the model says how they use the labels, not who is right."),
        *(draw(figure, said) for said, figure in figures.items()),
        Heading("All annotators, the one that most probably differs most first"),
        grid_of(table, name="annotator-table", what="annotators", by="farthest_probability"),
    ]


def _describe_population(view: FitView) -> list[str]:
    """Say what the typical annotator is like, and how much that weighs in what is said of each."""
    if not isinstance(view.model, HasPopulation):
        return []
    table = population_table(view)
    right = table[table["true_class"] == table["response"]]
    each = [
        f"{name!r} in {mean:.0%} ({low:.0%} to {high:.0%} for 94% of annotators; {counted(max(1, round(n)), 'answer')})"
        for name, mean, low, high, n in zip(
            *(right[column] for column in ("true_class", "mean", "annotators_lb", "annotators_ub", "pooling")),
            strict=True,
        )
    ]
    return [
        f"The typical annotator recognises {'; '.join(each)}. The number of answers in brackets says how strongly "
        "annotators are pooled: an annotator with fewer answers to items of the class is estimated mostly from the "
        "others (bayesanno.population_table; population.csv of a run)."
    ]


def _describe_low(view: FitView, table: pd.DataFrame) -> list[str]:
    """Name the annotators whose competence is more probably low than not."""
    names = table.loc[table["low"], "annotator"].drop_duplicates().tolist()
    is_point = view.yields == "point"
    which = f"an estimate below {LOW}" if is_point else f"a competence that is more probably than not below {LOW}"
    if not names:
        return [f"No annotator has {which}."]
    return [f"{counted(len(names), 'annotator')} {'has' if len(names) == 1 else 'have'} {which}: {enumerated(names)}."]
