"""Chains beside each other, and the modes uphill of their draws: which chains share a mode of the posterior."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.running import track
from bayesanno.inference.modes.search import Modes
from bayesanno.inference.relabelling import class_permutations, sum_class_matrices

N_CHECKED = 5  # draws of each chain whose modes are found, if there are several modes
FAR = 3.0  # within-chain standard deviations of the log density between two modes


def compare_chains(posterior: xr.Dataset, log_density: np.ndarray, competence: str | None = None) -> dict[str, Any]:
    """Compare the chains of a fit: log density, preferred permutation of the classes, and mean competence.

    Classes are compared by the variables over true_class and response, if there are any. The parameters are those of
    `record_modes`.

    Returns
    -------
    dict
        `log_density`: the mean of each chain, in nats. `groups`: the chains of each mode, the best mode first, and in
        each mode the chain with the highest density first. `others`: one entry for each chain outside the best mode,
        with `chain` and `nats_lower`; `classes` (name there -> name it stands for) if its classes are permuted; and
        `competence`, the mean in this chain and in the best one, if its annotators are far better or worse.
    """
    mean = log_density.mean(axis=1)  # (chain,)
    sd = float(np.sqrt(log_density.var(axis=1).mean()))  # within chains
    preferred = find_preferred_classes(posterior)
    level, level_sd = np.zeros(mean.size), 0.0  # mean competence in each chain, and its spread within a chain
    if competence is not None:
        beside = [dim for dim in posterior[competence].dims if dim not in ("chain", "draw")]
        overall = posterior[competence].mean(beside)
        level, level_sd = overall.mean("draw").values, float(np.sqrt(overall.var("draw").mean()))

    def differs(chain: int, leader: int) -> tuple[bool, bool, bool]:
        """Return whether two chains differ in their classes, in their annotators, and in their density."""
        permuted = preferred is not None and (preferred[chain] != preferred[leader]).any()
        shifted = abs(level[chain] - level[leader]) > FAR * level_sd
        return bool(permuted), bool(shifted), bool(mean[leader] - mean[chain] > FAR * sd)

    groups: list[list[int]] = []
    for chain in np.argsort(-mean, kind="stable").tolist():
        home = next((group for group in groups if not any(differs(chain, group[0]))), None)
        if home is None:
            groups.append([chain])
        else:
            home.append(chain)
    best = groups[0][0]
    others = []
    for chain in sorted(set(range(mean.size)) - set(groups[0])):
        permuted, shifted, _ = differs(chain, best)
        other: dict[str, Any] = {"chain": chain, "nats_lower": float(mean[best] - mean[chain])}
        if permuted and preferred is not None:
            other["classes"] = name_swapped(posterior, preferred[best], preferred[chain])
        if shifted:
            other["competence"] = [float(level[chain]), float(level[best])]
        others.append(other)
    return {"log_density": mean.tolist(), "groups": groups, "others": others}


def choose_draws(n_draws: int, n_checked: int = N_CHECKED) -> np.ndarray:
    """Return the draws of a chain to examine, the last one first."""
    return np.linspace(n_draws - 1, 0, n_checked).round().astype(int)


def ascend_from_draws(modes: Modes, points: np.ndarray, *, show: bool = False) -> tuple[Modes, np.ndarray]:
    """Ascend from draws (chain, draw, dimension): return all modes, and the group of each draw, -1 if unknown."""
    places = []
    for at in track(range(points.shape[1]), "finding the modes of chains", show=show):
        modes, ended = modes.follow(points[:, at])
        places.append(ended)
    group_of = {-1: -1} | {mode: at for at, group in enumerate(modes.groups) for mode in group}
    return modes, np.array([[group_of[place] for place in ended.tolist()] for ended in places]).T


def assign_chains(by_chain: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the most frequent mode of each chain, and the chains in several modes, from modes (chain, look).

    The mode is -1 if it is unknown. Of equally frequent modes, the one of the first look is returned.
    """
    homes = [int(Counter(ended.tolist()).most_common(1)[0][0]) for ended in by_chain]
    return homes, [chain for chain, ended in enumerate(by_chain) if np.unique(ended[ended >= 0]).size > 1]


def name_swapped(posterior: xr.Dataset, best: np.ndarray, other: np.ndarray) -> dict[str, str]:
    """Return which class stands for which in a chain, given its permutation and that of the best chain."""
    names = [str(name) for name in posterior["true_class"].values]
    return {names[there]: names[here] for here, there in zip(best, other, strict=True) if here != there}


def find_preferred_classes(posterior: xr.Dataset) -> np.ndarray | None:
    """Return the best permutation for each chain, (chain, true_class); None without matrices of classes."""
    matrices = sum_class_matrices(posterior)
    return None if matrices is None else class_permutations(matrices.mean("draw").values)
