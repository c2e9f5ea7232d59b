"""Recalibration of a fit's labels with a few known ones: calibrated probabilities when annotators err together.

The invariant: true labels change the label probabilities, never the parameters. The probabilities of an item with a
known label do not depend on that label, so scores against the known labels are cross-validated.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.recalibrated import recalibrate_part, recalibrations_of, tabulate_recalibration
from bayesanno.analysis.temperature import Recalibration, find_scale, score_shares, weigh
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import split_dimensions
from bayesanno.fits.parts import (
    LOG_PROBABILITY,
    FitPart,
    concat_parts,
    is_given,
    label_groups,
    log_label_posterior,
    parts_of,
)
from bayesanno.fits.storage import groups_by_dimension, is_on_dask
from bayesanno.fits.view import LABELS, RECALIBRATION, FitView
from bayesanno.ground.errors import DataError, FitError, PredictionWarning, warn
from bayesanno.ground.intervals import CiKind, find_bounds
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.wording import counted, listed
from bayesanno.inference.adjust import adjusted_parts, adjustments_of
from bayesanno.io.columns import read_known
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.posterior import recover
from bayesanno.simulation.quantities import refuse_types

FEW = 20  # known labels: with fewer, the temperature is uncertain
NOT_BY_GOLD = ": true labels cannot recalibrate it"  # of a model of item types
ALMOST_NO_GAIN = 0.02  # nats per item that labels add to their frequencies


def recalibrate(fit: xr.DataTree | FitView, gold: Any = None) -> xr.DataTree:
    """Recalibrate the labels of a fit with the true labels of a few items, which the fit has not used.

    Models assume that annotators' errors are independent given the true label. When annotators err together, labels are
    overconfident, by much the same factor in the log odds of all items. The correction is temperature scaling (Guo et
    al. 2017) with a shift for each label (Platt 1999). With p_i(k) the fit's probability of label k and m_k its mean
    over items,

        recalibrated p_i(k)  ~  m_k (p_i(k) / m_k)^(1 / T) exp(shift_k)

    If the fit adjusted its labels for correlated errors (`bayesanno.inference.adjust`), p_i is the adjusted probability
    and the prior of T has median 1, so that fewer true labels are needed. Without an adjustment that prior is wide.

    The temperature T and the shifts have a posterior (`bayesanno.analysis.temperature` has the priors), over which the
    probabilities are averaged: with 20 true labels the answers are wide, but not wrong. The probabilities of items with
    known labels are computed without their own label (PSIS leave-one-out). So `coverage_table`, `calibration_table`,
    `compare` and the accuracy in run.json are cross-validated where they use these labels.

    All results for labels are recalibrated: `label_table`, `coverage_table`, `decide_labels`, `sample_labels`,
    `predict_labels` of new items, `write_labels`, `write_report`. Parameters, annotators and other results for items
    (difficulty, spam) do not change.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit by any method to annotations in memory. If it was recalibrated before, it starts from the original labels.
    gold : mapping of item to label, Series, DataFrame or path, optional
        Known true labels of a random sample of the items; easy items alone would mislead. A DataFrame or file has the
        columns item and gold (or label). The default is the gold in the fit's data. Items that were controls in the fit
        are left out. For data with several dimensions, a mapping of dimension to any of these; dimensions that are not
        in it do not change.

    Returns
    -------
    xarray.DataTree
        The fit with new `labels`; `latent` keeps the model's own posterior. The known labels are added to the gold of
        its data. The group `recalibration` has draws of `temperature` and `shift`, and the items in `known_item`. The
        attribute `recalibration` (JSON) has for each dimension ("" without dimensions): `n_known`; `temperature`
        (`mean`, `eti89_lb`, `eti89_ub`); `shift` (the same for each label); `items`; the mean leave-one-out log scores
        of the known labels, `log_score_before`, `log_score` and `log_score_shares` (from the shares of the other known
        labels alone); and `remarks` in words.

    Raises
    ------
    FitError
        If the model gives item types instead of labels, the fit holds no items (it was made on Dask), or no label is
        known apart from controls.
    DataError
        If an item or a label is not in the fit, an item has two labels, or the dimensions do not match.
    DataFileError
        If the file does not exist.

    Warns
    -----
    PredictionWarning
        If fewer than 20 labels are known, or with more, if labels carry almost no information beyond their frequencies.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods, in: Advances in Large Margin Classifiers, MIT Press, pages 61-74.
    C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks, ICML, pages
    1321-1330, arXiv:1706.04599.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("one_coin", data, method="em", random_seed=1, progressbar=False)
    >>> known = dict(list(data.gold.items())[:60])
    >>> table = ba.recalibration_table(ba.recalibrate(fit, known)).set_index("parameter")
    >>> bool(table.loc["temperature", "eti89_lb"] < 1 < table.loc["temperature", "eti89_ub"])  # it was right
    True
    """
    view = view_for_table(fit)
    parts = {part.dimension: part for part in parts_to_recalibrate(view)}
    known = read_gold({dimension: part.data for dimension, part in parts.items()}, gold)
    if any(LOG_PROBABILITY not in part.latent for part in parts.values()):  # a fit from an earlier version
        parts = _with_logs(view, parts)
    adjusted = adjustments_of(view)
    after, learnt, found = {name: parts[name] for name in adjusted}, {}, {}
    for dimension, labels in known.items():
        part = parts[dimension]
        after[dimension], temperature, found[dimension] = _recalibrate_one(
            part, labels, is_adjusted=dimension in adjusted
        )
        learnt[dimension] = tabulate_recalibration(part, temperature, list(labels))
    whole = view.tree.copy()
    whole["constant_data"] = xr.DataTree(_with_gold(view.tree["constant_data"].to_dataset(), known))
    groups = label_groups(list(after.values())) | groups_by_dimension(RECALIBRATION, learnt)
    for name in (LABELS, RECALIBRATION):
        whole[name] = xr.DataTree()  # replaces the old group with all its dimensions
    for path, group in groups.items():
        whole[path] = xr.DataTree(group)
    whole.attrs = dict(view.tree.attrs) | {RECALIBRATION: json.dumps(found)}
    for said in (remark for about in found.values() for remark in about["remarks"]):
        warn(said, PredictionWarning)
    return whole


def recalibration_table(
    fit: xr.DataTree | FitView, *, ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the temperature and the shifts of a recalibrated fit.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit that `recalibrate` returned.
    ci_prob, ci_kind
        As in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row for the temperature and one for each label: `parameter` ("temperature", "shift[<label>]"), `mean`, `sd`,
        `eti89_lb`, `eti89_ub`. A temperature of 1 and shifts of 0 change nothing; a temperature above 1 means that
        labels were overconfident. For data with several dimensions, the same for each recalibrated dimension;
        `dimension` is the first column.

    Raises
    ------
    FitError
        If the fit was not recalibrated.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> ba.recalibration_table(ba.recalibrate(fit))["parameter"].tolist()
    ['temperature', 'shift[billing]', 'shift[delivery]', 'shift[other]', 'shift[quality]']
    """
    view = view_for_table(fit, from_draws=True)
    require_recalibrated(view)
    learnt = recalibrations_of(view)
    parts = [part for part in parts_of(view) if part.dimension in learnt]
    return concat_parts(parts, lambda part: _describe(learnt[part.dimension], part.states, ci_prob, ci_kind))


def about_recalibration(view: FitView) -> dict[str, dict[str, Any]]:
    """Return the attribute `recalibration` of a fit, by dimension; empty if it was not recalibrated."""
    return json.loads(view.tree.attrs.get(RECALIBRATION, "{}"))


def require_recalibrated(view: FitView) -> None:
    """Raise a FitError if a fit was not recalibrated."""
    if not view.is_recalibrated:
        raise FitError("this fit was not recalibrated: use recalibrate(fit, gold) with some known labels")


def parts_to_recalibrate(view: FitView) -> list[FitPart]:
    """Return the parts of a fit before recalibration, adjusted, if they can be recalibrated.

    Raises
    ------
    FitError
        If the model gives item types instead of labels, or the fit holds no items.
    """
    if is_on_dask(view.tree):
        raise FitError("this fit was made on Dask and holds no items to recalibrate: fit annotations in memory")
    refuse_types(view.model, view.data, NOT_BY_GOLD)
    return list(adjusted_parts(view).values())


def _with_logs(view: FitView, parts: Mapping[str, FitPart]) -> dict[str, FitPart]:
    """Return the parts with the log probabilities that are computed from the draws."""
    found = recover(view.model, view.data, view.posterior, view.known, with_log_likelihood=False).latents
    logs = {dimension: {LOG_PROBABILITY: found[dimension][LOG_PROBABILITY]} for dimension in parts}
    return {name: replace(part, latent=part.latent.assign(logs[name])) for name, part in parts.items()}


# ---------------------------------------------------------------------------------------------- the known labels


def read_gold(tables: Mapping[str, Any], gold: Any) -> dict[str, dict[str, str]]:
    """Return the known labels by dimension (item -> label), without controls.

    `tables` has the annotations of each dimension, or under "" those without dimensions.

    Raises
    ------
    DataError, DataFileError, FitError
        As for `recalibrate`.
    """
    if gold is None:
        found = {name: _read_one(data, data.gold) for name, data in tables.items() if data.gold}
        if not found:
            raise FitError(
                "no true label is known: give gold, a mapping of item to label or a file with columns item and gold"
            )
    elif "" in tables:
        found = {"": _read_one(tables[""], gold)}
    else:
        if not isinstance(gold, Mapping) or not set(map(str, gold)) <= set(tables):
            raise DataError(
                f"this fit has dimensions {listed(list(tables))}: give gold by dimension, as in "
                f"{{{next(iter(tables))!r}: ...}}"
            )
        found = {str(name): _read_one(tables[str(name)], one) for name, one in gold.items()}
    for name, labels in found.items():
        free = {item: label for item, label in labels.items() if item not in tables[name].controls}
        if not free:
            of = f" in {name}" if name else ""
            was = ", since all that were given are controls, which the fit has used" if labels else ""
            raise FitError(f"no true label is known{of}{was}: give labels that the fit has not used")
        found[name] = {item: free[item] for item in tables[name].items if item in free}  # in the order of the data
    return found


def check_gold(model: AnnotationModel, data: Any, gold: Any) -> Any:
    """Read the gold for `recalibrate` before the model is fitted, so that its errors are raised early."""
    refuse_types(model, data, NOT_BY_GOLD)
    found = read_gold(split_dimensions(data), gold)
    return found.get("", found)


def _read_one(data: AnnotationData, gold: Any) -> dict[str, str]:
    if isinstance(gold, Mapping | pd.Series):
        pairs = gold.items() if isinstance(gold, Mapping) else gold.dropna().items()
        rows = [(str(item), str(label)) for item, label in pairs]
        if not rows:
            return {}
        gold = pd.DataFrame(rows, columns=["item", "gold"], dtype=object)
    elif not isinstance(gold, str | os.PathLike | pd.DataFrame):
        raise DataError(
            f"gold is of type {type(gold).__name__}: give a mapping of item to label, a Series, a DataFrame or a file"
        )
    return read_known(gold, ("gold", "label"), data.items, data.classes)


def _with_gold(constant: xr.Dataset, known: Mapping[str, Mapping[str, str]]) -> xr.Dataset:
    """Return the known values of items with these true labels in place of the old ones."""
    gold = constant["gold"].astype(object)  # (item,) or (dimension, item), of labels of any length
    for dimension, labels in known.items():
        own = gold.sel(dimension=dimension) if dimension else gold  # a view, not a copy
        own.loc[{"item": list(labels)}] = list(labels.values())
    return constant.assign(gold=gold.astype(str))


# -------------------------------------------------------------------------------------------- what they say


def _recalibrate_one(
    part: FitPart, labels: Mapping[str, str], *, is_adjusted: bool
) -> tuple[FitPart, Recalibration, dict[str, Any]]:
    """Return a recalibrated part, the draws of temperature and shifts, and their description."""
    logs, given = log_label_posterior(part), is_given(part)
    place = {item: row for row, item in enumerate(part.data.items)}
    rows = np.array([place[item] for item in labels])
    truth = np.array([part.states.index(label) for label in labels.values()])
    scale = find_scale(logs[~given], is_adjusted=is_adjusted)
    posterior = weigh(scale, logs[rows], truth)
    learnt, left_out = posterior.draw(), posterior.leave_each_out(logs[rows], truth)  # left_out: (known, label)
    done = recalibrate_part(part, learnt, dict(zip(rows.tolist(), left_out, strict=True)))
    before = np.maximum(logs[rows, truth], scale.least)
    after, shares = left_out[np.arange(truth.size), truth], score_shares(truth, len(part.states))
    temperature, *shifts = _describe(learnt, part.states).drop(columns="parameter").to_dict("records")
    about = {
        "n_known": int(truth.size),
        "temperature": temperature,
        "shift": dict(zip(part.states, shifts, strict=True)),
        "items": list(labels),
        "log_score_before": float(before.mean()),
        "log_score": float(after.mean()),
        "log_score_shares": float(shares.mean()),
    }
    return done, learnt, about | {"remarks": _remark(about, after - shares, part.dimension)}


def _describe(
    learnt: Recalibration, labels: Sequence[str], ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the table of the temperature and the shifts."""
    values = np.concatenate([learnt.temperature[:, None], learnt.shift], axis=1)[None]  # (1, draw, parameter)
    found = describe_draws(xr.DataArray(values, dims=("chain", "draw", "parameter")), ci_prob, ci_kind)
    names = ["temperature", *(f"shift[{label}]" for label in labels)]
    return pd.DataFrame({"parameter": pd.Series(names, dtype="str"), **found})


def _remark(about: Mapping[str, Any], gained: np.ndarray, dimension: str) -> list[str]:
    """Return remarks about a recalibration."""
    of, n = f" in {dimension}" if dimension else "", about["n_known"]
    if n < FEW:
        low, high, interval = find_bounds(about["temperature"])
        return [
            f"{counted(n, 'true label')}{of} {'is' if n == 1 else 'are'} known: the temperature is uncertain, "
            f"between {about['temperature'][low]:.3g} and {about['temperature'][high]:.3g} ({interval}); give {FEW} or "
            "more"
        ]
    if gained.mean() < ALMOST_NO_GAIN:
        return [
            f"the labels{of} carry {'no' if gained.mean() <= 0 else 'almost no'} information: their log score on known "
            f"items is {about['log_score']:.3f}, and the log score of label frequencies alone is "
            f"{about['log_score_shares']:.3f}"
        ]
    return []
