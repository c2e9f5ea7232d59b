"""Rankings of systems from a fit of comparisons: strengths, ranks, and pairwise wins."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, get_args

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.parameters import DIAGNOSTICS, convergence_of, describe_draws, require_draws
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.intervals import CiKind, choose_prob, name_bounds
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import check_choice
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.pairs import STRENGTH, SYSTEM, TIE, Pairs

ELO = 400 / np.log(10)  # Elo points per unit of log odds
Ties = Literal["half", "out"]


def ranking_table(
    fit: xr.DataTree | FitView, *, elo: bool = False, ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the ranking of the compared systems, with its uncertainty.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model whose class prior has `Pairs`.
    elo : bool, default False
        Whether to add strengths in Elo points: 400 / ln 10 per unit of log odds, with mean 0.
    ci_prob, ci_kind
        As in `summary`; those of ranks always have equal tails.

    Returns
    -------
    pandas.DataFrame
        One row per system, the strongest first, with `system`; `n_answers`, the number of answers to its comparisons;
        `p_best`, the probability that it is the strongest; and

        * `strength_` with `mean`, `sd`, `eti89_lb`, `eti89_ub`, `ess_bulk`, `ess_tail` and `r_hat`: log odds, with mean
          0 over systems;
        * `rank_` with `mean` and the equal-tailed interval `eti89_lb` and `eti89_ub`: 1 is the strongest;
        * `win_rate_` with `mean`, `sd` and interval: how often it truly wins against a random other system, with ties
          as half a win;
        * with `elo`, also `elo_` with `mean`, `sd` and interval.

    Raises
    ------
    FitError
        If the model has no strengths of systems, or the fit is a point estimate.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("ranking")  # doctest: +SKIP
    >>> ba.ranking_table(fit)[["system", "strength_mean", "rank_eti89_lb", "rank_eti89_ub"]]  # doctest: +SKIP
    """
    view = view_for_table(fit, from_draws=True)
    pairs = require_pairs(view)
    strength = view.posterior[STRENGTH].transpose("chain", "draw", SYSTEM)
    rows = {"strength": strength, "win_rate": _win_rates(strength, view.posterior.get(TIE))}
    if elo:
        rows["elo"] = ELO * strength
    table = pd.DataFrame({"system": pd.Series(strength[SYSTEM].values, dtype="str")})
    table["n_answers"] = _answers_to_pairs(view, pairs).sum(axis=1)
    for called, draws in rows.items():
        described = describe_draws(draws, ci_prob, ci_kind)
        table = table.assign(**{f"{called}_{what}": values for what, values in described.items()})
    of_chains = dict(zip(DIAGNOSTICS, convergence_of(view, STRENGTH).values, strict=True))
    table = table.assign(**{f"strength_{what}": values for what, values in of_chains.items()})
    table = table.assign(**describe_ranks(strength.values.reshape(-1, len(table)), choose_prob(ci_prob)))
    kinds = ("system", "n_answers", "strength", "rank", "p_best", "win_rate", "elo")
    ordered = [name for kind in kinds for name in map(str, table) if name == kind or name.startswith(f"{kind}_")]
    return table[ordered].sort_values("strength_mean", ascending=False, kind="stable").reset_index(drop=True)


def win_table(
    fit: xr.DataTree | FitView, *, ties: Ties = "half", ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return how often one system truly wins against another, for every pair of systems.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model whose class prior has `Pairs`.
    ties : {"half", "out"}, default "half"
        Whether ties count as half a win, or are left out.
    ci_prob, ci_kind
        As in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per pair, in the order of the ranking: `first` (the stronger system), `second`; `n_answers`, the number
        of answers to their comparisons; `mean`, `sd`, `eti89_lb` and `eti89_ub` of the probability that first wins; and
        `p_stronger`, the probability that first is the stronger one.

    Raises
    ------
    FitError
        If the model has no strengths of systems, the fit is a point estimate, or `ties` is unknown.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("ranking")  # doctest: +SKIP
    >>> ba.win_table(fit).query("p_stronger < 0.9")  # doctest: +SKIP
    """
    check_choice(f"ties is {ties!r}", ties, get_args(Ties))
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
        **describe_draws(_win(a, b, view.posterior.get(TIE) if ties == "half" else None), ci_prob, ci_kind),
        p_stronger=((a > b) + 0.5 * (a == b)).mean(("chain", "draw")).values,
    )


def describe_ranks(draws: np.ndarray, ci_prob: float) -> dict[str, np.ndarray]:
    """Return the mean and the equal-tailed interval of each rank, and the probability to be the best, by column name.

    The draws are (sample, system). Rank 1 has the largest value. Equal values have the same rank, and are the best with
    equal probabilities.
    """
    from scipy.stats import rankdata

    ranks = rankdata(-draws, method="min", axis=1)
    tails = np.quantile(ranks, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0, method="inverted_cdf").astype(int)
    is_best = ranks == 1
    return {
        "rank_mean": ranks.mean(axis=0),
        **dict(zip(name_bounds("eti", ci_prob, "rank"), tails, strict=True)),
        "p_best": (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0),
    }


def has_pairs(view: FitView) -> bool:
    """Whether the items of a fit compare systems."""
    return any(isinstance(term, Pairs) for term in terms_of(view.model))


def require_pairs(view: FitView) -> Pairs:
    """Return the term with strengths of systems in a fit's class prior.

    Raises
    ------
    FitError
        If there is no such term, or the fit is a point estimate.
    """
    pairs = next((term for term in terms_of(view.model) if isinstance(term, Pairs)), None)
    if pairs is None:
        raise FitError(
            f"this fit of {view.model.name} compares no systems: fit with class_prior=Pairs(first=..., second=...)"
        )
    require_draws(view, "a ranking")
    return pairs


def _win(a: xr.DataArray, b: xr.DataArray, tie: xr.DataArray | None) -> xr.DataArray:
    """Return how often a wins against b, with ties as half a win (Davidson; Bradley and Terry without ties)."""
    even = 0.0 if tie is None else xr.ufuncs.exp(tie - (a - b) / 2)
    return ((1 + even / 2) / (1 + xr.ufuncs.exp(b - a) + even)).transpose("chain", "draw", ...)


def _win_rates(strength: xr.DataArray, tie: xr.DataArray | None) -> xr.DataArray:
    """Return how often each system wins against the others on average, (chain, draw, system)."""
    rates = []
    for system in strength[SYSTEM].values:
        own, others = strength.sel({SYSTEM: system}, drop=True), strength.drop_sel({SYSTEM: system})
        rates.append(_win(own, others, tie).mean(SYSTEM))
    return xr.concat(rates, strength[SYSTEM]).transpose("chain", "draw", SYSTEM)


def _answers_to_pairs(view: FitView, pairs: Pairs) -> np.ndarray:
    """Return how many answers compare each two systems, in either order; shape (system, system)."""
    systems = pairs.systems(view.data)
    first, second = (codes[view.data.item] for codes in pairs.columns(view.data).values())
    n = np.zeros((len(systems), len(systems)), dtype=int)
    np.add.at(n, (first, second), 1)
    return n + n.T
