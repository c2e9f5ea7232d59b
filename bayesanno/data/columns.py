"""Columns of items, or of annotators: a name or a number for each, besides the annotations.

The invariant: levels, mean and standard deviation are those of the items, or annotators, that a column was made from.
Derived data keep them, so that a name or a number means the same for new items.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed, nearest
from bayesanno.data.described import freeze


@dataclass(frozen=True, eq=False)
class Column:
    """A column of items or annotators: of names, or of numbers.

    Parameters
    ----------
    values : array, shape (item,) or (annotator,)
        Numbers, nan where one is missing; or positions in `levels`, -1 where a name is missing.
    levels : tuple of str
        The names; empty for numbers.
    mean, sd : float
        The mean and standard deviation of the numbers that the column was made from.

    Examples
    --------
    >>> from bayesanno.data.columns import Column
    >>> Column.of(["llama", "opt", "llama"]).levels, Column.of([1, 2, 3]).mean
    (('llama', 'opt'), 2.0)
    """

    values: np.ndarray
    levels: tuple[str, ...] = ()
    mean: float = 0.0
    sd: float = 1.0

    @classmethod
    def of(cls, values: Any, levels: Sequence[str] | None = None) -> Self:
        """Return a column of values, one for each item or annotator; text, or `levels`, make a column of names."""
        given = pd.Series(values)
        if levels is None and pd.api.types.is_numeric_dtype(given.dtype):
            numbers = given.to_numpy(dtype=float, na_value=np.nan)
            known = numbers[np.isfinite(numbers)]
            mean, sd = (float(known.mean()), float(known.std())) if known.size else (0.0, 0.0)
            return cls(freeze(numbers), (), mean, sd)
        names = ["" if missing else str(name).strip() for name, missing in zip(given, given.isna(), strict=True)]
        known_levels = tuple(sorted({name for name in names if name})) if levels is None else tuple(levels)
        position = {name: code for code, name in enumerate(known_levels)} | {"": -1}
        return cls(freeze(np.array([position[name] for name in names], dtype=np.int64)), known_levels)

    @property
    def is_missing(self) -> np.ndarray:
        """Whether a value is missing; one for each item or annotator."""
        return self.values < 0 if self.levels else ~np.isfinite(self.values)

    @property
    def names(self) -> list[str]:
        """The values as text, "" if missing."""
        named = [*self.levels, ""] if self.levels else None
        return [named[value] if named else "" if np.isnan(value) else f"{value:g}" for value in self.values]

    def describe(self) -> dict[str, Any]:
        """Return a description of the column, as values for JSON."""
        missing = {"missing": int(self.is_missing.sum())}
        if self.levels:
            return {"levels": len(self.levels)} | missing
        return {"mean": self.mean, "sd": self.sd} | missing

    def take(self, chosen: np.ndarray) -> Self:
        """Return the column of some items or annotators, by position; position -1 gives missing values."""
        nothing = -1 if self.levels else np.nan
        return replace(
            self, values=freeze(np.where(chosen >= 0, self.values[chosen], nothing).astype(self.values.dtype))
        )

    def recode(self, known: Self, name: str) -> Self:
        """Return the column with the levels, the mean and the standard deviation of a known column of that name.

        Raises
        ------
        DataError
            If a name is not among the levels, or one column has names and the other numbers.
        """
        if bool(self.levels) != bool(known.levels):
            raise DataError(f"item column {name!r} has {'numbers' if known.levels else 'names'}, unlike in the fit")
        if not known.levels:
            return replace(known, values=self.values)
        new = next((level for level in self.levels if level not in known.levels), None)
        if new is not None:
            raise DataError(
                f"{name} {new!r} of an item does not occur in the fit, whose values are {listed(known.levels)}"
                f"{nearest(new, known.levels)}: leave these items out, or fit again with them"
            )
        return type(self).of(self.names, known.levels)


def read_columns(of: str, columns: Mapping[str, Any] | pd.DataFrame, n: int) -> dict[str, Column]:
    """Return columns by name, from columns or from values for each of n items, or annotators (`of`).

    Raises
    ------
    DataError
        If the number of values differs from n.
    """
    found = {}
    for name, values in columns.items():
        column = values if isinstance(values, Column) else Column.of(values)
        if len(column.values) != n:
            raise DataError(
                f"{of}_columns: {str(name)!r} has {len(column.values):,} values for {n:,} {of}s: give one value for "
                f"each {of}, in the order of the {of}s"
            )
        found[str(name)] = column
    return found


def hash_columns(columns: Mapping[str, Column]) -> bytes:
    """Return a digest of columns; empty without columns."""
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(repr((name, column.levels, column.mean, column.sd)).encode() + column.values.tobytes())
    return digest.digest() if columns else b""


def take_columns(columns: Mapping[str, Column], chosen: np.ndarray) -> dict[str, Column]:
    """Return the columns of some items or annotators, by position; position -1 gives missing values."""
    return {name: column.take(chosen) for name, column in columns.items()}


def extend_columns(columns: Mapping[str, Column], n: int, n_all: int) -> dict[str, Column]:
    """Return columns of n items or annotators, with missing values for the further ones of n_all."""
    return take_columns(columns, np.where(np.arange(n_all) < n, np.arange(n_all), -1))
