"""Undocumented parts of PyTensor, PyMC and nutpie that this package uses.

Each name is imported only here, so that a change in a new release is fixed in one place. For each,
`tests/_core/test_private.py` tests the behaviour that the package relies on, and names what has changed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
from pymc.initial_point import make_initial_point_fn
from pymc.logprob.transforms import SimplexTransform, Transform
from pymc.model.transform.conditioning import remove_value_transforms
from pymc.pytensorf import collect_default_updates, find_rng_nodes, reseed_rngs
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.rewriting import inline_ofg_node
from pytensor.graph import Op, node_rewriter, rewrite_graph
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.rewriting.basic import dfs_rewriter
from pytensor.graph.traversal import io_toposort, toposort
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
from pytensor.tensor import _as_tensor_variable as as_tensor
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Reshape, SpecifyShape


def import_nutpie() -> Any:
    """Import nutpie without the plots of ArviZ, from which it takes only the conversion of draws."""
    import arviz_base

    sys.modules.setdefault("arviz", arviz_base)
    try:
        import nutpie
    finally:
        if sys.modules.get("arviz") is arviz_base:
            del sys.modules["arviz"]
    return nutpie


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise an AttributeError, TypeError or ValueError if nutpie has no such settings, or not such values."""
    import_nutpie()._lib.PyNutsSettings.Diag(0).update(dict(settings))


def make_compiled_model(
    functions: Any, parts: Mapping[str, tuple[slice, tuple[int, ...]]], n_dim: int, start: Callable[[int], np.ndarray]
) -> Any:
    """Return a model for `nutpie.sample`.

    Parameters
    ----------
    functions : CFunctions
        The functions that nutpie calls, and the arrays that must live as long as the model.
    parts : mapping of name to slice and shape
        The stored variables, in order.
    n_dim : int
        The length of a point.
    start : callable
        A function from a seed to a point.
    """
    from nutpie.compile_pymc import CompiledPyMCModel

    shapes = {name: shape for name, (_, shape) in parts.items()}
    slices = [part for part, _ in parts.values()]
    return CompiledPyMCModel(
        _n_dim=n_dim,
        dims={},
        _coords={},
        _shapes=shapes,
        compiled_logp_func=functions.logp,
        compiled_expand_func=functions.kept,
        initial_point_func=start,
        shared_data={str(which): array for which, array in enumerate(functions.arrays)},
        shared_var_keys={},
        user_data=functions.user_data,
        n_expanded=slices[-1].stop,
        shape_info=(list(shapes), slices, list(shapes.values())),
        logp_func=None,
        expand_func=None,
        reparameterized_names=[],
    )


def compile_by_nutpie(graph: Any, names: Sequence[str]) -> tuple[Any, Any, tuple[np.ndarray, ...], np.ndarray]:
    """Compile a graph as nutpie does: its two functions of C, and what they read.

    Their arguments are those of ours. `names` are those of the free variables, whose values are kept.
    """
    model = import_nutpie().compile_pymc_model(graph, jitter_rvs=set(), var_names=names)
    functions = model.compiled_logp_func, model.compiled_expand_func
    return *functions, tuple(model.shared_data.values()), model.user_data


__all__ = [
    "SimplexTransform",
    "Transform",
    "collect_default_updates",
    "draw_initial_point",
    "find_rng_nodes",
    "remove_value_transforms",
    "reseed_rngs",
]


def draw_initial_point(
    graph: Any, start: Mapping[str, np.ndarray] | None = None
) -> Callable[[int], dict[str, np.ndarray]]:
    """Return a function from a seed to (transformed) values of a graph's free variables.

    Given values are used; others are drawn from the prior. Several threads may call it at the same time.
    """
    how = {"default_strategy": "prior"} if start is None else {"overrides": dict(start)}
    draw = make_initial_point_fn(model=graph, return_transformed=True, **how)
    one_at_a_time = threading.Lock()

    def call(seed: int) -> dict[str, np.ndarray]:
        with one_at_a_time:
            return draw(seed)

    return call


def name_distribution(operation: Any) -> str:
    """Return the name of a distribution as PyMC prints it."""
    return str(operation._print_name[0])


__all__ = [
    "Alloc",
    "FrozenFunctionGraph",
    "LengthOp",
    "LoopOp",
    "MakeVector",
    "RandomType",
    "RandomVariable",
    "Reshape",
    "SpecifyShape",
    "as_tensor",
    "inline_graphs",
    "io_toposort",
    "register_with_jax",
    "toposort",
]


inline_each = dfs_rewriter(node_rewriter([OpFromGraph])(lambda _, node: inline_ofg_node(node)))


def inline_graphs(outputs: Sequence[Any]) -> list[Any] | None:
    """Return outputs without operations that have a graph inside, such as a softmax; None if there are none."""
    if not any(isinstance(node.op, OpFromGraph) for node in toposort(outputs)):
        return None
    return list(rewrite_graph(list(outputs), include=(), custom_rewrite=inline_each))


class LoopOp(Op):  # type: ignore[misc]  # PyTensor is not typed
    """An operation with its own loop; NumPy computes it with `perform`, and JAX with a formula.

    Attributes
    ----------
    lengths : callable
        A static method, the lengths of the outputs. Its arguments are the lengths of the inputs; of one without axes,
        its value.
    loop : callable
        A static method in the language of `bayesanno.graph.compiler`. Its arguments are the inputs, each as a vector
        or a number, and vectors for the outputs.
    in_jax : callable
        A static method, the same function for JAX arrays. NumPyro and BlackJAX need and differentiate it.
    reads_coordinates : bool
        Whether its inputs are rows of coordinates of probabilities, which are never broadcast.
    """

    __props__ = ()
    lengths: ClassVar[Callable[..., tuple[tuple[Any, ...], ...]]]
    loop: ClassVar[Callable[..., None]]
    in_jax: ClassVar[Callable[..., Any]]
    reads_coordinates: ClassVar[bool] = False

    def infer_shape(self, node: Any, shapes: list[Any]) -> list[Any]:
        """Return the lengths of the outputs."""
        return list(self.lengths(*(shape or one for shape, one in zip(shapes, node.inputs, strict=True))))


@register_funcify_and_cache_key(LoopOp)  # type: ignore[untyped-decorator]
def _in_numba(op: LoopOp, node: Any, **_: Any) -> tuple[Any, None]:
    """Write a function of arrays for Numba, where PyTensor compiles a graph with it."""
    import numpy as np

    given = {f"x{at}": one for at, one in enumerate(node.inputs)}
    made = {f"y{at}": one for at, one in enumerate(node.outputs)}
    lengths = ", ".join(f"{name}.shape" if one.ndim else f"{name}.item()" for name, one in given.items())
    vectors = [f"ascontiguousarray({x}).reshape({x}.size)" if of.ndim else f"{x}.item()" for x, of in given.items()]
    vectors += [f"{name}.reshape({name}.size)" for name in made]
    lines = [f"def run({', '.join(given)}):", f"    lengths = find_lengths({lengths})"]
    lines += [f"    {name} = empty(lengths[{at}], dtype_{name})" for at, name in enumerate(made)]
    lines += [f"    loop({', '.join(vectors)})", f"    return {', '.join(made)}"]
    names = {"ascontiguousarray": np.ascontiguousarray, "empty": np.empty, "loop": _for_numba(op.loop)}
    names |= {"find_lengths": numba_njit(op.lengths)} | {f"dtype_{y}": np.dtype(of.dtype) for y, of in made.items()}
    exec("\n".join(lines), names)
    return numba_njit(names["run"]), None


def _for_numba(function: Any) -> Any:
    """Return a function for Numba, with the functions of Python that it calls."""
    helpers = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    own = {name: _for_numba(of) for name, of in helpers.items() if isinstance(of, FunctionType)}
    return numba_njit(FunctionType(function.__code__, {**function.__globals__, **own}), fastmath=False)


class LengthOp(LoopOp):
    """An operation with an output length that depends on values; in JAX, which needs fixed lengths, it is a constant.

    Attributes
    ----------
    constant_in_jax : array
        The output in JAX.
    """

    constant_in_jax: Any


def register_with_jax() -> None:
    """Register how JAX (which need not be installed) computes operations of this kind."""
    from pytensor.compile.mode import optdb
    from pytensor.graph.rewriting.basic import in2out, node_rewriter
    from pytensor.link.jax.dispatch import jax_funcify
    from pytensor.tensor import constant

    @node_rewriter(None)  # type: ignore[untyped-decorator]
    def fix_lengths(_: Any, node: Any) -> Any:
        return [constant(node.op.constant_in_jax)] if isinstance(node.op, LengthOp) else None

    jax_funcify.register(LoopOp)(lambda op, *_, **__: op.in_jax)
    if "fix_lengths" not in optdb:
        optdb.register("fix_lengths", in2out(fix_lengths), "jax", position=0.01)  # before shapes are inferred
