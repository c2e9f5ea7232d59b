"""The labellings of one mode: where classes can be permuted, a mode is there once for each order of its classes.

The invariant: what a mode weighs is the mass of all its labellings together, whether or not each of them was found.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bayesanno.inference.modes.explore import group_modes, share_out
from bayesanno.modeling.capabilities import is_exchangeable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pymc

    from bayesanno.inference.graph.density import Density
    from bayesanno.inference.modes.explore import Mode
    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

ALIKE = 1e-3  # in every number: classes of a mode that differ by less are one, and swapping them gives no new labelling


def weigh_labellings(
    model: AnnotationModel, data: Data, graph: pymc.Model, density: Density, modes: Sequence[Mode]
) -> tuple[list[list[int]], np.ndarray]:
    """Put the labellings of a mode together, and share out the mass.

    Returns
    -------
    list of list of int
        The numbers of the modes that are one but for the names of exchangeable classes.
    array, shape (group,)
        The share of the mass that each has, all its labellings counted: those that were found have one mass on
        average, and there are K! of K classes, fewer if classes are alike.
    """
    merge = is_exchangeable(model, data)
    groups = group_modes(modes, merge=merge)
    log_mass = []
    for group in groups:
        own = np.array([modes[i].log_mass for i in group])
        n = count_labellings(graph, density.values_at(modes[group[0]].point)) if merge else len(group)
        log_mass.append(np.logaddexp.reduce(own) - np.log(own.size) + np.log(n))
    return groups, share_out(np.array(log_mass))


def count_labellings(graph: pymc.Model, values: Mapping[str, np.ndarray]) -> int:
    """Return how many points a point becomes when its classes are permuted in all ways.

    Parameters
    ----------
    graph : pymc.Model
        Of a model whose classes can be permuted.
    values : mapping of name to array
        The free variables at the point.
    """
    parts = []
    for name, value in values.items():
        dims = graph.named_vars_to_dims.get(name) or ()
        if "true_class" in dims:
            first = np.moveaxis(value, list(dims).index("true_class"), 0)
            parts.append(first.reshape(len(first), -1))
    classes = np.concatenate(parts, axis=1)  # (true_class, number)
    found = math.factorial(len(classes))
    left = list(classes)
    while left:
        alike = [bool(np.abs(one - left[0]).max() < ALIKE) for one in left]
        found //= math.factorial(sum(alike))
        left = [one for one, same in zip(left, alike, strict=True) if not same]
    return found
