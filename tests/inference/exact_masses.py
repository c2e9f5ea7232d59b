"""Small tables whose posterior under model B has several modes, with the exact mass of each.

Given the labels of ten items, everything else is conjugate, so the probability of each of the 2^10 labellings is exact
(Dirichlet-multinomial). Parameters are drawn given labels, and an ascent from each draw ends in the mode that the draw
belongs to: the share of draws is the mass. The ascents are of the density of log odds, whose fixed point is that of EM
with one more prior answer in each cell.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from scipy.special import betaln, logsumexp

import bayesanno as ba
from tests.inference.answers import data_of

N_ITEMS = 10
OF_ANSWER, OF_CLASS = 4.0, 3.0  # the concentrations of ModelB(confusion_accuracy=0.5)
SEEDS = (248, 238, 244, 239, 254, 204)
LEAST = 0.01  # mass of a mode that counts
SAME = 0.02  # largest difference of any item's probability within a mode


def said(seed: int) -> np.ndarray:
    """The answers of a table, 0 or 1, (item, annotator): all annotators are better for one class than for the other."""
    rng = np.random.default_rng(seed)
    n_annotators = (5, 8, 12, 20, 30)[seed % 5]
    truth = rng.integers(0, 2, N_ITEMS)
    rng.random(n_annotators)
    accuracies = rng.beta(5, 2, n_annotators), rng.beta(3, 3, n_annotators)
    right = rng.random((N_ITEMS, n_annotators)) < np.where(truth[:, None] == 0, *accuracies)
    return np.where(right, truth[:, None], 1 - truth[:, None])


def data(seed: int) -> ba.AnnotationData:
    return data_of(said(seed), ("no", "yes"))


def draw_exactly(seed: int, n_draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws of the labels (draw, item), of p(class 1) (draw,), and of p(answer 1 | class) (draw, class, annotator)."""
    answers, rng = said(seed), np.random.default_rng(seed)
    labels = np.array(list(itertools.product((0, 1), repeat=N_ITEMS)))
    ones = labels.sum(axis=1)
    of_class = np.stack([labels == 0, labels == 1], axis=1).astype(float)  # (labelling, class, item)
    yes, n = of_class @ answers, of_class.sum(axis=2)[:, :, None]  # (labelling, class, annotator)
    log_p = betaln(OF_CLASS + ones, OF_CLASS + N_ITEMS - ones)
    log_p = log_p + betaln(OF_ANSWER + yes, OF_ANSWER + n - yes).sum(axis=(1, 2))
    at = rng.choice(len(labels), n_draws, p=np.exp(log_p - logsumexp(log_p)))
    prevalence = rng.beta(OF_CLASS + ones[at], OF_CLASS + N_ITEMS - ones[at])
    return labels[at], prevalence, rng.beta(OF_ANSWER + yes[at], OF_ANSWER + n[at] - yes[at])


def ascend(answers: np.ndarray, prevalence: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The probability that each item has the class of the first, (draw, item), at the modes uphill of draws."""
    for _ in range(20_000):
        log_one = np.log(prevalence)[:, None] + (
            np.log(rates[:, 1]) @ answers.T + np.log1p(-rates[:, 1]) @ (1 - answers).T
        )
        log_zero = np.log1p(-prevalence)[:, None] + (
            np.log(rates[:, 0]) @ answers.T + np.log1p(-rates[:, 0]) @ (1 - answers).T
        )
        one = np.exp(log_one - np.logaddexp(log_one, log_zero))  # (draw, item)
        p = np.stack([1 - one, one], axis=1)  # (draw, class, item)
        n = p.sum(axis=2)
        before, rates = rates, (p @ answers + OF_ANSWER) / (n[:, :, None] + 2 * OF_ANSWER)
        prevalence = (n[:, 1] + OF_CLASS) / (N_ITEMS + 2 * OF_CLASS)
        if np.abs(rates - before).max() < 1e-9:
            break
    return np.where(one[:, :1] > 0.5, one, 1 - one)


@cache
def exact_masses(seed: int) -> tuple[float, ...]:
    """The masses of the modes, the largest first, from 2,000 draws."""
    _, prevalence, rates = draw_exactly(seed, 2_000)
    ends = ascend(said(seed), prevalence, rates)
    masses = []
    while len(ends):
        same = np.abs(ends - ends[0]).max(axis=1) < SAME
        masses.append(float(same.sum()) / 2_000)
        ends = ends[~same]
    return tuple(sorted((mass for mass in masses if mass >= LEAST), reverse=True))


@cache
def exact_labels(seed: int) -> np.ndarray:
    """The probability of class 1 of each item, (item,), with the classes of each draw named by eq. 56."""
    labels, _, rates = draw_exactly(seed, 50_000)
    turned = (rates[:, 1] - rates[:, 0]).sum(axis=1) < 0  # the diagonals of the matrices are 1 - rates[0] and rates[1]
    return np.where(turned[:, None], 1 - labels, labels).mean(axis=0)
