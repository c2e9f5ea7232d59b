"""One coin: an annotator is right with one probability, the same for all classes (after Dawid and Skene 1979).

Generative process.

    C_n                 ~ Categorical(gamma)                              the true class of item n
    V_nx = C_n            with probability theta_x                        x is right,
    V_nx = v != C_n       with probability (1 - theta_x) e(v | C_n)       or wrong, and then answers v
    e(v | psi)          = 1 / (K - 1)                                     errors="uniform"
    e(v | psi)          = gamma_v / (1 - gamma_psi)                       errors="prevalence"
    p(C_n = psi, V_n)   = gamma_psi  prod_x p(v_x | psi)                  the likelihood is its sum over psi

This is model B with one number per confusion matrix.  With two classes both kinds of error are the same.

Symbols, and priors.
    theta    accuracy     (annotator)    ~ Beta(2, 1): more often right than wrong, as in model A
    gamma    prevalence   (true_class)   ~ Dirichlet(3): as if each class had been seen three times, as in model B

Identifiability.  "Right" ties each class to the label of the same name, so the classes cannot be permuted.  With two
classes, low accuracies mirror high ones: only the prior distinguishes a crowd of accuracy .8 from one of accuracy .2
with swapped classes.  With fewer than three annotators on the same items, accuracy is hardly identified.

Use when there are many annotators with few answers each, and errors fall evenly on all classes.  Avoid when annotators
confuse particular classes (`model_b`), overlook a rare class (all then seem too good at it), or click without reading
(`mace`): a fit names those who do, if they gave a third of the answers.

References.
    Y. Zhang, X. Chen, D. Zhou and M. I. Jordan (2016), Spectral methods meet EM: a provably optimal algorithm for
    crowdsourcing, Journal of Machine Learning Research 17(102):1-44, https://jmlr.org/papers/v17/14-511.html, section
    2: the one-coin model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.expectation import Expected, Shares
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.independent import BetaParam, ConjugateModel, DirichletParam
from bayesanno.models._habit import RATES, find_habits

ROUNDING = 1e-12  # rounding error of a sum of shares


@dataclass(frozen=True, kw_only=True)
class OneCoin(ConjugateModel):
    """One accuracy per annotator, with errors spread over all other classes.

    Parameters
    ----------
    accuracy_prior : tuple of two floats, default (2, 1)
        The Beta prior of the accuracy.
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.
    errors : {"uniform", "prevalence"}, default "uniform"
        Whether all wrong classes are equally likely to be given, or likely in proportion to their prevalence.

    Examples
    --------
    >>> from bayesanno.models import OneCoin
    >>> OneCoin(errors="prevalence").accuracy_prior
    (2.0, 1.0)
    """

    name: ClassVar[str] = "one_coin"
    competence: ClassVar[str | None] = "accuracy"

    accuracy_prior: tuple[Positive, Positive] = (2.0, 1.0)
    errors: Literal["uniform", "prevalence"] = "uniform"

    def parameters(self, prior: Any, is_class: np.ndarray) -> dict[str, DirichletParam | BetaParam]:
        return {
            "accuracy": BetaParam(prior.accuracy_prior, ("annotator",)),
            "prevalence": DirichletParam(prior.prevalence_prior, ("true_class",)),
        }

    def tables(self, p: Parameters, is_class: np.ndarray) -> tuple[Any, Any]:
        right, wrong = p.prob_and_complement("accuracy")  # (annotator,) each
        error = ~is_class / (is_class.shape[1] - 1)  # e(v | psi), (response, true_class)
        if self.errors == "prevalence":
            share = ~is_class * p.prevalence[:, None]
            lacking = 1 - p.prevalence.sum()  # if shares add up to less than 1, as in variational Bayes
            others = share.sum(axis=0) + lacking * (lacking > ROUNDING)  # 1 - gamma_psi, without its rounding
            error = share / (others + (others <= 0))
        return p.prevalence, right[:, None, None] * is_class + wrong[:, None, None] * error

    def expected_counts(self, shares: Shares, expected: Expected, names_class: np.ndarray) -> dict[str, np.ndarray]:
        """Count like the base class; with errors by prevalence, the classes drawn for errors count too."""
        counts = super().expected_counts(shares, expected, names_class)
        if self.errors == "prevalence":  # the table is not linear in the prevalence
            errors = (expected.answers * ~names_class.T).sum(axis=0)  # (response, true_class)
            share, missed = shares["prevalence"], errors.sum(axis=0)  # (true_class,)
            drawn_before = missed * np.divide(share, 1 - share, out=np.zeros_like(share), where=missed > 0)
            counts["prevalence"] = expected.classes + errors.sum(axis=1) + drawn_before
        return counts

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        return find_habits(data, RATES)
