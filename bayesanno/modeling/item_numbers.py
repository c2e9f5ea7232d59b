"""Items with a standard normal number of their own, integrated out on a grid, jointly with the true class.

A number per item would be as many parameters as items, and its likelihood could not be compared with that of other
models. Here the likelihood of an item is an integral over its number z,

    p(answers_i) = sum_k p(k)  integral  N(z; 0, 1)  prod_j p(v_ij | k, z)  dz,

taken by the trapezoidal rule: equally spaced nodes, with weights in proportion to N(z; 0, 1). Its error falls
exponentially with the spacing for functions that are analytic in a strip about the real line, as these are; a
Gauss-Hermite rule of as many nodes does worse, since most of them are far out (Trefethen and Weideman 2014, The
exponentially convergent trapezoidal rule, SIAM Review 56(3):385-458, doi:10.1137/130932132; Trefethen 2022, Exactness
of quadrature formulas, SIAM Review 64(1):132-150, doi:10.1137/20M1389522). The more answers an item has, the narrower
the integrand: the spacing follows the item of most answers.

In `item_difficulty` an item's log likelihood is exact to .001 where the spread is up to 1, and to .2 where it is 2 or
3. Nodes miss items that many annotators of abilities of 6 and more dispute under "1pl" or "2pl".

The invariant: likelihood, gradient, posterior of the class and posterior of the number come from one sum over nodes in
the graph.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, override

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.lazy import pt, xr
from bayesanno.modeling.arguments import Answers, Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import HasIndexArrays
from bayesanno.modeling.data_kinds import KINDS, Arrays, IndexArray, Key, Patterns
from bayesanno.modeling.functions import compile_draws
from bayesanno.modeling.likelihood import find_patterns, index_arrays

REACH = 5.0  # how far the nodes reach, in standard deviations of the items: one item in two million is beyond
FAR_REACH = 8.0  # the same where hard items have next to no right answers: many wrong answers make an item very hard
WIDEST = 0.36  # the spacing for items of few answers
SLOPE_REACH, SLOPE_NODES = 4.0, 9  # of the second number of an item, which matters less to its answers
Z, SLOPE, LOG_WEIGHT = Key("item_node"), Key("slope_node"), Key("node_log_weight")


def choose_nodes(most_answers: int, reach: float = REACH) -> np.ndarray:
    """Return the nodes for items of up to so many answers, in equal steps from one end of the reach to the other.

    Given n answers that are right with probability logistic(a - s z), the information on z is at most 1 + n s^2 / 4;
    the steps are at most 1.2 of the standard deviation that this gives at s = 1.4.

    Examples
    --------
    >>> from bayesanno.modeling.item_numbers import choose_nodes
    >>> [choose_nodes(n).size for n in (5, 20, 60, 500)]
    [29, 29, 49, 135]
    """
    step = min(WIDEST, 1.2 / np.sqrt(1 + most_answers / 2))
    return np.linspace(-reach, reach, 2 * int(np.ceil(reach / step)) + 1)


class ItemNumberModel(AnnotationModel, HasIndexArrays):
    """A model whose answers depend on the true class and on a standard normal number of the item.

    It declares `prevalence` (true_class) and what its answers depend on (`log_answers`). With `has_slopes`, items have
    a second standard normal number, their slope.
    """

    @property
    def has_slopes(self) -> bool:
        """Whether items have a slope as well."""
        return False

    @property
    def reach(self) -> float:
        """How far the nodes reach, in standard deviations of the items' number."""
        return REACH

    @abstractmethod
    def log_answers(self, answers: Answers, p: Parameters, z: Any, slope: Any) -> pt.TensorVariable:
        """Return log p(response | true class, node): (annotator, response, true_class, node).

        `z` and `slope` are the numbers of an item at each node.
        """

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
        """Return log p(class, answers), the item's number integrated out: (item, true_class)."""
        log_answer = self.log_answers(answers, p, answers.index[Z.role], answers.index[SLOPE.role])
        return self.integrate(answers, p, log_answer)[0]

    def integrate(
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


def answers_by_node(
    model: ItemNumberModel, data: AnnotationData, draws: xr.Dataset
) -> tuple[Iterator[np.ndarray], np.ndarray]:
    """Return log p(response | true class, node) of each draw, and the log weight of each node.

    Parameters
    ----------
    model : ItemNumberModel
    data : AnnotationData
    draws : xarray.Dataset
        The parameters, with dims (chain, draw, ...).

    Returns
    -------
    iterator of arrays, shape (annotator, response, true_class, node), and an array, shape (node,)
    """
    arrays = index_arrays(model, data, find_patterns(model, data))
    values = {str(name): variable.transpose("chain", "draw", ...).values for name, variable in draws.items()}
    drawn = {name: pt.tensor(name, shape=(None,) * (each.ndim - 2)) for name, each in values.items()}
    answers = KINDS[type(data)].answers(data, {key: pt.as_tensor(array.values) for key, array in arrays.items()})
    log_answer = model.log_answers(answers, Parameters(drawn), answers.index[Z.role], answers.index[SLOPE.role])
    flat = {drawn[name]: each.reshape(-1, *each.shape[2:]) for name, each in values.items()}
    each_draw = compile_draws(flat, {}, [log_answer])(list(flat.values()), [])
    return (one for (one,) in each_draw), arrays[LOG_WEIGHT].values


def find_errors(model: ItemNumberModel, data: AnnotationData, draws: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return how often annotators err at each node, on average over draws, and the weight of each node.

    Parameters are those of `answers_by_node`; shapes (annotator, true_class, node) and (node,).
    """
    each_draw, log_weight = answers_by_node(model, data, draws)
    names_class = data.class_codes[:, None] == np.arange(data.n_labels)  # (true_class, response)
    wrong = [np.exp(log_answer).sum(axis=1, where=~names_class.T[:, :, None]) for log_answer in each_draw]
    return np.mean(wrong, axis=0), np.exp(log_weight)
