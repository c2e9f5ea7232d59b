"""Hierarchical Dawid-Skene (prototype)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.fields import Fraction, Positive
from bayesanno.modeling.ops.logistic_normal import logistic_normal
from bayesanno.modeling.starts import in_proportion, votes_of

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.observations import Answers, Design
    from bayesanno.modeling.parameters import Parameters, Priors


@dataclass(frozen=True, kw_only=True)
class HierarchicalDawidSkene(AnnotationModel):
    """x."""

    name: ClassVar[str] = "hierarchical_dawid_skene"
    competence: ClassVar[str | None] = "accuracy"
    takes_other_labels: ClassVar[bool] = True

    prevalence_prior: Positive = 3.0
    confusion_accuracy: Fraction = 0.75
    confusion_spread: Positive = 1.0
    spread_prior: Positive = 1.0
    w: float = -1.0
    s0: float = 0.7

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        right = np.equal.outer(data.class_codes, np.arange(data.n_labels))  # (true_class, response)
        elsewhere = (1 - prior.confusion_accuracy) / (data.n_labels - 1)
        typical = pt.switch(right, prior.confusion_accuracy, elsewhere)
        centring = pm.Data("centring", self.centring(data))

        prevalence = pm.Dirichlet("prevalence", prior.prevalence_prior * np.ones(data.n_classes), dims="true_class")
        population = logistic_normal(
            "population", typical, prior.confusion_spread * np.ones(data.n_classes), data.class_codes, dims=("true_class", "response")
        )
        spread = pm.Gamma("spread", 2, 2 / prior.spread_prior, dims="true_class")
        confusion = logistic_normal(
            "confusion", population, spread, data.class_codes,
            dims=("annotator", "true_class", "response"), centring=centring,
        )
        correct = confusion[:, np.arange(data.n_classes), data.class_codes]  # (annotator, true_class)
        pm.Deterministic("accuracy", (prevalence * correct).sum(-1), dims="annotator")

    def counts(self, data):
        votes = votes_of(data)
        return votes.answers[:, :, data.class_codes].transpose(0, 2, 1)  # (annotator, true_class, response)

    def pooled(self, data):
        right = np.equal.outer(data.class_codes, np.arange(data.n_labels))
        prior = np.where(right, self.confusion_accuracy, (1 - self.confusion_accuracy) / (data.n_labels - 1))
        return in_proportion(self.counts(data).sum(axis=0) + 2 * prior)

    def centring(self, data):
        counts, pooled = self.counts(data), self.pooled(data)
        info = counts.sum(axis=2, keepdims=True) * pooled * (1 - pooled)
        w = info / (info + self.s0**-2) if self.w < 0 else np.full(counts.shape, self.w)
        wrong = ~np.equal.outer(data.class_codes, np.arange(data.n_labels))
        return np.stack([w[:, k, wrong[k]] for k in range(data.n_classes)], axis=1)

    def generate(self, design: Design, p: Parameters) -> tuple[TensorVariable, TensorVariable]:
        true_class = design.with_controls(pm.Categorical.dist(p.prevalence, shape=(design.n_items,)))  # (item,)
        return true_class, pm.Categorical.dist(p.confusion[design.annotator, true_class[design.item]])  # (annotation,)

    def state_logp(self, answers: Answers, p: Parameters) -> TensorVariable:
        log_lambda = pt.log(p.confusion).transpose(0, 2, 1)  # (annotator, response, true_class)
        return pt.log(p.prevalence) + answers.sum_over_annotations(log_lambda)  # (item, true_class)

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        pooled = self.pooled(data)
        return {
            "prevalence": in_proportion(votes_of(data).shares[data.class_codes] + self.prevalence_prior),
            "population": pooled,
            "spread": np.full(data.n_classes, self.s0),
            "confusion": in_proportion(self.counts(data) + 10 * pooled),
        }
