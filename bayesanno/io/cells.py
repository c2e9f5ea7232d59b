"""Several values in one cell: lists and objects as text, and several labels in one text."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd

_BETWEEN = ",|;"
_LONGEST = 100_000
_DECIMAL = re.compile("[0-9]+,[0-9]+")  # as in "2,5"
_PRINTED = re.compile(r"""\[\s*(?:(?:'[^']*'|"[^"]*"|-?[\d.]+)\s+)+(?:'[^']*'|"[^"]*"|-?[\d.]+)\s*\]""")  # by NumPy
_BESIDE = re.compile(r"""['"]\s+['"]""")  # lists as NumPy prints them; Python would join the two texts


def plain(value: Any) -> Any:
    """Return a value in memory in the form of JSON: lists, objects, text, and None for a missing value.

    Raises
    ------
    DataError
        If bytes are no text in UTF-8.
    """
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise DataError(f"the cell {value[:40]!r} is not UTF-8: decode its column before reading") from None
    if isinstance(value, np.generic):
        value = value.item()
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else value


def write_cell(cell: Any) -> str:
    """Return a cell as text: a whole number without decimals, an array as a list."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, np.ndarray):
        return json.dumps(plain(cell), default=str, ensure_ascii=False)
    return str(plain(cell) if isinstance(cell, bytes) else cell)


def parse_cell(cell: Any) -> Any:
    """Return the list or object in a text of JSON or Python; return anything else unchanged.

    Examples
    --------
    >>> from bayesanno.io.cells import parse_cell
    >>> parse_cell("['joy', 'anger']"), parse_cell('{"ada": null}'), parse_cell("[removed]")
    (['joy', 'anger'], {'ada': None}, '[removed]')
    """
    if not isinstance(cell, str) or cell.strip()[:1] not in ("[", "{") or len(cell) > _LONGEST:
        return cell
    for read in (json.loads, _read_python):
        try:
            value = read(cell.strip())
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):  # all errors that a text can cause
            continue
        return sorted(value, key=str) if isinstance(value, set) else value
    return cell


def _read_python(text: str) -> Any:
    if _BESIDE.search(text):
        raise ValueError(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of a backslash
        return ast.literal_eval(text)


def split_cell(text: str, separator: str) -> list[str]:
    """Return the parts between separators, without whitespace around them."""
    return [part.strip() for part in text.split(separator)]


def find_several(given: Mapping[str, str], marks: str = _BETWEEN) -> tuple[str, str] | None:
    """Return a label that seems to be several in one cell, and their separator, "" for a list or an object.

    `given` maps each label to an annotator, and `marks` are separators. Labels are several if one has a part twice, if
    all parts of one are also parts of others, or if annotators have as many parts.

    Examples
    --------
    >>> from bayesanno.io.cells import find_several
    >>> find_several({"['joy']": "ada"}), find_several({"0,1": "ada,bo"}), find_several({"0|1|0": "ada"})
    (("['joy']", ''), ('0,1', ','), ('0|1|0', '|'))
    >>> find_several(dict.fromkeys(("joy", "joy;anger", "anger"), "ada"))
    ('joy;anger', ';')
    >>> find_several(dict.fromkeys(("yes, but", "yes", "2,5", "2,2"), "ada"))
    """
    lists = (name for name in given if name[:1] in ("[", "{"))
    as_list = next((name for name in lists if _PRINTED.fullmatch(name) or not isinstance(parse_cell(name), str)), None)
    if as_list is not None:
        return as_list, ""
    for separator in marks:
        parts = {name: [part for part in split_cell(name, separator) if part] for name in given}
        several = [name for name in given if len(parts[name]) > 1]
        plain = [name for name in several if not _DECIMAL.fullmatch(name)]
        times = Counter(part for each in parts.values() for part in each)
        twice = any(len(set(parts[name])) < len(parts[name]) for name in plain)
        elsewhere = any(all(times[part] > 1 for part in parts[name]) for name in plain)
        side_by_side = all(given[name].count(separator) == name.count(separator) for name in several)
        if several and (twice or side_by_side or elsewhere):
            return several[0], separator
    return None
