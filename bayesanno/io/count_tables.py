"""Counts from a table: how many answers each item has, and how many of them are positive."""

from __future__ import annotations

import logging

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import option
from bayesanno.data.counts import CountData
from bayesanno.io.columns import check_distinct, expand_rows, filled, whole_numbers
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.sources import Source, open_table
from bayesanno.io.text_table import LAST_ALIASES, TextTable

log = logging.getLogger(__name__)  # reports the columns that were read


def read_counts(
    source: Source,
    *,
    item: str | None = None,
    successes: str | None = None,
    trials: str | None = None,
    count: str | None = None,
    encoding: str | None = None,
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
    encoding : str, optional
        As for `read_annotations`.

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
    >>> from bayesanno.io.count_tables import read_counts
    >>> data = read_counts(pd.DataFrame({"successes": [0, 7], "trials": [10, 10], "count": [2, 1]}))
    >>> data.items, data.successes
    (('1', '2', '3'), array([0, 0, 7]))
    """
    options = ReadOptions(item=item, successes=successes, trials=trials, count=count)
    return counts_from(open_table(source, encoding), options)


def holds_counts(table: TextTable) -> bool:
    """Return whether a table is one of counts: it has columns of successes and of trials, and no annotations.

    Annotations in long form have columns for an annotator and for a label, next to any others.
    """
    long = all(table.matching(role) for role in ("annotator", "label"))
    return not long and all(table.matching(role) for role in ("successes", "trials"))


def _find_count(table: TextTable, columns: dict[str, int], options: ReadOptions) -> int | None:
    """Return the column that counts the items of a row, if there is one; `n` and `weight` may say something else."""
    if options.count is not None:
        return table.need("count", options.count)
    found = next((at for at in table.matching("count") if at not in columns.values()), None)
    is_sure = found is None or table.header[found].casefold() not in LAST_ALIASES["count"]
    if found is not None and not is_sure and options.trials is None:
        name, trials = table.header[found], table.header[columns["trials"]]
        raise DataError(
            f"{table.name}: the column {name!r} may say how many items have the numbers of a row: if so, use "
            f"{option('trials', trials)} and {option('count', name)}; if it says something else, use "
            f"{option('trials', trials)} alone"
        )
    return found if is_sure else None


def counts_from(table: TextTable, options: ReadOptions) -> CountData:
    """Return the counts in a table, as `read_counts` does.

    Raises
    ------
    DataError
        As for `read_counts`.
    """
    columns = {role: table.need(role, getattr(options, role)) for role in ("successes", "trials")}
    count_column, item_column = _find_count(table, columns, options), table.find_item(options.item)
    roles = {**columns, "item": item_column, "count": count_column}
    check_distinct(table, roles)
    if item_column is not None and count_column is not None:
        raise DataError(
            f"{table.name}: a row with a count stands for several items, but column {table.header[item_column]!r} "
            "names one: leave out one of the two columns"
        )
    used = {role: column for role, column in roles.items() if column is not None}
    blank = ~np.any([filled(table.columns[column]) for column in used.values()], axis=0)  # (row,)
    positive, answered = (whole_numbers(table, column, blank) for column in columns.values())
    more = np.flatnonzero(positive > answered)
    if more.size:
        row = int(more[0])
        raise DataError(f"{table.where(row)}: {positive[row]} successes in {answered[row]} trials: correct one of them")
    rows = np.flatnonzero(~blank)
    if count_column is not None:
        rows = expand_rows(table, count_column, blank)
    if item_column is None:
        names = [str(number) for number in range(1, rows.size + 1)]
    else:
        names = [table.columns[item_column][row] for row in rows]
        first_row: dict[str, int] = {}
        for row, name in zip(rows.tolist(), names, strict=True):
            if not name:
                raise DataError(f"{table.where(row)}: these counts have no item: fill it in or remove the row")
            if first_row.setdefault(name, row) != row:
                raise DataError(
                    f"{table.where(row)}: item {name!r} already has counts in {table.unit} "
                    f"{table.lines[first_row[name]]}: keep one row per item"
                )
    read_as = "; ".join(f"{role} in {table.header[column]!r}" for role, column in used.items())
    log.info("%s: %s%s", table.name, read_as, table.name_rest(used.values()))
    try:
        return CountData(items=tuple(names), successes=positive[rows], trials=answered[rows])
    except DataError as error:
        raise DataError(f"{table.name}: {error}") from None
