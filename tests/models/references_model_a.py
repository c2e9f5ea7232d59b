"""Model A a second time: NumPy, one item at a time, every correctness pattern and every draw of labels enumerated.

`model_a_states` is of one dimension and `cox_item` of several, by the sum over the correctness patterns of all of them.

Annotations of an item are numbered 0, 1, ...; an annotator who answers it twice has two of them. `said` holds a label
for each, `correct` a 0 or 1 for each. Frequencies `omega` have the shape (label,) where all share them, or
(annotation, label), together with `pi` (label,), the frequency of truths. Where nobody can do what an answer requires
(a wrong annotator when the truth is the only label with a positive frequency) the probability is 0, never 0/0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations, product
from math import prod, sqrt

import numpy as np

Correct = tuple[int, ...]  # who is right, 1 or 0 per annotation
Blocks = Sequence[Sequence[int]]  # the annotations of each block of those who agree


@cache
def distinct_tuples(n_labels: int, n_blocks: int) -> np.ndarray:
    """Every way to give different labels to blocks, shape (way, block)."""
    ways = list(permutations(range(n_labels), n_blocks))
    return np.array(ways, dtype=int).reshape(len(ways), n_blocks)


def distinct(weights: np.ndarray) -> float:
    """The sum over ordered distinct labels, one per block, of the product of weights (block, label)."""
    n_blocks, n_labels = weights.shape
    return float(weights[np.arange(n_blocks), distinct_tuples(n_labels, n_blocks)].prod(axis=1).sum())


def agreement(blocks: Blocks, rows: np.ndarray) -> float:
    """P(exactly these draw the same label), of draws by rows (annotation, label)."""
    weights = [rows[list(block)].prod(axis=0) for block in blocks]
    return distinct(np.array(weights).reshape(len(blocks), rows.shape[1]))


def wrong_agreement(blocks: Blocks, rows: np.ndarray, pi: np.ndarray) -> float:
    """P(the wrong annotations fall into these blocks), of labels that are not the truth, for each in turn (Table 4)."""
    wrong = [j for block in blocks for j in block]
    total = 0.0
    for truth, share in enumerate(pi):
        others = np.delete(rows, truth, axis=1)
        possible = prod(others[wrong].sum(axis=1))
        if possible > 0:
            total += share * agreement(blocks, others) / possible
    return total


def blocks_of(said: Sequence[int]) -> dict[int, list[int]]:
    """Who said each label that was said."""
    blocks: dict[int, list[int]] = {}
    for j, label in enumerate(said):
        blocks.setdefault(label, []).append(j)
    return blocks


def beta(said: Sequence[int], rows: np.ndarray) -> float:
    """P(these answers | who agrees with whom): draws by rows (annotation, label), given their pattern (Table 5)."""
    total = agreement(list(blocks_of(said).values()), rows)
    return prod(rows[j, label] for j, label in enumerate(said)) / total if total > 0 else 0.0


def patterns(n: int) -> Iterator[Correct]:
    yield from product((0, 1), repeat=n)


def correctness(theta: Sequence[float], correct: Correct) -> float:
    return prod(p if right else 1 - p for p, right in zip(theta, correct, strict=True))


def state_of(correct: Correct, said: Sequence[int], n_labels: int) -> int:
    """The label that the correct ones said, or n_labels where nobody is correct."""
    return next((label for label, right in zip(said, correct, strict=True) if right), n_labels)


def answers_given(correct: Correct, said: Sequence[int], omega: np.ndarray, pi: np.ndarray | None = None) -> float:
    """P(answers | who is correct): zero unless the correct ones are all who said some label, or nobody."""
    omega = np.asarray(omega, dtype=float)
    blocks, rows = blocks_of(said), np.tile(omega, (len(said), 1)) if omega.ndim == 1 else omega
    right = [j for j, is_right in enumerate(correct) if is_right]
    if right and right != blocks[said[right[0]]]:
        return 0.0
    wrong = [block for block in blocks.values() if block != right]
    return wrong_agreement(wrong, rows, omega if pi is None else pi) * beta(said, rows)


def model_a_states(
    theta_of_annotations: Sequence[float], said: Sequence[int], omega: np.ndarray, pi: np.ndarray | None = None
) -> np.ndarray:
    """P(state, answers) of one item, shape (label + 1,): the truth is label v, and last, none of these."""
    n_labels = np.shape(omega)[-1]
    joint = np.zeros(n_labels + 1)
    if not said:
        joint[-1] = 1.0
        return joint
    for correct in patterns(len(said)):
        given = answers_given(correct, said, omega, pi)
        joint[state_of(correct, said, n_labels)] += correctness(theta_of_annotations, correct) * given
    return joint


# ----------------------------------------------------------------------------------------------- several dimensions

Theta = Sequence[Sequence[float]]  # (annotator, dimension)
Correlations = Mapping[tuple[int, int], float]  # a pair of dimensions, once, in either order


def xi(theta: Theta, rhos: Correlations, correct: Sequence[Correct]) -> float:
    """The factor of eq. 28; `correct` holds a pattern per dimension, annotators in the order of theta."""

    def u(annotator: int, dimension: int) -> float:
        p = theta[annotator][dimension]
        return sqrt((1 - p) / p) if correct[dimension][annotator] else -sqrt(p / (1 - p))

    pairs = ((rho, u(j, x) * u(j, y)) for (x, y), rho in rhos.items() for j in range(len(theta)))
    return 1 + sum(rho * both for rho, both in pairs)


def cox_patterns(theta: Theta, rhos: Correlations) -> Iterator[tuple[tuple[Correct, ...], float]]:
    """Every correctness pattern of every dimension, and the probability of them together (eq. 21)."""
    by_dimension = list(zip(*theta, strict=True))
    for correct in product(*(list(patterns(len(theta))) for _ in by_dimension)):
        independent = prod(correctness(p, pattern) for p, pattern in zip(by_dimension, correct, strict=True))
        yield correct, independent * xi(theta, rhos, correct)


def gauge(theta: Theta, rhos: Correlations) -> float:
    """How far out the correlations are for these annotators: 1 - min Xi, at most 1 where they are admissible."""
    every = product(*(list(patterns(len(theta))) for _ in theta[0]))
    return 1 - min(xi(theta, rhos, correct) for correct in every)


def cox_item(
    theta: Theta, omegas: Sequence[np.ndarray], rhos: Correlations, said: Sequence[Sequence[int | None]]
) -> tuple[float, list[np.ndarray]]:
    """P(answers in all dimensions) of one item, and per dimension P(state | all answers), shape (label + 1,).

    `said` has a row per dimension and in it an answer per annotator of `theta`, None where there is none: whether that
    annotator would have been right is summed out.
    """
    given, states = [], []
    for row, omega in zip(said, omegas, strict=True):
        present = [j for j, label in enumerate(row) if label is not None]
        answers = [row[j] for j in present]
        seen = {pattern: tuple(pattern[j] for j in present) for pattern in patterns(len(theta))}
        given.append({all_: answers_given(of, answers, omega) for all_, of in seen.items()})
        states.append({all_: state_of(of, answers, np.size(omega)) for all_, of in seen.items()})
    posterior = [np.zeros(np.size(omega) + 1) for omega in omegas]
    for correct, probability in cox_patterns(theta, rhos):
        joint = probability * prod(table[pattern] for table, pattern in zip(given, correct, strict=True))
        for dimension, pattern in enumerate(correct):
            posterior[dimension][states[dimension][pattern]] += joint
    total = float(posterior[0].sum())
    return total, [joint / total for joint in posterior]
