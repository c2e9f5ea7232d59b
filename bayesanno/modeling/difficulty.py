"""Items with a difficulty of their own, integrated out on a grid, jointly with the true class.

A difficulty per item would be as many parameters as items, and a likelihood given it no match for that of other models.
Here it is a standard normal number z, and the likelihood of an item is an integral over it,

    p(answers_i) = sum_k p(k)  integral  N(z; 0, 1)  prod_j p(v_ij | k, z)  dz,

taken by the trapezoidal rule: equally spaced nodes, with weights in proportion to N(z; 0, 1). For functions that are
analytic in a strip about the real line, as these are, its error falls exponentially with the spacing, and a
Gauss-Hermite rule of as many nodes, most of them far out, does worse (Trefethen and Weideman 2014, The exponentially
convergent trapezoidal rule, SIAM Review 56(3):385-458, doi:10.1137/130932132; Trefethen 2022, Exactness of quadrature
formulas, SIAM Review 64(1):132-150, doi:10.1137/20M1389522). The more answers an item has, the narrower the integrand:
the spacing follows the item of most answers.

The invariant: the integral is in the graph, so that likelihood, gradient, posterior of the class and posterior of the
difficulty are of one sum over nodes.
"""

from __future__ import annotations

from typing import Any, override

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.lazy import pt, xr
from bayesanno.modeling.any_size import as_data
from bayesanno.modeling.arguments import Answers, Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import DIFFICULTY, HasDifficulty, HasIndexArrays, HasRemarks, View
from bayesanno.modeling.data_kinds import Arrays, IndexArray, Key, Patterns

REACH = 5.0  # how far the nodes reach, in standard deviations of the items: one item in two million is beyond
FAR_REACH = 8.0  # where hard items have next to no right answers, which many answers push an item towards
WIDEST = 0.36  # the spacing for items of few answers
SLOPE_REACH, SLOPE_NODES = 4.0, 9  # of the second number of an item, which answers turn on less
Z, SLOPE, LOG_WEIGHT = Key("difficulty_node"), Key("slope_node"), Key("node_log_weight")

TOO_WIDE = 2.0  # above this spread difficulties may stand for something else, and nodes become too few
BIN = 0.25  # the width of the bins that the posterior of a difficulty is read off in
FARTHEST = 8.0  # the centre of the last bin, which includes everything beyond


def choose_nodes(most_answers: int, reach: float = REACH) -> np.ndarray:
    """Return the nodes for items of up to so many answers, in equal steps from one end of the reach to the other.

    Given n answers that are right with probability logistic(a - s z), the information on z is at most 1 + n s^2 / 4;
    the steps are at most 1.2 of the standard deviation that this gives at s = 1.4.

    Examples
    --------
    >>> from bayesanno.modeling.difficulty import choose_nodes
    >>> [choose_nodes(n).size for n in (5, 20, 60, 500)]
    [29, 29, 49, 135]
    """
    step = min(WIDEST, 1.2 / np.sqrt(1 + most_answers / 2))
    return np.linspace(-reach, reach, 2 * int(np.ceil(reach / step)) + 1)


def bin_centres() -> np.ndarray:
    """Return the centres of the bins of a difficulty, on the scale of log-odds."""
    return np.linspace(-FARTHEST, FARTHEST, 2 * round(FARTHEST / BIN) + 1)


class DifficultyModel(AnnotationModel, HasDifficulty, HasIndexArrays, HasRemarks):
    """A model whose answers depend on the true class and on an item's difficulty, `spread` times a standard normal.

    It declares `spread` (), `prevalence` (true_class) and what its answers depend on. A second standard normal number
    of the items, their slope, is there if it asks for it. By default it declares `ability` (annotator) as well: the
    log-odds of being right are a straight line in it (`line`), and errors are even over the other classes. A model that
    overrides `log_answers` has answers of any other kind.
    """

    @property
    def has_slopes(self) -> bool:
        """Whether items have a slope as well."""
        return False

    @property
    def reach(self) -> float:
        """How far the nodes of the difficulty reach, in its standard deviations."""
        return REACH

    def log_answers(self, answers: Answers, p: Parameters, z: Any, slope: Any) -> pt.TensorVariable:
        """Return log p(response | true class, node): (annotator, response, true_class, node).

        `z` and `slope` are the numbers of an item at each node.
        """
        factor, offset = self.line(p, z, slope, answers.n_classes)
        odds = (factor * p.ability[:, None] + offset)[:, None, None]  # (annotator, response, true_class, node)
        right, wrong = -pt.softplus(-odds), -pt.softplus(odds) - as_data(np.log(answers.n_classes - 1))
        return pt.switch(answers.names_class.T[:, :, None], right, wrong)

    def line(self, p: Parameters, z: Any, slope: Any, n_classes: int) -> tuple[Any, Any]:
        """Return factor and offset of the ability in the log-odds of being right, of the shape of the nodes.

        `z` and `slope` are the numbers of an item at each node.
        """
        raise NotImplementedError  # abstract, but for models with `log_answers` of their own

    @override
    def remarks(self, posterior: xr.Dataset) -> list[str]:
        spread = float(posterior["spread"].mean())
        if spread <= TOO_WIDE:
            return []
        return [
            f"the difficulties' spread is {spread:.1f}, above {TOO_WIDE:g}: careless annotators may look like hard "
            "items, and labels are then often wrong: fit mace, or model_b, and compare"
        ]

    def coords(self, data: AnnotationData) -> dict[str, list[Any]]:
        """Return the named coordinates of the graph, and the bins of a difficulty."""
        return super().coords(data) | {DIFFICULTY: bin_centres().tolist()}

    def nodes(self, data: AnnotationData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return z, slope and log weight of each node, as many as these data need; shape (node,) each."""
        one = np.linspace(-SLOPE_REACH, SLOPE_REACH, SLOPE_NODES) if self.has_slopes else np.zeros(1)
        most = int(np.bincount(data.item, minlength=1).max())
        z, slope = np.meshgrid(choose_nodes(most, self.reach), one, indexing="ij")
        log_weight = -(z**2 + slope**2) / 2  # (z, slope)
        return z.ravel(), slope.ravel(), (log_weight - np.log(np.exp(log_weight).sum())).ravel()

    def index_arrays(self, data: AnnotationData, patterns: Patterns) -> Arrays:  # noqa: ARG002
        """Return the nodes and their weights."""
        return {key: IndexArray(of) for key, of in zip((Z, SLOPE, LOG_WEIGHT), self.nodes(data), strict=True)}

    @override
    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        """Return log p(class, answers), the difficulty integrated out: (item, true_class)."""
        log_answer = self.log_answers(answers, p, answers.index[Z.role], answers.index[SLOPE.role])
        return self._integrate(answers, p, log_answer)[0]

    @override
    def views(self, answers: Answers, probability: pt.TensorVariable, p: Parameters) -> dict[str, View]:
        """Return the posterior of the items' difficulty, and how often annotators are right on them."""
        z = answers.index[Z.role]  # (node,)
        log_answer = self.log_answers(answers, p, z, answers.index[SLOPE.role])
        share = probability[:, :, None] * self._integrate(answers, p, log_answer)[1]  # (item, true_class, node)
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

    def _integrate(
        self, answers: Answers, p: Parameters, log_answer: pt.TensorVariable
    ) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        """Return log p(class, answers) (item, true_class), and p(node | class, answers) (item, true_class, node)."""
        from bayesanno.modeling.ops.sums import sum_out_states

        log_weight = answers.index[LOG_WEIGHT.role]
        table = pt.join_dims(log_answer, start_axis=2)  # (annotator, response, state)
        by_class = answers.sum_over_annotations(table).reshape((-1, log_weight.shape[0]))  # (item and class, node)
        total, share = sum_out_states(by_class + log_weight)  # (item and class,), (item and class, node)
        shape = (answers.n_items, p.prevalence.shape[0])
        return pt.log(p.prevalence) + total.reshape(shape), share.reshape((*shape, -1))


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
