"""Item difficulties: `spread` times a standard normal number, which is integrated out.

The integral, combined with the sum over classes, is in `bayesanno.modeling.item_effects`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, override

import numpy as np

from bayesanno._core.lazy import pm, pt, xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.graph.flat import as_size
from bayesanno.modeling.arguments import DIFFICULTY, Answers, Derived, Design, Parameters
from bayesanno.modeling.chance import scale_confusion
from bayesanno.modeling.expectation import in_proportion, votes_of
from bayesanno.modeling.findings import Finding, check
from bayesanno.modeling.item_effects import ItemEffectModel, quadrature_nodes

BIN = 0.25  # the width of the bins of the posterior of a difficulty
FARTHEST = 8.0  # the centre of the last bin, which includes everything beyond


def bin_centres() -> np.ndarray:
    """Return the centres of the bins of a difficulty, on the log-odds scale."""
    return np.linspace(-FARTHEST, FARTHEST, 2 * round(FARTHEST / BIN) + 1)


class DifficultyModel(ItemEffectModel):
    """A model in which answers depend on the true class and the item's difficulty, `spread` times a standard normal.

    Given the item's numbers, the probability of an answer v to an item of class k is proportional to
    exp(habit_v + [v = k] g), with g its `log_odds`. The model declares `spread` (), `prevalence` (true_class), the
    parameters of g, and, if it has habits, `habit` (annotator, response).
    """

    @property
    def ability_is_above_chance(self) -> bool:
        """Whether an ability of 0 is at chance; otherwise it is the log odds of being right, without habits."""
        return False

    @abstractmethod
    def log_odds(self, p: Parameters, annotator: Any, z: Any, slope: Any, n_classes: int) -> pt.TensorVariable:
        """Return how much the true class adds to the log odds of an answer.

        `annotator` is an index of annotators, and `z` and `slope` are the numbers of an item; the result has their
        common shape.
        """

    @override
    def log_answers(self, answers: Answers, p: Parameters, z: Any, slope: Any) -> pt.TensorVariable:
        """Return log p(response | true class, node): (annotator, response, true_class, node).

        `z` and `slope` are the numbers of an item at each node.
        """
        return self._log_answers(p, answers.names_class, z, slope)

    def _log_answers(self, p: Parameters, names_class: np.ndarray, z: Any, slope: Any) -> pt.TensorVariable:
        is_right = names_class.T[:, :, None]  # (response, true_class, 1)
        habit = p.get("habit")
        each = pt.zeros((1, len(is_right), 1, 1)) if habit is None else habit[:, :, None, None]
        log_others = pt.log((pt.exp(each) * ~is_right).sum(axis=1))  # (annotator, true_class, 1)
        log_odds = self.log_odds(p, np.s_[:, None], z, slope, as_size(len(names_class)))[
            :, None
        ]  # (annotator, 1, node)
        odds = log_odds + (each * is_right).sum(axis=1) - log_others  # (annotator, true_class, node), log odds of right
        wrong = each - log_others[:, None] - pt.softplus(odds)[:, None]
        return pt.switch(is_right, -pt.softplus(-odds)[:, None], wrong)  # the log of 1 - p keeps its digits

    def declare_accuracy(self, data: AnnotationData, p: Parameters) -> None:
        """Declare `accuracy` (annotator): P(right) on a random item, with the difficulty integrated out."""
        nodes = quadrature_nodes(self.count_nodes(p), self.support)
        right = _sum_right(self._log_answers(p, data.names_class, nodes.z, nodes.slope), data.names_class)
        accuracy = (p.prevalence * right.dot(pt.exp(nodes.log_weight))).sum(axis=1)  # (annotator,)
        pm.Deterministic("accuracy", accuracy, dims="annotator")

    @override
    def findings_of_posterior(self, posterior: xr.Dataset) -> Iterable[Finding]:
        has_habits = "habit" in posterior
        who = "classes that annotators confuse" if has_habits else "careless annotators"
        models = "model_b" if has_habits else "mace or model_b"
        return check("difficulty-wide", posterior["spread"].mean(), ["spread"], who=who, models=models)

    @override
    def above_chance(self, posterior: xr.Dataset, data: AnnotationData) -> xr.DataArray:
        """Return how far annotators are above chance on an item of average difficulty."""
        log_odds = posterior["ability"] + (0.0 if self.ability_is_above_chance else np.log(data.n_classes - 1))
        is_right = xr.DataArray(data.names_class, dims=("true_class", "response"))
        odds = xr.ufuncs.exp(log_odds * is_right + posterior.get("habit", 0.0))
        return scale_confusion(odds / odds.sum("response"), posterior["prevalence"], data.names_class)

    def coords(self, data: AnnotationData) -> dict[str, list[Any]]:
        """Return the named coordinates of the graph, and the bins of a difficulty."""
        return super().coords(data) | {DIFFICULTY: bin_centres().tolist()}

    @override
    def derived(self, answers: Answers, probability: pt.TensorVariable, p: Parameters) -> dict[str, Derived]:
        """Return the posterior of item difficulties, and how often annotators are right on the items."""
        nodes = quadrature_nodes(self.count_nodes(p, answers), self.support)
        log_answer = self.log_answers(answers, p, nodes.z, nodes.slope)
        share = probability[:, :, None] * self.integrate(answers, p, log_answer, nodes)[1]  # (item, true_class, node)
        z = nodes.axis
        of_z = share.sum(axis=1).reshape((answers.n_items, nodes.length, -1)).sum(axis=2)  # (item, z)
        right = _sum_right(log_answer, answers.names_class)  # (annotator, true_class, node)
        return {
            "difficulty": Derived(("item",), p.spread * (of_z * z).sum(axis=1)),
            "difficulty_probability": Derived(("item", DIFFICULTY), _bin(of_z, z, nodes.length, p.spread)),
            "expected_accuracy": Derived(("item",), (share * right.mean(axis=0)).sum(axis=(1, 2))),
        }


def draw_responses(design: Design, true_class: Any, log_odds: Any, habit: Any | None) -> pt.TensorVariable:
    """Return random responses (annotation,) to items of these classes (item,), given the log_odds (annotation,)."""
    truth = pt.as_tensor(design.class_response)[design.show(true_class)]
    score = log_odds[:, None] * pt.eq(truth[:, None], np.arange(design.n_classes))  # (annotation, response)
    return pm.Categorical.dist(logit_p=score if habit is None else score + habit[design.annotator])


def start_near_vote(data: AnnotationData) -> dict[str, np.ndarray]:
    """Return `prevalence`, `spread`, `ability` and `habit` near the vote; `ability` as the log-odds of being right."""
    votes = votes_of(data)
    right = np.clip((votes.agreed + 1.5) / (votes.given.sum(axis=1) + 2), 0.55, 0.95)  # (annotator,)
    return {
        "prevalence": in_proportion(votes.shares[data.class_codes] + 1),
        "spread": np.array(0.5),
        "ability": np.log(right / (1 - right)),
        "habit": np.zeros((data.n_annotators, data.n_labels)),
    }


def _sum_right(log_answer: pt.TensorVariable, names_class: np.ndarray) -> pt.TensorVariable:
    """Return P(right): (annotator, true_class, node)."""
    return pt.switch(names_class.T[:, :, None], pt.exp(log_answer), 0.0).sum(axis=1)


def _bin(of_z: pt.TensorVariable, z: pt.TensorVariable, n_z: Any, spread: pt.TensorVariable) -> pt.TensorVariable:
    """Return the probabilities of bins of spread times z, (item, bin), from those of the nodes, (item, z).

    The probability of a node is distributed evenly, half a step to both sides.
    """
    step = z[1] - z[0]
    edges = (bin_centres()[:-1] + bin_centres()[1:]) / 2  # none is 0, which divided by a spread of 0 is nan
    place = pt.clip((edges / spread - z[0]) / step + 0.5, 0, n_z)  # (edge,), in steps from the lowest end
    node = pt.minimum(pt.floor(place).astype("int64"), n_z - 1)
    below = pt.cumsum(of_z, axis=1)[:, node] - of_z[:, node] * (node + 1 - place)  # (item, edge)
    none = pt.zeros_like(below[:, :1])
    return pt.diff(pt.concatenate([none, below, none + 1], axis=1), axis=1)
