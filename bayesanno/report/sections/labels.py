"""What are the labels? How many of each, how sure, and every item in a table, the most uncertain first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesanno.analysis.difficulty import difficulty_table
from bayesanno.analysis.labels import label_table, score_part
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import FitPart, concat_parts, parts_of
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted
from bayesanno.report.blocks import Heading, PageBlock, Text, draw, large_table, small_table
from bayesanno.report.plots.items import plot_coverage, plot_entropy, plot_labels
from bayesanno.report.sections.findings import Findings
from bayesanno.report.sections.summary import LEAST_SURE

CHOSEN = ("dimension", "label", "item_type", "type", "gold", "right")  # columns that rows are chosen by
MOST_HARD = 5  # items that are named as the hardest


def ask_of_items(view: FitView) -> str:
    """Return what one asks of the items: their labels, or their types."""
    if isinstance(view.named_data, AnnotationTotals) or not all(part.is_of_types for part in parts_of(view)):
        return "What are the labels?"
    return "What are the types of the items?"


def show_items(found: Findings) -> Iterator[PageBlock]:
    """Show the labels or types of the items, how sure they are, and all of them in a table."""
    view = found.view
    if isinstance(view.named_data, AnnotationTotals):
        where = "The fit was made on a Dask cluster and does not hold the items"
        yield Text(f"{where}: bayesanno.write_labels writes their labels there.")
        return
    if all(len(part.states) == 1 for part in parts_of(view)):
        yield Text(f"{view.model.name} describes annotators only; it has no labels of items.")
        return
    for part in parts_of(view):
        if part.dimension:
            yield Heading(part.dimension)
        yield from _show_part(found, part)
    if view.model.has_difficulty:
        yield Text(_describe_hardest(difficulty_table(view)))
    rows = item_rows(view)
    what = "items" if "dimension" not in rows else "items, each in every dimension"
    yield Heading("All items, the most uncertain first")
    yield large_table(rows, name="item-table", what=what, by="entropy", choose=CHOSEN)


def _show_part(found: Findings, part: FitPart) -> Iterator[PageBlock]:
    view, off = found.view, ", by probabilities that are off" if found.is_off else ""
    state, scored, name = "type" if part.is_of_types else "label", score_part(part), part.dimension or None
    yield Text(_describe_certainty(part, state, is_off=found.is_off) + found.caveat)
    if scored:
        surest = f"90% of items {scored['accuracy_at_90']:.1%}, of the surest 75% {scored['accuracy_at_75']:.1%}"
        yield Text(f"Against gold {scored['accuracy']:.1%} are right; of the surest {surest}.")
    counts = _count_states(part, state)
    yield small_table(counts.drop(columns="items, expected") if found.is_off else counts)
    yield draw(plot_labels(view, dimension=name), f"The items with the least certain {state}s{off}.")
    yield draw(plot_entropy(view, dimension=name), f"How uncertain the items are{off}.")
    if scored and not name:
        yield draw(plot_coverage(view), "Accuracy by the share of items kept, the most certain first.")


def _describe_certainty(part: FitPart, state: str, *, is_off: bool) -> str:
    best = part.posterior.values.max(axis=1)
    unsure, wrong = int((best < LEAST_SURE).sum()), (1 - best).sum()
    expected = f" If the probabilities are right, {wrong:,.1f} of the most probable {state}s are wrong."
    return (
        f"{unsure:,} of {counted(best.size, 'item')} ({unsure / best.size:.0%}) have no {state} of probability "
        f"{LEAST_SURE} or more.{'' if is_off else expected}"
    )


def _describe_hardest(table: pd.DataFrame) -> str:
    """Name the hardest items."""
    hard = table[table["difficulty_hdi94_lb"] > 0]
    named = [f"{item} ({chance:.0%})" for item, chance in zip(table["item"], table["expected_accuracy"], strict=True)]
    how_many = f"{counted(len(hard), 'item')} {'is' if len(hard) == 1 else 'are'}" if len(hard) else "No item is"
    return (
        f"{how_many} harder than the average item (94% interval of the difficulty above 0). The hardest, with the "
        f"chance that an annotator is right: {', '.join(named[:MOST_HARD])}."
    )


def _count_states(part: FitPart, state: str) -> pd.DataFrame:
    """Return how many items have each label or type, expected and by the most probable one."""
    probability, states = part.posterior.values, part.states
    table = pd.DataFrame({state: states, "items, expected": probability.sum(axis=0).round(1)})
    table["items, most probable"] = np.bincount(probability.argmax(axis=1), minlength=len(states))
    if part.votes is not None and not part.is_of_types:
        given = dict(zip(part.data.labels, part.votes.sum(axis=0) / part.votes.sum(), strict=True))
        table["share of answers"] = [given.get(name, 0.0) for name in states]
    return table


def item_rows(view: FitView) -> pd.DataFrame:
    """Return the label table as one reads it: with the runner-up and the votes instead of each label's probability.

    Returns
    -------
    pandas.DataFrame
        The columns of `label_table` without `p[...]`: the most probable state and its probability first, then
        `runner_up`, its probability `p_runner_up`, `said` (the votes, most first) and, where gold is known, `right`.
    """
    table = label_table(view)
    table = table.drop(columns=[name for name in table if str(name).startswith("p[")])
    first = concat_parts(parts_of(view), _rank_states)
    if "said" in first:
        table = table.drop(columns="n_annotations")  # the votes show it
    if "gold" in table and "label" in table:
        known, right = table["gold"] != "", table["gold"] == table["label"]
        table["right"] = pd.Series(np.where(known, np.where(right, "yes", "no"), ""), dtype="str")
    return pd.concat([first, table.drop(columns=first.columns, errors="ignore")], axis=1)


def _rank_states(part: FitPart) -> pd.DataFrame:
    """Return the first columns of `item_rows`, and of counts, whose table has the probabilities alone, the entropy."""
    probability, states = part.posterior.values, np.array(part.states, dtype=object)
    first, second = np.argsort(-probability, axis=1, kind="stable")[:, :2].T
    state = "type" if part.votes is None else "item_type" if part.is_of_types else "label"
    rows = np.arange(len(probability))
    table = pd.DataFrame({"item": list(part.data.items), state: states[first], "probability": probability[rows, first]})
    table = table.assign(runner_up=states[second], p_runner_up=probability[rows, second])
    if part.votes is None:
        return table.assign(entropy=part.entropy)
    return table.assign(said=list_votes(part.votes, part.data.labels))


def list_votes(votes: np.ndarray, labels: tuple[str, ...]) -> np.ndarray:
    """Return the votes for each item in words, the most frequent label first.

    Parameters
    ----------
    votes : array, shape (item, label)
    labels : tuple of str

    Returns
    -------
    array of str, shape (item,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.report.sections.labels import list_votes
    >>> list_votes(np.array([[1, 3], [0, 2], [0, 0]]), ("no", "yes")).tolist()
    ['3 yes, 1 no', '2 yes', '']
    """
    distinct, which = np.unique(votes, axis=0, return_inverse=True)
    words = []
    for row in distinct:
        order = [code for code in np.argsort(-row, kind="stable") if row[code]]
        words.append(", ".join(f"{row[code]:.0f} {labels[code]}" for code in order))
    return np.array(words, dtype=object)[which.reshape(-1)]
