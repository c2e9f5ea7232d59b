"""Model B: every annotator has a confusion matrix (Dawid and Skene 1979; Rzhetsky et al. 2008).

Generative process.  An item has one true class.  Annotator x, shown an item of class psi, gives label v with a
probability that depends only on x, psi and v; given the true class, annotators are independent.

Model.  Equation numbers are those of the supplement to Rzhetsky et al. (2008).

    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx | C_n = psi    ~ Categorical(lambda^x[psi, :])               what annotator x says of it
    p(C_n = psi, V_n)   = gamma_psi  prod_x lambda^x[psi, v_x]        (33)
    p(V_n)              = sum_psi p(C_n = psi, V_n)                   (35), the likelihood; C is summed out
    p(C_n = psi | V_n)  = p(C_n = psi, V_n) / p(V_n)                  (37), read off after the fit
    theta_x             = sum_psi gamma_psi lambda^x[psi, psi]        (39), how often x is right

An annotator who answers an item twice contributes two factors; one who does not answer contributes none.  A label that
is no class ("unsure") is a column of lambda but not a row: the model learns how often x gives it to items of each
class, and it is evidence for the classes that get it most often.

Symbols.
    gamma    prevalence   (true_class)
    lambda   confusion    (annotator, true_class, response): rows are the truth, columns what was said
    theta    accuracy     (annotator), a deterministic

Priors and what they imply.
    prevalence ~ Dirichlet(prevalence_prior): 3 by default, as if each class had been seen three times.
    each row of confusion ~ Dirichlet(s p, s (1 - p) / (K - 1), ...), with s = confusion_strength (8) answers spread so
    that p = confusion_accuracy (0.6) of them are right.  These are the priors of the R package rater.  p = 1/K, typed
    with four decimals or more, makes the classes exchangeable; p < 1/K says that annotators are wrong more often than
    chance.  A label that is no class has the concentration of a wrong one, in addition to these, so that answers that
    name a class have the same prior with and without such a label.

Identifiability.  The likelihood does not change when the classes are permuted (eq. 53); the prior distinguishes them
when p > 1/K.  When p = 1/K it does not, and `bayesanno.relabel` chooses, per draw, the permutation under which
annotators are right most often (eq. 56).  At least three annotators must answer the same items.  Annotators with few
answers keep their prior.  Where annotators who click one label gave half of the answers, the model may take their habit
for a class (`_habit.py` has numbers): a fit names them before it samples.

Use when annotators differ in which classes they confuse, and each has tens of answers per class.  Avoid when there
are many labels and few answers per annotator (K (K - 1) numbers each): MACE has K.

References.
    A. P. Dawid and A. M. Skene (1979), Applied Statistics 28:20-28, doi:10.2307/2346806.
    A. Rzhetsky, H. Shatkay and W. J. Wilbur (2008), How to get the most out of your curation effort,
    PLoS Computational Biology 5(5):e1000391, doi:10.1371/journal.pcbi.1000391, supplement, sections 9 to 13.
    J. Pullin, L. Gurrin and D. Vukcevic (2023), The R Journal 15:4, doi:10.32614/RJ-2023-064 (rater).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.fields import Fraction, Positive
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.arguments import Answers, Design, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import HasCaveats, HasUpdates, Relabels, are_equal_as_typed
from bayesanno.modeling.expectation import Expected, Shares, Votes, in_proportion
from bayesanno.models._habit import MATRICES, ask_whether_habits_are_classes

LEAST_CONCENTRATION = 0.2  # of a wrong response, from which on chains move well: of 10 labels it is 0.36, of 20 0.17


@dataclass(frozen=True, kw_only=True)
class ModelB(HasUpdates, AnnotationModel, HasCaveats, Relabels):
    """Dawid and Skene's model: a prevalence, and a confusion matrix per annotator.

    Parameters
    ----------
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    confusion_strength : float, default 8
        Total concentration of the Dirichlet prior of each row of a confusion matrix: a number of answers.
    confusion_accuracy : float, default 0.6
        The prior mean of the diagonal, of answers that name a class. 1/K makes the classes exchangeable.

    Examples
    --------
    >>> from bayesanno.models import ModelB
    >>> ModelB(confusion_accuracy=0.8)
    ModelB(prevalence_prior=3.0, confusion_strength=8.0, confusion_accuracy=0.8)
    """

    name: ClassVar[str] = "model_b"
    competence: ClassVar[str | None] = "accuracy"
    takes_other_labels: ClassVar[bool] = True
    parameter_dims: ClassVar[dict[str, tuple[str, ...]]] = {
        "prevalence": ("true_class",),
        "confusion": ("annotator", "true_class", "response"),
        "accuracy": ("annotator",),
    }

    prevalence_prior: Positive = 3.0
    confusion_strength: Positive = 8.0
    confusion_accuracy: Fraction = 0.6

    @override
    def caveats(self, data: AnnotationData) -> list[str]:
        found = ask_whether_habits_are_classes(data, MATRICES)
        wrong = (1 - self.confusion_accuracy) / (data.n_classes - 1)  # the prior mean of a wrong response
        if self.confusion_strength * wrong >= LEAST_CONCENTRATION:
            return found
        enough = math.ceil(4 * LEAST_CONCENTRATION / wrong)
        return [
            f"with {data.n_classes} labels, confusion_strength={self.confusion_strength:g} leaves each wrong response "
            f"a concentration of {self.confusion_strength * wrong:.2g}: a density so steep near 0 is sampled slowly, "
            f"if at all; set confusion_strength={enough}, join rare labels, or fit mace, which has fewer parameters",
            *found,
        ]

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        prevalence = pm.Dirichlet("prevalence", prior.prevalence_prior * np.ones(data.n_classes), dims="true_class")
        confusion = pm.Dirichlet("confusion", self.rows(data, prior), dims=("annotator", "true_class", "response"))
        correct = confusion[:, np.arange(data.n_classes), data.class_codes]  # (annotator, true_class)
        pm.Deterministic("accuracy", (prevalence * correct).sum(-1), dims="annotator")  # (39)

    def rows(self, data: AnnotationData, prior: Any) -> Any:
        """Return the prior's concentrations (true_class, response), of fields as numbers or as data of the graph."""
        right = np.equal.outer(data.class_codes, np.arange(data.n_labels))  # (true_class, response)
        elsewhere = ~right / (data.n_classes - 1)
        accuracy = prior.confusion_accuracy
        return prior.confusion_strength * (right * accuracy + elsewhere * (1 - accuracy))

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        true_class = design.with_controls(pm.Categorical.dist(p.prevalence, shape=(design.n_items,)))  # (item,)
        response = pm.Categorical.dist(p.confusion[design.annotator, true_class[design.item]])  # (annotation,)
        return true_class, response

    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        log_lambda = pt.log(p.confusion).transpose(0, 2, 1)  # (annotator, response, true_class)
        return pt.log(p.prevalence) + answers.sum_over_annotations(log_lambda)  # (item, true_class), (33)

    def start_from(self, votes: Votes, data: Any) -> dict[str, np.ndarray]:
        classes = data.class_codes
        counts = votes.answers[:, :, classes].transpose(0, 2, 1) + self.confusion_strength / data.n_labels / 2
        counts[:, np.arange(data.n_classes), classes] += self.confusion_strength / 2
        prevalence = votes.shares[classes] + self.prevalence_prior  # (true_class,)
        return {"prevalence": in_proportion(prevalence), "confusion": in_proportion(counts)}

    def is_exchangeable(self, data: AnnotationData) -> bool:
        elsewhere = (1 - self.confusion_accuracy) / (data.n_classes - 1)  # of each wrong response
        return are_equal_as_typed(self.confusion_accuracy, elsewhere) and not data.controls

    def concentrations(self, data: AnnotationData) -> dict[str, np.ndarray]:
        return {
            "prevalence": np.full(data.n_classes, self.prevalence_prior),
            "confusion": np.tile(self.rows(data, self), (data.n_annotators, 1, 1)),
        }

    def probabilities(self, shares: Shares, names_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return shares["prevalence"], shares["confusion"].transpose(0, 2, 1)

    def expected_counts(self, shares: Shares, expected: Expected, names_class: np.ndarray) -> dict[str, np.ndarray]:
        # (48), divided by the items of the class: as printed, over both classes, rows would not add up to 1
        return {"prevalence": expected.classes, "confusion": expected.answers.transpose(0, 2, 1)}

    def deterministics(self, values: Mapping[str, np.ndarray], names_class: np.ndarray) -> dict[str, np.ndarray]:
        correct = (values["confusion"] * names_class).sum(axis=2)  # (annotator, true_class)
        return {"accuracy": correct @ values["prevalence"]}  # (39)
