"""The labellings of a mode: where classes can be permuted, a mode is there once for each order of its classes.

What it weighs is the mass of all of them together, whether or not each was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bayesanno.ground.lazy import pm
from bayesanno.inference.graph.density import Density
from bayesanno.inference.modes.explore import Mode, share_out
from bayesanno.inference.modes.tops import EQUAL
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import is_exchangeable
from bayesanno.modeling.data_kinds import Data

ALIKE = 1e-3  # in every number: classes of a mode that differ by less are one, and swapping them gives no new labelling


def group_modes(modes: Sequence[Mode], *, merge: bool) -> list[list[int]]:
    """Return the numbers of the modes; if they are to be merged, those together that are alike in density and mass."""
    groups: list[list[int]] = []
    for number, mode in enumerate(modes):
        for group in groups if merge else []:
            first = modes[group[0]]
            if max(abs(first.log_density - mode.log_density), abs(first.log_mass - mode.log_mass)) < EQUAL:
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def weigh_labellings(
    model: AnnotationModel, data: Data, graph: pm.Model, density: Density, modes: Sequence[Mode]
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


def count_labellings(graph: pm.Model, values: Mapping[str, np.ndarray]) -> int:
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
