"""Find the columns of item, annotator and label of a long table whose names are ambiguous.

The invariant: a column with an ambiguous name is used only if its rows fit a long table, and only if no other column
fits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from bayesanno.io.names import MOST_CLASSES
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable

ROLES = ("item", "annotator", "label")
_MOST_TRIED = 10  # columns from which suggestions are made
_UNLIKE, _REPEATED = 0.9, 0.95  # the least share of rows with their own pair, the largest with their own item


def name_columns(table: TextTable, options: ReadOptions) -> ReadOptions:
    """Return options that name the columns of a long table whose own names are ambiguous.

    An id of anything is the item, `model` the annotator and `score` the label if each role then has one column and the
    rows fit a long table: items and annotators repeat, but few pairs of them do.
    """
    lacking = [role for role, columns in _find_named(table, options).items() if not columns]
    if any(options.roles[role] is not None for role in lacking):
        return options  # the template of an item or annotator may have several fields
    if not lacking or options.format not in ("auto", "long") or options.columns or options.split:
        return options
    fitting = _find_fitting(table, options, lacking)
    if len(fitting) != 1:
        return options
    found: dict[str, Any] = {role: table.header[column] for role, column in zip(ROLES, fitting[0], strict=True)}
    found["label"] = (found["label"],)
    return replace(options, **{role: found[role] for role in lacking})


def _find_named(table: TextTable, options: ReadOptions) -> dict[str, list[int]]:
    """Return the columns of each role, by option or by alias."""
    return {
        role: table.matching(role) if name is None else [at for at, each in enumerate(table.header) if each == name]
        for role, name in options.roles.items()
        if role in ROLES
    }


def _find_fitting(
    table: TextTable, options: ReadOptions, lacking: Sequence[str], others: Sequence[int] = ()
) -> list[tuple[int, ...]]:
    """Return fitting columns of item, annotator and label; a role without one takes weak aliases or `others`."""
    named = _find_named(table, options)
    possible = (columns or {*table.matching_weakly(role), *others} for role, columns in named.items())
    return [columns for columns in product(*possible) if _rows_fit(table, columns, lacking)]


def _rows_fit(table: TextTable, columns: Sequence[int], lacking: Collection[str]) -> bool:
    """Return whether columns of item, annotator and label fit; roles that were lacking have stricter rules."""
    if len(set(columns)) < len(columns) or not table.columns:
        return False
    rows = [row for row in zip(*(table.columns[column] for column in columns), strict=True) if row[2]]
    items, annotators, labels = map(set, zip(*rows, strict=True)) if rows else (set(), set(), set())
    n = len(rows)
    return (
        len({row[:2] for row in rows}) >= _UNLIKE * n > 0
        and ("item" not in lacking or 1 < len(items) <= _REPEATED * n)
        and ("annotator" not in lacking or (1 < len(annotators) <= n / 2 and not annotators & labels))
        and ("label" not in lacking or 1 < len(labels) <= min(MOST_CLASSES, n / 2))
    )


def suggest_columns(table: TextTable, options: ReadOptions, lacking: Sequence[str]) -> list[str]:
    """Return an option for each role that has no column, with the column if only one fits."""
    taken = {column for columns in _find_named(table, options).values() for column in columns} | {
        *table.matching("gold")
    }
    rest = [column for column in range(len(table.header)) if column not in taken]
    fitting = _find_fitting(table, options, lacking, rest) if len(rest) <= _MOST_TRIED else []
    meant = dict(zip(ROLES, fitting[0], strict=True)) if len(fitting) == 1 else {}
    return [f"{role}={repr(table.header[meant[role]]) if meant else '...'}" for role in lacking]
