"""Simulation-based calibration: whether posteriors are those of the model that generated the data.

Parameters are drawn from the prior, data from the parameters, and the model is fitted to the data. If the computation
is correct, the rank of the true value among posterior draws is uniform. This holds for each parameter, and for the log
likelihood, which depends on data and parameters and shows errors that parameters alone do not.

If a prior is exchangeable in the classes, the posterior has one copy of itself for each permutation of the class names.
The true parameters may be in any copy, but chains start in that of the vote and may stay there. Each draw is equally
probable under all permutations, so it is ranked under a random one, and label probabilities are averaged over all.

The invariant: a simulation's data and fit depend only on the seed and its number; a study is complete, or raises.

References
----------
S. Talts, M. Betancourt, D. Simpson, A. Vehtari and A. Gelman (2018), Validating Bayesian inference algorithms with
simulation-based calibration, arXiv:1804.06788.
M. Modrák, A. H. Moon, S. Kim, P. Bürkner, N. Huurre, K. Faltejsková, A. Gelman and A. Vehtari (2025), Simulation-based
calibration checking for Bayesian computation: the choice of test quantities shapes sensitivity, Bayesian Analysis
20(2), 461-488, doi:10.1214/23-BA1404.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from bayesanno._core.errors import BayesannoError, FitError
from bayesanno._core.lazy import pm, xr
from bayesanno._core.validate import check_at_least, check_seed, known_seed
from bayesanno.criticism.prior import require_own_prior
from bayesanno.criticism.trials import collect_warnings, run_all
from bayesanno.fits.view import FitView, view_of
from bayesanno.graph.draws import add_deterministics
from bayesanno.graph.functions import keep, stack_samples
from bayesanno.inference.diagnosis.modes import chains_are_apart
from bayesanno.inference.fit import fit
from bayesanno.inference.relabelling import permute_classes
from bayesanno.inference.split import combine_modes
from bayesanno.modeling.base import AnnotationModel, require_data
from bayesanno.modeling.data_adapters import Data
from bayesanno.modeling.posterior import compile_formula
from bayesanno.modeling.registry import get_model
from bayesanno.simulation.simulate import Simulator

KEPT = 99  # draws among which the truth is ranked: evenly spaced, so nearly independent
LIKELIHOOD = "log_likelihood"
PROBABILITY, STATE = "probability", "state"


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
) -> xr.Dataset:
    """Fit a model to data simulated from it, many times, and rank the true parameters among the draws.

    Parameters
    ----------
    model : str or AnnotationModel
        A model with priors that do not depend on data; models that take label frequencies from the answers are refused.
    design : AnnotationData, CountData or MultiAnnotationData, as the model takes
        The design; see `bayesanno.make_design`. All simulations share one compiled graph.
    simulations : int
        The number of simulations.
    random_seed : int, optional
    workers : int
        Processes in parallel; with more than one, a script needs the usual `if __name__ == "__main__":`.
    client : dask.distributed.Client, optional
        A cluster that runs the fits instead.
    progressbar : bool
    arguments
        Further arguments of `bayesanno.fit`, such as draws and tune. Classes are never relabelled by a rule. If they
        are exchangeable, each draw is ranked under a random permutation of the class names.

    Returns
    -------
    xarray.Dataset
        The attribute `ranked` names the ranked variables, dims (simulation, ...): each parameter, deterministics (such
        as the accuracy of annotators in `model_b`), and `log_likelihood`. Ranks are from 0 to 99. The others:

        * `warned`: whether the fit warned that it is not reliable;
        * `several_modes`: whether chains were in several modes; their draws were then weighted by mass
          (`combine_modes`), if masses are known;
        * `probability` (simulation, item, state), in single precision, and `state` (simulation, item), the code of the
          true state, if items have several states (labels or types). With several dimensions, both have the dims
          (simulation, dimension, item, ...), and the probability of a state that a dimension lacks is 0. Controls are
          left out. If classes are exchangeable, the data do not identify their names: all are equally probable, and
          tables of labels are not informative.

    Raises
    ------
    FitError
        If the model takes parameters from the data, a number is out of range, or a fit fails.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=20, annotators=3, labels=2, per_item=3, random_seed=1)
    >>> ranks = ba.sbc("model_b", design, simulations=200, random_seed=1, workers=2)  # doctest: +SKIP
    >>> ba.sbc_table(ranks).head()  # doctest: +SKIP
    >>> ba.plot_ranks(ranks)  # doctest: +SKIP
    """
    chosen = get_model(model)
    check_seed(random_seed)
    check_at_least("workers", workers, 1)
    check_at_least("simulations", simulations, 1)
    require_own_prior(chosen)
    require_data(chosen, design)  # the answers are checked later: `fit` checks the simulated ones
    seed = known_seed(random_seed)
    numbers = range(simulations)
    how = {"workers": workers, "client": client, "message": "simulating", "progressbar": progressbar}
    done = dict(run_all(rank_one, numbers, chosen, design, seed, arguments, **how))
    if len(done) != simulations:
        raise FitError(f"only {len(done)} of {simulations} simulations are complete: run the study again")
    found: xr.Dataset = xr.concat([done[number] for number in numbers], dim="simulation").assign_coords(
        simulation=list(numbers)
    )
    found.attrs |= {"model": chosen.name, "kept": KEPT, "random_seed": seed}
    return found


def rank_one(number: int, model: AnnotationModel, design: Data, seed: int, arguments: dict[str, Any]) -> xr.Dataset:
    """Simulate one data set, fit the model, and return the ranks of the truth and the fit's results for the items."""
    of_data, of_fit, of_names = (int(one) for one in np.random.SeedSequence([seed, number]).generate_state(3))
    data, truth, state = _simulator(model, design).draw(of_data)
    view, flags = _fit(model, data, {"progressbar": False, **arguments, "random_seed": of_fit, "relabel": False})
    names = [str(name) for name in view.posterior.data_vars if name in truth]
    draws = view.posterior
    if model.is_exchangeable(data):
        draws = _name_at_random(draws, _simulator(model, design).graph, np.random.default_rng(of_names))
    ranks = _rank(draws, truth[names], _spaced(view)) | {LIKELIHOOD: ((), _rank_likelihood(view, truth[names]))}
    coords = {dim: truth[dim].values for name in names for dim in truth[name].dims}
    found = xr.Dataset({**ranks, **flags}, coords=coords).merge(_keep_states(view, state))
    return found.assign_attrs(ranked=list(ranks))


def _fit(model: AnnotationModel, data: Data, settings: dict[str, Any]) -> tuple[FitView, dict[str, Any]]:
    """Fit, weight modes if there are several; return also whether there were several, and whether the fit warned."""
    with collect_warnings() as doubts:
        view = view_of(fit(model, data, check=False, **settings))
        several = chains_are_apart(view.diagnostics)
        if several:
            with suppress(BayesannoError):  # masses may be unknown, or leave few draws: then all draws count equally
                combined = view_of(combine_modes(view, random_seed=settings["random_seed"]))
                view = combined if combined.posterior.sizes["draw"] >= KEPT else view
    return view, {"warned": ((), bool(doubts)), "several_modes": ((), several)}


def _name_at_random(draws: xr.Dataset, graph: pm.Model, rng: np.random.Generator) -> xr.Dataset:
    """Permute the classes of each draw uniformly at random, along with the quantities derived from them."""
    n_samples, n_classes = draws.sizes["chain"] * draws.sizes["draw"], draws.sizes["true_class"]
    permutations = rng.permuted(np.tile(np.arange(n_classes), (n_samples, 1)), axis=1)  # (sample, true_class)
    free, _ = permute_classes(draws[[variable.name for variable in graph.free_RVs]], permutations)
    return add_deterministics(graph, free)


def _rank(posterior: xr.Dataset, truth: xr.Dataset, at: np.ndarray) -> dict[str, tuple[Any, np.ndarray]]:
    draws = stack_samples(posterior)  # (sample, ...)
    return {name: (truth[name].dims, (draws[name][at] < truth[name].values).sum(axis=0)) for name in map(str, truth)}


def _rank_likelihood(view: FitView, truth: xr.Dataset) -> np.ndarray:
    own = compile_formula(view.model, view.data, truth.expand_dims(chain=[0], draw=[0])).log_likelihood().sum()
    of_items = view.tree["log_likelihood"].to_dataset()
    total = sum(values.transpose("chain", "draw", ...).values.sum(axis=-1) for values in of_items.data_vars.values())
    return (np.asarray(total).reshape(-1)[_spaced(view)] < own).sum()


def _spaced(view: FitView) -> np.ndarray:
    """Return the indices of the draws among which the truth is ranked, chain after chain."""
    n = view.posterior.sizes["chain"] * view.posterior.sizes["draw"]
    if n < KEPT:
        raise FitError(f"ranks need {KEPT} draws, and the fit has {n}: increase draws")
    return np.linspace(0, n - 1, KEPT).round().astype(int)


def _keep_states(view: FitView, state: np.ndarray) -> xr.Dataset:
    """Return the state probabilities and the true states of items that are not controls."""
    each, given = view.model.latents(view.data), getattr(view.data, "controls", {})
    free = [number for number, item in enumerate(view.data.items) if item not in given]
    names = list(dict.fromkeys(name for latent in each for name in latent.states))
    if len(names) == 1:
        return xr.Dataset()
    kept = []
    for latent, true in zip(each, state.reshape(len(each), -1), strict=True):
        probability = view.latents[latent.name][PROBABILITY].transpose("item", latent.dim)
        if view.model.is_exchangeable(view.data):
            probability = _share_among_classes(probability, view.posterior["true_class"].values)
        probability = probability.reindex({latent.dim: names}, fill_value=0).astype(np.float32)
        number = np.array([names.index(name) for name in latent.states])[true]
        kept.append(xr.Dataset({PROBABILITY: probability, STATE: ("item", number)}).isel(item=free))
    dimensions = xr.Variable("dimension", [latent.name for latent in each])
    return kept[0] if len(kept) == 1 else xr.concat(kept, dim=dimensions)


def _share_among_classes(probability: xr.DataArray, classes: np.ndarray) -> xr.DataArray:
    """Return the mean (item, state) over all permutations of the classes; states that are not classes do not change."""
    of_class = np.isin(probability[probability.dims[1]].values, classes)  # (state,)
    mean = probability.values[:, of_class].mean(axis=1)  # (item,)
    return probability.copy(data=np.where(of_class, mean[:, None], probability.values))


def _simulator(model: AnnotationModel, design: Data) -> Simulator:
    return keep((Simulator, model, design.hash), lambda: Simulator(model, design))
