"""One coin: an annotator is right with one probability, the same for all classes (after Dawid and Skene 1979).

Generative process.  An item has one true class.  Annotator x tosses a coin of their own: on heads they give the true
class; on tails another one, each equally likely or in proportion to its prevalence.

Model.

    C_n                 ~ Categorical(gamma)                              the true class of item n
    V_nx = C_n            with probability theta_x                        x is right,
    V_nx = v != C_n       with probability (1 - theta_x) e(v | C_n)       or wrong, and then says v
    e(v | psi)          = 1 / (K - 1)                                     errors="uniform"
    e(v | psi)          = gamma_v / (1 - gamma_psi)                       errors="prevalence"
    p(C_n = psi, V_n)   = gamma_psi  prod_x p(v_x | psi)                  the likelihood is its sum over psi

That is model B with confusion matrices of one number each.  With errors="prevalence" an annotator who is wrong draws
classes by prevalence until one is not the true class.  With two classes both kinds of error are the same.  An annotator
who answers an item twice contributes two factors; one who does not answer contributes none.

Symbols.
    theta    accuracy     (annotator)
    gamma    prevalence   (true_class)

Priors and what they imply.
    accuracy   ~ Beta(2, 1): rather right than wrong, as in model A.
    prevalence ~ Dirichlet(3): as if each class had been seen three times, as in model B.

Identifiability.  "Right" ties each class to the label of the same name, so the classes cannot be permuted.  With two
classes, annotators who are right in half of the cases or less mirror those who are not: only the prior distinguishes a
crowd at .8 from one at .2 whose classes have swapped.  With fewer than three annotators on the same items accuracy is
hardly identified.  All classes are assumed to be missed equally often: where a rare class is overlooked, all annotators
seem too good at it.  Where annotators who click one label gave a third of the answers, the model may take the habit for
a class (`_habit.py` has numbers): a fit names them before it samples.

Use when annotators are many, answers per annotator few, and errors fall on all classes alike.  Avoid when annotators
confuse particular classes (`model_b`) or click without looking (`mace`).

References.
    A. P. Dawid and A. M. Skene (1979), Applied Statistics 28:20-28, doi:10.2307/2346806; theirs with one number.
    Y. Zhang, X. Chen, D. Zhou and M. I. Jordan (2016), Spectral methods meet EM: a provably optimal algorithm for
    crowdsourcing, Journal of Machine Learning Research 17(102):1-44, https://jmlr.org/papers/v17/14-511.html, section
    2: the one-coin model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, override

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.fields import Positive
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.arguments import Answers, Design, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import HasCaveats, HasUpdates
from bayesanno.modeling.expectation import Expected, Shares, Votes, in_proportion
from bayesanno.modeling.ops.variables import beta_by_probit
from bayesanno.models._habit import RATES, ask_whether_habits_are_classes

ROUNDING = 1e-12  # of a sum of shares


@dataclass(frozen=True, kw_only=True)
class OneCoin(HasUpdates, AnnotationModel, HasCaveats):
    """One accuracy per annotator, and errors that fall anywhere.

    Parameters
    ----------
    accuracy_prior : tuple of two floats, default (2, 1)
        The Beta prior of the accuracy.
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    errors : {"uniform", "prevalence"}, default "uniform"
        Whether all wrong classes are equally likely to be given, or in proportion to how common they are.

    Examples
    --------
    >>> from bayesanno.models import OneCoin
    >>> OneCoin(errors="prevalence").accuracy_prior
    (2.0, 1.0)
    """

    name: ClassVar[str] = "one_coin"
    competence: ClassVar[str | None] = "accuracy"
    parameter_dims: ClassVar[dict[str, tuple[str, ...]]] = {"accuracy": ("annotator",), "prevalence": ("true_class",)}

    accuracy_prior: tuple[Positive, Positive] = (2.0, 1.0)
    prevalence_prior: Positive = 3.0
    errors: Literal["uniform", "prevalence"] = "uniform"

    @override
    def caveats(self, data: AnnotationData) -> list[str]:
        return ask_whether_habits_are_classes(data, RATES)

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        beta_by_probit("accuracy", prior.accuracy_prior, dims="annotator")
        pm.Dirichlet("prevalence", prior.prevalence_prior * np.ones(data.n_classes), dims="true_class")

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        true_class = design.with_controls(pm.Categorical.dist(p.prevalence, shape=(design.n_items,)))  # (item,)
        truth = true_class[design.item]  # (annotation,)
        right = pm.Bernoulli.dist(p.accuracy[design.annotator])  # (annotation,)
        wrong = self._log_error(p.prevalence, design.class_response.size)[:, truth].T  # (annotation, true_class)
        said = pt.switch(right, truth, pm.Categorical.dist(logit_p=wrong))
        return true_class, pt.as_tensor(design.class_response)[said]

    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        right, wrong = pt.log(p.accuracy)[:, None, None], pt.log1p(-p.accuracy)[:, None, None]
        error = self._log_error(p.prevalence, answers.n_classes)  # (response, true_class)
        log_answer = pt.switch(answers.names_class.T, right, wrong + error)  # (annotator, response, true_class)
        return pt.log(p.prevalence) + answers.sum_over_annotations(log_answer)  # (item, true_class)

    def _log_error(self, prevalence: pt.TensorVariable, n_classes: int) -> pt.TensorVariable:
        """Return log e(v | psi), shape (response, true_class), -inf on the diagonal."""
        same = np.eye(n_classes, dtype=bool)
        if self.errors == "uniform":
            return pt.as_tensor(np.where(same, -np.inf, -np.log(n_classes - 1)))
        others = pt.switch(same, 0.0, prevalence).sum(axis=1)  # (true_class,): 1 - gamma, without its rounding
        return pt.switch(same | pt.eq(prevalence, 0)[:, None], -np.inf, pt.log(prevalence)[:, None] - pt.log(others))

    def start_from(self, votes: Votes, data: Any) -> dict[str, np.ndarray]:
        n_annotations = votes.given.sum(axis=1)  # (annotator,)
        return {
            "accuracy": np.clip((votes.agreed + 1.5) / (n_annotations + 2), 0.55, 0.95),
            "prevalence": in_proportion(votes.shares[data.class_codes] + 1),
        }

    def concentrations(self, data: AnnotationData) -> dict[str, np.ndarray]:
        return {
            "accuracy": np.tile(self.accuracy_prior, (data.n_annotators, 1)),
            "prevalence": np.full(data.n_classes, self.prevalence_prior),
        }

    def probabilities(self, shares: Shares, names_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right, wrong = shares["accuracy"].T[:, :, None, None]  # (annotator, 1, 1)
        prevalence, same = shares["prevalence"], names_class.T  # (response, true_class)
        error = ~same / (len(names_class) - 1)
        if self.errors == "prevalence":
            error = np.where(same, 0.0, prevalence[:, None])
            lacking = 1 - prevalence.sum()  # of shares that add up to less than 1, as those of variational Bayes
            total = error.sum(axis=0) + (lacking if lacking > ROUNDING else 0.0)  # 1 - gamma, without its rounding
            error = np.divide(error, total, out=np.zeros_like(error), where=total > 0)
        return prevalence, np.where(same, right, wrong * error)

    def expected_counts(self, shares: Shares, expected: Expected, names_class: np.ndarray) -> dict[str, np.ndarray]:
        right = (expected.answers * names_class.T).sum(axis=(1, 2))  # (annotator,)
        wrong = np.maximum(expected.answers.sum(axis=(1, 2)) - right, 0)
        classes = expected.classes
        if self.errors == "prevalence":  # classes drawn by an annotator who is wrong count: those given, and before
            errors = (expected.answers * ~names_class.T).sum(axis=0)  # (response, true_class)
            share, missed = shares["prevalence"], errors.sum(axis=0)  # (true_class,)
            drawn_before = missed * np.divide(share, 1 - share, out=np.zeros_like(share), where=missed > 0)
            classes = classes + errors.sum(axis=1) + drawn_before
        return {"accuracy": np.stack([right, wrong], axis=1), "prevalence": classes}
