"""Chains in several modes of a posterior: dropped, split, or combined by the mass of each mode.

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

from bayesanno._core.errors import FitError
from bayesanno._core.lazy import azs, xr
from bayesanno._core.validate import check_choice, check_seed
from bayesanno._core.wording import enumerated
from bayesanno.fits.view import FitView, require_as_fitted
from bayesanno.inference.assemble import remake
from bayesanno.inference.diagnosis.measures import EXTREMES, find_extremes, measure_convergence
from bayesanno.inference.log_likelihood import leave_one_out
from bayesanno.inference.modes.masses import ModeMass, require_chains, weigh_modes
from bayesanno.inference.modes.record import keep_chains, searched_of

Weights = Literal["mass", "stacking"]
NO_SHARE = 1e-3  # modes with a smaller share contribute no draws


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
    """Split a fit by the modes of its chains, with each mode's share of the posterior mass.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    random_seed : int, optional
        For the points that bridge sampling draws.

    Returns
    -------
    list of xarray.DataTree
        One fit per mode, the one with the most mass first. The attributes have `mass`, the share of the posterior mass;
        `mass_error`, its standard error; and `mass_by`, the estimator: "bridge", bridge sampling from the draws in the
        mode, including those of chains that cross; "laplace", from the curvature at the top, which is rough, if bridge
        sampling fails; or "unknown", with nan as shares. `mass_reason` explains why bridge sampling was not used. If
        all chains are in one mode, the list has one fit. A mode that chains only visit has no fit, and its mass is
        missing from the sum of the shares.

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
    ...     print(f"{mode.attrs['mass']:.3f}", ba.label_table(mode)["probability"].mean())
    """
    check_seed(random_seed)
    view = require_as_fitted(fit, "split_modes")
    modes, _ = weigh_modes(view, random_seed)
    return [
        _take(
            view,
            sorted(mode.chains),
            {"mass": mode.share, "mass_error": mode.error, "mass_by": mode.by, "mass_reason": mode.reason},
        )
        for mode in modes
        if mode.chains
    ]


def combine_modes(
    fit: xr.DataTree | FitView, weights: Weights = "mass", *, random_seed: int | None = None
) -> xr.DataTree:
    """Combine the draws of chains in several modes, with a weight for each mode.

    Draws are taken from each mode, evenly spaced and without repetition, in proportion to the weights. Tables and
    labels of the result are those of the whole posterior. The result has no chains and no R-hat.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    weights : {"mass", "stacking"}
        "mass" gives the posterior: each mode is weighted by its share of the mass (see `split_modes`). "stacking" gives
        the mixture of modes that predicts left-out items best, by PSIS-LOO (Yao, Vehtari and Gelman 2022). This is not
        the posterior, but useful if the masses are unknown or the model is wrong.
    random_seed : int, optional
        For the points that bridge sampling draws.

    Returns
    -------
    xarray.DataTree
        The attribute `combination` (JSON, also among the diagnostics) describes the resampling: `weights`; for each of
        `modes`, its `chains`, `weight`, the standard `error` of the weight (None for stacking), `by`, its estimator,
        `n_draws` taken of `n_available`, and R-hat and ESS within the mode; `n_effective`, the equivalent number of
        independent draws; and `unsampled`, the mass of modes without a chain. The sample statistics have the `mode`,
        `source_chain` and `source_draw` of each draw.

    Raises
    ------
    FitError
        If the fit has no chains, they are all in one mode, the weights cannot be estimated, the kind of weights is
        unknown, a mode with mass has no draws, or the fit was recalibrated.

    Warns
    -----
    ConvergenceWarning
        If a mode with mass has no chain, so that its draws are missing, or the chains within a mode disagree.

    Examples
    --------
    >>> import bayesanno as ba
    >>> whole = ba.combine_modes(ba.load("table15"), random_seed=1)  # doctest: +SKIP
    >>> ba.label_table(whole)  # doctest: +SKIP
    """
    check_seed(random_seed)
    check_choice(f"there are no weights {weights!r}", weights, get_args(Weights))
    view = require_as_fitted(fit, "combine_modes")
    modes, unsampled = weigh_modes(view, random_seed, by_mass=weights == "mass")
    if len(modes) == 1:
        lacking = (
            f": there is nothing to combine; {unsampled:.1%} of the mass is in modes without a chain: fit more chains"
            if unsampled
            else ", or cross between modes: there is nothing to combine"
        )
        raise FitError(f"all chains of this fit are in one mode{lacking}")
    share, more = _weigh_by_prediction(view, modes) if weights == "stacking" else _weigh_by_mass(modes)
    available = [int(mode.inside.sum()) for mode in modes]
    counts = _share_draws(share, available)
    described: list[dict[str, Any]] = []
    taken: list[np.ndarray] = []  # of each mode: chain and draw (sample, 2)
    for number, (mode, count) in enumerate(zip(modes, counts.tolist(), strict=True)):
        at = np.argwhere(mode.inside)  # (sample, 2)
        taken.append(at[np.linspace(0, len(at), count, endpoint=False).astype(int)])
        chains = list(mode.chains)
        within = find_extremes(measure_convergence(view.posterior.isel(chain=chains)) if chains else None)
        described.append(
            {"chains": view.posterior["chain"].values[chains].tolist(), "weight": float(share[number])}
            | more[number]
            | {"n_draws": count, "n_available": available[number]}
            | {name: within[name] for name in EXTREMES}
        )
    combination = {
        "weights": weights,
        "modes": described,
        "n_effective": _effective_number(share, described),
        "unsampled": unsampled,
    }
    return _gather(view, taken, combination)


def _weigh_by_mass(modes: Sequence[ModeMass]) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return the weights of the modes with chains, and a description of each."""
    unknown = [mode for mode in modes if mode.by == "unknown"]
    if unknown:
        raise FitError(
            f"the masses of the modes are unknown: {unknown[0].reason}; examine each by split_modes, or combine them "
            'by predictive accuracy: weights="stacking"'
        )
    share = np.array([mode.share for mode in modes])
    total = float(share.sum())
    return share / total, [{"error": mode.error / total, "by": mode.by, "reason": mode.reason} for mode in modes]


def _weigh_by_prediction(view: FitView, modes: Sequence[ModeMass]) -> tuple[np.ndarray, list[dict[str, Any]]]:
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


def _share_draws(share: np.ndarray, available: Sequence[int]) -> np.ndarray:
    """Return the number of draws to take from each mode: in proportion to the shares, as many as possible, each once.

    Raises
    ------
    FitError
        If a mode with mass has no draws.
    """
    share = np.where(share < NO_SHARE, 0.0, share)
    share = share / share.sum()
    if any(n == 0 and own > 0 for n, own in zip(available, share, strict=True)):
        raise FitError(
            "the modes cannot be combined: one with mass has a chain, but no draw is closer to it than to the others; "
            "sample longer (draws), or examine the chains one by one"
        )
    whole = min(n / own for n, own in zip(available, share, strict=True) if own > 0)
    return np.minimum(np.round(whole * share).astype(int), available)


def _effective_number(share: np.ndarray, modes: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the number of independent draws with the same variance of means, from the ESS of the draws taken."""
    own = [
        None if mode["min_ess_bulk"] is None else mode["min_ess_bulk"] * mode["n_draws"] / mode["n_available"]
        for mode in modes
    ]
    parts = [weight**2 / n for weight, n in zip(share, own, strict=True) if n and weight >= NO_SHARE]
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
