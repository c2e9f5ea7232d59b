"""Tables and figures of items: their labels, every item, known labels, and what more answers would bring."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno._core.intervals import choose_prob, find_bounds, name_interval
from bayesanno._core.lazy import pd
from bayesanno._core.messages import FitError
from bayesanno.agreement.vote import majority_vote
from bayesanno.analysis.difficulty import difficulty_table
from bayesanno.analysis.labels import SCORED, bound_accuracy, label_table, measure_coverage
from bayesanno.fits.view import FitPart, FitView, concat_parts, parts_of
from bayesanno.planning.gains import Allocation
from bayesanno.planning.of_fit import find_candidates
from bayesanno.planning.progress import MORE, expected_progress
from bayesanno.report.blocks import join_ends
from bayesanno.report.plots.items import plot_progress
from bayesanno.report.sections.findings import Findings

LEAST_SURE = 0.9  # a label less probable than that may need another look
MOST_LABELS = 10  # that the top of the page counts
MOST_DRAWN = 20  # items whose labels are drawn
MOST_HARD = 5  # items that are named as the hardest
RISK = 0.05  # of a label that is done to be wrong
FUTURES = 20
LEAST = 100  # further answers, or one for each fourth item where these are more
MOST_PAIRS = 1_000_000  # of items and annotators: of more, the page would take minutes
WAYS: dict[str, Allocation] = {"spread evenly": "evenly", "asked where they help most": "suggested"}


def count_labels(found: Findings, part: FitPart) -> pd.DataFrame:
    """Count the items with each label or type: by the most probable one, and expected if probabilities are right."""
    probability, states = part.posterior.values, part.states
    table = pd.DataFrame({part.kind.removesuffix("s"): states})
    table["items"] = np.bincount(probability.argmax(axis=1), minlength=len(states))
    if not found.is_off:
        table["expected items"] = probability.sum(axis=0)
    if part.kind == "labels" and part.votes is not None:
        given = dict(zip(part.data.labels, part.votes.sum(axis=0) / part.votes.sum(), strict=True))
        table["share of answers"] = [given.get(name, 0.0) for name in states]
    return table


def count_unsure(part: FitPart) -> dict[str, Any]:
    """Count the items without a probable label or type, and the wrong ones that are expected."""
    best = part.posterior.values.max(axis=1)
    unsure = int((best < LEAST_SURE).sum())
    by_item = getattr(part.data, "by_item", None)
    n_unanswered = 0 if by_item is None else int((by_item == 0).sum())
    of_all = {"n_items": best.size, "n_unanswered": n_unanswered, "wrong": float((1 - best).sum())}
    return {"n": unsure, "share": unsure / best.size} | of_all


def compare_with_vote(part: FitPart) -> dict[str, Any] | None:
    """Count the items on which model and majority vote differ, and how often each is right; None without votes."""
    if part.kind != "labels" or part.votes is None:
        return None
    vote, known = majority_vote(part.data), np.isfinite(part.right)
    clear = ~vote["tied"].to_numpy()
    counts = {"differ": int((vote["label"].to_numpy() != part.best)[clear].sum()), "tied": int((~clear).sum())}
    if not known.any():
        return counts | {"n_items": len(vote), "known": 0}
    right = {"model": part.right[known].mean(), "vote": vote["right"][known].mean()}
    return counts | {"n_items": len(vote), "known": int(known.sum())} | right


def check_known(part: FitPart) -> pd.DataFrame | None:
    """Return how many known labels are right, of all items and of the most certain ones; None if none is known."""
    if part.kind != "labels" or not part.gold:
        return None
    table, prob = measure_coverage(part.entropy, part.right, list(SCORED.values())), choose_prob(None)
    low, high = bound_accuracy(table, prob)
    shown = {
        "items": [f"the most certain {share:.0%}" if share < 1 else "all" for share in table["coverage"]],
        "known labels": table["n_gold"].astype(int),
        "right": [f"{one:.1%}" for one in table["accuracy"]],
        name_interval(prob, "ci"): [f"{a:.0%} to {b:.0%}" for a, b in zip(low, high, strict=True)],
    }
    return pd.DataFrame(shown)[np.isfinite(table["accuracy"])]


def find_hardest(view: FitView) -> dict[str, Any] | None:
    """Return how many items are harder than the average, and the hardest ones; None without difficulties."""
    if not view.derives("difficulty"):
        return None
    table = difficulty_table(view)
    low, high, interval = find_bounds(table, "difficulty")
    shown = table[["item", "difficulty_mean", low, high, "expected_accuracy"]].head(MOST_HARD)
    names = {"difficulty_mean": "difficulty", "expected_accuracy": "chance that an annotator is right"}
    return {
        "n": int((table[low] > 0).sum()),
        "interval": interval,
        "table": join_ends(shown, "difficulty").rename(columns=names),
    }


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
    state = "type" if part.votes is None else "label" if part.kind == "labels" else "item_type"
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


def expect_progress(found: Findings, random_seed: int) -> dict[str, Any] | None:
    """Return what more answers would bring, and how many items are done; None where a fit cannot say it.

    It cannot if it is one point, if it is of counts or of several dimensions, or if an item's answers are not
    independent given its true label. Where the probabilities of labels are off, or there are too many pairs of item and
    annotator, the result says only that.
    """
    view, data = found.view, found.view.named_data
    if len(found.parts) != 1 or found.parts[0].kind != "labels" or view.yields == "point":
        return None
    if data.n_items * len(data.annotators) > MOST_PAIRS:
        return {"is_too_large": True}
    try:
        open_pairs = find_candidates(view, "the report", np.random.default_rng(random_seed)).find_open()
    except FitError:  # the model does not say what one more answer would be
        return None
    if not open_pairs.any():
        return None
    if found.is_off:
        return {"is_off": True}
    settings: dict[str, Any] = {"futures": FUTURES, "random_seed": random_seed}
    items = expected_progress(view, of="items", sure=1 - RISK, **settings)
    n = int(min(max(LEAST, data.n_items // 4), open_pairs.sum()))
    looks = sorted({0, n // 4, n // 2, n})
    ways = {name: expected_progress(view, looks, allocation=way, **settings) for name, way in WAYS.items()}
    first = next(iter(ways.values()))
    return {
        "now": first["accuracy"].iloc[0],
        "answers": int(first["answers"].iloc[-1]),
        "after": {name: table["accuracy"].iloc[-1] for name, table in ways.items()},
        "figure": plot_progress(ways),
        "next": items["next"].value_counts().to_dict(),
        "risk": RISK,
        "more": MORE,
    }
