"""How far annotators are above chance: how much of the truth their answers pass on.

Chance is how often an annotator is right who gives the same labels as often, but to random items:

    a_j  = P(j is right)                                      the accuracy
    c_j  = sum_k gamma_k u_jk                                 chance; gamma is the prevalence, u_jk how often j names k
    s_j  = (a_j - c_j) / (1 - sum_k gamma_k^2)                how far j is above it

s is the covariance of answer and truth over the variance of the truth, summed over classes. It is 1 if j is always
right, 0 if the answers do not depend on the item (a coin, or always the same label), and negative if they point the
wrong way. A common class does not help: with a prevalence of .95, an annotator who always names that class is right on
.95 of the items and has s = 0; one who is right on .9 of each class has s = .8. With two labels s is Youden's J,
sensitivity + specificity - 1, and in MACE it is the competence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.modeling.class_prior import PREVALENCE

POOLED = 5  # answers of the typical annotator that are added to those of each annotator


def compare_accuracy(accuracy: xr.DataArray, posterior: xr.Dataset, data: Any) -> xr.DataArray:
    """Return how far annotators are above chance, (chain, draw, annotator), from their accuracies.

    How often an annotator names each class is counted in the data, and drawn towards all annotators if answers are few.
    """
    typical = data.label_shares if not hasattr(data, "usage") else data.usage.sum(axis=0) / data.n_annotations
    given = getattr(data, "usage", data.by_annotator[:, None] * typical)  # on a cluster, only the totals are known
    usage = (given + POOLED * typical) / (data.by_annotator[:, None] + POOLED)  # (annotator, response)
    shares = xr.DataArray(typical[data.class_codes] / typical[data.class_codes].sum(), dims="true_class")
    prevalence = posterior.get(PREVALENCE, shares)
    prevalence = prevalence.mean([dim for dim in prevalence.dims if dim not in ("chain", "draw", "true_class")])
    names = xr.DataArray(usage[:, data.class_codes], dims=("annotator", "true_class"))
    return _scale(accuracy, names, prevalence)


def compare_confusion(confusion: xr.DataArray, prevalence: xr.DataArray, data: Any) -> xr.DataArray:
    """Return how far annotators are above chance, (chain, draw, annotator), from their confusion matrices.

    Parameters
    ----------
    confusion : xarray.DataArray
        Dims (chain, draw, annotator, true_class, response).
    prevalence : xarray.DataArray
        Dims (chain, draw, true_class).
    data : AnnotationData or AnnotationTotals
    """
    names_class = xr.DataArray(data.names_class.astype(float), dims=("true_class", "response"))
    accuracy = xr.dot(confusion, prevalence, names_class, dim=("true_class", "response"))
    said = xr.dot(confusion, prevalence, dim="true_class")  # (chain, draw, annotator, response)
    return _scale(accuracy, xr.dot(said, names_class, dim="response"), prevalence)


def _scale(accuracy: xr.DataArray, usage: xr.DataArray, prevalence: xr.DataArray) -> xr.DataArray:
    """Return the accuracy less chance, as a share of what separates a perfect annotator from chance."""
    chance = xr.dot(usage, prevalence, dim="true_class")
    whole = (1 - (prevalence**2).sum("true_class")).clip(min=np.finfo(float).tiny)
    return ((accuracy - chance) / whole).transpose("chain", "draw", "annotator")
