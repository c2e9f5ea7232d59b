"""Chains in several modes of a posterior: dropped, split, or combined by the probability of each mode.

The invariant: labels, deterministics and diagnostics of the returned fit are computed from its own draws;
`fit.isel(chain=...)` alone would not update them.

References
----------
Y. Yao, A. Vehtari and A. Gelman (2022), Stacking for non-mixing Bayesian computations: the curse and blessing of
multimodal posteriors, Journal of Machine Learning Research 23(79), 1-45, http://jmlr.org/papers/v23/20-1426.html.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from bayesanno._core.lazy import azs, xr
from bayesanno._core.messages import FitError, enumerated
from bayesanno._core.validate import check_choice, check_seed
from bayesanno.fits.view import FitView, require_as_fitted
from bayesanno.inference.assemble import remake
from bayesanno.inference.diagnosis.measures import EXTREMES, find_extremes, measure_convergence
from bayesanno.inference.log_likelihood import leave_one_out
from bayesanno.inference.modes.record import ChainMode, find_chain_modes, keep_chains, require_chains, searched_of

Weights = Literal["probability", "stacking"]
NO_WEIGHT = 1e-3  # modes with a smaller weight contribute no draws


def drop_chains(fit: xr.DataTree | FitView, chains: Sequence[int]) -> xr.DataTree:
    """Remove chains from a fit, and recompute labels, deterministics, log prior and diagnostics from the others.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    chains : sequence of int
        The numbers of the chains to remove, as in warnings. The remaining chains are numbered from 0.

    Returns
    -------
    xarray.DataTree

    Raises
    ------
    FitError
        If the fit has no chains, lacks one of these, would have none left, or was recalibrated.

    Warns
    -----
    ConvergenceWarning
        If a diagnostic of the remaining chains shows that the posterior is not yet reliable.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.drop_chains(ba.load("crowd"), [2])["posterior"].sizes["chain"]  # doctest: +SKIP
    3
    """
    view = require_as_fitted(fit, "drop_chains")
    require_chains(view, "chains")
    there = view.posterior["chain"].values.tolist()
    names = enumerated([str(chain) for chain in there])
    if isinstance(chains, int | np.integer | str) or not list(chains):
        raise FitError(f"chains is {chains!r}: give the numbers of those to leave out, as in [{there[-1]}]")
    for chain in chains:
        if chain not in there:
            raise FitError(
                f"there is no chain {chain!r} to leave out: this fit has {enumerated(list(map(str, there)))}"
            )
    kept = [at for at, chain in enumerate(there) if chain not in set(chains)]
    if not kept:
        raise FitError(f"no chain would be left: this fit has {names}")
    return _take(view, kept)


def split_modes(fit: xr.DataTree | FitView, *, random_seed: int | None = None) -> list[xr.DataTree]:
    """Split a fit by the modes of its chains, with the posterior probability of each.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    random_seed : int, optional
        For the points that bridge sampling draws.

    Returns
    -------
    list of xarray.DataTree
        One fit per mode, the most probable first. The attributes have `probability`, that of the mode;
        `probability_error`, its standard error; and `probability_by`, the estimator: "bridge", bridge sampling from the
        draws in the mode, including those of chains that cross; "importance", importance sampling from draws around
        the modes, which is rough, if bridge sampling fails; or "unknown", with nan as probability. `probability_reason`
        explains why bridge sampling was not used. If all chains are in one mode, the list has one fit. A mode that
        chains only visit has no fit, and its probability is missing from the sum.

    Raises
    ------
    FitError
        If the fit has no chains, or was recalibrated.

    Warns
    -----
    ConvergenceWarning
        If a diagnostic of a mode's chains shows that they are not yet reliable.

    Examples
    --------
    >>> import bayesanno as ba
    >>> for mode in ba.split_modes(ba.load("crowd"), random_seed=1):  # doctest: +SKIP
    ...     print(f"{mode.attrs['probability']:.3f}", ba.label_table(mode)["probability"].mean())
    """
    check_seed(random_seed)
    view = require_as_fitted(fit, "split_modes")
    modes, _ = find_chain_modes(view, random_seed)
    return [
        _take(
            view,
            sorted(mode.chains),
            {
                "probability": mode.probability,
                "probability_error": mode.error,
                "probability_by": mode.by,
                "probability_reason": mode.reason,
            },
        )
        for mode in modes
        if mode.chains
    ]


def combine_modes(
    fit: xr.DataTree | FitView, weights: Weights = "probability", *, random_seed: int | None = None
) -> xr.DataTree:
    """Combine the draws of chains in several modes, with a weight for each mode.

    Draws are taken from each mode, evenly spaced and without repetition, in proportion to the weights. Tables and
    labels of the result are those of the whole posterior. The result has no chains and no R-hat.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    weights : {"probability", "stacking"}
        "probability" gives the posterior: each mode has its probability as weight (see `split_modes`). "stacking" gives
        the mixture of modes that predicts left-out items best, by PSIS-LOO (Yao, Vehtari and Gelman 2022). This is not
        the posterior, but useful if the probabilities are unknown or the model is wrong.
    random_seed : int, optional
        For the points that bridge sampling draws.

    Returns
    -------
    xarray.DataTree
        The attribute `combination` (JSON, also among the diagnostics) describes the resampling: `weights`; for each of
        `modes`, its `chains`, `weight`, the standard `error` of the weight (None for stacking), `by`, its estimator,
        `n_draws` taken of `n_available`, and R-hat and ESS within the mode; `n_effective`, the equivalent number of
        independent draws; and `unsampled`, the probability of modes without a chain. The sample statistics have the
        `mode`, `source_chain` and `source_draw` of each draw.

    Raises
    ------
    FitError
        If the fit has no chains, they are all in one mode, the weights cannot be estimated, the kind of weights is
        unknown, a probable mode has no draws, or the fit was recalibrated.

    Warns
    -----
    ConvergenceWarning
        If a probable mode has no chain, so that its draws are missing, or the chains within a mode disagree.

    Examples
    --------
    >>> import bayesanno as ba
    >>> whole = ba.combine_modes(ba.load("table15"), random_seed=1)  # doctest: +SKIP
    >>> ba.label_table(whole)  # doctest: +SKIP
    """
    check_seed(random_seed)
    check_choice(f"there are no weights {weights!r}", weights, get_args(Weights))
    view = require_as_fitted(fit, "combine_modes")
    modes, unsampled = find_chain_modes(view, random_seed)
    if len(modes) == 1:
        lacking = (
            f": there is nothing to combine; modes without a chain have probability {unsampled:.1%}: fit more chains"
            if unsampled
            else ", or cross between modes: there is nothing to combine"
        )
        raise FitError(f"all chains of this fit are in one mode{lacking}")
    weight, more = _weigh_by_prediction(view, modes) if weights == "stacking" else _weigh_by_probability(modes)
    available = [int(mode.inside.sum()) for mode in modes]
    counts = _count_draws(weight, available)
    described: list[dict[str, Any]] = []
    taken: list[np.ndarray] = []  # of each mode: chain and draw (sample, 2)
    for number, (mode, count) in enumerate(zip(modes, counts.tolist(), strict=True)):
        at = np.argwhere(mode.inside)  # (sample, 2)
        taken.append(at[np.linspace(0, len(at), count, endpoint=False).astype(int)])
        chains = list(mode.chains)
        within = find_extremes(measure_convergence(view.posterior.isel(chain=chains)) if chains else None)
        described.append(
            {"chains": view.posterior["chain"].values[chains].tolist(), "weight": float(weight[number])}
            | more[number]
            | {"n_draws": count, "n_available": available[number]}
            | {name: within[name] for name in EXTREMES}
        )
    combination = {
        "weights": weights,
        "modes": described,
        "n_effective": _effective_number(weight, described),
        "unsampled": unsampled,
    }
    return _gather(view, taken, combination)


def _weigh_by_probability(modes: Sequence[ChainMode]) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return the weights of the modes with chains, and a description of each."""
    if modes[0].by == "unknown":
        raise FitError(
            f"the probabilities of the modes are unknown: {modes[0].reason}; examine each by split_modes, or combine "
            'them by predictive accuracy: weights="stacking"'
        )
    probability = np.array([mode.probability for mode in modes])
    total = float(probability.sum())
    return probability / total, [{"error": mode.error / total, "by": mode.by, "reason": mode.reason} for mode in modes]


def _weigh_by_prediction(view: FitView, modes: Sequence[ChainMode]) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return the weights of the modes by stacking, and the worst Pareto k of the items in each."""
    elpds = {str(at): leave_one_out(view.tree.isel(chain=list(mode.chains))) for at, mode in enumerate(modes)}
    with warnings.catch_warnings():  # of few items, or unreliable ones, the diagnostics of each mode say more
        warnings.simplefilter("ignore", UserWarning)
        table = azs.compare(elpds, method="stacking", round_to="none")
    weight = np.clip(table["weight"].reindex(list(elpds)).to_numpy(dtype=float), 0, None)
    found = [
        {"error": None, "by": "stacking", "elpd": float(elpd.elpd), "max_pareto_k": float(elpd.pareto_k.max())}
        for elpd in elpds.values()
    ]
    return weight / weight.sum(), found


def _count_draws(weight: np.ndarray, available: Sequence[int]) -> np.ndarray:
    """Return the number of draws to take from each mode: in proportion to the weights, as many as possible, each once.

    Raises
    ------
    FitError
        If a probable mode has no draws.
    """
    weight = np.where(weight < NO_WEIGHT, 0.0, weight)
    weight = weight / weight.sum()
    if any(n == 0 and own > 0 for n, own in zip(available, weight, strict=True)):
        raise FitError(
            "the modes cannot be combined: one has a chain, but no draw is closer to it than to the others; sample "
            "longer (draws), or examine the chains one by one"
        )
    whole = min(n / own for n, own in zip(available, weight, strict=True) if own > 0)
    return np.minimum(np.round(whole * weight).astype(int), available)


def _effective_number(weight: np.ndarray, modes: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the number of independent draws with the same variance of means, from the ESS of the draws taken."""
    own = [
        None if mode["min_ess_bulk"] is None else mode["min_ess_bulk"] * mode["n_draws"] / mode["n_available"]
        for mode in modes
    ]
    parts = [own_weight**2 / n for own_weight, n in zip(weight, own, strict=True) if n and own_weight >= NO_WEIGHT]
    return None if None in own or not parts else float(1 / sum(parts))


def _gather(view: FitView, taken: Sequence[np.ndarray], combination: Mapping[str, Any]) -> xr.DataTree:
    """Make a fit of one chain from draws of each mode, given by chain and draw (sample, 2), with modes evenly mixed."""
    number = np.repeat(np.arange(len(taken)), [len(at) for at in taken])
    order = np.argsort(np.concatenate([(np.arange(len(at)) + 0.5) / max(1, len(at)) for at in taken]), kind="stable")
    chain, draw = np.concatenate(taken)[order].T
    pick = {"chain": xr.DataArray(chain, dims="sample"), "draw": xr.DataArray(draw, dims="sample")}

    def gather(group: xr.Dataset) -> xr.Dataset:
        picked = (
            group.isel(pick).drop_vars(["chain", "draw"], errors="ignore").rename(sample="draw").expand_dims(chain=[0])
        )
        return picked.assign_coords(draw=range(order.size)).transpose("chain", "draw", ...)

    stats = gather(view.tree["sample_stats"].to_dataset().drop_vars("energy", errors="ignore"))  # of neighbours
    sources = {"mode": number[order], "source_chain": view.posterior["chain"].values[chain], "source_draw": draw}
    stats = stats.assign({name: (("chain", "draw"), values[None]) for name, values in sources.items()})
    attrs = dict(view.tree.attrs) | {"yields": "combination", "combination": json.dumps(combination)}
    kept = {name: value for name, value in view.diagnostics.items() if name not in ("modes", "n_chains")}
    return remake(
        view, gather(view.posterior), stats, attrs=attrs, more_diagnostics=kept | {"combination": combination}
    )


def _take(view: FitView, kept: Sequence[int], more: Mapping[str, Any] | None = None) -> xr.DataTree:
    """Make a fit of some chains, by position, renumbered from 0; a fit of one mode has `more` attributes."""

    def take(group: xr.Dataset) -> xr.Dataset:
        return group.isel(chain=list(kept)).assign_coords(chain=range(len(kept)))

    stats = take(view.tree["sample_stats"].to_dataset())
    searched = searched_of(view.diagnostics) if more is None else None
    settings = json.loads(view.tree.attrs["settings"]) | {"chains": len(kept)}
    attrs = dict(view.tree.attrs) | {"settings": json.dumps(settings)} | dict(more or {})
    searched = None if searched is None else keep_chains(searched, kept)
    return remake(view, take(view.posterior), stats, attrs=attrs, searched=searched, more_diagnostics=view.diagnostics)
