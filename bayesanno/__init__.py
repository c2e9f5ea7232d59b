"""bayesanno: Bayesian models of annotation. Who is right, whom to trust, and how sure to be."""

from importlib.metadata import version
from pathlib import Path

import lazy_loader

__version__ = version("bayesanno")

if Path(__path__[0], "models").is_file():  # where Git makes no symbolic links, it is the link's text
    __path__.append(str(Path(__path__[0]).parent))  # the folder models is in this one

# Nothing is imported before it is used: `import bayesanno` takes milliseconds, PyMC takes seconds (SPEC 1). The names,
# and where they are, stand in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
