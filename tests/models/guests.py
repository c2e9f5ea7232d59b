"""Models that are not in the zoo: what the mechanism must be able to take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit
from scipy.stats import beta, dirichlet, norm

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.modeling.arguments import FixedParameter
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.expectation import in_proportion, votes_of
from bayesanno.modeling.independent import IndependentAnswers
from tests.models.references import Parameters, Reference, Said

if TYPE_CHECKING:
    from collections.abc import Mapping


PAGE = (Path(__file__).parents[2] / "notebooks" / "own-models.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
OF_PAGE = ModuleType("own_models")  # the models of the page; items have parameters of their own in the first
for block in BLOCKS:
    if "(ba.AnnotationModel)" in block:
        exec(compile(block, "own-models.md", "exec", dont_inherit=True), OF_PAGE.__dict__)


def lapse_difficulty_states(parameters: Parameters, said: Said) -> np.ndarray:
    """p(state, answers) of one item, whose own difficulty is among the parameters."""
    joint = []
    for truth, probability in enumerate(parameters["prevalence"]):
        for annotator, label in said:
            lapses = parameters["lapse"][annotator]
            with np.errstate(invalid="ignore"):  # if both are infinite, the story has no answer
                sees = expit(parameters["skill"][annotator] - parameters["difficulty"])
            looks = sees if label == truth else (1 - sees) / 2
            probability *= lapses / 3 + (1 - lapses) * looks
        joint.append(probability)
    return np.array(joint)


def lapse_difficulty_log_prior(parameters: Parameters, fields: Mapping) -> float:
    total = dirichlet(np.full(3, fields["prevalence_prior"])).logpdf(parameters["prevalence"])
    total += beta(*fields["lapse_prior"]).logpdf(parameters["lapse"]).sum()
    total += norm(*fields["skill_prior"]).logpdf(parameters["skill"]).sum()
    return float(total + norm.logpdf(parameters["difficulty"]).sum())


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
    "lapse_difficulty": (
        OF_PAGE.LapseDifficulty,
        Reference(
            variants={"priors": {"lapse_prior": (2.0, 3.0), "skill_prior": (0.5, 1.5), "prevalence_prior": 2.0}},
            state_probability=lapse_difficulty_states,
            log_prior=lapse_difficulty_log_prior,
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
