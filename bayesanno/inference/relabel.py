"""Label switching: per draw, the permutation of the classes under which annotators are right most often.

Where prior and likelihood do not change when the classes are permuted (eq. 53 of Rzhetsky et al. 2008), the posterior
has K! copies of every mode and a chain may visit several. Each draw is then read under the permutation pi that
maximises

    F(pi) = sum_x sum_i lambda^x[pi(i), i]                      (56), rule="unweighted"
    sum_x sum_i gamma_pi(i) lambda^x[pi(i), i]                  (55), rule="weighted"

found as an assignment problem, not by trying K! permutations. Nothing is permuted where the prior does tell the classes
apart: a permuted draw would then have another density.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr

if TYPE_CHECKING:
    import xarray

Rule = Literal["unweighted", "weighted"]


def class_permutations(confusion: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the best permutation for each of many sets of confusion matrices.

    Parameters
    ----------
    confusion : array, shape (draw, annotator, true_class, response)
    weight : array, shape (draw, true_class), optional
        The prevalence, for eq. 55; without it eq. 56.

    Returns
    -------
    array of int, shape (draw, true_class)
        `[d, i]` is the class of draw d that is to be called i.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.relabel import class_permutations
    >>> class_permutations(np.array([[[[0.1, 0.9], [0.7, 0.3]]]]))
    array([[1, 0]])
    """
    from scipy.optimize import linear_sum_assignment

    gain = confusion.sum(axis=1).transpose(0, 2, 1)  # (draw, response, true_class)
    if weight is not None:
        gain = gain * weight[:, None, :]
    return np.stack([linear_sum_assignment(one, maximize=True)[1] for one in gain])


def align_classes(posterior: xarray.Dataset, rule: Rule = "unweighted") -> tuple[xarray.Dataset, xarray.DataArray]:
    """Permute the classes of every draw of a posterior, wherever a variable has them.

    Parameters
    ----------
    posterior : xarray.Dataset
        With `confusion` (chain, draw, annotator, true_class, response) and, for "weighted", `prevalence`.
    rule : {"unweighted", "weighted"}
        Eq. 56 or eq. 55.

    Returns
    -------
    xarray.Dataset, xarray.DataArray
        The permuted posterior, and the permutations (chain, draw, true_class): the class of the draw now called so.

    Raises
    ------
    FitError
        If the rule is unknown.
    """
    if rule not in get_args(Rule):
        raise FitError(f"there is no relabelling rule {rule!r}: choose one of {', '.join(get_args(Rule))}")
    confusion = posterior["confusion"].transpose("chain", "draw", "annotator", "true_class", "response").values
    n_chains, n_draws, n_classes = *confusion.shape[:2], confusion.shape[-1]
    weight = None
    if rule == "weighted":
        weight = posterior["prevalence"].transpose("chain", "draw", "true_class").values.reshape(-1, n_classes)
    permutations = class_permutations(confusion.reshape(-1, *confusion.shape[2:]), weight)  # (sample, true_class)
    aligned = posterior.copy()
    for name, variable in posterior.data_vars.items():
        if "true_class" in variable.dims:
            ordered = variable.transpose("chain", "draw", "true_class", ...)
            values = ordered.values.reshape(-1, *ordered.shape[2:])  # (sample, true_class, ...)
            permuted = values[np.arange(len(values))[:, None], permutations].reshape(ordered.shape)
            aligned[name] = ordered.copy(data=permuted).transpose(*variable.dims)
    coords = {dim: posterior[dim].values for dim in ("chain", "draw", "true_class")}
    taken = xr.DataArray(permutations.reshape(n_chains, n_draws, n_classes), dims=tuple(coords), coords=coords)
    return aligned, taken


def compose(first: xarray.DataArray, then: xarray.DataArray) -> xarray.DataArray:
    """Return the permutation that two permutations (chain, draw, true_class), one after the other, amount to."""
    return then.copy(data=np.take_along_axis(first.values, then.values, axis=2))


def share_changed(permutation: xarray.DataArray) -> float:
    """Return the share of draws whose permutation is not the identity."""
    return float((permutation.values != np.arange(permutation.shape[2])).any(axis=2).mean())
