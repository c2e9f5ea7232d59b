"""Pooled Dawid-Skene: one confusion matrix for all annotators, model B's opposite (after Dawid and Skene 1979).

Generative process.  An item has one true class.  An annotator, shown an item of class psi, gives label v with a
probability that depends only on psi and v: all annotators are alike.

Model.  Equation numbers are those of the supplement to Rzhetsky et al. (2008), whose model B has a matrix for each x.

    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx | C_n = psi    ~ Categorical(lambda[psi, :])                 the same lambda for every annotator x
    p(C_n = psi, V_n)   = gamma_psi  prod_x lambda[psi, v_x]          (33); the likelihood is its sum over psi

Symbols.
    gamma    prevalence   (true_class)
    lambda   confusion    (true_class, response): rows are the truth, columns what was said

Priors and what they imply.
    As model B's: prevalence ~ Dirichlet(prevalence_prior); each row of confusion ~ Dirichlet with confusion_strength
    answers, of which confusion_accuracy (0.6) are right.  These are 30 here, few compared with the answers of a whole
    crowd.  They have to distinguish the classes: of two classes that a crowd distinguishes four times in five, the
    swapped ones would keep 1 or 2% of the posterior with 8 answers, for any amount of data, and have 1e-7 of it with
    30.

Identifiability.  As in model B: the likelihood does not change when the classes are permuted, and the prior
distinguishes them when confusion_accuracy > 1/K; when it is 1/K, `bayesanno.relabel` does.  Annotators need not be
known: three answers to an item, by any annotators, are enough.

Use when annotators are alike or unknown (each gives an answer or two), and labels are confused with each other.  Avoid
when some are better than others: all votes count the same, so that labels follow the majority, and one spammer blurs
the matrix of all.  A fit names annotators who click one label, before it samples, where they gave half of the answers.
`hierarchical_dawid_skene` learns how alike annotators are; this model is one end of it, and `model_b` the other.

References.
    A. P. Dawid and A. M. Skene (1979), Applied Statistics 28:20-28, doi:10.2307/2346806.
    S. Paun, B. Carpenter, J. Chamberlain, D. Hovy, U. Kruschwitz and M. Poesio (2018), Comparing Bayesian models of
    annotation, TACL 6:571-585, doi:10.1162/tacl_a_00040: the pooled multinomial model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.fields import Positive
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.arguments import Answers, Design, Parameters, Priors
from bayesanno.modeling.expectation import Expected, Shares, Votes, in_proportion
from bayesanno.models.model_b import ModelB


@dataclass(frozen=True, kw_only=True)
class PooledDawidSkene(ModelB):
    """Dawid and Skene's model with one confusion matrix for all annotators.

    Parameters
    ----------
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    confusion_strength : float, default 30
        Total concentration of the Dirichlet prior of each row of the confusion matrix: a number of answers.
    confusion_accuracy : float, default 0.6
        The prior mean of the diagonal. 1/K makes the classes exchangeable.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("pooled_dawid_skene", data, method="em", random_seed=1, progressbar=False)
    >>> fit["posterior"]["confusion"].dims
    ('chain', 'draw', 'true_class', 'response')
    """

    name: ClassVar[str] = "pooled_dawid_skene"
    competence: ClassVar[str | None] = None
    parameter_dims: ClassVar[dict[str, tuple[str, ...]]] = {
        "prevalence": ("true_class",),
        "confusion": ("true_class", "response"),
    }

    confusion_strength: Positive = 30.0

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        pm.Dirichlet("prevalence", prior.prevalence_prior * np.ones(data.n_classes), dims="true_class")
        pm.Dirichlet("confusion", self.rows(data, prior), dims=("true_class", "response"))

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        true_class = design.with_controls(pm.Categorical.dist(p.prevalence, shape=(design.n_items,)))  # (item,)
        return true_class, pm.Categorical.dist(p.confusion[true_class[design.item]])  # (annotation,)

    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        log_lambda = np.ones((answers.n_annotators, 1, 1)) * pt.log(p.confusion).T  # (annotator, response, true_class)
        return pt.log(p.prevalence) + answers.sum_over_annotations(log_lambda)  # (item, true_class), (33)

    def start_from(self, votes: Votes, data: Any) -> dict[str, np.ndarray]:
        classes = data.class_codes
        counts = votes.answers.sum(axis=0)[:, classes].T + self.rows(data, self)  # (true_class, response)
        prevalence = votes.shares[classes] + self.prevalence_prior  # (true_class,)
        return {"prevalence": in_proportion(prevalence), "confusion": in_proportion(counts)}

    def concentrations(self, data: AnnotationData) -> dict[str, np.ndarray]:
        return {"prevalence": np.full(data.n_classes, self.prevalence_prior), "confusion": self.rows(data, self)}

    def probabilities(self, shares: Shares, names_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return shares["prevalence"], shares["confusion"].T[None]

    def expected_counts(self, shares: Shares, expected: Expected, names_class: np.ndarray) -> dict[str, np.ndarray]:
        return {"prevalence": expected.classes, "confusion": expected.answers.sum(axis=0).T}

    def deterministics(self, values: Mapping[str, np.ndarray], names_class: np.ndarray) -> dict[str, np.ndarray]:
        return {}
