"""Simulation-based calibration: whether posteriors are those of the model that made the data.

Parameters are drawn from the prior, data from the parameters, and the model is fitted to the data. If all is right, the
rank of the true value among draws of its posterior is as often any number as any other, for each parameter, and for the
log likelihood, which depends on data and parameters both and notices what parameters alone do not.

The invariant: a simulation's data and fit follow from the seed and its number alone; every one of them is there, or the
study raises.

References
----------
S. Talts, M. Betancourt, D. Simpson, A. Vehtari and A. Gelman (2018), Validating Bayesian inference algorithms with
simulation-based calibration, arXiv:1804.06788.
M. Modrák, A. H. Moon, S. Kim, P. Bürkner, N. Huurre, K. Faltejsková, A. Gelman and A. Vehtari (2025), Simulation-based
calibration checking for Bayesian computation: the choice of test quantities shapes sensitivity, Bayesian Analysis
20(2), 461-488, doi:10.1214/23-BA1404.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.criticism.parallel import check_workers, run_all
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import BayesannoError, ConvergenceWarning, FitError, IdentifiabilityWarning
from bayesanno.ground.lazy import xr
from bayesanno.ground.validate import check_seed, known_seed
from bayesanno.inference.fit import fit
from bayesanno.inference.found_modes import explain_chains
from bayesanno.inference.split import combine_modes
from bayesanno.inference.surface import name_elements
from bayesanno.modeling.capabilities import HasKnownParameters
from bayesanno.modeling.posterior import log_likelihood_of
from bayesanno.modeling.registry import get_model
from bayesanno.simulation.simulate import Simulator

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

KEPT = 99  # draws that a rank is among: evenly spaced, so that they are nearly independent
BINS = 10  # of ranks, for the test of uniformity
LIKELIHOOD = "log_likelihood"


def sbc(
    model: str | AnnotationModel,
    design: Data,
    *,
    simulations: int = 200,
    random_seed: int | None = None,
    workers: int = 1,
    client: Any = None,
    progressbar: bool = True,
    **arguments: Any,
) -> xarray.Dataset:
    """Fit a model to data that it has made itself, again and again, and rank the true parameters.

    Parameters
    ----------
    model : str or AnnotationModel
        Whose parameters have a prior without data: not one that takes label frequencies from the answers.
    design : AnnotationData, CountData or MultiAnnotationData, as the model takes
        Who is asked about what; see `bayesanno.make_design`. All simulations share one compiled graph.
    simulations : int
        How many.
    random_seed : int, optional
    workers : int
        Processes side by side; with more than one, a script needs the usual `if __name__ == "__main__":`.
    client : dask.distributed.Client, optional
        A cluster that fits instead.
    progressbar : bool
    arguments
        Of `bayesanno.fit`, such as draws and tune. Classes are never relabelled.

    Returns
    -------
    xarray.Dataset
        The rank, 0 to 99, of each parameter and of `log_likelihood` in each simulation, dims (simulation, ...);
        `warned`, whether the fit warned that it is not to be believed; and `several_modes`, whether chains were in
        several modes, whose draws were weighed by mass (`combine_modes`), where that could be told.

    Raises
    ------
    FitError
        If the model takes parameters from data, a number is out of its range, or a fit fails.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=20, annotators=3, labels=2, per_item=3, random_seed=1)
    >>> ranks = ba.sbc("model_b", design, simulations=200, random_seed=1, workers=2)  # doctest: +SKIP
    >>> ba.sbc_table(ranks).head()  # doctest: +SKIP
    """
    chosen = get_model(model)
    check_seed(random_seed)
    check_workers(workers)
    if simulations < 1:
        raise FitError(f"simulations is {simulations}: it must be 1 or more")
    if isinstance(chosen, HasKnownParameters) and chosen.without_data() != chosen:
        raise FitError(
            f"{chosen.name} takes parameters from the data, and has no prior of its own for them: give a variant that "
            f"learns them, such as {chosen.without_data()!r}"
        )
    chosen.check(design)
    seed = known_seed(random_seed)
    numbers = range(simulations)
    done: dict[int, xarray.Dataset] = {}
    ranked = run_all(
        rank_one,
        numbers,
        chosen,
        design,
        seed,
        arguments,
        workers=workers,
        client=client,
        message="simulating",
        progressbar=progressbar,
    )
    for number, ranks in ranked:
        done[number] = ranks
    if len(done) != simulations:
        raise FitError(f"{len(done)} of {simulations} simulations are there: the study is not whole")
    found = xr.concat([done[number] for number in numbers], dim="simulation").assign_coords(simulation=list(numbers))
    found.attrs = {"model": chosen.name, "kept": KEPT, "random_seed": seed}
    whole: xarray.Dataset = found
    return whole


def rank_one(number: int, model: AnnotationModel, design: Data, seed: int, arguments: dict[str, Any]) -> xarray.Dataset:
    """Simulate one data set, fit the model, and return the ranks of the truth."""
    of_data, of_fit = (int(one) for one in np.random.SeedSequence([seed, number]).generate_state(2))
    data, truth = _simulator(model, design).draw(of_data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = {"progressbar": False, **arguments, "random_seed": of_fit, "relabel": False}
        view = view_of(fit(model, data, **settings))
        several = bool(explain_chains(view.diagnostics))
        if several:
            with suppress(BayesannoError):  # what modes weigh cannot always be told: then all draws count alike
                view = view_of(combine_modes(view, random_seed=of_fit))
    warned = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    for one in caught:
        if not issubclass(one.category, (ConvergenceWarning, IdentifiabilityWarning)):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    names = [str(name) for name in view.posterior.data_vars if name in truth]
    draws = {name: view.posterior[name].stack(sample=("chain", "draw")).transpose("sample", ...) for name in names}
    n = next(iter(draws.values())).sizes["sample"]
    if n < KEPT:
        raise FitError(f"ranks are among {KEPT} draws, and the fit has {n}: ask for more")
    at = np.linspace(0, n - 1, KEPT).round().astype(int)
    ranks = {
        name: (truth[name].dims, (values.values[at] < truth[name].values).sum(axis=0)) for name, values in draws.items()
    }
    point = truth[names].expand_dims(chain=[0], draw=[0])
    own = log_likelihood_of(model, data, point).sum()
    likelihood = view.tree["log_likelihood"].to_dataset()
    total = sum(values.transpose("chain", "draw", ...).values.sum(axis=-1) for values in likelihood.data_vars.values())
    ranks[LIKELIHOOD] = ((), (np.asarray(total).reshape(-1)[at] < own).sum())
    flags = {"warned": ((), warned), "several_modes": ((), several)}
    coords = {dim: truth[dim].values for name in names for dim in truth[name].dims}
    return xr.Dataset({**ranks, **flags}, coords=coords)


_simulators: dict[tuple[AnnotationModel, str], Simulator] = {}  # of this process: the last one


def _simulator(model: AnnotationModel, design: Data) -> Simulator:
    key = (model, design.hash)
    if key not in _simulators:
        _simulators.clear()
        _simulators[key] = Simulator(model, design)
    return _simulators[key]


def sbc_table(ranks: xarray.Dataset) -> pd.DataFrame:
    """Return, for each parameter, whether its ranks are uniform.

    Parameters
    ----------
    ranks : xarray.Dataset
        As `sbc` gives them.

    Returns
    -------
    pandas.DataFrame
        One row per parameter, the least probable first: `parameter`, `mean_rank` (0.5 is right; above, the posterior is
        too low), `spread` (the variance of ranks against that of uniform ones: above 1 the posterior is too narrow),
        `p`, of a chi-square test of ten bins, and `p_adjusted` for the number of parameters (Holm 1979). The study as a
        whole fails where the least `p_adjusted` is small.

    Raises
    ------
    FitError
        If there are fewer than 50 simulations, of which bins would hold fewer than 5.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=20, annotators=3, labels=2, per_item=3, random_seed=1)
    >>> ranks = ba.sbc("model_b", design, simulations=200, random_seed=1, workers=2)  # doctest: +SKIP
    >>> ba.sbc_table(ranks)["p_adjusted"].min() > 0.01  # doctest: +SKIP
    True
    """
    import pandas as pd
    from scipy.stats import chisquare

    n = ranks.sizes["simulation"]
    if n < 5 * BINS:
        raise FitError(f"there are {n} simulations: a test of their ranks needs {5 * BINS} or more")
    rows = []
    for name, values in ranks.drop_vars(["warned", "several_modes"]).data_vars.items():
        flat = values.transpose("simulation", ...).values.reshape(n, -1)
        one = values.isel(simulation=0, drop=True)
        labels = name_elements(str(name), [one[dim].values.tolist() for dim in one.dims])
        for label, own in zip(labels, flat.T, strict=True):
            counts = np.bincount(own * BINS // (KEPT + 1), minlength=BINS)
            share = (own + 0.5) / (KEPT + 1)
            row = {"parameter": label, "mean_rank": share.mean(), "spread": share.var(ddof=1) * 12}
            rows.append(row | {"p": float(chisquare(counts).pvalue)})
    table = pd.DataFrame(rows).sort_values("p", kind="stable", ignore_index=True)
    steps = table["p"].to_numpy() * np.arange(len(table), 0, -1)
    return table.assign(p_adjusted=np.minimum(np.maximum.accumulate(steps), 1.0))
