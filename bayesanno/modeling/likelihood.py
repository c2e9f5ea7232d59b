"""The one place where a discrete latent is summed out, and where its posterior is recovered.

A model says log p(state, an item's answers | parameters) once, in `state_logp`. From that formula follow

* the likelihood that NUTS and ADVI see: one observed variable `annotations`, one value per item, the state summed out;
* the posterior of each item's state, averaged over the posterior draws (Rao-Blackwell: no state is ever sampled);
* draws of the states, for whoever asks.

Zero probabilities give -inf, never nan. Controls are -inf outside the known state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.lazy import pm, pt, xr
from bayesanno.modeling.data_kinds import Data, Patterns, cut, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytensor.tensor.variable import TensorVariable

    from bayesanno.modeling.base import AnnotationModel

BLOCK_BYTES = 128 * 2**20  # how much of the states' posterior, over all draws, is in memory at a time


def design_arrays(entry: AnnotationModel, data: Data, *, controlled: bool = False) -> dict[str, np.ndarray]:
    """Return every array that the observed variable of a model depends on, by the name of its data container.

    `pm.set_data(design_arrays(entry, data), model)` puts other answers of the same shape into a model that is built.
    nutpie's `with_data` does so without compiling again; it takes those of them that the likelihood uses. A model that
    was built without controls has no place for them; for one that was built with, ask for `controlled` arrays.
    """
    return _all_arrays(entry, data, kind_of(entry.data_class).find_patterns(data), controlled=controlled)


def _all_arrays(
    entry: AnnotationModel, data: Data, patterns: Patterns, *, controlled: bool = False
) -> dict[str, np.ndarray]:
    arrays = kind_of(entry.data_class).arrays(data, patterns, controlled=controlled)
    return arrays | entry.index_arrays(data, patterns)


def observe(entry: AnnotationModel, data: Data, **parameters: TensorVariable) -> TensorVariable:
    """Register the observed variable of a model, its per-item latent summed out.

    Call it last in `build`, inside the model's context, with the parameters under the names that the entry's
    formula and `generate` give them.
    """
    from bayesanno.modeling.ops.simplex import share_softmax

    share_softmax(pm.modelcontext(None))
    kind = kind_of(entry.data_class)
    containers = {name: pm.Data(name, array) for name, array in design_arrays(entry, data).items()}
    observed = containers.pop(kind.values)
    names = [*parameters, *containers]
    inputs = [*parameters.values(), *containers.values()]

    def logp(value: TensorVariable, *inputs: TensorVariable) -> TensorVariable:
        given = dict(zip(names, inputs, strict=True)) | {kind.values: value}
        logp_of_pattern = entry.item_logp(kind.evidence(data, given), **_only(given, parameters))
        return logp_of_pattern[given["item_pattern"]]  # (item,)

    def dist(*inputs_and_size: TensorVariable) -> TensorVariable:
        given = dict(zip(names, inputs_and_size[:-1], strict=True))
        return entry.generate(kind.design(data, given), **_only(given, parameters))[1]

    signature = _signature(inputs)
    return pm.CustomDist(
        kind.observed, *inputs, logp=logp, dist=dist, signature=signature, observed=observed, dims=kind.dim
    )


def tell(
    story: Callable[..., tuple[np.ndarray, np.ndarray]],
    inputs: Sequence[TensorVariable],
    *,
    n_states: TensorVariable,
    n_annotations: TensorVariable,
) -> tuple[TensorVariable, TensorVariable]:
    """Put a story written in NumPy into a graph, for `generate` of a model whose story has too many turns for symbols.

    Parameters
    ----------
    story : callable
        (inputs..., rng) -> states, answers: arrays of whole numbers.
    inputs : sequence of TensorVariable
        Vectors and matrices that the story depends on.
    n_states, n_annotations : TensorVariable of int
        The lengths of what it returns.
    """
    shaped = [*inputs, pt.zeros(n_states + n_annotations)]  # the last one only gives the length

    def random(*arrays: Any, rng: np.random.Generator, size: Any = None) -> np.ndarray:  # noqa: ARG001
        return np.concatenate(story(*arrays[:-1], rng)).astype(np.int64)

    told = pm.CustomDist.dist(*shaped, random=random, signature=_signature(shaped, like_last=True), dtype="int64")
    return told[:n_states], told[n_states:]


def _signature(inputs: Sequence[TensorVariable], *, like_last: bool = False) -> str:
    """Name every axis of the inputs; the output has one of its own, or that of the last input."""
    axes = iter(range(sum(variable.ndim for variable in inputs) + 1))
    cores = [",".join(f"axis{next(axes)}" for _ in range(variable.ndim)) for variable in inputs]
    return ",".join(f"({core})" for core in cores) + f"->({cores[-1] if like_last else f'axis{next(axes)}'})"


def _only(given: Mapping[str, TensorVariable], names: Mapping[str, Any]) -> dict[str, TensorVariable]:
    return {name: given[name] for name in names}


# ---------------------------------------------------------------------------------------------------- the way back


@dataclass(frozen=True)
class Recovered:
    """What the states' posterior says, averaged over draws.

    Attributes
    ----------
    latent : xarray.Dataset
        `probability` and `probability_mcse` (item, state), `entropy` (item) in nats, and the model's views. A model
        with several latents has one of each, `probability_<name>` and so on.
    log_likelihood : array, shape (chain, draw, item), or None
        Log p(the item's answers | parameters), its state summed out; None if it was not wanted.
    """

    latent: xr.Dataset
    log_likelihood: np.ndarray | None


def recover(
    entry: AnnotationModel,
    data: Data,
    posterior: xr.Dataset,
    fixed: Mapping[str, np.ndarray] | None = None,
    *,
    log_likelihood: bool = True,
) -> Recovered:
    """Average p(state | answers, parameters) over the draws of a posterior, a block of items at a time.

    Parameters
    ----------
    entry : AnnotationModel
    data : AnnotationData, CountData or MultiAnnotationData
        The data of the fit, or of new items by the same annotators.
    posterior : xarray.Dataset
        The parameters, with dims (chain, draw, ...).
    fixed : mapping of name to array, optional
        Parameters that the model took from data beforehand; by default from these data.
    log_likelihood : bool
        Whether to keep the log-likelihoods, of which there are as many as draws times items.
    """
    from arviz_stats.base import array_stats

    patterns = kind_of(entry.data_class).find_patterns(data)
    arrays = _all_arrays(entry, data, patterns, controlled=True)
    draws = _draws(entry, data, posterior)
    constant = dict(entry.fixed(data) if fixed is None else fixed)
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    n_samples = n_chains * n_draws
    log_p = np.empty((n_samples, patterns.n_patterns)) if log_likelihood else None  # (sample, pattern)
    parts: dict[str, list[np.ndarray]] = {}  # what is averaged over draws, a block of patterns at a time

    formula = compile_formula(entry, data, arrays, draws, constant)
    state_dims = entry.state_dims(data)
    per_block = max(1, int(BLOCK_BYTES // (8 * n_samples * sum(map(len, state_dims.values())))))
    for begin in range(0, patterns.n_patterns, per_block):
        block = slice(begin, min(begin + per_block, patterns.n_patterns))
        in_block = cut(arrays, block)
        probability: dict[str, np.ndarray] = {}  # of every draw, for the MCSE
        sums: dict[str, np.ndarray] = {}
        for sample, parameters in enumerate(_each(draws)):
            total, readings = formula(parameters | constant, in_block)
            if log_p is not None:
                log_p[sample, block] = total
            for name, values in readings.items():
                if name.startswith("probability"):
                    probability.setdefault(name, np.empty((n_samples, *values.shape)))[sample] = values
                else:
                    sums[name] = sums[name] + values if sample else values
        for name, p in probability.items():  # (sample, pattern, state)
            mcse = array_stats.mcse(p.reshape(n_chains, n_draws, *p.shape[1:]), chain_axis=0, draw_axis=1)
            sums[name], parts_of = p.sum(axis=0), parts.setdefault(_beside(name, "probability_mcse"), [])
            parts_of.append(np.nan_to_num(mcse))
        for name, summed in sums.items():
            parts.setdefault(name, []).append(summed / n_samples)

    averaged = {name: np.concatenate(blocks) for name, blocks in parts.items()}
    dims = dict(formula.dims)
    for name in [name for name in averaged if name.startswith("probability") and name in dims]:
        p = averaged[name]
        averaged[_beside(name, "entropy")] = -(np.where(p > 0, p, 1.0) * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
        dims |= {_beside(name, "entropy"): ("item",), _beside(name, "probability_mcse"): dims[name]}
    order = sorted(averaged, key=lambda name: not name.startswith(("probability", "entropy")))
    coords = {"item": list(data.items), **{dim: list(names) for dim, names in state_dims.items()}}
    used = {dim for name in averaged for dim in dims[name]}
    latent = xr.Dataset(
        {name: (dims[name], averaged[name][patterns.back[dims[name][0]]]) for name in order},
        coords={dim: list(names) for dim, names in (coords | entry.view_coords(data)).items() if dim in used},
    )
    gathered = None if log_p is None else log_p.reshape(n_chains, n_draws, -1)[:, :, patterns.back["item"]]
    return Recovered(latent=latent, log_likelihood=gathered)


def _beside(probability: str, what: str) -> str:
    """Name what belongs to a `probability` or `probability_<name>`: its MCSE, its entropy."""
    return what + probability.removeprefix("probability")


def draw_states(
    entry: AnnotationModel,
    data: Data,
    posterior: xr.Dataset,
    *,
    fixed: Mapping[str, np.ndarray] | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.DataArray:
    """Draw every item's state once per posterior draw: indices of states, dims (chain, draw, item)."""
    rng = np.random.default_rng(random_seed)
    each, patterns = _readings_of_draws(entry, data, posterior, fixed)
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    states = np.empty((n_chains * n_draws, data.n_items), dtype=np.int64)  # (sample, item)
    for sample, readings in enumerate(each):
        probability = readings["probability"]  # (pattern, state)
        below = probability.cumsum(axis=1)[patterns.back["item"]]  # (item, state)
        u = rng.uniform(size=(data.n_items, 1)) * below[:, -1:]
        states[sample] = (u >= below).sum(axis=1)
    coords = {"chain": posterior["chain"], "draw": posterior["draw"], "item": list(data.items)}
    return xr.DataArray(
        states.reshape(n_chains, n_draws, -1), dims=("chain", "draw", "item"), coords=coords, name=entry.state_dim
    )


def count_states(
    entry: AnnotationModel, data: Data, posterior: xr.Dataset, fixed: Mapping[str, np.ndarray]
) -> xr.DataArray:
    """Return how many items are expected in each state, given the answers and one draw: dims (chain, draw, state)."""
    each, patterns = _readings_of_draws(entry, data, posterior, fixed)
    n_items = np.bincount(patterns.back["item"], minlength=patterns.n_patterns)  # (pattern,)
    counts = np.array([n_items @ readings["probability"] for readings in each])
    coords = {"chain": posterior["chain"], "draw": posterior["draw"], entry.state_dim: list(entry.states(data))}
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], -1)
    return xr.DataArray(counts.reshape(shape), dims=tuple(coords), coords=coords)


def read_draws(
    entry: AnnotationModel, data: Data, posterior: xr.Dataset, reading: str, fixed: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a reading of items in every draw, instead of its mean over draws.

    Items with the same answers have the same value, so that it is given per pattern: shape (sample, pattern, ...), and
    the pattern of each item, shape (item,). The samples are the draws, chain after chain.
    """
    each, patterns = _readings_of_draws(entry, data, posterior, fixed)
    return np.stack([readings[reading] for readings in each]), patterns.back["item"]


def _readings_of_draws(
    entry: AnnotationModel, data: Data, posterior: xr.Dataset, fixed: Mapping[str, np.ndarray] | None
) -> tuple[Iterator[dict[str, np.ndarray]], Patterns]:
    draws = _draws(entry, data, posterior)
    patterns = kind_of(entry.data_class).find_patterns(data)
    arrays = _all_arrays(entry, data, patterns, controlled=True)
    constant = dict(entry.fixed(data) if fixed is None else fixed)
    formula = compile_formula(entry, data, arrays, draws, constant)
    return (formula(parameters | constant, arrays)[1] for parameters in _each(draws)), patterns


@dataclass(frozen=True)
class Formula:
    """A model's formula, compiled: (parameters, arrays) -> log p(answers) (item,), and the readings by name.

    Attributes
    ----------
    dims : mapping of name to tuple of str
        The dimensions of each reading.
    """

    function: Callable[..., list[np.ndarray]]
    inputs: tuple[str, ...]
    dims: Mapping[str, tuple[str, ...]]

    def __call__(
        self, parameters: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Evaluate for one draw."""
        total, *readings = self.function(*({**arrays, **parameters}[name] for name in self.inputs))
        return total, dict(zip(self.dims, readings, strict=True))


def compile_formula(
    entry: AnnotationModel,
    data: Data,
    arrays: Mapping[str, np.ndarray],
    draws: Mapping[str, np.ndarray],
    constant: Mapping[str, np.ndarray],
) -> Formula:
    """Compile a model's formula for parameters and arrays of these shapes; of the data only names and sizes count."""
    import pytensor

    ndims = {name: values.ndim - 1 for name, values in draws.items()}
    ndims |= {name: np.ndim(value) for name, value in constant.items()}
    symbols = {name: pt.tensor(name, shape=(None,) * ndim) for name, ndim in ndims.items()}
    given = {name: pt.tensor(name, dtype=array.dtype, shape=(None,) * array.ndim) for name, array in arrays.items()}
    evidence = kind_of(entry.data_class).evidence(data, given)
    readings = entry.readings(evidence, **symbols)
    outputs = [entry.item_logp(evidence, **symbols), *(values for _, values in readings.values())]
    function = pytensor.function([*symbols.values(), *given.values()], outputs, on_unused_input="ignore")
    dims = {name: dims for name, (dims, _) in readings.items()}
    return Formula(function, (*symbols, *given), dims)


def _draws(entry: AnnotationModel, data: Data, posterior: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the parameters that the entry's formula takes and the posterior has, each of shape (sample, ...)."""
    names = [name for name in entry.parameter_names(data) if name in posterior.data_vars]
    stacked = {name: posterior[name].transpose("chain", "draw", ...).values for name in names}
    return {name: values.reshape(-1, *values.shape[2:]) for name, values in stacked.items()}


def _each(draws: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    n_samples = len(next(iter(draws.values())))
    return [{name: values[sample] for name, values in draws.items()} for sample in range(n_samples)]
