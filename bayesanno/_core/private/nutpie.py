"""nutpie's internals: its use of ArviZ, and the compiled model that it samples without Python, through two C functions.

nutpie does not document this. The documented `nutpie.compiled_pyfunc.from_pyfunc` takes Python functions, and runs at a
half to a third of the speed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


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
