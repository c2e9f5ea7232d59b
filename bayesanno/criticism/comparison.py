"""Comparison of fits of the same data: their predictions, and scores of their labels if true labels are known.

The invariant: every log-likelihood is that of an item's answers in their order, with the latent summed out, and never
includes the binomial coefficients of a histogram. So all models of the same data are comparable. Values that cannot be
computed are nan; notes name values that are not reliable.

References
----------
A. Vehtari, A. Gelman and J. Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and
WAIC, Statistics and Computing 27, 1413-1432, doi:10.1007/s11222-016-9696-4.
Y. Yao, A. Vehtari, D. Simpson and A. Gelman (2018), Using stacking to average Bayesian predictive distributions,
Bayesian Analysis 13(3), 917-1007, doi:10.1214/17-BA1091.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from bayesanno._core.lazy import azs, pd, xr
from bayesanno._core.messages import DataError, FitError, counted
from bayesanno._core.validate import check_at_least, check_seed
from bayesanno.analysis.views import view_for_table
from bayesanno.criticism.calibration import BINS, predict_all, tabulate_scores
from bayesanno.criticism.predictive import predictive_check
from bayesanno.fits.storage import is_tree
from bayesanno.fits.view import FitView, parts_of
from bayesanno.graph.functions import unconstrain
from bayesanno.inference.diagnosis.thresholds import MAX_RHAT
from bayesanno.inference.log_likelihood import count_high, leave_one_out
from bayesanno.inference.modes.bridge import LogIntegral, estimate_log_integral
from bayesanno.inference.modes.search import compile_model
from bayesanno.modeling.class_prior import weights_of
from bayesanno.modeling.item_types import ItemTypeModel


def compare(
    fits: Mapping[str, xr.DataTree | FitView], *, bins: int = BINS, random_seed: int | None = None
) -> pd.DataFrame:
    """Compare fits of the same data by their predictions of left-out items, and against gold.

    Parameters
    ----------
    fits : mapping of name to xarray.DataTree or FitView
        Two or more fits of the same data: of different models, of one model with different fields (such as the number
        of item types), or by different methods.
    bins : int, default 10
        Number of bins for the calibration error, as in `calibration_table`.
    random_seed : int, optional
        For counts only: the seed of the marginal likelihood and the predictive check.

    Returns
    -------
    pandas.DataFrame
        One row per fit, the best by `elpd_loo` first.

        - `name`, `model` and `method`; for counts also `types`, the number of item types.
        - `elpd_loo`, `se`, `p_loo`: PSIS-LOO over items, with each item's latent summed out; log-likelihoods are those
          of the answers in their order. If an item has the same likelihood in every draw, such as an item without
          answers, that value is used, with a Pareto k of -inf. VB and ADVI are approximations, often too narrow, and
          elpd_loo is then too high: do not compare it with that of a fit by NUTS.
        - `max_pareto_k` and `n_high_pareto_k`, the number of items with a Pareto k above ArviZ's threshold, `good_k`,
          which make elpd_loo unreliable. With S draws it is min(1 - 1/log10(S), 0.7).
        - `elpd_diff`, `se_diff`: the difference from the best elpd_loo, and its standard error.
        - `weight`: the stacking weight, from the mixture of all fits that predicts best.
        - With gold, in models of labels: `n_gold` items, `accuracy`, `log_score`, `brier` and `calibration_error`, as
          in `calibration_scores`, of the probabilities in the tables of each fit. These are the model's, unless the fit
          was adjusted or recalibrated.
        - For counts: `log_marginal` and `se_log_marginal`, the log marginal likelihood of the answers in their order by
          bridge sampling, which depends on the priors (nan if R-hat is above 1.01 or draws do not suffice); `p_model`,
          the posterior probability of the row under equal prior odds, nan unless every row has a marginal likelihood;
          `p_predictive`, the p-value of the histogram in `predictive_check`.
        - `note`: why a value is nan or not reliable.

    Raises
    ------
    FitError
        If there are fewer than two fits, they are of different data or have different gold, two are the same, one is a
        point estimate (by EM) or has no log_likelihood, or the seed is invalid.
    DataError
        If `bins` is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.simulation.simulate_pool(good=5, adverse=1, per_item=4, random_seed=1)
    >>> settings = {"method": "vb", "random_seed": 1, "progressbar": False}
    >>> table = ba.compare({name: ba.fit(name, data, **settings) for name in ("model_b", "one_coin")})
    >>> table["name"].tolist()
    ['one_coin', 'model_b']
    """
    check_seed(random_seed)
    check_at_least("bins", bins, 1, DataError)
    views = _check_fits(fits)
    gold = _find_gold(views)
    elpds = {name: _leave_one_out(name, view) for name, view in views.items()}
    beside = _compare_elpds(elpds)
    rows = []
    for name, view in views.items():
        elpd, notes = elpds[name], []
        high = count_high(elpd)
        if high:
            notes.append(f"elpd_loo: {counted(high, 'item')} with a Pareto k above {elpd.good_k:.2g}")
        if view.yields == "approximation":
            notes.append(f"elpd_loo: by {view.tree.attrs['method']}, an approximation; if too narrow, it is too high")
        is_of_counts = isinstance(view.model, ItemTypeModel)
        types = {"types": len(view.model.states(view.data))} if is_of_counts else {}
        row: dict[str, Any] = {"name": name, "model": view.model.name, **types, "method": view.tree.attrs["method"]}
        row |= {"elpd_loo": float(elpd.elpd), "se": float(elpd.se), "p_loo": float(elpd.p)}
        row |= {"max_pareto_k": float(elpd.pareto_k.max()), "n_high_pareto_k": high}
        row |= beside[name]
        predicted = predict_all(view, gold) if gold else None
        if predicted is not None:
            scores = tabulate_scores(predicted, bins, 0.95, 0, None)
            row |= {"n_gold": predicted.right.size} | dict(zip(scores["score"], scores["value"], strict=True))
        if is_of_counts:
            row |= _describe_counts(view, notes, random_seed)
        rows.append(row | {"note": "; ".join(notes)})
    table = pd.DataFrame(rows)
    if "log_marginal" in table:
        _weigh_marginals(table)
    return table.sort_values("elpd_loo", ascending=False, kind="stable", ignore_index=True)


def _check_fits(fits: Mapping[str, xr.DataTree | FitView]) -> dict[str, FitView]:
    if is_tree(fits) or not isinstance(fits, Mapping):
        raise FitError(f"fits is of type {type(fits).__name__}: give the fits by name, as in {{'mace': fit, ...}}")
    if len(fits) < 2:
        raise FitError(f"fits has {counted(len(fits), 'fit')}: there must be two or more to compare")
    views = {str(name): view_for_table(fit) for name, fit in fits.items()}
    (first, one), *others = views.items()
    for name, view in others:
        if view.data.hash != one.data.hash:
            raise FitError(f"{first!r} and {name!r} are fits of different data: fit all models to the same")
        if view.model.likelihood_of != one.model.likelihood_of:
            raise FitError(
                f"the likelihoods of {first!r} are {one.model.likelihood_of}, and those of {name!r} "
                f"{view.model.likelihood_of}: compare fits with the same ends of the scale"
            )
        if not np.array_equal(_weigh_items(one), _weigh_items(view)):
            raise FitError(
                f"{first!r} and {name!r} weigh the items differently: give Pairs(weight=...) of both, or none"
            )
    for (first, one), (name, view) in combinations(views.items(), 2):
        pairs = zip(parts_of(one), parts_of(view), strict=False)
        same_labels = (left.probabilities.equals(right.probabilities) for left, right in pairs)
        if one.model == view.model and one.posterior.equals(view.posterior) and all(same_labels):
            raise FitError(f"{first!r} and {name!r} are the same fit: leave one of them out")
    return views


def _weigh_items(view: FitView) -> np.ndarray:
    """Return the weights of items in the likelihood, (item,)."""
    weights = weights_of(view.model, view.data)
    return np.ones(view.data.n_items) if weights is None else weights


def _leave_one_out(name: str, view: FitView) -> Any:
    try:
        return leave_one_out(view)
    except FitError as error:
        raise FitError(f"{name!r}: {error}") from None


def _find_gold(views: Mapping[str, FitView]) -> dict[str, Mapping[str, str]]:
    """Return the gold labels of each dimension, from any fit that has some."""
    found: dict[str, tuple[str, Mapping[str, str]]] = {}
    for name, view in views.items():
        for part in parts_of(view):
            if part.gold:
                first, gold = found.setdefault(part.dimension, (name, part.gold))
                if dict(gold) != dict(part.gold):
                    raise FitError(f"{first!r} and {name!r} have different gold labels: give all fits the same")
    return {dimension: gold for dimension, (_, gold) in found.items()}


def _compare_elpds(elpds: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return ArviZ's comparison of leave-one-out results by name: differences and stacking weights."""
    best = np.max([elpd.elpd_i.values for elpd in elpds.values()], axis=0)  # (item,)
    moved = {}
    for name, elpd in elpds.items():  # changes neither result, and avoids underflow for items with many answers
        moved[name] = copy.copy(elpd)
        moved[name].elpd_i = elpd.elpd_i - best
    with warnings.catch_warnings():  # about few or unreliable items: the table reports both
        warnings.simplefilter("ignore", UserWarning)
        table = azs.compare(moved, method="stacking", round_to="none")
    table = table.rename(columns={"dse": "se_diff"})[["elpd_diff", "se_diff", "weight"]].astype(float)
    weight = table["weight"].clip(lower=0)
    return table.assign(weight=weight / weight.sum()).to_dict("index")


def _describe_counts(view: FitView, notes: list[str], random_seed: int | None) -> dict[str, Any]:
    """Return the columns of a fit of counts; notes say why a value is nan."""
    marginal = _estimate_marginal_likelihood(view, random_seed)
    notes += [f"log_marginal: {marginal.reason}"] if marginal.reason else []
    found = {"log_marginal": marginal.value, "se_log_marginal": marginal.error, "p_model": float("nan")}
    if np.unique(view.data.trials).size > 1:
        notes.append("p_predictive: items have different numbers of trials, so there is no common histogram")
        return found | {"p_predictive": float("nan")}
    check = predictive_check(view, "histogram", replicates=1000, random_seed=random_seed).table
    return found | {"p_predictive": float(check.loc[check["level"] == "total", "p"].item())}


def _estimate_marginal_likelihood(view: FitView, random_seed: int | None) -> LogIntegral:
    """Estimate the log marginal likelihood of a fit of counts, whose types are told apart by order or priors."""
    rhat = view.diagnostics.get("max_rhat")
    if rhat is None or not rhat <= MAX_RHAT:
        known = "unknown (it needs NUTS with two chains)" if rhat is None else f"{rhat:.3f}"
        return LogIntegral(float("nan"), float("nan"), f"R-hat is {known}, and must be at most {MAX_RHAT}")
    graph = view.model.build(view.data)
    density = compile_model(view.model, view.data, graph)
    z = unconstrain(graph, view.posterior)  # (chain, draw, dimension)
    return estimate_log_integral(z, density.log_at, np.random.default_rng(random_seed))


def _weigh_marginals(table: pd.DataFrame) -> None:
    from scipy.special import softmax

    if table["log_marginal"].notna().all():
        table["p_model"] = softmax(table["log_marginal"].to_numpy())
    else:
        why = "p_model: not every fit here has a marginal likelihood"
        table["note"] = [f"{note}; {why}" if note else why for note in table["note"]]
