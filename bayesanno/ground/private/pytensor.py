"""PyTensor's private names: how Numba and JAX compute an operation, and which operations a graph is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pytensor.graph import Op
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.traversal import io_toposort, toposort
from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS, NUMBA_CACHE_PATH, compile_numba_function_src
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Reshape, SpecifyShape

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CACHED_SRC_FUNCTIONS",
    "NUMBA_CACHE_PATH",
    "Alloc",
    "FrozenFunctionGraph",
    "LoopOp",
    "MakeVector",
    "RandomType",
    "RandomVariable",
    "Reshape",
    "SpecifyShape",
    "compile_numba_function_src",
    "io_toposort",
    "register_with_jax",
    "toposort",
]


class LoopOp(Op):  # type: ignore[misc]  # PyTensor is not typed
    """An operation that Numba computes by a loop of its own, JAX by a formula, and NumPy by `perform`.

    Attributes
    ----------
    loop : callable
        A static method, a function of the inputs for Numba to compile.
    in_jax : callable
        A static method, the same of JAX's arrays. NumPyro and BlackJAX need it, and differentiate it themselves.
    version : int
        Part of the key under which compiled code is cached: raise it when the loop changes.
    """

    __props__ = ()
    loop: ClassVar[Callable[..., Any]]
    in_jax: ClassVar[Callable[..., Any]]
    version: ClassVar[int]


@register_funcify_default_op_cache_key(LoopOp)  # type: ignore[untyped-decorator]
def _in_numba(op: LoopOp, *_: Any, **__: Any) -> tuple[Any, int]:
    return numba_njit(op.loop), op.version


def register_with_jax() -> None:
    """Register how JAX, which need not be installed, computes operations of this kind."""
    from pytensor.link.jax.dispatch import jax_funcify

    jax_funcify.register(LoopOp)(lambda op, *_, **__: op.in_jax)
