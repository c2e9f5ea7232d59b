"""Which options may read a table whose names do not decide, the likeliest first; here alone cells are looked at.

The invariant: nothing is read by what is suggested here. A question shows it, and a person chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno.data.labelled import is_number
from bayesanno.io.names import (
    ALIASES,
    Way,
    beside,
    likely,
    matching,
    numbered,
    others_than_annotators,
    sides_among,
    words_of,
)
from bayesanno.io.sources import has_lists, text_of

MOST_NAMED = 8  # columns that a command names
_NAMING = ("id", "index", "name", "key")  # words of the one column about annotators that names them


def suggest(frame: pd.DataFrame, given: Way) -> list[Way]:
    """Return ways to read a table whose names do not decide, the likeliest first."""
    if frame.attrs["of"] == "json" and has_lists(frame):
        return []
    text = text_of(frame)
    header = [name for name in text.columns if name]
    people = [name for name in header if numbered([name])]
    people = people if len(people) > 1 else []
    several = [name for name in header if words_of(name) & {*ALIASES["annotator"]}]
    naming = [name for name in several if words_of(name) & {*_NAMING}]  # annotator_index beside annotator_age
    if len(several) > 1 and not people and not naming and not sides_among(header):
        people = [] if any(name in matching(header, "annotator") for name in several) else several
    about = {"item": [*people, *several], "annotator": people, "label": people}
    roles = {role: likely([name for name in header if name not in beside], role) for role, beside in about.items()}
    known = {role: str(given.get(role) or next(iter(matching(header, role) or roles[role]), "")) for role in roles}
    item, who, said = known.values()
    who = who if not naming or who in matching(header, "annotator") else naming[0]
    run = [] if people else _find_run(text, [name for name in header if name != item])
    who = "" if who in run else who  # it holds the same labels as other columns
    free = [name for name in header if name not in (item, who, *map(str, given.values()))]
    others = [name for name in run or free if name not in others_than_annotators(header) and name != item]
    known_labels = [name for name in beside(run) if name not in map(str, given.values())]
    numbers = _without_total(text, [name for name in free if text[name].str.fullmatch("[0-9]{1,9}").all()])
    distinct = [name for name in free if (text[name] != "").all() and text[name].is_unique]
    named_by = {} if item or not distinct or distinct[0] in people else {"item": distinct[0]}
    others = [name for name in others if name not in named_by.values()]
    flags = [
        name for name in free if text[name].str.casefold().isin(["0", "1", "0.0", "1.0", "true", "false", ""]).all()
    ]
    repeated = bool(item) and bool(text[item].duplicated().any()) if item in text else False
    gold = next((name for name in free if f"{name}_gold" in header), "")  # label and label_gold
    at = item or (next(iter(free), "") if who else "")
    rest = [name for name in free if name not in (at, *several)]
    label = said if said and said != who else gold or _find_label(text, at, rest)
    long = {"item": item, "annotator": who, "label": label}
    votes = {"format": "votes", "columns": _columns(header, numbers)}
    ways: list[Way] = [{"columns": _columns(header, people), **named_by}] if people else []
    sides = sides_among(header)
    if sides and not people and said and said not in sides and sum(name[:-1] == sides[0][:-1] for name in header) < 3:
        named = {"pairs": ",".join(sides), "item": item, "annotator": who, "label": said}
        ways.append({name: value for name, value in named.items() if value and value not in sides})
    if sum(name in set(text[name]) and not is_number(name) for name in header) > 1:  # the header may be data
        ways.append({"no_header": True})
    turned = {
        "transpose": True,
        "annotator": who,
        "columns": _columns(header, [name for name in header if name != who]),
    }
    stems = {name.rstrip("0123456789") for name in header if name != who}
    if who and len(stems) == 1 and len(header) > 2:
        ways.append(turned)
    if who and len(flags) > 1:
        ways.append({"multi_label": True, "columns": _columns(header, flags)})
    if who:
        ways.append(
            {role: name for role, name in (long if item else long | {"item": free[0] if free else ""}).items() if name}
        )
    if not who and label and item and repeated:
        ways.append({"item": item, "label": label, "anonymous": True})
    is_votes = len(numbers) > 1 and not who
    texts = [name for name in free if name not in numbers]
    if is_votes and (texts or not set(text[numbers].to_numpy().ravel()) <= {"0", "1", "2", "3", "4", "5"}):
        ways.append(votes)
    if len(others) > 1 and not who:
        ways.append({"columns": _columns(header, others), **named_by,
                     **({"gold": known_labels[0]} if len(known_labels) == 1 else {})})  # fmt: skip
    if is_votes:
        ways.append(votes)
    if who:
        ways.append(turned)
    if not who and not run and len(free) > 2 - bool(item):
        ways.append({"item": item or free[0], "annotator": free[0] if item else free[1], "label": label})
    if len(header) == 1 and (mark := _mark(header[0], text)):
        ways.append({"separator": mark})
    ways += [] if given.get("no_header") or ways else [{"no_header": True, "columns": "1:"}]
    names = {"item", "annotator", "label", "columns"}
    return [{name: value for name, value in way.items() if name not in given or name not in names} for way in ways]


def _without_total(text: pd.DataFrame, numbers: Sequence[str]) -> list[str]:
    """Return columns of numbers without one that is the sum of the others, and then without one that is in no sum."""
    cells = {name: text[name].to_numpy(dtype=np.int64) for name in numbers}
    every = sum(cells.values(), np.zeros(len(text), dtype=np.int64))
    by_cells = {column.tobytes(): name for name, column in cells.items()}
    for total, column in cells.items():
        left = every - 2 * column  # 0, or the one column that is not in the sum
        odd = by_cells.get(left.tobytes())
        parts = [name for name in numbers if name not in (total, odd)]
        if column.any() and len(parts) > 1 and odd != total and (odd is not None or not left.any()):
            return parts
    return list(numbers)


def _find_label(text: pd.DataFrame, item: str, free: Sequence[str]) -> str:
    """Return the column that is likeliest to have labels: its cells repeat, and differ within items if items do."""
    shares = {}
    for name in free:
        filled = text[text[name] != ""]
        of_items = len(filled) > filled[item].nunique() if item in filled else False
        varies = not of_items or bool((filled.groupby(item)[name].nunique() > 1).any())
        if filled[name].nunique() > 1 and varies:
            shares[name] = filled[name].nunique() / len(filled)
    least = min(shares.values(), default=0.0)
    return next((name for name, share in shares.items() if share <= 2 * least), next(reversed(free), ""))


def _find_run(text: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the longest run of neighbouring columns with a few values that repeat, or that the column before has."""
    values = {name: {*text[name].str.casefold()} - {""} for name in names}
    few = {name: 2 * len(values[name]) <= (text[name] != "").sum() for name in names}
    runs: list[list[str]] = [[]]
    for name in names:
        own, before = values[name], values[runs[-1][-1]] if runs[-1] else set[str]()
        shared = len(own & before)
        goes_on = 0 < shared and (shared == len(own) or (few[name] and 2 * shared >= min(len(own), len(before))))
        if not goes_on:
            runs.append([])
        if goes_on or few[name]:
            runs[-1].append(name)
    longest = max(runs, key=len)
    return longest if len(longest) > 1 else []


def _columns(header: Sequence[str], names: Sequence[str]) -> str:
    """Return columns as an option names them: by their places if they are many in a row, or a name has a comma."""
    places = [header.index(name) + 1 for name in names]
    if len(places) > MOST_NAMED and places == list(range(places[0], places[-1] + 1)):
        return f"{places[0]}:{places[-1]}"
    by_place = any("," in name for name in names)
    return ",".join(f"{place}:{place}" if by_place else name for place, name in zip(places, names, strict=True))


def _mark(name: str, text: pd.DataFrame) -> str | None:
    return next((mark for mark in " :^~&" if mark in name and mark in str(text.iloc[0, 0])), None)
