"""The zoo: one file per model, each to be read from top to bottom; `from bayesanno.models import ModelB`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # the names are in __init__.pyi
