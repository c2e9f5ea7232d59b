"""Chains beside each other, and the modes uphill of their draws: which chains share a mode of the posterior."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bayesanno._core.lazy import azs, xr
from bayesanno.inference.diagnosis.thresholds import UNLIKELY
from bayesanno.inference.relabelling import class_permutations, sum_class_matrices

N_DRAWS_CHECKED = 5  # draws of each chain whose modes are found, if there are several modes
FAR = 3.0  # within-chain standard deviations of the log density between two modes
EQUAL_MEANS = 5.0  # most Monte Carlo standard errors between the means of chains in one mode, of any parameter


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


def find_equal_chains(posterior: xr.Dataset, log_density: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the pairs of chains whose means of all parameters and of the log density agree within Monte Carlo error."""
    values = posterior.assign(log_density=(("chain", "draw"), log_density))
    chains = [values.isel(chain=[chain]) for chain in range(values.sizes["chain"])]
    means = [_as_vector(one.mean(("chain", "draw"))) for one in chains]
    errors = [np.nan_to_num(_as_vector(azs.mcse(one, method="mean"))) for one in chains]  # 0 for constants
    for one, other in combinations(range(len(chains)), 2):
        if (np.abs(means[one] - means[other]) <= EQUAL_MEANS * np.hypot(errors[one], errors[other])).all():
            yield one, other


def _as_vector(values: xr.Dataset) -> np.ndarray:
    return np.concatenate([np.ravel(one) for one in values.data_vars.values()])


def join_groups(groups: Sequence[Sequence[int]], together: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return groups of chains, joined if chains of both are together.

    Examples
    --------
    >>> from bayesanno.inference.modes.chains import join_groups
    >>> join_groups([[0], [2, 3], [1]], [[0, 1], [2]])
    [[0, 1], [2, 3]]
    """
    joined = [list(group) for group in groups]
    for chains in together:
        touching = [group for group in joined if not set(group).isdisjoint(chains)]
        for group in touching[1:]:
            touching[0] += group
            joined.remove(group)
    return joined


def choose_draws(n_draws: int, n_checked: int = N_DRAWS_CHECKED) -> np.ndarray:
    """Return the draws of a chain to examine, the last one first."""
    return np.linspace(n_draws - 1, 0, n_checked).round().astype(int)


def count_enough(probability: float) -> int:
    """Return the number of draws among which it is unlikely that none is in a mode with this probability."""
    return math.ceil(math.log(UNLIKELY) / math.log1p(-probability))


def choose_blocks(n_draws: int, n_checked: int) -> list[np.ndarray]:
    """Return more draws of a chain to examine, in blocks that each span the whole chain."""
    every = np.unique(choose_draws(n_draws, n_checked))
    n_blocks = math.ceil(every.size / N_DRAWS_CHECKED)
    return [every[at::n_blocks] for at in range(n_blocks)]


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
