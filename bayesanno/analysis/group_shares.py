"""Comparison of groups of items, such as the outputs of several systems, by their shares of true labels.

The invariant: items with a known true label count with it. For all others a label is drawn in each draw of the fit, so
that shares and their differences include the uncertainty of items and annotators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import batched, combinations, cycle
from typing import Any

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.grades import ROUNDED, find_grades, order_classes
from bayesanno.analysis.group_prevalence import draw_with_own_prevalence
from bayesanno.analysis.groups import read_groups
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.recalibrated import each_posterior
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import Codes
from bayesanno.fits.parts import FitPart, part_of
from bayesanno.fits.view import RECALIBRATION, FitView
from bayesanno.ground.draw import draw_codes
from bayesanno.ground.errors import DataError, FitError, PredictionWarning, SizeWarning, warn
from bayesanno.ground.intervals import CiKind, choose_interval
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import check_seed
from bayesanno.ground.wording import counted, listed
from bayesanno.inference.tempering.parts import temperings_of
from bayesanno.modeling.class_prior import class_prior_of, column_of
from bayesanno.modeling.functions import stack_samples

type Groups = str | Mapping[str, str] | pd.Series[str] | pd.DataFrame

LEAST_DRAWS = 1000  # draws of labels: if a fit has fewer draws, several per draw
BLOCK_BYTES = 32 * 2**20  # log probabilities in memory at a time
MOST_PAIRED = 30  # with more groups, pairs have no rows
PRIOR_COUNT = 0.5  # per label, if items are a sample of many (Jeffreys' prior)


def group_table(
    fit: xr.DataTree | FitView,
    groups: Groups,
    *,
    at_large: bool = False,
    use_gold: bool = True,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    order: str | Sequence[str] | None = None,
    dimension: str | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the share of each true label among the items of each group, and the differences between groups.

    Groups are, for instance, the systems that produced the items. A label of each item is drawn in every draw of the
    fit, and shares are counted, so intervals include the uncertainty of items and annotators. Items with a known true
    label count with that label. In a recalibrated fit, labels are drawn from the recalibrated probabilities: each draw
    uses one temperature and its shifts, and the mean over draws of annotators.

    A model has one prevalence for all items, which pulls groups towards each other if answers are not informative. So
    each group gets its own prevalence here, drawn around the common one with a learnt spread between groups
    (`bayesanno.analysis.group_prevalence` has the model). The annotators are those of the fit. If the model has no
    prevalence, or the fit has a class prior, labels are drawn from the fit's own probabilities; the class prior should
    then include the groups: `Columns("(1 | system)")`.

    In 200 simulated panels of three systems (200 outputs each, five of 20 judges, 20 true labels per system), 94%
    intervals of differences covered the truth at large in 92%, and in 82% with the common prevalence. If judges erred
    together, coverage was 67%, and 92% after recalibration, so judges who may err together need a recalibrated fit. In
    25 of these panels a joint fit with `Columns("(1 | system)")` was as good (91%, errors equal within 4%), but not if
    it was recalibrated and judges erred together (63%, against 93%): fit without a class prior before recalibrating
    (`tests/benchmarks/group_shares.py`).

    No model here has errors that depend on the system, such as those of judges who favour one; shares are then biased.
    If true labels are known in each group, compare with the shares among these.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of any model that gives labels.
    groups : str, mapping of item to group, Series or DataFrame
        The group of every item of the fit; a str names a column of its items, and a DataFrame has the columns item and
        group. Other items are ignored.
    at_large : bool, default False
        Whether the shares refer to all possible items of a group, such as all outputs of a system, with its items as a
        random sample. By default they refer to the items of the fit, and intervals are narrower.
    use_gold : bool, default True
        Whether items with gold count with their gold label. Otherwise only controls count with their known label.
    ci_prob, ci_kind
        As in `summary`.
    order : str or sequence of str, optional
        The labels from the lowest to the highest, for expected grades; by default as declared, or as numbers.
    dimension : str, optional
        The dimension, for data with several dimensions.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        First the rows of groups, in order of appearance among the items, then those of pairs of groups. Each has a row
        for the share of each label and, for ordered labels, one for the mean grade (as in `grade_table`).

        The columns: `first`, the group; `second`, the other group of a pair, with values for first minus second;
        `quantity`, "share" or "grade"; `label`, empty for grades; `mean`, `sd`, `eti89_lb` and `eti89_ub`;
        `p_above`, for pairs, the probability that first has more than second, with equal values counted half;
        `n_items`, of both groups in a pair; and `n_known`, how many of these count with their known label.

    Raises
    ------
    DataError
        If an item has no group or two, a group has no items, a gold label to be used is not among the labels, the order
        of the labels is invalid, or there is no such interval.
    FitError
        If the model gives no labels, the fit holds no items, or it has several dimensions and none is named.

    Warns
    -----
    PredictionWarning
        If the fit is a point estimate, as by EM, since intervals then ignore the uncertainty about annotators; or if a
        fit with a class prior was recalibrated, since intervals may be too narrow.
    SizeWarning
        If there are more than 30 groups, so that pairs have no rows.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
    >>> system = {item: "old" if number < 150 else "new" for number, item in enumerate(data.items)}
    >>> table = ba.group_table(fit, system, use_gold=False, random_seed=1)
    >>> table.query("second == 'new'")["label"].tolist()
    ['billing', 'delivery', 'other', 'quality']
    """
    check_seed(random_seed)
    choose_interval(ci_prob, ci_kind)  # refuses what is no interval
    view = view_for_table(fit, from_draws=True)
    part = part_of(view, dimension)
    data = part.data
    if part.is_of_types or not isinstance(data, AnnotationData) or part.states != list(data.classes):
        raise FitError(f"{view.model.name} gives no labels, and so no shares of them")
    grades = _find_grades(part, order)
    codes, names = code_items(_read_column(groups, data) if isinstance(groups, str) else groups, data.items)
    if view.yields == "point" and not view.is_tempered and not isinstance(fit, FitView):
        warn(
            f"this fit by {view.tree.attrs['method']} is one point: the intervals ignore the uncertainty about "
            "annotators; fit by nuts for intervals that include it",
            PredictionWarning,
        )
    has_class_prior = class_prior_of(view.model) is not None
    if has_class_prior and part.dimension in temperings_of(view, RECALIBRATION) and not isinstance(fit, FitView):
        warn(
            "this recalibrated fit has a class prior: if annotators err together, groups are pulled towards each other "
            "and their intervals are too narrow; recalibrate a fit without a class prior",
            PredictionWarning,
        )
    has_own = not has_class_prior and "true_class" in view.posterior.get("prevalence", xr.DataArray()).dims
    known = _find_known(part, use_gold=use_gold)
    rng = np.random.default_rng(random_seed)
    counts = np.concatenate(
        [_count(drawn, codes, data.n_classes) for drawn in _draw_labels(view, part, codes, known, rng, has_own=has_own)]
    )  # (sample, group, label)
    if at_large:
        counts = rng.standard_gamma(counts + PRIOR_COUNT)
    shares = counts / counts.sum(axis=2, keepdims=True)
    labels = [*data.classes]
    if grades is not None:
        shares, labels = np.concatenate([shares, (shares @ grades)[:, :, None]], axis=2), [*labels, ""]
    sizes = np.stack([np.bincount(codes), np.bincount(codes, weights=known >= 0)], axis=1).astype(int)  # (group, 2)
    if len(names) > MOST_PAIRED and not isinstance(fit, FitView):
        warn(
            f"there are {counted(len(names), 'group')}, more than {MOST_PAIRED}: their differences have no rows; use "
            "fewer groups to get them",
            SizeWarning,
        )
    return _tabulate(shares, names, labels, sizes, ci_prob, ci_kind)


def _tabulate(
    values: np.ndarray,
    names: Sequence[str],
    labels: Sequence[str],
    sizes: np.ndarray,
    ci_prob: float | None,
    ci_kind: CiKind,
) -> pd.DataFrame:
    """Return the table of values (sample, group, quantity): shares and, for the label "", mean grades."""
    pairs = list(combinations(range(len(names)), 2)) if len(names) <= MOST_PAIRED else []
    ends = np.array([(one, one) for one in range(len(names))] + pairs)  # (row, 2)
    is_pair = ends[:, 0] != ends[:, 1]
    of_rows = np.where(is_pair[:, None], values[:, ends[:, 0]] - values[:, ends[:, 1]], values[:, ends[:, 0]])
    draws = xr.DataArray(of_rows[None], dims=("chain", "draw", "row", "quantity"))
    found = describe_draws(draws, ci_prob, ci_kind)
    found["sd"] = (of_rows - of_rows[0]).std(axis=0, ddof=1)  # 0 where all draws are equal
    above = ((of_rows > ROUNDED) + 0.5 * (np.abs(of_rows) <= ROUNDED)).mean(axis=0)
    n = np.where(is_pair[:, None], sizes[ends].sum(axis=1), sizes[ends[:, 0]])  # (row, 2)
    groups, each = np.array(names, dtype=object), len(labels)
    column = {
        "first": np.repeat(groups[ends[:, 0]], each),
        "second": np.repeat(np.where(is_pair, groups[ends[:, 1]], ""), each),
        "quantity": ["share" if label else "grade" for label in labels] * len(ends),
        "label": [*labels] * len(ends),
    }
    return pd.DataFrame(column, dtype="str").assign(
        **{what: values.ravel() for what, values in found.items()},
        p_above=np.where(is_pair[:, None], above, np.nan).ravel(),
        n_items=np.repeat(n[:, 0], each),
        n_known=np.repeat(n[:, 1], each),
    )


# ---------------------------------------------------------------------------------------------- what is given


def code_items(groups: Any, items: Sequence[str], *, where: str = "groups") -> tuple[np.ndarray, list[str]]:
    """Return the group of each item, (item,), and the names of groups in order of appearance among the items.

    Messages call the groups `where`.

    Raises
    ------
    DataError
        If the groups cannot be read, an item has no group or two, or a group has no items.
    """
    named = read_groups(groups, "item", where=where)
    own = named.reindex(list(items))
    if own.isna().all():
        has = f"has {counted(len(named), 'other')}, as {named.index[0]!r}" if len(named) else "names none"
        raise DataError(f"{where} has no item of the fit, such as {items[0]!r}, and {has}: give the group of each item")
    without = own.index[own.isna()]
    if len(without):
        more = f" (as {len(without) - 1:,} more)" if len(without) > 1 else ""
        raise DataError(f"{where}: item {without[0]!r}{more} is in no group: give the group of every item of the fit")
    empty = [name for name in named.unique() if name not in set(own)]
    if empty:
        raise DataError(f"{where}: group {empty[0]!r} has no item of the fit: leave it out")
    codes, names = pd.factorize(own)
    return codes, list(names)


def _read_column(name: str, data: AnnotationData) -> dict[str, str]:
    """Return the values in a column of the items, by item.

    Raises
    ------
    DataError
        If there is no such column.
    """
    return dict(zip(data.items, column_of(data, name, "a table of groups").names, strict=True))


def _find_grades(part: FitPart, order: Sequence[str] | None) -> np.ndarray | None:
    """Return the grade of each class, (class,); None if their order is unknown."""
    if order is None and not part.data.labels_are_ordered:
        return None
    names = order_classes(part.data, order, part.dimension)
    grades = dict(zip(names, find_grades(names), strict=True))
    return np.array([grades[name] for name in part.data.classes])


def _find_known(part: FitPart, *, use_gold: bool) -> Codes:
    """Return the known class of each item, (item,); -1 if unknown."""
    data: AnnotationData = part.data
    if not use_gold:
        return data.control_codes
    strange = next((item for item in data.items if item in data.gold and data.gold[item] not in data.classes), None)
    if strange is not None:
        raise DataError(
            f"gold label {data.gold[strange]!r} of item {strange!r} is not among the labels {listed(data.classes)}, so "
            "its group has no share of it: declare it with labels=... when reading the annotations, or leave gold out "
            "with use_gold=False"
        )
    return data.known_codes


# -------------------------------------------------------------------------------------------------- the draws


def _draw_labels(
    view: FitView, part: FitPart, codes: np.ndarray, known: np.ndarray, rng: np.random.Generator, *, has_own: bool
) -> Iterator[np.ndarray]:
    """Yield blocks of draws of the class of each item, (sample, item); groups may have their own prevalences."""
    n_draws = view.posterior.sizes["chain"] * view.posterior.sizes["draw"]
    of_draws = each_posterior(view, part, n_draws * -(-LEAST_DRAWS // n_draws), rng)
    prevalences = cycle(_log_prevalences(view) if has_own else [None])
    pairs = zip(of_draws, prevalences, strict=False)
    with_own = ((logs, prevalence if is_own else None) for (logs, is_own), prevalence in pairs)
    for block in batched(with_own, max(1, BLOCK_BYTES // (8 * part.data.n_items * part.data.n_classes))):
        logs = np.stack([one for one, _ in block])  # (sample, item, class)
        if has_own:
            means = [np.log(np.exp(one).mean(axis=0).clip(1e-300)) if own is None else own for one, own in block]
            centre = np.stack(means)
            yield draw_with_own_prevalence(logs - centre[:, None], centre, codes, known, rng)
        else:
            yield np.where(known >= 0, known, draw_codes(np.exp(logs), rng))


def _log_prevalences(view: FitView) -> np.ndarray:
    """Return the log prevalence in each draw, (sample, class)."""
    return np.log(stack_samples(view.posterior[["prevalence"]])["prevalence"].clip(1e-300))


def _count(drawn: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the numbers of items by group and class, (sample, group, class), from draws (sample, item)."""
    n_groups = int(codes.max()) + 1
    cell = (np.arange(len(drawn))[:, None] * n_groups + codes) * n_classes + drawn
    return np.bincount(cell.ravel(), minlength=len(drawn) * n_groups * n_classes).reshape(-1, n_groups, n_classes)
