"""Ratings as frozen values: numbers on a scale with two ends, which annotators gave to items."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, as_names, counted, listed, nearest, option
from bayesanno.data.columns import hash_columns
from bayesanno.data.described import Described, freeze
from bayesanno.data.frame import as_text, collect_fields, lay_out_long, place_of
from bayesanno.data.labelled import NO_ANNOTATION, Codes, LongTable, find_codes

FEW = 8  # different ratings: fewer are grades


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RatingData(LongTable, Described):
    """Ratings in long form: each entry of the arrays is one number that one annotator gave to one item.

    Designs may be unbalanced, an annotator may rate an item twice, and an item may have no rating.

    Parameters
    ----------
    item, annotator : array of int, shape (annotation,)
        Positions in `items` and `annotators`.
    value : array of float, shape (annotation,)
        The ratings.
    items, annotators : tuple of str
        The names.
    scale : tuple of two floats, optional
        The ends of the scale, such as (0, 100); by default the lowest and the highest rating. Priors are shares of it.
    scale_observed : bool, default False
        Whether the scale is that of the ratings, since none was given.
    gold, controls : mapping of item name to number, optional
        Known true values: for evaluation only, and in the likelihood. They may be beyond the scale.
    is_open : bool, default False
        Whether ratings may be beyond the scale, as those that a model with open ends simulates.
    item_columns, annotator_columns : mapping of column name to values, or DataFrame, optional
        Further columns of items and of annotators.

    Raises
    ------
    DataError
        If there is no rating, a number is not finite, a rating is outside the scale, the scale has no width, a name is
        empty or repeated, or a known value has an unknown item.

    Examples
    --------
    >>> from bayesanno.data.ratings import RatingData
    >>> rated = [("s1", "ada", 70), ("s1", "bo", 35.5), ("s2", "ada", 90)]
    >>> RatingData.from_records(rated, scale=(0, 100))
    RatingData: 3 ratings of 2 items by 2 annotators, from 35.5 to 90 on a scale from 0 to 100
    >>> RatingData.from_records(rated).describe()
    '3 ratings of 2 items by 2 annotators, from 35.5 to 90, which are taken as the ends of the scale'
    """

    what: ClassVar = "who rated which item how high, in numbers"
    reader: ClassVar = "read_ratings"

    item: Codes
    annotator: Codes
    value: Any
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    scale: Any = None
    scale_observed: bool = False
    is_open: bool = False
    gold: Mapping[str, float] = field(default_factory=dict)
    controls: Mapping[str, float] = field(default_factory=dict)
    item_columns: Mapping[str, Any] = field(default_factory=dict)
    annotator_columns: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every field and freeze the arrays."""
        if np.size(self.value) == 0:
            raise DataError(NO_ANNOTATION.replace("a label", "a rating"))
        self._check_long()
        values = np.array(self.value, dtype=float)
        if values.shape != self.item.shape:
            raise DataError(f"value must have one entry per rating, shape {self.item.shape}, not {values.shape}")
        if not np.isfinite(values).all():
            at = int(np.argmin(np.isfinite(values)))
            rated = f"{self.annotators[self.annotator[at]]!r} rated item {self.items[self.item[at]]!r}"
            raise DataError(f"{rated} as {values[at]}: correct it, or leave the rating out")
        object.__setattr__(self, "value", freeze(values))
        if self.scale is None:
            object.__setattr__(self, "scale_observed", True)
            object.__setattr__(self, "scale", (values.min(), values.max()))
            if values.min() == values.max():
                raise DataError(f"all ratings are {values[0]:g}: there is nothing to be learnt from them")
        low, high = map(float, self.scale)
        if not (low < high and np.isfinite([low, high]).all()):
            raise DataError(f"the scale is from {low:g} to {high:g}: give its two ends, the lower one first")
        object.__setattr__(self, "scale", (low, high))
        if not self.is_open and (values.min() < low or values.max() > high):
            raise DataError(
                f"ratings are from {values.min():g} to {values.max():g}, outside the scale from {low:g} to {high:g}: "
                f"correct them, or give another {option('scale')}"
            )
        for what in ("gold", "controls"):
            known = {str(item): float(value) for item, value in dict(getattr(self, what)).items()}
            for item, value in known.items():
                if item not in self._item_index:
                    raise DataError(f"{what}: item {item!r} is not among the items{nearest(item, self.items)}")
                if not np.isfinite(value):
                    raise DataError(f"{what}: item {item!r} is {value}: correct it, or leave it out")
            object.__setattr__(self, what, known)

    @classmethod
    def from_records(cls, records: Iterable[tuple[Any, Any, Any]], **fields: Any) -> Self:
        """Build from (item, annotator, rating) triples; items and annotators are numbered by first appearance.

        `items` may name all items, and `fields` are further ones of the class.
        """
        triples = [(str(item), str(annotator), float(value)) for item, annotator, value in records]
        of_item, by, value = zip(*triples, strict=True) if triples else ((), (), ())
        items = as_names(fields.pop("items", dict.fromkeys(of_item)))
        annotators = tuple(dict.fromkeys(by))
        return cls(
            item=find_codes("item", of_item, items),
            annotator=find_codes("annotator", by, annotators),
            value=value,
            items=items,
            annotators=annotators,
            **fields,
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        scale: tuple[float, float] | None = None,
        item_columns: Sequence[str] | None = None,
        annotator_columns: Sequence[str] | None = None,
    ) -> Self:
        """Build from a long table with the columns item, annotator and label, as `AnnotationData.from_frame` does.

        Labels are the ratings; `gold` and `control` are known true values of the item.

        Raises
        ------
        DataError
            If a label or a known value is no number, all ratings are equal, or there are fewer than eight different
            ones; otherwise as for the class and `AnnotationData.from_frame`.

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesanno.data.ratings import RatingData
        >>> rated = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": [70, 35.5], "gold": 60})
        >>> data = RatingData.from_frame(rated, scale=(0, 100))
        >>> data.value, data.gold
        (array([70. , 35.5]), {'s1': 60.0})
        >>> RatingData.from_frame(data.to_frame()).hash == data.hash
        True
        """

        def read(cell: str, role: str) -> float:
            with suppress(ValueError):
                if "_" not in cell and math.isfinite(value := float(cell)):
                    return value
            place = place_of(frame, int((as_text(frame[role]) == cell).argmax()))
            raise DataError(
                f"{place}: the {'rating' if role == 'label' else role} {cell!r} is no number: correct it, or name "
                f"what is missing with {option('missing', cell)}"
            )

        about = getattr(frame, "attrs", {})
        given = {"item": item_columns, "annotator": annotator_columns}
        columns = {of: about.get(f"{of}_columns", ()) if names is None else as_names(names)
                   for of, names in given.items()}  # fmt: skip
        fields = collect_fields(frame, None, (), columns, ())
        code, names = fields.pop("label"), fields.pop("labels")
        values = np.array([read(name, "label") for name in names])[code]
        ends = about.get("scale") if scale is None else scale
        low, high = (-math.inf, math.inf) if ends is None or not ends[0] < ends[1] else ends
        outside = np.flatnonzero((values < low) | (values > high))
        if outside.size:
            row = np.flatnonzero((as_text(frame["label"]) != "").to_numpy())[outside[0]]
            raise DataError(
                f"{place_of(frame, int(row))}: the rating {values[outside[0]]:g} is outside the scale from "
                f"{low:g} to {high:g}: correct it, or give another {option('scale')}"
            )
        distinct = np.unique(values)
        if distinct.size == 1:
            raise DataError(f"all ratings are {distinct[0]:g}: there is nothing to be learnt from them")
        if distinct.size < min(FEW, len(code)):
            raise DataError(
                f"ratings have only {distinct.size} different values, {listed([f'{one:g}' for one in distinct])}: read "
                "them as annotations with these labels, and fit ordinal_dawid_skene"
            )
        known: Any = {what: {item: read(cell, role) for item, cell in fields.pop(what, {}).items()}
                      for what, role in (("gold", "gold"), ("controls", "control"))}  # fmt: skip
        kept = ("items", "annotators", "item", "annotator", "item_columns", "annotator_columns")
        return cls(value=values, scale=ends, **known, **{name: fields[name] for name in kept})

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return len(self.annotators)

    @property
    def n_viewers(self) -> int:
        """Number of annotators: ratings have no orders."""
        return self.n_annotators

    @property
    def width(self) -> float:
        """The width of the scale."""
        return float(self.scale[1] - self.scale[0])

    @cached_property
    def by_item(self) -> Codes:
        """The number of ratings of each item; shape (item,)."""
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def known_values(self) -> np.ndarray:
        """The true value of each control, inf of other items; shape (item,)."""
        return freeze(np.array([self.controls.get(item, math.inf) for item in self.items]))

    @cached_property
    def gold_values(self) -> np.ndarray:
        """The true value of each item of gold, nan of other items; shape (item,)."""
        return freeze(np.array([self.gold.get(item, math.nan) for item in self.items]))

    def coords(self, **more: Sequence[str]) -> dict[str, list[Any]]:
        """Return the named coordinates for a model of these ratings, and `more`."""
        named = {"item": self.items, "annotator": self.annotators, **more}
        return {dim: list(names) for dim, names in named.items()} | {"annotation": list(range(self.n_annotations))}

    @cached_property
    def hash(self) -> str:
        """A SHA-256 over everything that a model uses: the names, the scale, the ratings in order, and the controls."""
        digest = hashlib.sha256(json.dumps([self.items, self.annotators, self.scale, dict(self.controls)]).encode())
        for array, kind in ((self.item, "<i8"), (self.annotator, "<i8"), (self.value, "<f8")):
            digest.update(array.astype(kind).tobytes())
        digest.update(hash_columns(self.item_columns) + b"annotators" + hash_columns(self.annotator_columns))
        return digest.hexdigest()

    def about(self) -> dict[str, Any]:
        """Return the numbers that run.json has of the data."""
        sizes = {"items": self.n_items, "annotators": self.n_annotators, "ratings": self.n_annotations}
        return sizes | {"scale": list(self.scale), "gold": len(self.gold)}

    def describe(self) -> str:
        """Return a one-line description."""
        low, high = self.scale
        observed = ", which are taken as the ends of the scale"
        return (
            f"{counted(self.n_annotations, 'rating')} of {counted(self.n_items, 'item')} by "
            f"{counted(self.n_annotators, 'annotator')}, from {self.value.min():g} to {self.value.max():g}"
            + (observed if self.scale_observed else f" on a scale from {low:g} to {high:g}")
        )

    def _facts(self) -> list[tuple[str, str]]:
        sizes = (("ratings", self.n_annotations), ("items", self.n_items), ("annotators", self.n_annotators))
        scale = "{:g} to {:g}".format(*self.scale) + (" (that of the ratings)" if self.scale_observed else "")
        known = {"gold": self.gold, "controls": self.controls}
        return [
            *((name, f"{n:,}") for name, n in sizes),
            ("scale", scale),
            *((what, f"of {counted(len(values), 'item')}") for what, values in known.items() if values),
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the ratings as a long table, of which `from_frame` makes equal data.

        The columns are item, annotator, label, which is the rating, gold and control if any is known, and the columns
        of items and annotators. Items and annotators without ratings have no row.
        """
        answers = {"label": self.value}
        for column, given in (("gold", self.gold), ("control", self.controls)):
            if given:
                answers[column] = np.array([given.get(item, math.nan) for item in self.items])[self.item]
        made = lay_out_long(self, answers)
        made.attrs |= {} if self.scale_observed else {"scale": self.scale}
        return made
