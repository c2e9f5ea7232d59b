"""The expected value of one more answer, from the two factors of `bayesanno.modeling.states`, and futures of many.

Let U be the utility of an item's class probabilities p:

    information   U(p) = sum_k p_k log p_k               minus the entropy, in nats
    accuracy      U(p) = max_k p_k                       the probability that the label is right
    costs         U(p) = - min_d sum_k p_k cost(k, d)    minus the expected cost of the cheapest decision

and P(k, v) = p(class k, answer v | answers so far), the mean over draws of a product of two factors. The gain of asking
an annotator is

    gain  =  sum_v P(v) U(P(. | v))  -  U(P(.)),

which is never below 0. For information, it is the mutual information of the class and the answer.

The information of the answer about the annotator weights the draws: p(class | v) is a ratio of means over draws.

One future uses one draw of a fit: every item has a class in that draw, and annotators answer with its parameters. The
posterior of an item after new answers is the mean over all draws of its state times the probabilities of these answers.
So futures include the uncertainty about annotators.

The invariant: each utility is written for an unnormalised measure m, as (sum m) U(m / sum m), so that sums over future
answers need no division.

The invariant: labels in a future use the present knowledge about annotators. The information of new answers about
annotators, through other items, is ignored, so labels of the next fit are a little better.

References
----------
D. V. Lindley (1956), On a measure of the information provided by an experiment, Annals of Mathematical Statistics
27(4):986-1005, doi:10.1214/aoms/1177728069.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed
from bayesanno.analysis.decisions import read_costs
from bayesanno.modeling.posterior import draw_codes
from bayesanno.modeling.states import StatesAndAnswers
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


def _take_some(states: StatesAndAnswers, n_annotators: int) -> StatesAndAnswers:
    """Return fewer draws, evenly spaced, of annotators in one order of comparisons."""
    most = min(max(LEAST_DRAWS, MOST_CELLS // states.state.shape[3]), states.n_draws)
    at = np.linspace(0, states.n_draws - 1, most).astype(int)
    return replace(states, state=states.state[at], answer=states.answer[at, :n_annotators])


Utility = Callable[[np.ndarray], np.ndarray]  # measures (..., class) -> (...)


def choose_utility(utility: str | pd.DataFrame | Mapping[str, Mapping[str, float]], classes: Sequence[str]) -> Utility:
    """Return a utility by name, or that of a cost matrix.

    Raises
    ------
    DataError
        If the name is unknown, or the cost matrix is invalid, as for `decide_labels`.
    """
    if not isinstance(utility, str):
        costs = read_costs(utility, classes).to_numpy()
        return lambda measure: -(measure @ costs).min(axis=-1)
    if utility not in UTILITIES:
        raise DataError(
            f"utility is {utility!r}: it must be one of {', '.join(map(repr, UTILITIES))}, or a cost matrix"
        )
    return UTILITIES[utility]


def information(measure: np.ndarray) -> np.ndarray:
    """Return the negative entropy, in nats, of measures (..., class), times their totals.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.planning.gains import information
    >>> float(information(np.array([0.5, 0.5]))).__round__(4)
    -0.6931
    """
    from scipy.special import xlogy

    total = measure.sum(axis=-1)
    return xlogy(measure, measure).sum(axis=-1) - xlogy(total, total)


UTILITIES: dict[str, Utility] = {"information": information, "accuracy": lambda measure: measure.max(axis=-1)}


CHUNK_BYTES = 64 * 2**20
MOST_BRANCHES = 64  # combinations of future answers to an item; of more, this many are drawn
LEAST_VARIANCE, MOST_EXPLAINED = 1e-12, 1 - 1e-6  # of an accuracy; of the share that one answer explains
AT_ONCE = 16  # annotators in one matrix product
MOST_UNSURE = 2000  # items with the largest entropy, for the effect of true labels on other items


class Gains:
    """The gain for labels of each pair of item and annotator, updated while answers are chosen.

    Parameters
    ----------
    states : StatesAndAnswers
    utility : callable
    rng : numpy.random.Generator
        For items that are asked about many times, where branches are drawn.

    Attributes
    ----------
    gain : array, shape (item, annotator)
    """

    def __init__(self, states: StatesAndAnswers, utility: Utility, rng: np.random.Generator) -> None:
        self._states, self._utility, self._rng = states, utility, rng
        self._branches: dict[int, np.ndarray] = {}  # of items asked about: (branch, draw, class, node)
        n_items, answer = states.state.shape[1], states.answer
        n_draws, n_annotators, n_responses, n_classes, n_nodes = answer.shape
        self._by_class = [  # matrices, (draw and node, annotator and response)
            answer[:, :, :, code].transpose(0, 3, 1, 2).reshape(n_draws * n_nodes, -1).astype(float)
            for code in range(n_classes)
        ]
        self.gain = np.empty((n_items, n_annotators))
        step = max(1, CHUNK_BYTES // (8 * n_annotators * n_responses * n_classes))
        for begin in range(0, n_items, step):
            chunk = slice(begin, begin + step)
            self.gain[chunk] = self.of_measures(states.state[:, chunk].swapaxes(0, 1))

    def choose(self, item: int, annotator: int) -> bool:
        """Choose this annotator's answer to this item, and update the item's other pairs.

        Return whether gains of other items have changed.
        """
        before = self._branches.get(item, self._states.state[None, :, item])  # (branch, draw, class, node)
        answer = self._states.answer[:, annotator].swapaxes(0, 1)  # (response, draw, class, node)
        after = (before[:, None] * answer).reshape(-1, *before.shape[1:])
        self._branches[item] = keep_few(after, self._rng)
        self.gain[item] = self.of_measures(self._branches[item]).sum(axis=0)
        return False

    def of_measures(self, measure: np.ndarray) -> np.ndarray:
        """Return each annotator's gain (row, annotator) from measures of an item's state (row, draw, class, node)."""
        n_rows, n_draws = measure.shape[:2]
        shape = self._states.answer.shape[1:3]  # (annotator, response)
        joint = np.empty((n_rows, *shape, len(self._by_class)))
        for code, cells in enumerate(self._by_class):
            rows = measure[:, :, code].reshape(n_rows, -1).astype(float)
            joint[..., code] = (rows @ cells / n_draws).reshape(n_rows, *shape)
        before = self._utility(joint.sum(axis=2))  # the same for all annotators, up to rounding
        return np.maximum(self._utility(joint).sum(axis=2) - before, 0.0)


def keep_few(measures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return at most `MOST_BRANCHES` of measures (branch, ...); if there are more, draw in proportion to totals."""
    total = measures.reshape(len(measures), -1).sum(axis=1, dtype=float)
    chosen, scale = draw_few(total, MOST_BRANCHES, rng)
    return measures[chosen] * scale.astype(measures.dtype).reshape(-1, *[1] * (measures.ndim - 1))


def draw_few(total: np.ndarray, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the branches to keep and their factors: all, or `most` of them drawn in proportion to their totals.

    Drawn branches get equal totals, so sums over branches are unbiased.
    """
    if len(total) <= most:
        return np.arange(len(total)), np.ones(len(total))
    places = (rng.uniform() + np.arange(most)) / most
    chosen = np.searchsorted(total.cumsum() / total.sum(), places).clip(max=len(total) - 1)
    return chosen, total.sum() / most / total[chosen]


class AnnotatorGains:
    """The gain for annotators' accuracies of each pair of item and annotator, updated while answers are chosen.

    An answer v explains a part of the variance of the annotator's accuracy a over draws: explained = sum_v P(v)
    (E[a | v] - E[a])^2 / Var(a). The gain is the corresponding information about a normal variable, in nats:
    - log(1 - explained) / 2. Only the accuracy of the annotator who answers counts, since the answer is less
    informative about others.

    Parameters
    ----------
    states : StatesAndAnswers

    Attributes
    ----------
    gain : array, shape (item, annotator)
    """

    def __init__(self, states: StatesAndAnswers, names_class: np.ndarray, rng: np.random.Generator) -> None:
        self._rng = rng
        n_draws, n_items, n_classes = states.state.shape[:3]
        n_annotators = states.answer.shape[1]
        share = states.state.mean(axis=1, dtype=float)  # (draw, class, node)
        right = np.where(names_class.T[:, :, None], states.answer, 0.0).sum(axis=2)  # (draw, annotator, class, node)
        self._accuracy = np.einsum("sjkn,skn->js", right, share)  # (annotator, draw)
        self._answer = states.answer
        self._of_items = np.ascontiguousarray(states.state.transpose(2, 0, 3, 1)).reshape(n_classes, -1, n_items)
        self._weight: dict[int, np.ndarray] = {}  # weights of draws, for annotators asked: (branch, draw)
        self.gain = np.empty((n_items, n_annotators))
        for begin in range(0, n_annotators, AT_ONCE):
            some = slice(begin, min(begin + AT_ONCE, n_annotators))
            self.gain[:, some] = self._gain_of(some, np.ones((some.stop - begin, 1, n_draws)))

    def choose(self, item: int, annotator: int) -> bool:
        """Choose this annotator's answer to this item, and update the annotator's other pairs.

        Return whether gains of other items have changed.
        """
        before = self._weight.get(annotator, np.ones((1, self._accuracy.shape[1])))  # (branch, draw)
        answer = self._answer[:, annotator]  # (draw, response, class, node)
        of_item = self._of_items[:, :, item].reshape(answer.shape[2], len(answer), -1)
        after = (before[:, None] * np.einsum("svkn,ksn->vs", answer, of_item)).reshape(-1, len(answer))
        self._weight[annotator] = keep_few(after, self._rng)
        self.gain[:, [annotator]] = self._gain_of(slice(annotator, annotator + 1), self._weight[annotator][None])
        return True

    def _gain_of(self, some: slice, weight: np.ndarray) -> np.ndarray:
        """Return the gains (item, annotator) of some annotators, for draws with weights (annotator, branch, draw)."""
        accuracy, answer = self._accuracy[some, None], self._answer[:, some]
        total = weight.sum(axis=2)  # (annotator, branch)
        mean = (weight * accuracy).sum(axis=2) / total
        variance = np.maximum((weight * accuracy**2).sum(axis=2) / total - mean**2, LEAST_VARIANCE)
        rows = np.stack([weight, weight * (accuracy - mean[:, :, None])]).astype(np.float32)
        shape = (*rows.shape[:3], answer.shape[2], -1)  # (2, annotator, branch, response, item)
        p, moved = sum(
            (np.einsum("wjbs,sjvn->wjbvsn", rows, answer[:, :, :, code]).reshape(-1, len(of_class)) @ of_class)
            for code, of_class in enumerate(self._of_items)
        ).reshape(shape)  # the probability of an answer, and that times the change of the mean
        explained = np.divide(moved**2, p, out=np.zeros_like(p), where=p > 0).sum(axis=2) / total[:, :, None]
        nats = -np.log1p(-np.minimum(explained / variance[:, :, None], MOST_EXPLAINED)) / 2
        return np.einsum("jb,jbi->ij", total, nats) / weight.shape[2]


def gain_of_truth(states: StatesAndAnswers, utility: Utility, rng: np.random.Generator) -> np.ndarray:
    """Return the value of each item's true label for its own label and for those of all others: (item, 2).

    The value for others comes from the draws that the true label makes more probable. With few draws, chance
    correlations look like value; the value with draws in random order is subtracted. Only the 2,000 least certain items
    are considered, both as sources and as targets.
    """
    mean = states.probability  # (item, class)
    n_classes = mean.shape[1]
    own = utility(mean[:, :, None] * np.eye(n_classes)).sum(axis=1) - utility(mean)
    unsure = np.argsort(information(mean), kind="stable")[:MOST_UNSURE]
    drawn = states.state[:, unsure].sum(axis=3, dtype=float)  # (draw, item, class)
    shuffled = drawn[rng.permutation(states.n_draws)]
    elsewhere = np.zeros(len(mean))
    step = max(1, CHUNK_BYTES // (8 * unsure.size * n_classes**2))
    for begin in range(0, unsure.size, step):
        chunk = slice(begin, min(begin + step, unsure.size))
        found, by_chance = (_gain_of_others(rows[:, chunk], drawn, utility, begin) for rows in (drawn, shuffled))
        elsewhere[unsure[chunk]] = np.maximum(found - by_chance, 0.0)
    return np.stack([own, elsewhere], axis=1)


def _gain_of_others(some: np.ndarray, drawn: np.ndarray, utility: Utility, begin: int) -> np.ndarray:
    """Return the information of the classes of some items (draw, item, class), from `begin` on, about all others."""
    n_draws, n_items, n_classes = drawn.shape
    joint = some.reshape(n_draws, -1).T @ drawn.reshape(n_draws, -1) / n_draws
    joint = joint.reshape(-1, n_classes, n_items, n_classes)
    gain = utility(joint).sum(axis=1) - utility(joint.sum(axis=1))  # (some item, item)
    here = np.arange(len(gain))
    gain[here, begin + here] = 0.0
    return gain.sum(axis=1)
