"""Whether chains agree on an item: its label by each chain's own mean, and the distance of its probabilities.

The invariant: what is compared are averages over a chain; a small difference within their Monte Carlo error is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

FAR = 3.0  # Monte Carlo standard errors of a difference between a chain and the others
MUCH = 0.1  # difference of a probability between chains above which it is not reliable, for any error


@dataclass(frozen=True)
class Compared:
    """What some chains say of items.

    Attributes
    ----------
    chains : tuple of int
        Which chains, by their position.
    probability : array, shape (item, state)
        The mean over these chains.
    moves : array of bool, shape (item, state)
        Whether some chains have an item in this state and others in another: its probability differs by more than 0.1
        between chains, or it is the most probable one in some chain only, by more than Monte Carlo error.
    apart : array, shape (item,)
        How far the probability of the most probable state goes apart between chains: the highest less the lowest.
    """

    chains: tuple[int, ...]
    probability: np.ndarray
    moves: np.ndarray
    apart: np.ndarray

    @property
    def differs(self) -> np.ndarray:
        """Whether chains differ in an item, shape (item,)."""
        found: np.ndarray = self.moves.any(axis=1)
        return found


def compare_labels(p: np.ndarray, chains: Sequence[int], mcse: Callable[[np.ndarray], np.ndarray]) -> Compared:
    """Compare what chains say of items.

    Parameters
    ----------
    p : array, shape (chain, draw, item, state)
        Each item's posterior in every draw, of all chains.
    chains : sequence of int
        Those to be compared, by their position.
    mcse : callable
        The Monte Carlo standard error of means over (chain, draw, ...).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.between_chains import compare_labels
    >>> p = np.array([[0.9, 0.6], [0.8, 0.4]])[:, None, :]  # (chain, draw, item): the second item has two labels
    >>> found = compare_labels(np.stack([p, 1 - p], axis=-1), [0, 1], lambda draws: np.zeros(draws.shape[2:]))
    >>> found.differs.tolist(), found.apart.round(1).tolist()
    ([False, True], [0.1, 0.2])
    """
    chosen = np.asarray(p[list(chains)])
    by_chain = chosen.mean(axis=1)  # (chain, item, state)
    mean = by_chain.mean(axis=0)  # (item, state)
    first, labels = mean.argmax(axis=1), by_chain.argmax(axis=2)  # (item,), (chain, item)
    moves = np.ptp(by_chain, axis=0) > MUCH  # (item, state)
    for number, label in enumerate(labels):
        at = np.flatnonzero((label != first) & ~moves.any(axis=1))
        if at.size:  # the lead of one state over the other is below 0 in this chain, so above it in the others
            lead = chosen[:, :, at, first[at]] - chosen[:, :, at, label[at]]  # (chain, draw, item)
            own, others = lead[number : number + 1], np.delete(lead, number, axis=0)
            gap = others.mean(axis=(0, 1)) - own.mean(axis=(0, 1))
            at = at[gap > FAR * np.hypot(mcse(own), mcse(others))]
            moves[at, first[at]] = moves[at, label[at]] = True
    of_first = by_chain[:, np.arange(first.size), first]  # (chain, item)
    return Compared(tuple(chains), mean, moves, np.ptp(of_first, axis=0))


def join_compared(parts: Sequence[Compared], back: np.ndarray) -> Compared:
    """Put together what was found chunk after chunk, and give it to items: `back` has the place of each."""
    whole = [
        np.concatenate([getattr(part, name) for part in parts])[back] for name in ("probability", "moves", "apart")
    ]
    return Compared(parts[0].chains, *whole)
