"""How far annotators are above chance: how much of the truth their answers pass on.

At chance, answers do not depend on the item: a coin, or always the same label. With confusion matrices:

    a_j  = sum_k gamma_k lambda_j[k, k]                       the accuracy; gamma is the prevalence
    u_jv = sum_k gamma_k lambda_j[k, v]                       how often j gives label v
    c_j  = sum_k gamma_k u_jk                                 how often j is right who gives them to random items
    s_j  = (a_j - c_j) / (1 - sum_k gamma_k^2)                how far j is above chance

s is the covariance of answer and truth over the variance of the truth, summed over classes. It is 1 if j is always
right, 0 at chance, where all rows are equal, and negative if answers point the wrong way. A common class does not help:
with a prevalence of .95, an annotator who always names that class is right on .95 of the items and has s = 0; one who
is right on .9 of each class has s = .8.  With two labels s is Youden's J, sensitivity + specificity - 1.

The matrix of MACE has s = theta, the competence. Models of difficulty have that of an item of average difficulty. With
one accuracy a and even errors s = (K a - 1) / (K - 1): chance is 1 / K. Such a model cannot see that an annotator
repeats a common label, since it takes the rare classes to be recognised as often.
"""

from __future__ import annotations

import numpy as np

from bayesanno._core.lazy import xr


def scale_accuracy(accuracy: xr.DataArray, n_classes: int) -> xr.DataArray:
    """Return s for accuracies with even errors."""
    return (n_classes * accuracy - 1) / (n_classes - 1)


def scale_confusion(confusion: xr.DataArray, prevalence: xr.DataArray, names_class: np.ndarray) -> xr.DataArray:
    """Return s, (..., annotator), for confusion matrices (..., annotator, true_class, response).

    `prevalence` is (..., true_class), and `names_class` (true_class, response) is whether a response names a class.
    """
    names = xr.DataArray(names_class.astype(float), dims=("true_class", "response"))
    accuracy = xr.dot(confusion, prevalence, names, dim=("true_class", "response"))
    said = xr.dot(confusion, prevalence, dim="true_class")  # (..., annotator, response)
    chance = xr.dot(said, xr.dot(prevalence, names, dim="true_class"), dim="response")
    whole = 1 - (prevalence**2).sum("true_class")
    return (accuracy - chance) / whole.clip(min=1e-300)  # by EM a class may have all items
