"""Rules of relabelling for a whole fit: by each draw alone, by all draws together, or by one draw.

The rules of `bayesanno.inference.relabelling.align` ask of every draw by itself under which names annotators are right
most often. Where annotators are hardly better than chance, or worse for some class, draws that say the same can so come
by different names. Two rules compare draws with each other instead; both find each draw's permutation as an assignment
problem, and both leave open which names the classes have, which eq. 56 then settles once for all draws.

"stephens"  makes the items' class probabilities agree (Stephens 2000, his algorithm for classification): with
            p_t[i, k] the probability, in draw t, that item i is of class k, and q their mean over draws as permuted so
            far, draw t takes the permutation pi that minimises the Kullback-Leibler divergence

                sum_i sum_k p_t[i, pi(k)] log(p_t[i, pi(k)] / q[i, k]);

            then q is averaged again, until no draw changes. Every step lowers the sum over draws.
"pivot"     brings each draw as near as can be to one draw, the pivot (Marin, Mengersen and Robert 2005): the
            permutation minimises the squared distance between both draws' matrices of classes, annotator by annotator.
            Of the matrices, because they are probabilities on one scale, need no pass over the items, and can be
            compared with those of another fit; what else has classes (a concentration) would outweigh them.

The invariant: a permutation says which class of a draw is to be called i, as everywhere in this package.

References
----------
M. Stephens (2000), Dealing with label switching in mixture models, Journal of the Royal Statistical Society B 62,
795-809, doi:10.1111/1467-9868.00265.
J.-M. Marin, K. Mengersen and C. P. Robert (2005), Bayesian modelling and inference on mixtures of distributions,
Handbook of Statistics 25, 459-507, doi:10.1016/S0169-7161(05)25016-2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.inference.relabelling.align import (
    MATRIX,
    NO_MATRIX,
    Rule,
    align_classes,
    check_rule,
    class_permutations,
    permute_classes,
    sum_class_matrices,
)
from bayesanno.modeling.capabilities import latents
from bayesanno.modeling.posterior import compile_formula

MAX_ROUNDS = 100  # of Stephens' iteration; it takes a few
MAX_BYTES = 512 * 2**20  # of class probabilities that are held; of more items, so many that are evenly spaced


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
        If the rule is unknown, does not take a reference, or the fit or the reference lacks what it needs.
    """
    check_rule(rule, get_args(Rule))
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
    posterior, (latent, *others) = view.posterior, latents(view.model, view.data)
    if others or latent.dim != "true_class" or len(latent.states) != posterior.sizes["true_class"]:
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
    """Return the permutations that Stephens' algorithm ends with.

    Parameters
    ----------
    probability : array, shape (sample, pattern, class)
        Of the classes of items that are equal to each other, in each draw.
    n_items : array, shape (pattern,)
        How many items are so.
    start : array of int, shape (sample, class)
        The permutations that it begins with: it finds the minimum that is nearest to them.

    Returns
    -------
    array of int, shape (sample, class)
        `[t, k]` is the class of draw t that is to be called k.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.relabelling.rules import minimise_divergence
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
    """Return the best assignment for each gain (sample, called, class); the one before where none is better."""
    from scipy.optimize import linear_sum_assignment

    found = np.stack([linear_sum_assignment(one, maximize=True)[1] for one in gain])  # (sample, called)
    worth, worth_before = (
        np.take_along_axis(gain, order[..., None], axis=2).sum(axis=(1, 2)) for order in (found, before)
    )
    better = worth > worth_before + 1e-12 * np.abs(worth_before)
    return np.where(better[:, None], found, before)


def _name_classes(posterior: xr.Dataset, permutations: np.ndarray) -> np.ndarray:
    """Give the classes, which are the same in all draws by now, the names of eq. 56 over all draws."""
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
        reference = align_classes(best)[0]  # its names are those under which its annotators are right
    gain: Any = 0.0
    for name, matrix in ordered.items():
        pivot = _read_pivot(reference, matrix.rename(name))
        values = matrix.values.reshape(-1, *pivot.shape)  # (sample, annotator, class, response)
        gain = gain + np.einsum("akr,salr->skl", pivot, values, optimize=True)  # (sample, called, class)
    return np.stack([_assign(one[None], np.arange(one.shape[1])[None])[0] for one in gain])


def _read_pivot(reference: Any, matrix: xr.DataArray) -> np.ndarray:
    """Return a reference's matrices, (annotator, class, response), in the order of the fit's."""
    given = reference.to_dataset() if isinstance(reference, xr.DataTree) else reference
    if matrix.name not in given:
        raise FitError(f"the reference has no {matrix.name}, which the classes are compared by: give one whole draw")
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
                raise FitError(f"the reference's {matrix.name} is of another {missing[0]} than the fit's")
            value = value.sel({dim: own[dim].values for dim in own.dims})
    values = np.asarray(value, dtype=float)
    if values.shape != own.shape:
        raise FitError(f"the reference's {matrix.name} has shape {values.shape}, the fit's is {own.shape}")
    return values.reshape(-1, *own.shape[-2:])
