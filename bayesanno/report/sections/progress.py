"""What would more answers bring? Items that are done, and how accurate labels are expected to be after more answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pd
from bayesanno.planning.futures import Allocation
from bayesanno.planning.of_fit import make_askable
from bayesanno.planning.progress import expected_progress, stopping_table
from bayesanno.report.blocks import PageBlock, Text, draw, small_table
from bayesanno.report.plots.progress import plot_progress
from bayesanno.report.sections.findings import Findings

RISK, MORE = 0.05, 3  # of a label that is done to be wrong; further answers that each item could get
FUTURES = 20
LEAST = 100  # further answers, or one for each fourth item where these are more
MOST_PAIRS = 1_000_000  # of items and annotators: of more, the page would take minutes
SPREAD, CHOSEN = "spread evenly", "asked where they help most"
WAYS: dict[str, Allocation] = {SPREAD: "evenly", CHOSEN: "suggested"}
MEANING = {
    "done": f"done: wrong with a probability of {RISK:.0%} or less",
    "ask": f"to ask about again: likely to be done with {MORE} more answers",
    "expert": "for an expert: likely not to be",
}


def show_progress(found: Findings, *, random_seed: int) -> Iterator[PageBlock]:
    """Show which items are done and what more answers would bring; nothing where a fit cannot say it.

    It cannot if it is one point, if it is of counts or of several dimensions, or if an item's answers are not
    independent given its true label. Where the probabilities of labels are off, so is what is expected of them.
    """
    view, data = found.view, found.view.named_data
    if not isinstance(data, AnnotationData) or view.yields == "point":
        return
    if data.n_items * len(data.annotators) > MOST_PAIRS:
        yield Text("There are too many pairs of item and annotator for this page: use bayesanno plan.")
        return
    try:
        open_pairs = make_askable(view, "the report", np.random.default_rng(random_seed)).find_open()
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
