"""Model B: every annotator has a confusion matrix (Dawid and Skene 1979; Rzhetsky et al. 2009).

Generative process, with equation numbers of the supplement to Rzhetsky et al. (2009).

    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx | C_n = psi    ~ Categorical(lambda^x[psi, :])               the answer of x depends on x and the class alone
    p(C_n = psi, V_n)   = gamma_psi  prod_x lambda^x[psi, v_x]        (33)
    p(V_n)              = sum_psi p(C_n = psi, V_n)                   (35), the likelihood; C is summed out
    p(C_n = psi | V_n)  = p(C_n = psi, V_n) / p(V_n)                  (37), read off after the fit
    theta_x             = sum_psi gamma_psi lambda^x[psi, psi]        (39), how often x is right

A label that is not a class ("unsure") is a column of lambda but not a row.  All of it follows from the two tables of
`ModelB.tables`, gamma and lambda: see `bayesanno.modeling.independent`.

Symbols, and priors: those of the R package rater.
    gamma    prevalence   (true_class)    ~ Dirichlet(3): as if each class had been seen three times
    lambda   confusion    (annotator, true_class, response): rows are true classes, columns are responses; each row
                          ~ Dirichlet(s p, s (1 - p) / (K - 1), ...): s = 8 answers, p = 0.6 of them right; labels
                          that are not classes have the concentration of a wrong one, in addition
    theta    accuracy     (annotator), a deterministic

Identifiability.  The likelihood does not change when the classes are permuted (53); the prior distinguishes them when
p > 1/K.  When p = 1/K, `bayesanno.relabel` chooses the permutation with the largest sum of diagonals (56).
At least three annotators must answer the same items.  Annotators with few answers follow their prior.

Use when annotators differ in which classes they confuse, and each has tens of answers per class.  Avoid with many
labels and few answers per annotator, since each annotator has K (K - 1) numbers (MACE has K), or when annotators who
always click one label gave half of the answers: the model may mistake their habit for a class, and a fit names them
before it samples.

References.
    A. P. Dawid and A. M. Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28:20-28, doi:10.2307/2346806.
    A. Rzhetsky, H. Shatkay and W. J. Wilbur (2009), How to get the most out of your curation effort,
    PLoS Computational Biology 5(5):e1000391, doi:10.1371/journal.pcbi.1000391, supplement, sections 9 to 13.
    J. Pullin, L. Gurrin and D. Vukcevic (2023), Statistical models for repeated categorical ratings: the R package
    rater, The R Journal 15:4, doi:10.32614/RJ-2023-064.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.fields import Fraction, Positive
from bayesanno._core.lazy import xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.chance import scale_confusion
from bayesanno.modeling.findings import Finding, check, threshold_of
from bayesanno.modeling.independent import BetaParam, ConjugateModel, DirichletParam
from bayesanno.models._habit import MATRICES, find_habits

AS_TYPED = 1e-3  # relative difference of concentrations that count as equal: 1/K is typed with few decimals


@dataclass(frozen=True, kw_only=True)
class ModelB(ConjugateModel):
    """Dawid and Skene's model: a prevalence, and one confusion matrix per annotator.

    Parameters
    ----------
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.
    confusion_strength : float, default 8
        Total concentration of the Dirichlet prior of each row of a confusion matrix, as a number of answers.
    confusion_accuracy : float, default 0.6
        The prior mean of the diagonal among answers that name a class. 1/K makes the classes exchangeable.

    Examples
    --------
    >>> from bayesanno.models import ModelB
    >>> ModelB(confusion_accuracy=0.8)
    ModelB(prevalence_prior=3.0, class_prior='learnt', confusion_strength=8.0, confusion_accuracy=0.8)
    """

    name: ClassVar[str] = "model_b"
    competence: ClassVar[str | None] = "accuracy"
    takes_other_labels: ClassVar[bool] = True
    confusion_dims: ClassVar[tuple[str, ...]] = ("annotator", "true_class", "response")

    confusion_strength: Positive = 8.0
    confusion_accuracy: Fraction = 0.6

    def parameters(self, prior: Any, is_class: np.ndarray) -> dict[str, DirichletParam | BetaParam]:
        right = is_class.T  # (true_class, response)
        elsewhere = ~right / (len(right) - 1)
        expected = right * prior.confusion_accuracy + elsewhere * (1 - prior.confusion_accuracy)
        return {
            "prevalence": DirichletParam(prior.prevalence_prior, ("true_class",)),
            "confusion": DirichletParam(prior.confusion_strength * expected, self.confusion_dims),
        }

    def tables(self, p: Parameters, is_class: np.ndarray) -> tuple[Any, Any]:
        return p.prevalence, p.confusion.transpose(0, 2, 1)

    def above_chance(self, posterior: xr.Dataset, data: Any) -> xr.DataArray | None:
        if self.competence is None:  # one matrix for all annotators
            return None
        return scale_confusion(posterior["confusion"], posterior["prevalence"], data.names_class)

    def is_exchangeable(self, data: Any, *, by_likelihood: bool = False) -> bool:
        elsewhere = (1 - self.confusion_accuracy) / (data.n_classes - 1)  # for each wrong response
        is_flat = by_likelihood or math.isclose(self.confusion_accuracy, elsewhere, rel_tol=AS_TYPED)
        return is_flat and not data.controls and self.class_prior == "learnt"

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        yield from find_habits(data, MATRICES)
        wrong = (1 - self.confusion_accuracy) / (data.n_classes - 1)  # the prior mean of a wrong response
        enough = math.ceil(4 * threshold_of("steep-prior") / wrong)
        strength = self.confusion_strength
        yield from check("steep-prior", strength * wrong, strength=strength, enough=enough)
