"""ArviZ, pandas, PyMC, PyTensor and xarray under their usual names, imported at first use.

Importing PyMC takes seconds. A model file imports `pm` and `pt` from here, so that the zoo can be listed, and a wrong
column or a wrong prior reported, before anything heavy is loaded. Type checkers see the real modules.
"""

from __future__ import annotations

import importlib
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

__all__ = ["azs", "pd", "pm", "pt", "xr"]
