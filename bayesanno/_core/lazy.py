"""ArviZ, pandas, PyMC, PyTensor and xarray under their usual names, and our own functions, imported at first use.

Importing PyMC takes seconds. A model file imports `pm` and `pt` from here, so that the zoo can be listed, and a wrong
column or a wrong prior reported, before anything heavy is loaded. Type checkers see the real modules.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pkgutil import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import arviz_stats as azs
    import pandas as pd
    import pymc as pm
    import pytensor.tensor as pt
    import xarray as xr
else:

    class _LazyModule(ModuleType):
        def __getattr__(self, attribute: str) -> Any:
            return getattr(importlib.import_module(self.__name__), attribute)

    azs = _LazyModule("arviz_stats")
    pd = _LazyModule("pandas")
    pm = _LazyModule("pymc")
    pt = _LazyModule("pytensor.tensor")
    xr = _LazyModule("xarray")

__all__ = ["azs", "import_when_called", "pd", "pm", "pt", "xr"]


def import_when_called(path: str) -> Callable[..., Any]:
    """Return the function at a path, `package.module:name`; its module is imported at the first call.

    Examples
    --------
    >>> from bayesanno._core.lazy import import_when_called
    >>> import_when_called("fractions:Fraction")("1/2") * 4
    Fraction(2, 1)
    """
    return lambda *arguments, **named: resolve_name(path)(*arguments, **named)
