"""What is checked before any time is spent on sampling: whether the design lets competence be learnt."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import IdentifiabilityWarning, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayesanno.modeling.data_kinds import Data


def design_problems(data: AnnotationData) -> list[str]:
    """Return, in plain words, why competence cannot be learnt from this design; empty if nothing stands in the way.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.inference.identifiability import design_problems
    >>> alone = AnnotationData.from_records([("s1", "ada", "yes"), ("s2", "bo", "no"), ("s3", "cy", "no")])
    >>> design_problems(alone)[0]
    'every item has only one annotator: nobody can be checked against anybody, so competence follows its prior alone'
    """
    import scipy.sparse as sp

    problems = []
    pairs = np.stack(
        np.divmod(np.unique(data.item * data.n_annotators + data.annotator), data.n_annotators)
    )  # (2, pair)
    if np.bincount(pairs[0]).max() == 1:
        problems.append(
            "every item has only one annotator: nobody can be checked against anybody, "
            "so competence follows its prior alone"
        )
    active = np.unique(data.annotator).size
    if active < 3:
        problems.append(
            f"there {'is' if active == 1 else 'are'} only {active} annotator{'' if active == 1 else 's'}: "
            "agreement of fewer than three does not tell who is right, so competence rests on its prior"
        )
    size = data.n_items + data.n_annotators
    graph = sp.coo_array((np.ones(pairs.shape[1]), (pairs[0], data.n_items + pairs[1])), shape=(size, size))
    piece = sp.csgraph.connected_components(graph, directed=False)[1]
    pieces = np.unique(piece[pairs[0]])
    if pieces.size > 1 and active >= 3:
        members = np.bincount(piece[data.n_items + np.unique(data.annotator)])
        smallest = data.annotators[int(np.argmax(piece[data.n_items :] == pieces[np.argmin(members[pieces])]))]
        problems.append(
            f"annotators and items fall into {pieces.size} groups with nothing in common (the smallest is around "
            f"annotator {smallest!r}): competences of different groups are linked by the prior alone"
        )
    return problems


@singledispatch
def tables_of(data: Data) -> list[AnnotationData]:
    """Return the tables of annotations that data consist of; counts have no annotators, and so none."""
    raise TypeError(f"no kind of data: {type(data).__name__}")


@tables_of.register(AnnotationData)
def _(data: AnnotationData) -> list[AnnotationData]:
    return [data]


@tables_of.register(MultiAnnotationData)
def _(data: MultiAnnotationData) -> list[AnnotationData]:
    return list(data.by_dimension.values())


@tables_of.register(CountData)
def _(_: CountData) -> list[AnnotationData]:
    return []


def warn_of_design(data: Data, caveats: Sequence[str] = ()) -> list[str]:
    """Warn of each problem of the design, and of a model's own caveats, and return them."""
    found = dict.fromkeys(problem for table in tables_of(data) for problem in design_problems(table))
    problems = [*found, *caveats]
    for problem in problems:
        warn(problem, IdentifiabilityWarning)
    return problems
