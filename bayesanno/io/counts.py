"""Counts from a table: how many answers each item has, and how many of them are positive."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed
from bayesanno.data.counts import CountData
from bayesanno.io.beside import open_table
from bayesanno.io.names import LAST_ALIASES, Question, check_distinct, find, matching, name_of, where
from bayesanno.io.records import describe
from bayesanno.io.shapes import MOST_ROWS, whole_numbers
from bayesanno.io.sources import Source

log = logging.getLogger(__name__)  # reports the columns that were read


def read_counts(
    source: Source,
    *,
    item: str | None = None,
    successes: str | None = None,
    trials: str | None = None,
    count: str | None = None,
    **opening: Any,
) -> CountData:
    """Read how many answers of each item were positive, from a CSV, TSV or Parquet file or a DataFrame.

    A table has one row per item, with columns item, successes and trials (without an item column the items are named 1,
    2, ... by row); or it is a histogram with columns successes, trials and count, read as `count` items for each row,
    named 1, 2, ... Cells are read as by `read_annotations`; rows that are wholly empty are skipped.

    Parameters
    ----------
    source : path, str or DataFrame
        As for `read_annotations`.
    item, successes, trials, count : str, optional
        The names of the columns. By default columns are recognised by their names, in upper or lower case: those of
        item as in `read_annotations`; successes, positive, positives, x; trials, n, total; count, counts, freq,
        frequency.
    **opening
        `encoding` and `separator`, as for `read_annotations`.

    Raises
    ------
    DataFileError
        If the file is missing or cannot be opened.
    DataError
        If the table cannot be read, a count is no whole number of 0 or more, successes exceed trials, or an item
        appears twice; if a column may count the items of a row, or something else.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.counts import read_counts
    >>> data = read_counts(pd.DataFrame({"successes": [0, 7], "trials": [10, 10], "count": [2, 1]}))
    >>> data.items, data.successes
    (('1', '2', '3'), array([0, 0, 7]))
    """
    frame = open_table(source, opening)
    given = {"successes": successes, "trials": trials}
    roles = {role: find(frame, role, name) for role, name in given.items()}
    lacking = next((role for role, name in roles.items() if name is None), None)
    if lacking is not None:
        raise DataError(
            f"{name_of(frame)} has no column for the {lacking} among {listed(list(frame.columns))}: rename one"
        )
    roles |= {"item": find(frame, "item", item), "count": _find_count(frame, count, roles, trials)}
    check_distinct(frame, roles)
    names = {role: name for role, name in roles.items() if name is not None}
    if "item" in names and "count" in names:
        raise DataError(f"{name_of(frame)}: a row with a count stands for several items, but column "
                        f"{names['item']!r} names "
                        "one: leave out one of the two columns")  # fmt: skip
    blank = (frame[list(names.values())] == "").all(axis=1).to_numpy()
    positive, answered = (whole_numbers(frame, names[role], blank) for role in ("successes", "trials"))
    if (positive > answered).any():
        row = int((positive > answered).argmax())
        raise DataError(
            f"{where(frame, row)}: {positive[row]} successes in {answered[row]} trials: correct one of them"
        )
    rows = np.flatnonzero(~blank)
    if "count" in names:
        times = whole_numbers(frame, names["count"], blank)
        if times.sum() > MOST_ROWS:
            raise DataError(f"{name_of(frame)}: column {names['count']!r} adds up to {times.sum():,} items, and the "
                            "limit is "
                            f"{MOST_ROWS:,}: divide the counts or leave rows out")  # fmt: skip
        rows = np.repeat(np.arange(len(frame)), times)
    items = list(map(str, range(1, rows.size + 1)))
    if "item" in names:
        items = frame[names["item"]].iloc[rows].tolist()
        first: dict[str, int] = {}
        for row, name in zip(rows.tolist(), items, strict=True):
            if not name:
                raise DataError(f"{where(frame, row)}: these counts have no item: fill it in or remove the row")
            if first.setdefault(name, row) != row:
                raise DataError(f"{where(frame, row)}: item {name!r} already has counts in {frame.attrs['unit']} "
                                f"{frame.index[first[name]]}: keep one row per item")  # fmt: skip
    said = "; ".join(f"{role} in {name!r}" for role, name in names.items())
    rest = describe(frame, {}, frame, names.values())
    log.info("%s: %s", name_of(frame), "; ".join(filter(None, [said, rest])))
    try:
        return CountData(items=tuple(items), successes=positive[rows], trials=answered[rows])
    except DataError as error:
        raise DataError(f"{name_of(frame)}: {error}") from None


def holds_counts(header: pd.Index[Any]) -> bool:
    """Return whether a table with these columns is one of counts: of successes and trials, and not of annotations."""
    names = list(map(str, header))
    is_long = all(matching(names, role) for role in ("annotator", "label"))
    return not is_long and all(matching(names, role) for role in ("successes", "trials"))


def _find_count(frame: pd.DataFrame, count: str | None, roles: dict[str, str | None], trials: str | None) -> str | None:
    """Return the column that counts the items of a row, if there is one; `n` and `weight` may say something else."""
    if count is not None:
        return find(frame, "count", count)
    found = next((name for name in matching(frame.columns, "count") if name not in roles.values()), None)
    is_sure = found is None or found.casefold() not in LAST_ALIASES["count"]
    if found is not None and not is_sure and trials is None:
        raise Question(f"{name_of(frame)}: the column {found!r} may say how many items have the numbers of a row: "
                       "use trials="
                       f"{roles['trials']!r}, and count={found!r} if it does")  # fmt: skip
    return found if is_sure else None
