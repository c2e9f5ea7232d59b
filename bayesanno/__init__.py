"""bayesanno: Bayesian models of annotation. Who is right, whom to trust, and how sure to be."""

from importlib.metadata import version
from os import path as _path

import lazy_loader

__version__ = version("bayesanno")

if _path.isfile(_path.join(__path__[0], "models")):  # where Git makes no symbolic links, it is a file with the link's text
    __path__.append(_path.dirname(__path__[0]))  # in which the folder models is

# Nothing is imported before it is used: `import bayesanno` takes milliseconds, PyMC takes seconds (SPEC 1). The names,
# and where they are, stand in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
