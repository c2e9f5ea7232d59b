"""Class conditional: an annotator is right with one probability per class (rater's class-conditional Dawid-Skene).

Generative process.  An item has one true class.  Annotator x, shown an item of class psi, gives that class with a
probability that is theirs for psi; otherwise another label, each as likely as the others.

Model.

    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx = C_n            with probability theta_x[C_n]               x is right,
    V_nx = v != C_n       with probability (1 - theta_x[C_n]) / (K - 1) each
    p(C_n = psi, V_n)   = gamma_psi  prod_x p(v_x | psi)              the likelihood is its sum over psi
    sum_psi gamma_psi theta_x[psi]                                    how often x is right: accuracy

That is model B with rows of one number each.  With two classes it is model B: sensitivity and specificity.  An
annotator who answers an item twice contributes two factors; one who does not answer contributes none.

Symbols.
    gamma    prevalence       (true_class)
    theta    class_accuracy   (annotator, true_class)
             accuracy         (annotator), a deterministic

Priors and what they imply.
    class_accuracy ~ Beta(4.8, 3.2): eight answers of which 60% are right, as the diagonal of model B's rows.
    prevalence     ~ Dirichlet(3): as if each class had been seen three times.

Identifiability.  "Right" ties each class to the label of the same name, so the classes cannot be permuted.  With two
classes, annotators who are right in less than half of the cases mirror those who are not, and only the prior
distinguishes the two.  With fewer than three annotators on the same items accuracies are hardly identified.  A class
that an annotator has rarely seen keeps its prior.  Where annotators who click one label gave a third of the answers (of
two labels, half), the model may take the habit for a class, and some known labels do not help (`_habit.py`): a fit
names these annotators before it samples.

Use when some classes are easier than others, and differently so for different annotators (one misses the rare class,
another over-reports it), but errors within a class fall anywhere.  Avoid when particular classes are taken for each
other (`model_b`), or answers are so few that one number per annotator is enough (`one_coin`).

References.
    A. P. Dawid and A. M. Skene (1979), Applied Statistics 28:20-28, doi:10.2307/2346806.
    J. Pullin, L. Gurrin and D. Vukcevic (2023), The R Journal 15:4, doi:10.32614/RJ-2023-064 (rater), section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.fields import Positive
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.any_size import as_data
from bayesanno.modeling.arguments import Answers, Design, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import HasCaveats, HasUpdates
from bayesanno.modeling.expectation import Expected, Shares, Votes, in_proportion
from bayesanno.modeling.ops.variables import beta_by_probit
from bayesanno.models._habit import MATRICES, RATES, ask_whether_habits_are_classes


@dataclass(frozen=True, kw_only=True)
class ClassConditional(HasUpdates, AnnotationModel, HasCaveats):
    """One accuracy per annotator and class, and errors that fall anywhere.

    Parameters
    ----------
    class_accuracy_prior : tuple of two floats, default (4.8, 3.2)
        The Beta prior of the accuracy of an annotator on the items of a class.
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("class_conditional", data, method="em", random_seed=1, progressbar=False)
    >>> fit["posterior"]["class_accuracy"].dims
    ('chain', 'draw', 'annotator', 'true_class')
    """

    name: ClassVar[str] = "class_conditional"
    competence: ClassVar[str | None] = "accuracy"
    parameter_dims: ClassVar[dict[str, tuple[str, ...]]] = {
        "class_accuracy": ("annotator", "true_class"),
        "prevalence": ("true_class",),
        "accuracy": ("annotator",),
    }

    class_accuracy_prior: tuple[Positive, Positive] = (4.8, 3.2)
    prevalence_prior: Positive = 3.0

    @override
    def caveats(self, data: AnnotationData) -> list[str]:
        return ask_whether_habits_are_classes(data, MATRICES if data.n_classes == 2 else RATES)

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        right = beta_by_probit("class_accuracy", prior.class_accuracy_prior, dims=("annotator", "true_class"))
        prevalence = pm.Dirichlet("prevalence", prior.prevalence_prior * np.ones(data.n_classes), dims="true_class")
        pm.Deterministic("accuracy", (prevalence * right).sum(-1), dims="annotator")

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        true_class = design.with_controls(pm.Categorical.dist(p.prevalence, shape=(design.n_items,)))  # (item,)
        truth = true_class[design.item]  # (annotation,)
        n_classes = design.class_response.size
        right = pm.Bernoulli.dist(p.class_accuracy[design.annotator, truth])  # (annotation,)
        wrong = (truth + 1 + pm.DiscreteUniform.dist(0, n_classes - 2, shape=truth.shape)) % n_classes
        return true_class, pt.as_tensor(design.class_response)[pt.switch(right, truth, wrong)]

    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        right = p.class_accuracy[:, None, :]  # (annotator, 1, true_class)
        among = as_data(np.log(answers.n_classes - 1))  # which of the others it is
        log_answer = pt.switch(answers.names_class.T, pt.log(right), pt.log1p(-right) - among)
        return pt.log(p.prevalence) + answers.sum_over_annotations(log_answer)  # (item, true_class)

    def start_from(self, votes: Votes, data: Any) -> dict[str, np.ndarray]:
        classes, (yes, no) = data.class_codes, self.class_accuracy_prior
        asked = votes.answers.sum(axis=1)[:, classes]  # (annotator, true_class)
        right = votes.answers[:, classes, classes]
        return {
            "class_accuracy": np.clip((right + yes) / (asked + yes + no), 0.02, 0.98),
            "prevalence": in_proportion(votes.shares[classes] + 1),
        }

    def concentrations(self, data: AnnotationData) -> dict[str, np.ndarray]:
        return {
            "class_accuracy": np.tile(self.class_accuracy_prior, (data.n_annotators, data.n_classes, 1)),
            "prevalence": np.full(data.n_classes, self.prevalence_prior),
        }

    def probabilities(self, shares: Shares, names_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right, wrong = np.moveaxis(shares["class_accuracy"], -1, 0)[:, :, None, :]  # (annotator, 1, true_class)
        return shares["prevalence"], np.where(names_class.T, right, wrong / (len(names_class) - 1))

    def expected_counts(self, shares: Shares, expected: Expected, names_class: np.ndarray) -> dict[str, np.ndarray]:
        right = (expected.answers * names_class.T).sum(axis=1)  # (annotator, true_class)
        wrong = np.maximum(expected.answers.sum(axis=1) - right, 0)
        return {"class_accuracy": np.stack([right, wrong], axis=-1), "prevalence": expected.classes}

    def deterministics(self, values: Mapping[str, np.ndarray], names_class: np.ndarray) -> dict[str, np.ndarray]:
        return {"accuracy": values["class_accuracy"] @ values["prevalence"]}
