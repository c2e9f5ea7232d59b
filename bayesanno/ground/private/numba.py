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


def is_of_cache(error: Exception) -> bool:
    """Whether an error was raised while compiled code was read from or written to disk."""
    return any(frame.filename == caching.__file__ for frame in traceback.extract_tb(error.__traceback__))
