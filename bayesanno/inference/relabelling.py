"""Label switching: permutations of the classes of each draw, by several rules.

If prior and likelihood do not change when the classes are permuted (eq. 53 of Rzhetsky et al. 2009), the posterior has
K! copies of every mode, and a chain may visit several. A rule chooses one permutation pi for each draw. Two rules treat
each draw separately: they maximise

    "accuracy"   F(pi) = sum_x sum_i lambda^x[pi(i), i]                                (56)
    "weighted"   sum_x sum_i gamma_pi(i) lambda^x[pi(i), i]                            (55)

where lambda are all variables over true classes and responses: the annotators' confusion matrices, or one for all. The
sum of (55) is how often annotators are right, so that they are right most often under "weighted". That of (56) counts
all classes alike, whether frequent or rare, and needs no prevalence. If annotators are hardly better than chance, or
worse for some class, similar draws may get different names in this way.
Two other rules therefore compare draws. They leave open what the classes are called; eq. 56 then decides it once for
all draws.

"stephens"  makes the items' class probabilities agree (Stephens 2000, his algorithm for classification). Let p_t[i, k]
            be the probability that item i is of class k in draw t, and q the mean of the permuted p over draws. Draw t
            takes the permutation pi that minimises the Kullback-Leibler divergence

                sum_i sum_k p_t[i, pi(k)] log(p_t[i, pi(k)] / q[i, k]);

            then q is averaged again, until no draw changes. Every step lowers the sum over draws.
"pivot"     brings each draw close to one draw, the pivot (Marin, Mengersen and Robert 2005). The permutation minimises
            the squared distance between the class matrices of the two draws, annotator by annotator. Only matrices are
            compared: they are probabilities on one scale, need no pass over the items, and can come from another fit.
            Other variables with classes, such as a concentration, would outweigh them.

Every permutation is found as an assignment problem, without trying all K!. Nothing is permuted if the prior
distinguishes the classes, since a permuted draw would have another density.

The invariant: a permutation says which class of a draw is to be called i, as everywhere in this package.

References
----------
M. Stephens (2000), Dealing with label switching in mixture models, Journal of the Royal Statistical Society B 62,
795-809, doi:10.1111/1467-9868.00265.
J.-M. Marin, K. Mengersen and C. P. Robert (2005), Bayesian modelling and inference on mixtures of distributions,
Handbook of Statistics 25, 459-507, doi:10.1016/S0169-7161(05)25016-2.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import FitError
from bayesanno._core.validate import check_choice
from bayesanno.fits.view import FitView
from bayesanno.modeling.arguments import Discrete
from bayesanno.modeling.posterior import compile_formula

Rule = Literal["accuracy", "weighted", "stephens", "pivot"]
MATRIX = {"true_class", "response"}  # the dims of a matrix that links classes to labels
NO_MATRIX = (
    "classes cannot be relabelled: no variable of the posterior has dims true_class and response, which link classes "
    "to labels; fit with relabel=False"
)
MAX_ROUNDS = 100  # of Stephens' iteration, which usually takes a few
MAX_BYTES = 512 * 2**20  # of class probabilities in memory: with more items, evenly spaced ones are used


def class_permutations(matrices: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the best permutation of the classes for each draw.

    Parameters
    ----------
    matrices : array, shape (draw, ..., true_class, response)
        Matrices that are summed over the dimensions between (annotators). Responses are the classes, in their order.
    weight : array, shape (draw, true_class), optional
        The prevalence, for eq. 55; without it, eq. 56 is used.

    Returns
    -------
    array of int, shape (draw, true_class)
        `[d, i]` is the class of draw d that is to be called i.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.relabelling import class_permutations
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
    """Return the sum of all variables over true classes and responses, summed over their other dimensions.

    Parameters
    ----------
    posterior : xarray.Dataset
        With dims chain and draw.

    Returns
    -------
    xarray.DataArray or None
        Dims (chain, draw, true_class, response), where responses are the classes in their order: responses that are
        not classes are left out, and classes that are not responses have zeros. None if there is no such variable.
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
    """Return the prevalence of the classes, (chain, draw, true_class): a distribution over the classes.

    Other variables with this one dimension, such as concentrations, do not sum to one.
    """
    for variable in posterior.data_vars.values():
        if set(variable.dims) - {"chain", "draw"} == {"true_class"} and np.allclose(variable.sum("true_class"), 1.0):
            return variable.transpose("chain", "draw", "true_class")
    return None


def align_classes(
    posterior: xr.Dataset, rule: Literal["accuracy", "weighted"] = "accuracy"
) -> tuple[xr.Dataset, xr.DataArray]:
    """Permute the classes in all variables of a posterior, each draw separately.

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
        If the rule is unknown, or the posterior lacks the variables for it.
    """
    check_choice(f"there is no relabelling rule {rule!r}", rule, ("accuracy", "weighted"))
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
    """Permute the classes of every draw in all variables.

    Parameters
    ----------
    posterior : xarray.Dataset
    permutations : array of int, shape (sample, true_class)
        `[d, i]` is the class of draw d that is to be called i; draws are ordered by chain.

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
    """Return the result of two permutations (chain, draw, true_class) in sequence."""
    return then.copy(data=np.take_along_axis(first.values, then.values, axis=2))


def share_changed(permutation: xr.DataArray) -> float:
    """Return the share of draws whose permutation is not the identity."""
    return float((permutation.values != np.arange(permutation.shape[2])).any(axis=2).mean())


# ------------------------------------------------------------------------------------------------------ a whole fit


def align_fit(
    view: FitView, rule: Rule, reference: Mapping[str, Any] | xr.Dataset | None = None
) -> tuple[xr.Dataset, xr.DataArray]:
    """Permute the classes of every draw of a fit by a rule.

    Parameters
    ----------
    view : FitView
        Of a fit whose classes are exchangeable.
    rule : {"accuracy", "weighted", "stephens", "pivot"}
    reference : mapping or xarray.Dataset, optional
        The pivot.

    Returns
    -------
    xarray.Dataset, xarray.DataArray
        As `align_classes`.

    Raises
    ------
    FitError
        If the rule is unknown or takes no reference, or the fit or the reference lacks its inputs.
    """
    check_choice(f"there is no relabelling rule {rule!r}", rule, get_args(Rule))
    if reference is not None and rule != "pivot":
        raise FitError(f'a reference is for the rule "pivot", and the rule is "{rule}": leave it out')
    if rule == "stephens":
        permutations = _by_probabilities(view)
    elif rule == "pivot":
        permutations = _by_pivot(view, reference)
    else:
        return align_classes(view.posterior, rule)
    return permute_classes(view.posterior, permutations)


# ---------------------------------------------------------------------------------------------- all draws together


def _by_probabilities(view: FitView) -> np.ndarray:
    posterior, (latent, *others) = view.posterior, view.model.latents(view.data)
    if others or not isinstance(latent, Discrete) or len(latent.states) != posterior.sizes["true_class"]:
        raise FitError(
            f'the rule "stephens" compares the probabilities of the classes, and {view.model.name} has no '
            'single latent whose states are its classes: take the rule "accuracy"'
        )
    formula = compile_formula(view.model, view.data, posterior, view.known)
    n_samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    n_kept = int(MAX_BYTES // (8 * n_samples * len(latent.states)))
    n_patterns = formula.patterns.n_patterns
    kept = np.unique(np.linspace(0, n_patterns - 1, min(n_patterns, max(1, n_kept))).round().astype(int))  # (pattern,)
    probability = np.empty((n_samples, kept.size, len(latent.states)))  # (sample, pattern, class)
    for sample, one in enumerate(formula.evaluate()):
        probability[sample] = one.probability[latent.name][kept]
    n_items = np.bincount(formula.patterns.of_item, minlength=n_patterns)[kept]  # (pattern,)
    _, start = align_classes(posterior)
    found = minimise_divergence(probability, n_items, start.values.reshape(n_samples, -1))
    return _name_classes(posterior, found)


def minimise_divergence(probability: np.ndarray, n_items: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the permutations by Stephens' algorithm.

    Parameters
    ----------
    probability : array, shape (sample, pattern, class)
        The class probabilities of each set of equal items, in each draw.
    n_items : array, shape (pattern,)
        The number of items in each set.
    start : array of int, shape (sample, class)
        The initial permutations; the algorithm finds the nearest minimum.

    Returns
    -------
    array of int, shape (sample, class)
        `[t, k]` is the class of draw t that is to be called k.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.relabelling import minimise_divergence
    >>> p = np.array([[[0.9, 0.1]], [[0.8, 0.2]], [[0.2, 0.8]]])  # one item, three draws
    >>> minimise_divergence(p, np.array([1]), np.array([[0, 1]] * 3)).tolist()
    [[0, 1], [0, 1], [1, 0]]
    """
    found, samples = start, np.arange(len(probability))
    for _ in range(MAX_ROUNDS):
        means = [probability[samples, :, found[:, k]].mean(axis=0) for k in range(found.shape[1])]
        log_q = np.log(np.maximum(np.stack(means, axis=1), np.finfo(float).tiny))  # (pattern, called)
        gain = probability.transpose(0, 2, 1) @ (n_items[:, None] * log_q)  # (sample, class, called); p log p is fixed
        before, found = found, _assign(gain.transpose(0, 2, 1), found)
        if (found == before).all():
            break
    return found


def _assign(gain: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the best assignment for each gain (sample, called, class), or the earlier one if none is better."""
    from scipy.optimize import linear_sum_assignment

    found = np.stack([linear_sum_assignment(one, maximize=True)[1] for one in gain])  # (sample, called)
    worth, worth_before = (
        np.take_along_axis(gain, order[..., None], axis=2).sum(axis=(1, 2)) for order in (found, before)
    )
    better = worth > worth_before + 1e-12 * np.abs(worth_before)
    return np.where(better[:, None], found, before)


def _name_classes(posterior: xr.Dataset, permutations: np.ndarray) -> np.ndarray:
    """Name the classes, which now agree between draws, by eq. 56 over all draws."""
    matrices = sum_class_matrices(permute_classes(posterior, permutations)[0])
    if matrices is None:
        raise FitError(NO_MATRIX)
    (names,) = class_permutations(matrices.mean(("chain", "draw")).values[None])
    return permutations[:, names]


# ------------------------------------------------------------------------------------------------------- one draw


def _by_pivot(view: FitView, reference: Mapping[str, Any] | xr.Dataset | None) -> np.ndarray:
    posterior = view.posterior
    matrices = {str(name): one for name, one in posterior.data_vars.items() if set(one.dims) >= MATRIX}
    if not matrices:
        raise FitError(NO_MATRIX)
    ordered = {name: one.transpose("chain", "draw", ..., "true_class", "response") for name, one in matrices.items()}
    if reference is None:
        log_density = view.tree["sample_stats"]["lp"].transpose("chain", "draw").values
        chain, draw = np.unravel_index(np.argmax(log_density), log_density.shape)
        best = posterior.isel(chain=[chain], draw=[draw])
        reference = align_classes(best)[0]  # named so that its annotators are right
    gain: Any = 0.0
    for name, matrix in ordered.items():
        pivot = _read_pivot(reference, matrix.rename(name))
        values = matrix.values.reshape(-1, *pivot.shape)  # (sample, annotator, class, response)
        gain = gain + np.einsum("akr,salr->skl", pivot, values, optimize=True)  # (sample, called, class)
    return np.stack([_assign(one[None], np.arange(one.shape[1])[None])[0] for one in gain])


def _read_pivot(reference: Any, matrix: xr.DataArray) -> np.ndarray:
    """Return a reference's matrices, (annotator, class, response), in the order of those of the fit."""
    given = reference.to_dataset() if isinstance(reference, xr.DataTree) else reference
    if matrix.name not in given:
        raise FitError(f"the reference has no {matrix.name}, by which classes are compared: give one complete draw")
    own, value = matrix.isel(chain=0, draw=0, drop=True), given[matrix.name]
    if isinstance(value, xr.DataArray):
        n_draws = int(np.prod([value.sizes.get(dim, 1) for dim in ("chain", "draw")]))
        if n_draws != 1:
            raise FitError(f"the reference has {n_draws} draws of {matrix.name}: give one, as posterior.isel(...)")
        value = value.squeeze([dim for dim in ("chain", "draw") if dim in value.dims], drop=True)
        if set(value.dims) == set(own.dims):
            value = value.transpose(*own.dims)
            missing = [dim for dim in own.dims if not set(own[dim].values) <= set(value[dim].values)]
            if missing:
                raise FitError(f"{matrix.name} in the reference lacks some of the dimension {missing[0]} of the fit")
            value = value.sel({dim: own[dim].values for dim in own.dims})
    values = np.asarray(value, dtype=float)
    if values.shape != own.shape:
        raise FitError(f"{matrix.name} has shape {values.shape} in the reference and {own.shape} in the fit")
    return values.reshape(-1, *own.shape[-2:])
