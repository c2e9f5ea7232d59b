"""Items with a standard normal number of their own, integrated out on a grid, jointly with the true class.

A number per item would be as many parameters as items, and its likelihood could not be compared with that of other
models. Here the likelihood of an item is an integral over its number z,

    p(answers_i) = sum_k p(k)  integral  N(z; 0, 1)  prod_j p(v_ij | k, z)  dz,

taken by the trapezoidal rule: equally spaced nodes, with weights in proportion to N(z; 0, 1). Its error falls
exponentially with the spacing for functions that are analytic in a strip about the real line, as these are. A
Gauss-Hermite rule with as many nodes is less accurate, since most of its nodes are far out (Trefethen and Weideman
2014, The exponentially convergent trapezoidal rule, SIAM Review 56(3):385-458, doi:10.1137/130932132; Trefethen 2022,
Exactness of quadrature formulas, SIAM Review 64(1):132-150, doi:10.1137/20M1389522).

The spacing depends on the parameters. Let c_j be the most information that an answer of
annotator j has on z, the curvature of log p(v_ij | k, z). No integrand is then narrower than a normal one of precision
1 + max_i sum_j c_j. A single answer can have a sharper edge, e. Nodes are 1.1 standard deviations of both apart:

    step = 1.1 / sqrt(1 + max_i sum_(j answers i) c_j + e)

A normal integrand then has a relative error of 2 exp(-2 pi^2 / 1.1^2) = 2e-7. Class probabilities are within .001 of
those with dense nodes, also for parameters far out in their priors. Only integrals limited by `SIZES` can be coarser.

The invariant: likelihood, gradient, posterior of the class and posterior of the number come from one sum over nodes in
the graph.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, override

import numpy as np

from bayesanno._core.lazy import pt, xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.graph.functions import BY_NUMPY, compile_once, evaluate_draws, stack_samples
from bayesanno.modeling.arguments import Answers, Parameters
from bayesanno.modeling.base import ClassModel
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.likelihood import index_arrays, patterns_of

STEP = 1.1  # between nodes, in standard deviations of the narrowest integrand
MOST_NUMBERS = 2**24  # of an array over items, classes and nodes


WHO = ("annotation_annotator", "annotation_item", "item_pattern")  # of the whole table; a formula may have a part


class Size(NamedTuple):
    """The largest numbers of nodes on either side."""

    affordable: int  # for tables of any size, and always in JAX, which needs fixed lengths
    most: int


SUPPORT, SLOPE_SUPPORT = 8.0, 4.0  # the range of nodes, in standard deviations of the items; a slope matters less
SIZES = (Size(64, 1000), Size(8, 16))  # for z, and for a slope


class Nodes(NamedTuple):
    """The item's numbers z and slope at each node, and the log weight of the node: (node,).

    `axis` has the distinct values of z, and `length` their number.
    """

    z: pt.TensorVariable
    slope: pt.TensorVariable
    log_weight: pt.TensorVariable
    axis: pt.TensorVariable
    length: pt.TensorVariable


def quadrature_nodes(counts: Sequence[Any], support: float = SUPPORT) -> Nodes:
    """Return equally spaced nodes, `counts` on either side of 0, for the numbers of items: for z, or also for a slope.

    For many draws at once, all have as many nodes as the draw with most; nodes beyond the support have weight 0.

    Examples
    --------
    >>> from bayesanno.modeling.item_effects import quadrature_nodes
    >>> quadrature_nodes([2]).axis.eval().tolist()
    [-8.0, -4.0, 0.0, 4.0, 8.0]
    """
    none = pt.zeros(1)
    if not counts:
        return Nodes(none, none, none, none, none.shape[0])
    (z, of_z, length), *others = map(_lay, counts, (support, SLOPE_SUPPORT), SIZES)
    if not others:
        return Nodes(z, none, of_z, z, length)
    ((slope, of_slope, _),) = others
    at, of_slopes, log_weight = (
        pt.join_dims(one) for one in (z[:, None] + 0 * slope, 0 * z[:, None] + slope, of_z[:, None] + of_slope)
    )
    return Nodes(at, of_slopes, log_weight, z, length)


def _lay(n: Any, support: float, size: Size) -> tuple[pt.TensorVariable, pt.TensorVariable, pt.TensorVariable]:
    """Return the nodes of one number and their log weights, (node,) each, and the number of nodes."""
    from bayesanno.modeling.ops.count_up import CountUp

    index = CountUp(2 * size.affordable)(2 * pt.as_tensor(n))
    n = pt.minimum(n, index.shape[0] // 2)
    at = support * (pt.minimum(index, 2 * n) / n - 1)
    log_weight = pt.switch(index <= 2 * n, -(at**2) / 2, -math.inf)
    return at, log_weight - pt.log(pt.exp(log_weight).sum()), index.shape[0]


class ItemEffectModel(ClassModel):
    """A model with answers that depend on the true class and on one or two standard normal numbers of the item.

    It declares `prevalence` (true_class) and the probabilities of answers (`log_answers`).
    """

    @property
    def support(self) -> float:
        """The range of nodes, in standard deviations of the items: many wrong answers make an item very hard."""
        return SUPPORT

    @abstractmethod
    def information(self, p: Parameters) -> tuple[tuple[pt.TensorVariable, pt.TensorVariable], ...]:
        """Return for each number the most information in an annotator's answer, (annotator,), and the edge, ()."""

    @abstractmethod
    def log_answers(self, answers: Answers, p: Parameters, z: Any, slope: Any) -> pt.TensorVariable:
        """Return log p(response | true class, node): (annotator, response, true_class, node).

        `z` and `slope` are the numbers of an item at each node.
        """

    def count_nodes(self, p: Parameters, answers: Answers | None = None) -> list[pt.TensorVariable]:
        """Return the number of nodes on either side, for each number, for items with these answers.

        Without answers, the number is for a single answer, with twice as many nodes, which cost nothing there.
        """
        from bayesanno.modeling.ops.sums import add_rows

        counts: list[pt.TensorVariable] = []
        for size, support, (each, edge) in zip(SIZES, (self.support, SLOPE_SUPPORT), self.information(p), strict=False):
            of_item, limit, step = each, pt.as_tensor(size.most), STEP / 2
            if answers is not None:
                who, item, pattern = (answers.index[name] for name in WHO)
                of_item = add_rows(each[:, None], who, item, pattern.shape[0])  # (item, 1)
                n_numbers = 2 * answers.n_classes * answers.n_items
                step = STEP
                limit = pt.clip(MOST_NUMBERS // n_numbers, size.affordable, size.most)
            wanted = pt.ceil(support / step * pt.sqrt(1 + of_item.max() + edge))
            counts.append(pt.switch(wanted < limit, wanted, limit).astype("int64"))  # nan is not below the limit
        return counts

    @override
    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        """Return log p(class, answers), with the item's number integrated out: (item, true_class)."""
        nodes = quadrature_nodes(self.count_nodes(p, answers), self.support)
        return self.integrate(answers, p, self.log_answers(answers, p, nodes.z, nodes.slope), nodes)[0]

    def integrate(
        self, answers: Answers, p: Parameters, log_answer: pt.TensorVariable, nodes: Nodes
    ) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        """Return log p(class, answers) (item, true_class), and p(node | class, answers) (item, true_class, node)."""
        from bayesanno.modeling.ops.sums import sum_out_states

        n_rows = answers.n_items * answers.n_classes
        by_class = answers.sum_over_annotations(log_answer).reshape((n_rows, -1))  # (item and class, node)
        total, share = sum_out_states(by_class + nodes.log_weight)  # (item and class,), (item and class, node)
        shape = (answers.n_items, answers.n_classes)
        return pt.log(p.prevalence) + total.reshape(shape), share.reshape((*shape, -1))


def answers_by_node(
    model: ItemEffectModel, data: AnnotationData, draws: xr.Dataset
) -> tuple[Iterator[np.ndarray], np.ndarray]:
    """Return log p(response | true class, node) of viewers for each draw, and the log weight of each node.

    All draws have as many nodes as the draw that needs most.

    Parameters
    ----------
    model : ItemEffectModel
    data : AnnotationData
    draws : xarray.Dataset
        The parameters, with dims (chain, draw, ...).

    Returns
    -------
    iterator of arrays, shape (viewer, response, true_class, node), and an array, shape (node,)
    """
    answers, p, values = _for_each(model, data, draws)
    nodes = quadrature_nodes(_most_nodes(model, data, draws), model.support)
    log_answer = model.log_answers(answers, p, nodes.z, nodes.slope)
    each_draw = compile_once(list(values), [log_answer]).each(list(values.values()))
    return (data.of_viewers(one) for (one,) in each_draw), nodes.log_weight.eval(mode=BY_NUMPY)


def number_of_nodes(model: ItemEffectModel, data: AnnotationData, draws: xr.Dataset) -> int:
    """Return the largest number of nodes that `answers_by_node` uses for these draws or some of them."""
    return math.prod(2 * n + 1 for n in _most_nodes(model, data, draws))


def _most_nodes(model: ItemEffectModel, data: AnnotationData, draws: xr.Dataset) -> list[int]:
    answers, p, values = _for_each(model, data, draws)
    return [int(of_draws.max()) for of_draws in evaluate_draws(model.count_nodes(p, answers), values)]


def _for_each(
    model: ItemEffectModel, data: AnnotationData, draws: xr.Dataset
) -> tuple[Answers, Parameters, dict[pt.TensorVariable, np.ndarray]]:
    """Return symbolic answers and parameters of one draw, and the values of the parameters, (draw, ...)."""
    arrays = index_arrays(model, data, patterns_of(model, data))
    answers = kind_of(data).answers(data, {key: pt.as_tensor(array.values) for key, array in arrays.items()})
    values = stack_samples(draws)
    drawn = {name: pt.TensorType("float64", (None,) * (each.ndim - 1))(name) for name, each in values.items()}
    return answers, Parameters(drawn), {drawn[name]: each for name, each in values.items()}


def find_errors(model: ItemEffectModel, data: AnnotationData, draws: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return how often annotators err at each node, on average over draws, and the weight of each node.

    Parameters are those of `answers_by_node`; shapes (viewer, true_class, node) and (node,).
    """
    each_draw, log_weight = answers_by_node(model, data, draws)
    is_wrong = ~data.names_class.T[:, :, None]  # (response, true_class, 1)
    wrong = [np.exp(log_answer).sum(axis=1, where=is_wrong) for log_answer in each_draw]
    return np.mean(wrong, axis=0), np.exp(log_weight)
