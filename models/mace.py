"""MACE: an annotator either knows the answer or spams (Hovy et al. 2013).

Story.  Annotator j, on item i, knows with probability theta_j and then reports the true class; otherwise the report
comes from j's own habit xi_j, whatever the truth.  A spammer can be right by chance.

Model (Hovy et al. 2013, figure 2 and section 2.1).

    T_i                    ~ Categorical(prevalence)                  uniform in the paper
    S_ij                   ~ Bernoulli(1 - theta_j)                   1: j spams on item i
    A_ij                   = T_i if S_ij = 0, else ~ Categorical(xi_j)

    p(A_ij = a | T_i = k)  = theta_j [a = k] + (1 - theta_j) xi_j[a]                       S is summed out
    p(A_i)                 = sum_k prevalence_k prod_j p(A_ij | T_i = k)                 the likelihood; T is summed out
    p(S_ij = 1 | A_i)      = 1 - p(T_i = a | A_i) theta_j / (theta_j + (1 - theta_j) xi_j[a])     with a = A_ij

Symbols.
    theta    competence   (annotator)
    xi       strategy     (annotator, response)
             prevalence   (true_class), only with class_prior="learnt"
    S        spam         (annotation), a view: the posterior probability that this annotation is spam

Priors and what they imply.
    competence ~ Beta(0.5, 0.5) by default: favours the extremes; an annotator tries or does not.
    strategy   ~ Dirichlet(10): habits are nearly even until seen otherwise.
    prevalence: uniform and fixed, as in the paper (class_prior="uniform"), or Dirichlet(prevalence_prior).

Identifiability.  "Knowing" ties each class to the label of the same name, so the classes cannot be permuted.  A
competence near 0 leaves the truth of that annotator's items to the others; a competence near 1 leaves the strategy to
its prior.  With fewer than three annotators on the same items competence is hardly identified.

Use when annotators are many, answers per annotator few, and the question is whom to trust.  Avoid when annotators
err systematically (always "no" for class "maybe"): that needs a confusion matrix, `model_b`.  An adversary, wrong more
often than chance, looks like a spammer here.

References.
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy (2013), Learning whom to trust with MACE, NAACL-HLT,
    pages 1120-1130, https://aclanthology.org/N13-1132.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.base import AnnotationModel, Positive, hyper, require_data
from bayesanno.modeling.likelihood import observe

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.observations import Answers, Design


@dataclass(frozen=True, kw_only=True)
class MACE(AnnotationModel):
    """Hovy et al.'s model: how often an annotator knows, and what they say when they do not.

    Parameters
    ----------
    competence_prior : tuple of two floats, default (0.5, 0.5)
        The Beta prior of the competence.
    strategy_prior : float, default 10
        Concentration of the symmetric Dirichlet prior of the strategy.
    class_prior : {"uniform", "learnt"}, default "uniform"
        Whether every class is equally likely a priori, as in the paper, or the prevalence is learnt.
    prevalence_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of a learnt prevalence.

    Examples
    --------
    >>> from bayesanno.models.mace import MACE
    >>> MACE(class_prior="learnt").competence_prior
    (0.5, 0.5)
    """

    name: ClassVar[str] = "mace"
    state_dim: ClassVar[str] = "true_class"
    competence: ClassVar[str | None] = "competence"

    competence_prior: tuple[Positive, Positive] = (0.5, 0.5)
    strategy_prior: Positive = 10.0
    class_prior: Literal["uniform", "learnt"] = "uniform"
    prevalence_prior: Positive = 1.0

    def build(self, data: AnnotationData) -> pm.Model:
        require_data(self, data)
        n_labels = data.n_labels
        with pm.Model(coords=data.coords(true_class=data.labels)) as model:
            know = hyper("competence_prior", self.competence_prior)
            habit = hyper("strategy_prior", self.strategy_prior)
            parameters = {
                "competence": pm.Beta("competence", know[0], know[1], dims="annotator"),
                "strategy": pm.Dirichlet("strategy", habit * np.ones(n_labels), dims=("annotator", "response")),
            }
            if self.class_prior == "learnt":
                concentration = hyper("prevalence_prior", self.prevalence_prior)
                parameters["prevalence"] = pm.Dirichlet(
                    "prevalence", concentration * np.ones(n_labels), dims="true_class"
                )
            observe(self, data, **parameters)
        return model

    def state_logp(
        self,
        answers: Answers,
        competence: TensorVariable,
        strategy: TensorVariable,
        prevalence: TensorVariable | None = None,
    ) -> TensorVariable:
        n_labels = strategy.shape[1]
        spam = (1 - competence)[:, None] * strategy  # (annotator, response)
        know = competence[:, None, None] * pt.eye(n_labels)  # (annotator, response, true_class)
        class_prior = 1 / n_labels if prevalence is None else prevalence
        return pt.log(class_prior) + answers.total(pt.log(know + spam[:, :, None]))  # (item, true_class)

    def generate(
        self,
        design: Design,
        competence: TensorVariable,
        strategy: TensorVariable,
        prevalence: TensorVariable | None = None,
    ) -> tuple[TensorVariable, TensorVariable]:
        n_labels = strategy.shape[1]
        class_prior = pt.ones(n_labels) / n_labels if prevalence is None else prevalence
        true_class = design.clamp(pm.Categorical.dist(class_prior, shape=(design.n_items,)))  # (item,)
        spams = pm.Bernoulli.dist(1 - competence[design.annotator])  # (annotation,)
        said = pt.switch(spams, pm.Categorical.dist(strategy[design.annotator]), true_class[design.item])
        return true_class, said

    def views(
        self,
        answers: Answers,
        probability: TensorVariable,
        competence: TensorVariable,
        strategy: TensorVariable,
        prevalence: TensorVariable | None = None,  # noqa: ARG002
    ) -> dict[str, tuple[tuple[str, ...], TensorVariable]]:
        know = competence[answers.annotator]  # (annotation,)
        spam = (1 - know) * strategy[answers.annotator, answers.said]
        right = probability[answers.item, answers.said]  # p(T = a | all answers to the item)
        return {"spam": (("annotation",), 1 - right * know / (know + spam))}

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        agreement = data.vote_shares[data.item, data.label]  # (annotation,)
        n_answers = np.bincount(data.annotator, minlength=data.n_annotators)  # (annotator,)
        agreed = np.bincount(data.annotator, weights=agreement, minlength=data.n_annotators)
        strategy = np.ones((data.n_annotators, data.n_labels))
        np.add.at(strategy, (data.annotator, data.label), 1 / (1 + n_answers[data.annotator]))
        values = {
            "competence": np.clip((agreed + 0.5) / (n_answers + 1), 0.1, 0.9),
            "strategy": strategy / strategy.sum(axis=1, keepdims=True),
        }
        if self.class_prior == "learnt":
            shares = data.vote_shares.sum(axis=0) + 1  # (true_class,)
            values["prevalence"] = shares / shares.sum()
        return values
