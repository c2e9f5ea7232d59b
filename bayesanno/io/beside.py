"""Tables beside the annotations: known labels, columns of items and of annotators, and further answers.

The invariant: a name means in every table what it means in the data; a name that the data do not have is refused, or
left out with a warning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, NamesWarning, counted, listed, nearest, option, warn
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import extend_columns
from bayesanno.data.described import require_kind
from bayesanno.data.frame import find_faults
from bayesanno.data.labelled import MISSING_CODES, Codes, spell_numbers
from bayesanno.io.check import Spelling
from bayesanno.io.comparisons import Words
from bayesanno.io.names import ALIASES, FIELD, Question, cells_of, find, find_item, name_of, where
from bayesanno.io.sources import Source, has_lists, open_source, text_of

OF_FILES = (
    "item",
    "gold",
    "missing",
    "strip",
    "ignore_case",
    "same",
    "encoding",
    "separator",
)  # options of any of them
_OPENING = ("encoding", "separator")


def open_table(source: Source, options: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return the table of text in a source that may be no export.

    Raises
    ------
    DataFileError, DataError
        As for `open_source`; if its fields are nested.
    """
    given = {name: value for name, value in (options or {}).items() if name in _OPENING and value is not None}
    frame = open_source(source, **given)
    if frame.attrs["of"] == "json" and has_lists(frame):
        raise DataError(
            f"{name_of(frame)} is JSON with nested fields, but must be a table, as CSV, TSV, Parquet or flat JSON"
        )
    return text_of(frame)


def open_beside(source: Source, options: Mapping[str, Any], role: str = "item") -> pd.DataFrame:
    """Return a table about the items, or annotators, of data that were read by these options; their names come first.

    The column is the one that the options name, or a template of theirs filled in, if the table has it; else it is
    found by its name.

    Raises
    ------
    DataFileError, DataError
        As for `open_table`; if no column names the items, or annotators.
    """
    table = open_table(source, options)
    asked = options.get(role) or ""
    is_template = asked not in table.columns and FIELD.search(asked) is not None
    if is_template and {field.strip() for field in FIELD.findall(asked)} <= {*table.columns}:
        attrs = table.attrs
        table = pd.DataFrame({asked: cells_of(table, asked, role)}).join(table)
        table.attrs |= attrs
        return table
    try:
        own = asked if asked in table.columns else find_item(table) if role == "item" else find(table, role)
    except Question as question:
        raise DataError(f"{question.message}: rename one to {role!r}") from None
    if own is None:
        known = listed(ALIASES[role], most=20)
        raise DataError(f"{name_of(table)} has no column for the {role}: looked for {known} among "
                        f"{listed(list(table.columns))}; rename it to {role!r}")  # fmt: skip
    return table[[own, *(name for name in table.columns if name != own)]]


def read_known(
    path: Source,
    roles: Sequence[str],
    items: Sequence[str],
    labels: Sequence[str] | None,
    options: Mapping[str, Any] | None = None,
    spelt: Sequence[str] = (),
) -> dict[str, str]:
    """Read the true labels of some items from a file with a column for the item and one for the first role it has.

    Spellings that options join are those in `spelt`, or in `labels`.

    Raises
    ------
    DataError
        If no item is among the data's, one has two labels, or a label is not among `labels`, where these are given.

    Warns
    -----
    NamesWarning
        If some items are not among the data's; they are left out.
    """
    table = open_beside(path, options or {})
    named = (options or {}).get("gold")
    by_role = (find(table, role, named if role == "gold" and named in table.columns else None) for role in roles)
    column = next((name for name in by_role if name is not None), None)
    if column is None:
        known = listed([*ALIASES[roles[0]], *ALIASES[roles[1]]], most=20)
        raise DataError(f"{name_of(table)} has no column of true labels: looked for {known} among "
                        f"{listed(list(table.columns))}: rename the column to {roles[0]!r}")  # fmt: skip
    said = table[column].replace(Spelling.of(options or {}, spelt or labels or ()).join([table[column]]))
    said = said.replace(spell_numbers(said.unique(), (), labels or None)) if labels is not None else said
    names = table.iloc[:, 0]
    rows = np.flatnonzero((said != "").to_numpy())
    annotated, found, strange = {*items}, dict[str, str](), dict[str, int]()
    for row in rows.tolist():
        item, label = names.iloc[row], said.iloc[row]
        if not item:
            raise DataError(f"{where(table, row)}: label {label!r} has no item: fill it in or remove the row")
        if item not in annotated:
            strange.setdefault(item, row)
        elif labels is not None and label not in labels:
            code = (
                f"; if it stands for a missing answer, use {option('missing', label)}" if label in MISSING_CODES else ""
            )
            raise DataError(f"{where(table, row)}: label {label!r} of item {item!r} is not among the declared labels, "
                            f"{listed(labels)}{nearest(label, labels)}{code}; declare unused labels with "
                            f"{option('labels')} when reading annotations")  # fmt: skip
        elif found.setdefault(item, label) != label:
            raise DataError(
                f"{where(table, row)}: item {item!r} has two labels, {found[item]!r} and {label!r}: keep one"
            )
    if strange:
        item, row = next(iter(strange.items()))
        if not found:
            raise DataError(f"{where(table, row)}: no item of this file, such as {item!r}, is in the data: correct "
                            "the names "
                            f"or choose another column of items{nearest(item, items)}")  # fmt: skip
        known = counted(len(strange) + len(found), "known label")
        warn(f"{name_of(table)}: {len(strange):,} of {known} are left out, as their items are not in the data; the "
             "first is "
             f"{item!r} in {table.attrs['unit']} {table.index[row]}", NamesWarning)  # fmt: skip
    return found


def add_known(
    table: pd.DataFrame, known: Any, role: str, options: Mapping[str, Any], declared: Sequence[str] | None
) -> pd.DataFrame:
    """Return a long table with known labels, of a file or a mapping, as its column of gold or of controls."""
    items, sides = [name for name in table["item"].unique() if name], table.attrs.get("sides") or ()
    spelt = declared or list(filter(None, table["label"].unique()))
    unsure, attrs = table.attrs.get("unsure", ()), table.attrs
    if isinstance(known, Mapping):
        found = {str(item): str(label) for item, label in known.items()}
        written = Spelling.of(options, spelt).join([pd.Series([*found.values()], dtype="str")]) if found else {}
        found = {item: label for item, said in found.items() if (label := written.get(said, said))}
        odd = next((item for item in found if item not in items), None)
        if odd is not None:
            raise DataError(f"controls: item {odd!r} is not among the items{nearest(odd, items)}")
    elif isinstance(known, str) or hasattr(known, "__fspath__"):
        labels = None
        if role == "control" and not sides:
            labels = spelt
        roles = ("gold", "label") if role == "gold" else ("label", "gold")
        found = read_known(known, roles, items, labels, options, () if sides else spelt)
    else:
        raise DataError(f"controls is a {type(known).__name__}, but must map items to labels, or be a file")
    cells = table["item"].map(found).fillna("").astype("str")
    if sides:
        cells = pd.Series(understand_known(table, cells.tolist(), sides, role, unsure), index=table.index, dtype="str")
    table = table.assign(**{role: cells})
    table.attrs |= attrs
    return table


def understand_known(
    table: pd.DataFrame, cells: Sequence[str], sides: Sequence[str], what: str, unsure: Sequence[str] = ()
) -> list[str]:
    """Return the known label of each row as a side or a tie, in the order that was shown.

    Raises
    ------
    DataError
        If it is neither, or a side is named of an item that was shown in both orders.
    """
    shown = list(zip(*(table[side] for side in sides), strict=True))
    words = Words((sides[0], sides[1]), frozenset(name for pair in shown for name in pair), others=tuple(unsure))
    orders: dict[str, set[Any]] = {}
    for item, pair in zip(table["item"], shown, strict=True):
        orders.setdefault(item, set()).add(pair)
    found = []
    for item, label, pair in zip(table["item"], cells, shown, strict=True):
        if label and len(orders[item]) > 1 and label not in words.systems and words.find_side(label) is not None:
            raise DataError(f"{what}: item {item!r} was shown in both orders, so {label!r} may be either of "
                            f"{listed(pair)}: "
                            "give the name of the system")  # fmt: skip
        found.append(words.understand(label, pair, f"{what}: item {item!r}"))
    return found


def understand_winners(data: AnnotationData, known: Mapping[str, str], what: str) -> dict[str, str]:
    """Return known labels of comparisons that are data already as sides or ties of the items."""
    both = {data.items[code] for code in data.item[data.swapped]}
    pairs = {side: data.item_columns[side].names for side in data.sides}
    table = pd.DataFrame({"item": data.items, **pairs})
    turned = table[table["item"].isin(both)].rename(columns=dict(zip(data.sides, reversed(data.sides), strict=True)))
    every = pd.concat([table, turned], ignore_index=True)
    cells = [known.get(item, "") for item in every["item"]]
    said = understand_known(every, cells, data.sides, what, data.unsure)
    return {item: label for item, label in zip(data.items, said[: len(table)], strict=True) if label}


# ------------------------------------------------------------------------------------ columns of items and annotators


def add_columns(table: pd.DataFrame, extra: pd.DataFrame, of: str) -> pd.DataFrame:
    """Return a long table with the columns of a table of items, or annotators, whose first column names them.

    Items without answers get a row. If an item is a question with a pair of systems, its row may have either name, and
    no item is added, since its pair would be unknown.

    Raises
    ------
    DataError
        If a row has no name, two rows of one differ, none is in the data, a column of numbers has a code for a missing
        one, or there is no column beside the names.
    """
    own, *names = extra.columns
    rows = extra.drop_duplicates()
    faults = extra[own] == ""
    if faults.any():
        raise DataError(
            f"{where(extra, int(faults.to_numpy().argmax()))}: this row has no {of}: fill it in, or leave the row out"
        )
    if not names:
        raise DataError(f"{name_of(extra)} has no column beside {own!r}: add one that describes the {of}s")
    again = rows[own].duplicated()
    if again.any():
        at = int(np.flatnonzero(extra.index == again[again].index[0])[0])
        one = extra[own].iloc[at]
        first = rows[rows[own] == one].iloc[0]
        name = next(name for name in names if first[name] != extra[name].iloc[at])
        raise DataError(f"{where(extra, at)}: {of} {one!r} has two values of {name!r}, {first[name]!r} and "
                        f"{extra[name].iloc[at]!r}: keep one")  # fmt: skip
    if (twice := next((name for name in names if name in table.columns and name != "row"), None)) is not None:
        raise DataError(f"{name_of(extra)}: column {twice!r} is also one of the annotations: rename it or leave it out")
    attrs, sides = table.attrs, table.attrs.get("sides") or ()
    known = {*rows[own]}
    key = table[of]
    if sides and of == "item":
        suffix = ": " + table[sides[0]] + " | " + table[sides[1]]
        turned = ": " + table[sides[1]] + " | " + table[sides[0]]
        asked = [item if item in known else item.removesuffix(one).removesuffix(other)
                 for item, one, other in zip(key, suffix, turned, strict=True)]  # fmt: skip
        key = pd.Series(asked, index=table.index, dtype="str")
    people = {*key} - {""}
    if not people & known:
        one = rows[own].iloc[0]
        raise DataError(f"{name_of(extra)}: no {own}, such as {one!r}, is "
                        f"{'an item' if of == 'item' else 'an annotator'} of the "
                        f"data: correct the names, or rename the column of {of}s to "
                        f"{of!r}{nearest(one, people)}")  # fmt: skip
    new = [one for one in rows[own] if one not in people]
    if new and sides:
        warn(
            f"{name_of(extra)}: left out {counted(len(new), of)} without comparisons, such as {new[0]!r}", NamesWarning
        )
    numbers = {name: _as_numbers(extra, name) for name in names}
    of_rows = rows.assign(
        **{name: cells[rows.index] if cells is not None else rows[name] for name, cells in numbers.items()}
    )
    made = table
    if new and of == "item" and not sides:
        more = pd.DataFrame({"item": new}, dtype="str").reindex(columns=table.columns)
        texts = [name for name in table.columns if name not in ("item", "row")]
        more[texts] = ""
        made = pd.concat([table, more.astype({name: table[name].dtype for name in texts})], ignore_index=True)
        key = pd.concat([key, pd.Series(new, dtype="str")], ignore_index=True)
    beside = of_rows.set_index(own).reindex(key)
    for name in names:
        cells = beside[name].to_numpy() if numbers[name] is not None else beside[name].fillna("").to_numpy()
        made = made.assign(
            **{name: pd.Series(cells, index=made.index, dtype=float if numbers[name] is not None else "str")}
        )
    made.attrs |= attrs
    made.attrs[f"{of}_columns"] = [*attrs.get(f"{of}_columns", ()), *names]
    lacking = len(people - known)
    gone = f"{len(new):,} items added" if of == "item" else f"left out {counted(len(new), of)} without answers"
    said = f"columns of {of}s {', '.join(map(repr, names))}; {gone}, {lacking:,} without a row"
    made.attrs["read_as"] = "; ".join(filter(None, [attrs.get("read_as", ""), said]))
    return made


def _as_numbers(table: pd.DataFrame, name: str) -> pd.Series[float] | None:
    """Return a column as numbers, if all its non-empty cells are finite numbers."""
    cells = table[name]
    numbers = {cell: _as_number(cell) for cell in cells.unique() if cell}
    odd = [cell for cell, number in numbers.items() if number is None]
    if odd and len(odd) < len(numbers) and {*odd} <= {*MISSING_CODES}:
        row = int(cells.isin(odd).to_numpy().argmax())
        raise DataError(f"{where(table, row)}: {name} is {cells.iloc[row]!r} in a column of numbers: empty the cell "
                        "if the "
                        "number is missing")  # fmt: skip
    return None if odd else cells.map(numbers).astype(float)


def _as_number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in cell else None


# -------------------------------------------------------------------------------------------------- further answers


def add_annotations(data: AnnotationData, source: Source, **options: Any) -> AnnotationData:
    """Return the data with further answers, such as those that `suggest_annotations` asks for.

    Parameters
    ----------
    data : AnnotationData
    source : path, str or DataFrame
        Columns item, annotator and label. Rows without a label are left out, and other columns are ignored. Items and
        annotators may be new; the `item_columns` of new items are missing. For comparisons, columns with the names of
        the sides have the order that was shown, if it was not the item's; the label may be the name of a system.
    **options
        As for `read_annotations`: item, annotator, label, missing, strip, ignore_case, same, encoding and separator.

    Raises
    ------
    DataFileError, DataError
        If the table cannot be read or lacks a column; if a label is not a label of the data, or an annotator has
        already answered the item.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> data = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s2", "bo", "no")])
    >>> answered = pd.DataFrame({"item": ["s1", "s2"], "annotator": ["bo", "cy"], "label": ["yes", ""]})
    >>> ba.add_annotations(data, answered).describe()
    '3 annotations of 2 items by 2 annotators; labels no, yes'
    """
    require_kind(data, AnnotationData, "add_annotations")
    table = open_beside(source, options)
    named = {role: str(options.get(role) or "") for role in ("annotator", "label")}
    found = {role: name if name in table.columns else find(table, role) for role, name in named.items()}
    lacking = next((role for role, name in found.items() if name is None), None)
    if lacking is not None:
        raise DataError(f"{name_of(table)} has no column for the {lacking} among {listed(list(table.columns))}; "
                        "rename it to "
                        f"{lacking!r}")  # fmt: skip
    cells = {"item": table.iloc[:, 0]} | {role: table[str(name)] for role, name in found.items()}
    said = cells["label"].replace(Spelling.of(options, data.labels).join([cells["label"]]))
    said = said.replace(spell_numbers(said.unique(), data.unsure, data.labels))
    more = pd.DataFrame(cells | {"label": said} | {side: table[side] for side in data.sides if side in table})
    more = more.assign(row=more.index)[more["label"] != ""].reset_index(drop=True)
    more.attrs |= {"name": name_of(table), "unit": table.attrs["unit"]}
    if faults := find_faults(more, {role: more[role] for role in cells}):
        raise DataError(f"{faults[0][2]}: fill it in")
    swapped = np.zeros(len(more), dtype=bool)
    if data.has_systems:
        more, swapped = _orient(data, more)
    for at, label in enumerate(more["label"]):
        if label not in data.labels:
            code = (
                f"; if it stands for a missing answer, use {option('missing', label)}" if label in MISSING_CODES else ""
            )
            raise DataError(f"{_at(more, at)}: label {label!r} is not among the declared labels, {listed(data.labels)}"
                            f"{nearest(label, data.labels)}{code}; declare all with {option('labels')}")  # fmt: skip
    codes = zip(data.item, data.annotator, data.swapped, strict=True)
    given = {(data.items[i], data.annotators[j], bool(turned)) for i, j, turned in codes}
    for at, key in enumerate(zip(more["item"], more["annotator"], swapped.tolist(), strict=True)):
        if key in given:
            raise DataError(f"{_at(more, at)}: {key[1]!r} has already answered item {key[0]!r}: leave the row out")
        given.add(key)
    names = {"items": more["item"], "annotators": more["annotator"], "labels": more["label"]}
    every = {
        what: tuple(dict.fromkeys([*getattr(data, what), *cells])) for what, cells in names.items() if what != "labels"
    }
    every["labels"] = data.labels

    def append(what: str, codes: Codes) -> Codes:
        return np.append(codes, pd.Index(every[what]).get_indexer(names[what]))

    return replace(
        data,
        items=every["items"],
        item_columns=extend_columns(data.item_columns, data.n_items, len(every["items"])),
        annotators=every["annotators"],
        annotator_columns=extend_columns(data.annotator_columns, data.n_annotators, len(every["annotators"])),
        item=append("items", data.item),
        annotator=append("annotators", data.annotator),
        label=append("labels", data.label),
        swapped=np.append(data.swapped, swapped),
    )


def _at(table: pd.DataFrame, row: int) -> str:
    return f"{name_of(table)}, {table.attrs['unit']} {table['row'].iloc[row]}"


def _orient(data: AnnotationData, more: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return further answers to comparisons with labels about the sides of items, and who saw the other order."""
    pair_of = dict(
        zip(data.items, zip(*(data.item_columns[side].names for side in data.sides), strict=True), strict=True)
    )
    words = Words(
        (data.sides[0], data.sides[1]),
        frozenset(name for pair in pair_of.values() for name in pair),
        others=data.unsure,
    )
    turn, labels, swapped = dict(zip(data.sides, reversed(data.sides), strict=True)), [], []
    for at, row in enumerate(more.to_dict("records")):
        item = row["item"]
        if item not in pair_of:
            raise DataError(f"{_at(more, at)}: item {item!r} is new: read its answers together with the others")
        shown = tuple(row[side] for side in data.sides) if {*data.sides} <= row.keys() else pair_of[item]
        if {*shown} != {*pair_of[item]}:
            raise DataError(f"{_at(more, at)}: item {item!r} compares {listed(pair_of[item])}, not {listed(shown)}")
        side, turned = words.understand(row["label"], (shown[0], shown[1]), _at(more, at)), shown != pair_of[item]
        labels.append(turn.get(side, side) if turned else side)
        swapped.append(turned)
    return more.assign(label=pd.Series(labels, dtype="str")), np.array(swapped, dtype=bool)
