"""Annotations and their long table of pandas: `AnnotationData.from_frame` and `to_frame`.

The invariant: a row is one answer, or it declares an item, an annotator or a known label. Every cell becomes text in
one way, whatever its type was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed, nearest, option
from bayesanno.data.columns import Column
from bayesanno.data.labelled import NO_ANNOTATION, name_unsure, order_responses, spell_numbers

SIDES = ("first", "second")  # the columns of systems, if nothing else names them
TIE = "tie"
WEIGHT = "weight"
type Text = pd.Series[str]


def write_cell(cell: Any, *, of_json: bool = False) -> str:
    """Return a cell as text: a whole number without decimals, a list or an object as JSON, "" if it is missing.

    Raises
    ------
    DataError
        If bytes are no text in UTF-8, or a number has thousands of digits.
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, np.generic | np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, bool):
        return str(cell).lower() if of_json else str(cell)
    try:
        if isinstance(cell, float) and cell.is_integer():
            return str(int(cell))
        if isinstance(cell, list | tuple | dict):
            return json.dumps(cell, default=lambda other: write_cell(other, of_json=True), ensure_ascii=False)
        if isinstance(cell, bytes):
            return cell.decode()
        return "" if cell is None or cell != cell or cell is pd.NA or cell is pd.NaT else str(cell)
    except UnicodeDecodeError:
        raise DataError(f"the cell {cell[:40]!r} is not UTF-8: decode its column before reading") from None
    except ValueError:  # Python limits the digits of a number
        raise DataError("a number has thousands of digits: write it as text") from None


def as_text(column: pd.Series[Any], *, of_json: bool = False) -> Text:
    """Return the cells of a column as text without surrounding whitespace, "" for missing ones; see `write_cell`.

    Raises
    ------
    DataError
        As for `write_cell`; if a text is not valid Unicode.
    """
    if isinstance(column.dtype, pd.StringDtype):
        return column.str.strip().fillna("")
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = as_text(pd.Series(column.cat.categories)).to_numpy()
        cells = np.append(names, "")[column.cat.codes].tolist()
    else:
        missing = column.isna().to_numpy()
        typed = column.infer_objects() if column.dtype == object else column
        cells = ["" if gone else write_cell(cell, of_json=of_json).strip()
                 for cell, gone in zip(typed.tolist(), missing, strict=True)]  # fmt: skip
    try:
        return pd.Series(cells, index=column.index, name=column.name, dtype="str")
    except UnicodeEncodeError as error:
        odd = error.object[max(0, error.start - 20) : error.end]
        raise DataError(f"{odd!r} is not valid Unicode: it holds half of a surrogate pair") from None


def place_of(frame: pd.DataFrame, row: int) -> str:
    """Return the place of a row, by position, to begin a message with: its file and line, or record."""
    name, unit = frame.attrs.get("name", "the table"), frame.attrs.get("unit", "row")
    place = frame["row"].iloc[row] if "row" in frame else row + 1
    return str(place) if str(place).startswith(str(name)) or unit == "place" else f"{name}, {unit} {place}"


def find_faults(frame: pd.DataFrame, text: Mapping[str, Text]) -> list[tuple[str, np.ndarray, str]]:
    """Return what must not be in a long table: a code, the rows by position, and a message about the first of them.

    `text` has the cells of the columns item, annotator and label, and of gold and control where these are there.
    """
    there = {role: (cells != "").to_numpy() for role, cells in text.items()}
    known = [role for role in ("gold", "control") if role in text]
    claimed = np.any([there[role] for role in ("label", "annotator", *known)], axis=0)
    found = []
    for code, lacking, rows in (
        ("no-item", "item", np.flatnonzero(claimed & ~there["item"])),
        ("no-annotator", "annotator", np.flatnonzero(there["label"] & there["item"] & ~there["annotator"])),
    ):
        if rows.size:
            role = next(one for one in ("label", *known, "annotator") if there[one][rows[0]])
            cell, item = (text[one].iloc[int(rows[0])] for one in (role, "item"))
            of = f" of item {item!r}" if item else ""
            found.append((code, rows, f"{place_of(frame, int(rows[0]))}: {role} {cell!r}{of} has no {lacking}"))
    for role in known:
        rows = np.flatnonzero(there[role] & there["item"])
        pairs = pd.DataFrame({"item": text["item"].to_numpy()[rows], "known": text[role].to_numpy()[rows]})
        pairs = pairs.drop_duplicates()
        again = pairs.index[pairs["item"].duplicated()]
        if len(again):
            item, second = pairs.loc[again[0]]
            first = pairs.loc[pairs["item"] == item, "known"].iloc[0]
            what = "true labels" if role == "gold" else "controls"
            message = f"{place_of(frame, int(rows[again[0]]))}: item {item!r} has two {what}, {first!r} and {second!r}"
            found.append((f"two-{role}s", rows[np.asarray(again)], message))
    return found


def collect_fields(
    frame: pd.DataFrame,
    labels: Sequence[str] | None,
    unsure: str | Sequence[str],
    columns: Mapping[str, Sequence[str]],
    sides: Sequence[str],
) -> dict[str, Any]:
    """Return the fields of the data in a long table; see `AnnotationData.from_frame`."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"a long table is a DataFrame of pandas, not {type(frame).__name__}: use bayesanno.read_table")
    lacking = next((role for role in ("item", "annotator", "label", *sides) if role not in frame), None)
    if lacking is not None:
        raise DataError(
            f"the table has no column {lacking!r} among {listed(list(map(str, frame.columns)))}: rename one, or read "
            "it "
            "with bayesanno.read_table"
        )
    roles = [role for role in ("item", "annotator", "label", "gold", "control", *sides) if role in frame]
    text = {role: as_text(frame[role]) for role in roles}
    alone = [role for role in roles if role not in (*sides, *(("gold", "control") if sides else ()))]
    for _, _, message in find_faults(frame, {role: text[role] for role in alone}):
        raise DataError(f"{message}: correct it, or leave the row out")
    category = frame["label"].dtype
    if labels is None and isinstance(category, pd.CategoricalDtype) and category.ordered:
        labels = [name for name in as_text(pd.Series(category.categories)) if name]
    labels = frame.attrs.get("labels") if labels is None else labels
    unsure = name_unsure(unsure)
    of_labels = [role for role in ("label", "gold", "control") if role in text]
    spelt = spell_numbers({name for role in of_labels for name in text[role].unique()}, unsure, labels)
    for role in of_labels if spelt else ():
        text[role] = text[role].replace(spelt)
    item, items = _number(text["item"])
    annotator, annotators = _number(text["annotator"])
    rows = np.flatnonzero((text["label"] != "").to_numpy())
    if not rows.size:
        raise DataError(f"{frame.attrs.get('name', 'the table')}: {NO_ANNOTATION}")
    found: dict[str, Any] = {"items": items, "annotators": annotators, "order_declared": labels is not None}
    found["item_columns"] = {name: _describe(frame, name, item, items) for name in columns["item"]}
    found["annotator_columns"] = {name: _describe(frame, name, annotator, annotators) for name in columns["annotator"]}
    if WEIGHT in frame:
        weights = frame[WEIGHT].astype(float).groupby(item).mean()
        found["item_columns"][WEIGHT] = Column.of(weights.reindex(range(len(items))).to_numpy())
    if sides:
        of_sides, swapped = _orient(frame, text, item, items, sides)
        found |= {"item_columns": of_sides | found["item_columns"], "sides": tuple(sides), "swapped": swapped[rows]}
        if labels is None:
            said = {name for role in of_labels for name in text[role].unique()}
            labels = [*sides, *([TIE] if TIE in said and TIE not in unsure else [])]
            found["order_declared"] = False
    label, names = _number(text["label"].iloc[rows])
    ordered = order_responses(names, unsure, labels)
    position = {name: code for code, name in enumerate(ordered)}
    if odd := next((name for name in names if name not in position), None):
        at = int(rows[names.index(odd)] if names.index(odd) == 0 else rows[np.argmax(label == names.index(odd))])
        raise DataError(
            f"{place_of(frame, at)}: label {odd!r} of item {text['item'].iloc[at]!r} is not among the declared labels, "
            f"{listed(ordered)}{nearest(odd, ordered)}; if it is no answer, use {option('missing', odd)}"
        )
    for role, name in (("gold", "gold"), ("control", "controls")):
        if role in text:
            known = (
                pd.DataFrame({"item": text["item"], "known": text[role]}).query("known != ''").drop_duplicates("item")
            )
            found[name] = dict(zip(known["item"], known["known"], strict=True))
    if TIE in unsure and "gold" in found and sides:
        found["gold"] = {name: known for name, known in found["gold"].items() if known != TIE}
    codes = np.array([position[name] for name in names], dtype=np.int64)[label]
    return found | {"item": item[rows], "annotator": annotator[rows], "label": codes, "labels": ordered,
                    "unsure": unsure}  # fmt: skip


def _number(cells: Text) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the position of each cell among the names, -1 for an empty one, and the names by first appearance."""
    codes, names = pd.factorize(cells.where(cells != ""))
    return codes.astype(np.int64), tuple(names.tolist())


def _describe(frame: pd.DataFrame, name: str, codes: np.ndarray, names: Sequence[str]) -> Column:
    """Return a column of the items or annotators: a value for each, numbers or names."""
    if name not in frame:
        raise DataError(f"the table has no column {name!r} among {listed(list(map(str, frame.columns)))}")
    cells = frame[name]
    numeric = pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_bool_dtype(cells.dtype)
    cells = cells.astype(float) if numeric else as_text(cells)
    known = pd.DataFrame({"code": codes, "value": cells.to_numpy(), "at": np.arange(len(frame))})
    known = known[(known["code"] >= 0) & (cells.notna() if numeric else cells != "").to_numpy()]
    distinct = known.drop_duplicates(["code", "value"])
    if (again := distinct[distinct["code"].duplicated()]).size:
        one, value, at = again.iloc[0]
        before = distinct.loc[distinct["code"] == one, "value"].iloc[0]
        raise DataError(
            f"{place_of(frame, int(at))}: {names[one]!r} has two values of {name!r}, {before!r} and {value!r}: keep one"
        )
    values = distinct.set_index("code")["value"].reindex(range(len(names)))
    return Column.of(values.to_numpy(dtype=float) if numeric else values.fillna("").tolist())


def _orient(
    frame: pd.DataFrame, text: dict[str, Text], item: np.ndarray, items: Sequence[str], sides: Sequence[str]
) -> tuple[dict[str, Any], np.ndarray]:
    """Turn the labels of comparisons to the item's order, in place; return columns of systems and who saw the other.

    The order of an item is that which was shown, or of an item that was shown in both, the one of the systems' names.
    """
    shown = pd.DataFrame({"code": item, "a": text[sides[0]].to_numpy(), "b": text[sides[1]].to_numpy()})
    lacking = (shown[["a", "b"]] == "").any(axis=1).to_numpy() & (item >= 0)
    if lacking.any():
        at = int(lacking.argmax())
        side = sides[1] if shown["a"].iloc[at] else sides[0]
        raise DataError(f"{place_of(frame, at)}: {side!r} is missing: fill in the system, or leave the row out")
    if (own := np.flatnonzero((shown["a"] == shown["b"]).to_numpy() & (item >= 0))).size:
        one = shown["a"].iloc[int(own[0])]
        raise DataError(f"{place_of(frame, int(own[0]))}: {one!r} is compared with itself: correct it")
    distinct = shown[shown["code"] >= 0].drop_duplicates()
    pair_of: dict[int, tuple[str, str]] = {}
    for at, code, a, b in distinct.itertuples(name=None):
        if {*pair_of.setdefault(code, (a, b))} != {a, b}:
            raise DataError(
                f"{place_of(frame, int(at))}: item {items[code]!r} compares {listed(pair_of[code])} and "
                f"{listed((a, b))}: "
                "an item has one pair"
            )
        if pair_of[code] != (a, b):
            pair_of[code] = (min(a, b), max(a, b))
    swapped = np.array(
        [code >= 0 and pair_of[code][0] != a for code, a in zip(item.tolist(), shown["a"].tolist(), strict=True)]
    )
    turn = dict(zip(sides, reversed(sides), strict=True))
    for role in ("label", "gold", "control"):
        if role in text and swapped.any():
            text[role] = text[role].where(~swapped, text[role].replace(turn))
    for role in ("gold", "control"):
        if role in text:
            faults = find_faults(frame, {one: text[one] for one in ("item", "annotator", "label", role)})
            if faults:
                raise DataError(f"{faults[0][2]}: keep one")
    systems = tuple(sorted({*shown["a"], *shown["b"]} - {""}))
    columns = {side: Column.of([pair_of[code][at] for code in range(len(items))], systems)
               for at, side in enumerate(sides)}  # fmt: skip
    return columns, swapped


def tabulate(data: Any) -> pd.DataFrame:
    """Return the annotations as a long table; see `AnnotationData.to_frame`."""
    names, other = np.array(data.items, dtype=object)[data.item], data.other_side
    known = {
        column: [
            other.get(label, label) if turned else label
            for label, turned in zip([of.get(name, "") for name in names], data.swapped, strict=True)
        ]
        for column, of in (("gold", data.gold), ("control", data.controls))
        if of
    }
    answers = {"label": np.array(data.labels, dtype=object)[data.shown_label], **known}
    made = lay_out_long(data, {name: pd.array(cells, dtype="str") for name, cells in answers.items()})
    made = made.assign(**show_systems(data, data.item, data.swapped))
    own = {*data.sides, WEIGHT}
    made.attrs |= {"item_columns": [name for name in data.item_columns if name not in own]}
    made.attrs |= {"sides": list(data.sides) if data.has_systems else []}
    return made


def lay_out_long(data: Any, answers: Mapping[str, Any]) -> pd.DataFrame:
    """Return a long table of answers (annotation,), by column, with the columns of items and annotators."""
    names = {
        "item": np.array(data.items, dtype=object)[data.item],
        "annotator": np.array(data.annotators, dtype=object)[data.annotator],
    }
    described = {
        name: np.array(column.names, dtype=object)[code] if column.levels else column.values[code]
        for code, columns in ((data.item, data.item_columns), (data.annotator, data.annotator_columns))
        for name, column in columns.items()
    }
    made = pd.DataFrame(names, dtype="str").assign(**answers, **described)
    made.attrs |= {"item_columns": [*data.item_columns], "annotator_columns": [*data.annotator_columns]}
    return made


def name_winners(data: Any, labels: Iterable[str], items: Iterable[int]) -> list[str]:
    """Return labels of some items, by position, with the names of systems in place of sides."""
    systems = {side: data.item_columns[side].names for side in data.sides} if data.has_systems else {}
    return [systems[label][item] if label in systems else label for label, item in zip(labels, items, strict=True)]


def show_systems(data: Any, item: np.ndarray, swapped: np.ndarray) -> dict[str, np.ndarray]:
    """Return the systems by side, in the order of these items (row,) or the other one; nothing without systems."""
    if not data.has_systems:
        return {}
    pair = [np.array(data.item_columns[side].names, dtype=object)[item] for side in data.sides]
    return {side: np.where(swapped, pair[1 - at], pair[at]) for at, side in enumerate(data.sides)}
