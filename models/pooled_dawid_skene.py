"""Pooled Dawid-Skene: one confusion matrix for all annotators, the opposite of model B (after Dawid and Skene 1979).

Generative process, with equation numbers of the supplement to Rzhetsky et al. (2009).  Model B there has a matrix for
each annotator x; here all annotators share one.

    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx | C_n = psi    ~ Categorical(lambda[psi, :])                 the same lambda for every annotator x
    p(C_n = psi, V_n)   = gamma_psi  prod_x lambda[psi, v_x]          (33); the likelihood is its sum over psi

Symbols, and priors: model B's, with 30 answers in each row of lambda instead of 8.
    gamma    prevalence   (true_class)
    lambda   confusion    (true_class, response): rows are true classes, columns are responses
With 8, two classes that a crowd distinguishes four times in five are swapped in 1 or 2% of the posterior, for any
amount of data; with 30, which is small compared with the answers of a crowd, in 1e-7 of it.

Identifiability.  As in model B: the prior distinguishes the classes when confusion_accuracy > 1/K; when it is 1/K,
`bayesanno.relabel` does.  Annotators need not be known: three answers per item, by any annotators, are enough.

Use when annotators are similar or unknown (each gives an answer or two), and labels are confused with each other.
Avoid when some are better than others: labels follow the majority, and one spammer blurs the common matrix.
`hierarchical_dawid_skene` learns how similar annotators are; this model is one extreme, and `model_b` the other.

References.
    A. P. Dawid and A. M. Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28:20-28, doi:10.2307/2346806.
    S. Paun, B. Carpenter, J. Chamberlain, D. Hovy, U. Kruschwitz and M. Poesio (2018), Comparing Bayesian models of
    annotation, TACL 6:571-585, doi:10.1162/tacl_a_00040: the pooled multinomial model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno.modeling.arguments import Parameters
from bayesanno.models.model_b import ModelB


@dataclass(frozen=True, kw_only=True)
class PooledDawidSkene(ModelB):
    """Dawid and Skene's model with one confusion matrix for all annotators.

    Parameters
    ----------
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.
    confusion_strength : float, default 30
        Total concentration of the Dirichlet prior of each row of the confusion matrix, as a number of answers.
    confusion_accuracy : float, default 0.6
        The prior mean of the diagonal. 1/K makes the classes exchangeable.

    Examples
    --------
    >>> from bayesanno.models import PooledDawidSkene
    >>> PooledDawidSkene().confusion_strength
    30.0
    """

    name: ClassVar[str] = "pooled_dawid_skene"
    competence: ClassVar[str | None] = None
    confusion_dims: ClassVar[tuple[str, ...]] = ("true_class", "response")

    confusion_strength: Positive = 30.0

    def tables(self, p: Parameters, is_class: np.ndarray) -> tuple[Any, Any]:
        return p.prevalence, p.confusion.T[None]
