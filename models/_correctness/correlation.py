"""Correlated correctness: what one dimension implies for another, symbolic.

The correlations rho of a Cox law are admissible only if its factor Xi is never negative; they are kept so by
construction (`admissible`). Formulas are in the card of `bayesanno.models.model_a_multi`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from bayesanno._core.lazy import pt
from bayesanno._core.messages import DataError
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.dimensions import MultiAnnotationData, name_own
from bayesanno.modeling.arguments import Answers, Dimensions, Parameters, subtract_total
from bayesanno.modeling.base import AnnotationModel
from bayesanno.models._correctness.blocks import check_blocks

type Pair = tuple[int, int]

TINY = 1e-12  # keeps the length of a direction away from 0, where it has no gradient


@dataclass(frozen=True)
class OneDimension:
    """The terms of one dimension on its own, and its effect on the others."""

    answers: Answers
    theta: pt.TensorVariable  # (annotator,)
    logp: pt.TensorVariable  # (item, state)

    @cached_property
    def total_and_probability(self) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        """Log p(answers) and the posterior of the states by this dimension alone; (item,) and (item, state)."""
        from bayesanno.modeling.ops.sums import sum_out_states

        total, probability = sum_out_states(self.logp)
        return total, probability

    @cached_property
    def g(self) -> pt.TensorVariable:
        """How much more often right than usual each annotator is, in standard deviations; 0 if absent."""
        who, item, n_annotators = self.answers.annotator, self.answers.item, self.theta.shape[0]
        theta, sd = self.theta[who], _deviation(self.theta)[who]  # (annotation,)
        excess = self.total_and_probability[1][item, self.answers.response] - theta
        cells = pt.zeros(self.answers.n_items * n_annotators)[item * n_annotators + who]
        g = cells.inc(pt.switch(sd > 0, excess / pt.switch(sd > 0, sd, 1.0), 0.0))
        return g.reshape((self.answers.n_items, n_annotators))  # (item, annotator)

    def sum_of_u(self, weight: pt.TensorVariable) -> pt.TensorVariable:
        """Return sum_l u_l(s) weight_l over the annotators of each item in each state s; (item, state)."""
        who, item, n_states = self.answers.annotator, self.answers.item, self.logp.shape[1]
        right, wrong = _scores(self.theta)
        h = weight[item, who]  # (annotation,)
        if_wrong = pt.zeros(self.answers.n_items)[item].inc(wrong[who] * h)  # (item,)
        more = pt.zeros(self.answers.n_items * n_states)[item * n_states + self.answers.response]
        return if_wrong[:, None] + more.inc((right - wrong)[who] * h).reshape((self.answers.n_items, n_states))


@dataclass(frozen=True)
class Together:
    """All dimensions of the same items, and the correlation of each pair of them."""

    each: Sequence[OneDimension]
    rho: Mapping[Pair, pt.TensorVariable]  # none where dimensions are independent

    @property
    def _n_items(self) -> pt.TensorVariable:
        return self.each[0].answers.n_items

    @cached_property
    def surplus(self) -> dict[Pair, pt.TensorVariable]:
        """What each pair of dimensions adds to Xi, given the answers: rho_xy sum_l g_l^x g_l^y; (item,) each."""
        g = [one.g for one in self.each]
        return {(x, y): rho * (g[x] * g[y]).sum(axis=1) for (x, y), rho in self.rho.items()}

    def item_logp(self) -> pt.TensorVariable:
        """Return log p(answers in all dimensions), (item,)."""
        alone = pt.add(*(one.total_and_probability[0] for one in self.each))
        return alone + pt.log1p(sum(self.surplus.values(), pt.zeros(self._n_items)))

    def log_probability(self, x: int) -> pt.TensorVariable:
        """Return the log posterior of the states in dimension x, given the answers in all of them; (item, state)."""
        one = self.each[x]
        total = 1 + sum(self.surplus.values(), pt.zeros(self._n_items))  # (item,)
        others = 1 + sum((s for pair, s in self.surplus.items() if x not in pair), pt.zeros(self._n_items))
        pull = pt.zeros((self._n_items, one.answers.n_annotators))  # (item, annotator), of the other dimensions
        for pair, rho in self.rho.items():
            if x in pair:
                pull = pull + rho * self.each[pair[1 - pair.index(x)]].g
        moved = others[:, None] + one.sum_of_u(pull)  # (item, state)
        alone = subtract_total(one.logp, one.total_and_probability[0])
        return alone + pt.log(pt.maximum(moved, 0.0) / total[:, None])


def put_together(alone: AnnotationModel, answers: Dimensions, p: Parameters) -> Together:
    """Return all dimensions, each by model A `alone`; independent where no `correlation` was declared."""
    each = []
    for x, (name, part) in enumerate(answers.by_dimension.items()):
        own = of_dimension(name, x, p)
        each.append(OneDimension(part, own.accuracy, alone.state_logp(part, own)))
    rho = p.get("correlation")
    pairs = combinations(range(len(each)), 2)
    return Together(each, {} if rho is None else {pair: rho[number] for number, pair in enumerate(pairs)})


def of_dimension(name: str, x: int, p: Parameters) -> Parameters:
    """Return the parameters of one dimension, as model A names them."""
    return Parameters({"accuracy": p.accuracy[:, x], "frequency": p[name_own("frequency", name)]})


def _deviation(theta: pt.TensorVariable) -> pt.TensorVariable:
    return pt.sqrt(theta * (1 - theta))


def _scores(theta: pt.TensorVariable) -> tuple[pt.TensorVariable, pt.TensorVariable]:
    """Return u if right and u if wrong (eq. 24), 0 where it is certain which."""
    sd = _deviation(theta)
    safe = pt.switch(sd > 0, sd, 1.0)
    return pt.switch(sd > 0, (1 - theta) / safe, 0.0), pt.switch(sd > 0, -theta / safe, 0.0)


def gauge(
    rho: pt.TensorVariable, accuracy: pt.TensorVariable, together: pt.TensorVariable, n_dimensions: int
) -> pt.TensorVariable:
    """Return gamma(rho), the largest value of 1 - Xi: rho is admissible if it is at most 1.

    As the states of different annotators are independent in Xi, the worst of all 8^N states is found annotator by
    annotator, among 2^N each.

    Parameters
    ----------
    rho : TensorVariable, shape (dimension_pair,)
    accuracy : TensorVariable, shape (annotator, dimension)
    together : TensorVariable, shape (annotator_set, annotator)
        1 for the annotators who share an item.
    n_dimensions : int
    """
    right, wrong = _scores(accuracy)  # (annotator, dimension) each
    states = []
    for state in product((0, 1), repeat=n_dimensions):
        u = [(right if is_right else wrong)[:, x] for x, is_right in enumerate(state)]
        terms = [rho[p] * u[x] * u[y] for p, (x, y) in enumerate(combinations(range(n_dimensions), 2))]
        states.append(-sum(terms[1:], terms[0]))  # (annotator,)
    return pt.max((together * pt.max(pt.stack(states), axis=0)).sum(axis=1))


def admissible(
    direction: pt.TensorVariable, accuracy: pt.TensorVariable, together: pt.TensorVariable, n_dimensions: int
) -> tuple[pt.TensorVariable, pt.TensorVariable]:
    """Return rho in the direction given, and how far it is on the way to the wall of the admissible region.

    The length of a normal vector of n numbers is chi distributed: its distribution function, to the power 1 / n, is as
    far from the centre as a uniform draw from a ball of radius 1.
    """
    n_pairs = n_dimensions * (n_dimensions - 1) // 2
    length2 = (direction**2).sum() + TINY
    extent = pt.gammainc(n_pairs / 2, length2 / 2) ** (1 / n_pairs)
    return extent * direction / (gauge(direction, accuracy, together, n_dimensions) + TINY), extent


def maximal_sets(data: MultiAnnotationData) -> np.ndarray:
    """Return the sets of annotators who share an item, those within others left out; 0 or 1, (set, annotator)."""
    shared: dict[int, set[int]] = {}
    for part in data.by_dimension.values():
        for item, annotator in zip(part.item.tolist(), part.annotator.tolist(), strict=True):
            shared.setdefault(item, set()).add(annotator)
    maximal: list[frozenset[int]] = []
    for one in sorted(set(map(frozenset, shared.values())), key=lambda members: (-len(members), sorted(members))):
        if not any(one <= other for other in maximal):
            maximal.append(one)
    sets = np.zeros((len(maximal), data.n_annotators))
    for row, members in enumerate(maximal):
        sets[row, list(members)] = 1.0
    return sets


def check_dimension(model: AnnotationModel, name: str, data: AnnotationData) -> None:
    """Raise a DataError if a dimension has repeats, controls or too many annotations of an item, or a prior's name."""
    where = f"{model.name}, dimension {name!r}"
    check_blocks(where, data)
    if (parameter := name_own("frequency", name)) in model.to_fields():
        raise DataError(f"{model.name} has a prior {parameter!r}: rename dimension {name!r}")
    if data.controls:
        raise DataError(f"{where}: known labels cannot be used as controls: take model_a, or gold")
    pairs, counts = np.unique(np.stack([data.item, data.annotator]), axis=1, return_counts=True)
    if counts.max() > 1:
        item, annotator = pairs[:, counts.argmax()]
        raise DataError(
            f"{where}: annotator {data.annotators[annotator]!r} answered item {data.items[item]!r} "
            f"{counts.max()} times: keep one answer, as it is not known which goes with which in other dimensions"
        )
