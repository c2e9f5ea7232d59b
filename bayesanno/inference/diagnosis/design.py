"""Checks before sampling: whether the design identifies competence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Self

import numpy as np

from bayesanno._core.wording import counted
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.labelled import ANYONE, Labelled
from bayesanno.modeling.expectation import PatternBlock
from bayesanno.modeling.findings import Finding, check, find


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
def find_in_design(data: Any) -> list[Finding]:
    """Return why competence cannot be learnt from this design; empty without problems.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.inference.diagnosis.design import find_in_design
    >>> alone = AnnotationData.from_records([("s1", "ada", "yes"), ("s2", "bo", "no"), ("s3", "cy", "no")])
    >>> find_in_design(alone)[0].message
    'Every item has only one annotator: competence follows its prior alone.'
    """
    raise TypeError(f"no kind of data: {type(data).__name__}")


@find_in_design.register
def _(data: AnnotationData) -> list[Finding]:
    if data.annotators == (ANYONE,):
        return [find("annotators-unnamed")]
    of_control = data.annotator[data.control_codes[data.item] >= 0]
    if np.isin(np.flatnonzero(data.by_annotator), of_control).all():
        return []  # each annotator is compared with known labels
    return find_in_links(link_annotators(data.item, data.annotator, data.n_items, data.n_annotators), data)


@find_in_design.register
def _(data: MultiAnnotationData) -> list[Finding]:
    return list(dict.fromkeys(one for part in data.by_dimension.values() for one in find_in_design(part)))


@find_in_design.register
def _(_: CountData) -> list[Finding]:
    return []  # counts have no annotators


def find_in_links(links: Links, data: Labelled) -> list[Finding]:
    """Return the findings of `find_in_design` from the links between annotators."""
    active = np.flatnonzero(data.by_annotator)
    few = check("design-few-annotators", active.size, n=counted(active.size, "annotator"))
    leaders, members = np.unique(links.leader[active], return_counts=True)
    smallest = [] if few else [data.annotators[leaders[np.argmin(members)]]]
    apart = [] if few else check("design-groups-apart", leaders.size, smallest)
    return [*([] if links.checks else [find("design-one-answer")]), *few, *apart]
