"""MACE: an annotator either knows the answer or spams (Hovy et al. 2013).

Generative process (Hovy et al. 2013, figure 2 and section 2.1).  A spammer can be right by chance.

    T_i                    ~ Categorical(prevalence)                  uniform in the paper, learnt here
    S_ij                   ~ Bernoulli(1 - theta_j)                   1: j spams on item i
    A_ij                   = T_i if S_ij = 0, else ~ Categorical(xi_j)      the truth, or j's own habit
    p(A_ij = a | T_i = k)  = theta_j [a = k] + (1 - theta_j) xi_j[a]                       S is summed out
    p(A_i)                 = sum_k prevalence_k prod_j p(A_ij | T_i = k)                 the likelihood; T is summed out
    p(S_ij = 1 | A_i)      = 1 - p(T_i = a | A_i) theta_j / (theta_j + (1 - theta_j) xi_j[a])     with a = A_ij

The likelihood, with T summed out, the process, starting values, EM and VB follow from the two tables of `MACE.tables`,
p(T_i = k) and p(A_ij = a | T_i = k): see `bayesanno.modeling.independent`.

Symbols, and priors.
    theta    competence   (annotator)             ~ Beta(0.5, 0.5): annotators mostly know, or mostly spam
    xi       strategy     (annotator, response)   ~ Dirichlet(10): habits are nearly even
             prevalence   (true_class)            ~ Dirichlet(10), or uniform and fixed, as in the paper
    S        spam         (annotation), derived: the posterior probability that this annotation is spam
The uniform prevalence mistakes a common class for a habit; the learnt one mistakes a common habit for a class.  If
answers are so skewed to one label that both are possible, a fit warns before it samples: then fit both.  With
competence_prior="learnt", competence ~ Beta(c m, c (1 - m)), m ~ Beta(2, 2), c ~ Gamma(2, 1/2), which is 4 on average;
EM and VB do not have it.

Identifiability.  "Knowing" ties each class to its label, so the classes cannot be permuted.  An annotator with a
competence near 0 does not inform the true classes; the strategy of one with a competence near 1 follows its prior.
With fewer than three annotators, competence is hardly identified.

Use when there are many annotators with few answers each, and the question is whom to trust.  Avoid when annotators err
systematically (always "no" for class "maybe"), or "unsure" should be evidence: labels that are not classes count as
spam here, and lower the competence (use `model_b`).  An adversary, wrong more often than chance, looks like a spammer.

References.
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy (2013), Learning whom to trust with MACE, NAACL-HLT,
    pages 1120-1130, https://aclanthology.org/N13-1132.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt, xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import Labelled
from bayesanno.modeling.arguments import Answers, Derived, Parameters
from bayesanno.modeling.class_prior import ClassPrior
from bayesanno.modeling.expectation import Votes
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.independent import BetaParam, ConjugateModel, DirichletParam
from bayesanno.models._habit import find_class_or_habit


@dataclass(frozen=True, kw_only=True)
class MACE(ConjugateModel):
    """Hovy et al.'s model: how often an annotator knows the answer, and the habit that replaces it otherwise.

    Parameters
    ----------
    competence_prior : tuple of two floats, or "learnt", default (0.5, 0.5)
        The Beta prior of the competence, or "learnt" to estimate its mean and spread among annotators.
    strategy_prior : float, default 10
        Concentration of the symmetric Dirichlet prior of the strategy.
    class_prior : "learnt", "uniform", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether the prevalence is learnt, or uniform as in the paper, or the class prior depends on columns of the
        items.
    prevalence_prior : float, default 10
        Concentration of the symmetric Dirichlet prior of a learnt prevalence.

    Examples
    --------
    >>> from bayesanno.models import MACE
    >>> MACE(class_prior="uniform").competence_prior  # as in the paper
    (0.5, 0.5)
    """

    name: ClassVar[str] = "mace"
    competence: ClassVar[str | None] = "competence"
    takes_other_labels: ClassVar[bool] = True
    own_smoothing: ClassVar[float] = 0.1  # over the number of labels: delta, section 2.1

    competence_prior: tuple[Positive, Positive] | Literal["learnt"] = (0.5, 0.5)
    strategy_prior: Positive = 10.0
    class_prior: Literal["learnt", "uniform"] | ClassPrior = "learnt"  # type: ignore[assignment]  # "uniform" is its own
    prevalence_prior: Positive = 10.0

    def parameters(self, prior: Any, is_class: np.ndarray) -> dict[str, DirichletParam | BetaParam]:
        competence = self._learn_competence() if self.competence_prior == "learnt" else prior.competence_prior
        found: dict[str, DirichletParam | BetaParam] = {
            "competence": BetaParam(competence, ("annotator",)),
            "strategy": DirichletParam(prior.strategy_prior, ("annotator", "response")),
        }
        if self.class_prior != "uniform":
            found["prevalence"] = DirichletParam(prior.prevalence_prior, ("true_class",))
        return found

    def _learn_competence(self) -> pt.TensorVariable:
        """Declare the mean and spread of competence; return the concentrations of its Beta distribution."""
        mean = pm.Beta("competence_mean", 2, 2)
        return pm.Gamma("competence_concentration", 2, 0.5) * pt.stack([mean, 1 - mean])

    def tables(self, p: Parameters, is_class: np.ndarray) -> tuple[Any, Any]:
        knows, spams = p.prob_and_complement("competence")  # theta and 1 - theta, (annotator,) each
        n_classes = is_class.shape[1]
        class_prob = p.prevalence if self.class_prior != "uniform" else np.full(n_classes, 1 / n_classes)
        response_prob = knows[:, None, None] * is_class + (spams[:, None] * p.strategy)[:, :, None]
        return class_prob, response_prob  # (true_class,), (annotator, response, true_class)

    def derived(self, answers: Answers, probability: pt.TensorVariable, p: Parameters) -> dict[str, Derived]:
        names = answers.names_class  # (true_class, response)
        class_of, names_any = names.argmax(axis=0), names.any(axis=0)  # (response,); where it names none, any class
        response_prob = self.tables(p, names.T)[1]
        if_true = response_prob[:, np.arange(class_of.size), class_of]  # p(a | T = a), (annotator, response)
        who, said = answers.annotator, answers.shown_response
        p_true = (probability[:, class_of] * names_any)[answers.item, answers.response]  # p(T = a | A), (annotation,)
        p_known_if_true = p.competence[who] / if_true[who, said]  # (annotation,)
        return {"spam": Derived(("annotation",), 1 - p_true * p_known_if_true)}

    def above_chance(self, posterior: xr.Dataset, data: Any) -> xr.DataArray:
        return posterior["competence"]

    def start_from(self, votes: Votes, data: Labelled) -> dict[str, np.ndarray]:
        if self.competence_prior != "learnt":
            return super().start_from(votes, data)
        values = replace(self, competence_prior=(0.5, 0.5)).start_from(votes, data)
        mean = np.array(values["competence"].mean())
        return values | {"competence_mean": mean, "competence_concentration": np.array(2.0)}  # the prior's mode

    def scale_parameters(self) -> tuple[str, ...]:
        return ("competence_concentration",) if self.competence_prior == "learnt" else ()

    def without_updates(self) -> str:
        return "competence_prior='learnt'" if self.competence_prior == "learnt" else super().without_updates()

    @override
    def findings(self, data: AnnotationData) -> Iterable[Finding]:
        return () if isinstance(self.class_prior, ClassPrior) else find_class_or_habit(data, self.class_prior)
