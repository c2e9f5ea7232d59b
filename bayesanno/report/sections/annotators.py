"""Who are the annotators? How good each is and which labels they confuse, and whether they err together."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.wording import counted, enumerated
from bayesanno.analysis.annotators import annotator_table
from bayesanno.analysis.behaviour import behaviour_table
from bayesanno.analysis.dependence import MOST_PAIRS
from bayesanno.analysis.parameters import DIAGNOSTICS
from bayesanno.analysis.population import population_table
from bayesanno.fits.parts import parts_of
from bayesanno.fits.view import FitView
from bayesanno.report.blocks import Heading, PageBlock, Text, draw, large_table, small_table
from bayesanno.report.plots.agreement import describe_worth, draw_dependence, plot_divergence, plot_usage
from bayesanno.report.plots.annotators import draw_annotators, is_at_chance, plot_confusion
from bayesanno.report.sections.findings import LEAST_ITEMS, Findings

CONFUSION = "confusion"  # the parameter of models whose annotators confuse labels,
USAGE = "usage"  # and of those that say how labels are used
MOST_LISTED = 10  # pairs that are listed
LITTLE = 0.03  # a correlation that the fit's own labels may show of independent annotators with few answers each
SHOWN = {"first": "annotator", "second": "and", "n_items": "items", "correlation": "correlation"}


def show_annotators(found: Findings) -> Iterator[PageBlock]:
    """Show which annotators are good, in a figure and in a table, and what they confuse."""
    view = found.view
    called = view.model.competence
    if called is None:
        if USAGE in view.posterior:
            yield from _show_usage(view)
        return
    table, is_point = annotator_table(view), view.yields == "point"
    interval = find_bounds(table, "competence")[2]
    what = "" if called == "competence" else f"; their competence is the parameter {called} of {view.model.name}"
    yield Text(f"{counted(table['annotator'].nunique(), 'annotator')}{what}.{_warn_of_shared(found)}")
    if not view.has_severity:
        yield Text(_describe_chance(table))
    if view.has_population:
        yield Text(_describe_population(population_table(view)))
    for part in parts_of(view, need_items=False):
        name = part.dimension or None
        if name:
            yield Heading(name)
        said = f"Competence of each annotator{'' if is_point else f' with its {interval}'}."
        yield draw(draw_annotators(view, table, name), said)
        if CONFUSION in view.posterior:
            said = "Answers (columns) by true label (rows), of the annotators with most answers."
            yield draw(plot_confusion(view, dimension=name), said)
    beside = [f"{name}_{what}" for name in ("severity", "sd") for what in DIAGNOSTICS]  # summary.csv has them
    beside += ["competence_ess_tail"]
    shown = table.drop(columns=beside, errors="ignore").dropna(axis="columns", how="all")  # EM: no intervals
    shown = shown.rename(columns=lambda name: str(name).removeprefix("competence_"))
    by = "severity_mean" if view.has_severity else "mean"
    yield Heading(f"All annotators, the {'severest' if view.has_severity else 'least competent'} first")
    yield large_table(shown, name="annotator-table", what="annotators", by=by, down=view.has_severity)


def _warn_of_shared(found: Findings) -> str:
    """Warn where labels, and so competences, follow errors that annotators share."""
    if not found.is_off:
        return ""
    who = " and ".join(enumerated(group) for group in found.copies)
    most = f" (here {who})" if who else ""
    return f" It is measured by the labels of the fit, which are off: annotators who err together{most} look too good."


def _show_usage(view: FitView) -> Iterator[PageBlock]:
    """Show how annotators use the labels, and who does so unlike the others."""
    table = behaviour_table(view)
    yield Text(f"{counted(len(table), 'annotator')}; the model says how they use the labels, not who is right.")
    if table["kld_mean"].notna().any():  # one annotator alone differs from nobody
        said = "Divergence of each annotator's use of the labels from the others', with intervals."
        yield draw(plot_divergence(view), said)
    yield draw(plot_usage(view.data), "How annotators use the labels.")
    yield Heading("All annotators, the one that most probably differs most first")
    yield large_table(table, name="annotator-table", what="annotators", by="farthest_probability")


def _describe_population(table: pd.DataFrame) -> str:
    """Describe the typical annotator, and how strongly annotators are pooled."""
    low, high, interval = find_bounds(table, "annotators")
    each = [
        f"{row['true_class']!r} in {row['mean']:.0%} ({row[low]:.0%} to {row[high]:.0%}, the {interval} "
        f"over annotators; {counted(max(1, round(row['pooling'])), 'answer')})"
        for row in table[table["true_class"] == table["response"]].to_dict("records")
    ]
    return (
        f"The typical annotator recognises {'; '.join(each)}. The number of answers in brackets says how strongly "
        "annotators are pooled: an annotator with fewer answers to items of the class is estimated mostly from the "
        "others (bayesanno.population_table; population.csv of a run)."
    )


def _describe_chance(table: pd.DataFrame) -> str:
    """Name the annotators who are probably no better than chance."""
    names = table.loc[is_at_chance(table), "annotator"].drop_duplicates().tolist()
    if not names:
        return "All annotators are probably better than chance."
    are = "is" if len(names) == 1 else "are"
    return f"{counted(len(names), 'annotator')} {are} probably no better than chance: {enumerated(names)}."


def show_dependence(found: Findings) -> Iterator[PageBlock]:
    """Show how far annotators err together; nothing where that is unknown, or known of few items only."""
    for dimension, table in found.dependence.items():
        if dimension:
            yield Heading(dimension)
        yield from _show_pairs(found.view, dimension, table)


def _show_pairs(view: FitView, dimension: str, table: pd.DataFrame) -> Iterator[PageBlock]:
    whole, pairs = table.iloc[0], table[table["level"] == "pair"]
    values = [f"{round(whole[f'correlation{end}'], 2) + 0:.2f}" for end in ("", "_ci95_lb", "_ci95_ub")]
    by, on = whole["truth"], counted(int(whole["n_items"]), "item")
    how = f"the known labels of {on}" if by == "gold" else f"the fit's own labels of {on}"
    sentences = [
        f"By {how}, errors of two annotators correlate by {values[0]} ({values[1]} to {values[2]}) beyond what "
        f"{view.model.name} predicts, which assumes independence: {describe_worth(whole)}."
    ]
    if whole["correlation_ci95_lb"] > (0 if by == "gold" else LITTLE):
        adjusted = "were adjusted for what the fit saw of that"
        sentences.append(f"The labels {adjusted if view.is_tempered else 'are therefore overconfident'}.")
    if by == "posterior":
        sentences.append("The fit treats widely shared errors as the truth, so dependence is understated.")
    if pairs.empty:
        sentences.append(f"No two annotators share {LEAST_ITEMS} items, so pairs are not listed.")
    yield Text(" ".join(sentences))
    if pairs.empty:
        return
    said = f"Correlation of errors beyond the model, for each pair of annotators who share {LEAST_ITEMS} or more items."
    yield draw(draw_dependence(table, {}, dimension or None), said)
    sure = pairs[pairs["correlation_ci95_lb"] > 0]
    if sure.empty:
        yield Text(f"No interval among {len(pairs):,} pairs is above 0.")
        return
    most = f" of the {MOST_PAIRS:,} that share most items" if len(pairs) == MOST_PAIRS else f" among {len(pairs):,}"
    caption = f"{counted(len(sure), 'pair')}{most} with an interval above 0"
    shown = sure.head(MOST_LISTED).rename(columns=SHOWN)[
        [*SHOWN.values(), "correlation_ci95_lb", "correlation_ci95_ub"]
    ]
    yield small_table(shown, caption=f"{caption}, the most certain first")
