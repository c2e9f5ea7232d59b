"""Elements of figures by name: fits, items and annotators, and parameters as `summary` names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from bayesanno.fits.storage import is_tree
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import listed, name_elements, nearest

Elements = dict[str, tuple[str, int]]  # name -> its variable, and its place among the numbers of the variable
WORDS = {  # of statistics and quantities
    "accuracy": "accuracy of an annotator",
    "competence": "competence of an annotator",
    "diligence": "diligence",
    "agreement": "how often two annotators agree",
    "right": "share of answers that are right",
    "vote_right": "share of items whose vote is right",
    "unanimous": "share of items on which all agree",
    "prevalence": "prevalence of a class",
    "largest_prevalence": "prevalence of the commonest class",
    "usage": "how often an annotator gives a label",
    "weight": "share of items of a type",
    "rate": "rate of positive answers, by type",
    "positive_share": "share of positive answers",
    "spread": "sd of the items' shares",
    "votes_per_item": "items with so many votes for a label",
    "label_counts": "answers of an annotator with a label",
    "pair_agreement": "agreement of two annotators",
    "rest_agreement": "agreement of an annotator with the others",
    "histogram": "items with so many successes",
}


def name_fits(fits: xr.DataTree | FitView | Mapping[str, xr.DataTree | FitView]) -> dict[str, xr.DataTree | FitView]:
    """Return fits by name, a single one under no name; raise a FitError if there is none."""
    named = cast("Any", {"": fits} if is_tree(fits) or not isinstance(fits, Mapping) else dict(fits))
    if not named:
        raise FitError("there is no fit to draw")
    return named


def find_codes(what: str, asked: Sequence[str], names: Sequence[str], otherwise: str) -> list[int]:
    """Return the codes of the named items or annotators.

    Raises
    ------
    FitError
        If one is not in the fit, or none is named; `otherwise` says which are drawn by default.
    """
    code_of = {name: code for code, name in enumerate(names)}
    for name in asked:
        if name not in code_of:
            raise FitError(f"{what} {name!r} is not in this fit, which has {len(names):,}, {names[0]!r} first")
    if not asked:
        raise FitError(f"no {what} is asked for: name some, or leave {what}s out for those {otherwise}")
    return [code_of[name] for name in asked]


def choose_elements(posterior: xr.Dataset, asked: str | Sequence[str] | None) -> Elements:
    """Return the single parameters that variables or their own names ask for; all by default.

    Raises
    ------
    FitError
        If there is no such variable and no such parameter, or nothing is asked for.
    """
    variables = [str(name) for name in posterior.data_vars]
    wanted = variables if asked is None else [asked] if isinstance(asked, str) else list(asked)
    if not wanted:
        raise FitError(f"no variable is asked for: name some of {listed(variables)}")
    of: dict[str, Elements] = {name: _list_elements(name, posterior) for name in variables}
    found: Elements = {}
    for name in wanted:
        own = name if name in of else name.partition("[")[0]
        if own not in of or (name not in of and name not in of[own]):
            known = [*variables, *of.get(own, ())]
            raise FitError(f"variable {name!r} is not in this fit, which has {listed(variables)}{nearest(name, known)}")
        found |= of[name] if name in of else {name: of[own][name]}
    return found


def _list_elements(name: str, posterior: xr.Dataset) -> Elements:
    variable = posterior[name].transpose("chain", "draw", ...)
    names = name_elements(name, [variable[dim].values.tolist() for dim in variable.dims[2:]])
    return {element: (name, place) for place, element in enumerate(names)}


def take_elements(elements: Mapping[str, tuple[str, int]], draws: xr.Dataset, like: xr.Dataset) -> np.ndarray:
    """Return draws of single parameters, (chain, draw, parameter).

    Parameters
    ----------
    elements : mapping of name to tuple
        As `choose_elements` gives them.
    draws : xarray.Dataset
        Dims (chain, draw, ...).
    like : xarray.Dataset
        The posterior that the parameters were chosen from; its order of dimensions says where each is.
    """
    flat: dict[str, np.ndarray] = {}
    for name in {variable for variable, _ in elements.values()}:
        dims = [dim for dim in like[name].dims if dim not in ("chain", "draw")]
        values = draws[name].transpose("chain", "draw", *dims).values
        flat[name] = values.reshape(*values.shape[:2], -1)
    return np.stack([flat[name][:, :, place] for name, place in elements.values()], axis=-1)
