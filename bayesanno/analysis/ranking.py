"""Rankings of systems from a fit of comparisons: strengths, ranks, and pairwise wins.

Two numbers say how often a system wins. Its win rate is that of a judge without errors. Its share won is that of judges
like those of the data: with p(k | a, b) the probability of the outcome k, and T(v | k) the mean answer of the judges,
each counted by their answers,

    share won by a against b  =  mean over both orders of  sum_k p(k | a, b) (T(a | k) + T(tie | k) / 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from bayesanno._core.chains import DIAGNOSTICS
from bayesanno._core.intervals import CiKind, choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError, spell
from bayesanno._core.validate import check_choice
from bayesanno.analysis.parameters import convergence_of, describe_draws, require_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView
from bayesanno.inference.diagnosis.residuals import condition_on_class
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.pairs import SIDES, STRENGTH, STRENGTH_BY, SUBSET, SYSTEM, TIE, Pairs, judges_are_right
from bayesanno.modeling.posterior import take_draws
from bayesanno.simulation.quantities import ModelDraws, ask

ELO, MEAN_ELO = 400 / np.log(10), 1000  # Elo points per unit of log odds
MOST_DRAWS = 1000  # in which the answers of judges are computed
Ties = Literal["half", "out"]


def ranking_table(fit: xr.DataTree | FitView, *, ci_prob: float | None = None, ci_kind: CiKind = None) -> pd.DataFrame:
    """Return the ranking of the compared systems, with its uncertainty.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model whose class prior has `Pairs`.
    ci_prob, ci_kind
        As in `summary`; those of ranks always have equal tails.

    Returns
    -------
    pandas.DataFrame
        One row per system, the strongest first. If strengths differ between subsets of the items (`Pairs(by=...)`),
        there is a ranking for each one as well, named in the first column `subset`, which is "all" for all items. The
        columns are `system`; `n_answers`, the number of answers to its comparisons; `p_best`, the probability that it
        is the strongest; and

        * `strength_` with `mean`, `sd`, `eti89_lb`, `eti89_ub`, `ess_bulk`, `ess_tail` and `r_hat`: log odds, with mean
          0 over systems;
        * `rank_` with `mean` and the equal-tailed interval `eti89_lb` and `eti89_ub`: 1 is the strongest;
        * `elo_` with `mean`, `sd` and interval: the strength in points of Elo, 400 / ln 10 per unit, with mean 1,000;
        * `share_won_` with `mean`, `sd` and interval: how often judges like these say that it wins against a random
          other system, with ties as half a win. Counted wins and Bradley-Terry models without judges estimate this;
        * `win_rate_` with `mean`, `sd` and interval: the same if judges made no errors.

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
    few, judges = _describe_judges(view, pairs)
    tables = [_rank(view, pairs, few, judges, None, ci_prob, ci_kind)]
    if pairs.by:
        subsets = view.posterior[SUBSET].values.tolist()
        tables += [_rank(view, pairs, few, judges, subset, ci_prob, ci_kind) for subset in subsets]
        for name, table in zip(("all", *subsets), tables, strict=True):
            table.insert(0, SUBSET, pd.Series([name] * len(table), dtype="str"))
    return pd.concat(tables, ignore_index=True)


def _rank(
    view: FitView,
    pairs: Pairs,
    few: xr.Dataset,
    judges: Sequence[xr.DataArray] | None,
    subset: str | None,
    ci_prob: float | None,
    ci_kind: CiKind,
) -> pd.DataFrame:
    """Return the ranking in a subset of the items, or in all; `few` are the draws in which judges are described."""
    name, at = (STRENGTH, {}) if subset is None else (STRENGTH_BY, {SUBSET: subset})
    strength, of_few = (one[name].sel(at).transpose("chain", "draw", SYSTEM) for one in (view.posterior, few))
    rows = {
        "strength": strength,
        "elo": MEAN_ELO + ELO * strength,
        "share_won": _average_over_others(of_few, few.get(TIE), judges),
        "win_rate": _average_over_others(strength, view.posterior.get(TIE), None),
    }
    table = pd.DataFrame({"system": pd.Series(strength[SYSTEM].values, dtype="str")})
    table["n_answers"] = _answers_to_pairs(view, pairs, subset).sum(axis=1)
    for called, draws in rows.items():
        described = describe_draws(draws, ci_prob, ci_kind)
        table = table.assign(**{f"{called}_{what}": values for what, values in described.items()})
    of_chains = dict(zip(DIAGNOSTICS, convergence_of(view, name).sel(at).values, strict=True))
    table = table.assign(**{f"strength_{what}": values for what, values in of_chains.items()})
    table = table.assign(**describe_ranks(strength.values.reshape(-1, len(table)), choose_prob(ci_prob)))
    kinds = ("system", "n_answers", "strength", "elo", "rank", "p_best", "share_won", "win_rate")
    ordered = [name for kind in kinds for name in map(str, table) if name == kind or name.startswith(f"{kind}_")]
    return table[ordered].sort_values("strength_mean", ascending=False, kind="stable")


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
        of answers to their comparisons; `mean`, `sd`, `eti89_lb` and `eti89_ub` of the probability that first truly
        wins; `share_won_mean`, `share_won_sd` and interval, the share that judges like these would say first wins; and
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
    few, judges = _describe_judges(view, pairs)
    (a, b), two = (_take_pairs(one, ends) for one in (strength, few[STRENGTH]))
    share_won = _share_won(_outcomes(two[0], two[1], few.get(TIE)), judges)
    names = strength[SYSTEM].values.astype(object)[ends]
    columns = {"first": names[:, 0], "second": names[:, 1]}
    outcomes = _outcomes(a, b, view.posterior.get(TIE) if ties == "half" else None)
    return pd.DataFrame(columns, dtype="str").assign(
        n_answers=_answers_to_pairs(view, pairs)[ends[:, 0], ends[:, 1]],
        **describe_draws(_share_won(outcomes, None), ci_prob, ci_kind),
        **{f"share_won_{what}": of for what, of in describe_draws(share_won, ci_prob, ci_kind).items()},
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
    return _find_pairs(view) is not None


def _find_pairs(view: FitView) -> Pairs | None:
    """Return the term with strengths of systems in a fit's class prior, if there is one."""
    return next((term for term in terms_of(view.model) if isinstance(term, Pairs)), None)


def require_pairs(view: FitView) -> Pairs:
    """Return the term with strengths of systems in a fit's class prior.

    Raises
    ------
    FitError
        If there is no such term, or the fit is a point estimate.
    """
    pairs = _find_pairs(view)
    if pairs is None:
        raise FitError(
            f"this fit of {view.model.name} compares no systems: fit with "
            f"{spell('class_prior=Pairs(first=..., second=...)', '--pairs A,B')}"
        )
    require_draws(view, "a ranking")
    return pairs


def _take_pairs(strength: xr.DataArray, ends: np.ndarray) -> list[xr.DataArray]:
    """Return the strengths of the first and the second system of pairs (pair, 2): (chain, draw, pair) each."""
    strength = strength.transpose("chain", "draw", SYSTEM)
    sides = (xr.DataArray(ends[:, side], dims="pair") for side in (0, 1))
    return [strength.isel({SYSTEM: side}).drop_vars(SYSTEM) for side in sides]


def _outcomes(a: xr.DataArray, b: xr.DataArray, tie: xr.DataArray | None) -> list[xr.DataArray]:
    """Return how often a wins, b wins, and neither (Davidson; Bradley and Terry without ties)."""
    even = 0.0 if tie is None else xr.ufuncs.exp(tie - (a - b) / 2)
    weights = (1.0 + 0 * a, xr.ufuncs.exp(b - a), even + 0 * a)  # over that of a
    return [(one / sum(weights)).transpose("chain", "draw", ...) for one in weights]


def _share_won(outcomes: Sequence[xr.DataArray], judges: Sequence[xr.DataArray] | None) -> xr.DataArray:
    """Return how often a is said to win, with ties as half a win, by judges of `_describe_judges` or without errors."""
    a_wins, b_wins, neither = outcomes
    if judges is None:
        return a_wins + neither / 2
    if_first, if_second, if_tie = judges
    a_is_first = a_wins * if_first + b_wins * if_second + neither * if_tie
    b_is_first = b_wins * if_first + a_wins * if_second + neither * if_tie
    return (a_is_first + 1 - b_is_first) / 2


def prefer_first(view: FitView) -> xr.DataArray | None:
    """Return how much each judge prefers the side that is shown first, (chain, draw, annotator), from -1 to 1.

    It is the share of firsts less that of seconds among the judge's answers to equally many pairs of which the first or
    the second is truly better; 0 for a judge without such a preference. None if no item of the fit compares systems,
    comparisons follow from rankings, winners are taken as true, or the model has no habits.
    """
    pairs = _find_pairs(view)  # rankings have no sides that are shown
    if pairs is None or pairs.weights(view.data) is not None or judges_are_right(view.data):
        return None
    of_judges = _score_first(view, pairs, take_draws(view.posterior, MOST_DRAWS))
    found = of_judges.sel(true_class=[pairs.first, pairs.second]).sum("true_class") - 1
    return found if (abs(found) > 1e-9).any() else None


def _score_first(view: FitView, pairs: Pairs, draws: xr.Dataset) -> xr.DataArray:
    """Return how often judges say that the first side wins, with ties as half: (chain, draw, annotator, true_class).

    Unsure answers are left out.
    """
    data, sure = view.data, view.data.without_unsure()
    points = np.array([{pairs.first: 1.0, pairs.second: 0.0}.get(name, 0.5) for name in sure.labels])
    joints = ask(ModelDraws(view.model, data, draws, view.known), np.arange(data.n_annotators)[:, None])
    said = np.array([points @ condition_on_class(sure, joint[:, data.class_codes])[1] for joint in joints])
    shape = (draws.sizes["chain"], draws.sizes["draw"], *said.shape[1:])
    coords = {"annotator": list(data.annotators), "true_class": list(sure.labels)}
    return xr.DataArray(said.reshape(shape), coords, ("chain", "draw", "annotator", "true_class"))


def _describe_judges(view: FitView, pairs: Pairs) -> tuple[xr.Dataset, list[xr.DataArray] | None]:
    """Return draws, and how often judges say that the first wins, by the true outcome: first, second, or a tie.

    Judges are weighted by their numbers of answers, in some of the draws: (chain, draw) for each outcome. If their
    answers are taken as true, all draws and None.
    """
    if judges_are_right(view.data):
        return view.posterior, None
    draws = take_draws(view.posterior, MOST_DRAWS)
    n = xr.DataArray(view.data.without_unsure().by_annotator, dims="annotator")
    said = _score_first(view, pairs, draws).weighted(n).mean("annotator")
    by_class = {str(name): said.sel(true_class=name, drop=True) for name in said["true_class"].values}
    none = by_class[pairs.first] * 0 + 0.5  # for a tie that is no class
    tie = next((of for name, of in by_class.items() if name not in (pairs.first, pairs.second)), none)
    return draws, [by_class[pairs.first], by_class[pairs.second], tie]


def _average_over_others(
    strength: xr.DataArray, tie: xr.DataArray | None, judges: Sequence[xr.DataArray] | None
) -> xr.DataArray:
    """Return how often each system wins against the others on average, (chain, draw, system)."""
    n, shares = strength.sizes[SYSTEM], []
    for system in range(n):
        own, others = _take_pairs(strength, np.array([(system, other) for other in range(n) if other != system]))
        shares.append(_share_won(_outcomes(own, others, tie), judges).mean("pair"))
    return xr.concat(shares, strength[SYSTEM]).transpose("chain", "draw", SYSTEM)


def _answers_to_pairs(view: FitView, pairs: Pairs, subset: str | None = None) -> np.ndarray:
    """Return how many answers compare each two systems, in a subset or in all: (system, system)."""
    data, systems, columns = view.data, pairs.systems(view.data), pairs.columns(view.data)
    own = np.ones(data.n_items, dtype=bool)
    if subset is not None:
        own = np.array(data.item_columns[pairs.by].names, dtype=object) == subset
    first, second = (columns[side][data.item[own[data.item]]] for side in SIDES)
    n = np.zeros((len(systems), len(systems)), dtype=int)
    np.add.at(n, (first, second), 1)
    return n + n.T
