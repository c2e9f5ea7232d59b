"""Recovery of latents: each item's posterior of states, averaged over draws (Rao-Blackwell: no sampling), and draws.

The formula is that of `bayesanno.modeling.likelihood`, compiled as a function of one draw. Items are processed in
chunks, so that memory stays O(item x state), except for the log likelihood.

A new item with answers a is not in the data D of the fit. By Bayes' rule,

    p(parameters | D, a)  ~  p(parameters | D)  p(a | parameters)

so it is represented by draws of p(parameters | D) with weights p(a | parameters). This is importance sampling, with the
old posterior as proposal. The weights are probabilities of discrete answers. Since they are bounded by 1, they have no
heavy tail that smoothing could improve (PSIS: Vehtari et al. 2024, Journal of Machine Learning Research 25(72)). The
remaining danger is that few draws carry all the weight, which the effective number of draws shows (Kong 1992,
University of Chicago, Department of Statistics, Technical Report 348).

The invariant: nothing overflows, however many answers an item has, and weights of 0 give 0, never nan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayesanno._core.chains import measure_mcse
from bayesanno._core.lazy import pt, xr
from bayesanno._core.messages import FitError
from bayesanno.graph.functions import Function, compile_once, stack_samples
from bayesanno.modeling.arguments import (
    ENTROPY,
    LOG_PROBABILITY,
    PROBABILITY,
    PROBABILITY_MCSE,
    Continuous,
    Discrete,
    Parameters,
    average_numbers,
    data_of_latent,
    measure_entropy,
    spread_levels,
)  # fmt: skip
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import weights_of, with_log_class
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.kinds.base import LEVEL_OF_DRAW, ArrayName, Arrays, Patterns, slice_patterns
from bayesanno.modeling.likelihood import index_arrays, patterns_of

Reading = tuple[str, str]  # what is read off: the name of the latent, and what it is
OF_STATES = (PROBABILITY, LOG_PROBABILITY, PROBABILITY_MCSE)
BY_CHAIN = "by_chain"
CHUNK_BYTES = 128 * 2**20  # how much of the states' posterior, over all draws, is in memory at a time


@dataclass(frozen=True)
class Recovered:
    """The posterior of states, averaged over draws.

    Attributes
    ----------
    latents : mapping of str to xarray.Dataset
        For each latent, by name: `probability`, its log `log_probability` and `probability_mcse` (item, state),
        `entropy` (item) in nats; or of a number `mean` and `sd` (item), and `quantile` (item, level); and what the
        model derives.
    log_likelihood : array, shape (chain, draw, item), or None
        Log p(the item's answers | parameters), with the state summed out; None if not requested.
    by_chain : list of xarray.DataArray
        The probability of each item's states in each chain alone, (chain, item, state), for each latent; meaningless
        for weighted draws.
    ess_weights : array, shape (item,)
        For weighted draws, the effective number of draws under the item's weights, with copies of a draw counted once;
        otherwise empty.
    """

    latents: Mapping[str, xr.Dataset]
    log_likelihood: np.ndarray | None
    by_chain: list[xr.DataArray]
    ess_weights: np.ndarray

    @property
    def latent(self) -> xr.Dataset:
        """The results for the only latent."""
        (latent,) = self.latents.values()
        return latent


def recover(
    model: AnnotationModel,
    data: Data,
    posterior: xr.Dataset,
    known: Mapping[str, np.ndarray] | None = None,
    *,
    with_log_likelihood: bool = True,
    weigh_draws: bool = False,
    copies: int = 1,
) -> Recovered:
    """Average p(state | answers, parameters) over the draws of a posterior, in chunks of items.

    Draws have equal weights for items of the fit. New items are informative about the parameters. Their averages use
    draws weighted by p(the item's answers | parameters), which is Bayes' rule for the posterior of the fit's data and
    that one item.

    Parameters
    ----------
    model : AnnotationModel
    data : data of the kind that the model takes
        The data of the fit, or new items with the same annotators.
    posterior : xarray.Dataset
        The parameters, with dims (chain, draw, ...).
    known : mapping of name to array, optional
        Parameters given to the model; by default from these data.
    with_log_likelihood : bool, default True
        Whether to keep the log likelihood of every draw and item.
    weigh_draws : bool, default False
        Whether the items are new to the posterior. If no draw can explain an item's answers (all weights are 0), its
        results are nan, with an effective number of 0.
    copies : int, default 1
        The number of consecutive copies of each draw, each with its own annotators.
    """
    formula = compile_formula(model, data, posterior, known)
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    n_samples, patterns = n_chains * n_draws, formula.patterns
    log_likelihood = np.empty((n_samples, patterns.n_patterns)) if with_log_likelihood else None  # (sample, pattern)
    of = {latent.name: latent for latent in model.latents(data)}
    dims: dict[Reading, tuple[str, ...]] = {}
    for name, latent in of.items():
        dims |= {(name, what): ("item", *own) for what, own in latent.dims.items()}
        if isinstance(latent, Discrete):
            dims[name, BY_CHAIN] = ("item", "chain", latent.dim)
    dims |= formula.derived_dims
    parts: dict[Reading, list[np.ndarray]] = {reading: [] for reading in dims}  # averaged over draws, chunk after chunk
    effective: list[np.ndarray] = []  # numbers of draws, chunk after chunk

    # numbers of an item that are held for all draws
    n_numbers = 1 + sum(
        len(latent.states) if isinstance(latent, Discrete) else 2 + formula.n_levels for latent in of.values()
    )
    if weigh_draws:
        whole, lengths = slice(0, patterns.n_patterns), {dim: len(names) for dim, names in model.coords(data).items()}
        for (name, _), (first, *others) in formula.derived_dims.items():
            n_rows = len(patterns.rows(first, whole, name))
            n_numbers += n_rows * math.prod(lengths.get(dim, 1) for dim in others) // max(1, patterns.n_patterns)
    per_chunk = max(1, int(CHUNK_BYTES // (8 * n_samples * n_numbers)))
    for begin in range(0, patterns.n_patterns, per_chunk):
        chunk = slice(begin, min(begin + per_chunk, patterns.n_patterns))
        log_weight, log_probability, numbers, derived = _evaluate_all(
            formula, chunk, n_samples, keep_derived=weigh_draws
        )
        if log_likelihood is not None:
            log_likelihood[:, chunk] = log_weight
        if weigh_draws:
            weight = normalise_weights(log_weight)  # (sample, pattern)
            effective.append(effective_number(weight, copies))
            for reading, (first, *_) in formula.derived_dims.items():
                each = weight[:, patterns.rows(first, chunk, reading[0])]
                of_draws = derived[reading]  # (sample, row, ...)
                of_draws[each == 0] = 0.0  # what a draw says of answers that it cannot explain may be nan
                parts[reading].append(np.einsum("sr,sr...->r...", each, of_draws) / n_samples)
        else:
            for reading, total in derived.items():
                parts[reading].append(total / n_samples)
        for name, latent in of.items():
            if isinstance(latent, Continuous):
                centre, spread, quantile = numbers[name]
                for what, values in average_numbers(centre, spread, quantile, weight if weigh_draws else None).items():
                    parts[name, what].append(values)
                continue
            logs = log_probability[name]  # (sample, pattern, state)
            log_mean = average_logs(logs, log_weight if weigh_draws else None)
            p = np.exp(logs, out=logs)
            mean, spread = weighted_mean(weight, p) if weigh_draws else (p.sum(axis=0) / n_samples, p)
            by_chain = spread.reshape(n_chains, n_draws, *p.shape[1:])
            for what, values in zip(OF_STATES, (mean, log_mean, measure_mcse(by_chain)), strict=True):
                parts[name, what].append(values)
            parts[name, ENTROPY].append(measure_entropy(mean))
            parts[name, BY_CHAIN].append(by_chain.mean(axis=1).swapaxes(0, 1))  # (pattern, chain, state)

    averaged = {}
    for name, latent in of.items():
        own = {what: of_what for (latent_name, what), of_what in dims.items() if latent_name == name}
        named = data_of_latent(data, latent).coords() | model.coords(data) | latent.coords
        used = {dim for each in own.values() for dim in each} - {"annotation"}  # these have numbers, no names
        joined = {
            what: np.concatenate(parts[name, what])[patterns.expand_to_items(axes[0], name)]
            for what, axes in own.items()
        }
        variables = {what: (axes, joined[what]) for what, axes in own.items()}
        averaged[name] = xr.Dataset(variables, coords={dim: names for dim, names in named.items() if dim in used})
    if log_likelihood is not None:
        log_likelihood = log_likelihood.reshape(n_chains, n_draws, -1).take(patterns.of_item, axis=2)
        if (weights := weights_of(model, data)) is not None:
            log_likelihood = log_likelihood * weights
    return Recovered(
        latents={name: found.drop_vars(BY_CHAIN, errors="ignore") for name, found in averaged.items()},
        log_likelihood=log_likelihood,
        by_chain=[found[BY_CHAIN].transpose("chain", "item", ...) for found in averaged.values() if BY_CHAIN in found],
        ess_weights=np.concatenate(effective)[patterns.of_item] if weigh_draws else np.empty(0),
    )


def _evaluate_all(
    formula: Formula, chunk: slice, n_samples: int, *, keep_derived: bool
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, list[np.ndarray]], dict[Reading, np.ndarray]]:
    """Evaluate a formula for a chunk of patterns in every draw.

    Returns
    -------
    log_likelihood : array, shape (sample, pattern)
    log_probability : dict of str to array, shape (sample, pattern, state)
    numbers : dict of str to list of arrays
        Mean and sd (sample, pattern), and quantiles (sample, pattern, level).
    derived : dict of str to array
        For every draw (sample, ...) if they are to be kept, or else their sums over draws.
    """
    log_likelihood = np.empty((n_samples, chunk.stop - chunk.start))
    log_probability: dict[str, np.ndarray] = {}
    numbers: dict[str, list[np.ndarray]] = {}
    derived: dict[Reading, np.ndarray] = {}
    for sample, one in enumerate(formula.evaluate(chunk)):
        if not sample:
            log_probability = {name: np.empty((n_samples, *logs.shape)) for name, logs in one.log_probability.items()}
            numbers = {name: [np.empty((n_samples, *of.shape)) for of in each] for name, each in one.numbers.items()}
            shapes = {
                name: (n_samples, *each.shape) if keep_derived else each.shape for name, each in one.derived.items()
            }
            derived = {name: np.zeros(shape) for name, shape in shapes.items()}
        log_likelihood[sample] = one.log_likelihood
        for name, logs in one.log_probability.items():
            log_probability[name][sample] = logs
        for name, three in one.numbers.items():
            for held, values in zip(numbers[name], three, strict=True):
                held[sample] = values
        for reading, each in one.derived.items():
            if keep_derived:
                derived[reading][sample] = each
            else:
                derived[reading] += each
    return log_likelihood, log_probability, numbers, derived


def take_draws(posterior: xr.Dataset, n: int) -> xr.Dataset:
    """Return n draws of a posterior, or all if there are fewer, evenly spaced over its chains, as one chain."""
    whole = posterior.stack(sample=("chain", "draw"), create_index=False).transpose("sample", ...)
    at = np.linspace(0, whole.sizes["sample"] - 1, min(n, whole.sizes["sample"])).round().astype(int)
    taken: xr.Dataset = whole.isel(sample=at).drop_vars(["chain", "draw"], errors="ignore").rename_dims(sample="draw")
    return taken.expand_dims("chain")


# -------------------------------------------------------------------------------------------- the formula, compiled


@dataclass(frozen=True)
class Evaluated:
    """What the formula gives for one draw: log p(answers) (item,), posteriors of latents, and what is derived."""

    log_likelihood: np.ndarray
    log_probability: dict[str, np.ndarray]
    numbers: Mapping[str, Sequence[np.ndarray]]
    derived: dict[Reading, np.ndarray]

    @property
    def probability(self) -> dict[str, np.ndarray]:
        """Each latent's posterior, by name."""
        return {name: np.exp(values) for name, values in self.log_probability.items()}


@dataclass(frozen=True)
class Formula:
    """A model's formula, compiled, with data and draws.

    Attributes
    ----------
    patterns : Patterns
        The items of the formula.
    derived_dims : mapping of latent and name to tuple of str
        The dimensions of each derived quantity.
    """

    function: Function
    model: AnnotationModel
    data: Data
    posterior: xr.Dataset
    patterns: Patterns
    arrays: Arrays
    draws: Mapping[str, np.ndarray]  # (sample, ...)
    item_axis: Mapping[str, int]  # of the parameters that items have: where among their axes the items are
    known: Mapping[str, np.ndarray]
    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    derived_dims: Mapping[Reading, tuple[str, ...]]

    @property
    def n_levels(self) -> int:
        """The number of quantiles of each number and draw."""
        return self.draws[LEVEL_OF_DRAW.name].shape[2] if self.continuous else 0

    def with_draws(self, posterior: xr.Dataset) -> Formula:
        """Return the same formula with other draws of the same parameters."""
        return replace(self, posterior=posterior, draws=_stack_draws(self.model, self.data, posterior))

    def evaluate(self, chunk: slice | None = None) -> Iterator[Evaluated]:
        """Evaluate for every draw, for a chunk of patterns or all of them."""
        whole = slice(0, self.patterns.n_patterns) if chunk is None else chunk
        arrays = list(slice_patterns(self.arrays, whole).values())
        items = self.patterns.first[whole]
        axes = {name: self.item_axis.get(name) for name in self.draws}
        values = [of if axes[name] is None else of.take(items, axes[name]) for name, of in self.draws.items()]
        for total, *rest in self.function.each(values, [*self.known.values(), *arrays]):
            logs = {name: rest.pop(0) for name in self.discrete}
            numbers = {name: (rest.pop(0), rest.pop(0), rest.pop(0)) for name in self.continuous}
            yield Evaluated(total, logs, numbers, dict(zip(self.derived_dims, rest, strict=True)))

    def log_likelihood(self) -> np.ndarray:
        """Return log p(the item's answers | parameters) for every draw and item, (chain, draw, item)."""
        return self._by_chain([one.log_likelihood[self.patterns.of_item] for one in self.evaluate()])

    def log_joint(self, latent: str = "") -> Iterator[np.ndarray]:
        """Yield log p(the item's answers, its state | parameters) for each draw, (item, state), chain after chain.

        `latent` names one of several latents.
        """
        for one in self.evaluate():
            joint = one.log_likelihood[:, None]  # (pattern, state): one state, if nothing is unknown about items
            if self.discrete:
                joint = joint + one.log_probability[latent]
            yield joint[self.patterns.of_item]

    def draw_states(self, latent: str = "", random_seed: int | np.random.Generator | None = None) -> xr.DataArray:
        """Draw every item's state once per posterior draw: indices of states, dims (chain, draw, item).

        `latent` names one of several latents.
        """
        rng = np.random.default_rng(random_seed)
        (chosen,) = (one for one in self.model.latents(self.data) if one.name == latent)
        states = []  # (item,) each
        for one in self.evaluate():
            states.append(draw_codes(one.probability[latent][self.patterns.of_item], rng))
        assert isinstance(chosen, Discrete)
        return self._as_array(states, "item", self.data.items).rename(chosen.dim)

    def draw_numbers(self, latent: str = "", random_seed: int | np.random.Generator | None = None) -> xr.DataArray:
        """Draw every item's number once per posterior draw: dims (chain, draw, item)."""
        level = np.random.default_rng(random_seed).uniform(size=self.draws[LEVEL_OF_DRAW.name].shape[:2])
        drawn = replace(self, draws={**self.draws, LEVEL_OF_DRAW.name: level[:, :, None]})
        numbers = [one.numbers[latent][2][self.patterns.of_item, 0] for one in drawn.evaluate()]
        return self._as_array(numbers, "item", self.data.items)

    def count_states(self) -> xr.DataArray:
        """Return the expected number of items in each state, given the answers and one draw: (chain, draw, state)."""
        (latent,) = self.model.latents(self.data)
        assert isinstance(latent, Discrete)
        n_items = np.bincount(self.patterns.of_item, minlength=self.patterns.n_patterns)  # (pattern,)
        counts = [n_items @ one.probability[""] for one in self.evaluate()]
        return self._as_array(counts, latent.dim, latent.states)

    def scale_states(self, weights: np.ndarray) -> np.ndarray:
        """Return sums over draws of each item's state posterior, with weights (row, sample): (row, item, state)."""
        total = 0.0
        for sample, one in enumerate(self.evaluate()):
            total = total + weights[:, sample, None, None] * one.probability[""]
        return np.asarray(total)[:, self.patterns.of_item]

    def derived(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a derived quantity of items in every draw, not its mean over draws, for a model with one latent.

        Items with the same answers have the same value, so the result is per pattern: an array (sample, pattern, ...),
        and the pattern of each item, (item,). The samples are the draws, chain after chain.
        """
        return np.stack([one.derived["", name] for one in self.evaluate()]), self.patterns.of_item

    def _by_chain(self, each: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack(each).reshape(self.posterior.sizes["chain"], self.posterior.sizes["draw"], -1)

    def _as_array(self, each: Sequence[np.ndarray], dim: str, names: Sequence[str]) -> xr.DataArray:
        coords = {"chain": self.posterior["chain"], "draw": self.posterior["draw"], dim: list(names)}
        return xr.DataArray(self._by_chain(each), dims=tuple(coords), coords=coords)


def compile_formula(
    model: AnnotationModel,
    data: Data,
    posterior: xr.Dataset,
    known: Mapping[str, np.ndarray] | None = None,
) -> Formula:
    """Compile a model's formula for these data and draws.

    `known` are the parameters given to the model; by default from these data.

    Raises
    ------
    FitError
        If items have their own parameters, and the draws are those of other items.
    """
    if "item" in posterior.dims and posterior["item"].values.tolist() != list(data.items):
        raise FitError(f"items have parameters of their own in {model.name}, and these are of other items")
    patterns = patterns_of(model, data)
    arrays = index_arrays(model, data, patterns)
    if known is None:
        known = {name: parameter.value for name, parameter in model.fixed_parameters(data).items()}
    draws = _stack_draws(model, data, posterior)
    dims = {str(name): of.transpose("chain", "draw", ...).dims[1:] for name, of in posterior.data_vars.items()}
    item_axis = {name: of.index("item") for name, of in dims.items() if "item" in of} | {LEVEL_OF_DRAW.name: 1}

    drawn = {name: pt.TensorType("float64", (None,) * (values.ndim - 1))(name) for name, values in draws.items()}
    beforehand = {
        name: pt.TensorType(np.asarray(value).dtype, (None,) * np.ndim(value))(name) for name, value in known.items()
    }
    given: dict[ArrayName, pt.TensorVariable] = {
        key: pt.TensorType(array.values.dtype, (None,) * array.values.ndim)(key.name) for key, array in arrays.items()
    }
    levels_of = {LEVEL_OF_DRAW: drawn[LEVEL_OF_DRAW.name]} if LEVEL_OF_DRAW.name in drawn else {}
    answers = kind_of(model).answers(data, {**given, **levels_of})
    p = Parameters(with_log_class(model, data, drawn | beforehand, given))
    latent = model.latent_posterior(answers, p)
    derived = {(name, what): quantity for name, of in latent.derived.items() for what, quantity in of.items()}
    outputs = [
        latent.total,
        *latent.log_probability.values(),
        *(each for three in latent.numbers.values() for each in three),
        *(quantity.values for quantity in derived.values()),
    ]
    values = {drawn[name]: each for name, each in draws.items()}
    rest = {beforehand[name]: each for name, each in known.items()} | {given[key]: arrays[key].values for key in given}
    return Formula(
        function=compile_once([*values, *rest], outputs),
        model=model,
        data=data,
        posterior=posterior,
        patterns=patterns,
        arrays=arrays,
        draws=draws,
        item_axis=item_axis,
        known=known,
        discrete=tuple(latent.log_probability),
        continuous=tuple(latent.numbers),
        derived_dims={reading: quantity.dims for reading, quantity in derived.items()},
    )


def _stack_draws(model: AnnotationModel, data: Data, posterior: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the draws of each variable (sample, ...), sorted by name, so that any order has the same formula.

    With a number among the latents, each draw has levels for the quantiles of the number, (sample, item, level).
    """
    draws = stack_samples(posterior[sorted(map(str, posterior.data_vars))])
    if any(isinstance(one, Continuous) for one in model.latents(data)):
        levels = spread_levels(posterior.sizes["chain"] * posterior.sizes["draw"])
        draws[LEVEL_OF_DRAW.name] = np.broadcast_to(levels[:, None], (len(levels), data.n_items, levels.shape[1]))
    return draws


# ------------------------------------------------------------------------------------------------------ weighted draws


def normalise_weights(log_weight: np.ndarray) -> np.ndarray:
    """Return weights with mean 1 over draws, (sample, item); nan for items with only zero weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.posterior import normalise_weights
    >>> normalise_weights(np.log([[0.1], [0.3]])).round(12).tolist()
    [[0.5], [1.5]]
    """
    greatest = log_weight.max(axis=0)  # (item,)
    weight = np.exp(log_weight - np.where(np.isfinite(greatest), greatest, 0.0))
    mean = weight.mean(axis=0)  # (item,)
    return np.divide(weight, mean, out=np.full_like(weight, np.nan), where=mean > 0)


def effective_number(weight: np.ndarray, copies: int = 1) -> np.ndarray:
    """Return Kish's effective number of draws, (item,), from weights with mean 1, (sample, item); 0 for nan weights.

    It is the number of draws if weights are equal, and 1 if one draw has all the weight. If each draw has `copies`
    consecutive copies, they count as one draw with the sum of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.posterior import effective_number
    >>> effective_number(np.ones((6, 1)), copies=3).tolist()
    [2.0]
    """
    of_draw = weight.reshape(-1, copies, *weight.shape[1:]).mean(axis=1)  # (draw, item), of mean 1
    # sum(w)^2 / sum(w^2), written so that no rounding makes it more than the number of draws
    return np.nan_to_num(len(of_draw) / (1 + ((of_draw - 1) ** 2).mean(axis=0)))


def weighted_mean(weight: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted mean of values (sample, item, ...) over draws, and each draw's contribution to its error.

    With weights w of mean 1 and the weighted mean m, the contribution is w (value - m), by the delta method for a ratio
    of means. It has mean 0, and the Monte Carlo standard error of its mean is that of m.
    """
    aligned = weight.reshape(*weight.shape, *(1,) * (values.ndim - weight.ndim))
    held = np.where(aligned == 0, 0.0, values)  # values may be nan for answers that a draw cannot explain
    mean = (aligned * held).mean(axis=0)  # (item, ...)
    return mean, aligned * (held - mean)


def average_logs(logs: np.ndarray, log_weight: np.ndarray | None = None) -> np.ndarray:
    """Return the logs of means over draws, (item, state), from logs of values (sample, item, state).

    Draws have log weights (sample, item); by default all are equal. Items with only zero weights have nan.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.posterior import average_logs
    >>> average_logs(np.array([[[-2000.0]], [[-2000.0 + np.log(3)]]])).round(4).tolist()  # of 1 and 3, times e^-2000
    [[-1999.3069]]
    """
    from scipy.special import logsumexp

    if log_weight is None:
        top = logs.max(axis=0)  # (item, state); impossible in all draws: -inf
        top = np.where(np.isneginf(top), 0.0, top)
        with np.errstate(divide="ignore"):
            relative = logs - top
            averaged: np.ndarray = np.log(np.exp(relative, out=relative).mean(axis=0)) + top
        return averaged
    with np.errstate(divide="ignore", invalid="ignore"):  # all weights 0
        held = np.where(np.isneginf(log_weight)[..., None], -np.inf, logs)  # nan where a draw cannot explain answers
        total = logsumexp(log_weight, axis=0)  # (item,)
        weighed: np.ndarray = logsumexp(held + log_weight[..., None], axis=0) - total[:, None]
    return weighed


def draw_codes(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw codes (...) in proportion to weights (..., code), which need not add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.posterior import draw_codes
    >>> draw_codes(np.array([[0.0, 3.0], [1.0, 0.0]]), np.random.default_rng(1)).tolist()
    [1, 0]
    """
    below = weights.cumsum(axis=-1, dtype=float)
    at = rng.uniform(size=(*weights.shape[:-1], 1)) * below[..., -1:]
    return (at >= below[..., :-1]).sum(axis=-1)
