"""Label switching: per draw, the permutation of the classes under which annotators are right most often.

Where prior and likelihood do not change when the classes are permuted (eq. 53 of Rzhetsky et al. 2008), the posterior
has K! copies of every mode and a chain may visit several. Each draw is then read under the permutation pi that
maximises

    F(pi) = sum_x sum_i lambda^x[pi(i), i]                      (56), rule="accuracy"
    sum_x sum_i gamma_pi(i) lambda^x[pi(i), i]                  (55), rule="weighted"

with lambda every variable over true classes and responses (the annotators' confusion matrices, or one for all), found
as an assignment problem, not by trying K! permutations. Nothing is permuted where the prior distinguishes the classes:
a permuted draw would then have another density. Rules that compare draws with each other are in
`bayesanno.inference.relabelling.rules`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.ground.validate import check_choice

Rule = Literal["accuracy", "weighted", "stephens", "pivot"]
MATRIX = {"true_class", "response"}  # the dims of a matrix that says which class is which label
NO_MATRIX = (
    "classes cannot be relabelled: no variable of the posterior has dims true_class and response, which link classes "
    "to labels; fit with relabel=False"
)


def class_permutations(matrices: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the best permutation for each of many sets of matrices of classes.

    Parameters
    ----------
    matrices : array, shape (draw, ..., true_class, response)
        The dimensions between (annotators) are summed over. Responses are the classes, in their order.
    weight : array, shape (draw, true_class), optional
        The prevalence, for eq. 55; without it eq. 56.

    Returns
    -------
    array of int, shape (draw, true_class)
        `[d, i]` is the class of draw d that is to be called i.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.relabelling.align import class_permutations
    >>> class_permutations(np.array([[[[0.1, 0.9], [0.7, 0.3]]]]))
    array([[1, 0]])
    """
    from scipy.optimize import linear_sum_assignment

    gain = matrices.sum(axis=tuple(range(1, matrices.ndim - 2))).transpose(0, 2, 1)  # (draw, response, true_class)
    if weight is not None:
        gain = gain * weight[:, None, :]
    return np.stack([linear_sum_assignment(one, maximize=True)[1] for one in gain])


def require_class_matrices(dims: Iterable[Sequence[Hashable]]) -> None:
    """Raise a FitError unless there is a variable over true classes and responses, given the dims of all variables."""
    if not any(MATRIX <= set(each) for each in dims):
        raise FitError(NO_MATRIX)


def sum_class_matrices(posterior: xr.Dataset) -> xr.DataArray | None:
    """Return the sum of all variables over true classes and responses, over all that they have beside.

    Parameters
    ----------
    posterior : xarray.Dataset
        With dims chain and draw.

    Returns
    -------
    xarray.DataArray or None
        Dims (chain, draw, true_class, response), the responses being the classes in their order: a response that is no
        class is left out, a class that is no response has zeros. None if there is no such variable.
    """
    sums = []
    for variable in posterior.data_vars.values():
        if set(variable.dims) >= MATRIX:
            beside = set(variable.dims) - MATRIX - {"chain", "draw"}
            sums.append(variable.transpose("chain", "draw", *beside, "true_class", "response").sum(beside))
    if not sums:
        return None
    total: xr.DataArray = sum(sums[1:], sums[0])
    if "response" in total.coords:  # without names, responses are the classes
        total = total.reindex(response=total["true_class"].values, fill_value=0.0)
    return total


def find_class_weights(posterior: xr.Dataset) -> xr.DataArray | None:
    """Return the prevalence of the classes, (chain, draw, true_class): the variable that is a distribution over them.

    What else has the one dimension of classes (a concentration for each) does not sum to one.
    """
    for variable in posterior.data_vars.values():
        if set(variable.dims) - {"chain", "draw"} == {"true_class"} and np.allclose(variable.sum("true_class"), 1.0):
            return variable.transpose("chain", "draw", "true_class")
    return None


def check_rule(rule: str, among: Sequence[str] = get_args(Rule)) -> None:
    """Raise a FitError unless a rule is one of these."""
    check_choice(f"there is no relabelling rule {rule!r}", rule, among)


def align_classes(
    posterior: xr.Dataset, rule: Literal["accuracy", "weighted"] = "accuracy"
) -> tuple[xr.Dataset, xr.DataArray]:
    """Permute the classes of every draw of a posterior, wherever a variable has them, each draw by itself.

    Parameters
    ----------
    posterior : xarray.Dataset
        With a variable over true_class and response (such as `confusion`) and, for "weighted", a distribution over
        true_class (such as `prevalence`); dims chain and draw.
    rule : {"accuracy", "weighted"}
        Eq. 56 or eq. 55.

    Returns
    -------
    xarray.Dataset, xarray.DataArray
        The permuted posterior, and the permutations (chain, draw, true_class): the class of the draw now called so.

    Raises
    ------
    FitError
        If the rule is unknown, or the posterior lacks the variables that it needs.
    """
    check_rule(rule, ("accuracy", "weighted"))
    matrices = sum_class_matrices(posterior)
    if matrices is None:
        raise FitError(NO_MATRIX)
    n_classes = matrices.shape[2]
    weight = None
    if rule == "weighted":
        weights = find_class_weights(posterior)
        if weights is None:
            raise FitError(
                'the rule "weighted" needs the prevalence of the classes, and no variable of the posterior is a '
                'distribution over true_class: take the rule "accuracy"'
            )
        weight = weights.values.reshape(-1, n_classes)
    permutations = class_permutations(matrices.values.reshape(-1, n_classes, n_classes), weight)  # (sample, true_class)
    return permute_classes(posterior, permutations)


def permute_classes(posterior: xr.Dataset, permutations: np.ndarray) -> tuple[xr.Dataset, xr.DataArray]:
    """Permute the classes of every draw, wherever a variable has them.

    Parameters
    ----------
    posterior : xarray.Dataset
    permutations : array of int, shape (sample, true_class)
        `[d, i]` is the class of draw d that is to be called i; the draws chain after chain.

    Returns
    -------
    xarray.Dataset, xarray.DataArray
        The permuted posterior, and the permutations (chain, draw, true_class).
    """
    aligned = posterior.copy()
    for name, variable in posterior.data_vars.items():
        if "true_class" in variable.dims:
            ordered = variable.transpose("chain", "draw", "true_class", ...)
            values = ordered.values.reshape(-1, *ordered.shape[2:])  # (sample, true_class, ...)
            permuted = values[np.arange(len(values))[:, None], permutations].reshape(ordered.shape)
            aligned[name] = ordered.copy(data=permuted).transpose(*variable.dims)
    coords = {dim: posterior[dim].values for dim in ("chain", "draw", "true_class")}
    shape = [values.size for values in coords.values()]
    return aligned, xr.DataArray(permutations.reshape(shape), dims=tuple(coords), coords=coords)


def compose(first: xr.DataArray, then: xr.DataArray) -> xr.DataArray:
    """Return the permutation that two permutations (chain, draw, true_class), one after the other, amount to."""
    return then.copy(data=np.take_along_axis(first.values, then.values, axis=2))


def share_changed(permutation: xr.DataArray) -> float:
    """Return the share of draws whose permutation is not the identity."""
    return float((permutation.values != np.arange(permutation.shape[2])).any(axis=2).mean())
