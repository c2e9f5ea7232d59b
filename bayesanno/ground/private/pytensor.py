"""PyTensor's insides: how it names and keeps what Numba compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytensor.link.numba import cache


def compile_source(source: str, name: str, names: Mapping[str, Any], key: str | None) -> Callable[..., Any]:
    """Return the function of this name that source text defines, in a file that Numba finds again under the key."""
    found: Callable[..., Any] = cache.compile_numba_function_src(source, name, dict(names), cache_key=key)
    return found


def find_cache_folder() -> Path:
    """Return the folder in which compiled code is kept."""
    folder: Path = cache.NUMBA_CACHE_PATH
    return folder


def inner_function(function: Any) -> Any:
    """Return what Numba made of a compiled function, without the layer that is there for Python.

    LLVM would optimise that layer and turn it into code once more.
    """
    called = function.vm.jit_fn
    return called.py_func.__globals__.get("jitable_func", called)


def name_function(function: Any) -> str | None:
    """Return PyTensor's own name of a compiled function's graph, if it can name it."""
    found: str | None = cache.CACHED_SRC_FUNCTIONS.get(function.vm.jit_fn.py_func)
    return found
