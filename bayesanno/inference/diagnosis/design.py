"""Checks before sampling: whether the design identifies competence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Self

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.labelled import ANYONE, Labelled
from bayesanno.ground.errors import IdentifiabilityWarning, warn
from bayesanno.modeling.expectation import PatternBlock


@dataclass(frozen=True)
class Links:
    """Which annotators are linked by shared items, among some items or all.

    Attributes
    ----------
    leader : array of int, shape (annotator,)
        The first annotator in an annotator's group.
    checks : bool
        Whether any item has more than one annotator.
    """

    leader: np.ndarray
    checks: bool

    def __add__(self, other: Self) -> Self:
        everybody = np.arange(self.leader.size)
        edges = np.concatenate([everybody, everybody]), np.concatenate([self.leader, other.leader])
        return type(self)(_find_leaders(*edges, self.leader.size), self.checks or other.checks)


def link_annotators(item: np.ndarray, annotator: np.ndarray, n_items: int, n_annotators: int) -> Links:
    """Return which annotators are linked by annotations (annotation,)."""
    of_item = np.full(n_items, -1)
    of_item[item] = annotator  # one annotator of each item, to whom its others are linked
    links = annotator != of_item[item]
    leader = _find_leaders(annotator[links], of_item[item[links]], n_annotators)
    return Links(leader, bool(links.any()))


def link_block(block: PatternBlock) -> Links:
    """Return which annotators are linked by the items of a block."""
    said = block.answers.tocoo()
    pattern, cell = (part.astype(np.int64) for part in said.coords)
    n_patterns, n_cells = block.answers.shape
    return link_annotators(pattern, cell // block.n_labels, n_patterns, n_cells // block.n_labels)


def _find_leaders(one: np.ndarray, other: np.ndarray, size: int) -> np.ndarray:
    """Return the first node that is connected to each node."""
    import scipy.sparse as sp

    graph = sp.coo_array((np.ones(one.size), (one, other)), shape=(size, size))
    piece = sp.csgraph.connected_components(graph, directed=False)[1]
    return np.unique(piece, return_index=True)[1][piece]


@singledispatch
def design_problems(data: Any) -> list[str]:
    """Return, in words, why competence cannot be learnt from this design; empty without problems.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.inference.diagnosis.design import design_problems
    >>> alone = AnnotationData.from_records([("s1", "ada", "yes"), ("s2", "bo", "no"), ("s3", "cy", "no")])
    >>> design_problems(alone)[0]
    'every item has only one annotator: annotators cannot be compared, so competence follows its prior alone'
    """
    raise TypeError(f"no kind of data: {type(data).__name__}")


@design_problems.register
def _(data: AnnotationData) -> list[str]:
    if data.annotators == (ANYONE,):
        return ["annotators are not named, so they cannot be compared, and all are treated alike"]
    of_control = data.annotator[data.control_codes[data.item] >= 0]
    if np.isin(np.flatnonzero(data.by_annotator), of_control).all():
        return []  # each annotator is compared with known labels
    return describe_links(link_annotators(data.item, data.annotator, data.n_items, data.n_annotators), data)


@design_problems.register
def _(data: MultiAnnotationData) -> list[str]:
    return list(dict.fromkeys(problem for part in data.by_dimension.values() for problem in design_problems(part)))


@design_problems.register
def _(_: CountData) -> list[str]:
    return []  # counts have no annotators


def describe_links(links: Links, data: Labelled) -> list[str]:
    """Return the problems of `design_problems` from the links between annotators."""
    problems = []
    if not links.checks:
        problems.append(
            "every item has only one annotator: annotators cannot be compared, so competence follows its prior alone"
        )
    active = np.flatnonzero(data.by_annotator)
    if active.size < 3:
        problems.append(
            f"there {'is' if active.size == 1 else 'are'} only {active.size} annotator"
            f"{'' if active.size == 1 else 's'}: agreement of fewer than three does not show who is right, so "
            "competence rests on its prior"
        )
    leaders, members = np.unique(links.leader[active], return_counts=True)
    if leaders.size > 1 and active.size >= 3:
        smallest = data.annotators[leaders[np.argmin(members)]]
        problems.append(
            f"annotators and items fall into {leaders.size} groups with nothing in common (the smallest is around "
            f"annotator {smallest!r}): competences of different groups are linked by the prior alone"
        )
    return problems


def warn_of_design(data: Any, caveats: Sequence[str] = ()) -> list[str]:
    """Warn of each problem of the design, and of a model's own caveats, and return them."""
    problems = [*design_problems(data), *caveats]
    for problem in problems:
        warn(problem, IdentifiabilityWarning)
    return problems
