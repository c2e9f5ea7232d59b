"""Futures: possible outcomes of answers not yet given, and the labels after them.

One future uses one draw of a fit: every item has a class in that draw, and annotators answer with its parameters. The
posterior of an item after new answers is the mean over all draws of its state times the probabilities of these answers.
So futures include the uncertainty about annotators.

The invariant: labels in a future use the present knowledge about annotators. The information of new answers about
annotators, through other items, is ignored, so labels of the next fit are a little better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from bayesanno._core.draw import draw_codes
from bayesanno._core.errors import DataError
from bayesanno._core.wording import listed
from bayesanno.modeling.states import DrawnStates
from bayesanno.planning.gains import UTILITIES, Gains
from bayesanno.planning.of_fit import Budget, CandidateAnswers

Allocation = Literal["evenly", "each", "suggested"]
LEAST_DRAWS, MOST_CELLS = 100, 400  # draws of the fit, and nodes times draws if that is more
BATCH = 20  # a batch of suggested answers covers one item in twenty
BIG = np.iinfo(int).max


@dataclass(frozen=True, eq=False)
class Outcome:
    """The labels after some answers.

    Parameters
    ----------
    answers : int
        The number of answers, which is less than requested if no more are possible.
    cost : float
    probability : array, shape (item, class)
    truth : array of int, shape (item,)
        The class of each item in this future.
    """

    answers: int
    cost: float
    probability: np.ndarray
    truth: np.ndarray


class Futures:
    """Futures of a fit, with one kind of allocation of answers.

    Parameters
    ----------
    asked : CandidateAnswers
    budget : Budget
    allocation : {"evenly", "each", "suggested"}
        "evenly": each answer goes to an item with the fewest answers; "each": to an item with the fewest new answers;
        both by an annotator drawn in proportion to numbers of answers. "suggested": to the most informative pairs, in
        batches of one item in twenty.
    rng : numpy.random.Generator
    """

    def __init__(
        self, asked: CandidateAnswers, budget: Budget, allocation: Allocation, rng: np.random.Generator
    ) -> None:
        if allocation not in get_args(Allocation):
            raise DataError(f"allocation is {allocation!r}: it must be one of {listed(get_args(Allocation))}")
        data = asked.data
        self._states, self._budget, self._rng = _take_some(asked.states, len(data.annotators)), budget, rng
        self._is_open = asked.find_open()[:, : len(data.annotators)]  # of comparisons, in the order of the item
        self._n_answers = np.bincount(data.item, minlength=data.n_items) * (allocation != "each")
        given = np.bincount(data.annotator, minlength=len(data.annotators))
        with np.errstate(divide="ignore"):  # annotators without answers, such as new ones, count as the others' mean
            self._log_weight = np.log(np.where(given > 0, given, given.mean() + (given.sum() == 0)))
        self._gains = Gains(self._states, UTILITIES["information"], rng) if allocation == "suggested" else None

    @property
    def n_open(self) -> int:
        """The number of answers that can still be asked for."""
        return int(np.minimum(self._is_open.sum(axis=0), self._budget.most).sum())

    def follow(self, looks: Sequence[int]) -> Iterator[Outcome]:
        """Yield the labels after these numbers of answers, in one future."""
        states, rng = self._states, self._rng.spawn(1)[0]  # so that a future does not depend on the looks at others
        draw = int(rng.integers(states.n_draws))
        of_draw = states.state[draw]  # (item, class, node)
        truth, node = np.divmod(draw_codes(of_draw.reshape(len(of_draw), -1), rng), of_draw.shape[2])
        measure = states.state.swapaxes(0, 1).copy(order="C")  # (item, draw, class, node)
        is_open, left, n_answers = self._is_open.copy(), self._budget.most.copy(), self._n_answers.copy()
        gain = None if self._gains is None else self._gains.gain.copy()
        chosen = np.empty((2, 0), dtype=int)  # items and annotators of a batch that are not asked yet
        answers, cost = 0, 0.0
        for look in looks:
            while answers < look:
                if not chosen.size:
                    chosen = self._choose(is_open & (left > 0), n_answers, gain, left, rng)
                if not chosen.size:
                    break
                (items, annotators), chosen = chosen[:, : look - answers], chosen[:, look - answers :]
                said = draw_codes(states.answer[draw, annotators, :, truth[items], node[items]], rng)
                measure[items] *= states.answer[:, annotators, said].swapaxes(0, 1)
                measure[items] /= measure[items].sum(axis=(1, 2, 3), keepdims=True) / states.n_draws
                is_open[items, annotators] = False
                n_answers[items] += 1
                left -= np.bincount(annotators, minlength=left.size)
                if gain is not None and self._gains is not None:
                    gain[items] = self._gains.of_measures(measure[items])
                answers += items.size
                cost += float(self._budget.cost[annotators].sum())
            p = measure.sum(axis=(1, 3), dtype=float)
            yield Outcome(answers, cost, p / p.sum(axis=1, keepdims=True), truth)

    def _choose(
        self,
        is_open: np.ndarray,
        n_answers: np.ndarray,
        gain: np.ndarray | None,
        left: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Return the next batch, which does not depend on when it is looked at: items and annotators (2, answer)."""
        if gain is None:
            can_be = is_open.any(axis=1)
            items = rng.permutation(np.flatnonzero(can_be & (n_answers == n_answers.min(where=can_be, initial=BIG))))
            # the largest is one in proportion
            chance = self._log_weight + rng.gumbel(size=(items.size, left.size))
            annotators = np.where(is_open[items], chance, -np.inf).argmax(axis=1)
        else:
            value = np.where(is_open, gain / self._budget.cost, -np.inf)
            annotators = value.argmax(axis=1)
            best = value[np.arange(len(value)), annotators]
            n = min(int(np.isfinite(best).sum()), max(1, len(value) // BATCH))
            items = np.argsort(-best, kind="stable")[:n]
            annotators = annotators[items]
        # if an annotator has answers left for only some of these items, the first ones
        order = np.argsort(annotators, kind="stable")
        begin = np.searchsorted(annotators[order], annotators[order])
        kept = order[np.arange(order.size) - begin < left[annotators[order]]]
        return np.stack([items[kept], annotators[kept]])


def _take_some(states: DrawnStates, n_annotators: int) -> DrawnStates:
    """Return fewer draws, evenly spaced, of annotators in one order of comparisons."""
    most = min(max(LEAST_DRAWS, MOST_CELLS // states.state.shape[3]), states.n_draws)
    at = np.linspace(0, states.n_draws - 1, most).astype(int)
    return replace(states, state=states.state[at], answer=states.answer[at, :n_annotators])
