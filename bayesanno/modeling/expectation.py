"""The E-step of models with annotations independent given the class: in NumPy, a sum over blocks of items.

The E-step computes the same posterior of an item's class as the graph; the contract of the zoo compares the two. A step
needs only sums over items, so blocks of items may be on other machines: EM and VB only use `AddsUp`.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, Protocol, Self

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.patterns import Coded, lay_out

Shares = Mapping[str, np.ndarray]  # parameters, each as shares that add up to 1 along the last axis
BLOCK = 65_536  # patterns at least: the sums of a block stay small compared with its items


@dataclass(frozen=True)
class Expected:
    """The sums of an E-step: expected numbers of items and annotations.

    Attributes
    ----------
    classes : array, shape (true_class,)
        The expected number of items of each class.
    answers : array, shape (annotator, response, true_class)
        The expected number of annotations by annotator, response and class of the item.
    log_likelihood : float
        The log likelihood of all items, with their classes summed out.
    """

    classes: np.ndarray
    answers: np.ndarray
    log_likelihood: float

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.classes + other.classes, self.answers + other.answers, self.log_likelihood + other.log_likelihood
        )


@dataclass(frozen=True)
class Votes:
    """Sums of the majority vote, where an item's vote for a label is the share of its annotations with that label.

    Attributes
    ----------
    shares : array, shape (response,)
        The sum of votes for each label, over all items. An item without annotations has even votes for all classes. A
        label that names no class gets no votes.
    answers : array, shape (annotator, response, response)
        The sum of votes for each label (last dimension) on the items where an annotator gave a response (second).
    given : array, shape (annotator, response)
        How often an annotator gave a response.
    """

    shares: np.ndarray
    answers: np.ndarray
    given: np.ndarray

    def __add__(self, other: Self) -> Self:
        return type(self)(self.shares + other.shares, self.answers + other.answers, self.given + other.given)

    @property
    def agreed(self) -> np.ndarray:
        """The sum of votes for the labels that each annotator gave; shape (annotator,)."""
        return np.trace(self.answers, axis1=1, axis2=2)


@dataclass(frozen=True)
class PatternBlock:
    """Items; those with equal answers are one pattern.

    Attributes
    ----------
    answers : sparse array, shape (pattern, annotator * response)
        How often an annotator gave a response.
    weight : array, shape (pattern,)
        The number of items with these answers.
    control : array of int, shape (pattern,)
        The known class, -1 if unknown.
    n_labels : int
        The number of responses.
    """

    answers: Any
    weight: np.ndarray
    control: np.ndarray
    n_labels: int

    @property
    def n_annotators(self) -> int:
        """The number of annotators, including those without answers in this block."""
        return int(self.answers.shape[1]) // self.n_labels

    @cached_property
    def votes(self) -> np.ndarray:
        """How often each label was given, (pattern, response)."""
        said, shape = self.answers.tocoo(), (self.weight.size, self.n_labels)
        cell = said.row * self.n_labels + said.col % self.n_labels
        return np.bincount(cell, said.data, math.prod(shape)).reshape(shape)

    def weigh_classes(self, log_class: np.ndarray, log_answer: np.ndarray) -> np.ndarray:
        """Return log p(class, answers), shape (pattern, true_class).

        Parameters
        ----------
        log_class : array, shape (true_class,)
            The logs of p(class).
        log_answer : array, shape (annotator, response, true_class)
            The logs of p(answer | class); the first dimension is 1 if all annotators are alike.

        Both may have a dimension of draws before the last one; the result then has it too.
        """
        of_each = np.broadcast_to(log_answer, (self.n_annotators, *log_answer.shape[1:]))
        joint: np.ndarray = self.answers @ of_each.reshape(-1, log_class.size)
        # numbers of one class are adjacent: NumPy is slow along the short axis of classes
        joint = np.asfortranarray(joint.reshape(-1, *log_class.shape))
        joint += log_class
        known = self.control.reshape(-1, *[1] * log_class.ndim)
        if (known >= 0).any():
            impossible = (known >= 0) & (known != np.arange(log_class.shape[-1]))
            joint[np.broadcast_to(impossible, joint.shape)] = -np.inf
        return joint


def find_posterior(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(class | answers) (pattern, true_class) and log p(answers) (pattern,) from log p(class, answers).

    Impossible answers have a log probability of -inf and, as in the graph, a posterior of nan.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.expectation import find_posterior
    >>> find_posterior(np.log([[0.3, 0.1]]))[0]
    array([[0.75, 0.25]])
    """
    weight, total, highest = _scale(joint)
    weight /= total[..., None]
    return weight, _log_of_sum(highest, total)


def sum_classes(joint: np.ndarray) -> np.ndarray:
    """Return log p(answers) from log p(class, answers), with the classes along the last axis."""
    _, total, highest = _scale(joint)
    return _log_of_sum(highest, total)


def _scale(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return exp(values minus the highest along the last axis), their sums, and the highest."""
    highest = joint[..., 0].copy(order="K")
    for k in range(1, joint.shape[-1]):  # NumPy's maximum over a short axis would take most of an E-step
        np.maximum(highest, joint[..., k], out=highest)
    with np.errstate(invalid="ignore"):
        weight = joint - highest[..., None]  # nan where all are -inf
    np.exp(weight, out=weight)
    return weight, weight.sum(axis=-1), highest


def _log_of_sum(highest: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(highest), -np.inf, highest + np.log(total))


class AddsUp(ABC):
    """Items in blocks, in memory or on a cluster: the values of a function of a block can be added up.

    Attributes
    ----------
    names_class : array of bool, shape (true_class, response)
        Whether a response names a class.
    n_different : int
        The number of annotations of the patterns, each pattern counted once: the size of a step.
    largest : int
        The number of patterns in the largest block.
    n_threads : int
        The number of climbs that may run at the same time.
    """

    names_class: np.ndarray
    n_different: int
    largest: int
    n_threads: int

    @abstractmethod
    def add_up[T](self, of_block: Callable[..., T], *arguments: Any) -> T:
        """Return the sum over blocks of `of_block(block, *arguments)`, a function of a module."""


@dataclass(frozen=True)
class Items(AddsUp):
    """The items of a table of annotations, in blocks, in memory.

    Attributes
    ----------
    blocks : tuple of PatternBlock
        At least one.
    names_class : array of bool, shape (true_class, response)
        Whether a response names a class.
    pattern : array of int, shape (item,)
        The pattern of each item, numbered through all blocks.
    """

    blocks: tuple[PatternBlock, ...]
    names_class: np.ndarray
    pattern: np.ndarray

    @property
    def n_different(self) -> int:  # type: ignore[override]  # an attribute that is computed
        """The annotations of the patterns."""
        return sum(int(block.answers.nnz) for block in self.blocks)

    @property
    def largest(self) -> int:  # type: ignore[override]
        """The number of patterns in the largest block."""
        return max(block.weight.size for block in self.blocks)

    @property
    def n_threads(self) -> int:  # type: ignore[override]
        """The number of cores."""
        return os.cpu_count() or 1

    def add_up[T](self, of_block: Callable[..., T], *arguments: Any) -> T:
        """Return the sum over blocks, one after the other."""
        return reduce(add, (of_block(block, *arguments) for block in self.blocks))


def make_blocks(data: Coded, size: int | None = None) -> Items:
    """Lay out annotations for E-steps, in blocks of `size` patterns, by default about as many as there are sums."""
    from scipy.sparse import csr_array

    layout = lay_out(data)
    n_cells = data.n_viewers * data.n_labels
    cell = data.viewer[layout.kept] * data.n_labels + data.label[layout.kept]  # (kept,)
    begin = np.concatenate([[0], np.cumsum(np.bincount(layout.kept_pattern, minlength=layout.n_patterns))])
    said = csr_array((np.ones(cell.size), cell, begin), shape=(layout.n_patterns, n_cells))
    weight = np.bincount(layout.pattern, minlength=layout.n_patterns).astype(float)
    control = data.control_codes[layout.first]
    blocks = []
    size = size or max(BLOCK, n_cells)
    for start in range(0, max(1, layout.n_patterns), size):
        rows = slice(start, start + size)
        blocks.append(PatternBlock(said[rows], weight[rows], control[rows], data.n_labels))
    names_class = np.equal.outer(data.class_codes, np.arange(data.n_labels))
    return Items(tuple(blocks), names_class, layout.pattern)


Logs = tuple[np.ndarray, np.ndarray]


class HasTables(Protocol):
    """A model with annotations independent given the class."""

    def log_probabilities(self, shares: Shares, names_class: np.ndarray) -> Logs:
        """Return the logs of p(class), (true_class,), and p(answer | class), (annotator, response, true_class)."""


def expect(model: HasTables, items: AddsUp, shares: Shares, *, epsilon: float = 0.0) -> Expected:
    """Take an E-step: add up the expected counts under the posterior of the classes, over all blocks.

    Parameters
    ----------
    model : HasTables
    items : AddsUp
    shares : mapping of name to array
        The parameters, with the shapes of the model's `concentrations`.
    epsilon : float, default 0
        The smoothing of (52) in Rzhetsky et al. (2009): epsilon times the votes for a class is added to the joint
        probability of class and answers.
    """
    logs = model.log_probabilities(shares, items.names_class)
    return items.add_up(expect_of_block, *logs, epsilon, items.names_class)


def expect_of_block(
    block: PatternBlock, log_class: np.ndarray, log_answer: np.ndarray, epsilon: float, names_class: np.ndarray
) -> Expected:
    """Return the sums of an E-step over one block."""
    joint = block.weigh_classes(log_class, log_answer)
    posterior, log_likelihood = find_posterior(joint)
    if epsilon:
        posterior = _lean(joint, block.votes @ names_class.T, block.control, epsilon)
    classes = block.weight @ posterior
    posterior *= block.weight[:, None]
    answers = block.answers.T @ posterior
    return Expected(classes, answers.reshape(-1, *log_answer.shape[1:]), float(block.weight @ log_likelihood))


def _lean(joint: np.ndarray, votes: np.ndarray, control: np.ndarray, epsilon: float) -> np.ndarray:
    """Return (52): p(class, answers) plus epsilon times the votes, in proportion; known classes stay known."""
    free = control[:, None] < 0
    weight = np.where(free, np.exp(joint) + epsilon * votes, np.isfinite(joint))
    total = weight.sum(axis=1, keepdims=True)
    plain = find_posterior(joint)[0]
    with np.errstate(invalid="ignore"):  # items without answers, with a probability that underflows to 0
        leant: np.ndarray = np.where(total > 0, weight / total, plain)
    return leant


def count_votes(block: PatternBlock, names_class: np.ndarray) -> Votes:
    """Return the votes of one block; an answer that names no class is no vote."""
    of_class = names_class.any(axis=0)  # (response,)
    votes = block.votes * of_class
    total = votes.sum(axis=1, keepdims=True)  # (pattern, 1)
    shares = np.where(total > 0, votes / np.maximum(total, 1), of_class / len(names_class))  # (pattern, response)
    shares *= block.weight[:, None]
    answers = (block.answers.T @ shares).reshape(-1, block.n_labels, block.n_labels)
    given = (block.answers.T @ block.weight).reshape(-1, block.n_labels)
    return Votes(shares.sum(axis=0), answers, given)


def count_differing(block: PatternBlock, logs: Sequence[Logs]) -> np.ndarray:
    """Return, for several points, how many items have another most probable class than at the first point."""
    labels = [block.weigh_classes(*each).argmax(axis=1) for each in logs]
    return np.array([block.weight @ (each != labels[0]) for each in labels])


def sum_log_likelihood(block: PatternBlock, log_class: np.ndarray, log_answer: np.ndarray) -> np.ndarray:
    """Return the log likelihood of a block, for one or several draws; see `PatternBlock.weigh_classes`."""
    return block.weight @ sum_classes(block.weigh_classes(log_class, log_answer))


def read_items(model: HasTables, items: Items, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Return p(class | answers) (item, true_class) and log p(answers) (item,)."""
    logs = model.log_probabilities(shares, items.names_class)
    found = [find_posterior(block.weigh_classes(*logs)) for block in items.blocks]
    posterior, log_likelihood = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return posterior[items.pattern], log_likelihood[items.pattern]


def read_log_posterior(items: Items, logs: Logs) -> np.ndarray:
    """Return log p(class | answers), (item, true_class), also where the probability rounds to 1 or 0."""
    joint = np.concatenate([block.weigh_classes(*logs) for block in items.blocks])  # (pattern, true_class)
    with np.errstate(invalid="ignore"):  # for impossible answers
        found: np.ndarray = (joint - sum_classes(joint)[:, None])[items.pattern]
    return found


# ------------------------------------------------------------------------------------------------ where chains start


def votes_of(data: AnnotationData) -> Votes:
    """Return the sums of the majority vote over the items of a table, of comparisons as they were shown."""
    items = make_blocks(data)
    votes, n = items.add_up(count_votes, items.names_class), data.n_annotators
    if not data.has_both_orders:
        return votes
    other = data.exchange[0]
    return Votes(
        votes.shares,
        votes.answers[:n] + votes.answers[n:][:, other][:, :, other],
        votes.given[:n] + votes.given[n:][:, other],
    )


def agreement_with_vote(data: AnnotationData) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of votes for the labels that each annotator gave, and the number of annotations.

    The vote for an annotation is the share of its item's annotations with the same label, including itself.

    Returns
    -------
    array, array of int, shape (annotator,)
    """
    share = data.vote_shares[data.item, data.label]  # (annotation,)
    n_annotations = np.bincount(data.annotator, minlength=data.n_annotators)
    return np.bincount(data.annotator, weights=share, minlength=data.n_annotators), n_annotations


def in_proportion(weights: np.ndarray) -> np.ndarray:
    """Divide by the sum over the last axis, so that it becomes 1."""
    return weights / weights.sum(axis=-1, keepdims=True)
