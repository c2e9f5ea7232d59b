"""Counts as frozen values: the number of answers to each item, and of positive ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, counted, listed
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import Described, freeze
from bayesanno.data.labelled import Codes, check_names


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CountData(Described):
    """The number of positive answers of each item.

    Parameters
    ----------
    items : tuple of str
        The names.
    successes, trials : array of int, shape (item,)
        The number of positive answers, and of all answers, to each item.

    Raises
    ------
    DataError
        If the lengths differ, a count is negative or not whole, successes exceed trials, or no item has a trial.

    Examples
    --------
    >>> from bayesanno import CountData
    >>> CountData(items=("s1", "s2"), successes=[3, 0], trials=[10, 9])
    CountData: 19 answers to 2 items, 3 of them positive
    """

    what: ClassVar = "how many of an item's answers were positive; from annotations: CountData.from_annotations"
    reader: ClassVar = "read_counts"

    items: tuple[str, ...]
    successes: Codes
    trials: Codes

    def __post_init__(self) -> None:
        """Check every field and freeze the arrays."""
        names = check_names("items", self.items)
        object.__setattr__(self, "items", names)
        for what in ("successes", "trials"):
            counts = np.array(getattr(self, what))
            if counts.shape != (len(names),):
                raise DataError(f"{what} must have one count per item, shape ({len(names)},), not {counts.shape}")
            numeric = counts.dtype.kind in "iuf"
            valid = (
                (counts >= 0) & (counts < 2**63) & (counts == np.floor(counts)) if numeric else np.zeros(1, dtype=bool)
            )
            if not valid.all():
                bad = int(np.argmin(valid))
                wrong = counts[bad].item() if numeric else counts[bad]
                raise DataError(f"{what} of item {names[bad]!r} is {wrong}: it must be a whole number, 0 or more")
            object.__setattr__(self, what, freeze(counts.astype(np.int64)))
        more = np.flatnonzero(self.successes > self.trials)
        if more.size:
            at = more[0]
            raise DataError(f"item {names[at]!r} has {self.successes[at]} successes in {self.trials[at]} trials")
        if not self.trials.any():
            raise DataError("no item has a trial: every count of trials is 0")

    @property
    def n_items(self) -> int:
        """Number of items, including those without trials."""
        return len(self.items)

    def coords(self, **more: Sequence[str]) -> dict[str, list[Any]]:
        """Return the named coordinates of a model of these counts, and `more`."""
        return {dim: list(names) for dim, names in {"item": self.items, **more}.items()}

    @cached_property
    def hash(self) -> str:
        """A SHA-256 over everything that a model uses: the names and the counts."""
        digest = hashlib.sha256(json.dumps(self.items).encode())
        for counts in (self.successes, self.trials):
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()

    def describe(self, *, positive: str = "positive") -> str:
        """Return a one-line description; `positive` names the answers that were counted.

        Examples
        --------
        >>> from bayesanno import CountData
        >>> CountData(items=("s1", "s2"), successes=[3, 0], trials=[10, 9]).describe(positive="'yes'")
        "19 answers to 2 items, 3 of them 'yes'"
        """
        return (
            f"{counted(int(self.trials.sum()), 'answer')} to {counted(self.n_items, 'item')}, "
            f"{self.successes.sum():,} of them {positive}"
        )

    def about(self) -> dict[str, Any]:
        """Return the numbers that run.json has of the data."""
        return {"items": self.n_items, "trials": int(self.trials.sum()), "successes": int(self.successes.sum())}

    def to_frame(self) -> pd.DataFrame:
        """Return the counts as a table that `read_counts` reads: item, successes, trials.

        Examples
        --------
        >>> from bayesanno import CountData
        >>> CountData(items=("s1", "s2"), successes=[3, 0], trials=[5, 5]).to_frame().to_csv(index=False).split()
        ['item,successes,trials', 's1,3,5', 's2,0,5']
        """
        return pd.DataFrame({"item": list(self.items), "successes": self.successes, "trials": self.trials})

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("items", f"{self.n_items:,}"),
            ("answers (trials)", f"{self.trials.sum():,}"),
            ("positive (successes)", f"{self.successes.sum():,}"),
        ]

    @classmethod
    def from_annotations(cls, data: AnnotationData, *, positive: str) -> Self:
        """Count how often `positive` was given to each item, against all other labels together.

        "Unsure" answers are neither, and do not count as trials.

        Raises
        ------
        DataError
            If `positive` is not among the classes.

        Examples
        --------
        >>> from bayesanno import AnnotationData, CountData
        >>> data = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no")])
        >>> CountData.from_annotations(data, positive="yes").successes
        array([1, 0])
        """
        if positive not in data.classes:
            raise DataError(f"positive label {positive!r} is not among the labels {listed(data.classes)}")
        votes = data.votes[:, data.class_codes].astype(np.int64)  # (item, true_class)
        return cls(items=data.items, successes=votes[:, data.classes.index(positive)], trials=votes.sum(axis=1))
