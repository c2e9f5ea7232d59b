"""Errors and warnings, and the words of their messages.

The message of an error or a warning is one printable line, whatever characters are in the names it contains. Warnings
point to the calling line outside this package, at any depth of internal calls.

The invariant: each result is one short line, for any number of names and any characters in them; tables are HTML.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from html import escape
from itertools import islice, product
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


OURS = (f"{Path(__file__).parents[1]}{os.sep}",)  # the folder of the package


class BayesannoError(Exception):
    """Root of every error that bayesanno raises on purpose.

    The message is one line: the problem, its place, and the remedy.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(as_line(message))


class DataError(BayesannoError, ValueError):
    """Annotations that cannot be read or do not fit together."""


class DataFileError(BayesannoError, OSError):
    """A file that is missing, cannot be fetched, or would be overwritten."""


class ModelError(BayesannoError, ValueError):
    """An unknown model, an unknown field of a model, or a field out of range."""


class SamplerError(BayesannoError, ImportError):
    """A sampler that is not installed."""


class ExtraError(BayesannoError, ImportError):
    """A part of the package that is not installed."""


class FitError(BayesannoError, ValueError):
    """A request that this fit, or this method of fitting, does not support."""


class ConvergenceWarning(UserWarning):
    """A diagnostic shows that a posterior is not yet reliable; the message gives the reason and a remedy."""


class ExportWarning(UserWarning):
    """Information that is missing from the export of a tool."""


class IdentifiabilityWarning(UserWarning):
    """A design that does not identify a quantity, however many draws there are."""


class MisfitWarning(UserWarning):
    """The fitted model does not predict the answers well, so its label probabilities may be wrong."""


class NamesWarning(UserWarning):
    """Names that differ but are so similar that they may mean the same; true labels that are not among the labels."""


class PredictionWarning(UserWarning):
    """A prediction supported by few draws, or a recalibration by few known labels."""


class SizeWarning(UserWarning):
    """A part of a result was left out because it would need too much memory; the message explains how to add it."""


def warn(message: str, category: type[Warning], *, level: str = "") -> None:
    """Raise a warning that points to the user's own line; the `level` of a finding is for the terminal."""
    one = category(as_line(message))
    if level:
        one.level = level  # type: ignore[attr-defined]
    warnings.warn(one, skip_file_prefixes=OURS)


def as_line(text: str) -> str:
    r"""Return a text with escapes for characters that are invisible, break the line or change its direction.

    Examples
    --------
    >>> from bayesanno._core.messages import as_line
    >>> as_line("no column a\nb") == r"no column a\nb"
    True
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


_ON_COMMAND_LINE = ContextVar("_ON_COMMAND_LINE", default=False)


@contextmanager
def on_command_line() -> Iterator[None]:
    """Make messages name options as the command line has them, during the block."""
    before = _ON_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_COMMAND_LINE.reset(before)


def spell(in_python: str, on_command_line: str) -> str:
    """Return what to write in Python, or, on the command line, what to write there."""
    return on_command_line if _ON_COMMAND_LINE.get() else in_python


def option(name: str, value: object = ...) -> str:
    """Return how a message names an option: as Python's argument, or, on the command line, as the option there.

    `value` is what to give; without it, any value. Call this where a message is raised: a constant of a module is made
    before it is known where the message will be read.

    Examples
    --------
    >>> from bayesanno._core.messages import on_command_line, option
    >>> f"name it with {option('item')}, or use {option('gold_file', 'a b.csv')} and {option('strip', True)}"
    "name it with item=..., or use gold_file='a b.csv' and strip=True"
    >>> with on_command_line():
    ...     f"name it with {option('item')}, or use {option('gold_file', 'a b.csv')} and {option('strip', True)}"
    "name it with --item, or use --gold-file 'a b.csv' and --strip"
    """
    flag = f"--{name.replace('_', '-')}"
    shown = "..." if value is ... else repr(value)
    return spell(f"{name}={shown}", flag if value is ... or value is True else f"{flag} {quote(str(value))}")


def as_names(given: str | int | Iterable[object]) -> tuple[str, ...]:
    """Return the names that a user gave as text; a text alone is one name.

    Examples
    --------
    >>> from bayesanno._core.messages import as_names
    >>> as_names("ana"), as_names(["ana", 7])
    (('ana',), ('ana', '7'))
    """
    return (str(given),) if isinstance(given, str | int) else tuple(map(str, given))


def listed(names: Sequence[str], *, most: int = 10) -> str:
    """Return at most `most` names for a message, quoted so that it stays one line."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name, ignoring case; None if no name is similar.

    Examples
    --------
    >>> from bayesanno._core.messages import closest
    >>> closest("MACE", ["mace", "model_b"]), closest("kappa", ["mace", "model_b"])
    ('mace', None)
    """
    by_small = {each.casefold(): each for each in islice(names, 2000)}  # searching more takes too long
    close = get_close_matches(str(name).casefold(), by_small, n=1)
    return by_small[close[0]] if close else None


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint at the most similar name, for the end of a message; empty if no name is similar."""
    close = closest(name, names)
    return f"; did you mean {close!r}?" if close is not None else ""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed.

    Examples
    --------
    >>> from bayesanno._core.messages import counted
    >>> counted(1, "item"), counted(8000, "annotation")
    ('1 item', '8,000 annotations')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def spanned(first: str, last: str) -> str:
    """Return what lies between two ends; equal ends are written once.

    Examples
    --------
    >>> from bayesanno._core.messages import spanned
    >>> spanned("2", "3"), spanned("4", "4")
    ('2 to 3', '4')
    """
    return first if first == last else f"{first} to {last}"


def percent(share: float) -> str:
    """Return a share in per cent, with one digit after the point if there is one.

    Examples
    --------
    >>> from bayesanno._core.messages import percent
    >>> percent(0.9182), percent(1.0)
    ('91.8%', '100%')
    """
    return f"{round(100 * share, 1):g}%"


def enumerated(names: Sequence[str], *, most: int = 10) -> str:
    """Return at most `most` names for a description, quoted only if they would be misread.

    Examples
    --------
    >>> from bayesanno._core.messages import enumerated
    >>> enumerated(["no", "yes", "yes, but"]), enumerated(["a", "b", "c"], most=2)
    ("no, yes, 'yes, but'", 'a, b and 1 more')
    """
    shown = ", ".join(_cut(name if name.isprintable() and "," not in name else repr(name)) for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def _cut(name: str, *, longest: int = 40) -> str:
    return name if len(name) <= longest else f"{name[: longest - 3]}..."


def show_rows(title: str, table: pd.DataFrame, *, most: int = 7) -> str:
    """Return a title and the first rows of a table as text, ten lines at most.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno._core.messages import show_rows
    >>> print(show_rows("two rows", pd.DataFrame({"prior": [0, 1], "accuracy": [0.91234, 0.9]}), most=1))
    two rows
     prior  accuracy
         0     0.912
    ... 1 more
    """
    shown = table.head(most).to_string(index=False, max_cols=8, max_colwidth=40, float_format="%.3g")
    more = f"\n... {len(table) - most:,} more" if len(table) > most else ""
    return f"{title}\n{shown}{more}"


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a small HTML table of names and values for notebooks, with everything escaped.

    Examples
    --------
    >>> from bayesanno._core.messages import html_table
    >>> html_table("Data", [("labels", "a<b")]).count("a&lt;b")
    1
    """
    left = "style='text-align: left'"
    body = "".join(f"<tr><th {left}>{escape(what)}</th><td {left}>{escape(value)}</td></tr>" for what, value in rows)
    return f"<table><caption>{escape(caption)}</caption><tbody>{body}</tbody></table>"


def name_error(error: BaseException) -> str:
    r"""Return the type of an error and the first line of its message; a compiler's message has dozens.

    Examples
    --------
    >>> from bayesanno._core.messages import name_error
    >>> name_error(ValueError("no such type\nDuring: typing of argument"))
    'ValueError: no such type'
    """
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0].strip()}" if said else type(error).__name__


def name_elements(name: str, coords: Sequence[Iterable[object]]) -> tuple[str, ...]:
    """Return the names of a variable's elements in ArviZ's style.

    Examples
    --------
    >>> from bayesanno._core.messages import name_elements
    >>> name_elements("weight", [["type 1", "type 2"]]), name_elements("diligence", [])
    (('weight[type 1]', 'weight[type 2]'), ('diligence',))
    """
    inner = (", ".join(map(str, each)) for each in product(*coords))
    return tuple(f"{name}[{each}]" for each in inner) if coords else (name,)
