"""What are the labels, and what would more answers bring? Every item is in a table, the most uncertain first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bayesanno._core.errors import FitError
from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.wording import counted
from bayesanno.analysis.difficulty import difficulty_table
from bayesanno.analysis.labels import label_table, score_part
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import FitPart, concat_parts, parts_of
from bayesanno.fits.view import FitView
from bayesanno.planning.futures import Allocation
from bayesanno.planning.of_fit import find_candidates
from bayesanno.planning.progress import expected_progress, stopping_table
from bayesanno.report.blocks import Heading, PageBlock, Text, draw, large_table, small_table
from bayesanno.report.plots.items import plot_coverage, plot_progress
from bayesanno.report.sections.findings import Findings
from bayesanno.report.sections.summary import LEAST_SURE

CHOSEN = ("dimension", "label", "item_type", "type", "gold", "right")  # columns that rows are chosen by
MOST_HARD = 5  # items that are named as the hardest
RISK, MORE = 0.05, 3  # of a label that is done to be wrong; further answers that each item could get
FUTURES = 20
LEAST = 100  # further answers, or one for each fourth item where these are more
MOST_PAIRS = 1_000_000  # of items and annotators: of more, the page would take minutes
SPREAD = "spread evenly"
WAYS: dict[str, Allocation] = {SPREAD: "evenly", "asked where they help most": "suggested"}
MEANING = {
    "done": f"done: wrong with a probability of {RISK:.0%} or less",
    "ask": f"to ask about again: likely to be done with {MORE} more answers",
    "expert": "for an expert: likely not to be",
}


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
    if view.derives("difficulty"):
        yield Text(_describe_hardest(difficulty_table(view)))
    rows = item_rows(view)
    what = "items" if "dimension" not in rows else "items, each in every dimension"
    yield Heading("All items, the most uncertain first")
    yield large_table(rows, name="item-table", what=what, by="entropy", choose=CHOSEN)


def _show_part(found: Findings, part: FitPart) -> Iterator[PageBlock]:
    state, scored = "type" if part.is_of_types else "label", score_part(part)
    yield Text(_describe_certainty(part, state, is_off=found.is_off) + found.caveat)
    if scored:
        most_certain = (
            f"90% of items {scored['accuracy_at_90']:.1%}, of the most certain 75% {scored['accuracy_at_75']:.1%}"
        )
        yield Text(f"Against gold {scored['accuracy']:.1%} are right; of the most certain {most_certain}.")
    counts = _count_states(part, state)
    yield small_table(counts.drop(columns="items, expected") if found.is_off else counts)
    if scored and not part.dimension:
        yield draw(plot_coverage(found.view), "Accuracy by the share of items kept, the most certain first.")


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
    low, _, interval = find_bounds(table, "difficulty")
    hard = table[table[low] > 0]
    named = [f"{item} ({chance:.0%})" for item, chance in zip(table["item"], table["expected_accuracy"], strict=True)]
    how_many = f"{counted(len(hard), 'item')} {'is' if len(hard) == 1 else 'are'}" if len(hard) else "No item is"
    return (
        f"{how_many} harder than the average item ({interval} of the difficulty above 0). The hardest, with the "
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


def show_progress(found: Findings, *, random_seed: int) -> Iterator[PageBlock]:
    """Show which items are done and what more answers would bring; nothing where a fit cannot say it.

    It cannot if it is one point, if it is of counts or of several dimensions, or if an item's answers are not
    independent given its true label. Where the probabilities of labels are off, so is what is expected of them.
    """
    view, data = found.view, found.view.named_data
    if not isinstance(data, AnnotationData) or view.yields == "point":
        return
    if data.n_items * len(data.annotators) > MOST_PAIRS:
        yield Text("There are too many pairs of item and annotator for this page: use bayesanno.expected_progress.")
        return
    try:
        open_pairs = find_candidates(view, "the report", np.random.default_rng(random_seed)).find_open()
    except FitError:  # the model does not say what one more answer would be
        return
    if not open_pairs.any():
        return
    if found.is_off:
        yield Text(
            "Not shown: what more answers would bring, and which items are done, follows from the probabilities of "
            "labels, and these are off. Recalibrate the fit, or fit again, as the top of the page says."
        )
        return
    items = stopping_table(view, risk=RISK, more=MORE, futures=FUTURES, random_seed=random_seed)
    n = int(min(max(LEAST, data.n_items // 4), open_pairs.sum()))
    looks = sorted({0, n // 4, n // 2, n})
    ways = {
        name: expected_progress(view, looks, allocation=way, futures=FUTURES, random_seed=random_seed)
        for name, way in WAYS.items()
    }
    said = "Accuracy that is expected (vertical) after further answers, by the annotators of this fit."
    yield Text(_describe(ways) + found.caveat)
    yield draw(plot_progress(ways), said)
    rows = [(words, int((items["next"] == name).sum())) for name, words in MEANING.items()]
    yield small_table(pd.DataFrame(rows, columns=["what", "items"]), caption="What to do with the items")


def _describe(ways: Mapping[str, pd.DataFrame]) -> str:
    """Say what the answers would bring, in each way."""
    now, after = ({name: f"{table['accuracy'].iloc[at]:.1%}" for name, table in ways.items()} for at in (0, -1))
    most = next(iter(ways.values()))["answers"].iloc[-1]
    brought = " and ".join(f"{accuracy} if they are {name}" for name, accuracy in after.items())
    return f"{now[SPREAD]} of the labels are expected to be right, and with {most:,} more answers {brought}."
