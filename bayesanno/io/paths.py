"""Paths into nested records: a few paths turn each record into rows, one for each answer.

    a.b      field b of field a            a[]   each element of a list       a[]#  its number, from 1
    a[0]     the first element of a list   a{}   each value of an object      a{}#  its key

Text that holds JSON is opened when a path goes into it. A template, as `{a.b}/{c}`, joins the values of several paths,
and `=text` is a text. The first of several paths that leads to a value counts.

The lists and objects that paths go through form one chain, each inside the last: `annotations[]`, then
`annotations[].result[]`. A row is one step of the innermost one that item, annotator and question go through; the label
goes through all of these, and through further ones it has several values. A path that goes through fewer is repeated.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayesanno._core.messages import DataError, listed, nearest
from bayesanno.data.frame import write_cell
from bayesanno.io.names import FIELD

_STEP = re.compile(r"[^.\[\]{}#]+|\[\d*\]|\{\}|#")
_EACH = ("[]", "{}")
_LONGEST, _MOST = 100_000, 10  # letters of a text that is opened, and paths in a message
_BESIDE = re.compile(r"""['"]\s+['"]""")  # lists as NumPy prints them; Python would join the two texts

type Steps = tuple[str, ...]


def parse_cell(cell: Any) -> Any:
    """Return the list or object in a text of JSON or Python; return anything else unchanged.

    Examples
    --------
    >>> from bayesanno.io.paths import parse_cell
    >>> parse_cell("['joy', 'anger']"), parse_cell('{"ada": null}'), parse_cell("[removed]")
    (['joy', 'anger'], {'ada': None}, '[removed]')
    """
    if hasattr(cell, "tolist") and not isinstance(cell, str):  # of NumPy
        return cell.tolist()
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


class Row(NamedTuple):
    """The values of a row by role, and the place of what it was made of."""

    place: str
    values: dict[str, Any]


class Rows:
    """The rows of records, by one or several paths for each role.

    Parameters
    ----------
    paths : mapping of role to str or list of str
    fields : collection of str
        The fields of records: if a path is the whole name of one of them, it is that field.
    outer : sequence of str
        The roles whose paths make the chain; those of others may go through more lists.
    strict : bool
        Whether a value of another kind than a path asks for is an error.

    Raises
    ------
    DataError
        If a path is none, or paths go through lists of which none is inside the other.
    """

    def __init__(
        self,
        paths: Mapping[str, Any],
        fields: Iterable[str],
        *,
        outer: Sequence[str] | None = None,
        strict: bool = True,
    ) -> None:
        self.fields, self.strict = {*fields}, strict
        several = {role: [given] if isinstance(given, str) else list(given) for role, given in paths.items()}
        self.paths = {role: [self._templates(each) for each in given] for role, given in several.items()}
        outer = [role for role in self.paths if role != "label"] if outer is None else outer
        every = [(role, each) for role, given in self.paths.items() for _, parts in given for each in parts]
        chains = {(role, each): _each_of(each) for role, each in every}
        self.chain: list[Steps] = max((chains[one] for one in every if one[0] in outer), key=len, default=[])
        for (role, each), own in chains.items():
            other = next((pair for pair in zip(own, self.chain, strict=False) if pair[0] != pair[1]), None)
            if other is not None and strict:
                both = " and ".join(map(repr, map(_join, other)))
                raise DataError(f"{both} are different lists: all paths go through one list, or one inside the other")
            if role == "label" and len(own) < len(self.chain) and strict:
                last = _join(self.chain[-1])
                raise DataError(f"{_join(each)!r} is one value for each {last!r}: let label go through it, too")
        self.unseen = {(role, each) for role, each in every}
        self.levels = {each: sum(each[: len(prefix)] == prefix for prefix in self.chain) for _, each in every}
        self.rest = {each: each[len(self.chain[at - 1]) if at else 0 :] for each, at in self.levels.items()}
        self.plain = {given for several in self.paths.values() for given, parts in several
                      if given in self.fields or [_join(each) for each in parts] == [given]}  # fmt: skip

    def _templates(self, given: str) -> tuple[str, list[Steps]]:
        if given.startswith("="):
            return given, []
        found = [] if given in self.fields else [path.strip() for path in FIELD.findall(given)]
        if found and set(FIELD.sub("", given)) & {"{", "}"}:
            raise DataError(f"{given!r} is no template: write each field in its own braces, as in '{{a}}/{{b}}'")
        return given, [self._split(path) for path in found or [given]]

    def _split(self, path: str) -> Steps:
        if path in self.fields:
            return (path,)
        steps = tuple(_STEP.findall(path))
        numbered = [before for before, step in zip(("", *steps), steps, strict=False) if step == "#"]
        if not steps or _join(steps) != path or "#" in steps[:-1] or any(before not in _EACH for before in numbered):
            raise DataError(f"{path!r} is neither a field nor a path: write it as 'a.b', 'a[]' or 'a{{}}'")
        return steps

    def read(self, record: Mapping[str, Any], place: str) -> Iterator[Row]:
        """Yield the rows of a record; an empty list gives one, with the values outside of it."""
        try:
            for found in self._walk([(None, record)]):
                at = "".join(f"[{key - 1}]" if isinstance(key, int) else f".{key}" for key, _ in found[1:])
                inner = _join(self.chain[len(found) - 2][:-1]) if len(found) > 1 else ""
                yield Row(f"{place}, {inner}{at}" if inner else place,
                          {role: self._value(role, found) for role in self.paths})  # fmt: skip
        except DataError as error:
            raise DataError(f"{place}: {error}") from None

    def _walk(self, found: list[tuple[Any, Any]]) -> Iterator[list[tuple[Any, Any]]]:
        level = len(found) - 1
        if level == len(self.chain):
            yield found
            return
        start = len(self.chain[level - 1]) if level else 0
        *steps, kind = self.chain[level][start:]
        several = list(self._each(self._follow(found[-1][1], steps), kind, _join(self.chain[level][:-1])))
        for one in several:
            yield from self._walk([*found, one])
        if not several:
            yield found

    def _value(self, role: str, found: list[tuple[Any, Any]]) -> Any:
        for given, parts in self.paths[role]:
            if given.startswith("="):
                return given[1:]
            values = [self._one(role, steps, found) for steps in parts]
            if given in self.plain:
                if values[0] is not None:
                    return values[0]
                continue
            texts = [as_name(value, role) for value in values]
            if all(texts):
                between = FIELD.split(given)[::2]
                return "".join(one for pair in zip(between, [*texts, ""], strict=True) for one in pair)
            if any(texts) and "label" in self.paths and self._value("label", found) not in (None, ""):
                lacking = _join(parts[texts.index("")])
                raise DataError(f"field {lacking!r} of the {role} {given!r} is missing: fill it in")
        return None

    def _one(self, role: str, steps: Steps, found: list[tuple[Any, Any]]) -> Any:
        level, rest = self.levels[steps], self.rest[steps]
        if level >= len(found):
            return None
        value = found[level][0] if rest == ("#",) else self._follow(found[level][1], rest)
        if self.unseen and value is not None:
            self.unseen.discard((role, steps))
        return value

    def _follow(self, value: Any, steps: Sequence[str]) -> Any:
        """Return what steps lead to from a value; None if a field is missing."""
        for number, step in enumerate(steps):
            value = parse_cell(value) if isinstance(value, str) else value
            if value is None or value == "":
                return None
            if step in _EACH:
                parts = [key if steps[number + 1 :] == ("#",) else self._follow(one, steps[number + 1 :])
                         for key, one in self._each(value, step, "")]  # fmt: skip
                said = [part for part in parts if part is not None]
                return [one for part in said for one in (part if isinstance(part, list) else [part])] if parts else []
            if step[:1] == "[":
                at = int(step[1:-1])
                value = value[at] if isinstance(value, list) and at < len(value) else None
            elif isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, list) and self.strict:
                raise DataError(f"there is a list before {step!r}: write []. for each element, or [0]. for the first")
            else:
                if self.strict:
                    raise DataError(f"this is {_kind(value)}, but must be an object with the field {step!r}")
                return None
        return value

    def _each(self, several: Any, kind: str, name: str) -> Iterator[tuple[Any, Any]]:
        """Yield the elements of a list with their numbers, or the values of an object with their keys."""
        given: Any = parse_cell(several)
        if given is None or given == "":
            return
        of_list = kind == "[]"
        if not isinstance(given, list if of_list else Mapping):
            if not self.strict:
                return
            what = f"a list: write {name}{{}} for each value of an object" if of_list else f"an object: write {name}[]"
            if isinstance(given, str) and given[:1] in "[{":
                raise DataError(f"{name}: this is not JSON: {given[:60]!r}; download the file again")
            raise DataError(f"{name} is {_kind(given)}, but must be {what}")
        pairs: Any = enumerate(given, 1) if isinstance(given, list) else given.items()
        yield from pairs

    def check(self, records: Callable[[], Iterator[tuple[str, Mapping[str, Any]]]], roles: Iterable[str]) -> None:
        """Raise a DataError if no record has the fields of a path of these roles; `records` gives them again."""
        for role, steps in sorted(self.unseen, key=str):
            if role in roles and not any(self._explain(record, steps) is None for _, record in records()):
                place, first = next(records())
                raise DataError(f"{place}: {self._explain(first, steps)}")

    def _explain(self, record: Mapping[str, Any], steps: Steps) -> str | None:
        """Return that the first elements of a record do not have the fields of a path; None if they have."""
        value: Any = record
        for number, step in enumerate(steps):
            value = parse_cell(value)
            if step in _EACH and not isinstance(value, list if step == "[]" else Mapping):
                return f"{_join(steps[:number]) or 'this'} is {_kind(value)}, not what {_join(steps)!r} goes through"
            if step in ("#", *_EACH) or step[:1] == "[":
                items = value if isinstance(value, list) else list(value.values()) if isinstance(value, Mapping) else []
                value = items[0] if items else None
            elif isinstance(value, Mapping) and step not in value:
                start, path = _join(steps[:number]), _join(steps)
                names = [f"{start}.{name}" if start else str(name) for name in value]
                return f"there is no field {path!r} among {listed(names)}{nearest(path, names)}"
            else:
                value = value.get(step) if isinstance(value, Mapping) else None
            if value is None:
                return None
        return None

    def fits(self, record: Any) -> bool:
        """Return whether a record has the fields of all paths."""
        return isinstance(record, Mapping) and all(
            self._explain(record, steps) is None
            for given in self.paths.values()
            for _, parts in given
            for steps in parts
        )


def as_name(value: Any, what: str) -> str:
    """Return a name, or a label, as text, "" if it is missing.

    Raises
    ------
    DataError
        If it is a list or an object, NaN or infinite, or not valid Unicode.
    """
    if isinstance(value, list | Mapping):
        raise DataError(f"{what} is {_kind(value)}, but must be a text or a number")
    if isinstance(value, float) and value not in (float("inf"), float("-inf")) and value != value:
        return ""
    text = write_cell(value, of_json=True).strip()
    if len(text) < 300 and text.isprintable():
        return text
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DataError(f"{what} {text[:40]!r} is not valid Unicode: it holds half of a surrogate pair")
    if "\0" in text or len(text) > _LONGEST:
        odd = "has a zero byte" if "\0" in text else f"has {len(text):,} characters"
        raise DataError(f"{what} {text[:40]!r} {odd}: give it another name")
    if len(text) > 300 and isinstance(value, int | float):
        raise DataError(f"{what} is a number with hundreds of digits: write it as text")
    return text


def _kind(value: Any) -> str:
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), f"a {type(value).__name__}")


def _join(steps: Iterable[str]) -> str:
    return "".join(step if step[:1] in ("#", "[", "{") else f".{step}" for step in steps).removeprefix(".")


def _each_of(steps: Steps) -> list[Steps]:
    """Return the lists and objects that a path goes through, each as the path to its elements."""
    return [steps[: number + 1] for number, step in enumerate(steps) if step in _EACH]


def list_paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path of each text and number, in the first element of each list."""
    value = parse_cell(value)
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from list_paths(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        yield from list_paths(value[0] if value else None, f"{path}[]")
    elif value is not None:
        yield path, value
