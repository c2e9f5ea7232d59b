"""The E-step of models whose annotations are independent given the class: in NumPy, a sum over blocks of items.

What it computes for an item is the posterior of the class that a fit reads, by the formula that the graph has; the
contract of the zoo compares the two. What a step needs of an item is what it adds to a sum, so that a block of items
may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data.patterns import lay_out

if TYPE_CHECKING:
    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.capabilities import HasUpdates

Shares = Mapping[str, np.ndarray]  # parameters: of each, shares of 1 along the last axis
BLOCK = 65_536  # patterns: what is computed of a block stays small beside the data


@dataclass(frozen=True)
class Expected:
    """What an E-step adds up: expected numbers of items and annotations.

    Attributes
    ----------
    classes : array, shape (true_class,)
        Items of each class.
    answers : array, shape (annotator, response, true_class)
        Annotations by each annotator, with each response, of items of each class.
    log_likelihood : float
        Of all items, their classes summed out.
    """

    classes: np.ndarray
    answers: np.ndarray
    log_likelihood: float


@dataclass(frozen=True)
class Block:
    """Items, those with equal answers taken together as one pattern.

    Attributes
    ----------
    answers : sparse array, shape (pattern, annotator * response)
        How often an annotator gave a response.
    weight : array, shape (pattern,)
        How many items have these answers.
    control : array of int, shape (pattern,)
        The known class, -1 where there is none.
    """

    answers: Any
    weight: np.ndarray
    control: np.ndarray

    def weigh_classes(self, log_class: np.ndarray, log_answer: np.ndarray) -> np.ndarray:
        """Return log p(class, answers), shape (pattern, true_class).

        Of the logs of p(class) (true_class,) and p(answer | class) (annotator, response, true_class). Before their last
        dimension both may have one of draws, which the result then has there too.
        """
        joint: np.ndarray = self.answers @ log_answer.reshape(-1, log_class.size)
        # a class's numbers side by side: NumPy is slow along an axis as short as that of the classes
        joint = np.asfortranarray(joint.reshape(-1, *log_class.shape))
        joint += log_class
        known = self.control.reshape(-1, *[1] * log_class.ndim)
        if (known >= 0).any():
            impossible = (known >= 0) & (known != np.arange(log_class.shape[-1]))
            joint[np.broadcast_to(impossible, joint.shape)] = -np.inf
        return joint


def find_posterior(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(class | answers) (pattern, true_class) and log p(answers) (pattern,), of log p(class, answers).

    Answers that are impossible have a log probability of -inf and, as in the graph, nan for a posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.expectation import find_posterior
    >>> find_posterior(np.log([[0.3, 0.1]]))[0]
    array([[0.75, 0.25]])
    """
    weight, total, highest = _scale(joint)
    weight /= total[..., None]
    return weight, _add_logs(highest, total)


def sum_classes(joint: np.ndarray) -> np.ndarray:
    """Return log p(answers), of log p(class, answers) with the classes last."""
    _, total, highest = _scale(joint)
    return _add_logs(highest, total)


def _scale(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return exp(values less the highest along the last axis), the sums of these, and the highest."""
    highest = joint[..., 0].copy(order="K")
    for k in range(1, joint.shape[-1]):  # NumPy's own maximum over a short axis takes most of an E-step
        np.maximum(highest, joint[..., k], out=highest)
    with np.errstate(invalid="ignore"):
        weight = joint - highest[..., None]  # nan where all are -inf
    np.exp(weight, out=weight)
    return weight, weight.sum(axis=-1), highest


def _add_logs(highest: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(highest), -np.inf, highest + np.log(total))


@dataclass(frozen=True)
class Items:
    """The items of a table of annotations, in blocks.

    Attributes
    ----------
    blocks : tuple of Block
    names_class : array of bool, shape (true_class, response)
        Whether a response names a class.
    pattern : array of int, shape (item,)
        The pattern of each item, numbered through all blocks.
    n_annotators : int
    """

    blocks: tuple[Block, ...]
    names_class: np.ndarray
    pattern: np.ndarray
    n_annotators: int

    @cached_property
    def votes(self) -> tuple[np.ndarray, ...]:
        """How often each class was named, (pattern, true_class), of each block."""
        named = np.tile(self.names_class.T.astype(float), (self.n_annotators, 1))  # (annotator * response, true_class)
        return tuple(block.answers @ named for block in self.blocks)


def make_blocks(data: AnnotationData, size: int = BLOCK) -> Items:
    """Lay out annotations for E-steps, in blocks of so many patterns."""
    from scipy.sparse import csr_array

    layout = lay_out(data)
    n_cells = data.n_annotators * data.n_labels
    cell = data.annotator[layout.kept] * data.n_labels + data.label[layout.kept]  # (kept,)
    begin = np.concatenate([[0], np.cumsum(np.bincount(layout.kept_pattern, minlength=layout.n_patterns))])
    said = csr_array((np.ones(cell.size), cell, begin), shape=(layout.n_patterns, n_cells))
    weight = np.bincount(layout.pattern, minlength=layout.n_patterns).astype(float)
    control = data.control_codes[layout.first]
    blocks = []
    for start in range(0, layout.n_patterns, size):
        rows = slice(start, start + size)
        blocks.append(Block(said[rows], weight[rows], control[rows]))
    names_class = np.equal.outer(data.class_codes, np.arange(data.n_labels))
    return Items(tuple(blocks), names_class, layout.pattern, data.n_annotators)


def log_probabilities(model: HasUpdates, items: Items, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Return the logs of p(class) (true_class,) and of p(answer | class) (annotator, response, true_class)."""
    of_class, of_answer = model.probabilities(shares, items.names_class)
    with np.errstate(divide="ignore"):
        return np.log(of_class), np.log(of_answer)


def expect(model: HasUpdates, items: Items, shares: Shares, *, epsilon: float = 0.0) -> Expected:
    """Take an E-step: add up over all blocks what the posterior of the classes leads one to expect.

    Parameters
    ----------
    model : HasUpdates
    items : Items
    shares : mapping of name to array
        The parameters, as the model's `concentrations` have them.
    epsilon : float, default 0
        By how much the posterior leans to what annotators said, as in (52) of Rzhetsky et al. (2008): to each class,
        epsilon times the votes for it is added to its joint probability with the answers.
    """
    log_class, log_answer = log_probabilities(model, items, shares)
    classes, answers, total = np.zeros(log_class.size), np.zeros((log_answer[..., 0].size, log_class.size)), 0.0
    for number, block in enumerate(items.blocks):
        joint = block.weigh_classes(log_class, log_answer)
        posterior, log_likelihood = find_posterior(joint)
        if epsilon:
            posterior = _lean(joint, items.votes[number], block.control, epsilon)
        classes += block.weight @ posterior
        posterior *= block.weight[:, None]
        answers += block.answers.T @ posterior
        total += float(block.weight @ log_likelihood)
    return Expected(classes, answers.reshape(log_answer.shape), total)


def _lean(joint: np.ndarray, votes: np.ndarray, control: np.ndarray, epsilon: float) -> np.ndarray:
    """Return (52): p(class, answers) plus epsilon times the votes, in proportion; known classes stay known."""
    free = control[:, None] < 0
    weight = np.where(free, np.exp(joint) + epsilon * votes, np.isfinite(joint))
    total = weight.sum(axis=1, keepdims=True)
    plain = find_posterior(joint)[0]
    with np.errstate(invalid="ignore"):  # items that nobody answered, of a probability that is 0 as a double
        leant: np.ndarray = np.where(total > 0, weight / total, plain)
    return leant


def read_items(model: HasUpdates, items: Items, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Return p(class | answers) (item, true_class) and log p(answers) (item,)."""
    log_class, log_answer = log_probabilities(model, items, shares)
    found = [find_posterior(block.weigh_classes(log_class, log_answer)) for block in items.blocks]
    posterior, log_likelihood = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return posterior[items.pattern], log_likelihood[items.pattern]
