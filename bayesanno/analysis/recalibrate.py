"""Recalibration of a fit's labels with a few known ones: calibrated probabilities when annotators err together.

Priors.  The temperature has no natural scale: it is 2 for one crowd and 200 for another. The log odds after scaling
have one. With s the root mean square of L_ik - (its mean over k), which is known without any true label,

    s / T    ~ LogNormal(log 2, 1.25)   so that 94% of it is in 0.2 to 21
    T        ~ LogNormal(0, 0.6)        instead, where labels were tempered before
    shift_k  ~ Normal(0, 0.7)           a label is from a quarter of to 4 times as frequent as it seems

Of labels that were adjusted with the weight b, mean and standard deviation of log T are b of the way from the first
prior to the second.

Computation.  log T has a grid over the region with posterior mass, with or without any one of the known labels. At each
of its values, shifts are approximated by a normal distribution at their mode (the log density is concave), on points
that are spread evenly in every direction. Each point is weighted by the posterior density over that approximation, so
that its error does not matter. Only K - 1 directions of the shifts count: a constant added to all has no effect. On
four tables, with 20 to 200 labels, probabilities are within .002 of those by dense quadrature.

The invariant: nothing is random, and nothing is exponentiated before it is normalised. The probabilities of an item
with a known true label do not use that label.

The invariant: true labels change the label probabilities, never the parameters. The probabilities of an item with a
known label do not depend on that label, so scores against the known labels are cross-validated.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import numpy as np

from bayesanno._core.intervals import CiKind
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, listed, spell
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import split_dimensions
from bayesanno.fits.storage import groups_by_dimension, is_on_dask, read_by_dimension
from bayesanno.fits.view import (
    ADJUSTMENT,
    LABELS,
    RECALIBRATION,
    FitPart,
    FitView,
    concat_parts,
    is_given,
    label_groups,
    log_label_posterior,
    parts_of,
    with_posterior,
)
from bayesanno.inference.diagnosis.findings import refresh_findings
from bayesanno.inference.tempering import (
    Tempering,
    adjusted_parts,
    count_answers,
    find_odds,
    log_probabilities,
    measure_logs,
    store,
    temperings_of,
)
from bayesanno.io.beside import read_known, understand_winners
from bayesanno.modeling.arguments import PROBABILITY, require_latents
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.posterior import average_logs, compile_formula, draw_codes

SIZE_PRIOR = (-float(np.log(2.0)), 1.25)  # mean and standard deviation of log(T / s)
TEMPERED_PRIOR = (0.0, 0.6)  # of log T, if labels were tempered before
N_DRAWS = 2000
SHIFT_SD = 0.7
N_TEMPERATURES = 48
N_SHIFTS = 128  # points at each temperature
WIDEST = 5.0  # standard deviations of the prior of log T
REGION = 9.0  # nats below the highest density
WIDER = 1.25  # than the normal approximation, whose tails are too short
N_STEPS = 50  # of Newton's method, which takes five to ten
STRIDE = 617  # coprime to the number of draws, so that neighbouring draws have distant temperatures
CHUNK_BYTES = 64 * 2**20  # memory for probabilities over points at a time


def learn_tempering(
    logs: np.ndarray, known: np.ndarray, truth: np.ndarray, *, tempered: float
) -> tuple[Tempering, np.ndarray]:
    """Make the recalibration of log probabilities by true labels of known items.

    Parameters
    ----------
    logs : array, shape (item, label)
        Of all items that were no controls; they tell the scale of log odds.
    known : array, shape (known, label)
        Of the items with known labels.
    truth : array of int, shape (known,)
    tempered : float
        b, the weight with which labels were tempered before.

    Returns
    -------
    Tempering, and array of shape (known, label)
        The log probabilities of the known items, each without its own true label.
    """
    log_share, least, size = measure_logs(logs)
    odds = find_odds(known, log_share, least)
    wide = np.array([np.log(size) + SIZE_PRIOR[0], SIZE_PRIOR[1]])
    mean, sd = (1 - tempered) * wide + tempered * np.array(TEMPERED_PRIOR)
    points = find_posterior(odds, log_share, truth, (float(mean), float(sd)))
    temperature, shift = points.draw(N_DRAWS)
    found = Tempering(temperature, np.zeros(N_DRAWS), shift, log_share, least, weight=1.0, vote_weight=0.0)
    return found, points.leave_each_out(odds, log_share, truth)


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """The posterior of temperature and shifts.

    Attributes
    ----------
    temperature : array, shape (point,)
        Nearly in ascending order.
    shift : array, shape (point, label)
    log_weight : array, shape (point,)
        The weights add up to 1.
    """

    temperature: np.ndarray
    shift: np.ndarray
    log_weight: np.ndarray

    def draw(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n temperatures and their shifts without weights, evenly spaced (systematic resampling), mixed."""
        steps = (np.arange(n) * STRIDE % n + 0.5) / n  # each once
        chosen = np.searchsorted(np.exp(self.log_weight).cumsum(), steps).clip(max=self.log_weight.size - 1)
        return self.temperature[chosen], self.shift[chosen]

    def leave_each_out(self, odds: np.ndarray, centre: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the log probabilities (known, label) of known items, each without its own true label.

        Weights are divided by the probability of that label.
        """
        found = []
        for rows in _chunks(self.log_weight.size * centre.size, truth.size):
            each = log_probabilities(self.temperature[:, None], self.shift, centre, odds[rows])  # (point, known, label)
            found.append(average_logs(each, self.log_weight[:, None] - each[:, np.arange(rows.size), truth[rows]]))
        return np.concatenate(found)


def find_posterior(
    odds: np.ndarray, centre: np.ndarray, truth: np.ndarray, prior: tuple[float, float]
) -> WeightedPoints:
    """Find the posterior of temperature and shifts.

    Parameters
    ----------
    odds : array, shape (known, label)
        L - c of the items with known labels.
    centre : array, shape (label,)
        c.
    truth : array of int, shape (known,)
    prior : (float, float)
        Mean and standard deviation of log T.
    """
    directions = np.linalg.svd(np.ones((1, centre.size)))[2][1:]  # (direction, label), orthogonal to a constant
    own = np.arange(truth.size)
    z = np.linspace(-WIDEST, WIDEST, N_TEMPERATURES)  # of log T, in standard deviations of its prior
    for _ in range(2):
        mode, log_p, hessian = _find_modes(np.exp(prior[0] + prior[1] * z), odds, centre, truth, directions)
        log_mass = -(z**2) / 2 - (mode**2).sum(axis=1) / SHIFT_SD**2 / 2 - np.linalg.slogdet(hessian)[1] / 2
        each = log_p[:, own, truth]  # (temperature, known)
        log_mass = (log_mass + each.sum(axis=1))[:, None] - np.pad(each, ((0, 0), (0, 1)))  # without each, and with all
        inside = np.flatnonzero((log_mass > log_mass.max(axis=0) - REGION).any(axis=1))
        z = np.linspace(z[max(inside[0] - 1, 0)], z[min(inside[-1] + 1, z.size - 1)], z.size)
    mode, _, hessian = _find_modes(np.exp(prior[0] + prior[1] * z), odds, centre, truth, directions)
    root = WIDER * np.linalg.cholesky(np.linalg.inv(hessian))  # (temperature, direction, direction)
    spread, offset = _spread_points(len(directions))
    shift = ((mode[:, None] + spread @ root.swapaxes(1, 2)) @ directions).reshape(-1, centre.size)  # (point, label)
    z = (z[:, None] + (z[1] - z[0]) * offset).ravel()
    temperature = np.exp(prior[0] + prior[1] * z)  # (point,)
    log_approximation = np.linalg.slogdet(hessian)[1][:, None] / 2 - (spread**2).sum(axis=1) / 2
    log_weight = -(z**2) / 2 - (shift**2).sum(axis=1) / SHIFT_SD**2 / 2 - log_approximation.ravel()
    for rows in _chunks(shift.size, truth.size):
        logs = log_probabilities(temperature[:, None], shift, centre, odds[rows])  # (point, known, label)
        log_weight += logs[:, own[: rows.size], truth[rows]].sum(axis=1)
    return WeightedPoints(temperature, shift, log_weight - np.logaddexp.reduce(log_weight))


def _find_modes(
    temperature: np.ndarray, odds: np.ndarray, centre: np.ndarray, truth: np.ndarray, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, at each temperature, the mode of the shifts, the log probabilities, and minus the second derivatives."""
    counts = np.bincount(truth, minlength=centre.size)
    at = np.zeros((temperature.size, len(directions)))
    for _ in range(N_STEPS):
        log_p = log_probabilities(temperature[:, None], at @ directions, centre, odds)  # (temperature, known, label)
        p = np.exp(log_p)
        own, total = p @ directions.T, p.sum(axis=1)  # (temperature, known, direction), (temperature, label)
        slope = (total - counts) @ directions.T + at / SHIFT_SD**2
        curvature = (directions * total[:, None, :]) @ directions.T - own.swapaxes(1, 2) @ own
        hessian = curvature + np.eye(len(directions)) / SHIFT_SD**2
        step = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        decrement = np.sqrt((step * slope).sum(axis=1, keepdims=True).clip(0))
        at -= step / (1 + decrement)  # damped, so that no step is too long
        if decrement.max() < 1e-6:
            break
    return at, log_p, hessian


def _spread_points(n_directions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normal points (point, direction), ascending in the first, and offsets in a cell of the grid."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    n_half = N_SHIFTS // 2
    z = ndtri(Sobol(n_directions, scramble=False).random(n_half) + 0.5 / n_half)
    z = np.concatenate([z, -z])
    return z[np.argsort(z[:, 0])], np.arange(N_SHIFTS) * (np.sqrt(5) - 1) / 2 % 1 - 0.5


def _chunks(n_numbers: int, n_known: int) -> list[np.ndarray]:
    """Return the known items in parts that fit into memory, with this number of numbers for each."""
    return np.array_split(np.arange(n_known), min(n_known, 1 + 8 * n_numbers * n_known // CHUNK_BYTES))


def draw_labels(view: FitView, part: FitPart, rng: np.random.Generator) -> xr.DataArray:
    """Draw every item's label once per posterior draw of the parameters: indices of labels, dims (chain, draw, item).

    Draws come from the model's posterior, or from `each_posterior` if the fit was adjusted or recalibrated.
    """
    if part.labels is None:
        return compile_formula(view.model, view.data, view.posterior, view.known).draw_states(part.dimension, rng)
    sizes = [view.posterior.sizes[dim] for dim in ("chain", "draw")]
    drawn = [draw_codes(np.exp(logs), rng) for logs, *_ in each_posterior(view, part, sizes[0] * sizes[1], rng)]
    coords = {"chain": view.posterior["chain"], "draw": view.posterior["draw"], "item": list(part.data.items)}
    name = str(part.latent[PROBABILITY].dims[1])
    return xr.DataArray(np.reshape(drawn, (*sizes, -1)), dims=tuple(coords), coords=coords, name=name)


def each_posterior(
    view: FitView, part: FitPart, n: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, bool, np.ndarray]]:
    """Yield n draws of the log posterior of labels (item, label), whether it is the model's, and which are votes.

    In a recalibrated fit, each draw has one temperature and its shifts for all items but the known ones, which have
    their own posteriors, computed without their true label. In an adjusted fit, each draw of an item is the model's
    own, one tempered for a correlation, or the vote, in proportion to their weights. If n is more than the number of
    posterior draws, these are used again and again.
    """
    before, kept = part.of_model, is_given(part)
    tempering = temperings_of(view, ADJUSTMENT).get(part.dimension)
    if view.yields == "point":  # evaluated once for all
        each: Iterable[np.ndarray] = repeat(next(_draw_own(view, before)), n)
    else:
        each = islice(_draw_own(view, before), n)
    if recalibration := temperings_of(view, RECALIBRATION).get(part.dimension):
        kept |= np.isin(part.data.items, known_items(view, part.dimension))
        before, tempering = adjusted_parts(view)[part.dimension], recalibration
        each = repeat(log_label_posterior(before), n)
    if tempering is None:
        yield from ((logs, True, np.zeros(len(logs), dtype=bool)) for logs in each)
        return
    own = log_label_posterior(part if recalibration else before)
    answers = count_answers(view, before, tempering)
    for logs, is_own, votes in tempering.draw(each, log_label_posterior(before), answers, rng):
        yield np.where(kept[:, None], own, logs), is_own, votes & ~kept


def _draw_own(view: FitView, part: FitPart) -> Iterator[np.ndarray]:
    """Yield the model's log posterior of labels (item, label) in each draw, chain after chain, again and again."""
    formula = compile_formula(view.model, view.data, view.posterior, view.known)
    while True:
        for one in formula.evaluate():
            yield log_label_posterior(part, one.log_probability[part.dimension][formula.patterns.of_item])


def view_before(view: FitView) -> FitView:
    """Return a recalibrated fit as it was before recalibration, with its present gold."""
    tree = view.tree.copy()
    del tree[LABELS], tree[RECALIBRATION]
    del tree.attrs[RECALIBRATION]
    for path, group in label_groups([*adjusted_parts(view).values()]).items():
        tree[path] = xr.DataTree(group)
    return FitView(tree)


def known_items(view: FitView, dimension: str) -> list[str]:
    """Return the items with the true labels that a recalibration used."""
    return [str(item) for item in read_by_dimension(view.tree, RECALIBRATION)[dimension]["known_item"].values]


def recalibrate(fit: xr.DataTree | FitView, gold: Any = None) -> xr.DataTree:
    """Recalibrate the labels of a fit with the true labels of a few items, which the fit has not used.

    Models assume that annotators' errors are independent given the true label. When annotators err together, labels are
    overconfident, by much the same factor in the log odds of all items. The correction is temperature scaling (Guo et
    al. 2017) with a shift for each label (Platt 1999). With p_i(k) the fit's probability of label k and m_k its mean
    over items,

        recalibrated p_i(k)  ~  m_k (p_i(k) / m_k)^(1 / T) exp(shift_k)

    p_i is the probability that the tables of the fit have: the model's, or the adjusted one (`adjust`). The prior of T
    is wide, and where labels were adjusted for correlated errors it has median 1, so that fewer true labels are needed.

    The temperature T and the shifts have a posterior (`bayesanno.analysis.recalibrate` has the priors), over which
    the probabilities are averaged: with 20 true labels the answers are wide, but not wrong. The probabilities of items
    with known labels are computed without their own label (leave-one-out). So `coverage_table`, `calibration_table`,
    `compare` and the accuracy in run.json are cross-validated where they use these labels.

    All results for labels are recalibrated: `label_table`, `coverage_table`, `decide_labels`, `sample_labels`,
    `predict_labels` of new items, `write_labels`, `write_report`. Parameters, annotators and other results for items
    (difficulty, spam) do not change.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit by any method to annotations in memory. If it was recalibrated before, it starts from the labels before.
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
        labels alone).

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
        If the known labels show no need to recalibrate, fewer than 20 are known, or labels carry almost nothing beyond
        their frequencies.
    MisfitWarning
        If recalibrated labels still contradict known ones, or make more errors than the vote, unless the fit said so.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods, in: Advances in Large Margin Classifiers, MIT Press, pages 61-74.
    C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks, ICML, pages
    1321-1330, arXiv:1706.04599.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd").to_frame()
    >>> known = data.drop_duplicates("item").set_index("item")["gold"].head(60)
    >>> answers = ba.read_annotations(data.drop(columns="gold"))
    >>> fast = {"method": "em", "method_options": {"restarts": 1}, "check": False, "progressbar": False}
    >>> fit = ba.fit("model_b", answers, random_seed=1, **fast)
    >>> table = ba.recalibration_table(ba.recalibrate(fit, known)).set_index("parameter")
    >>> bool(table.loc["temperature", "eti89_lb"] > 1)  # one point is overconfident
    True
    """
    view = view_for_table(fit)
    if is_on_dask(view.tree):
        raise FitError("this fit was made on Dask and holds no items to recalibrate: fit annotations in memory")
    known = check_gold(view.model, view.data, gold)
    parts, adjustments, learnt, found = adjusted_parts(view), temperings_of(view, ADJUSTMENT), {}, {}
    for dimension, labels in known.items():
        part, tempered = parts[dimension], adjustments[dimension].weight if dimension in adjustments else 0.0
        before = log_label_posterior(part)
        rows = np.flatnonzero(np.isin(part.data.items, list(labels)))
        truth = np.array([part.states.index(label) for label in labels.values()])
        tempering, left_out = learn_tempering(before[~is_given(part)], before[rows], truth, tempered=float(tempered))
        after = tempering.average(before)
        after[rows] = left_out
        parts[dimension] = with_posterior(part, after)
        learnt[dimension] = store(part, tempering, RECALIBRATION, known_item=list(labels))
        scored = np.maximum(before[rows, truth], tempering.least), left_out[np.arange(truth.size), truth]
        found[dimension] = _describe_scores(part, tempering, labels, *scored)
    whole = view.tree.copy()
    whole["constant_data"] = xr.DataTree(_with_gold(view.tree["constant_data"].to_dataset(), known))
    for name in (LABELS, RECALIBRATION):
        whole[name] = xr.DataTree()  # replaces the old group with all its dimensions
    for path, group in (label_groups([*parts.values()]) | groups_by_dimension(RECALIBRATION, learnt)).items():
        whole[path] = xr.DataTree(group)
    whole.attrs = dict(view.tree.attrs) | {RECALIBRATION: json.dumps(found)}
    refresh_findings(whole, view)
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
    if not view.is_recalibrated:
        raise FitError("this fit was not recalibrated: use recalibrate(fit, gold) with some known labels")
    learnt = temperings_of(view, RECALIBRATION)
    parts = [part for part in parts_of(view) if part.dimension in learnt]
    return concat_parts(parts, lambda part: _describe(learnt[part.dimension], part.states, ci_prob, ci_kind))


def about_recalibration(view: FitView) -> dict[str, dict[str, Any]]:
    """Return the attribute `recalibration` of a fit, by dimension; empty if it was not recalibrated."""
    return json.loads(view.tree.attrs.get(RECALIBRATION, "{}"))


# ---------------------------------------------------------------------------------------------- the known labels


def check_gold(model: AnnotationModel, data: Any, gold: Any) -> dict[str, dict[str, str]]:
    """Return the known labels by dimension (item -> label), in the order of the data and without controls.

    Raises
    ------
    DataError, DataFileError, FitError
        As for `recalibrate`; all its errors about the known labels are raised here.
    """
    require_latents(model, data, "labels", "recalibrate")
    tables = split_dimensions(data)
    if gold is None:
        gold = {name: table.gold for name, table in tables.items()}
    elif "" in tables:
        gold = {"": gold}
    elif not isinstance(gold, Mapping) or not set(map(str, gold)) <= set(tables):
        names = list(tables)
        raise DataError(f"this fit has dimensions {listed(names)}: give gold by dimension, as in {{{names[0]!r}: ...}}")
    found: dict[str, dict[str, str]] = {}
    for name, one in gold.items():
        table, labels = tables[str(name)], read_gold(tables[str(name)], one)
        free = {item: labels[item] for item in table.items if item in labels and item not in table.controls}
        found |= {str(name): free} if free else {}
    if not found:
        raise FitError(
            "no true label is known, apart from controls, which the fit has used: give "
            f"{spell('gold, a mapping of item to label or a file', '--gold FILE')} with columns item and gold"
        )
    return found


def read_gold(data: AnnotationData, gold: Any) -> dict[str, str]:
    """Return the known labels by item, from a mapping, Series, DataFrame or file, or raise a DataError."""
    if isinstance(gold, Mapping | pd.Series):
        labels = pd.Series(gold, dtype=object).dropna()
        gold = pd.DataFrame({"item": labels.index.astype(str), "gold": labels.astype(str).to_numpy()}, dtype=object)
        if gold.empty:
            return {}
    elif not isinstance(gold, str | os.PathLike | pd.DataFrame):
        raise DataError(
            f"gold is of type {type(gold).__name__}: give a mapping of item to label, a Series, a DataFrame or a file"
        )
    if not data.has_systems:
        return read_known(gold, ("gold", "label"), data.items, data.classes)
    return understand_winners(data, read_known(gold, ("gold", "label"), data.items, None), "gold")


def _with_gold(constant: xr.Dataset, known: Mapping[str, Mapping[str, str]]) -> xr.Dataset:
    """Return the known values of items with these true labels in place of the old ones."""
    gold = constant["gold"].astype(object)  # (item,) or (dimension, item), of labels of any length
    for dimension, labels in known.items():
        own = gold.sel(dimension=dimension) if dimension else gold  # a view, not a copy
        own.loc[{"item": list(labels)}] = list(labels.values())
    return constant.assign(gold=gold.astype(str))


# -------------------------------------------------------------------------------------------- what they say


def score_shares(truth: np.ndarray, n_labels: int) -> np.ndarray:
    """Return the log probabilities of true labels from the shares of the other labels alone, with 1 added to counts.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.analysis.recalibrate import score_shares
    >>> np.exp(score_shares(np.array([0, 0, 1]), 2)).tolist()
    [0.5, 0.5, 0.25]
    """
    counts = np.bincount(truth, minlength=n_labels)
    return np.log(counts[truth] / (truth.size - 1 + n_labels))


def _describe_scores(
    part: FitPart, tempering: Tempering, known: Mapping[str, str], before: np.ndarray, after: np.ndarray
) -> dict[str, Any]:
    """Return the attribute `recalibration` of a part, from the log probabilities of true labels before and after."""
    temperature, *shifts = _describe(tempering, part.states).drop(columns="parameter").to_dict("records")
    shares = score_shares(np.array([part.states.index(label) for label in known.values()]), len(part.states))
    return {
        "n_known": len(known),
        "temperature": temperature,
        "shift": dict(zip(part.states, shifts, strict=True)),
        "items": list(known),
        "log_score_before": float(before.mean()),
        "log_score": float(after.mean()),
        "log_score_shares": float(shares.mean()),
    }


def _describe(
    learnt: Tempering, labels: Sequence[str], ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the table of the temperature and the shifts."""
    values = np.concatenate([learnt.temperature[:, None], learnt.shift], axis=1)[None]  # (1, draw, parameter)
    found = describe_draws(xr.DataArray(values, dims=("chain", "draw", "parameter")), ci_prob, ci_kind)
    names = ["temperature", *(f"shift[{label}]" for label in labels)]
    return pd.DataFrame({"parameter": pd.Series(names, dtype="str"), **found})
