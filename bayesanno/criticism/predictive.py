"""Predictive checks: answers predicted by a model, fitted or not, against the observed answers.

The invariant: replicates are answers for the design of the data, with the same annotators and controls. The states of
the items are drawn given the parameters. Each draw of the parameters makes one replicate.

References
----------
A. Gelman, X.-L. Meng and H. Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies,
Statistica Sinica 6, 733-807.
G. E. P. Box (1980), Sampling and Bayes' inference in scientific modelling and robustness, Journal of the Royal
Statistical Society A 143(4), 383-430, doi:10.2307/2982063 (of the prior).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from bayesanno._core.intervals import CiKind, choose_interval
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, as_names, counted, nearest, show_rows
from bayesanno._core.validate import check_at_least, check_count, check_seed
from bayesanno.agreement.histograms import log_binomial_coefficients, measure_chi_square
from bayesanno.analysis.parameters import describe_draws, require_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import divide
from bayesanno.fits.view import FitView
from bayesanno.inference.log_likelihood import SAME, compute_log_likelihood
from bayesanno.modeling.item_types import ItemTypeModel
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.kinds.base import AnswerTable, Statistic, measure_distance
from bayesanno.modeling.posterior import compile_formula, take_draws
from bayesanno.simulation.quantities import ModelDraws, ask, draw_prior, replicate


def expected_by_type(drawn: ModelDraws) -> np.ndarray:
    """Return the expected number of items of each type with 0, 1, 2, ... successes under each draw, (draw, type, bin).

    All items have the same number of trials.
    """
    trials = int(drawn.data.trials[0])
    bins = np.arange(trials + 1)
    every = replace(drawn.data, items=tuple(map(str, bins)), successes=bins, trials=np.full_like(bins, trials))
    logs = np.array(list(compile_formula(*drawn._replace(data=every)).log_joint()))  # (draw, bin, type)
    joint = np.exp(logs.swapaxes(1, 2) + log_binomial_coefficients(trials))
    return drawn.data.n_items * joint / joint.sum(axis=(1, 2), keepdims=True)  # removes rounding errors


def expected_of_annotators(drawn: ModelDraws, *, items: np.ndarray, label: int) -> np.ndarray:
    """Return the expected number of items of each type with 0, 1, 2, ... answers of one label, under each draw.

    The model has annotators who answer independently given the type of the item. So the number of answers with the
    label is Poisson-binomial, with one probability for each annotator who answered.

    Parameters
    ----------
    items : array of int, shape (item,)
        The items, all with the same number of answers.
    label : int
        The label to count.

    Returns
    -------
    array, shape (draw, type, bin)
    """
    weight, rate = _find_rates(drawn, label)  # (draw, type), (draw, annotator, type)
    data: AnnotationData = drawn.data
    rows = np.isin(data.item, items)  # (annotation,)
    who = data.annotator[rows][np.argsort(data.item[rows], kind="stable")].reshape(items.size, -1)  # (item, answer)
    groups, n = np.unique(np.sort(who, axis=1), axis=0, return_counts=True)
    expected = np.zeros((*weight.shape, who.shape[1] + 1))
    for group, many in zip(groups, n, strict=True):
        chance = np.zeros_like(expected)  # the probability of each number of answers
        chance[..., 0] = 1
        for annotator in group:
            positive = rate[:, annotator, :, None]
            chance[..., 1:] = chance[..., 1:] * (1 - positive) + chance[..., :-1] * positive
            chance[..., :1] *= 1 - positive
        expected += many * chance
    return weight[:, :, None] * expected


def _find_rates(drawn: ModelDraws, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each type (draw, type), and how often annotators give the label (draw, annotator, type)."""
    who = np.arange(drawn.data.n_annotators)
    joint = np.array(list(ask(drawn, who[:, None])))  # (draw, annotator, response, type)
    weight = joint[:, 0].sum(axis=1)
    rate = divide(joint[:, :, label], weight[:, None])
    return weight, np.clip(np.nan_to_num(rate), 0, 1)


TOTAL, EACH = "total", "each"  # levels of rows
LEAST_REPLICATES = 20  # with fewer, no p-value could be below 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictiveCheck:
    """Statistics of the answers: predicted by a model, and observed.

    Parameters
    ----------
    table : DataFrame
        One row per number: `statistic`; `level`, "total" or "each"; `of`, the annotator, label or pair it belongs to
        (empty for totals); `observed`; `mean`, `eti89_lb` and `eti89_ub`, the mean and the middle 89% of the
        replicates; `p`. With several dimensions, `dimension` is the first column.

        Rows of the level "total" are about the statistic as a whole. If it consists of several numbers, the row has
        their joint distance from the predictions: the mean of squared distances in standard deviations of the
        replicates, or, for a histogram, the chi-square distance from each draw's expected histogram, averaged over
        draws. Then p is the share of replicates at least as far away. In the other rows p is two-sided: twice the
        smaller of the shares above and below, with equal values counted half. The observed value counts as one
        replicate, so p is never 0.
    replicated : array, shape (replicate, row)
        The values of the replicates in each row of the table.
    """

    table: pd.DataFrame
    replicated: np.ndarray

    def __repr__(self) -> str:
        """Return the statistics as a whole, without their parts."""
        whole = self.table.query(f"level == {TOTAL!r}").drop(columns=["level", "of"])
        return show_rows(f"PredictiveCheck of {counted(len(self.replicated), 'replicate')}", whole)


def predictive_check(
    fit: xr.DataTree | FitView,
    statistic: str | Sequence[str] | None = None,
    *,
    replicates: int = 500,
    prior: bool = False,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    random_seed: int | None = None,
) -> PredictiveCheck:
    """Compare statistics of the answers with those that a model predicts (Gelman, Meng and Stern 1996).

    Answers are drawn for the same design from the model's generative process, with parameters from evenly spaced draws
    of the fit. The states of all items (true labels, types) are drawn given these parameters. A small p means that a
    correct model would rarely give such answers. The data are used twice, to fit and to check, so the p of a correct
    model is closer to one half than uniform, especially for statistics that parameters are fitted to, such as label
    counts. Among many rows some are small by chance: look first at the rows of the level "total".

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    statistic : str or sequence of str, optional
        The statistics; by default all that the data have. For annotations:

        * `votes_per_item`: how many items have 0, 1, ... votes for a label ("3 x yes"; with two labels, for the last);
        * `unanimous`: the share of items on which all agree, among those with two or more annotations;
        * `label_counts`: how often each annotator gives each label (with two labels, the last);
        * `pair_agreement`: how often two annotators agree on items that both answered, for the 5,000 pairs with the
          most such items;
        * `rest_agreement`: how often the answers of others agree with an annotator's.

        "Unsure" answers are treated like other answers: two of them agree. For counts: `histogram` of the successes, if
        all items have the same number of trials; `positive_share` of all answers; `spread`, the standard deviation of
        the items' shares.
    replicates : int, default 500
        The number of replicates, at most the number of draws in the fit.
    prior : bool, default False
        Draw parameters from the prior in place of the fit (Box 1980): what the model expects before data. Values that a
        model takes from the data, such as pooled label frequencies, are kept.
    ci_prob, ci_kind
        As in `summary`.
    random_seed : int, optional

    Returns
    -------
    PredictiveCheck

    Raises
    ------
    FitError
        If a statistic is unknown, there are fewer than 20 replicates, or the fit is a point estimate.
    DataError
        If the data lack a requested statistic: no item has two annotations, or trials differ; if there is no such
        interval.

    Examples
    --------
    >>> import bayesanno as ba
    >>> how = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), **how)
    >>> check = ba.predictive_check(fit, ["unanimous", "rest_agreement"], random_seed=1)
    >>> check.table.query("level == 'total'")["statistic"].tolist()
    ['unanimous', 'rest_agreement']
    """
    check_seed(random_seed)
    check_at_least("replicates", replicates, LEAST_REPLICATES)
    choose_interval(ci_prob, ci_kind)  # refuses what is no interval
    view = view_for_table(fit, from_draws=True)
    if not prior:
        require_draws(view, "a predictive check")
    model, data, rng = view.model, view.data, np.random.default_rng(random_seed)
    tables = kind_of(model).tables(data)
    chosen = [choose_statistics(table, statistic) for table in tables]  # refused before anything is drawn
    draws = draw_prior(model, data, replicates, rng) if prior else take_draws(view.posterior, replicates)
    return check_draws(ModelDraws(model, data, draws, view.known), chosen, rng, ci_prob, ci_kind)


def add_predictions(
    fit: xr.DataTree | FitView, *, replicates: int = 500, random_seed: int | None = None
) -> xr.DataTree:
    """Return the fit with draws from its prior, and with answers that the prior and the posterior predict.

    ArviZ reads these groups: `plot_prior_posterior`, `plot_ppc_dist`, `plot_ppc_pit`, `bayes_factor` and others take
    the result as it is.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    replicates : int, default 500
        The number of draws from the prior and of predicted data sets; of the posterior no more than the fit has draws.
    random_seed : int, optional

    Returns
    -------
    xarray.DataTree
        A copy of the fit with the groups `prior`, the parameters (chain, draw, ...); `prior_predictive` and
        `posterior_predictive`, the answers as codes with the name and dimensions of `observed_data`, after chain and
        draw. There is one chain. States of items are drawn again for each data set, as in `predictive_check`.

    Raises
    ------
    FitError
        If the fit is one point, or holds no data.

    Examples
    --------
    >>> import bayesanno as ba
    >>> how = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), **how)
    >>> whole = ba.add_predictions(fit, replicates=50, random_seed=1)
    >>> dict(whole["posterior_predictive"].sizes)
    {'chain': 1, 'draw': 50, 'annotation': 1583}
    """
    check_seed(random_seed)
    check_count("replicates", replicates)
    view = view_for_table(fit, from_draws=True)
    require_draws(view, "posterior predictions")
    rng, whole = np.random.default_rng(random_seed), view.tree.copy()
    observed = kind_of(view.model).observed
    dims = ("chain", "draw", *whole["observed_data"][observed].dims)
    prior = draw_prior(view.model, view.data, replicates, rng).assign_coords(chain=[0], draw=np.arange(replicates))
    shared = {name: values for name, values in view.posterior.coords.items() if name not in ("chain", "draw")}
    whole["prior"] = xr.DataTree(prior.assign_coords(shared))
    for group, draws in {"prior": prior, "posterior": take_draws(view.posterior, replicates)}.items():
        answers = np.array([one for one, _ in replicate(ModelDraws(view.model, view.data, draws, view.known), rng)])
        coords = {"chain": [0], "draw": np.arange(len(answers))}
        whole[f"{group}_predictive"] = xr.DataTree(xr.Dataset({observed: (dims, answers[None])}, coords=coords))
    return whole


def item_predictions(fit: xr.DataTree | FitView, *, random_seed: int | None = None) -> xr.DataTree:
    """Return one predicted number per draw and item, with the log likelihoods of items, for leave-one-out PIT.

    A fit's log likelihoods are of items, and an item may have many answers. ArviZ's `loo_pit` and `plot_loo_pit` need
    one number per item: how many answers the item's most frequent label got, the successes of an item of counts, or the
    mean of an item's ratings. A PIT of single labels would depend on their order, which most labels do not have.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit with draws, of annotations with one dimension, of counts or of ratings.
    random_seed : int, optional

    Returns
    -------
    xarray.DataTree
        The groups `posterior`, as in the fit; `observed_data`, with `most_votes`, `successes` or `mean_rating`,
        (item,); `posterior_predictive`, the same for every draw, (chain, draw, item); `log_likelihood`, under the same
        name. Items with the same likelihood in every draw, such as those without answers, are left out.

    Raises
    ------
    FitError
        If the fit is one point, holds no data, or all its items have the same likelihood in every draw.
    DataError
        If the fit has several dimensions.

    Examples
    --------
    >>> import arviz_stats
    >>> import bayesanno as ba
    >>> how = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), **how)
    >>> arviz_stats.loo_pit(ba.criticism.item_predictions(fit, random_seed=1))["most_votes"].sizes
    Frozen({'item': 300})
    """
    check_seed(random_seed)
    view = view_for_table(fit, from_draws=True)
    require_draws(view, "predictions of items")
    data, kind, rng = view.data, kind_of(view.model), np.random.default_rng(random_seed)
    name, measure = kind.item_statistic(data)
    log_likelihood = compute_log_likelihood(view)["log_likelihood"].to_dataset()[kind.observed]
    drawn = ModelDraws(view.model, data, view.posterior, view.known)
    predicted = np.array([measure(answers) for answers, _ in replicate(drawn, rng)])
    observed = measure(view.tree["observed_data"].to_dataset()[kind.observed].values)
    groups = {
        "log_likelihood": log_likelihood,
        "posterior_predictive": log_likelihood.copy(data=predicted.reshape(log_likelihood.shape)),
        "observed_data": log_likelihood.isel(chain=0, draw=0, drop=True).copy(data=observed),
    }
    varies = np.ptp(log_likelihood.values, axis=(0, 1)) > SAME  # (item,)
    if not varies.any():
        raise FitError("every item has the same likelihood in all draws, so there is nothing to leave out")
    named = {group: values.isel(item=varies).to_dataset(name=name) for group, values in groups.items()}
    return xr.DataTree.from_dict({"posterior": view.posterior, **named})


def check_draws(
    drawn: ModelDraws,
    chosen: Sequence[Mapping[str, Statistic]],
    rng: np.random.Generator,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
) -> PredictiveCheck:
    """Compare data with one replicate for each draw of the parameters, dims (chain, draw, ...).

    Parameters
    ----------
    chosen : sequence of mapping of name to Statistic
        The statistics for each table of the data.
    """
    kind = kind_of(drawn.model)
    observed = kind.arrays(drawn.data, kind.find_patterns(drawn.data, collapse=False))[kind.values].values
    asked = [
        (table, name, one)
        for table, statistics in zip(kind.tables(drawn.data), chosen, strict=True)
        for name, one in statistics.items()
    ]
    measured = [
        [one.measure(answers[table.own]) for table, _, one in asked]
        for answers, _ in chain([(observed, None)], replicate(drawn, rng))
    ]
    parts, every = [], []
    for (table, name, one), values in zip(asked, zip(*measured, strict=True), strict=True):
        seen, replicated = np.asarray(values[0], dtype=float), np.array(values[1:], dtype=float)  # (replicate, of)
        rows = _tabulate(one, seen, replicated)
        if rows["level"].iloc[0] == EACH:
            if isinstance(drawn.model, ItemTypeModel) and name == table.votes:
                expected = expected_by_type(drawn).sum(axis=1)  # (draw, bin)
                far = measure_chi_square(seen, expected), measure_chi_square(replicated, expected)
            else:
                far = measure_distance(seen, replicated, by_largest=one.by_largest)
            rows = pd.concat([_tabulate_whole(*far), rows])
            replicated = np.column_stack([far[1], replicated])
        rows.insert(0, "statistic", name)
        if table.dimension:
            rows.insert(0, "dimension", table.dimension)
        parts.append(rows)
        every.append(replicated)
    whole, replicated = pd.concat(parts, ignore_index=True), np.concatenate(every, axis=1)
    described = describe_draws(xr.DataArray(replicated[None], dims=("chain", "draw", "row")), ci_prob, ci_kind)
    whole = whole.assign(**{what: found for what, found in described.items() if what != "sd"}, p=whole.pop("p"))
    return PredictiveCheck(table=whole, replicated=replicated)


def choose_statistics(table: AnswerTable, asked: str | Sequence[str] | None) -> dict[str, Statistic]:
    """Return the requested statistics of a table, or all that it has, by name.

    Raises
    ------
    FitError
        If a statistic is unknown.
    DataError
        If the data lack a requested statistic.
    """
    if asked is None:
        found = {}
        for name, make in table.statistics.items():
            with suppress(DataError):  # the data lack it, and it was not requested
                found[name] = make(table.data)
        return found
    names = as_names(asked)
    for name in names:
        if name not in table.statistics:
            hint = nearest(name, list(table.statistics))
            raise FitError(f"there is no statistic {name!r}: choose from {', '.join(table.statistics)}{hint}")
    if not names:
        raise FitError(f"statistic is empty: choose from {', '.join(table.statistics)}")
    return {name: table.statistics[name](table.data) for name in names}


def _tabulate(statistic: Statistic, observed: np.ndarray, replicated: np.ndarray) -> pd.DataFrame:
    """Return rows of single numbers, with two-sided p-values."""
    n = len(replicated)
    equal = (replicated == observed).sum(axis=0) + 1  # the observed one among them
    above = ((replicated > observed).sum(axis=0) + equal / 2) / (n + 1)
    level, of = EACH if any(statistic.of) else TOTAL, pd.Series(list(statistic.of), dtype="str")
    return pd.DataFrame({"level": level, "of": of, "observed": observed, "p": 2 * np.minimum(above, 1 - above)})


def _tabulate_whole(observed: np.ndarray, replicated: np.ndarray) -> pd.DataFrame:
    """Return the row of a statistic as a whole, from the distances of the observed values and of replicates."""
    p = ((replicated >= observed).sum() + 1) / (len(replicated) + 1)
    return pd.DataFrame({"level": TOTAL, "of": [""], "observed": observed.mean(), "p": p}).astype({"of": "str"})
