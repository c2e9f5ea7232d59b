"""Numba's private names: what fails when compiled code cannot be kept or found."""

from __future__ import annotations

from numba.core import caching
from numba.core.errors import NumbaError

__all__ = ["NumbaError", "caching"]
