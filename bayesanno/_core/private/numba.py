"""Numba's private names: pointers in source text, and errors of the cache of compiled code."""

from __future__ import annotations

import traceback
from typing import Any

from numba.core import caching, cgutils, types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def pointer_to(_: Any, address: Any) -> Any:
    """Interpret a whole number as the address of an array."""

    def generate(__: Any, builder: Any, ___: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def at(_: Any, vector: Any, index: Any, loop: Any) -> Any:
    """Read an element of a vector, at an index within it, in a loop that `put` uses to write another vector.

    Loops have numbers, and 0 is none: LLVM need not check in each loop whether vectors overlap.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        read = builder.load(_place(context, builder, signature, arguments))
        _mark(builder, read, "noalias", loop)
        return context.data_model_manager[vector.dtype].from_data(builder, read)

    return vector.dtype(vector, index, loop), generate


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def put(_: Any, vector: Any, index: Any, value: Any, loop: Any) -> Any:
    """Write an element of a vector, at an index within it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[2], signature.args[2], vector.dtype)
        data = context.data_model_manager[vector.dtype].as_data(builder, number)
        _mark(builder, builder.store(data, _place(context, builder, signature, arguments)), "alias.scope", loop)
        return context.get_dummy_value()

    return types.none(vector, index, value, loop), generate


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [context.cast(builder, arguments[1], signature.args[1], types.intp)])


def _mark(builder: Any, instruction: Any, kind: str, loop: Any) -> None:
    if loop.literal_value:
        add = builder.module.add_metadata
        scope = add([f"loop {loop.literal_value}", add(["loops"])])
        instruction.set_metadata(kind, add([scope]))


def is_of_cache(error: Exception) -> bool:
    """Whether an error was raised while compiled code was read from or written to disk."""
    return any(frame.filename == caching.__file__ for frame in traceback.extract_tb(error.__traceback__))
