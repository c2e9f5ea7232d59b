"""Several dimensions annotated together: the same items, the same annotators, one table of annotations each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, counted, enumerated, listed, spell
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import Described


def name_own(what: str, dimension: str) -> str:
    """Return the name in a graph of a variable or dim of one dimension, such as `frequency_focus`.

    Such names are made only here. They are looked up, never parsed.
    """
    return f"{what}_{dimension}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MultiAnnotationData(Described):
    """Annotations of several dimensions over shared items and annotators.

    An annotator may have answered an item in only some dimensions. Labels may differ between dimensions.

    Parameters
    ----------
    by_dimension : mapping of dimension name to AnnotationData
        At least two dimensions, with the same items and annotators in the same order.

    Raises
    ------
    DataError
        If there are fewer than two dimensions, one has no name or has "unsure" labels, or items or annotators differ.

    Examples
    --------
    >>> from bayesanno import AnnotationData, MultiAnnotationData
    >>> focus = AnnotationData.from_records([("s1", "ada", "method"), ("s1", "bo", "result")])
    >>> polarity = AnnotationData.from_records([("s1", "ada", "+"), ("s1", "bo", "+")], labels=["+", "-"])
    >>> data = MultiAnnotationData(by_dimension={"focus": focus, "polarity": polarity})
    >>> data
    MultiAnnotationData: 4 annotations of 1 item by 2 annotators in 2 dimensions, focus, polarity
    >>> data.dimensions, data.n_items, data.n_annotations
    (('focus', 'polarity'), 1, 4)
    """

    what: ClassVar = "who labelled which item how in each of several dimensions"
    reader: ClassVar = "read_multi_annotations"

    by_dimension: Mapping[str, AnnotationData]

    def __post_init__(self) -> None:
        """Check that the dimensions have the same items and annotators."""
        parts = {str(name): part for name, part in dict(self.by_dimension).items()}
        object.__setattr__(self, "by_dimension", parts)
        if len(parts) < 2:
            raise DataError(f"MultiAnnotationData needs at least two dimensions, not {len(parts)}: use AnnotationData")
        for name in parts:
            if not name.strip():
                raise DataError("a dimension has an empty name: name every dimension")
            if "/" in name or name in (".", ".."):  # it names parameters and groups of a fit
                what = "has a slash in its name" if "/" in name else "is named like a folder"
                raise DataError(f"dimension {name!r} {what}, and a fit cannot store it: rename it")
        for name, part in parts.items():
            if part.unsure:
                raise DataError(
                    f"dimension {name!r} has unsure labels, {listed(part.unsure)}, and no model of several dimensions "
                    f"uses them: leave those answers out ({spell('data.without_unsure()', '--drop-unsure')})"
                )
        for what in ("items", "annotators"):
            first, *others = [(name, getattr(part, what)) for name, part in parts.items()]
            for name, names in others:
                if names != first[1]:
                    odd = sorted(set(names) ^ set(first[1]))
                    raise DataError(
                        f"dimensions {first[0]!r} and {name!r} do not have the same {what} in the same order"
                        + (f": see {listed(odd, most=3)}" if odd else "")
                    )

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(self.by_dimension)

    @cached_property
    def _first(self) -> AnnotationData:
        return next(iter(self.by_dimension.values()))

    @property
    def items(self) -> tuple[str, ...]:
        """The names of the items."""
        return self._first.items

    @property
    def annotators(self) -> tuple[str, ...]:
        """The names of the annotators."""
        return self._first.annotators

    @property
    def n_items(self) -> int:
        """Number of items, including those without annotations."""
        return self._first.n_items

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return self._first.n_annotators

    @property
    def n_annotations(self) -> int:
        """Number of annotations, over all dimensions."""
        return sum(part.n_annotations for part in self.by_dimension.values())

    @cached_property
    def label(self) -> np.ndarray:
        """The given labels, dimension after dimension, as positions in the dimension's labels; (annotation,)."""
        return np.concatenate([part.label for part in self.by_dimension.values()])

    def coords(self, **more: Any) -> dict[str, list[Any]]:
        """Return the named coordinates for a model of these annotations, and `more`."""
        named = {"item": self.items, "annotator": self.annotators, "dimension": self.dimensions, **more}
        for name, part in self.by_dimension.items():
            named[name_own("response", name)] = part.labels
        return {dim: list(names) for dim, names in named.items()} | {"annotation": list(range(self.n_annotations))}

    @cached_property
    def hash(self) -> str:
        """A SHA-256 over everything that a model uses."""
        digest = hashlib.sha256()
        for name, part in self.by_dimension.items():
            digest.update(f"{len(name)}:{name}:{part.hash}".encode())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return a one-line description."""
        return (
            f"{counted(self.n_annotations, 'annotation')} of {counted(self.n_items, 'item')} by "
            f"{counted(self.n_annotators, 'annotator')} in {counted(len(self.dimensions), 'dimension')}, "
            f"{enumerated(self.dimensions)}"
        )

    def about(self) -> dict[str, Any]:
        """Return the numbers and names that run.json has of the data."""
        parts = {name: part.about() for name, part in self.by_dimension.items()}
        whole = {"items": self.n_items, "annotators": self.n_annotators, "annotations": self.n_annotations}
        by_dimension = ("labels", "label_names", "gold")
        return whole | {key: {name: about[key] for name, about in parts.items()} for key in by_dimension}

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("annotations", f"{self.n_annotations:,}"),
            ("items", f"{self.n_items:,}"),
            ("annotators", f"{self.n_annotators:,}"),
            *((f"labels of {enumerated([name])}", enumerated(part.labels)) for name, part in self.by_dimension.items()),
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the annotations as a table that `read_multi_annotations` reads.

        A row has the answers of an annotator to an item: the columns are item, annotator, each dimension, and for those
        with true labels gold_<dimension>. The n-th answer of an annotator to an item in one dimension is in the row of
        the n-th answer in the others.

        Raises
        ------
        DataError
            If a dimension has the name of another column.

        Examples
        --------
        >>> from bayesanno import AnnotationData, MultiAnnotationData
        >>> focus = AnnotationData.from_records([("s1", "ada", "method"), ("s1", "bo", "result")])
        >>> tone = AnnotationData.from_records([("s1", "ada", "+"), ("s1", "bo", "-")])
        >>> MultiAnnotationData(by_dimension={"focus": focus, "tone": tone}).to_frame().to_csv(index=False).split()
        ['item,annotator,focus,tone', 's1,ada,method,+', 's1,bo,result,-']
        """
        for name in self.dimensions:
            if name.casefold() in ("item", "annotator") or name in {f"gold_{other}" for other in self.dimensions}:
                raise DataError(f"dimension {name!r} has the name of a column with another meaning: rename it")
        key = ["item", "annotator", "again"]
        parts = []
        for name, part in self.by_dimension.items():
            table = part.to_frame()[["item", "annotator", "label"]].rename(columns={"label": name})
            parts.append(table.assign(again=table.groupby(["item", "annotator"]).cumcount()).set_index(key))
        order = {"item": self.items, "annotator": self.annotators}
        found = pd.concat(parts, axis="columns").reset_index().drop(columns="again")
        place = [found[name].map({one: at for at, one in enumerate(names)}) for name, names in order.items()]
        found = found.iloc[np.lexsort(place[::-1])].reset_index(drop=True)
        gold = {name: part.gold for name, part in self.by_dimension.items() if part.gold}
        return found.fillna("").assign(
            **{f"gold_{name}": found["item"].map(of).fillna("") for name, of in gold.items()}
        )


def join_dimensions(tables: Mapping[str, Any]) -> Any:
    """Return the data that have these tables: the opposite of `bayesanno.data.described.split_dimensions`."""
    return tables[""] if "" in tables else MultiAnnotationData(by_dimension=tables)
