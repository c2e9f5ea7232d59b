"""PyTensor's private names: how Numba and JAX compute an operation, also for many draws, and parts of graphs."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pytensor.graph import Op
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.replace import _vectorize_node as vectorize_node
from pytensor.graph.traversal import io_toposort, toposort
from pytensor.link.numba import cache as compiled_code
from pytensor.link.numba.dispatch.basic import (
    numba_funcify_ensure_cache,
    numba_njit,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Reshape, SpecifyShape

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
    "compile_source",
    "find_cache_folder",
    "function_of",
    "io_toposort",
    "register_with_jax",
    "toposort",
    "vectorize_node",
]


class LoopOp(Op):  # type: ignore[misc]  # PyTensor is not typed
    """An operation that Numba computes with its own loop, JAX with a formula, and NumPy with `perform`.

    Attributes
    ----------
    loop : callable
        A static method, a function of the inputs for Numba to compile.
    in_jax : callable
        A static method, the same function for JAX arrays. NumPyro and BlackJAX need and differentiate it.
    reads_coordinates : bool
        Whether its inputs are rows of coordinates of probabilities, which are never broadcast.
    """

    __props__ = ()
    loop: ClassVar[Callable[..., Any]]
    in_jax: ClassVar[Callable[..., Any]]
    reads_coordinates: ClassVar[bool] = False


@register_funcify_default_op_cache_key(LoopOp)  # type: ignore[untyped-decorator]
def _in_numba(op: LoopOp, *_: Any, **__: Any) -> tuple[Any, int]:
    return numba_njit(op.loop), hash_source(inspect.getfile(type(op)))


@cache
def hash_source(file: str) -> int:
    """Return a hash of the file that defines an operation, so that code compiled from another text is not found."""
    return int(hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12], 16)


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


def compile_source(source: str, name: str, names: Mapping[str, Any], key: str | None = None) -> Callable[..., Any]:
    """Return the function `name` defined by source text, in a file that Numba finds again under the key."""
    return compiled_code.compile_numba_function_src(source, name, dict(names), cache_key=key)


def find_cache_folder() -> Path:
    """Return the folder with compiled code."""
    return compiled_code.NUMBA_CACHE_PATH


def function_of(op: Op, node: Any) -> tuple[Any, str | None]:
    """Return Numba's function of an operation, and its name in the cache of compiled code, if it has one."""
    function, name = numba_funcify_ensure_cache(op, node=node)
    return function, name
