"""An export: a name, a test whether a document is one, and a reader of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bayesanno.io.exports.answers import Answer
from bayesanno.io.exports.document import Document
from bayesanno.io.read_options import ReadOptions


@dataclass(frozen=True, kw_only=True)
class Export:
    """What a tool gives its users to take away.

    Parameters
    ----------
    name : str
        As `read_annotations(format=...)` and `--format` take it.
    form : str
        What it looks like, in words.
    looks_like : callable
        (document, options) -> whether it is one, judged by its first record.
    read : callable
        (document, options) -> its answers, those that are missing included, so that all items and annotators are named.
        Raises a DataError with the place of what it cannot read.
    uses : frozenset of str
        The options of reading that it has a use for, beyond those of every table.
    of_tables : bool
        Whether it is one of tables, not of JSON.
    """

    name: str
    form: str
    looks_like: Callable[[Document, ReadOptions], bool]
    read: Callable[[Document, ReadOptions], Iterator[Answer]]
    uses: frozenset[str]
    of_tables: bool = False
