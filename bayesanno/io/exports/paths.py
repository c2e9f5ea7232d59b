"""Paths into nested records: a few paths turn each record into rows, one for each answer.

    a.b      field b of field a            a[]   each element of a list       a[]#  its number, from 1
    a[0]     the first element of a list   a{}   each value of an object      a{}#  its key

Text that holds JSON is opened when a path goes into it. A template, as `{a.b}/{c}`, joins the values of several paths.

The lists and objects that paths go through form one chain, each inside the last: `annotations[]`, then
`annotations[].result[]`. A row is one step of the innermost one that item, annotator and question go through; the label
goes through all of these, and through further ones it has several values. A path that goes through fewer is repeated.

The invariant: a path whose fields no record has is refused, and a row has the place of what it was made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayesanno._core.errors import DataError
from bayesanno._core.wording import listed, nearest, option
from bayesanno.io.cells import parse_cell
from bayesanno.io.exports.value import Value

FIELD = re.compile(r"\{((?:[^{}]|\{\})+)\}")  # a path in a template
LANGUAGE = "a[] is each element of a list, a[]# its number, a{} each value of an object, a{}# its key"

_STEP = re.compile(r"[^.\[\]{}#]+|\[\d*\]|\{\}|#")
_EACH = ("[]", "{}")
_SHOWN, _LONGEST = 10, 40  # paths of a record in a message, and characters of a value

type Steps = tuple[str, ...]


class Row(NamedTuple):
    """The values of a row by role, and what it was made of."""

    at: Value
    values: dict[str, Value]

    @property
    def place(self) -> str:
        """The place of what the row was made of."""
        return self.at.whole_place

    def __getattr__(self, role: str) -> Value:
        """Return the value of a role; it is None if the row has none."""
        return self.values.get(role) or Value(self.at, None, role)


class Rows:
    """The rows of records, by a path or a template for each role.

    Parameters
    ----------
    templates : mapping of role to str
    first : mapping
        The first record: if a path is the whole name of one of its fields, it is that field.
    inner : str
        The role that may go through more lists and objects than the others; its values are then a list.

    Raises
    ------
    DataError
        If a path is none, or paths go through lists of which none is inside the other.
    """

    def __init__(self, templates: Mapping[str, str], first: Mapping[str, Any] = {}, *, inner: str = "label") -> None:
        self.templates = {role: (text, _paths_of(text, first)) for role, text in templates.items()}
        self.steps = {path: _split(path, first) for _, paths in self.templates.values() for path in paths}
        each = {path: _each_of(steps) for path, steps in self.steps.items()}
        outer = [path for role, (_, paths) in self.templates.items() for path in paths if role != inner]
        chain: Sequence[Steps] = max((each[path] for path in outer), key=len, default=())
        for role, (_, paths) in self.templates.items():
            for path in paths:
                other = next((pair for pair in zip(each[path], chain, strict=False) if pair[0] != pair[1]), None)
                if other is not None:
                    bare = [option(of, text[:-2]) for of, (text, _) in self.templates.items() if text.endswith("[]")]
                    raise DataError(
                        f"{_join(other[0])!r} and {_join(other[1])!r} are different lists: all paths go through one "
                        f"list, or one inside the other"
                        + (f"; if they are side by side, name them as {' and '.join(bare)}" if bare else "")
                    )
                if role == inner and len(each[path]) < len(chain):
                    raise DataError(
                        f"{path!r} is one value for each {_join(chain[-1])!r}: let {role} go through it, too"
                    )
        starts = [0, *map(len, chain)]
        self.into = [(steps[start:-1], steps[-1]) for start, steps in zip(starts, chain, strict=False)]  # of each level
        self.here: list[list[tuple[str, Steps]]] = [[] for _ in starts]  # paths by role, and the others of templates
        self.filled = {role: of for role, of in self.templates.items() if of[1] != [of[0]]}
        self.unseen = {
            name: path
            for role, (text, paths) in self.templates.items()
            for name, path in ([(role, text)] if paths == [text] else [(f"{{{path}}}", path) for path in paths])
        }
        for name, path in self.unseen.items():
            level = min(len(each[path]), len(chain))
            self.here[level].append((name, self.steps[path][starts[level] :]))
        self.inner = inner

    def read(self, record: Value) -> Iterator[Row]:
        """Yield the rows of a record; an empty list gives one, with the values outside of it."""
        for row in self._walk(record, None, {}, 0):
            for role in self.filled:
                row.values[role] = self._fill_in(role, row, record)
            yield row

    def _fill_in(self, role: str, row: Row, record: Value) -> Value:
        """Return the text of a template; None if one of its values is missing in a row without a label."""
        template, paths = self.filled[role]
        texts = {path: getattr(row, f"{{{path}}}").as_text(role) for path in paths}
        missing = next((path for path, text in texts.items() if not text), None)
        if missing is None:
            return Value(row.at, FIELD.sub(lambda each: texts[each[1].strip()], template), role)
        if self.inner in self.templates and getattr(row, self.inner).given in (None, ""):
            return Value(row.at, None, role)
        self.refuse_lack(record, role)
        raise DataError(f"{row.place}: field {missing!r} of the {role} {template!r} is missing: fill it in")

    def _walk(self, at: Value, key: Any, outer: dict[str, Value], level: int) -> Iterator[Row]:
        found = outer.copy()
        for name, steps in self.here[level]:
            found[name] = value = _follow(at, key, steps)
            if name in self.unseen and value.given is not None:
                del self.unseen[name]
        if level == len(self.into):
            yield Row(at, found)
            return
        steps, kind = self.into[level]
        several = list(_each(_follow(at, key, steps), kind))
        for number, one in several:
            yield from self._walk(one, number, found, level + 1)
        if not several:
            yield Row(at, found)

    def fits(self, record: Value) -> bool:
        """Return whether a record has the fields of all paths."""
        try:
            return all(_explain_lack(record, steps) is None for steps in self.steps.values())
        except DataError:
            return False

    def refuse_lack(self, record: Value, role: str) -> None:
        """Raise a DataError if a record does not have the fields of the paths of a role."""
        lacking = next(
            filter(None, (_explain_lack(record, self.steps[path]) for path in self.templates[role][1])), None
        )
        if lacking is not None:
            raise DataError(lacking)

    def check(self, records: Callable[[], Iterator[Value]], roles: Iterable[str]) -> None:
        """Raise a DataError if no record has the fields of a path of these roles; `records` gives them again."""
        paths = [path for role in roles if role in self.templates for path in self.templates[role][1]]
        for path in filter({*self.unseen.values()}.__contains__, paths):
            lacking = [_explain_lack(record, self.steps[path]) for record in records()]
            if lacking and lacking[0] and None not in lacking:
                raise DataError(lacking[0])


def _explain_lack(at: Value, steps: Steps) -> str | None:
    """Return where the fields of a path end, in first elements, and what is there; None if they do not end."""
    for number, step in enumerate(steps):
        at = at.opened()
        if step == "#" or at.given is None:
            return None
        if step in _EACH:
            at = next((one for _, one in _each(at, step)), at.put(None))
            continue
        if isinstance(at.given, Mapping) and step not in at.given:
            start = f"{_join(steps[:number])}." if number else ""
            names, path = [f"{start}{name}" for name in at.given], _join(steps)
            return f"{at.whole_place}: there is no field {path!r} among {listed(names)}{nearest(path, names)}"
        at = _follow(at, None, (step,))
    return None


def _follow(at: Value, key: Any, steps: Steps) -> Value:
    """Return what a path leads to from a value, whose number or key is given; None if a field is missing."""
    for number, step in enumerate(steps):
        if at.given.__class__ is dict and step[:1] not in "[{#":
            at = at.get(step)
            continue
        if step == "#":
            return Value(at, key, step)
        if isinstance(at.given, str):
            at = at.opened()
        if at.given is None:
            return at
        if step in _EACH:
            parts = [_follow(one, each, steps[number + 1 :]).given for each, one in _each(at, step)]
            said = [part for part in parts if part is not None]
            flat = [one for part in said for one in (part if isinstance(part, list) else [part])]
            return at.put(flat if said or not parts else None)
        if step[:1] == "[":
            wanted = int(step[1:-1])
            at = dict(at.elements()).get(wanted + 1, at.put(None))
        elif isinstance(at.given, list):
            name = at.name or "this"
            raise DataError(
                f"{at.place}: {name} is a list: write {name}[].{step} for each element, or {name}[0].{step}"
            )
        else:
            at = at.get(step)
    return at


def _each(several: Value, kind: str) -> Iterator[tuple[Any, Value]]:
    """Yield the elements of a list with their numbers, or the values of an object with their keys."""
    several = several.opened()
    if kind == "[]" and isinstance(several.given, Mapping):
        raise several.refuse(f"a list: write {several.name}{{}} for each value of an object")
    if kind == "{}" and isinstance(several.given, list):
        raise several.refuse(f"an object: write {several.name}[] for each element of a list")
    return several.elements() if kind == "[]" else several.fields()


def _paths_of(template: str, first: Mapping[str, Any]) -> list[str]:
    """Return the paths in a template, or the only path that a text is."""
    found = [] if template in first else [path.strip() for path in FIELD.findall(template)]
    if found and set(FIELD.sub("", template)) & {"{", "}"}:
        raise DataError(f"{template!r} is no template: write each field in its own braces, as in '{{a}}/{{b}}'")
    return found or [template]


def _split(path: str, first: Mapping[str, Any]) -> Steps:
    if path in first:
        return (path,)
    steps = tuple(_STEP.findall(path))
    numbered = [before for before, step in zip(("", *steps), steps, strict=False) if step == "#"]
    if not steps or _join(steps) != path or "#" in steps[:-1] or any(before not in _EACH for before in numbered):
        raise DataError(f"{path!r} is neither a field nor a path: write it as 'a.b', 'a[]' or 'a{{}}'")
    return steps


def _join(steps: Iterable[str]) -> str:
    return "".join(step if step[:1] in ("#", "[", "{") else f".{step}" for step in steps).removeprefix(".")


def _each_of(steps: Steps) -> list[Steps]:
    """Return the lists and objects that a path goes through, each as the path to its elements."""
    return [steps[: number + 1] for number, step in enumerate(steps) if step in _EACH]


def show_paths(record: Mapping[str, Any]) -> str:
    """Return the paths of a record with their values, for a message: short values of outer fields first."""
    every = [(path, repr(value)) for path, value in _list_paths(record) if value is not None]
    every.sort(key=lambda one: (len(one[1]) > _LONGEST, len(_STEP.findall(one[0]))))
    shown = ", ".join(f"{path} = {_cut(text)}" for path, text in every[:_SHOWN])
    return f"{shown} and {len(every) - _SHOWN} more" if len(every) > _SHOWN else shown


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _list_paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path of each text and number, in the first element of each list."""
    value = parse_cell(value)
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _list_paths(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        yield from _list_paths(value[0] if value else None, f"{path}[]")
    else:
        yield path, value
