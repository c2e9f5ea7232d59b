"""Chains that ended in different modes of the posterior: which, and how much worse each explains the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.inference.relabelling.align import class_permutations, sum_class_matrices

if TYPE_CHECKING:
    import xarray

MAX_RHAT = 1.01  # of chains that agree; Vehtari et al. 2021, doi:10.1214/20-BA1221
FAR = 3.0  # how many within-chain standard deviations of the log density set two modes apart


def find_chain_modes(
    posterior: xarray.Dataset, log_density: np.ndarray, competence: str | None = None
) -> dict[str, Any]:
    """Compare the chains of a fit: log densities, the permutation of classes each prefers, and how competent all are.

    Parameters
    ----------
    posterior : xarray.Dataset
        The parameters, with dims (chain, draw, ...). Classes are compared by the variables over true_class and
        response, if there are any.
    log_density : array, shape (chain, draw)
        Log density of each draw as the sampler sees it, on the unconstrained scale (`lp` of the sample statistics).
    competence : str, optional
        The variable over annotators that is their competence.

    Returns
    -------
    dict
        `log_density`: each chain's mean, in nats. `groups`: the chains of each mode, the best one's first; in each, the
        chain of greatest density first. `others`: one entry per chain that is not in the mode of the best
        one, with `chain`, `nats_lower` and, where its classes are permuted, `classes` (name there -> name it stands
        for); where its annotators are far better or worse than in the best chain, `competence`: their mean in this
        chain and in that one.
    """
    mean = log_density.mean(axis=1)  # (chain,)
    spread = float(np.sqrt(log_density.var(axis=1).mean()))
    best = int(np.argmax(mean))
    preferred = preferred_classes(posterior)
    levels = _competence_levels(posterior, competence)

    def differences(chain: int, leader: int) -> tuple[bool, bool, bool]:
        """Say in what a chain is in another mode: its classes, its annotators, its density."""
        permuted = preferred is not None and (preferred[chain] != preferred[leader]).any()
        shifted = levels is not None and abs(levels[0][chain] - levels[0][leader]) > FAR * levels[1]
        return bool(permuted), bool(shifted), bool(mean[leader] - mean[chain] > FAR * spread)

    groups: list[list[int]] = []
    for chain in np.argsort(-mean, kind="stable").tolist():
        home = next((group for group in groups if not any(differences(chain, group[0]))), None)
        if home is None:
            groups.append([chain])
        else:
            home.append(chain)
    others = []
    for chain in sorted(set(range(mean.size)) - set(groups[0])):
        permuted, shifted, _ = differences(chain, best)
        other: dict[str, Any] = {"chain": chain, "nats_lower": float(mean[best] - mean[chain])}
        if permuted and preferred is not None:
            other["classes"] = name_swapped(posterior, preferred[best], preferred[chain])
        if shifted and levels is not None:
            other["competence"] = [float(levels[0][chain]), float(levels[0][best])]
        others.append(other)
    return {"log_density": [float(value) for value in mean], "groups": groups, "others": others}


def _competence_levels(posterior: xarray.Dataset, competence: str | None) -> tuple[np.ndarray, float] | None:
    """Return each chain's mean competence over all annotators, shape (chain,), and its spread within a chain."""
    if competence is None:
        return None
    overall = posterior[competence].mean([dim for dim in posterior[competence].dims if dim not in ("chain", "draw")])
    return overall.mean("draw").values, float(np.sqrt(overall.var("draw").mean()))


def name_swapped(posterior: xarray.Dataset, best: np.ndarray, other: np.ndarray) -> dict[str, str]:
    """Return which class stands for which in a chain, given its permutation and the best chain's."""
    names = [str(name) for name in posterior["true_class"].values]
    return {names[there]: names[here] for here, there in zip(best, other, strict=True) if here != there}


def preferred_classes(posterior: xarray.Dataset) -> np.ndarray | None:
    """Return each chain's own best permutation, shape (chain, true_class), if there are matrices of classes."""
    matrices = sum_class_matrices(posterior)
    return None if matrices is None else class_permutations(matrices.mean("draw").values)
