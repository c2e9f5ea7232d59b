"""Dependence: the correlation of annotators' errors beyond a model, and how many independent answers they are worth.

Every model here assumes that annotators are independent given an item's class. Let e_ij be 1 where annotator j errs on
item i, and p_ij the probability of an error on an item of its class. The residual is e_ij - p_ij. For a pair j, k, or
any set of pairs, over the items that both answered,

    r = sum (e_ij - p_ij) (e_ik - p_ik) / sum s_ij s_ik        with s_ij^2 = p_ij (1 - p_ij).

If errors correlate by rho in every class, r estimates rho. The denominator uses expected values in place of observed
squares: with the latter, two annotators who hardly ever err would correlate by 1 where neither errs. It is at least the
sum of the absolute products, so that r stays within -1 and 1 with few items as well.

p_ij combines the model's chance, counted as one answer, and the observed errors: (errors + chance) / (answers + 1),
over the annotator's items of that class. Without this, annotators who all err more often than the model expects, due to
its prior or a wrong majority, would look dependent.

The mean of n answers with errors that correlate by r varies as much as that of n / (1 + (n - 1) r) independent ones.

References
----------
L. Kish (1965), Survey Sampling, Wiley, section 5.4: the design effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np

from bayesanno.agreement.alpha import divide
from bayesanno.agreement.resampling import bound, check_resampling, resample_items
from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.groups import read_groups
from bayesanno.analysis.residuals import Products, Residuals, Sharing, count_answers, find_residuals, find_sharing
from bayesanno.fits.parts import FitPart, part_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError, FitError, SizeWarning, warn
from bayesanno.ground.intervals import name_bounds
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import check_at_least
from bayesanno.ground.wording import counted
from bayesanno.inference.diagnosis.measures import count_independent

Truth = Literal["gold", "posterior"]
type Groups = Mapping[str, Any] | pd.Series | pd.DataFrame

MOST_PAIRS = 10_000  # of annotators, or of groups, that have rows of their own


def dependence_table(
    fit: xr.DataTree | FitView,
    groups: Groups | None = None,
    *,
    truth: Truth | None = None,
    dimension: str | None = None,
    least_items: int = 20,
    ci_prob: float | None = None,
    resamples: int = 1000,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return how far annotators' errors correlate beyond the model, and how many independent answers they are worth.

    A model assumes that errors are independent given an item's class. If they are not, its labels are overconfident: n
    answers with errors that correlate by r are worth n / (1 + (n - 1) r) independent ones (Kish 1965, the design
    effect). The module docstring of `bayesanno.analysis.dependence` has the formulas.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model that gives labels, such as `model_b`, `mace` or `one_coin`.
    groups : mapping, Series or DataFrame, optional
        The group of each annotator, by name: base model, agency, desk. A DataFrame has the columns `annotator`
        and `group`, as `group_annotators` returns them.
    truth : str, optional
        The source of true labels: "gold" uses the items with known labels; "posterior" uses each item's posterior, with
        products averaged over its classes. The default is gold if there is any. The posterior comes from the same
        answers and treats widely shared errors as the truth, so dependence is understated, and if most annotators err
        together, the others seem to. With few answers, about 5 per item and 50 per annotator, it finds about 0.02 where
        errors are independent.
    dimension : str, optional
        The dimension, for data with several dimensions.
    least_items : int, default 20
        The number of shared items from which a pair of annotators has a row of its own.
    ci_prob : float, optional
        The confidence level of the bootstrap intervals; by default as in `summary`.
    resamples : int, default 1000
        Bootstrap samples of the items for the intervals, with fixed error probabilities; 0 for none. An interval that
        excludes 0 is also beyond what independent errors give at that confidence.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        The rows, by `level`: first "all" annotators; then, with groups, "within" (all pairs inside a group) and
        "between" (all pairs across groups), pooled and for each group or two groups; then "pair" (two annotators who
        share enough items), sorted by the lower end of the interval, so that no pair is on top by chance. If there are
        more than 10,000 pairs, only those that share most items have rows; the rows above count all. A group, or two
        groups, without shared items has no row.

        The columns: `level`; `first` and `second`, the groups or annotators, empty for pooled rows; `n_items`, the
        items that at least two of them answered; `n_pairs`, the pairs that share an item; `correlation`, from -1 to 1
        (nan if no errors are possible; several pairs are averaged, weighted by their denominators), with
        `correlation_ci89_lb` and `correlation_ci89_ub` (named by `ci_prob`); `n_answers`, how many of these annotators
        answered an item, on average over the items that any of them answered, with or without gold; `worth`, the
        equivalent number of independent answers, with `worth_ci89_lb` and `worth_ci89_ub` (nan between groups; at most
        `n_answers`, as negative correlations count as 0); and `truth`, the source of true labels.

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

    References
    ----------
    L. Kish (1965), Survey Sampling, Wiley, section 5.4.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> table = ba.dependence_table(fit, random_seed=1)
    >>> table.loc[0, ["correlation", "n_answers", "worth"]].astype(float).round(2).tolist()  # independent by design
    [-0.0, 5.13, 5.13]
    """
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    check_at_least("least_items", least_items, 1, DataError)
    view = view_for_table(fit)
    part = part_of(view, dimension)
    probability, by = _find_truth(view, part, truth)
    codes, names = code_groups(groups, part)
    residuals = find_residuals(view, part, probability)
    if not residuals.cells.shape[1]:
        if by == "gold":
            raise DataError(
                'no item with a known true label was answered by two annotators: truth="posterior" takes all items'
            )
        raise DataError("no item was answered by two annotators, so errors cannot be compared")
    sharing = find_sharing(residuals.answered, codes, least=least_items, most=MOST_PAIRS)
    if sharing.n_enough > sharing.first.size and not isinstance(fit, FitView):
        warn(
            f"{counted(sharing.n_enough, 'pair')} of annotators share {counted(least_items, 'item')} or more: the "
            f"{sharing.first.size:,} that share most have rows; raise least_items for fewer",
            SizeWarning,
        )
    rows, products = _list_rows(residuals, sharing, codes, names, part)
    found, by_chance = (np.concatenate(each) for each in zip(*(one.measure() for one in products()), strict=True))
    weights = resample_items(residuals.cells.shape[1], resamples, random_seed)
    drawn = [np.concatenate([one.correlation(each) for one in products()]) for each in weights]
    low, high = _bound(found, by_chance, drawn, ci_prob)
    columns = ("correlation", *name_bounds("ci", ci_prob, "correlation"))
    table = rows.drop(columns="n_answers").assign(**dict(zip(columns, (found, low, high), strict=True)))
    table["n_answers"] = rows["n_answers"]
    for worth, correlation in zip(("worth", *name_bounds("ci", ci_prob, "worth")), (found, high, low), strict=True):
        table[worth] = count_independent(table["n_answers"].to_numpy(), correlation)
    table = table[table["n_pairs"] > 0].assign(truth=pd.Series(by, index=table.index, dtype="str"))
    is_pair = table["level"] == "pair"
    pairs = table[is_pair].sort_values(columns[1 if resamples else 0], ascending=False, kind="stable")
    return pd.concat([table[~is_pair], pairs], ignore_index=True)


def _bound(
    found: np.ndarray, by_chance: np.ndarray, drawn: list[np.ndarray], ci_prob: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals (row,) from resamples (row, resample); nan without resamples.

    Where a correlation is within the known standard deviation of independent errors, the interval is at least that
    wide: if two annotators never err on the same item because both rarely err, no resample shows a shared error.
    """
    from scipy.special import ndtri

    if not drawn:
        return np.full(found.size, np.nan), np.full(found.size, np.nan)
    low, high = bound(found, np.concatenate(drawn, axis=1), ci_prob)
    away = by_chance * ndtri((1 + ci_prob) / 2)
    none = np.abs(found) < away
    ends = np.minimum(low, found - away), np.maximum(high, found + away)
    return np.where(none, np.maximum(ends[0], -1), low), np.where(none, np.minimum(ends[1], 1), high)


def _find_truth(view: FitView, part: FitPart, truth: Truth | None) -> tuple[np.ndarray, Truth]:
    """Return the class probabilities of items, (item, true_class), and their source."""
    if truth is not None and truth not in get_args(Truth):
        raise FitError(f"there is no truth {truth!r}: choose one of {', '.join(get_args(Truth))}")
    if part.is_of_types or part.posterior.shape[1] != part.data.n_classes:
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
    residuals: Residuals, sharing: Sharing, codes: np.ndarray, names: list[str], part: FitPart
) -> tuple[pd.DataFrame, Callable[[], Iterator[Products]]]:
    """Return the rows without correlations, and an iterator over the products from which these are computed."""
    from scipy.sparse import csr_array

    n, groups = codes.size, np.array(names, dtype=object)
    members = csr_array((np.ones(n), (codes, np.arange(n))), shape=(groups.size, n))
    answers = members @ count_answers(part)  # (group, item)
    of_all = residuals.within(csr_array(np.ones((1, n))))
    rows = [_as_rows("all", "", "", residuals.cells.shape[1], sharing.n_pairs.sum(), _mean(answers.sum(axis=0)[None]))]
    head, sums, one, other = [of_all], residuals, *np.zeros((2, 0), dtype=np.int64)
    if names != [""]:
        sums, own = residuals.of_groups(members), residuals.within(members)
        of_own = Products(*(csr_array(each.sum(axis=0)[None]) for each in own))
        across = Products(*(whole - own_sum for whole, own_sum in zip(of_all, of_own, strict=True)))
        head += [of_own, across, own]
        several, any_ = (sums.answered >= 2).astype(int), (sums.answered > 0).astype(int)  # (group, item)
        n_own, n_pairs = sharing.n_pairs.diagonal(), sharing.n_pairs.tocoo()
        rows.append(
            _as_rows("within", "", "", np.count_nonzero(several.sum(axis=0)), n_own.sum(), _mean(answers, None))
        )
        n_across = n_pairs.data.sum() - n_own.sum()
        rows.append(_as_rows("between", "", "", np.count_nonzero(any_.sum(axis=0) >= 2), n_across, np.nan))
        rows.append(_as_rows("within", groups, groups, several.sum(axis=1), n_own, _mean(answers)))

        kept = np.flatnonzero(n_pairs.row != n_pairs.col)
        kept = np.sort(kept[np.argsort(-n_pairs.data[kept], kind="stable")[:MOST_PAIRS]])
        one, other = n_pairs.row[kept], n_pairs.col[kept]
        shared = (any_ @ any_.T)[one, other] if one.size else 0
        rows.append(_as_rows("between", groups[one], groups[other], shared, n_pairs.data[kept], np.nan))
    who = np.array(part.data.annotators, dtype=object)
    rows.append(_as_rows("pair", who[sharing.first], who[sharing.second], sharing.n_items, 1, 2.0))

    def products() -> Iterator[Products]:
        yield from head
        yield from sums.between(one, other)
        yield from residuals.between(sharing.first, sharing.second)

    return pd.concat(rows, ignore_index=True), products


def _as_rows(level: str, first: Any, second: Any, n_items: Any, n_pairs: Any, n_answers: Any) -> pd.DataFrame:
    n = np.size(first)
    names = {"first": np.atleast_1d(first), "second": np.atleast_1d(second)}
    table = pd.DataFrame({"level": np.full(n, level, dtype=object), **names}, dtype="str")
    counts = {"n_items": n_items, "n_pairs": n_pairs}
    return table.assign(**counts, n_answers=n_answers).astype(dict.fromkeys(counts, int) | {"n_answers": float})


def _mean(answers: Any, axis: int | None = 1) -> Any:
    """Return the mean number of answers per answered item, from counts (row, item): per row, or over all rows."""
    return divide(answers.sum(axis=axis), (answers > 0).sum(axis=axis))
