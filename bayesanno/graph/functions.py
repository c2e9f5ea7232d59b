"""Formulas as functions, compiled once per process, and draws of a graph's variables that they are evaluated for.

Loops compiled by LLVM (`c_functions`) take a fraction of a second to compile. A formula with an operation that has no
loop, such as one that draws random numbers, is evaluated by NumPy, operation by operation.

A function is stored under its graph without sizes (PyTensor compares operations, numbers and types) and PyTensor's
mode. A formula that differs in any of these is a different function.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm, pt, xr
from bayesanno.graph.c_functions import ArrayFunction
from bayesanno.graph.flat import name_graph, read_data
from bayesanno.graph.source import NotWrittenError
from bayesanno.graph.symbolic_shapes import make_shapes_symbolic

logger = logging.getLogger(__name__)

MAX_KEPT = 96  # functions that a process keeps
BY_NUMPY = "FAST_COMPILE"  # PyTensor's mode in which NumPy evaluates a graph: for what is evaluated once, or few times
USUAL = "Mode"  # PyTensor's mode, unless somebody chose another

_kept: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.RLock()


@contextmanager
def plain_compiling() -> Iterator[None]:
    """Let PyTensor compile without a C compiler, which it runs for a second for each operation with a graph inside.

    Operations between floats are not reordered, so that the same seed gives the same draws. The lines of Python that
    made an operation are not recorded, which takes a fifth of the time.
    """
    import pytensor

    with pytensor.config.change_flags(numba__fastmath=False, traceback__limit=0, cxx=""):
        yield


def keep[T](name: Hashable, make: Callable[[], T]) -> T:
    """Return the object stored under a name, or make and store it; only the most recently used are stored."""
    with _lock:
        found: T = _kept.pop(name, None) or make()
        _kept[name] = found
        while len(_kept) > MAX_KEPT:
            _kept.popitem(last=False)
    return found


class Function:
    """A function of arrays, and of the data of its graph, which it reads at every call.

    Parameters
    ----------
    compiled : ArrayFunction or callable
    data : sequence of shared variables
    """

    def __init__(self, compiled: Callable[..., list[np.ndarray]], data: Sequence[Any]) -> None:
        self.compiled, self.data = compiled, data

    def __call__(self, *values: Any) -> list[np.ndarray]:
        """Return the outputs. Threads may call it at the same time."""
        return self.compiled(*values, *self._read())

    def each(self, drawn: Sequence[np.ndarray], given: Sequence[np.ndarray] = ()) -> Iterator[list[np.ndarray]]:
        """Return the outputs for each draw of the first inputs, (draw, ...) each; the others are the same for all."""
        rest = [*given, *self._read()]
        if hasattr(self.compiled, "each"):
            return self.compiled.each(drawn, rest)
        return (self.compiled(*draw, *rest) for draw in zip(*drawn, strict=True))

    def _read(self) -> list[np.ndarray]:
        return [variable.get_value(borrow=True) for variable in self.data]


def compile_once(inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]) -> Function:
    """Return a function from the inputs to the outputs; equal graphs share what is compiled."""
    from pytensor import config

    inputs, outputs, data = read_data(*make_shapes_symbolic(inputs, outputs))
    return Function(keep((name_graph(inputs, outputs), config.mode), lambda: _compile(inputs, outputs)), data)


def _compile(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]
) -> Callable[..., list[np.ndarray]]:
    import pytensor

    mode = pytensor.config.mode
    with plain_compiling():
        if mode == USUAL and any(not hasattr(one.type, "ndim") for one in inputs):  # random numbers
            mode = BY_NUMPY
        if mode == USUAL:
            try:
                return ArrayFunction(inputs, outputs)
            except NotWrittenError as why:
                logger.info("evaluated by NumPy, which takes longer: %s", why)
                mode = BY_NUMPY
        function = pytensor.function(list(inputs), list(outputs), mode=mode, on_unused_input="ignore")
    one_at_a_time = threading.Lock()  # a PyTensor function holds its inputs and outputs while it runs

    def call(*values: np.ndarray) -> list[np.ndarray]:
        with one_at_a_time:
            return function(*values)

    return call


# ------------------------------------------------------------------------------------------ many draws


def stack_samples(draws: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the values of each variable, with the draws of all chains in sequence: (sample, ...)."""
    values = {str(name): draws[name].transpose("chain", "draw", ...).values for name in draws.data_vars}
    return {name: array.reshape(-1, *array.shape[2:]) for name, array in values.items()}


def evaluate_draws(
    outputs: Sequence[pt.TensorVariable], draws: Mapping[pt.TensorVariable, np.ndarray]
) -> list[np.ndarray]:
    """Evaluate functions of variables at many values at once.

    Parameters
    ----------
    outputs : sequence of TensorVariable
    draws : mapping of TensorVariable to array
        The values of each variable on which the outputs depend: shape (draw, ...).

    Returns
    -------
    list of array, shape (draw, ...) each
    """
    if not outputs:
        return []
    found = compile_once(list(draws), outputs).each(list(draws.values()))
    return [np.stack(each) for each in zip(*found, strict=True)]


def name_draws(graph: pm.Model, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Return draws of a graph's variables, (chain, draw, ...) each, with named dimensions.

    A dimension without a name becomes `<variable>_dim_0`, as in ArviZ, with numbers as coordinates. Values with fewer
    dimensions than their variable have the first ones.
    """
    variables, coords = {}, {}
    for name, of in values.items():
        own = graph.named_vars_to_dims.get(name) or [None] * (of.ndim - 2)
        dims = [dim or f"{name}_dim_{axis}" for axis, dim in enumerate(own[: of.ndim - 2])]
        variables[name] = (("chain", "draw", *dims), of)
        for dim, length in zip(dims, of.shape[2:], strict=True):
            named = graph.coords.get(dim)
            coords[dim] = list(range(length) if named is None else named)
    n_chains, n_draws = next(iter(values.values())).shape[:2]
    return xr.Dataset(variables, coords={"chain": range(n_chains), "draw": range(n_draws)} | coords)


def as_chains(graph: pm.Model, points: Sequence[Mapping[str, np.ndarray]]) -> xr.Dataset:
    """Return points, each a mapping of variables, as draws of the free parameters: one chain of one draw per point."""
    return name_draws(graph, {one.name: np.stack([p[one.name] for p in points])[:, None] for one in graph.free_RVs})


def as_one_chain(graph: pm.Model, points: Sequence[Mapping[str, np.ndarray]]) -> xr.Dataset:
    """Return points, each a mapping of variables, as draws of the free parameters: one chain, one draw per point."""
    return name_draws(graph, {one.name: np.stack([p[one.name] for p in points])[None] for one in graph.free_RVs})


def add_deterministics(graph: pm.Model, free: xr.Dataset) -> xr.Dataset:
    """Return draws of the free parameters and of the graph's deterministics."""
    from bayesanno._core.private import remove_value_transforms

    graph = remove_value_transforms(graph)
    return free.assign(_evaluate(graph, graph.deterministics, graph.replace_rvs_by_values(graph.deterministics), free))


def compute_log_prior(graph: pm.Model, free: xr.Dataset) -> xr.Dataset:
    """Return the log prior density of each free parameter in each draw, on its own scale: dims (chain, draw, ...).

    A distribution over a dimension, such as a Dirichlet, has one density for the whole dimension.
    """
    from bayesanno._core.private import remove_value_transforms

    graph = remove_value_transforms(graph)
    each = [pm.logp(variable, graph.rvs_to_values[variable], warn_rvs=False) for variable in graph.free_RVs]
    return _evaluate(graph, graph.free_RVs, graph.replace_rvs_by_values(each), free)


def unconstrain(graph: pm.Model, posterior: xr.Dataset) -> np.ndarray:
    """Return draws of the free parameters as points on the sampler's scale, (chain, draw, dimension)."""
    from pytensor.graph.replace import clone_replace

    values = {variable: variable.type() for variable in graph.free_RVs}
    moved = []
    for variable, value in values.items():
        transform = graph.rvs_to_transforms[variable]
        moved.append(value if transform is None else transform.forward(value, *variable.owner.inputs))
    moved = clone_replace(moved, values)  # some depend on other parameters
    draws = {value: posterior[of.name].transpose("chain", "draw", ...).values for of, value in values.items()}
    found = evaluate_draws(moved, {value: of.reshape(-1, *of.shape[2:]) for value, of in draws.items()})
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], -1)
    return np.concatenate([each.reshape(shape) for each in found], axis=2)


def _evaluate(
    graph: pm.Model, variables: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable], free: xr.Dataset
) -> xr.Dataset:
    """Evaluate functions of the free parameters; the results get the names and dimensions of some variables."""
    ordered = {variable: free[variable.name].transpose("chain", "draw", ...).values for variable in graph.free_RVs}
    draws = {graph.rvs_to_values[of]: values.reshape(-1, *values.shape[2:]) for of, values in ordered.items()}
    found = evaluate_draws(outputs, draws)
    shape = (free.sizes["chain"], free.sizes["draw"])
    if not found:
        return free[[]]
    named = name_draws(
        graph, {of.name: each.reshape(*shape, *each.shape[1:]) for of, each in zip(variables, found, strict=True)}
    )
    return named.assign_coords(chain=free["chain"].values, draw=free["draw"].values)
