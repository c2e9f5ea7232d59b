"""Simulation-based calibration: whether posteriors are those of the model that generated the data.

Parameters are drawn from the prior, data from the parameters, and the model is fitted to the data. If the computation
is correct, the rank of the true value among posterior draws is uniform. This holds for each parameter, and for the log
likelihood, which depends on data and parameters and shows errors that parameters alone do not.

If a prior is exchangeable in the classes, the posterior has one copy of itself for each permutation of the class names.
The true parameters may be in any copy, but chains start in that of the vote and may stay there. Each draw is equally
probable under all permutations, so it is ranked under a random one, and label probabilities are averaged over all.

The invariant: a simulation's data and fit depend only on the seed and its number; a study is complete, or raises.

The invariant: only simulations are independent of each other. Values pooled over the annotators, classes or items of
one simulation are treated as a cluster.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import Any, Literal

import numpy as np

from bayesanno._core.intervals import name_bounds
from bayesanno._core.lazy import pd, pm, xr
from bayesanno._core.messages import (
    BayesannoError,
    ConvergenceWarning,
    DataError,
    FitError,
    IdentifiabilityWarning,
    name_elements,
)
from bayesanno._core.running import track
from bayesanno._core.validate import check_at_least, check_choice, check_made, check_seed, known_seed
from bayesanno.agreement.resampling import check_resampling
from bayesanno.criticism.calibration import (
    BINS,
    Predicted,
    bound_share,
    find_edges,
    score_probabilities,
    tabulate_reliability,
    tabulate_scores,
)
from bayesanno.criticism.prior import require_own_prior
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.view import FitView, view_of
from bayesanno.graph.functions import add_deterministics, keep, stack_samples
from bayesanno.inference.diagnosis.findings import chains_are_apart
from bayesanno.inference.fit import fit
from bayesanno.inference.relabelling import permute_classes
from bayesanno.inference.split import combine_modes
from bayesanno.modeling.arguments import Discrete
from bayesanno.modeling.base import AnnotationModel, require_data
from bayesanno.modeling.kinds import Data
from bayesanno.modeling.posterior import compile_formula
from bayesanno.modeling.registry import get_model
from bayesanno.simulation.quantities import says_labels
from bayesanno.simulation.simulate import Simulator


def try_fit(arguments: Mapping[str, Any], data: AnnotationData, seed: int) -> tuple[xr.DataTree | None, str]:
    """Return a fit, or None, and its warnings or the reason why it failed.

    Problems of the design are not repeated for every row.
    """
    try:
        with collect_warnings() as collected:
            found = fit(data=data, **{"random_seed": seed, "progressbar": False, "check": False, **arguments})
    except BayesannoError as error:
        return None, str(error)
    return found, "; ".join(collected)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Yield a list that, at the end, has the warnings of unreliable fits inside the context.

    Problems of the design are left out; all other warnings are raised when the fits are complete.
    """
    collected: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield collected
    for one in caught:
        if issubclass(one.category, ConvergenceWarning):
            collected.append(str(one.message))
        elif not issubclass(one.category, IdentifiabilityWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def gives_labels(model: AnnotationModel, data: Any) -> bool:
    """Return whether a model gives each item one label."""
    return says_labels(model, data) and len(model.latents(data)) == 1


def run_all[T, R](
    call: Callable[..., R], tasks: Sequence[T], *rest: Any, workers: int, client: Any, message: str, progressbar: bool
) -> Iterator[tuple[T, R]]:
    """Call `call(task, *rest)` for each task, and yield task and result as each is done, in any order.

    An interruption or an error cancels the tasks that have not begun.
    """
    if client is None and workers == 1:
        for task in track(tasks, message, show=progressbar):
            yield task, call(task, *rest)
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn")) if client is None else client.get_executor()
    with pool as executor:
        futures = {executor.submit(call, task, *rest): task for task in tasks}
        try:
            for future in track(as_completed(futures), message, show=progressbar, total=len(futures)):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            raise FitError(
                f"a process of workers={workers} ended before its work was done: a script needs "
                '`if __name__ == "__main__":` around its calls; or memory ran out, and workers=1 needs less'
            ) from error
        except BaseException:
            for future in futures:
                future.cancel()
            raise


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
    design : data of the kind that the model takes
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
    names = list(dict.fromkeys(name for latent in each if isinstance(latent, Discrete) for name in latent.states))
    if len(names) <= 1:
        return xr.Dataset()
    kept = []
    for latent, true in zip(each, state.reshape(len(each), -1), strict=True):
        assert isinstance(latent, Discrete)
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


RANK_BINS = 10  # bins of the test of uniformity
LEVELS = (50, 94)  # percent of central intervals, such that their ends fall between ranks


def sbc_table(
    study: xr.Dataset,
    *,
    of: Literal["parameters", "coverage", "labels", "scores"] = "parameters",
    bins: int = BINS,
    ci_prob: float | None = None,
    resamples: int = 1000,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return whether posteriors of simulated data are calibrated: ranks, intervals, labels, or scores of labels.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `sbc`; for "labels" and "scores", of a model with several states per item (labels or types).
    of : {"parameters", "coverage", "labels", "scores"}
        "parameters": whether the ranks of each parameter are uniform. "coverage": how often central posterior intervals
        cover the true values, pooled over annotators, classes and so on. "labels": how often labels are right, by their
        probability in the fits. "scores": scores of these probabilities.
    bins : int, default 10
        For labels and scores: the number of bins of equal width in [0, 1] for the probability of an item's most
        probable label.
    ci_prob : float, optional
        The confidence level of intervals for shares and scores; by default as in `summary`.
    resamples : int, default 1000
        For scores: the number of bootstrap resamples of the simulations; 0 for no intervals.
    random_seed : int, optional
        For scores.

    Returns
    -------
    pandas.DataFrame
        For parameters, one row each, the smallest p first: `parameter`; `mean_rank` (0.5 is right; above, the posterior
        is too low); `spread`, the variance of ranks relative to that of uniform ones (above 1, the posterior is too
        narrow); `covers_50` and `covers_94`, the shares of simulations in which the central intervals of 50% and 94%
        cover the true value; `p`, from a chi-square test with ten bins; and `p_adjusted` for the number of parameters
        (Holm 1979). The study as a whole fails if the smallest `p_adjusted` is small. The last columns are the same in
        all rows: `simulations`, their number, and `warned`, the number of fits that warned that they are not reliable.
        These are ranked with the others, since leaving them out would select among the data.

        For coverage, two rows per variable, such as the accuracy of all annotators: `variable`; `level`, the
        probability of the posterior intervals (0.5 or 0.94); `n`, the number of true values; `covered`, the share of
        them that is covered; `ci89_lb` and `ci89_ub` (named by `ci_prob`), the ends of an exact interval. It uses the
        effective number of independent values, since the parameters of one simulation are correlated.

        For labels, one row per nonempty bin, with the columns of `calibration_table`; for scores, those of
        `calibration_scores`. Intervals are over simulations.

    Raises
    ------
    FitError
        If `study` is not from `sbc`, there is no such table, the items have only one state, the seed is invalid, or
        there are fewer than 50 simulations, so that bins of ranks would have fewer than 5.
    DataError
        If `bins`, `ci_prob` or `resamples` is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=20, annotators=3, labels=2, per_item=3, random_seed=1)
    >>> study = ba.sbc("model_b", design, simulations=200, random_seed=1, workers=2)  # doctest: +SKIP
    >>> bool(ba.sbc_table(study)["p_adjusted"].min() > 0.01)  # doctest: +SKIP
    True
    >>> ba.sbc_table(study, of="coverage").query("variable == 'accuracy'")  # doctest: +SKIP
    """
    check_choice("of", of, ("parameters", "coverage", "labels", "scores"))
    count_simulations(study)
    if of == "parameters":
        return _test_ranks(study)
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    if of == "coverage":
        return _count_covered(study, ci_prob)
    check_at_least("bins", bins, 1, DataError)
    labels, n = _score_labels(study), study.sizes["simulation"]
    if of == "labels":
        return tabulate_reliability(labels.sure, labels.right, find_edges(labels.sure, bins), ci_prob, units=n)
    return tabulate_scores(labels, bins, ci_prob, resamples, random_seed, units=n)


def _test_ranks(study: xr.Dataset) -> pd.DataFrame:
    from scipy.stats import chisquare

    n = study.sizes["simulation"]
    if n < 5 * RANK_BINS:
        raise FitError(f"there are {n} simulations: a test of their ranks needs {5 * RANK_BINS} or more")
    rows = []
    for _, labels, values in ranks_by_variable(study):
        for label, own in zip(labels, values.T, strict=True):
            counts = np.bincount(own * RANK_BINS // (KEPT + 1), minlength=RANK_BINS)
            share = (own + 0.5) / (KEPT + 1)
            row = {"parameter": label, "mean_rank": share.mean(), "spread": share.var(ddof=1) * 12}
            row |= {f"covers_{level}": _is_covered(own, level).mean() for level in LEVELS}
            rows.append(row | {"p": float(chisquare(counts).pvalue)})
    table = pd.DataFrame(rows).sort_values("p", kind="stable", ignore_index=True)
    steps = table["p"].to_numpy() * np.arange(len(table), 0, -1)
    table = table.assign(p_adjusted=np.minimum(np.maximum.accumulate(steps), 1.0))
    return table.assign(simulations=n, warned=int(study["warned"].sum()))


def _count_covered(study: xr.Dataset, ci_prob: float) -> pd.DataFrame:
    rows = []
    for name, _, values in ranks_by_variable(study):
        for level in LEVELS:
            held = _is_covered(values, level)  # (simulation, element)
            ends = bound_share(held.sum(axis=1), np.full(len(held), held.shape[1]), ci_prob)
            row = {"variable": name, "level": level / 100, "n": held.size, "covered": held.mean()}
            rows.append(row | dict(zip(name_bounds("ci", ci_prob), ends, strict=True)))
    return pd.DataFrame(rows)


def count_simulations(ranks: xr.Dataset) -> int:
    """Return the number of simulations in a study; raise a FitError if `ranks` is not from `sbc`."""
    check_made(ranks, "Dataset", "sbc", ["ranked"])
    return int(ranks.sizes["simulation"])


def ranks_by_variable(ranks: xr.Dataset) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Yield each variable's name, the names of its elements, and their ranks (simulation, element)."""
    count_simulations(ranks)
    for name in ranks.attrs["ranked"]:
        values = ranks[name].transpose("simulation", ...)
        coords = [values[dim].values.tolist() for dim in values.dims[1:]]
        yield name, list(name_elements(name, coords)), values.values.reshape(len(values), -1)


def _is_covered(ranks: np.ndarray, level: int) -> np.ndarray:
    """Return whether the central interval of `level` percent covers the truth: `level` of the 100 ranks are inside."""
    outside = (KEPT + 1 - level) // 2
    return (ranks >= outside) & (ranks <= KEPT - outside)


def _score_labels(ranks: xr.Dataset) -> Predicted:
    """Return the fits' predictions for the items of all simulations, simulation after simulation."""
    if any(str(name).startswith("probability_") for name in ranks):
        raise FitError("this study is from an older version: run sbc again")
    if PROBABILITY not in ranks:
        raise FitError(f"items of {ranks.attrs['model']} have only one state: there are no labels to score")
    state = ranks[STATE].transpose("simulation", ...)  # (simulation, item), or with dimensions between
    probability = ranks[PROBABILITY].transpose(*state.dims, ...).values
    return score_probabilities(probability.reshape(state.size, -1), state.values.ravel())
