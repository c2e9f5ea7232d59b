"""Which answers to ask for next: pairs of item and annotator, chosen one after another by their expected gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, counted, listed, option
from bayesanno._core.running import one_blas_thread
from bayesanno._core.validate import check_count, check_seed
from bayesanno.analysis.ranking import require_pairs
from bayesanno.data.frame import name_winners, show_systems
from bayesanno.fits.view import FitView, find_positions, view_of
from bayesanno.modeling.pairs import STRENGTH
from bayesanno.planning.gains import AnnotatorGains, Gains, choose_utility, gain_of_truth
from bayesanno.planning.of_fit import Budget, CandidateAnswers, find_candidates, make_budget
from bayesanno.planning.ranking import RankingGains, explain_order
from bayesanno.planning.values import ValueGains

Target = Literal["labels", "annotators", "gold", "ranking"]
TARGETS = get_args(Target)
CLEAR = 0.9  # the least probability of a label described as settled


@one_blas_thread()
def suggest_annotations(
    fit: xr.DataTree | FitView,
    n: int,
    *,
    target: Target = "labels",
    utility: str | pd.DataFrame | Mapping[str, Mapping[str, float]] = "information",
    annotators: str | Sequence[str] | None = None,
    items: str | Sequence[str] | None = None,
    among: pd.DataFrame | None = None,
    per_annotator: int | Mapping[str, int] | None = None,
    costs: Mapping[str, float] | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the n answers, each by an annotator to an item, that are expected to help most.

    The gain of an answer is its expected effect before it is known; see Notes. Pairs that have an answer are not
    suggested again. The answers are chosen one after another, each with the largest gain per unit of cost. After each
    choice the gains of the item's other pairs are updated, since two answers to an item are worth less than twice one.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of annotations. If it was recalibrated, gains are those of the recalibrated labels. Or a fit of ratings:
        gains are then expected decreases in the variance of the item's value (`bayesanno.planning.values`).
    n : int
        The number of answers, or of items with `target="gold"`.
    target : {"labels", "annotators", "gold", "ranking"}
        What to learn: "labels", the true labels of the items asked about; "annotators", the accuracies of the
        annotators asked; "gold", all labels, from an expert's true labels of n items; "ranking", which of two systems
        is stronger, for items that compare systems (`class_prior=Pairs(...)`).
    utility : {"information", "accuracy"}, DataFrame or mapping of mappings
        The unit of gains for labels: nats, the expected number of right labels, or the expected cost of the cheapest
        decision, with a cost matrix as in `decide_labels`.
    annotators : str or sequence of str, optional
        Annotators who can be asked; by default all in the fit. A model with a population, such as
        `hierarchical_dawid_skene`, accepts new names.
    items : str or sequence of str, optional
        Items to ask about; by default all without a known true label (control).
    among : DataFrame, optional
        The pairs that can be asked, in columns item and annotator, if not every annotator can answer every item.
    per_annotator : int or mapping of str to int, optional
        The largest number of answers of each annotator.
    costs : mapping of str to float, optional
        The cost of an answer of each annotator; 1 by default.
    random_seed : int, optional
        For the draws of new annotators, for items asked more often than 6 times (with two labels; 2 times with five),
        and for `target="gold"`.

    Returns
    -------
    pandas.DataFrame
        One row per answer, in the order of choice: `item`, for comparisons the two systems in the order to show (in
        columns named as the sides), `annotator`, `gain` (given that the answers above are asked
        for as well), `gain_per_cost` if there are costs, `label_so_far` and `probability` (the item's label in the fit)
        and `why`. With `target="gold"` there is no annotator, and `gain` is the sum of `gain_here`, for the item's own
        label, and `gain_elsewhere`, for all others. Of ratings there are `value_so_far` and `sd` instead of
        `label_so_far` and `probability`.

    Raises
    ------
    DataError
        If n exceeds the number of open pairs; an annotator has no budget or cost, or one that is not a number above 0;
        the fit is of counts or of several dimensions; or the target or the utility is unknown.
    FitError
        If an item or an annotator is not in the fit, an item's answers are not independent given its true label in the
        model, or the target is a ranking and items do not compare systems.

    Warns
    -----
    MisfitWarning
        If the model does not predict the answers well, so that gains are off.
    PredictionWarning
        If the fit is a point estimate (EM), so that the uncertainty about annotators is ignored.

    Notes
    -----
    Given draw s of the parameters, an answer v is independent of the item's other answers, given its class k. So

        P(k, v)  =  mean over s of  p(k | answers so far, s) p(v | k, annotator, s)

    is known without a new fit, and with it the gain for labels, sum_v P(v) U(P(k | v)) - U(P(k)). If U is the negative
    entropy, this is the mutual information of answer and label (Lindley 1956, doi:10.1214/aoms/1177728069). Draws are
    weighted by the probability of the answer. The effect of an answer on other items, through its annotator, is
    ignored. The gain for annotators is the information, in nats, of the answer about the accuracy of its annotator.

    The gain for a ranking is the expected decrease in entropy, in nats, about which of two systems is stronger, summed
    over all pairs of systems. It is a Monte Carlo mean over draws, and its bias is subtracted (see
    `bayesanno.planning.ranking`).

    The gains use 2,000 evenly spaced draws of the posterior, or 200 for models with a number for each item, such as
    `item_difficulty`. On simulated data of the size of RTE (800 items, 164 annotators), gains with 200 draws differ
    from those with 1,000 by .0004 nats on average, and by .006 among the 2,000 largest, which are .22. Their rank
    correlation is .999 (.987 for the largest), and 100 of the 101 suggested items are the same.

    Suggestions go to annotators whom the fit trusts; a fit that trusts the wrong ones asks for more of the same.
    Suggested items are harder than others. Models in which items differ take this into account; in a model in which all
    are alike, annotators then look worse than they are, by .05 in simulations with 40% hard items.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
    >>> ask = ba.suggest_annotations(fit, 10, per_annotator=2)
    >>> len(ask), bool(ask["gain"].is_monotonic_decreasing), int(ask["annotator"].value_counts().max())
    (10, True, 2)
    """
    check_seed(random_seed)
    check_count("n", n)
    if target not in TARGETS:
        raise DataError(f"target is {target!r}: it must be one of {listed(TARGETS)}")
    rng = np.random.default_rng(random_seed)
    view = view_of(fit)
    pairs = require_pairs(view) if target == "ranking" else None
    of_values = {latent.kind for latent in view.model.latents(view.named_data)} == {"values"}
    if of_values and (target != "labels" or utility != "information"):
        raise DataError("ratings are asked for to learn values: leave out target and utility")
    asked: Any = ValueGains.of_fit(view) if of_values else find_candidates(fit, "suggest_annotations", rng, annotators)
    of_items = ~asked.is_known
    if items is not None:
        chosen = np.zeros(asked.data.n_items, dtype=bool)
        chosen[find_positions("item", items, asked.data.items)] = True
        of_items &= chosen
    worth: Any = None if of_values else choose_utility(utility, asked.states.names)
    if target == "gold":
        if any(given is not None for given in (annotators, among, per_annotator, costs)):
            raise DataError(
                f"{option('target', 'gold')} asks an expert: leave out annotators, among, per_annotator and costs"
            )
        return _suggest_gold(asked, n, of_items, worth, rng)
    budget = make_budget(asked.data.annotators, annotators, per_annotator, costs)
    is_open = _find_open(asked, of_items, among)
    _check_enough(n, is_open, budget, asked.data.annotators)
    if target != "labels" and utility != "information":
        raise DataError(f"utility applies to labels: leave it out with {option('target', target)}")
    gains: Any
    if of_values:
        gains = asked
    elif target == "labels":
        gains = Gains(asked.states, worth, rng)
    elif target == "annotators":
        gains = AnnotatorGains(asked.states, asked.data.class_codes[:, None] == np.arange(asked.data.n_labels), rng)
    else:
        gains = RankingGains(asked.states, asked.draws[STRENGTH].values[0], rng)
    items_asked, viewers_asked, gain = _choose(gains, n, is_open, budget)
    swapped, annotators_asked = np.divmod(viewers_asked, asked.data.n_annotators)
    table = asked.describe(view, items_asked) if of_values else _name_items(asked, items_asked)
    table.insert(1, "annotator", pd.Series([asked.data.annotators[j] for j in annotators_asked], dtype="str"))
    table.insert(2, "gain", gain)
    sides = {} if of_values else show_systems(asked.data, items_asked, swapped)
    for at, (side, names) in enumerate(sides.items()):
        table.insert(1 + at, side, pd.Series(names, dtype="str"))
    if costs is not None:
        table.insert(3, "gain_per_cost", gain / budget.cost[annotators_asked])
    if target == "annotators":
        so_far = zip(table["annotator"], asked.data.by_annotator[annotators_asked].tolist(), strict=True)
        table["why"] = [f"{name!r} has given {counted(answers, 'answer')}" for name, answers in so_far]
    if pairs is not None:
        table["why"] = explain_order(asked, pairs, items_asked)
    return table


def _find_open(asked: CandidateAnswers | ValueGains, of_items: np.ndarray, among: pd.DataFrame | None) -> np.ndarray:
    """Return which of the pairs in question have no answer yet: (item, viewer)."""
    data = asked.data
    is_open: np.ndarray = asked.find_open() & of_items[:, None]
    if among is not None:
        lacking = [name for name in ("item", "annotator") if name not in among]
        if lacking:
            raise DataError(f"among has no column {lacking[0]!r}: it needs item and annotator")
        can_be = np.zeros_like(is_open)
        items = find_positions("item", among["item"].tolist(), data.items)
        annotators = np.array(find_positions("annotator", among["annotator"].tolist(), data.annotators))
        for viewers in range(0, data.n_viewers, data.n_annotators):
            can_be[items, annotators + viewers] = True
        is_open &= can_be
    return is_open


def _check_enough(n: int, is_open: np.ndarray, budget: Budget, annotators: Sequence[str]) -> None:
    by_annotator = np.minimum(is_open.sum(axis=0).reshape(-1, budget.most.size).sum(axis=0), budget.most)
    if n > by_annotator.sum():
        if not is_open.any():
            raise DataError(f"everyone has answered every item that can be asked about: try {option('target', 'gold')}")
        free = int((by_annotator > 0).sum())
        raise DataError(
            f"n is {n:,}, but only {int(by_annotator.sum()):,} answers can be asked for, from {free} of "
            f"{counted(len(annotators), 'annotator')}: reduce n, or allow more items, annotators or answers each"
        )


def _choose(
    gains: Gains | AnnotatorGains | RankingGains | ValueGains, n: int, is_open: np.ndarray, budget: Budget
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose pairs one after another; return their items, viewers and gains, (answer,) each."""
    who = np.arange(is_open.shape[1]) % budget.most.size  # the annotator of each viewer
    is_open, left, cost = is_open & (budget.most > 0)[who], budget.most.copy(), budget.cost[who]
    chosen, found = np.empty((2, n), dtype=int), np.empty(n)
    value = np.where(is_open, gains.gain / cost, -np.inf)  # (item, viewer)
    best = value.max(axis=1)  # of each item
    for number in range(n):
        item = int(best.argmax())
        viewer = int(value[item].argmax())
        chosen[:, number], found[number] = (item, viewer), gains.gain[item, viewer]
        others_changed = gains.choose(item, viewer)
        is_open[item, viewer] = False
        left[who[viewer]] -= 1
        is_used_up = left[who[viewer]] <= 0
        is_open[:, (who == who[viewer]) & is_used_up] = False
        changed = slice(None) if others_changed or is_used_up else item
        value[changed] = np.where(is_open[changed], gains.gain[changed] / cost, -np.inf)
        best[changed] = value[changed].max(axis=-1)
    return *chosen, found


def _name_items(asked: CandidateAnswers, items: np.ndarray) -> pd.DataFrame:
    """Return the present labels of items in the fit, and the reasons to ask about them."""
    data, table = asked.data, asked.describe(items)
    named = [name_winners(data, data.labels, [i] * data.n_labels) for i in items]
    why = [_explain(data.votes[i], own, p) for i, own, p in zip(items, named, table["probability"], strict=True)]
    return table.assign(why=pd.Series(why, dtype="str"))


def _explain(votes: np.ndarray, labels: Sequence[str], probability: float) -> str:
    """Return in a few words why an item's label is uncertain, or that it is nearly settled."""
    n, said = int(votes.sum()), int((votes > 0).sum())
    if n == 0:
        return "no answer yet"
    order = votes.argsort(kind="stable")[::-1]
    counts = ", ".join(f"{int(votes[v])} {labels[v]!r}" for v in order if votes[v])
    if said > 1 and probability < CLEAR:
        return f"its answers differ: {counts}"
    if probability < CLEAR:
        return f"{counts}, by too few or too doubtful annotators"
    return f"{counts}: its label is nearly settled"


def _suggest_gold(
    asked: CandidateAnswers, n: int, of_items: np.ndarray, worth: Any, rng: np.random.Generator
) -> pd.DataFrame:
    if n > of_items.sum():
        raise DataError(
            f"n is {n:,}, but only {counted(int(of_items.sum()), 'item')} can be asked about, without known true labels"
        )
    gain = gain_of_truth(asked.states, worth, rng)  # (item, 2)
    items = np.argsort(-np.where(of_items, gain.sum(axis=1), -np.inf), kind="stable")[:n]
    table = _name_items(asked, items)
    table.insert(1, "gain", gain[items].sum(axis=1))
    table.insert(2, "gain_here", gain[items, 0])
    table.insert(3, "gain_elsewhere", gain[items, 1])
    return table
