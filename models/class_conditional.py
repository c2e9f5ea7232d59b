"""Class conditional: an annotator is right with one probability per class (rater's class-conditional Dawid-Skene).

Generative process.

    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx = C_n            with probability theta_x[C_n]               x is right,
    V_nx = v != C_n       with probability (1 - theta_x[C_n]) / (K - 1) each
    p(C_n = psi, V_n)   = gamma_psi  prod_x p(v_x | psi)              the likelihood is its sum over psi
    sum_psi gamma_psi theta_x[psi]                                    how often x is right: accuracy

This is model B with one number per row.  With two classes it equals model B: sensitivity and specificity.

Symbols, and priors.
    gamma    prevalence       (true_class)              ~ Dirichlet(3): as if each class had been seen three times
    theta    class_accuracy   (annotator, true_class)   ~ Beta(4.8, 3.2): eight answers, 60% right, as in model B's rows
             accuracy         (annotator), a deterministic

Identifiability.  "Right" ties each class to the label of the same name, so the classes cannot be permuted.  With two
classes, a crowd that is right in less than half of the cases mirrors one that is right in more, and only the prior
distinguishes the two.  With fewer than three annotators on the same items, accuracies are hardly identified.  The
accuracy for a class that an annotator has rarely seen follows its prior.

Use when some classes are easier than others, in different ways for different annotators (one misses the rare class,
another over-reports it), and errors are spread evenly over the other classes.  Avoid when particular classes are
confused with each other (`model_b`), when one number per annotator is enough (`one_coin`), or when annotators who
always click one label gave a third of the answers (with two labels, half): a fit names them before it samples.

References.
    J. Pullin, L. Gurrin and D. Vukcevic (2023), Statistical models for repeated categorical ratings: the R package
    rater, The R Journal 15:4, doi:10.32614/RJ-2023-064, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.chance import scale_confusion
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.independent import BetaParam, ConjugateModel, DirichletParam
from bayesanno.models._habit import MATRICES, RATES, find_habits


@dataclass(frozen=True, kw_only=True)
class ClassConditional(ConjugateModel):
    """One accuracy per annotator and class, with errors spread evenly over the other classes.

    Parameters
    ----------
    class_accuracy_prior : tuple of two floats, default (4.8, 3.2)
        The Beta prior of the accuracy of an annotator on the items of a class.
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.

    Examples
    --------
    >>> from bayesanno.models import ClassConditional
    >>> ClassConditional().class_accuracy_prior
    (4.8, 3.2)
    """

    name: ClassVar[str] = "class_conditional"
    competence: ClassVar[str | None] = "accuracy"

    class_accuracy_prior: tuple[Positive, Positive] = (4.8, 3.2)

    def parameters(self, prior: Any, is_class: np.ndarray) -> dict[str, DirichletParam | BetaParam]:
        return {
            "class_accuracy": BetaParam(prior.class_accuracy_prior, ("annotator", "true_class")),
            "prevalence": DirichletParam(prior.prevalence_prior, ("true_class",)),
        }

    def tables(self, p: Parameters, is_class: np.ndarray) -> tuple[Any, Any]:
        right, wrong = p.prob_and_complement("class_accuracy")  # (annotator, true_class) each
        elsewhere = ~is_class / (is_class.shape[1] - 1)  # (response, true_class)
        return p.prevalence, right[:, None] * is_class + wrong[:, None] * elsewhere

    def above_chance(self, posterior: xr.Dataset, data: Any) -> xr.DataArray:
        right, is_right = posterior["class_accuracy"], xr.DataArray(data.names_class, dims=("true_class", "response"))
        confusion = right * is_right + (1 - right) * ~is_right / (data.n_classes - 1)
        return scale_confusion(confusion, posterior["prevalence"], data.names_class)

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        return find_habits(data, MATRICES if data.n_classes == 2 else RATES)
