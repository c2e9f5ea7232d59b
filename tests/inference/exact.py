"""The exact posterior of model B with two labels, by Gauss-Jacobi quadrature.

Under Beta priors the likelihood is a polynomial in the prevalence and in each annotator's two accuracies, of a degree
that the number of answers bounds. A quadrature whose weight is the prior integrates it without error.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import roots_jacobi

if TYPE_CHECKING:
    import bayesanno as ba


@dataclass(frozen=True)
class Exact:
    """Posterior mean and sd of the prevalence (true_class,), confusion (annotator, true_class, response), and p.

    And the mean of the accuracy, prevalence times diagonal, (annotator,).
    """

    prevalence: np.ndarray
    confusion: np.ndarray
    accuracy: np.ndarray
    prevalence_sd: np.ndarray
    confusion_sd: np.ndarray
    probability: np.ndarray  # (item, true_class)


def beta_rule(a: float, b: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in (0, 1) and weights, summing to 1, of the quadrature for a Beta(a, b)."""
    x, weight = roots_jacobi(n, b - 1, a - 1)
    return (x + 1) / 2, weight / weight.sum()


def exact_posterior(
    data: ba.AnnotationData, *, prevalence_prior: float = 3.0, strength: float = 8.0, accuracy: float = 0.6
) -> Exact:
    """Integrate over every parameter of model B; two labels only."""
    assert data.n_labels == 2
    # the moments asked for add two to the degree, and n nodes are exact up to degree 2n - 1
    nodes = {"prevalence": data.n_items // 2 + 2}
    rules = [beta_rule(prevalence_prior, prevalence_prior, nodes["prevalence"])]
    cells = list(product(range(data.n_annotators), range(2)))
    for annotator, _ in cells:
        n_answers = int((data.annotator == annotator).sum())
        rules.append(beta_rule(strength * accuracy, strength * (1 - accuracy), n_answers // 2 + 2))
    grids = np.meshgrid(*(x for x, _ in rules), indexing="ij")
    weights = np.meshgrid(*(w for _, w in rules), indexing="ij")
    prior = np.prod([grid.ravel() for grid in weights], axis=0)  # (point,)
    first = grids[0].ravel()  # (point,), the prevalence of class 0
    right = {cell: grid.ravel() for cell, grid in zip(cells, grids[1:], strict=True)}

    joint = []  # per item (true_class, point)
    for item in range(data.n_items):
        by_class = [first.copy(), 1 - first]
        for annotator, said in zip(data.annotator[data.item == item], data.label[data.item == item], strict=True):
            for truth in (0, 1):
                p = right[annotator, truth]
                by_class[truth] = by_class[truth] * (p if said == truth else 1 - p)
        joint.append(np.stack(by_class))
    likelihood = np.prod([one.sum(axis=0) for one in joint], axis=0)
    posterior = prior * likelihood / (prior * likelihood).sum()  # (point,)

    def moments(values: np.ndarray) -> tuple[float, float]:
        mean = float(posterior @ values)
        return mean, float(np.sqrt(posterior @ values**2 - mean**2))

    mean, sd = moments(first)
    confusion = np.empty((data.n_annotators, 2, 2))
    confusion_sd = np.empty_like(confusion)
    for (annotator, truth), p in right.items():
        own_mean, own_sd = moments(p)
        confusion[annotator, truth, truth], confusion[annotator, truth, 1 - truth] = own_mean, 1 - own_mean
        confusion_sd[annotator, truth] = own_sd
    return Exact(
        prevalence=np.array([mean, 1 - mean]),
        confusion=confusion,
        accuracy=np.array(
            [
                moments(first * right[annotator, 0] + (1 - first) * right[annotator, 1])[0]
                for annotator in range(data.n_annotators)
            ]
        ),
        prevalence_sd=np.array([sd, sd]),
        confusion_sd=confusion_sd,
        # p(class | answers) is itself a ratio: its numerator times the other items' likelihood stays a polynomial
        probability=np.array([posterior @ (one / one.sum(axis=0)).T for one in joint]),
    )
