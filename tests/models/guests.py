"""Models that are not in the zoo: what the mechanism must be able to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.stats import beta, dirichlet

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.modeling.arguments import FixedParameter
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.expectation import agreement_with_vote, in_proportion, votes_of
from bayesanno.modeling.independent import IndependentAnswers
from tests.models.references import Parameters, Reference, Said

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class HardItems(AnnotationModel):
    """Items have parameters of their own: on item i, j knows with probability theta_j (1 - d_i), and else guesses."""

    name: ClassVar[str] = "hard_items"
    competence: ClassVar[str | None] = "competence"
    collapse_items: ClassVar[bool] = False

    competence_prior: tuple[Positive, Positive] = (1.0, 1.0)
    difficulty_prior: tuple[Positive, Positive] = (1.0, 1.0)

    def priors(self, data, prior):
        pm.Beta("competence", prior.competence_prior[0], prior.competence_prior[1], dims="annotator")
        pm.Beta("difficulty", prior.difficulty_prior[0], prior.difficulty_prior[1], dims="item")

    def generate(self, design, p):
        n_classes = design.n_classes
        uniform = np.ones(n_classes) / n_classes
        true_class = design.with_controls(pm.Categorical.dist(uniform, shape=(design.n_items,)))  # (item,)
        knows = pm.Bernoulli.dist(p.competence[design.annotator] * (1 - p.difficulty[design.item]))  # (annotation,)
        guess = pt.as_tensor(design.class_response)[pm.Categorical.dist(uniform, shape=(design.item.shape[0],))]
        named = pt.as_tensor(design.class_response)[true_class[design.item]]
        return true_class, pt.switch(knows, named, guess)

    def state_logp(self, answers, p):
        knows = (p.competence[answers.annotator] * (1 - p.difficulty[answers.item]))[:, None]  # (annotation, 1)
        named = pt.as_tensor(answers.names_class.T * 1.0)[answers.response]  # (annotation, true_class)
        logp = pt.log(knows * named + (1 - knows) / answers.n_classes)
        return -np.log(answers.n_classes) + answers.sum_by_item(logp)  # (item, true_class)

    def start(self, data):
        agreed, n_annotations = agreement_with_vote(data)
        return {
            "competence": np.clip((agreed + 0.5) / (n_annotations + 1), 0.1, 0.9),
            "difficulty": np.full(data.n_items, 0.2),
        }


def hard_items_states(parameters: Parameters, said: Said) -> np.ndarray:
    """p(state, answers) of one item, whose own difficulty is among the parameters."""
    joint = []
    for truth in range(3):
        probability = 1 / 3
        for annotator, label in said:
            knows = parameters["competence"][annotator] * (1 - parameters["difficulty"])
            probability *= knows * (label == truth) + (1 - knows) / 3
        joint.append(probability)
    return np.array(joint)


def hard_items_log_prior(parameters: Parameters, fields: Mapping) -> float:
    total = beta(*fields["competence_prior"]).logpdf(parameters["competence"]).sum()
    return float(total + beta(*fields["difficulty_prior"]).logpdf(parameters["difficulty"]).sum())


@dataclass(frozen=True, kw_only=True)
class ClassesByColumn(IndependentAnswers):
    """The prior of the class depends on a column of the items: items come from two sources, in turn."""

    name: ClassVar[str] = "classes_by_column"
    competence: ClassVar[str | None] = "accuracy"
    collapse_items: ClassVar[bool] = False

    accuracy_prior: tuple[Positive, Positive] = (2.0, 1.0)
    prevalence_prior: Positive = 2.0

    def fixed_parameters(self, data):
        return {"source_of": FixedParameter(np.arange(data.n_items) % 2, ("item",))}

    def coords(self, data):
        return super().coords(data) | {"source": ["press", "forum"]}

    def priors(self, data, prior):
        concentration = prior.prevalence_prior * np.ones(data.n_classes)
        pm.Dirichlet("prevalence", concentration, dims=("source", "true_class"))
        pm.Beta("accuracy", prior.accuracy_prior[0], prior.accuracy_prior[1], dims="annotator")

    def tables(self, p, is_class):
        right, wrong = p.prob_and_complement("accuracy")
        elsewhere = ~is_class / (is_class.shape[1] - 1)
        return p.prevalence[p.source_of], right[:, None, None] * is_class + wrong[:, None, None] * elsewhere

    def generate(self, design, p):
        source_of = p.source_of[: design.n_items]  # a design of the contract has fewer items than the data
        true_class = design.with_controls(pm.Categorical.dist(p.prevalence[source_of]))  # (item,)
        truth, n_classes = true_class[design.item], design.n_classes
        right = pm.Bernoulli.dist(p.accuracy[design.annotator])  # (annotation,)
        wrong = (truth + 1 + pm.DiscreteUniform.dist(0, n_classes - 2, shape=truth.shape)) % n_classes
        return true_class, pt.as_tensor(design.class_response)[pt.switch(right, truth, wrong)]

    def start(self, data):
        prevalence = in_proportion(votes_of(data).shares[data.class_codes] + 1)
        return {"prevalence": np.tile(prevalence, (2, 1)), "accuracy": np.full(data.n_annotators, 0.8)}


def classes_by_column_states(parameters: Parameters, said: Said) -> np.ndarray:
    """p(state, answers) of one item, whose own source is among the parameters."""
    joint = []
    for truth, probability in enumerate(parameters["prevalence"][parameters["source_of"]]):
        for annotator, label in said:
            accuracy = parameters["accuracy"][annotator]
            probability *= accuracy if label == truth else (1 - accuracy) / 2
        joint.append(probability)
    return np.array(joint)


def classes_by_column_log_prior(parameters: Parameters, fields: Mapping) -> float:
    concentration = np.full(parameters["prevalence"].shape[1], fields["prevalence_prior"])
    total = sum(dirichlet(concentration).logpdf(row) for row in parameters["prevalence"])
    return float(total + beta(*fields["accuracy_prior"]).logpdf(parameters["accuracy"]).sum())


GUESTS: dict[str, tuple[type[AnnotationModel], Reference]] = {
    "hard_items": (
        HardItems,
        Reference(
            variants={"priors": {"competence_prior": (3.0, 1.0), "difficulty_prior": (1.0, 2.0)}},
            state_probability=hard_items_states,
            log_prior=hard_items_log_prior,
        ),
    ),
    "classes_by_column": (
        ClassesByColumn,
        Reference(
            variants={"default": {}},
            state_probability=classes_by_column_states,
            log_prior=classes_by_column_log_prior,
        ),
    ),
}


@dataclass(frozen=True, kw_only=True)
class TwoWidths(AnnotationModel):
    """A posterior that is known beforehand: a wide mode of mass .999, a narrow one of .001; answers say nothing."""

    name: ClassVar[str] = "two_widths"

    MASS: ClassVar = np.array([0.999, 0.001])
    CENTRES: ClassVar = np.array([[-3.0, -3.0, -3.0], [4.0, 4.0, 4.0]])
    SDS: ClassVar = np.array([1.0, 0.02])

    def priors(self, data, prior):
        place = pm.Flat("place", shape=3)
        normals = [pm.logp(pm.Normal.dist(at, sd), place).sum() for at, sd in zip(self.CENTRES, self.SDS, strict=True)]
        pm.Potential("density", pt.logaddexp(*(np.log(self.MASS) + pt.stack(normals))))

    def generate(self, design, p):
        uniform = np.ones(design.n_classes) / design.n_classes
        return tuple(pm.Categorical.dist(uniform, shape=(n,)) for n in (design.n_items, design.item.shape[0]))

    def state_logp(self, answers, p):
        nothing = 0 * p.place.sum() + pt.zeros((answers.n_annotators, answers.n_responses, answers.n_classes))
        return -np.log(answers.n_classes) + answers.sum_over_annotations(nothing)

    def start(self, data):
        return {"place": self.CENTRES[0]}
