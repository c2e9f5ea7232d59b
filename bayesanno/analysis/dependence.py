"""Dependence: the correlation of annotators' errors beyond a model, and how many independent answers they are worth.

The residuals, their products and correlations are those of `bayesanno.inference.diagnosis.residuals`. A row of the
table is a set of pairs of annotators.

References
----------
L. Kish (1965), Survey Sampling, Wiley, section 5.4 (the design effect).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from bayesanno._core.intervals import choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, SizeWarning, warn
from bayesanno._core.validate import check_at_least
from bayesanno.analysis.group_shares import read_groups
from bayesanno.analysis.views import view_for_table
from bayesanno.data.labelled import divide
from bayesanno.fits.view import FitPart, FitView, part_of
from bayesanno.inference.diagnosis.measures import count_independent
from bayesanno.inference.diagnosis.residuals import MatchedErrors, add_up, correlate_sums, error_chances, match_errors
from bayesanno.modeling.arguments import require_latents
from bayesanno.simulation.quantities import ModelDraws

Truth = Literal["gold", "posterior"]
type Groups = Mapping[str, Any] | pd.Series | pd.DataFrame

MOST_PAIRS = 10_000  # of annotators, or of groups, that have rows of their own


class TableRows(NamedTuple):
    """Rows of the table: their level, the names of groups or annotators, and the mean number of answers.

    `of_pair` is the row of each pair of annotators, -1 if it has none.
    """

    level: Any
    first: Any
    second: Any
    n_answers: Any
    of_pair: np.ndarray


def dependence_table(
    fit: xr.DataTree | FitView,
    groups: Groups | None = None,
    *,
    truth: Truth | None = None,
    dimension: str | None = None,
    least_items: int = 20,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Return how far annotators' errors correlate beyond the model, and how many independent answers they are worth.

    A model assumes that errors are independent given an item's class. If they are not, its labels are overconfident: n
    answers with errors that correlate by r are worth n / (1 + (n - 1) r) independent ones (Kish 1965, the design
    effect). The module docstring of `bayesanno.inference.diagnosis.residuals` has the formulas.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model that gives labels, such as `model_b`, `mace` or `one_coin`.
    groups : mapping, Series or DataFrame, optional
        The group of each annotator, by name: base model, agency, desk. A DataFrame has the columns `annotator`
        and `group`, as `group_annotators` returns them.
    truth : str, optional
        The source of true labels: "gold" uses the items with known labels, and is the default if there are any;
        "posterior" uses each item's posterior. It comes from the same answers and treats widely shared errors as the
        truth, so dependence is understated; with few answers it finds about 0.02 where errors are independent.
    dimension : str, optional
        The dimension, for data with several dimensions.
    least_items : int, default 20
        The number of shared items from which a pair of annotators has a row of its own.
    ci_prob : float, optional
        The confidence level of the intervals; by default as in `summary`. They treat the items as a sample, and the
        chances of errors as known. An interval that excludes 0 is also beyond what independent errors give.

    Returns
    -------
    pandas.DataFrame
        The rows, by `level`: first "all" annotators; then, with groups, "within" (all pairs inside a group), "between"
        (all pairs across groups) and "group" (the pairs of one group or of two); then "pair" (two annotators who share
        enough items), sorted by the lower end of the interval. If there are more than 10,000 pairs, only those that
        share most items have rows; the rows above count all.

        The columns: `level`; `first` and `second`, the groups or annotators, empty for pooled rows; `n_items`, the
        items that at least two of them answered; `n_pairs`, the pairs that share an item; `correlation` (nan if no
        errors are possible), with `correlation_ci89_lb` and `correlation_ci89_ub` (named by `ci_prob`); `n_answers`,
        how many of these annotators answered an item, on average over the items that any of them answered, with or
        without gold; `worth`, the equivalent number of independent answers, with `worth_ci89_lb` and `worth_ci89_ub`
        (nan between groups; at most `n_answers`); and `truth`, the source of true labels.

    Raises
    ------
    FitError
        If the model gives no labels, the fit holds no items (it was made on Dask), the model cannot take items outside
        the fit, or the dimension or truth is unknown.
    DataError
        If no two annotators share an item (with gold: one with a known label), an annotator has no group or two, or an
        argument is out of range.

    Warns
    -----
    SizeWarning
        If there are too many pairs for all to have a row.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> table = ba.dependence_table(fit)
    >>> table.loc[0, ["correlation", "n_answers", "worth"]].astype(float).round(2).tolist()  # independent by design
    [-0.0, 5.13, 5.13]
    """
    ci_prob = choose_prob(ci_prob)
    check_at_least("least_items", least_items, 1, DataError)
    view = view_for_table(fit)
    part = part_of(view, dimension)
    weight, by = _find_truth(view, part, truth)
    codes, names = code_groups(groups, part)
    chance, away = error_chances(ModelDraws(view.model, view.data, view.posterior, view.known), part.dimension)
    matches = match_errors(part.data, weight, chance, away)
    if not matches.n_items:
        if by == "gold":
            raise DataError(
                'no item with a known true label was answered by two annotators: truth="posterior" takes all items'
            )
        raise DataError("no item was answered by two annotators, so errors cannot be compared")
    rows = _list_rows(matches, part, codes, names if groups is not None else [], least_items)
    *first, pairs = (_tabulate(matches, each, ci_prob) for each in rows)
    if len(pairs) == MOST_PAIRS and not isinstance(fit, FitView):
        warn(f"only the {MOST_PAIRS:,} pairs of annotators that share most items have rows", SizeWarning)
    low, high = name_bounds("ci", ci_prob, "correlation")
    pairs = pairs.sort_values(low, ascending=False, kind="stable")
    table = pd.concat([*first, pairs], ignore_index=True)
    for worth, of in zip(("worth", *name_bounds("ci", ci_prob, "worth")), ("correlation", high, low), strict=True):
        table[worth] = count_independent(table["n_answers"].to_numpy(), table[of].to_numpy())
    table["truth"] = pd.Series(by, index=table.index, dtype="str")
    return table[table["n_pairs"] > 0].reset_index(drop=True)


def _find_truth(view: FitView, part: FitPart, truth: Truth | None) -> tuple[np.ndarray, Truth]:
    """Return the class probabilities of items, (item, true_class), and their source."""
    if truth is not None and truth not in get_args(Truth):
        raise FitError(f"there is no truth {truth!r}: choose one of {', '.join(get_args(Truth))}")
    require_latents(view.model, view.data, "labels", "dependence_table")
    if part.posterior.shape[1] != part.data.n_classes:
        raise FitError(f"a fit of {view.model.name} has no true labels, and so no errors: fit model_b")
    gold = np.equal.outer(part.data.gold_codes, np.arange(part.data.n_classes)).astype(float)
    if truth == "gold" and not gold.any():
        raise DataError("no item has a known true label: read them with gold, or leave truth out for the posterior's")
    by: Truth = truth or ("gold" if gold.any() else "posterior")
    return (gold if by == "gold" else part.posterior.values), by


def code_groups(groups: Groups | None, part: FitPart) -> tuple[np.ndarray, list[str]]:
    """Return the group of each annotator, (annotator,), and the group names; without groups, one group named "".

    Raises
    ------
    DataError
        If the groups cannot be read, or an annotator with answers has no group or two.
    """
    annotators = list(part.data.annotators)
    if groups is None:
        return np.zeros(len(annotators), dtype=np.int64), [""]
    own = read_groups(groups, "annotator").reindex(annotators)
    without = own.index[own.isna() & (part.data.by_annotator > 0)]
    if len(without):
        more = f" (as {len(without) - 1:,} more)" if len(without) > 1 else ""
        raise DataError(f"annotator {without[0]!r}{more} is in no group: groups must name all who answered")
    codes, names = pd.factorize(own.fillna(own.dropna().iloc[0]))  # annotators without answers do not matter
    return codes, list(names)


def _list_rows(
    matches: MatchedErrors, part: FitPart, codes: np.ndarray, names: list[str], least_items: int
) -> Iterator[TableRows]:
    """Yield the rows of all annotators, of groups if there are any, and of pairs that share enough items."""
    none = np.zeros(len(matches.who), dtype=int)
    yield TableRows("all", [""], [""], _count_answers(part, 0 * codes)[1], none)
    if names:
        groups, (one, other) = np.array(names, dtype=object), np.sort(codes[matches.who], axis=1).T  # one: (pair,)
        n_answers, mean = _count_answers(part, codes)
        yield TableRows(["within", "between"], ["", ""], ["", ""], [mean, np.nan], (one != other).astype(int))
        yield TableRows("group", groups, groups, n_answers, np.where(one == other, one, -1))
        cell, of_pair, n = np.unique(one * groups.size + other, return_inverse=True, return_counts=True)
        first, second = np.divmod(cell, groups.size)
        shown, place = _take_most(n * (first != second), 1)
        yield TableRows("group", groups[first[shown]], groups[second[shown]], np.nan, place[of_pair])
    shape = none.size, matches.n_items
    shared = add_up(np.ones(matches.item.size), matches.pair, matches.item, shape)
    shown, place = _take_most(np.diff(shared.indptr), least_items)
    first, second = np.array(part.data.annotators, dtype=object)[matches.who[shown].T]
    yield TableRows("pair", first, second, 2.0, place)


def _take_most(n: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the largest numbers that are large enough, and the place of each number among them."""
    enough = np.flatnonzero(n >= least)
    shown = np.sort(enough[np.argsort(-n[enough], kind="stable")[:MOST_PAIRS]])
    place = np.full(n.size, -1)
    place[shown] = np.arange(shown.size)
    return shown, place


def _count_answers(part: FitPart, codes: np.ndarray) -> tuple[np.ndarray, float]:
    """Return how many of a group's annotators answered an item that any of them answered: by group, and on average."""
    data = part.data.without_unsure()
    answered = add_up(np.ones(data.n_annotations), data.annotator, data.item, (data.n_annotators, data.n_items))
    annotator, item = answered.nonzero()
    n = add_up(np.ones(item.size), codes[annotator], item, (int(codes.max()) + 1, data.n_items))
    return divide(n.sum(axis=1), np.diff(n.indptr)), float(n.data.mean())


def _tabulate(matches: MatchedErrors, rows: TableRows, ci_prob: float) -> pd.DataFrame:
    """Return some rows of the table, without what they are worth."""
    n, row = len(rows.first), rows.of_pair[matches.pair]
    kept = np.flatnonzero(row >= 0)
    sums = [add_up(each[kept], row[kept], matches.item[kept], (n, matches.n_items)) for each in matches.products]
    table = pd.DataFrame({"level": rows.level, "first": rows.first, "second": rows.second}, dtype="str")
    table["n_items"] = np.diff(sums[0].indptr)
    table["n_pairs"] = np.bincount(rows.of_pair[rows.of_pair >= 0], minlength=n)
    table[["correlation", *name_bounds("ci", ci_prob, "correlation")]] = correlate_sums(sums, ci_prob)
    return table.assign(n_answers=rows.n_answers).astype({"n_items": int, "n_answers": float})
