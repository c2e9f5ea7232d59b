"""Who are the annotators? How good each is, how sure that is, and what they confuse."""

from __future__ import annotations

from bayesanno.analysis.behaviour import behaviour_table
from bayesanno.analysis.parts import parts_of
from bayesanno.analysis.population import population_table
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted, enumerated
from bayesanno.modeling.capabilities import HasPopulation
from bayesanno.report.blocks import Block, Heading, Text, draw, grid_of
from bayesanno.report.plots.agreement import plot_divergence, plot_usage
from bayesanno.report.plots.annotators import LOW, draw_annotators, plot_confusion, tabulate_low

CONFUSION = "confusion"  # the parameter of models whose annotators confuse labels,
USAGE = "usage"  # and of those that say how labels are used


def tells_of_annotators(view: FitView) -> bool:
    """Whether a fit says how good annotators are, or how they use the labels."""
    return view.model.competence is not None or USAGE in view.posterior


def show_annotators(view: FitView) -> list[Block]:
    """Return who is good, who is not, in a figure and in a table, and what they confuse."""
    if view.model.competence is None:
        return _show_usage(view)
    table = tabulate_low(view)
    n = table["annotator"].nunique()
    called = view.model.competence
    what = "" if called == "competence" else f"; their competence is what {view.model.name} calls {called}"
    blocks: list[Block] = [Text(f"{counted(n, 'annotator')}{what}.")]
    blocks += [Text(sentence) for sentence in [*_tell_low(view, table), *_tell_population(view)]]
    for part in parts_of(view, need_items=False):
        name = part.dimension or None
        if name:
            blocks.append(Heading(name))
        said = "Competence of each annotator" + (" with its 94% interval." if view.yields != "point" else ".")
        blocks.append(draw(draw_annotators(view, table, name), said))
        if CONFUSION in view.posterior:
            said = "What annotators answer (columns) where the truth is the row, of those with most answers."
            blocks.append(draw(plot_confusion(view, dimension=name), said))
    shown = table.drop(columns="low").rename(columns=lambda name: str(name).removeprefix("competence_"))
    shown = shown.dropna(axis="columns", how="all")  # a point has no intervals
    return [
        *blocks,
        Heading("Every annotator, the least competent first"),
        grid_of(shown, name="annotator-table", what="annotators", by="mean", down=False),
    ]


def _show_usage(view: FitView) -> list[Block]:
    """Return how annotators use the labels, and who does so unlike the others."""
    table = behaviour_table(view)
    figures = {
        "How far each annotator's use of the labels is from the others', with its 94% interval.": plot_divergence(view),
        "The labels as annotators use them.": plot_usage(view.data),
    }
    return [
        Text(f"{counted(len(table), 'annotator')}; the model says how they use the labels, not who is right."),
        *(draw(figure, said) for said, figure in figures.items()),
        Heading("Every annotator, the one most probably farthest out first"),
        grid_of(table, name="annotator-table", what="annotators", by="farthest_probability"),
    ]


def _tell_population(view: FitView) -> list[str]:
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
        f"The typical annotator recognises {'; '.join(each)}. In brackets is also the number of answers to items of "
        "that class from which on an annotator's own weigh more than what is known of the others: with fewer, "
        "annotators are taken to be much like the typical one (bayesanno.population_table; population.csv of a run)."
    ]


def _tell_low(view: FitView, table: pd.DataFrame) -> list[str]:
    """Say whose competence is more probably low than not."""
    names = table.loc[table["low"], "annotator"].drop_duplicates().tolist()
    is_point = view.yields == "point"
    which = f"an estimate below {LOW}" if is_point else f"a competence that is more probably than not below {LOW}"
    if not names:
        return [f"Nobody has {which}."]
    return [f"{counted(len(names), 'annotator')} {'has' if len(names) == 1 else 'have'} {which}: {enumerated(names)}."]
