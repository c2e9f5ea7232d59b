"""How to cite: the package, and the papers that a model's card names.

The invariant: a paper belongs to a model if the card has its DOI or address, so nothing lists papers by model.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

from bayesanno._core.lazy import xr
from bayesanno.fits.storage import model_of
from bayesanno.fits.view import FitView
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.registry import get_model

PAPERS = Path(__file__).with_name("papers.bib")
ADDRESS = re.compile(r"^ *(?:doi|eprint|url) = \{(.+)\},$", re.MULTILINE)
PACKAGE = """\
@software{{bayesanno,
  author = {{{{The bayesanno developers}}}},
  title = {{bayesanno: a zoo of Bayesian models of annotation}},
  version = {{{version}}},
  year = {{2026}},
}}"""


def cite(model: str | AnnotationModel | xr.DataTree | FitView | None = None) -> str:
    """Return BibTeX entries of the package and of a model's papers.

    Parameters
    ----------
    model : str, AnnotationModel, xarray.DataTree or FitView, optional
        A model, by its name or as an instance, or a fit; without one, only the package is cited.

    Returns
    -------
    str
        The papers are those that the model's card names with a DOI or an address.

    Raises
    ------
    ModelError
        If the model is unknown.
    FitError
        If a tree is not a fit by bayesanno.

    Examples
    --------
    >>> import bayesanno as ba
    >>> print(ba.cite("mace").partition("@inproceedings")[2])
    {hovy2013,
      author = {Hovy, Dirk and Berg-Kirkpatrick, Taylor and Vaswani, Ashish and Hovy, Eduard},
      title = {Learning whom to trust with {MACE}},
      booktitle = {Proceedings of the 2013 Conference of the North American Chapter of the Association for Computational
                   Linguistics: Human Language Technologies},
      pages = {1120--1130},
      year = {2013},
      url = {https://aclanthology.org/N13-1132},
    }
    """
    package = PACKAGE.format(version=version("bayesanno"))
    return "\n\n".join([package, *([] if model is None else papers_of(_find_model(model)))])


def papers_of(model: AnnotationModel) -> list[str]:
    """Return the BibTeX entries of the papers that a model's card names, in the order of the card."""
    card = sys.modules[type(model).__module__].__doc__ or ""
    entries = PAPERS.read_text(encoding="utf-8").strip().split("\n\n")
    place = {entry: card.find(ADDRESS.search(entry)[1]) for entry in entries}  # type: ignore[index]
    return sorted((entry for entry in entries if place[entry] >= 0), key=place.__getitem__)


def _find_model(given: str | AnnotationModel | xr.DataTree | FitView) -> AnnotationModel:
    if isinstance(given, FitView):
        return given.model
    return model_of(given) if isinstance(given, xr.DataTree) else get_model(given)
