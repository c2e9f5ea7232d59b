"""From a model and annotations to a fit: sample, relabel where that is legitimate, and compute all that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesanno.fits.storage import data_of, diagnostics_of, load, model_of, save
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.ground.progress import status
from bayesanno.ground.validate import check_seed, known_seed
from bayesanno.inference.advi import approximate
from bayesanno.inference.assemble import assemble
from bayesanno.inference.identifiability import warn_of_design
from bayesanno.inference.nuts import Engine, check_engine, exact_arithmetic, sample_nuts
from bayesanno.inference.relabel import Rule, align_classes, compose
from bayesanno.modeling.registry import get_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

__all__ = ["check_settings", "fit", "join", "load", "relabel_classes", "save"]

Method = Literal["nuts", "advi", "fullrank_advi"]


def fit(
    model: str | AnnotationModel,
    data: Data,
    *,
    method: Method = "nuts",
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    target_accept: float = 0.9,
    random_seed: int | None = None,
    engine: Engine = "nutpie",
    relabel: bool = True,
    start: Mapping[str, np.ndarray] | None = None,
    advi_steps: int = 50_000,
    progressbar: bool = True,
) -> xarray.DataTree:
    """Fit a model to annotations.

    Parameters
    ----------
    model : str or AnnotationModel
        A name in the zoo, or an instance (with priors of your own).
    data : AnnotationData, CountData or MultiAnnotationData, as the model takes
        Who said what about which item; or how many of an item's answers were positive.
    method : {"nuts", "advi", "fullrank_advi"}
        NUTS samples the posterior; ADVI fits a normal approximation to it on the unconstrained scale (independent, or
        with all correlations).
    draws, tune, chains : int
        Draws kept and tuning steps per chain, and number of chains. ADVI draws `draws * chains` in one chain.
    target_accept : float
        Target acceptance rate of NUTS, in (0, 1).
    random_seed : int, optional
        Makes the fit reproducible, bit for bit, on one machine. Without it one is drawn and stored.
    engine : {"nutpie", "pymc", "numpyro", "blackjax"}
        The NUTS implementation; the last two are extras.
    relabel : bool
        Undo label switching where prior and likelihood do not tell the classes apart (see `bayesanno.inference.relabel`).
    start : mapping of variable name to array, optional
        Where chains start, on the variables' own scale, each with a jitter; by default near the majority vote.
    advi_steps : int
        The most steps that ADVI takes.
    progressbar : bool
        Whether to show progress.

    Returns
    -------
    xarray.DataTree
        Groups posterior, sample_stats, log_likelihood (per item), log_prior, observed_data, constant_data, and latent:
        `probability` and `probability_mcse` (item, state), `entropy` (item) in nats. The attributes hold the model and
        its fields, the seed, versions, the data's hash, seconds and diagnostics.

    Raises
    ------
    ModelError
        If the model is unknown.
    DataError
        If the data are not of the kind that the model takes, or cannot support it.
    FitError
        If a setting is out of its range.
    EngineError
        If the engine is not installed.

    Warns
    -----
    IdentifiabilityWarning
        If the design cannot tell who is right, or the model cannot learn all of its parameters from such data.
    ConvergenceWarning
        If a diagnostic says not to believe the posterior yet: what, and what to do.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("mace", data, random_seed=1, progressbar=False)
    >>> ba.label_table(fit).columns[:3].tolist()
    ['item', 'label', 'probability']
    """
    entry = get_model(model)
    check_settings(
        method=method,
        engine=engine,
        draws=draws,
        tune=tune,
        chains=chains,
        target_accept=target_accept,
        advi_steps=advi_steps,
        random_seed=random_seed,
    )
    entry.check(data)
    warn_of_design(data, entry.caveats(data))
    seed = known_seed(random_seed)
    with exact_arithmetic():
        graph = entry.build(data)
        begin = _checked_start(entry.start(data) if start is None else start, graph)
        if method == "nuts":
            drawn = sample_nuts(
                graph,
                begin,
                engine=engine,
                draws=draws,
                tune=tune,
                chains=chains,
                target_accept=target_accept,
                random_seed=seed,
                progressbar=progressbar,
            )
        else:
            drawn = approximate(
                graph,
                begin,
                method=method,
                draws=draws * chains,
                steps=advi_steps,
                random_seed=seed,
                progressbar=progressbar,
            )
        posterior, permutation = drawn.posterior, None
        if relabel and entry.is_exchangeable(data):
            posterior, permutation = align_classes(posterior)
        with status("computing labels and diagnostics", show=progressbar):
            return assemble(
                entry,
                data,
                graph,
                posterior,
                drawn.sample_stats,
                permutation=permutation,
                more_diagnostics=drawn.diagnostics,
                attrs={
                    "method": method,
                    "engine": engine if method == "nuts" else "pymc",
                    "random_seed": seed,
                    "seconds_compile": drawn.seconds_compile,
                    "seconds_sample": drawn.seconds_sample,
                },
            )


def relabel_classes(fit: xarray.DataTree, *, rule: Rule = "unweighted") -> xarray.DataTree:
    """Undo label switching in a fit: per draw, take the permutation of the classes that the rule prefers.

    Every variable with a class dimension is permuted; the posterior of the labels, deterministics, log prior and
    diagnostics are computed anew. The share of draws changed is among the diagnostics.

    Parameters
    ----------
    fit : xarray.DataTree
    rule : {"unweighted", "weighted"}
        Eq. 56 (default) or eq. 55 of Rzhetsky et al. (2008); see `bayesanno.inference.relabel`.

    Raises
    ------
    FitError
        If the fit's prior tells the classes apart, or it has controls: then a permuted draw is another explanation,
        with another density.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fits = [ba.load(f"run{seed}") for seed in (1, 2)]  # doctest: +SKIP
    >>> ba.relabel_classes(ba.join(fits), rule="weighted")  # doctest: +SKIP
    """
    entry, data = model_of(fit), data_of(fit)
    if not entry.is_exchangeable(data):
        why = (
            "it has controls"
            if getattr(data, "controls", None)
            else f"the prior of {entry.name} tells the classes apart"
        )
        raise FitError(f"relabelling would change the density of this fit's draws: {why}")
    posterior, permutation = align_classes(fit["posterior"].to_dataset(), rule)
    found = diagnostics_of(fit)
    before = fit["sample_stats"].to_dataset().get("permutation")
    return assemble(
        entry,
        data,
        entry.build(data),
        posterior,
        fit["sample_stats"].to_dataset(),
        permutation=permutation if before is None else compose(before, permutation),
        more_diagnostics={name: found[name] for name in ("converged", "advi_steps", "pareto_k") if name in found},
        attrs=fit.attrs,
    )


def join(fits: Sequence[xarray.DataTree]) -> xarray.DataTree:
    """Put the chains of several fits of one model to the same data side by side, and diagnose them together.

    Raises
    ------
    FitError
        If there is no fit, or one is not by NUTS, or they differ in model, priors, data or number of draws.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fits = [ba.load(f"run{seed}/posterior.nc") for seed in (1, 2)]  # doctest: +SKIP
    >>> ba.join(fits)["posterior"].sizes["chain"]  # doctest: +SKIP
    8
    """
    if not fits:
        raise FitError("there is no fit to join")
    first = fits[0]
    for what in ("model", "fields", "data_hash", "method"):
        values = {str(one.attrs[what]) for one in fits}
        if len(values) > 1:
            raise FitError(f"fits to be joined differ in {what}: {', '.join(sorted(values))}")
    if first.attrs["method"] != "nuts":
        raise FitError(f"only fits by NUTS have chains to join: these are by {first.attrs['method']}")
    sizes = {one["posterior"].sizes["draw"] for one in fits}
    if len(sizes) > 1:
        raise FitError(f"fits to be joined differ in their number of draws: {sorted(sizes)}")
    groups = {}
    for group in ("posterior", "sample_stats"):
        parts = [one[group].to_dataset() for one in fits]
        shared = sorted(set.intersection(*({str(name) for name in part.data_vars} for part in parts)))
        whole: xarray.Dataset = xr.concat([part[shared] for part in parts], dim="chain")
        groups[group] = whole.assign_coords(chain=np.arange(whole.sizes["chain"]))
    entry, data = model_of(first), data_of(first)
    stats = groups["sample_stats"]
    attrs = dict(first.attrs) | {"random_seed": ", ".join(str(one.attrs["random_seed"]) for one in fits)}
    for seconds in ("seconds_compile", "seconds_sample"):
        attrs[seconds] = float(sum(one.attrs[seconds] for one in fits))
    return assemble(
        entry,
        data,
        entry.build(data),
        groups["posterior"],
        stats,
        permutation=stats.get("permutation"),
        attrs=attrs,
    )


def check_settings(
    *,
    method: str,
    engine: str,
    draws: int,
    tune: int,
    chains: int,
    target_accept: float,
    advi_steps: int,
    random_seed: int | None = None,
) -> None:
    """Raise unless the settings of a fit are possible.

    Raises
    ------
    FitError
        If the method or the engine is unknown, or a number is out of its range.
    EngineError
        If the engine is not installed.
    """
    if method not in get_args(Method):
        raise FitError(f"there is no method {method!r}: choose one of {', '.join(get_args(Method))}")
    check_engine(engine)
    for name, value, least in (
        ("draws", draws, 4),
        ("tune", tune, 1),
        ("chains", chains, 1),
        ("advi_steps", advi_steps, 1),
    ):
        if value < least:
            raise FitError(f"{name} is {value}: it must be at least {least}")
    check_seed(random_seed)
    if not 0 < target_accept < 1:
        raise FitError(f"target_accept is {target_accept}: it must be between 0 and 1 (exclusive)")


def _checked_start(start: Mapping[str, Any], graph: Any) -> dict[str, np.ndarray]:
    shapes = {variable.name: tuple(map(int, variable.shape.eval())) for variable in graph.free_RVs}
    for name, value in start.items():
        if name not in shapes:
            raise FitError(f"start: the model has no free variable {name!r}: it has {', '.join(shapes)}")
        if np.shape(value) != shapes[name]:
            raise FitError(f"start: {name} has shape {np.shape(value)}, the model's is {shapes[name]}")
    return {name: np.asarray(value, dtype=float) for name, value in start.items()}
