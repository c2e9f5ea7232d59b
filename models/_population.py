"""A population of MACE's annotators: how competent they are on the whole, how much they differ, and what habits share.

With R responses:

    competence_mean          ~ Beta(1, 1)                       how often somebody knows
    competence_concentration ~ Gamma(2, 1/2)                    4 on average; at 1 most know or spam
    competence_j             ~ Beta(c m, c (1 - m))             m the mean, c the concentration
    strategy_population      ~ Dirichlet(2)                     what is said without looking, on the whole
    strategy_j               ~ Dirichlet(R strategy_prior strategy_population)

How much habits differ is not learnt: those who know give few answers from habit, and a label that nobody gives so makes
that concentration a number that chains do not find their way around (tried: R-hat 1.18 on word senses).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.lazy import pm, pt

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

MEAN = (1.0, 1.0)
CONCENTRATION = (2.0, 0.5)
COMMON = 2.0


def learn_population(strategy_prior: TensorVariable, n_labels: int) -> tuple[TensorVariable, TensorVariable]:
    """Declare the population; return the concentrations of the competence (2,) and of the strategy (response,)."""
    mean = pm.Beta("competence_mean", *MEAN)
    concentration = pm.Gamma("competence_concentration", *CONCENTRATION)
    common = pm.Dirichlet("strategy_population", COMMON * np.ones(n_labels), dims="response")
    return concentration * pt.stack([mean, 1 - mean]), n_labels * strategy_prior * common


def start_population(competence: np.ndarray, given: np.ndarray) -> dict[str, np.ndarray]:
    """Return values near what annotators (annotator,) and all their answers (response,) look like."""
    return {
        "competence_mean": np.array(competence.mean()),
        "competence_concentration": np.array(2.0),
        "strategy_population": (given + 1) / (given + 1).sum(),
    }
