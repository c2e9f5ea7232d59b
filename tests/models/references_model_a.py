"""Model A a second time: NumPy, one item at a time, every correctness pattern and every tuple of labels enumerated.

Three layers, each plainer than the one before it and each checked against the next in `test_references_model_a`:

* `cox_item`: several dimensions, by the sum over all correctness patterns of all of them;
* `model_a_states`: one dimension, by the formulas for alpha and beta, whose sums run over ordered distinct labels;
* `enumerate_model_a`: the process itself: a ghost truth, who is right, what the wrong ones draw. No formula.

Annotations of an item are numbered 0, 1, ...; an annotator who answers it twice has two of them. `said` holds a label
for each, `correct` a 0 or 1 for each. Frequencies `omega` have the shape (label,) where all share them, or
(annotation, label), together with `pi` (label,), the frequency of truths. Where nobody can do what an answer requires
(a wrong annotator when the truth is the only label with a positive frequency) the probability is 0, never 0/0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations, product
from math import prod, sqrt

import numpy as np

Correct = tuple[int, ...]  # who is right, 1 or 0 per annotation
Partition = tuple[int, ...]  # who agrees with whom: the number of the block of each annotation, in order of appearance
Plain = tuple[dict[Partition, float], dict[tuple[Partition, Correct], float]]


# ------------------------------------------------------------------------------------------------- alpha and beta


@cache
def distinct_tuples(n_labels: int, n_blocks: int) -> np.ndarray:
    """Every way to give different labels to blocks, shape (way, block)."""
    ways = list(permutations(range(n_labels), n_blocks))
    return np.array(ways, dtype=int).reshape(len(ways), n_blocks)


def distinct(weights: np.ndarray) -> float:
    """The sum over ordered distinct labels, one per block, of the product of weights (block, label)."""
    n_blocks, n_labels = weights.shape
    return float(weights[np.arange(n_blocks), distinct_tuples(n_labels, n_blocks)].prod(axis=1).sum())


def distinct_sum(sizes: Sequence[int], w: Sequence[float]) -> float:
    """D_lambda(w): blocks of these sizes, all of whose members draw the same label, each block another one."""
    weights = np.asarray(w, dtype=float)
    return distinct(np.array([weights**n for n in sizes]).reshape(len(sizes), weights.size))


def per_annotation(omega: np.ndarray, n: int) -> np.ndarray:
    omega = np.asarray(omega, dtype=float)
    return np.tile(omega, (n, 1)) if omega.ndim == 1 else omega  # (annotation, label)


def block_weights(blocks: Sequence[Sequence[int]], rows: np.ndarray) -> np.ndarray:
    """The probability that all of a block draw a label, shape (block, label)."""
    return np.array([rows[list(block)].prod(axis=0) for block in blocks]).reshape(len(blocks), rows.shape[1])


def alpha_normalised(blocks: Sequence[Sequence[int]], rows: np.ndarray, pi: np.ndarray) -> float:
    """P(the wrong annotations fall into these blocks), each drawn from the labels that are not the truth (Table 4)."""
    total = 0.0
    for truth, share in enumerate(pi):
        others = np.delete(rows, truth, axis=1)
        possible = prod(others[j].sum() for block in blocks for j in block)
        if possible > 0:
            total += share * distinct(block_weights(blocks, others)) / possible
    return total


def alpha_unnormalised(sizes: Sequence[int], w: Sequence[float]) -> float:
    """The alphas that the probabilities of Table 9 were made with: sums without the denominators of Table 4."""

    def beside(mu: Sequence[int]) -> float:
        return sum(share * distinct_sum(mu, np.delete(w, truth)) for truth, share in enumerate(w))

    match sorted(sizes, reverse=True):
        case [] | [1]:
            return 1.0
        case [2]:
            return 1 - beside([1, 1])
        case [1, 1] | [2, 1] | [1, 1, 1]:
            return beside(sizes)
        case [3]:
            return 1 - 3 * beside([2, 1]) - beside([1, 1, 1])
    raise ValueError(f"no unnormalised alpha for blocks of sizes {sizes}")


def alpha(sizes: Sequence[int], omega: Sequence[float], kind: str = "normalised") -> float:
    """P(the wrong annotators form blocks of these sizes | who they are), frequencies shared by all."""
    if kind == "unnormalised":
        return alpha_unnormalised(sizes, omega)
    annotations = iter(range(sum(sizes)))
    blocks = [[next(annotations) for _ in range(n)] for n in sizes]
    return alpha_normalised(blocks, per_annotation(omega, sum(sizes)), np.asarray(omega, dtype=float))


def blocks_of(said: Sequence[int]) -> dict[int, list[int]]:
    """Who said each label that was said."""
    blocks: dict[int, list[int]] = {}
    for j, label in enumerate(said):
        blocks.setdefault(label, []).append(j)
    return blocks


def beta(said: Sequence[int], omega: np.ndarray) -> float:
    """P(these answers | who agrees with whom): independent draws from omega, given their pattern (Table 5)."""
    rows = per_annotation(omega, len(said))
    total = distinct(block_weights(list(blocks_of(said).values()), rows))
    return prod(rows[j][label] for j, label in enumerate(said)) / total if total > 0 else 0.0


# -------------------------------------------------------------------------------------------------- one dimension


def patterns(n: int) -> Iterator[Correct]:
    yield from product((0, 1), repeat=n)


def correctness(theta: Sequence[float], correct: Correct) -> float:
    return prod(p if right else 1 - p for p, right in zip(theta, correct, strict=True))


def state_of(correct: Correct, said: Sequence[int], n_labels: int) -> int:
    """The label that the correct ones said, or n_labels where nobody is correct."""
    return next((label for label, right in zip(said, correct, strict=True) if right), n_labels)


def answers_given(
    correct: Correct, said: Sequence[int], omega: np.ndarray, kind: str = "normalised", pi: np.ndarray | None = None
) -> float:
    """P(answers | who is correct): zero unless the correct ones are all who said some label, or nobody."""
    blocks = blocks_of(said)
    right = [j for j, is_right in enumerate(correct) if is_right]
    if right and right != blocks[said[right[0]]]:
        return 0.0
    wrong = [block for block in blocks.values() if block != right]
    if kind == "unnormalised":
        return alpha_unnormalised([len(block) for block in wrong], omega) * beta(said, omega)
    truths = np.asarray(omega if pi is None else pi, dtype=float)
    return alpha_normalised(wrong, per_annotation(omega, len(said)), truths) * beta(said, omega)


def model_a_states(
    theta_of_annotations: Sequence[float],
    said: Sequence[int],
    omega: np.ndarray,
    alpha: str = "normalised",
    pi: np.ndarray | None = None,
) -> np.ndarray:
    """P(state, answers) of one item, shape (label + 1,): the truth is label v, and last, none of these."""
    n_labels = np.shape(omega)[-1]
    joint = np.zeros(n_labels + 1)
    if not said:
        joint[-1] = 1.0
        return joint
    for correct in patterns(len(said)):
        given = answers_given(correct, said, omega, alpha, pi)
        joint[state_of(correct, said, n_labels)] += correctness(theta_of_annotations, correct) * given
    return joint


# ---------------------------------------------------------------------------------------------- the process itself


def partition_of(said: Sequence[int]) -> Partition:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(label, len(numbers)) for label in said)


def plain_worlds(
    theta: Sequence[float], omega: np.ndarray, pi: np.ndarray | None = None
) -> Iterator[tuple[Correct, tuple[int, ...], float]]:
    """Who is correct and what everybody says, for each ghost truth, and the probability of it all."""
    rows = per_annotation(omega, len(theta))
    truths = np.asarray(omega if pi is None else pi)
    for truth, share in enumerate(truths):
        for correct in patterns(len(theta)):
            choices: list[dict[int, float]] = []
            for row, right in zip(rows.tolist(), correct, strict=True):
                others = {label: p for label, p in enumerate(row) if label != truth and p > 0}
                total = sum(others.values())
                choices.append({truth: 1.0} if right else {label: p / total for label, p in others.items()})
            for said in product(*choices):
                drawn = prod(choice[label] for choice, label in zip(choices, said, strict=True))
                yield correct, said, float(share) * correctness(theta, correct) * drawn


def plain_process(theta: Sequence[float], omega: np.ndarray, pi: np.ndarray | None = None) -> Plain:
    """P(who agrees with whom), and P(that, who is correct), from the worlds of the plain process."""
    joint: dict[tuple[Partition, Correct], float] = defaultdict(float)
    for correct, said, probability in plain_worlds(theta, omega, pi):
        joint[partition_of(said), correct] += probability
    return over_patterns(joint), dict(joint)


def unnormalised_process(theta: Sequence[float], omega: np.ndarray) -> Plain:
    """A process behind `unnormalised`: wrong annotators draw from all labels.

    Where two or more are wrong and one of them draws the truth, the wrong ones count as agreeing with each other. A
    single one who is wrong differs from the others whatever the draw.
    """
    joint: dict[tuple[Partition, Correct], float] = defaultdict(float)
    n_labels = len(omega)
    for truth in range(n_labels):
        for correct in patterns(len(theta)):
            for draws in product(range(n_labels), repeat=correct.count(0)):
                together = len(draws) < 2 or truth in draws
                wrong = iter([n_labels] * len(draws) if together else draws)
                said = [truth if right else next(wrong) for right in correct]
                probability = omega[truth] * correctness(theta, correct) * prod(omega[draw] for draw in draws)
                joint[partition_of(said), correct] += probability
    return over_patterns(joint), dict(joint)


def over_patterns(joint: Mapping[tuple[Partition, Correct], float]) -> dict[Partition, float]:
    partitions: dict[Partition, float] = defaultdict(float)
    for (partition, _), probability in joint.items():
        partitions[partition] += probability
    return dict(partitions)


def enumerate_model_a(
    theta: Sequence[float],
    omega: np.ndarray,
    pi: np.ndarray | None = None,
    process: Callable[..., Plain] = plain_process,
) -> dict[tuple[int, ...], np.ndarray]:
    """P(state, answers) for all answers: a process says who agrees and is right, fresh draws from omega say what."""
    rows = per_annotation(omega, len(theta))
    n_labels = rows.shape[1]
    fresh = {
        said: prod(row[label] for row, label in zip(rows.tolist(), said, strict=True))
        for said in product(range(n_labels), repeat=len(theta))
    }
    same_pattern: dict[Partition, float] = defaultdict(float)
    for said, probability in fresh.items():
        same_pattern[partition_of(said)] += probability
    _, joint = process(theta, omega) if pi is None else process(theta, omega, pi)
    found = {}
    for said, probability in fresh.items():
        states = np.zeros(n_labels + 1)
        for correct in patterns(len(theta)):
            pattern = joint.get((partition_of(said), correct), 0.0)
            if pattern:
                given_pattern = probability / same_pattern[partition_of(said)]
                states[state_of(correct, said, n_labels)] += pattern * given_pattern
        found[said] = states
    return found


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
    theta: Theta,
    omegas: Sequence[np.ndarray],
    rhos: Correlations,
    said: Sequence[Sequence[int | None]],
    kind: str = "normalised",
    pis: Sequence[np.ndarray | None] | None = None,
) -> tuple[float, list[np.ndarray]]:
    """P(answers in all dimensions) of one item, and per dimension P(state | all answers), shape (label + 1,).

    `said` has a row per dimension and in it an answer per annotator of `theta`, None where there is none: whether that
    annotator would have been right is summed out. Frequencies of shape (annotator, label) follow theta as well.
    """
    given, states = [], []
    for dimension, row in enumerate(said):
        present = [j for j, label in enumerate(row) if label is not None]
        answers = [row[j] for j in present]
        omega = np.asarray(omegas[dimension])
        omega = omega[present] if omega.ndim == 2 else omega
        pi = None if pis is None else pis[dimension]
        seen = {pattern: tuple(pattern[j] for j in present) for pattern in patterns(len(theta))}
        given.append({all_: answers_given(of, answers, omega, kind, pi) for all_, of in seen.items()})
        states.append({all_: state_of(of, answers, omega.shape[-1]) for all_, of in seen.items()})
    posterior = [np.zeros(np.shape(omega)[-1] + 1) for omega in omegas]
    for correct, probability in cox_patterns(theta, rhos):
        joint = probability * prod(table[pattern] for table, pattern in zip(given, correct, strict=True))
        for dimension, pattern in enumerate(correct):
            posterior[dimension][states[dimension][pattern]] += joint
    total = float(posterior[0].sum())
    return total, [joint / total for joint in posterior]
