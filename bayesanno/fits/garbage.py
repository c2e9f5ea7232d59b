"""Fits that nobody holds any more are freed soon, however large they are.

A tree is a cycle, its groups and itself, which only Python's garbage collector frees. That counts objects and not
bytes, and a fit is few objects: in a loop of fits ten and more are in memory at a time. So it is asked for as soon as
fits are many bytes.
"""

from __future__ import annotations

import gc

from bayesanno.ground.lazy import xr

MOST_BYTES = 256 * 2**20  # of fits that are made between two collections, which take less than a second each

_made = 0


def count_towards_collection(fit: xr.DataTree) -> None:
    """Count a fit that was made or read; collect what nobody holds where these have become many bytes."""
    global _made
    _made += fit.nbytes
    if _made > MOST_BYTES:
        _made = 0
        if gc.isenabled():
            gc.collect()
