"""From a model and annotations to a fit, in the five steps of the map in `bayesanno.inference`."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesanno._core.lazy import pd, pm, xr
from bayesanno._core.running import keep_keyboard_interrupt, one_blas_thread, status
from bayesanno._core.validate import check_memory, check_seed, is_remote, known_seed, suggest_arguments
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.storage import free_old_fits
from bayesanno.graph.functions import plain_compiling
from bayesanno.inference.assemble import check_answers, compute, find, make_tree
from bayesanno.inference.diagnosis.findings import find_before
from bayesanno.inference.methods import check_method_on_dask, choose_method
from bayesanno.inference.modes.record import place_chains
from bayesanno.inference.relabelling import align_classes, require_class_matrices
from bayesanno.inference.sampling.starts import Begin, check_initvals, choose_starts
from bayesanno.inference.settings import NUTSSampler
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.findings import warn_of
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.registry import get_model

if TYPE_CHECKING:
    from dask.distributed import Client

    from bayesanno.inference.dask.annotations import DaskAnnotations
    from bayesanno.io.sources import Source


@suggest_arguments({"seed": "random_seed", "sampler": "nuts_sampler", "start": "initvals"})
def fit(
    model: str | AnnotationModel,
    data: Data | DaskAnnotations | Source,
    *,
    method: str = "nuts",
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    target_accept: float = 0.8,
    random_seed: int | None = None,
    nuts_sampler: NUTSSampler = "nutpie",
    nuts_sampler_kwargs: Mapping[str, Any] | None = None,
    initvals: Begin | Mapping[str, Any] = "auto",
    relabel: bool = True,
    check: bool = True,
    method_options: Mapping[str, Any] | None = None,
    progressbar: bool = True,
    client: Client | None = None,
) -> xr.DataTree:
    """Fit a model to annotations.

    Parameters
    ----------
    model : str or AnnotationModel
        The name of a model, or an instance (with your own priors).
    data : AnnotationData or other data, as the model takes; path, str, DataFrame or list of records
        A file or a table is read without further options, by `read_annotations` or the reader of the other kind. EM
        and VB also take annotations on a Dask cluster: the result of `distribute_annotations`, or, with a `client`, a
        folder of Parquet files or a dask.dataframe.
    method : {"nuts", "advi", "fullrank_advi", "em", "vb"}
        NUTS samples the posterior. ADVI fits a normal approximation on the unconstrained scale (independent, or with
        all correlations). EM finds the point of maximum likelihood, in a fraction of the time; its tables have no
        intervals. VB, variational Bayes with conjugate updates, is equally fast. It approximates the posterior by
        independent distributions of the parameters and of the items' latents, each in the family of its prior. Means
        are often good, but intervals are too narrow. Not all models have EM and VB; the error lists those that do.
    draws, tune, chains : int
        The number of draws kept and of tuning steps per chain, and of chains. ADVI and VB give `draws * chains` draws
        in one chain; VB keeps fewer if they would take more than 320 MiB.
    target_accept : float
        Target acceptance rate of NUTS, in (0, 1). A higher rate gives shorter steps.
    random_seed : int, optional
        Makes the fit reproducible, bit for bit, on one machine. By default a seed is drawn and stored.
    nuts_sampler : {"nutpie", "pymc", "numpyro", "blackjax"}
        The implementation of NUTS; the last two are extras.
    nuts_sampler_kwargs : mapping, optional
        Further settings of that sampler, under its own names: {"maxdepth": 8} for nutpie, {"max_treedepth": 8} for
        PyMC.
    initvals : "auto", "vote", "prior", "em" or mapping of variable name to array
        The starting points of chains, each with jitter. "auto" searches for modes of the posterior, from the majority
        vote and random points, and starts chains in the modes that are probable by importance sampling: at least one
        chain in each, if there are enough, and the others in proportion. If an ascent does not reach a mode, there are
        too many parameters to estimate probabilities, or the model has scale parameters, chains are divided evenly over
        the modes that may be probable and the points where such ascents ended, the vote's first. The diagnostics
        list the modes found. "vote" starts near the majority vote, "prior" at draws from the prior, "em" near the best
        point that EM finds for the posterior density; a mapping has values on the variables' own scale. For EM and VB
        it sets the first restart: the vote, the given point without jitter, or with "prior" a draw like the others.
    relabel : bool
        Whether to undo label switching if prior and likelihood do not distinguish the classes; see
        `bayesanno.inference.relabelling`.
    check : bool
        Whether to compare the answers with those that the fit predicts, which takes about a second. The diagnostics
        have the result as `misfit`, and `adjust` makes label probabilities as certain as it allows. On a cluster, only
        some items are compared.
    method_options : mapping, optional
        Further options of the method: `starts`, the random points from which initvals="auto" searches (20). For advi
        and fullrank_advi, `steps`, the largest number of steps (50,000). For em and vb, `restarts`, the number of
        starts (10); `steps`, the largest number of E-steps per start (5,000); `tolerance`, the change of any
        probability in one step at convergence (1e-6). For em, `objective`, "ml" or "map"; `smoothing` and `epsilon`:
        see `bayesanno.inference.methods.EMSettings`.
    progressbar : bool
        Whether to show progress.
    client : dask.distributed.Client, optional
        The client of a cluster that reads and holds annotations; requires the extra `bayesanno[dask]`.

    Returns
    -------
    xarray.DataTree
        The groups posterior, sample_stats, log_likelihood (per item), log_prior, observed_data, constant_data; latent,
        with `probability`, its log `log_probability` and `probability_mcse` (item, state), and `entropy` (item) in
        nats; for NUTS convergence, with bulk and tail ESS and R-hat of each parameter; and check, what `adjust` would
        do. The attributes contain the model and its fields, the method, the kind of its result and its settings, the
        seed, versions, the hash of the data, seconds and diagnostics.

        A fit by EM is one chain of one draw, without log_prior, convergence and `probability_mcse`. `lp` is the
        objective, and the diagnostics have `climb`: the number of restarts that agree, and how far the others ended
        from the best.

        A fit by VB has draws from the approximation, with their `log_ratio` and the Pareto k of these ratios. `latent`
        comes from the approximation itself, not from the draws. The diagnostics have `climb` as well, with the `elbo`.

        A fit on a Dask cluster holds no items: no latent, no log_likelihood and no observed_data. It has the
        parameters, and in `e_step` the values from which labels are computed. `write_labels` writes the labels on the
        workers, and `annotator_table` and `summary` work as usual. The estimates are the same as in memory.

        All draws have equal weight, even if chains are in several modes. A warning then names `combine_modes`, which
        weights modes by their probability, `split_modes`, and `drop_chains`. These recompute labels, tables and
        diagnostics; `fit.isel(chain=...)` alone does not update `latent`, `convergence` and the diagnostics.

    Raises
    ------
    ModelError
        If the model is unknown.
    ExtraError
        If Dask is required and not installed.
    DataError
        If the data are not of the kind that the model takes, or cannot support it.
    FitError
        If a setting or a method option is unknown or out of range, an initial value does not suit the model, the
        sampler fails, or the Dask cluster fails.
    SamplerError
        If the sampler is not installed.

    Warns
    -----
    IdentifiabilityWarning
        If the design does not identify who is right, or the model cannot learn all its parameters from such data.
    ConvergenceWarning
        If a diagnostic shows that the posterior is not yet reliable; the message gives the reason and a remedy.
    MisfitWarning
        If the fit does not predict the answers well: errors on an item are correlated, pairs of annotators agree too
        often, or the distribution of votes differs. Also if 20 or more true labels are known and contradict the labels.
    SizeWarning
        If log_likelihood would take more than 2 GiB and is left out (`compute_log_likelihood` adds it), or VB keeps
        fewer draws than requested.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("mace", data, random_seed=1, progressbar=False)
    >>> ba.label_table(fit).columns[:3].tolist()
    ['item', 'label', 'probability']
    """
    # 1. Check the arguments; read and check the data.
    model = get_model(model)
    arguments: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains, "target_accept": target_accept}
    arguments |= {"nuts_sampler": nuts_sampler, "nuts_sampler_kwargs": nuts_sampler_kwargs}
    settings: Any
    chosen, settings = choose_method(method, method_options, **arguments)
    check_seed(random_seed)
    check_initvals(initvals)
    if not chosen.needs_graph or (isinstance(initvals, str) and initvals == "em"):
        from bayesanno.inference.em_vb.fixed_point import require_updates

        require_updates(model, "em" if chosen.needs_graph else method)
    answers = _require_answers(model, data, method, client)
    before = find_before(model, answers)
    warn_of(before)
    how: dict[str, Any] = {"random_seed": known_seed(random_seed), "progressbar": progressbar}
    made_by: dict[str, Any] = {"method": method, "yields": chosen.yields, "settings": json.dumps(settings.to_fields())}
    if not chosen.needs_graph:  # steps 2 to 4 are the method's own
        with _on_workers() if isinstance(answers, AnnotationTotals) else nullcontext():
            results = chosen.run(model, answers, settings, initvals=initvals, relabel=relabel, **how)
    else:
        with plain_compiling(), one_blas_thread(), keep_keyboard_interrupt():
            # 2. Build the graph; compile it, look for modes, and choose where chains start.
            graph = model.build(answers)
            _require_memory(model, graph, settings)
            if aligns := relabel and model.is_exchangeable(answers):
                require_class_matrices([graph.named_vars_to_dims.get(one.name, ()) for one in graph.free_RVs])
            begin = time.perf_counter()
            budget = {"n_starts": settings.starts, "most_gradients": settings.n_gradients_of_search}
            starts = choose_starts(graph, model, answers, initvals, **budget, **how)
            seconds = time.perf_counter() - begin
            # 3. Sample.
            drawn = chosen.run(graph, starts, settings, **how)
            # 4. Align exchangeable classes; compute labels and diagnostics.
            posterior, stats = drawn.posterior, drawn.sample_stats
            if aligns:
                posterior, permutation = align_classes(posterior)
                stats = stats.assign(permutation=permutation)
            searched = place_chains(model, answers, graph, starts.modes, drawn.posterior, stats["lp"], **how)
            made_by |= {"random_seed": how["random_seed"], "seconds_sample": drawn.seconds_sample}
            made_by["seconds_compile"] = seconds + drawn.seconds_compile
            if hasattr(settings, "nuts_sampler"):
                made_by["nuts_sampler"] = settings.nuts_sampler
            more: dict[str, Any] = {"attrs": made_by, "more_diagnostics": drawn.diagnostics}
            with status("computing labels and diagnostics", show=progressbar):
                results = compute(model, answers, posterior, stats, graph=graph, searched=searched, **more)
    # 5. Compare the answers with predictions; find what the fit shows, and warn of it.
    fit = make_tree(model, answers, replace(results, attrs=made_by | dict(results.attrs)))
    if check:
        check_answers(fit, model, answers)
    warn_of(find(fit, model, answers, before=before, check=check), said=sum(bool(one.warning) for one in before))
    free_old_fits(fit)
    return fit


def _require_answers(model: AnnotationModel, data: Any, method: str, client: Client | None) -> Any:
    """Return the data to fit: those in memory if the model takes them, or those on a Dask cluster."""
    if client is None and isinstance(data, str | os.PathLike | pd.DataFrame | list):
        data = kind_of(model).read_any(data)
    if client is not None or isinstance(data, AnnotationTotals) or is_remote(data):
        check_method_on_dask(method)
        from bayesanno.inference.dask.annotations import require_distributed

        return require_distributed(data, client)
    model.check(data)
    for term in terms_of(model):
        term.check_design(data)
        data = term.take(data)
    return data


def _on_workers() -> AbstractContextManager[None]:
    from bayesanno.inference.dask.cluster import allow_large_tasks

    return allow_large_tasks()


def _require_memory(model: AnnotationModel, graph: pm.Model, settings: Any) -> None:
    """Raise a FitError if there is no memory for the draws of all parameters with known dimensions."""
    n_draws = getattr(settings, "draws", 1) * getattr(settings, "chains", 1)  # a method may yield a point
    sizes: dict[str, list[int]] = {}
    for variable in [*graph.free_RVs, *graph.deterministics]:
        dims = graph.named_vars_to_dims.get(variable.name) or ()
        sizes[variable.name] = [len(graph.coords[dim] or ()) for dim in dims]
    largest = max(sizes, key=lambda name: math.prod(sizes[name]))
    named = (
        f"{largest} has {' x '.join(f'{n:,}' for n in sizes[largest])} numbers, and {n_draws:,} draws of {model.name}"
    )
    check_memory((n_draws, sum(map(math.prod, sizes.values()))), named, "take fewer draws")
