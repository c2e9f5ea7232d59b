"""Items with a difficulty of their own: a standard normal number times a spread, integrated out.

How the integral is taken, jointly with the sum over classes, is in `bayesanno.modeling.item_numbers`.
"""

from __future__ import annotations

from typing import Any, ClassVar, override

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.lazy import pm, pt, xr
from bayesanno.modeling.any_size import as_data
from bayesanno.modeling.arguments import Answers, Parameters
from bayesanno.modeling.capabilities import DIFFICULTY, HasRemarks, HasViews, View
from bayesanno.modeling.expectation import Votes
from bayesanno.modeling.item_numbers import SLOPE, SLOPE_NODES, ItemNumberModel, Z

TOO_WIDE = 2.0  # above this spread difficulties may stand for something else, and nodes become too few
BIN = 0.25  # the width of the bins that the posterior of a difficulty is read off in
FARTHEST = 8.0  # the centre of the last bin, which includes everything beyond


def bin_centres() -> np.ndarray:
    """Return the centres of the bins of a difficulty, on the scale of log-odds."""
    return np.linspace(-FARTHEST, FARTHEST, 2 * round(FARTHEST / BIN) + 1)


class DifficultyModel(ItemNumberModel, HasViews, HasRemarks):
    """A model whose answers depend on the true class and on an item's difficulty, `spread` times a standard normal.

    It declares `spread` (), `prevalence` (true_class) and what its answers depend on: by default `ability` (annotator),
    in which the log-odds of being right are a straight line (`line`), and `habit` (annotator, response) where it has
    one (`split_habit`). A model that overrides `log_answers` has answers of any other kind.
    """

    has_difficulty: ClassVar[bool] = True

    @override
    def log_answers(self, answers: Answers, p: Parameters, z: Any, slope: Any) -> pt.TensorVariable:
        """Return log p(response | true class, node): (annotator, response, true_class, node).

        `z` and `slope` are the numbers of an item at each node.
        """
        factor, offset = self.line(p, z, slope, answers.n_classes)
        lean, log_share = split_habit(p.get("habit"), answers.names_class)
        odds = (factor * p.ability[:, None] + offset)[:, None] + lean[:, :, None]  # (annotator, true_class, node)
        right, wrong = -pt.softplus(-odds)[:, None], -pt.softplus(odds)[:, None] + log_share[:, :, :, None]
        return pt.switch(answers.names_class.T[:, :, None], right, wrong)

    def line(self, p: Parameters, z: Any, slope: Any, n_classes: int) -> tuple[Any, Any]:
        """Return factor and offset of the ability in the log-odds of being right, of the shape of the nodes.

        `z` and `slope` are the numbers of an item at each node.
        """
        raise NotImplementedError  # abstract, but for models with `log_answers` of their own

    def declare_accuracy(self, data: AnnotationData, prevalence: pt.TensorVariable, p: Parameters) -> None:
        """Declare `accuracy` (annotator): P(right) on an item drawn from all, its difficulty integrated out."""
        z, slope, log_weight = self.nodes(data)  # (node,)
        factor, offset = self.line(p, z, slope, data.n_classes)
        lean, _ = split_habit(p.get("habit"), data.names_class)
        odds = (factor * p.ability[:, None] + offset)[:, None] + lean[:, :, None]  # (annotator, true_class, node)
        of_class = pt.sigmoid(odds).dot(np.exp(log_weight))  # (annotator, true_class)
        pm.Deterministic("accuracy", (prevalence * of_class).sum(axis=1), dims="annotator")

    @override
    def remarks(self, posterior: xr.Dataset) -> list[str]:
        spread = float(posterior["spread"].mean())
        if spread <= TOO_WIDE:
            return []
        found = f"the difficulties' spread is {spread:.1f}, above {TOO_WIDE:g}: "
        if "habit" in posterior:
            return [f"{found}classes that annotators confuse may look like hard items: fit model_b, and compare"]
        return [
            f"{found}careless annotators may look like hard items, and labels are then often wrong: fit mace, model_b "
            "or item_difficulty with habits=True, and compare"
        ]

    def coords(self, data: AnnotationData) -> dict[str, list[Any]]:
        """Return the named coordinates of the graph, and the bins of a difficulty."""
        return super().coords(data) | {DIFFICULTY: bin_centres().tolist()}

    @override
    def views(self, answers: Answers, probability: pt.TensorVariable, p: Parameters) -> dict[str, View]:
        """Return the posterior of the items' difficulty, and how often annotators are right on them."""
        z = answers.index[Z.role]  # (node,)
        log_answer = self.log_answers(answers, p, z, answers.index[SLOPE.role])
        share = probability[:, :, None] * self.integrate(answers, p, log_answer)[1]  # (item, true_class, node)
        of_node = share.sum(axis=1)  # (item, node)
        if self.has_slopes:
            of_node = of_node.reshape((answers.n_items, -1, SLOPE_NODES)).sum(axis=2)  # (item, z)
            z = z[::SLOPE_NODES]
        right = pt.switch(answers.names_class.T[:, :, None], pt.exp(log_answer), 0.0).sum(axis=1)
        return {
            "difficulty": View(("item",), p.spread * (of_node * z).sum(axis=1)),
            "difficulty_probability": View(("item", DIFFICULTY), _bin(of_node, z, p.spread)),
            "expected_accuracy": View(("item",), (share * right.mean(axis=0)).sum(axis=(1, 2))),
        }


def odds_of_votes(votes: Votes) -> np.ndarray:
    """Return about the log-odds of being right that the vote gives each annotator, (annotator,): where chains start."""
    right = np.clip((votes.agreed + 1.5) / (votes.given.sum(axis=1) + 2), 0.55, 0.95)
    odds: np.ndarray = np.log(right / (1 - right))
    return odds


def split_habit(habit: Any | None, names_class: np.ndarray) -> tuple[pt.TensorVariable, pt.TensorVariable]:
    """Return what habits add to the log-odds of being right, and which other label is given otherwise.

    Where a response v of class k has probability in proportion to exp(habit_v + [v is k] gain), the log-odds of being
    right are gain - log(K - 1) + lean_k, with lean_k = habit_k - log mean over v not k of exp(habit_v).

    Parameters
    ----------
    habit : TensorVariable, shape (annotator, response), or None
        Log-odds of giving each response, whatever the item; none at all is 0 for each.
    names_class : array of bool, shape (true_class, response)

    Returns
    -------
    lean : TensorVariable, shape (annotator, true_class)
    log_share : TensorVariable, shape (annotator, response, true_class)
        The log of the share that a response has in the wrong ones.
    """
    names = names_class.T  # (response, true_class)
    each = pt.zeros((1, len(names), 1)) if habit is None else habit[:, :, None]  # (annotator, response, 1)
    log_others = pt.log((pt.exp(each) * ~names).sum(axis=1))  # (annotator, true_class)
    lean = (each * names).sum(axis=1) - log_others + as_data(np.log(len(names) - 1))
    return lean, each - log_others[:, None]


def _bin(of_z: pt.TensorVariable, z: pt.TensorVariable, spread: pt.TensorVariable) -> pt.TensorVariable:
    """Return the probability of each bin of spread times z, (item, bin), from that of the nodes, (item, z).

    What a node has is spread evenly half a step to both of its sides.
    """
    step = z[1] - z[0]
    edges = (bin_centres()[:-1] + bin_centres()[1:]) / 2  # none is 0, which a spread of 0 would not send anywhere
    place = pt.clip((edges / spread - z[0]) / step + 0.5, 0, z.shape[0])  # (edge,), in steps from the lowest end
    node = pt.minimum(pt.floor(place).astype("int64"), z.shape[0] - 1)
    below = pt.cumsum(of_z, axis=1)[:, node] - of_z[:, node] * (node + 1 - place)  # (item, edge)
    none = pt.zeros_like(below[:, :1])
    return pt.diff(pt.concatenate([none, below, none + 1], axis=1), axis=1)
