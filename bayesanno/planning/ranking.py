"""The expected information of one more answer about a ranking: which of two systems is stronger, over all pairs.

Given draw s of the parameters, the probability of an answer v follows from the two factors of
`bayesanno.modeling.states`, p(v | s) = sum_k p(k | answers so far, s) p(v | k, s), and the order of two systems is
known, z = [strength_a > strength_b]. So P(z, v) is the mean over draws of [z] p(v | s), and

    gain  =  sum over pairs of systems  H(z) - sum_v P(v) H(z | v),

in nats: the mutual information of the answer and the order of two systems, summed over pairs. It is never below 0, and
at most log 2 per pair. It is 0 if p(v | s) is the same in all draws, so that the answer is independent of the
strengths, or if the order is the same in all draws.

The means are Monte Carlo estimates. With n independent draws, the probability of an answer and the order of two systems
are correlated by chance, which adds about sum_v Var_s(p(v | s)) / (2 n P(v)) nats per pair. This is subtracted (for
weighted draws, n = (sum w)^2 / sum w^2), and negative results are set to 0.

With two language models' answers to 200 comparisons of five systems, gains are .0028 nats on average and .024 at most.
With 2,000 draws, the number in `suggest_annotations`, they differ from those with 24,000 by .0003 on average. They are
too large by .00003, or by .00023 without the subtraction; with 4,000 draws, by .00001 and .00011.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bayesanno.modeling.pairs import SIDES, STRENGTH, SYSTEM, Pairs
from bayesanno.modeling.states import StatesAndAnswers
from bayesanno.planning.gains import CHUNK_BYTES, draw_few, information
from bayesanno.planning.of_fit import CandidateAnswers

MOST_BRANCHES = 16  # combinations of the answers chosen so far; of more, this many are drawn


def explain_order(asked: CandidateAnswers, pairs: Pairs, items: np.ndarray) -> list[str]:
    """Return the present knowledge about the two systems that each of these items compares, in words."""
    names, strength = asked.draws[SYSTEM].values.tolist(), asked.draws[STRENGTH].values[0]  # (draw, system)
    found = []
    for a, b in zip(*(pairs.columns(asked.data)[side][items] for side in SIDES), strict=True):
        p = float((strength[:, a] > strength[:, b]).mean())
        stronger, weaker = (names[a], names[b]) if p >= 0.5 else (names[b], names[a])
        found.append(f"{stronger!r} is stronger than {weaker!r} with probability {max(p, 1 - p):.2f}")
    return found


class RankingGains:
    """The gain for a ranking of each pair of item and annotator, updated while answers are chosen.

    The chosen answers weight the draws, in each branch of possible outcomes. Given a draw, they are informative about
    the item's class too: a second answer to an item is worth less than an answer to an item without a chosen one.

    Parameters
    ----------
    states : StatesAndAnswers
    strength : array, shape (draw, system)
        The strengths in the same draws.
    rng : numpy.random.Generator
        For drawing branches, if there are many.

    Attributes
    ----------
    gain : array, shape (item, annotator)
    """

    def __init__(self, states: StatesAndAnswers, strength: np.ndarray, rng: np.random.Generator) -> None:
        self._rng = rng
        self._order = np.array([strength[:, a] > strength[:, b] for a, b in combinations(range(strength.shape[1]), 2)])
        n_draws, n_items = states.state.shape[:2]
        self._state = states.state.reshape(n_draws, n_items, -1)  # (draw, item, state), of class and node
        self._state = self._state / self._state.sum(axis=2, keepdims=True)  # (adjusted: only over draws)
        rows: dict[bytes, int] = {}  # items that are equal in all draws, such as unanswered ones, share a row
        self._row = np.array([rows.setdefault(self._state[:, i].tobytes(), len(rows)) for i in range(n_items)])
        self._answer = np.moveaxis(states.answer.reshape(*states.answer.shape[:3], -1), 3, 1)  # (draw, state, ...)
        self._weight = np.ones((1, n_draws))  # (branch, draw)
        self._asked: dict[int, np.ndarray] = {}  # the states of items asked about: (branch, draw, state)
        self.gain = np.empty((n_items, states.answer.shape[1]))
        self._update()

    def choose(self, item: int, annotator: int) -> bool:
        """Choose this annotator's answer to this item, and update all gains.

        Return whether gains of other items have changed.
        """
        before = self._asked.get(item, self._state[None, :, item])  # (branch, draw, state)
        after = before[:, None] * np.moveaxis(self._answer[:, :, annotator], 2, 0)  # (branch, response, draw, state)
        after = np.broadcast_to(after, (len(self._weight), *after.shape[1:]))
        p = after.sum(axis=3, dtype=float)  # (branch, response, draw)
        weight = self._weight[:, None] * p
        chosen, scale = draw_few(weight.sum(axis=2).ravel(), MOST_BRANCHES, self._rng)
        branch, said = np.divmod(chosen, after.shape[1])
        self._weight = weight[branch, said] * scale[:, None]
        self._asked = {other: states[branch] for other, states in self._asked.items()}
        self._asked[item] = after[branch, said] / np.maximum(p[branch, said, :, None], np.finfo(np.float32).tiny)
        self._update()
        return True

    def _update(self) -> None:
        """Compute the gains of all pairs of item and annotator."""
        n_draws, _, *shape = self._answer.shape
        by_state = self._answer.reshape(*self._answer.shape[:2], -1)  # (draw, state, annotator and response)
        n_numbers = n_draws + 4 * len(self._weight) * (1 + len(self._order))  # of an answer, in memory at a time
        step = max(1, CHUNK_BYTES // (8 * n_numbers * by_state.shape[2]))
        _, first = np.unique(self._row, return_index=True)
        of_rows = []
        for begin in range(0, len(first), step):
            p = self._state[:, first[begin : begin + step]] @ by_state  # (draw, row, annotator and response)
            of_rows.append(self._gain_of(p.reshape(1, n_draws, -1, *shape)))
        self.gain[:] = np.concatenate(of_rows)[self._row]
        for item, states in self._asked.items():
            p = (states[:, :, None] @ by_state).reshape(*states.shape[:2], 1, *shape)
            self.gain[item] = self._gain_of(p)[0]

    def _gain_of(self, p: np.ndarray) -> np.ndarray:
        """Return gains (item, annotator) from p(answer | draw) (branch or 1, draw, item, annotator, response)."""
        n_draws, shape, weight = p.shape[1], p.shape[2:], self._weight
        p = p.reshape(*p.shape[:2], -1).astype(float)

        def average(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
            """Return means over draws for rows (branch, row, draw): (branch, row, item, annotator, response)."""
            of_values = rows.reshape(len(values), -1, n_draws) @ values / n_draws
            return of_values.reshape(*rows.shape[:2], *shape)

        of_answer, squared = average(weight[:, None], p), average(weight[:, None], p**2)
        of_first = average(weight[:, None] * self._order, p)  # jointly with system a being stronger than b: row by row
        joint = np.stack([of_first, np.maximum(of_answer - of_first, 0.0)], axis=-1)
        before = joint.sum(axis=4)  # (branch, two systems, item, annotator, z), the same for all answers
        found = information(joint).sum(axis=4) - information(before)
        spread = np.divide(squared, of_answer, out=np.zeros_like(squared), where=of_answer > 0).sum(axis=4)
        total = weight.mean(axis=1)[:, None, None, None]
        n_effective = (weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1))[:, None, None, None]
        by_chance = total * (spread - 1) / (2 * n_effective) * (before.min(axis=-1) > 0)
        gain: np.ndarray = np.maximum((found - by_chance).sum(axis=(0, 1)), 0.0)
        return gain
