"""Chains beside each other, and the modes uphill of their draws: which chains share a mode of the posterior."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno.inference.relabelling import class_permutations, sum_class_matrices

N_DRAWS_CHECKED = 5  # draws of each chain whose modes are found, if there are several modes
FAR = 3.0  # within-chain standard deviations of the log density between two modes


def compare_chains(posterior: xr.Dataset, log_density: np.ndarray, competence: str | None = None) -> dict[str, Any]:
    """Compare the chains of a fit: log density, preferred permutation of the classes, and mean competence.

    Classes are compared by the variables over true_class and response, if there are any. The parameters are those of
    `record_modes`.

    Returns
    -------
    dict
        `log_density`: the mean of each chain, in nats. `groups`: the chains of each mode, the best mode first, and in
        each mode the chain with the highest density first.
    """
    height = log_density.mean(axis=1)  # (chain,)
    measures = [(height, float(np.sqrt(log_density.var(axis=1).mean())))]  # of each chain, with the sd within chains
    if competence is not None:
        beside = [dim for dim in posterior[competence].dims if dim not in ("chain", "draw")]
        level = posterior[competence].mean(beside)
        measures.append((level.mean("draw").values, float(np.sqrt(level.var("draw").mean()))))
    preferred = find_preferred_classes(posterior)

    def share_a_mode(one: int, other: int) -> bool:
        is_near = all(abs(values[one] - values[other]) <= FAR * sd for values, sd in measures)
        return is_near and (preferred is None or bool((preferred[one] == preferred[other]).all()))

    groups: list[list[int]] = []
    for chain in np.argsort(-height, kind="stable").tolist():
        group = next((group for group in groups if share_a_mode(chain, group[0])), None)
        if group is None:
            groups.append([chain])
        else:
            group.append(chain)
    return {"log_density": height.tolist(), "groups": groups}


def choose_draws(n_draws: int, n_checked: int = N_DRAWS_CHECKED) -> np.ndarray:
    """Return the draws of a chain to examine, the last one first."""
    return np.linspace(n_draws - 1, 0, n_checked).round().astype(int)


def mode_of_chain(by_draw: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the most frequent mode of each chain, and the chains in several modes, from those of draws (chain, draw).

    The mode is -1 if it is unknown. Of equally frequent modes, that of the first draw is returned.
    """
    most_frequent = [int(Counter(modes.tolist()).most_common(1)[0][0]) for modes in by_draw]
    return most_frequent, [chain for chain, modes in enumerate(by_draw) if np.unique(modes[modes >= 0]).size > 1]


def find_preferred_classes(posterior: xr.Dataset) -> np.ndarray | None:
    """Return the best permutation for each chain, (chain, true_class); None without matrices of classes."""
    matrices = sum_class_matrices(posterior)
    return None if matrices is None else class_permutations(matrices.mean("draw").values)
