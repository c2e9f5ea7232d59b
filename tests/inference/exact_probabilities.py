"""The exact probabilities of two modes of model B with two labels, from a sum over all assignments of classes.

Given the classes of the items, the prevalence and the rows of the confusion matrices are independent Beta variables,
and the likelihood is closed. It depends on the classes by few numbers alone, the `counts`: how many items are of class
1, and of these, to how many each annotator said 1. How many of the 2^n assignments have the same counts is itself
counted exactly, item by item; so nothing is left out, whatever the table. Every annotator answers every item once.

Two modes are told apart by a `contrast` of the annotators' accuracies, as of those in whom the modes differ: an
assignment is of the upper mode if the contrast's mean, given its counts, is positive. The probability of assignments
near the border (`border`) tells how sharp the modes are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betaln

import bayesanno as ba
from tests.inference.answers import data_of

N_ITEMS = 40  # of simulated tables
TIE = 1e-12  # a contrast of 0, which rounding may make positive
NEGLIGIBLE = 45.0  # nats below the likeliest counts: all of those less likely are together less than 1e-12


@dataclass(frozen=True)
class ExactModes:
    """What is known exactly of the posterior of a table.

    Attributes
    ----------
    upper : float
        Probability of the assignments whose expected contrast is positive.
    border : float
        Probability of those whose expected contrast is in the middle third between the modes' means.
    """

    upper: float
    border: float

    @property
    def lesser(self) -> float:
        return min(self.upper, 1 - self.upper)


def log_multiplicities(said: np.ndarray) -> np.ndarray:
    """Return the log of how many assignments have each counts, shape (items of class 1 + 1, then of each annotator).

    `said` is 0 or 1, (item, annotator).
    """
    n_items, _ = said.shape
    number = np.zeros((n_items + 1, *(said.sum(axis=0) + 1)))
    number.flat[0] = 1
    for item in said:  # of class 0, as before; or of class 1, and then each number is one up, or as it was
        to = tuple(slice(step, None) for step in (1, *item))
        of = tuple(slice(None, -step if step else None) for step in (1, *item))
        number[to] += number[of].copy()
    assert number.sum() == 2.0**n_items  # exact, up to 2^53
    with np.errstate(divide="ignore"):
        return np.log(number)


def weigh_exactly(said: np.ndarray, contrast: np.ndarray) -> ExactModes:
    """Sum over all assignments of classes, by the prior that model B has by default.

    Parameters
    ----------
    said : array of 0 and 1, shape (item, annotator)
    contrast : array, shape (annotator,)
        The weights of the accuracies' distances from 1/2.
    """
    n_items, n_annotators = said.shape
    right, wrong, even = 8 * 0.6, 8 * 0.4, 3.0  # of the Betas of the accuracies, and of the prevalence
    ones = np.arange(n_items + 1)  # items of class 1
    log_p = log_multiplicities(said)
    log_p += betaln(even + ones, even + n_items - ones).reshape(-1, *(1,) * n_annotators)
    betas = []  # per annotator, of the two classes' accuracies: (class, a or b, items of class 1, hits)
    for j, total in enumerate(said.sum(axis=0).tolist()):
        size, hit = np.meshgrid(ones, np.arange(total + 1), indexing="ij")  # hit: of class 1, and 1 was said
        of_one = right + hit, wrong + size - hit
        of_zero = right + n_items - size - (total - hit), wrong + total - hit
        beta = np.maximum([of_zero, of_one], min(right, wrong))  # of counts that no assignment has, anything
        log_p += betaln(beta[:, 0], beta[:, 1]).sum(axis=0).reshape(_place(log_p.shape, j))
        betas.append(beta)
    some = np.nonzero(log_p > log_p.max() - NEGLIGIBLE)
    p = np.exp(log_p[some] - log_p.max())  # (counts,)
    p /= p.sum()
    n_ones, *hits = some
    share = np.stack([even + n_items - n_ones, even + n_ones]) / (2 * even + n_items)  # the expected prevalence
    found = np.stack([beta[:, :, n_ones, own] for beta, own in zip(betas, hits, strict=True)])
    means = found[:, :, 0] / found.sum(axis=2)  # (annotator, class, counts)
    expected = (share * np.einsum("j,jcn->cn", contrast, means - 0.5)).sum(axis=0)
    above = expected > TIE
    high, low = (float((p * part) @ expected / (p @ part)) for part in (above, ~above))
    between = np.abs(expected - (high + low) / 2) < (high - low) / 6
    return ExactModes(upper=float(p @ above), border=float(p @ between))


def _place(shape: tuple[int, ...], annotator: int) -> tuple[int, ...]:
    """Return the shape of what depends on the size of class 1 and on one annotator's hits."""
    return tuple(n if axis in (0, annotator + 1) else 1 for axis, n in enumerate(shape))


# ----------------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Table:
    """A simulated table of 40 items and four annotators, of two explanations.

    Attributes
    ----------
    kind : {"opposed", "pairs"}
        Opposed: two annotators are mostly right, and two mostly wrong, or the reverse, with the names of the classes
        swapped. Pairs: two annotators go by one property of the items, and two by another, and either may be the class.
    seed : int
        Of the annotators' accuracies and of their answers.
    """

    kind: str
    seed: int

    @property
    def contrast(self) -> np.ndarray:
        """Of the first two annotators and the others."""
        return np.array([0.5, 0.5, -0.5, -0.5])

    def said(self) -> np.ndarray:
        """Return the answers, 0 or 1, (item, annotator)."""
        rng = np.random.default_rng([self.seed, self.kind == "pairs"])
        if self.kind == "pairs":
            accuracy = rng.uniform(0.93, 1, size=4)
            right = rng.integers(2, size=(N_ITEMS, 2))[:, [0, 0, 1, 1]]  # (item, annotator)
        else:
            accuracy = np.concatenate([rng.uniform(0.75, 0.97, size=2), rng.uniform(0.1, 0.4, size=2)])
            right = rng.integers(2, size=N_ITEMS)[:, None]
        return np.where(rng.uniform(size=(N_ITEMS, 4)) < accuracy, right, 1 - right)

    def data(self) -> ba.AnnotationData:
        return data_of(self.said(), ("no", "yes"))


@cache
def weigh_table(table: Table) -> ExactModes:
    return weigh_exactly(table.said(), table.contrast)


# the probability at the border is at most a fiftieth of the lesser mode's
TABLES = (
    *(Table("opposed", seed) for seed in (0, 1, 2, 4, 5, 8, 11, 12, 13, 15, 16, 17, 18, 21, 22, 28)),
    *(Table("pairs", seed) for seed in (0, 6, 10, 21)),
)
