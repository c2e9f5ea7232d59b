"""How annotators use the labels, from a fit: posteriors of Anveshan's statistics, and label confusions.

The statistics themselves, and their source, are in `bayesanno.agreement.behaviour`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from bayesanno._core.intervals import CiKind
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError
from bayesanno._core.validate import check_choice
from bayesanno.agreement.behaviour import check_base, find_distances, measure_usage
from bayesanno.analysis.parameters import describe_draws, require_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView, find_positions
from bayesanno.modeling.independent import IndependentAnswers
from bayesanno.modeling.posterior import take_draws
from bayesanno.simulation.quantities import each_table

Measure = Literal["leverage", "kld", "jsd_mean"]

MOST_DERIVED = 1_000  # draws of confusion matrices, when computed from other parameters


def behaviour_table(
    fit: xr.DataTree | FitView,
    *,
    farthest_by: Measure = "jsd_mean",
    base: float = math.e,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
) -> pd.DataFrame:
    """Return the posterior of how much each annotator's use of the labels differs from the others'.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of `label_usage`.
    farthest_by : {"jsd_mean", "leverage", "kld"}
        The measure used for `farthest_probability`: the mean Jensen-Shannon divergence from the other annotators, the
        leverage over the mean of all, or the Kullback-Leibler divergence from the mean of the others.
    base : float
        The base of the logarithm: e for nats, 2 for bits.
    ci_prob, ci_kind
        As in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per annotator: `annotator`, `n_annotations`; `_mean`, `_sd`, `_eti89_lb` and `_eti89_ub` for each of
        `leverage`, `kld` and `jsd_mean`; and `farthest_probability`, the probability that this annotator differs most.

    Raises
    ------
    FitError
        If the fit has no usage or is a point estimate, or the measure is unknown.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("label_usage", ba.read_annotations("@crowd"), random_seed=1, progressbar=False)
    >>> table = ba.behaviour_table(fit)
    >>> table.loc[table["farthest_probability"].idxmax(), "annotator"]
    'viktor'
    """
    check_base(base)
    check_choice(f"there is no measure {farthest_by!r}", farthest_by, get_args(Measure))
    view, usage = _usage_of(fit)
    draws = usage.values.reshape(-1, *usage.shape[2:])  # (sample, annotator, response)
    found = measure_usage(draws, base)
    table = pd.DataFrame({"annotator": list(view.data.annotators)}, dtype="str")
    table["n_annotations"] = view.data.by_annotator
    for name, values in found.items():
        described = describe_draws(usage[..., 0].copy(data=values.reshape(usage.shape[:3])), ci_prob, ci_kind)
        table = table.assign(**{f"{name}_{what}": values for what, values in described.items()})
    first = np.bincount(found[farthest_by].argmax(axis=1), minlength=view.data.n_annotators)
    return table.assign(farthest_probability=first / len(draws))


def differ_more_probability(fit: xr.DataTree | FitView, pair: tuple[str, str], than: tuple[str, str]) -> float:
    """Return the posterior probability that two annotators use labels more differently than two others.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of `label_usage`.
    pair, than : tuple of two str
        The two pairs of annotators. They are compared by Jensen-Shannon divergence.

    Raises
    ------
    FitError
        If the fit has no usage, is a point estimate, or lacks one of the annotators.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("usage")  # doctest: +SKIP
    >>> ba.analysis.differ_more_probability(fit, ("wanda", "xavier"), than=("ana", "bruno"))  # doctest: +SKIP
    """
    view, usage = _usage_of(fit)
    codes = find_positions("annotator", (*pair, *than), view.data.annotators)
    if len(pair) != 2 or len(than) != 2:
        raise FitError(f"{pair} and {than} must be pairs of annotators")
    distances = find_distances(usage.values.reshape(-1, *usage.shape[2:])[:, codes])  # (sample, 4, 4)
    return float((distances[:, 0, 1] > distances[:, 2, 3]).mean())


def confusion_table(
    fit: xr.DataTree | FitView, *, ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the posterior of how often annotators give one label in place of another.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model with confusion matrices, such as `model_b`.
    ci_prob, ci_kind
        As in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per pair of labels: `true_class`, `response`, and `mean`, `sd`, `eti89_lb` and `eti89_ub` of the
        probability of that response to an item of that class. The probability is averaged over annotators, weighted by
        their numbers of annotations. The labels confused most often come first.

    Raises
    ------
    FitError
        If the fit has no confusion matrices.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd_b")  # doctest: +SKIP
    >>> ba.confusion_table(fit).head(3)  # doctest: +SKIP
    """
    view = view_for_table(fit)
    if "confusion" not in view.posterior:
        raise FitError(f"a fit of {view.model.name} has no confusion matrices: fit model_b")
    data = view.named_data
    weight = xr.DataArray(data.by_annotator / data.n_annotations, dims="annotator")
    described = describe_draws((_confusion_of(view) * weight).sum("annotator"), ci_prob, ci_kind)
    classes, responses = np.array(data.classes, dtype=object), np.array(data.labels, dtype=object)
    row, column = np.nonzero(classes[:, None] != responses[None, :])
    table = pd.DataFrame({"true_class": classes[row], "response": responses[column]}, dtype="str")
    table = table.assign(**{what: values[row, column] for what, values in described.items()})
    return table.sort_values("mean", ascending=False, kind="stable", ignore_index=True)


def require_confusion(view: FitView) -> None:
    """Raise a FitError if a fit has no confusion matrices and none can be derived from it."""
    model = view.model
    if "confusion" not in view.posterior and not isinstance(model, IndependentAnswers):
        raise FitError(f"a fit of {model.name} has no confusion matrices: fit model_b")


def find_confusion(view: FitView, annotators: Sequence[int], *, most: int = MOST_DERIVED) -> xr.DataArray:
    """Return draws of annotators' response probabilities given the class of an item; annotators are given as codes.

    The draws are stored in the fit, or are derived from it if the model gives the probability of an answer under each
    class. Derived ones use a limited number of evenly spaced draws.

    Returns
    -------
    xarray.DataArray
        Dims (chain, draw, annotator, true_class, response).

    Raises
    ------
    FitError
        If the model has no confusion matrices.
    """
    codes = list(annotators)
    if "confusion" in view.posterior:
        return _confusion_of(view).isel(annotator=codes)
    require_confusion(view)
    known = view.known
    tables = each_table(view.model, view.named_data, take_draws(view.posterior, most), known)
    found = [of_answer[codes] for _, of_answer in tables]  # of each draw (annotator, response, true_class)
    dims = ("chain", "draw", "annotator", "true_class", "response")
    return xr.DataArray(np.swapaxes(found, 2, 3)[None], dims=dims)


def _confusion_of(view: FitView) -> xr.DataArray:
    """Return the draws of a fit's confusion matrices, dims as above; a shared matrix is repeated for each annotator."""
    confusion = view.posterior["confusion"]
    if "annotator" not in confusion.dims:
        confusion = confusion.expand_dims(annotator=list(view.named_data.annotators))
    return confusion.transpose("chain", "draw", "annotator", "true_class", "response")


def _usage_of(fit: xr.DataTree | FitView) -> tuple[FitView, xr.DataArray]:
    """Return a view of a fit and the draws of its usage, (chain, draw, annotator, response)."""
    view = view_for_table(fit, from_draws=True)
    if "usage" not in view.posterior:
        raise FitError(f"a fit of {view.model.name} does not say how annotators use labels: fit label_usage")
    require_draws(view, "the divergence of annotators")
    return view, view.posterior["usage"].transpose("chain", "draw", "annotator", "response")
