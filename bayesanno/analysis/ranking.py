"""Rankings of systems, from a fit of comparisons: strengths, ranks, and who beats whom."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, get_args

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.parameters import DIAGNOSTICS, HDI_PROB, convergence_of, describe_draws, require_draws
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import check_share
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.pairs import STRENGTH, SYSTEM, TIE, Pairs

ELO = 400 / np.log(10)  # points of a log odds
Ties = Literal["half", "out"]


def ranking_table(fit: xr.DataTree | FitView, *, elo: bool = False, prob: float = HDI_PROB) -> pd.DataFrame:
    """Return the ranking of the systems that items compare, with its uncertainty.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Its model has a class prior with `Pairs`.
    elo : bool, default False
        Whether to add the strength in points of Elo, 400 / ln 10 for each unit of log odds, 0 on average.
    prob : float, default 0.94
        The probability of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row per system, the strongest first: `system`; `n_answers` to comparisons of it; `strength_` on the scale of
        log odds, 0 on average, with `mean`, `sd`, `hdi94_lb`, `hdi94_ub`, `ess_bulk`, `ess_tail` and `r_hat`; `rank_`,
        1 for the strongest, with `mean` and the interval of equal tails `eti94_lb` and `eti94_ub` (named by `prob`);
        `p_best`; `win_rate_`, how often it truly wins against another system drawn at random, a tie counting half,
        with `mean`, `sd` and interval; with `elo` also `elo_` with `mean`, `sd` and interval.

    Raises
    ------
    FitError
        If the model has no strengths of systems, or the fit is one point.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("ranking")  # doctest: +SKIP
    >>> ba.ranking_table(fit)[["system", "strength_mean", "rank_eti94_lb", "rank_eti94_ub"]]  # doctest: +SKIP
    """
    from scipy.stats import rankdata

    check_share("prob", prob)
    view = view_for_table(fit, from_draws=True)
    pairs = require_pairs(view)
    strength = view.posterior[STRENGTH].transpose("chain", "draw", SYSTEM)
    ranks = strength.copy(data=rankdata(-strength.values, axis=-1))
    rows = {"strength": strength, "win_rate": _win_rates(view)}
    if elo:
        rows["elo"] = ELO * strength
    table = pd.DataFrame({"system": pd.Series(strength[SYSTEM].values, dtype="str")})
    table["n_answers"] = _answers_to_pairs(view, pairs).sum(axis=1)
    for called, draws in rows.items():
        table = table.assign(**{f"{called}_{what}": values for what, values in describe_draws(draws, prob).items()})
    of_chains = dict(zip(DIAGNOSTICS, convergence_of(view, STRENGTH).values, strict=True))
    table = table.assign(**{f"strength_{what}": values for what, values in of_chains.items()})
    tails = ranks.quantile([(1 - prob) / 2, (1 + prob) / 2], ("chain", "draw"), method="inverted_cdf").values
    table["rank_mean"] = ranks.mean(("chain", "draw")).values
    table[f"rank_eti{100 * prob:.6g}_lb"], table[f"rank_eti{100 * prob:.6g}_ub"] = tails.astype(int)
    table["p_best"] = (ranks == 1).mean(("chain", "draw")).values
    kinds = ("system", "n_answers", "strength", "rank", "p_best", "win_rate", "elo")
    ordered = [name for kind in kinds for name in map(str, table) if name == kind or name.startswith(f"{kind}_")]
    return table[ordered].sort_values("strength_mean", ascending=False, kind="stable").reset_index(drop=True)


def win_table(fit: xr.DataTree | FitView, *, ties: Ties = "half", prob: float = HDI_PROB) -> pd.DataFrame:
    """Return how often one system truly wins against another, for every pair of systems.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Its model has a class prior with `Pairs`.
    ties : {"half", "out"}, default "half"
        Whether a tie counts as half a win, or wins are among what is no tie.
    prob : float, default 0.94
        The probability of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row per pair, the stronger system, which is `first`, in the order of the ranking: `first`, `second`;
        `n_answers` to comparisons of the two; of the probability that first wins `mean`, `sd`, `hdi94_lb` and
        `hdi94_ub`; and `p_stronger`, the probability that first is the stronger one.

    Raises
    ------
    FitError
        If the model has no strengths of systems, the fit is one point, or `ties` is neither.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("ranking")  # doctest: +SKIP
    >>> ba.win_table(fit).query("p_stronger < 0.9")  # doctest: +SKIP
    """
    check_share("prob", prob)
    if ties not in get_args(Ties):
        raise FitError(f"ties is {ties!r}: choose one of {', '.join(get_args(Ties))}")
    view = view_for_table(fit, from_draws=True)
    pairs = require_pairs(view)
    strength = view.posterior[STRENGTH].transpose("chain", "draw", SYSTEM)
    order = np.argsort(-strength.mean(("chain", "draw")).values, kind="stable")
    ends = np.array(list(combinations(order, 2)))  # (pair, 2)
    a, b = (strength.isel({SYSTEM: xr.DataArray(ends[:, side], dims="pair")}).drop_vars(SYSTEM) for side in (0, 1))
    names = strength[SYSTEM].values.astype(object)[ends]
    columns = {"first": names[:, 0], "second": names[:, 1]}
    return pd.DataFrame(columns, dtype="str").assign(
        n_answers=_answers_to_pairs(view, pairs)[ends[:, 0], ends[:, 1]],
        **describe_draws(_win(a, b, view.posterior.get(TIE) if ties == "half" else None), prob),
        p_stronger=((a > b) + 0.5 * (a == b)).mean(("chain", "draw")).values,
    )


def has_pairs(view: FitView) -> bool:
    """Whether the items of a fit compare systems."""
    return any(isinstance(term, Pairs) for term in terms_of(view.model))


def require_pairs(view: FitView) -> Pairs:
    """Return the term of a fit's class prior that has strengths of systems.

    Raises
    ------
    FitError
        If there is none, or the fit is one point.
    """
    pairs = next((term for term in terms_of(view.model) if isinstance(term, Pairs)), None)
    if pairs is None:
        raise FitError(
            f"this fit of {view.model.name} compares no systems: fit with class_prior=Pairs(first=..., second=...)"
        )
    require_draws(view, "a ranking")
    return pairs


def _win(a: xr.DataArray, b: xr.DataArray, tie: xr.DataArray | None) -> xr.DataArray:
    """Return how often a wins against b, a tie counting half: Davidson's model, or of no ties Bradley and Terry's."""
    even = 0.0 if tie is None else xr.ufuncs.exp(tie - (a - b) / 2)
    return ((1 + even / 2) / (1 + xr.ufuncs.exp(b - a) + even)).transpose("chain", "draw", ...)


def _win_rates(view: FitView) -> xr.DataArray:
    """Return how often each system wins against the others on average, (chain, draw, system)."""
    strength = view.posterior[STRENGTH].transpose("chain", "draw", SYSTEM)
    rates = []
    for system in strength[SYSTEM].values:
        own, others = strength.sel({SYSTEM: system}, drop=True), strength.drop_sel({SYSTEM: system})
        rates.append(_win(own, others, view.posterior.get(TIE)).mean(SYSTEM))
    return xr.concat(rates, strength[SYSTEM]).transpose("chain", "draw", SYSTEM)


def _answers_to_pairs(view: FitView, pairs: Pairs) -> np.ndarray:
    """Return how many answers compare each two systems, in whatever order; shape (system, system)."""
    systems = pairs.systems(view.data)
    first, second = (codes[view.data.item] for codes in pairs.columns(view.data).values())
    n = np.zeros((len(systems), len(systems)), dtype=int)
    np.add.at(n, (first, second), 1)
    return n + n.T
