"""The quality of labels to expect before there are answers: data are simulated, fitted, and compared with the truth.

Each simulation uses one draw of the parameters, from a model's prior or from the annotators of another fit. The first
answer to each item, the first two and so on are fitted like real data. So the result includes the uncertainty about
annotators and the errors of the method.

The invariant: a simulation depends only on the seed, the design and the draw; larger numbers of answers include the
smaller ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from bayesanno._core.errors import DataError, FitError, MisfitWarning, warn
from bayesanno._core.intervals import choose_prob
from bayesanno._core.lazy import pd, xr
from bayesanno._core.validate import check_at_least, check_count, check_seed
from bayesanno.criticism.trials import collect_warnings, run_all
from bayesanno.data.annotations import AnnotationData, take_rows
from bayesanno.data.item_columns import take_columns
from bayesanno.fits.parts import part_of
from bayesanno.fits.view import FitView, require_as_fitted, view_of
from bayesanno.inference.diagnosis.findings import is_misfit
from bayesanno.inference.fit import fit
from bayesanno.inference.methods import choose_method
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import class_prior_of, terms_of
from bayesanno.modeling.independent import ConjugateModel
from bayesanno.modeling.registry import get_model
from bayesanno.planning.progress import Measure, check_target, tabulate_progress
from bayesanno.simulation.designs import make_design
from bayesanno.simulation.quantities import ModelDraws, draws_of_prior, replicate
from bayesanno.simulation.simulate import put_labels

type Future = tuple[AnnotationData, tuple[int, ...]]  # simulated data, and a seed for each number of answers

PER_ITEM = (1, 2, 3, 5, 8)
SIMULATIONS = {"vb": 30, "em": 30}  # defaults; fewer for methods that sample
FEW = 10
# enough for labels: VB has their posterior in closed form, and with draws it is a mean
QUICK: Mapping[str, Mapping[str, Any]] = {
    "nuts": {"draws": 200, "tune": 300, "chains": 2, "initvals": "vote"},
    "vb": {"draws": 25},
}


def plan_answers(
    model: str | AnnotationModel,
    *,
    items: int,
    annotators: int,
    per_item: Sequence[int] | None = None,
    labels: int | str | Sequence[str] | None = None,
    like: xr.DataTree | FitView | None = None,
    target: float | None = None,
    measure: Measure = "accuracy",
    sure: float = 0.95,
    method: str | None = None,
    simulations: int | None = None,
    ci_prob: float | None = None,
    random_seed: int | None = None,
    workers: int = 1,
    progressbar: bool = True,
) -> pd.DataFrame:
    """Return the expected quality of labels for several numbers of answers per item, before any are collected.

    Data are simulated and fitted by the model, and its labels are compared with the true ones. The annotators of an
    item are different, and are drawn at random.

    Parameters
    ----------
    model : str or AnnotationModel
        The model that will be fitted to the answers. Without `like` it also simulates them, with parameters from its
        prior.
    items, annotators : int
        The numbers of items and annotators.
    per_item : sequence of int, optional
        Numbers of answers per item, increasing; by default 1, 2, 3, 5 and 8, as far as there are annotators.
    labels : int, str or sequence of str, optional
        The number of labels or their names; by default 2, or with `like` those of that fit.
    like : xarray.DataTree or FitView, optional
        A fit of any model of labels, with annotators similar to the new ones. New annotators are drawn from the
        population of its model if it has one, such as `hierarchical_dawid_skene`, or else from its annotators, with
        replacement. If its items have columns, those of new items are drawn from them, with replacement.
    target : float, optional
        The share of right labels, or of certain ones, to reach.
    measure : {"accuracy", "share_sure"}
        The measure of the target.
    sure : float, default 0.95
        The least probability of a label that counts as certain.
    method : str, optional
        As in `fit`. The default is "vb" if the model has it, or else "nuts" with 2 chains of 200 draws, which takes
        minutes.
    simulations : int, optional
        By default 30, or 10 with a method that samples.
    ci_prob : float, optional
        The share of simulations within the intervals, with equal tails; by default as in `summary`.
    random_seed : int, optional
    workers : int
        Processes in parallel; with more than one, a script needs the usual `if __name__ == "__main__":`.
    progressbar : bool

    Returns
    -------
    pandas.DataFrame
        One row per number of answers, with the columns of `expected_progress`. Here `accuracy` is the mean share of
        right labels, with an interval over simulations. `p_reached` refers to that share, so it includes the luck of
        these items. The additional column `probability` is the share that the fits expect: the mean probability of the
        best labels.

    Raises
    ------
    DataError
        If numbers of answers do not increase, or exceed the number of annotators; an argument is out of range; labels
        are given with `like`; or the model has a class prior that needs columns which items lack.
    FitError
        If the model, or that of `like`, has no true labels; `like` was recalibrated; or workers is less than 1.

    Warns
    -----
    MisfitWarning
        If the model of `like` does not predict its answers well, so that new ones will not be as expected either.

    Notes
    -----
    With parameters from a prior, intervals are as wide as the prior. With one answer per item, labels by VB are worse
    than by NUTS (with one_coin, .56 and .69 are right; with two answers, .80 for both). With few answers, VB is
    overconfident, as a comparison of `probability` and `accuracy` shows. Chains of NUTS start near the vote.

    A plan is no better than the model that simulates. With parameters like those of its fit of RTE (Snow et al. 2008),
    mace plans an accuracy of .94, .98 and 1.00 with 3, 5 and 10 answers per item, but fits with these have .85, .89 and
    .93: there annotators err together, and some give many more answers than others.

    Examples
    --------
    >>> import bayesanno as ba
    >>> few = {"items": 100, "annotators": 10, "per_item": [1, 5], "simulations": 5}
    >>> table = ba.plan_answers("one_coin", **few, random_seed=1, progressbar=False)
    >>> table["answers"].tolist(), bool(table["accuracy"].is_monotonic_increasing)
    ([100, 500], True)
    """
    check_seed(random_seed)
    check_at_least("workers", workers, 1)
    check_target(target, measure, sure)
    ci_prob = choose_prob(ci_prob)
    counts = {"items": items, "annotators": annotators, "simulations": FEW if simulations is None else simulations}
    for name, value in counts.items():
        check_count(name, value)
    chosen = get_model(model)
    _require_labels(chosen)
    method = method or find_usual_method(chosen)
    choose_method(method)
    n = simulations or SIMULATIONS.get(method, FEW)
    looks = _find_looks(per_item, annotators)
    rng = np.random.default_rng(random_seed)
    asked: dict[str, Any] = {"items": items, "annotators": annotators, "per_item": looks[-1]}
    asked["random_seed"] = int(rng.integers(2**31))
    of_class = class_prior_of(chosen)
    if like is None:
        if of_class is not None:
            raise DataError(
                f"class_prior={of_class} needs columns of the items, which items simulated without a fit lack: give "
                "like=..., a fit with these columns, or plan with class_prior='learnt'"
            )
        design = make_design(labels=2 if labels is None else labels, **asked)
        process = chosen.without_data()
        drawn = draws_of_prior(process, design, n, rng)
    else:
        if labels is not None:
            raise DataError("with like, the labels are those of that fit: leave labels out")
        view = _require_like(like)
        known = {name: getattr(view.data, name) for name in ("labels", "unsure", "order_declared")}
        if view.data.item_columns:
            known["item_columns"] = take_columns(view.data, rng.integers(view.data.n_items, size=items))
        design = replace(make_design(labels=view.data.classes, **asked), **known)
        for term in terms_of(chosen):
            term.check(design)
            term.check_design(design)
        drawn = _draw_like(view, design, n, rng)
    settings = {"method": method, "check": False, "progressbar": False, **QUICK.get(method, {})}
    futures: list[Future] = [
        (put_labels(design, drawn.model, states, answers), tuple(int(rng.integers(2**31)) for _ in looks))
        for answers, states in replicate(drawn, rng)
    ]
    how: dict[str, Any] = {"workers": workers, "client": None, "message": "fitting", "progressbar": progressbar}
    done = dict(run_all(fit_future, futures, chosen, looks, settings, sure, **how))
    seen = np.array([done[future] for future in futures])  # (simulation, look, 6)
    table = tabulate_progress(seen[..., :5], 0, items, target, measure, ci_prob)
    table.insert(list(table).index("share_sure"), "probability", seen[..., 5].mean(axis=0))
    return table


def find_usual_method(model: AnnotationModel) -> str:
    """Return the default method for fitting simulated answers."""
    return "vb" if isinstance(model, ConjugateModel) and not model.without_updates() else "nuts"


def fit_future(
    future: Future, model: AnnotationModel, looks: Sequence[int], settings: Mapping[str, Any], sure: float
) -> np.ndarray:
    """Return answers, cost, share right (twice), share certain and mean probability by number of answers per item."""
    (data, seeds), scores = future, []
    with collect_warnings():  # an unreliable fit has wrong labels, and these count
        for each, seed in zip(looks, seeds, strict=True):
            part = part_of(view_of(fit(model, _take_first(data, each), **settings, random_seed=seed)), None)
            best = part.posterior.values.max(axis=1)  # (item,)
            right = np.nan_to_num(part.right).mean()  # a true class outside the labels is never found
            scores.append((right, right, (best >= sure).mean(), best.mean()))
    n_answers = data.n_items * np.array(looks)
    return np.column_stack([n_answers, n_answers, scores])


def _find_looks(per_item: Sequence[int] | None, annotators: int) -> list[int]:
    if per_item is None:
        return [each for each in PER_ITEM if each <= annotators]
    looks = list(per_item)
    for each in looks:
        check_count("each of per_item", each)
    if not looks or any(later <= sooner for sooner, later in pairwise(looks)):
        raise DataError(f"per_item is {looks}: give increasing numbers of answers per item, such as [1, 3, 5]")
    return looks


def _require_labels(model: AnnotationModel) -> None:
    if model.data_class is not AnnotationData or model.state_dim != "true_class":
        raise FitError(f"{model.name} has no true labels: choose another model, such as model_b")


def _require_like(like: xr.DataTree | FitView) -> FitView:
    """Return a view of a fit that can simulate new answers."""
    view = require_as_fitted(like, "plan_answers")
    _require_labels(view.model)
    if not view.model.collapse_items:
        raise FitError(f"items have their own parameters in {view.model.name}, so new items cannot be simulated")
    if is_misfit(view):
        warn(
            "the model of the fit in like=... does not predict its answers well: more answers will help less than "
            "plan_answers expects",
            MisfitWarning,
        )
    return view


def _draw_like(view: FitView, design: AnnotationData, n: int, rng: np.random.Generator) -> ModelDraws:
    """Draw parameters of new annotators like those of a fit, each time from another draw of its parameters."""
    model = view.model
    sample = view.posterior.stack(sample=("chain", "draw"), create_index=False).transpose("sample", ...)
    at = rng.choice(sample.sizes["sample"], size=n, replace=sample.sizes["sample"] < n)
    drawn = sample.isel(sample=at).drop_vars(list(sample.coords))
    for name, one in model.fixed_parameters(view.data).items():
        drawn[name] = (("sample", *one.dims), np.repeat(view.known[name][None], n, axis=0))
    if view.has_population:
        whole = drawn.drop_dims("annotator")
        population = {str(name): one.values for name, one in whole.data_vars.items()}
        new = model.draw_annotators(population, len(design.annotators), view.data.class_codes, rng)
        whole = whole.assign({name: (drawn[name].dims, values) for name, values in new.items()})
    else:  # each new annotator copies one of the fit, with another choice in each simulation
        who = rng.integers(len(view.data.annotators), size=(n, len(design.annotators)))
        picked = {"sample": xr.DataArray(np.arange(n), dims="sample"), "annotator": (("sample", "annotator"), who)}
        whole = drawn.isel(picked, missing_dims="ignore").map(lambda one: one.transpose(*drawn[one.name].dims))
    return ModelDraws(model, design, whole.rename(sample="draw").expand_dims("chain"), {})


def _take_first(data: AnnotationData, n: int) -> AnnotationData:
    """Return the first n answers to each item of a design that is sorted by item."""
    place = np.arange(data.n_annotations) - np.searchsorted(data.item, data.item)
    return take_rows(data, place < n)
