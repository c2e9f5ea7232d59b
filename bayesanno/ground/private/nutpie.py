"""nutpie's internals: the compiled model that it samples without Python, by two C functions.

nutpie has no such thing in what it documents; `nutpie.compiled_pyfunc.from_pyfunc`, which it does document, takes
functions of Python, at a half to a third of the speed, and is what is left where this fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def make_compiled_model(
    functions: Any, parts: Mapping[str, tuple[slice, tuple[int, ...]]], n_dim: int, start: Callable[[int], np.ndarray]
) -> Any:
    """Return what `nutpie.sample` takes.

    Parameters
    ----------
    functions : CFunctions
        As nutpie calls them, and the arrays that must live as long as the model does.
    parts : mapping of name to slice and shape
        Of what is kept, in its order.
    n_dim : int
        How many numbers a point has.
    start : callable
        From a seed to a point.
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
