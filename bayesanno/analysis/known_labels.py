"""How good annotators are by known labels, without a model, and what the share of a label is: side by side.

Tables of counts have a Dirichlet prior of equal cells that add up to 1 (Perks 1947), so that the accuracy of two labels
has Jeffreys' prior, Beta(1/2, 1/2). So have shares of answers (accuracy, and of one label against the others
sensitivity, specificity and precision). All intervals have equal tails.

References
----------
W. Perks (1947), Some observations on inverse probability, Journal of the Institute of Actuaries 73(2), 285-334,
doi:10.1017/S0020268100012270.
L. D. Brown, T. T. Cai and A. DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16(2),
101-133, doi:10.1214/ss/1009213286.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bayesanno._core.intervals import choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, option
from bayesanno._core.validate import check_choice, check_seed
from bayesanno.analysis.group_shares import LEAST_KNOWN, Groups, code_items, find_known, group_table, read_column
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.prediction_powered import draw_powered
from bayesanno.analysis.recalibrate import read_gold
from bayesanno.analysis.rogan_gladen import N_DRAWS, draw_corrected, draw_judged
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData, take_rows
from bayesanno.data.described import require_kind
from bayesanno.data.labelled import divide
from bayesanno.fits.view import Fit, part_of

ASSUMES = {
    "judged": "answers are right, or their errors cancel",
    "corrected": "errors are as on known items, and independent",
    "ppi": "items with known labels are a random sample",
    "model": "the model is right",
}


def gold_table(
    data: AnnotationData,
    gold: Any = None,
    *,
    by: Groups | None = None,
    each: Literal["annotator", "label", "cell"] = "annotator",
    ci_prob: float | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return how good each annotator is by known labels, with posterior intervals and without a model.

    Parameters
    ----------
    data : AnnotationData
        "Unsure" answers are left out.
    gold : mapping of item to label, Series, DataFrame or file, optional
        The known labels; by default those of the data, controls included.
    by : str, mapping of item to group, Series or DataFrame, optional
        Groups of items, such as systems, as in `group_table`: a row for each annotator and group.
    each : {"annotator", "label", "cell"}
        What has a row: an annotator, with measures of the last, positive label of two, or else means over labels
        (macro); each label against all others; or each cell of the confusion matrix, with its count `n`.
    ci_prob : float, optional
        As in `summary`.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        `annotator`, `group` (with `by`), `label` (of each label), `n` answers to items with known labels, and
        `accuracy`, `kappa` (Cohen's), `sensitivity`, `specificity`, `precision` and `f1`, each with its interval, such
        as `kappa_eti89_lb` and `kappa_eti89_ub`. What is not defined is nan, and left out of means. Intervals of kappa,
        F1 and means come from 4,000 draws of the table of counts; the others are quantiles of Beta posteriors. Where
        all answers are right, or all wrong, an interval ends at the value itself (Brown, Cai and DasGupta 2001,
        doi:10.1214/ss/1009213286). `cell` has the columns `true_class`, `response` and `n` instead.

    Raises
    ------
    DataError
        If no answer is to an item with a known label, a known label is not among the labels, or an argument is invalid.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.gold_table(ba.read_annotations("@judges"), random_seed=1).set_index("annotator")
    >>> table.loc["birch-large", ["n", "accuracy", "kappa", "kappa_eti89_lb", "kappa_eti89_ub"]].round(2).tolist()
    [60.0, 0.93, 0.86, 0.72, 0.94]
    """
    check_choice(f"each is {each!r}", each, ("annotator", "label", "cell"), DataError)
    check_seed(random_seed)
    ci_prob = choose_prob(ci_prob)
    data, known = _know_labels(data, gold, "gold_table")
    codes, names = _code_groups(data, by)
    k, answered = data.n_classes, known[data.item] >= 0
    row = (data.annotator * len(names) + codes[data.item])[answered]
    cell = (row * k + known[data.item][answered]) * k + data.label[answered]
    counts = np.bincount(cell, minlength=data.n_annotators * len(names) * k**2).reshape(-1, k, k)  # (row, true, said)
    rows, classes = np.flatnonzero(counts.any(axis=(1, 2))), np.array(data.classes)
    counts = counts[rows]
    columns = {"annotator": np.array(data.annotators)[rows // len(names)]}
    columns |= {} if by is None else {"group": np.array(names)[rows % len(names)]}
    columns = {
        name: each_row.repeat({"annotator": 1, "label": k, "cell": k**2}[each]) for name, each_row in columns.items()
    }
    if each == "cell":
        columns |= {"true_class": np.tile(classes.repeat(k), rows.size), "response": np.tile(classes, k * rows.size)}
        return pd.DataFrame(columns, dtype="str").assign(n=counts.ravel())
    if each == "label":
        columns |= {"label": np.tile(classes, rows.size)}
        own = np.eye(k, dtype=int)
        sides = np.stack([1 - own, own], axis=1)  # (label, 2, class)
        counts = np.einsum("rts,lat,lbs->rlab", counts, sides, sides).reshape(-1, 2, 2)
    table = pd.DataFrame(columns, dtype="str").assign(n=counts.sum(axis=(1, 2)))
    drawn = np.random.default_rng(random_seed).standard_gamma(
        counts + 1 / counts[0].size, (N_DRAWS, *counts.shape)
    )  # tables of shares, but for their sums
    ends = {name: _find_ends(values, ci_prob) for name, values in _measure(drawn, counts).items()}
    ends |= _bound_shares(counts, ci_prob)
    for name, values in _measure(counts, counts).items():
        table[name] = values
        low, high = np.fmin(ends[name][0], values), np.fmax(ends[name][1], values)
        for bound, end in zip(name_bounds("eti", ci_prob, name), (low, high), strict=True):
            table[bound] = np.where(np.isnan(values), np.nan, end)
    return table


def rate_table(
    source: AnnotationData | Fit,
    *,
    label: str | None = None,
    by: Groups | None = None,
    ci_prob: float | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the share of a label among all items like these, as judged and as corrected by known labels, side by side.

    Parameters
    ----------
    source : AnnotationData, xarray.DataTree or FitView
        Annotations with known labels of some items (gold); or a fit, whose posterior has rows too.
    label : str, optional
        The label; by default the last, positive one of two, or each of more.
    by : str, mapping of item to group, Series or DataFrame, optional
        Groups of items, such as systems, as in `group_table`.
    ci_prob : float, optional
        As in `summary`.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        Rows by `group` (with `by`), `label`, `annotator` (empty for all together) and `source`: "judged", the share of
        answers; "corrected" for the sensitivity and specificity of each annotator (Rogan and Gladen 1978,
        doi:10.1093/oxfordjournals.aje.a112510; `bayesanno.analysis.rogan_gladen` has the formula), by the answers of
        all annotators together; "ppi", prediction-powered by shares of answers, if each group has five known labels;
        and "model". The columns: `mean`, `sd`, the interval with equal tails, such as `eti89_lb` and `eti89_ub`, its
        `width`, `n_items` with answers, `n_known` of these, and what each row `assumes`, in words.

    Raises
    ------
    DataError
        If no answer is to an item with a known label, or an argument is invalid.
    FitError
        If the model gives no labels, or there are several dimensions.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.rate_table(ba.read_annotations("@judges"), random_seed=1).query("annotator == 'alder-small'")
    >>> table[["source", "mean", "width"]].round(2).to_numpy().tolist()
    [['judged', 0.58, 0.1], ['corrected', 0.44, 0.42], ['ppi', 0.57, 0.18]]
    """
    check_seed(random_seed)
    ci_prob, rng = choose_prob(ci_prob), np.random.default_rng(random_seed)
    data = source if isinstance(source, AnnotationData) else part_of(view_for_table(source), None).data
    data, known = _know_labels(data, None, "rate_table")
    codes, names = _code_groups(data, by)
    if label is not None:
        check_choice(f"label is {label!r}", label, data.classes, DataError)
    labels = [label] if label else data.classes[-1:] if data.n_classes == 2 else data.classes
    tables = []
    for who, name in enumerate([*data.annotators, ""]):
        rows = np.flatnonzero(data.annotator == who) if name else np.arange(data.n_annotations)
        if not rows.size or (not name and data.n_annotators == 1):
            continue
        own = take_rows(data, rows)
        answered = np.bincount(own.item, minlength=data.n_items) > 0
        n_items, n_known = (
            np.bincount(codes[which], minlength=len(names)) for which in (answered, answered & (known >= 0))
        )
        for one in labels:
            positive, worth = data.classes.index(one), np.equal(data.classes, one)[:, None].astype(float)
            found = {"judged": draw_judged(own, positive, codes, rng)}
            if n_known.any():
                found["corrected"] = draw_corrected(own, positive, codes, known, rng)
            if (n_known >= LEAST_KNOWN).all():
                of = known[answered], own.class_shares[answered], codes[answered]
                found["ppi"] = draw_powered(*of, worth, rng, at_large=True)[:, :, 0]
            for kind, draws in found.items():
                values = describe_draws(xr.DataArray(draws[None], dims=("chain", "draw", "row")), ci_prob, "eti")
                first = {"group": names, "label": one, "annotator": name, "source": kind}
                tables.append(pd.DataFrame(first | values | {"n_items": n_items, "n_known": n_known}))
    if not isinstance(source, AnnotationData):
        groups = dict.fromkeys(data.items, "") if by is None else by
        shares = group_table(source, groups, label=label, at_large=True, ci_prob=ci_prob, random_seed=random_seed)
        shares = shares[(shares["source"] == "model") & (shares["quantity"] == "share")]
        tables.append(shares.assign(annotator="").reindex(columns=tables[0].columns))
    table, (low, high) = pd.concat(tables, ignore_index=True), name_bounds("eti", ci_prob)
    table.insert(list(table.columns).index(high) + 1, "width", table[high] - table[low])
    table = table.assign(assumes=table["source"].map(ASSUMES)).sort_values(
        ["group", "label", "annotator"], kind="stable", ignore_index=True
    )
    return table.drop(columns=["group"] if by is None else [])


def _know_labels(data: AnnotationData, gold: Any, who: str) -> tuple[AnnotationData, np.ndarray]:
    """Return the data without "unsure" answers, and the known class of each item, (item,), -1 for none."""
    require_kind(data, AnnotationData, who)
    data = data.without_unsure()
    known = find_known(data if gold is None else replace(data, gold=read_gold(data, gold), controls={}))
    if not (known[data.item] >= 0).any():
        raise DataError(f"no answer is to an item whose true label is known: give {option('gold')}")
    return data, known


def _code_groups(data: AnnotationData, by: Groups | None) -> tuple[np.ndarray, list[str]]:
    """Return the group of each item, (item,), and their names; without groups, one named ""."""
    if by is None:
        return np.zeros(data.n_items, dtype=np.int64), [""]
    return code_items(read_column(by, data) if isinstance(by, str) else by, data.items, where="by")


def _count_hits(tables: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return numerators and denominators, (..., label) or (..., 1), from tables (..., true, said)."""
    own, true, said = np.diagonal(tables, axis1=-2, axis2=-1), tables.sum(axis=-1), tables.sum(axis=-2)
    right, n, by_chance = (each.sum(axis=-1, keepdims=True) for each in (own, true, true * said))
    return {
        "accuracy": (right, n),
        "kappa": (n * right - by_chance, n**2 - by_chance),
        "sensitivity": (own, true),
        "specificity": (n - true - said + own, n - true),
        "precision": (own, said),
        "f1": (2 * own, true + said),
    }


def _measure(tables: np.ndarray, counts: np.ndarray) -> dict[str, np.ndarray]:
    """Return all measures, (..., row), of tables of counts or shares; undefined where those of the counts are."""
    found, labels = {}, [-1] if counts.shape[1] == 2 else slice(None)
    for (name, (hits, of)), (_, n) in zip(_count_hits(tables).items(), _count_hits(counts).values(), strict=True):
        values, defined = divide(hits, of)[..., labels], (n != 0)[..., labels]
        found[name] = divide(np.where(defined, values, 0).sum(axis=-1), defined.sum(axis=-1))
    return found


def _bound_shares(counts: np.ndarray, ci_prob: float) -> dict[str, np.ndarray]:
    """Return the ends, (2, row), of the intervals of measures that are shares of answers."""
    from scipy.stats import beta

    tails = np.array([[(1 - ci_prob) / 2], [(1 + ci_prob) / 2]])
    shares = ("accuracy", "sensitivity", "specificity", "precision") if counts.shape[1] == 2 else ("accuracy",)
    found = {name: [each[:, -1] for each in _count_hits(counts)[name]] for name in shares}
    return {name: beta.ppf(tails, hits + 0.5, n - hits + 0.5) for name, (hits, n) in found.items()}


def _find_ends(drawn: np.ndarray, ci_prob: float) -> np.ndarray:
    """Return the ends, (2, row), of intervals of draws (draw, row)."""
    found = describe_draws(xr.DataArray(drawn[None], dims=("chain", "draw", "row")), ci_prob, "eti")
    return np.stack([found[end] for end in name_bounds("eti", ci_prob)])
