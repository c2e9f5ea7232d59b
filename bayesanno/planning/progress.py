"""How many more answers are enough, which items are done, and which need an expert, from simulated futures of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from bayesanno._core.intervals import choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, listed
from bayesanno._core.running import one_blas_thread
from bayesanno._core.validate import check_count, check_seed, check_share
from bayesanno.fits.view import FitView
from bayesanno.planning.gains import Allocation, Futures
from bayesanno.planning.of_fit import CandidateAnswers, find_candidates, make_budget

Measure = Literal["accuracy", "share_sure"]
Counted = Literal["answers", "items"]
PER_ITEM = (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)  # further answers per item, by default
MORE = 3  # further answers to each item, in the table of items by default
NEARLY_ALL = 0.97  # futures
LIKELY = 0.5  # futures in which an item is done, so that it is worth asking about


@one_blas_thread()
def expected_progress(
    fit: xr.DataTree | FitView,
    answers: Sequence[int] | None = None,
    *,
    of: Counted = "answers",
    target: float | None = None,
    measure: Measure = "accuracy",
    sure: float = 0.95,
    allocation: Allocation | None = None,
    annotators: str | Sequence[str] | None = None,
    per_annotator: int | Mapping[str, int] | None = None,
    costs: Mapping[str, float] | None = None,
    futures: int = 50,
    ci_prob: float | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the expected quality of labels after more answers, of all items or of each, before asking for any.

    An item is done if its label is certain. If more answers are likely to achieve this, it should be asked about again;
    otherwise it needs an expert.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of annotations. If it was recalibrated, the progress is that of the recalibrated labels.
    answers : sequence of int, optional
        Total numbers of further answers, increasing; by default up to 8 per item, or until the target is reached in
        nearly all futures. With `of="items"`, one number; by default 3 per item.
    of : {"answers", "items"}
        The rows: numbers of answers, or items.
    target : float, optional
        The expected accuracy, or the share of certain labels, to reach; not with `of="items"`.
    measure : {"accuracy", "share_sure"}
        The measure of the target.
    sure : float, default 0.95
        The least probability of a label that counts as certain.
    allocation : {None, "evenly", "each", "suggested"}
        How answers are allocated. None: "evenly", but "each" with `of="items"`, so that every item gets answers.
        "evenly": each goes to an item with the fewest answers; "each": to an item with the fewest new answers; both by
        annotators in proportion to their numbers of answers. "suggested": to the most informative pairs, as in
        `suggest_annotations`, in batches of one item in twenty.
    annotators : str or sequence of str, optional
        Annotators who can be asked; by default all in the fit. If the model has a population, new names are possible.
    per_annotator : int or mapping of str to int, optional
        The largest number of answers of each annotator.
    costs : mapping of str to float, optional
        The cost of an answer of each annotator; 1 by default.
    futures : int, default 50
    ci_prob : float, optional
        The share of futures within the intervals, with equal tails; by default as in `summary`.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        One row per number of answers: `answers`; `per_item`, the mean number including existing answers; `cost`;
        `accuracy`, the mean probability of the best labels; `accuracy_eti89_lb` and `accuracy_eti89_ub`, an interval
        that contains the share of right labels in 89% of futures; `share_sure` with the same; and `p_reached`, the
        share of futures in which the fit would meet the target with that many answers. Items with a known true label do
        not count. A row does not depend on the other rows.

        With `of="items"`, one row per item: `item`, `label_so_far`, `probability`, `answers` given, `p_done`, the share
        of futures in which its label is certain after the further answers, and `next`: "done", "ask" (p_done of one
        half or more) or "expert".

    Raises
    ------
    DataError
        If numbers of answers do not increase, an annotator has no budget or cost, or an argument is out of range.
    FitError
        As for `suggest_annotations`.

    Warns
    -----
    MisfitWarning, PredictionWarning
        As for `suggest_annotations`.

    Notes
    -----
    See `bayesanno.planning.gains`. The knowledge about annotators is fixed; a fit of the further answers would learn
    more about them. With RTE reduced to 3 answers per item (Snow et al. 2008), hierarchical_dawid_skene expects an
    accuracy of .923, .961 and .990 with 4, 6 and 10, and fits with these have .935, .960 and .980. Expectations are no
    better than the model: model_b, which shares nothing between annotators, expects .80, .84 and .89, and gets .86, .93
    and .98. If annotators err together, more answers help less than a model of independent errors expects.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
    >>> table = ba.expected_progress(fit, [0, 300, 600], random_seed=1)
    >>> table["per_item"].round(1).tolist(), bool(table["accuracy"].is_monotonic_increasing)
    ([5.3, 6.3, 7.3], True)
    >>> table = ba.expected_progress(fit, [300], of="items", random_seed=1)
    >>> sorted(table.query("probability < 0.95")["next"].unique())
    ['ask', 'expert']
    """
    check_seed(random_seed)
    _check_target(target, measure, sure)
    check_count("futures", futures)
    if of not in get_args(Counted):
        raise DataError(f"of is {of!r}: it must be one of {listed(get_args(Counted))}")
    if of == "items" and target is not None:
        raise DataError('a target is of all labels together: leave out target=..., or of="items"')
    ci_prob = choose_prob(ci_prob)
    rng = np.random.default_rng(random_seed)
    asked = find_candidates(fit, "expected_progress", rng, annotators)
    budget = make_budget(asked.data.annotators, annotators, per_annotator, costs)
    if allocation is None:
        allocation = "each" if of == "items" else "evenly"
    ways = Futures(asked, budget, allocation, rng)
    looks = _find_looks(answers, asked.data.n_items, ways.n_open, of)
    if of == "items":
        return _tabulate_items(asked, ways, looks, sure, futures)
    counted = ~asked.is_known
    if not counted.any():
        raise DataError("the true labels of all items are known: no answer can change them")
    seen = np.full((futures, len(looks), 5), np.nan)  # answers, cost, accuracy, share right, share sure
    for future in seen:
        for at, look in enumerate(ways.follow(looks)):
            best = look.probability[counted].max(axis=1)
            right = look.probability[counted].argmax(axis=1) == look.truth[counted]
            future[at] = look.answers, look.cost, best.mean(), right.mean(), (best >= sure).mean()
    table = _tabulate_answers(seen, asked.data.n_annotations, asked.data.n_items, target, measure, ci_prob)
    if target is None or answers is not None:
        return table
    nearly_all = table["p_reached"] > NEARLY_ALL
    return table.iloc[: int(nearly_all.argmax()) + 1] if nearly_all.any() else table


def _check_target(target: float | None, measure: str, sure: float) -> None:
    """Raise a DataError if the target, its measure or the probability of certain labels is invalid."""
    check_share("sure", sure)
    if target is not None:
        check_share("target", target)
    if measure not in get_args(Measure):
        raise DataError(f"measure is {measure!r}: it must be one of {listed(get_args(Measure))}")


def _tabulate_answers(
    seen: np.ndarray, n_annotations: int, n_items: int, target: float | None, measure: Measure, ci_prob: float
) -> pd.DataFrame:
    """Return the table of progress from values in futures, (future, look, 5).

    The values are the further answers, their cost, the expected accuracy, and the shares of right and certain labels.
    """
    answers, cost, accuracy, right, share = np.moveaxis(seen, 2, 0)  # (future, look)
    table = pd.DataFrame({"answers": answers.mean(axis=0).round().astype(int)})
    table["per_item"] = (n_annotations + table["answers"]) / n_items
    table["cost"] = cost.mean(axis=0)
    for name, values, spread in (("accuracy", accuracy, right), ("share_sure", share, share)):
        table[name] = values.mean(axis=0)
        ends = np.quantile(spread, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
        table = table.assign(**dict(zip(name_bounds("eti", ci_prob, name), ends, strict=True)))
    if target is not None:
        reached = (accuracy if measure == "accuracy" else share) >= target
        table["p_reached"] = reached.mean(axis=0)
    return table


def _tabulate_items(
    asked: CandidateAnswers, ways: Futures, looks: Sequence[int], sure: float, futures: int
) -> pd.DataFrame:
    """Return the table of items: what is known of each, and how often it is done after so many further answers."""
    p_done = np.zeros(asked.data.n_items)
    for _ in range(futures):
        (look,) = ways.follow(looks)
        p_done += (look.probability.max(axis=1) >= sure) / futures
    table = asked.describe(np.arange(asked.data.n_items))
    return table.assign(
        answers=np.bincount(asked.data.item, minlength=asked.data.n_items),
        p_done=p_done,
        next=pd.Series(
            np.select([table["probability"] >= sure, p_done >= LIKELY], ["done", "ask"], "expert"), dtype="str"
        ),
    )


def _find_looks(answers: Sequence[int] | None, n_items: int, n_open: int, of: Counted) -> list[int]:
    if answers is None:
        return sorted({min(round(each * n_items), n_open) for each in ((MORE,) if of == "items" else PER_ITEM)})
    looks = list(answers)
    whole = all(isinstance(value, int | np.integer) and value >= 0 for value in looks)
    if not looks or not whole or any(later <= sooner for sooner, later in pairwise(looks)):
        raise DataError(f"answers are {looks}: give increasing numbers of further answers, such as [0, 100, 200]")
    if of == "items" and len(looks) > 1:
        raise DataError(f"answers are {looks}: with of='items' give one number, such as [300]")
    if looks[-1] > n_open:
        raise DataError(f"answers are up to {looks[-1]:,}, and {n_open:,} can be asked for")
    return looks
