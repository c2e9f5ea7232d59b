"""Populations of annotators. MACE's: how competent they are on the whole, how much they differ, what habits share.

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
    import xarray
    from pytensor.tensor.variable import TensorVariable

MEAN = (1.0, 1.0)
CONCENTRATION = (2.0, 0.5)
COMMON = 2.0
MISNAMED = 2.0  # a class has not the name it should if another label is so many times as common in it


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


def explain_names(population: xarray.DataArray) -> list[str]:
    """Say which classes are called otherwise than by their names, by the typical annotator.

    Parameters
    ----------
    population : xarray.DataArray, dims chain, draw, true_class, response
    """
    typical = population.mean(("chain", "draw"))
    called = []
    for name in typical["true_class"].values.tolist():
        row = typical.sel(true_class=name)
        if float(row.max()) > MISNAMED * float(row.sel(response=name)):
            called.append(f"{name!r} by {str(row.idxmax('response').item())!r} ({float(row.max()):.0%})")
    if not called:
        return []
    return [
        f"the typical annotator calls some classes by other names: {', '.join(called)}; they may not be what their "
        "names say, and the labels of items then are wrong: compare with the votes, or with a fit by model_b; chains "
        "that start near the votes (initvals='vote'), a prior that ties classes to names more firmly "
        "(confusion_spread=0.5) or some known labels (controls) may help"
    ]
