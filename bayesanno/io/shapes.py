"""Tables of text, by the name of their shape, as one long table: a DataFrame in, a DataFrame out.

The invariant: a column is what its name or an option says, and each answer becomes one row with its place; no answer is
dropped, merged or renamed. Where names do not decide, a function asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd
from bayesanno._core.wording import listed, option
from bayesanno.data.labelled import ANYONE
from bayesanno.io.names import (
    ALIASES,
    CONTENTS,
    LAST_ALIASES,
    Question,
    beside,
    cells_of,
    check_distinct,
    choose,
    find,
    matching,
    matching_loosely,
    name_of,
    numbered,
    others_than_annotators,
    sides_among,
    where,
)
from bayesanno.io.records import describe, records
from bayesanno.io.sources import text_of

MOST_ROWS = 10_000_000  # the limit of items or answers that counts expand to
_ENOUGH = 20  # answers needed to judge whether labels are repeated
_TEXTS = ("response", "answer")  # which a label may be about
_CHOSEN = {"1": "yes", "0": "no", "1.0": "yes", "0.0": "no", "true": "yes", "false": "no", "": "no"}
type Roles = dict[str, pd.Series[Any] | str]


def long(
    frame: pd.DataFrame,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    gold: str | None = None,
    anonymous: bool = False,
) -> pd.DataFrame:
    """Make a long table of one with a row for each answer.

    Parameters
    ----------
    frame : DataFrame
        With columns for item, annotator and label.
    item, annotator, label, gold : str, optional
        The names of the columns, by default those that `read_annotations` knows. Item and annotator may be templates
        over columns, as `{system}/{segment}`.
    anonymous : bool, default False
        Whether no column names annotators: each row is an answer by `anyone`.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"task": ["s1", "s1"], "who": ["ada", "bo"], "verdict": ["good", "bad"]})
    >>> ba.shapes.long(said, annotator="who")
      item annotator label  row
    0   s1       ada  good    1
    1   s1        bo   bad    2
    """
    text = text_of(frame)
    roles = find_roles(text, item=item, annotator=annotator, label=label, gold=gold, anonymous=anonymous)
    if label is None:
        sides = sides_among(name for name in text.columns if name not in roles.values())
        said = [name for name in text.columns if name in set(text[roles["label"]].unique())]
        if len(pair := sides or (said if len(said) == 2 else [])) == 2:
            raise Question(f"{name_of(text)}: the columns {pair[0]!r} and {pair[1]!r} may be two systems, of which the "
                           "label is the better", {"pairs": ",".join(pair)}, {"label": roles["label"]})  # fmt: skip
    cells: Roles = {role: cells_of(text, name, role) for role, name in roles.items()}
    made = _make(text, cells | ({"annotator": ANYONE} if anonymous else {}))
    given = {"item": item, "annotator": annotator, "label": label}
    if not anonymous:
        _doubt(text, made, roles, {role for role, name in given.items() if name is None})
    if "label" in roles and (ordered := text.attrs.get("ordered", {}).get(roles["label"])):
        made["label"] = pd.Categorical(made["label"].where(made["label"] != ""), ordered, ordered=True)
    made.attrs["read_as"] = describe(text, roles, made)
    return made


def find_roles(frame: pd.DataFrame, *, anonymous: bool = False, **given: str | None) -> dict[str, str]:
    """Return the column of each role of a long table that is there, given or by its name.

    Raises
    ------
    Question
        If there is no column for item, annotator or label, or several.
    DataError
        If one column has two roles.
    """
    names: dict[str, str | None] = {}
    for role in ("item", "annotator", "label", "gold", "control"):
        own = given.get(role)
        is_known = own is not None and (own in frame.columns or "{" in own)
        names[role] = own if is_known else find(frame, role, own)
    if anonymous:
        names["annotator"] = None
    check_distinct(frame, names)
    lacking = [role for role in ("item", "annotator", "label") if names[role] is None and not (anonymous and role == "annotator")]
    if lacking:
        said = f"no column for the {' and the '.join(lacking)} among {listed(list(frame.columns), most=6)}"
        raise Question(f"{name_of(frame)}: {said}")
    return {role: name for role, name in names.items() if name is not None}


def _make(frame: pd.DataFrame, cells: Roles) -> pd.DataFrame:
    """Return a long table of the cells of each role, and the places of rows."""
    made = pd.DataFrame({**cells, "row": frame.index}, index=frame.index).reset_index(drop=True)
    named = {role: made[role].astype("str") for role in cells}
    made = made.assign(**named)
    for role in ("gold", "control"):
        if role in made and not (made[role] != "").any():
            made = made.drop(columns=role)
    made.attrs |= {"name": name_of(frame), "unit": frame.attrs["unit"]}
    return made


def _doubt(frame: pd.DataFrame, made: pd.DataFrame, roles: dict[str, str], by_name: set[str]) -> None:
    """Ask if a column that was found by its name may not have the role: ids may name rows, and answers be texts."""
    answered = made[made["label"] != ""]
    n, people, items = len(answered), answered["annotator"].nunique(), answered["item"].nunique()
    pairs = len(answered[["item", "annotator"]].drop_duplicates())
    name, rest = roles["item"], [column for column in frame.columns if column not in roles.values()]
    others = [column for column in matching_loosely(rest) if column]
    loose, why = not matching([name], "item"), ""
    if "item" in by_name and name.casefold() not in ("item", "item_id"):
        if pairs < n if others or loose else 2 * pairs <= n:
            why = "annotators answer some of its names again"
        elif loose and items == n > 1 and people > 1 and frame.attrs["of"] == "text":
            why = "no name in it has two answers"
        elif others and items == 1 < n:
            why = "it has one name alone"
    if why:
        ways: list[dict[str, str]] = [{"item": f"{{{one}}}/{{{name}}}"} for one in others[:1]]
        raise Question(f"{name_of(frame)}: the column {name!r} may not name the items, since {why}",
                       *({"item": one} for one in others), *ways, {"item": name})  # fmt: skip
    weak = [role for role in ("annotator", "label") if role in by_name and roles[role].casefold() in LAST_ALIASES[role]]
    if "annotator" in weak and pairs < n:
        raise Question(f"{name_of(frame)}: {roles['annotator']!r} may not name the annotators, since some of its names "
                       "answer an item again", *({"annotator": one} for one in rest[:2]),
                       {"annotator": roles["annotator"]})  # fmt: skip
    labels, label, why = answered["label"].nunique(), roles["label"], ""
    scores = [column for column in rest if column.casefold() in LAST_ALIASES["label"]]
    if n >= (3 if "label" in weak else _ENOUGH) and labels > n / 2:
        why = "most answers in it occur once"
    elif label.casefold() in _TEXTS and scores:
        why = f"there is a column {scores[0]!r}"
    if why and "label" in by_name:
        raise Question(f"{name_of(frame)}: the column {label!r} may not hold labels, since {why}",
                       *({"label": one} for one in scores), {"label": label})  # fmt: skip


def wide(
    frame: pd.DataFrame,
    *,
    columns: str | Sequence[str] = (),
    item: str | None = None,
    gold: str | None = None,
    count: str | None = None,
    multi_label: bool = False,
    split: str | None = None,
    labels: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Make a long table of one with a row for each item and a column for each annotator.

    Parameters
    ----------
    frame : DataFrame
    columns : str or sequence of str, optional
        The annotators' columns: names, patterns such as `rater_*`, or positions such as `2:`. A text is split at commas.
        Needed unless all columns that are no other role's have one word for annotators with a number, as `rater_1`.
    item, gold : str, optional
        The columns of items and of true labels. Without a column of items, rows are numbered.
    count : str, optional
        The column that says how many items have the answers of a row; by default count, n, freq, frequency or weight.
    multi_label, split, labels
        As for `records`.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"item": ["s1", "s2"], "ada": ["yes", "no"], "bo": ["no", None]})
    >>> ba.shapes.wide(said, columns=["ada", "bo"])
      item annotator label  row
    0   s1       ada   yes    1
    1   s1        bo    no    1
    2   s2       ada    no    2
    3   s2        bo          2
    """
    text = text_of(frame)
    others = [name for name in (find(text, "gold", gold), _count_of(text, count, columns, item)) if name]
    named = choose(text, columns, [*others, *([item] if item else matching(text.columns, "item"))]) if columns else []
    others = [name for name in others if name not in named or name in (gold, count)]
    items = _item_of(text, item, named, frame)
    if not columns:
        left = {items, *others, *others_than_annotators(list(text.columns)), ""}
        named = [name for name in text.columns if name not in left]
        if not numbered(named):
            raise Question(f"{name_of(text)}: the names {listed(list(text.columns), most=6)} do not say which columns are "
                           "annotators")  # fmt: skip
    check_distinct(text, {"annotator": items if items in named else None, "item": items})
    counts = _count_of(text, count, columns, item)
    counts = None if counts in named and count is None else counts
    if count is not None and item is None:
        items = None
    if counts is not None and items is not None:
        why = f"a row with a number {counts!r} stands for several items, but column {items!r} names one"
        raise Question(f"{name_of(text)}: {why}", {"format": "wide", "columns": ",".join(named)}, {"count": counts})
    text = text.assign(**{"$item": cells_of(text, items, "item") if items is not None else "",
                          "$gold": text[others[0]] if others and others[0] != counts else ""})  # fmt: skip
    if not columns and (said := text[named].melt()["value"]).size:
        said = said[said != ""]
        if len(said) >= _ENOUGH and 2 * said.nunique() > len(said):
            raise Question(f"{name_of(text)}: the columns {listed(named)} may not hold labels, since most answers in them "
                           "occur once", {"columns": ",".join(named)})  # fmt: skip
    if counts is not None:
        blank = (text[named] == "").all(axis=1) & (text[counts] == "")
        times = whole_numbers(text, counts, blank.to_numpy())
        if times.sum() > MOST_ROWS:
            raise DataError(f"{name_of(text)}: column {counts!r} adds up to {times.sum():,} items, and the limit is "
                            f"{MOST_ROWS:,}: divide the counts or leave rows out")  # fmt: skip
        text = _keep(text, text.loc[text.index.repeat(times)])
    numbers = items is None
    if numbers:
        text["$item"] = [str(number) for number in range(1, len(text) + 1)]
    table = _melt(text, named)
    if multi_label or split:
        made = records(_keep(text, table.set_index("row")), multi_label=multi_label, split=split, labels=labels)
    else:
        made = table
        kinds = {tuple(text.attrs.get("ordered", {}).get(name, ())) for name in named}
        if len(kinds) == 1 and (ordered := kinds.pop()):
            made["label"] = pd.Categorical(made["label"].where(made["label"] != ""), ordered, ordered=True)
    if "gold" in made and not (made["gold"] != "").any():
        made = made.drop(columns="gold")
    used = [items or "", *named, *others, *([counts] if counts else [])]
    said_of = [f"items {'by row' if numbers else f'in {items!r}' if items else 'in the first column'}",
               f"annotators {listed(named)}", *([f"true labels in {others[0]!r}"] if "gold" in made else []),
               *([f"each row counts {counts!r} times"] if counts else []), describe(text, {}, made, used)]  # fmt: skip
    made.attrs |= {"name": name_of(text), "unit": "place" if multi_label or split else text.attrs["unit"]}
    made.attrs |= {"read_as": "; ".join(filter(None, said_of)).replace("'$item', '$gold'", ""), "numbered": numbers}
    return made


def _keep(frame: pd.DataFrame, made: pd.DataFrame) -> pd.DataFrame:
    made.attrs |= frame.attrs
    return made


def _melt(text: pd.DataFrame, named: Sequence[str]) -> pd.DataFrame:
    """Return a row for each item and annotator, those of an item together."""
    n, k = len(text), len(named)
    cells = text[list(named)].to_numpy(dtype=object).reshape(n * k)
    made = pd.DataFrame({"item": np.repeat(text["$item"].to_numpy(dtype=object), k), "annotator": np.tile(named, n),
                         "label": cells, "gold": np.repeat(text["$gold"].to_numpy(dtype=object), k)},
                        dtype="str")  # fmt: skip
    made = made.assign(row=np.repeat(text.index.to_numpy(), k))
    return made if (made["gold"] != "").any() else made.drop(columns="gold")


def _count_of(frame: pd.DataFrame, count: str | None, columns: Any, item: str | None) -> str | None:
    """Return the column that counts the items of each row, if there is one; a name of one decides beside annotators."""
    if count is not None:
        return find(frame, "count", count)
    named = matching(frame.columns, "count")
    return named[0] if named and named[0] not in (columns or ()) else None


def _item_of(frame: pd.DataFrame, item: str | None, named: Sequence[str], given: pd.DataFrame) -> str | None:
    """Return the column that names the items, if a name or the index shows it; a text that repeats does not."""
    if item is not None:
        return item if "{" in item and item not in frame.columns else find(frame, "item", item)
    rest = frame.drop(columns=[name for name in named if name in frame.columns])
    found = find(rest, "item", loosely=False)
    loose = matching_loosely(rest.columns)
    ids, texts = ([one for one in loose if (one.casefold() in CONTENTS) == is_text] for is_text in (False, True))
    if found is None and ids:
        found = ids[0] if len(ids) == 1 else find(rest[ids], "item")
    if found is None and len(texts) == 1:
        found = texts[0]
    if found is None and "" in rest.columns:
        found = ""
    if found is None or found.casefold() == "item":
        return found
    cells = frame[found][frame[found] != ""]
    if not cells.duplicated().any():
        return found
    if found.casefold() in CONTENTS:
        return None
    what = f"column {found!r}" if found else "first column, or index,"
    raise Question(f"{name_of(frame)}: the {what} repeats a name, so it may not name the items",
                   {"item": found} if found else {"columns": ",".join(named)})  # fmt: skip


def whole_numbers(frame: pd.DataFrame, name: str, blank: np.ndarray) -> np.ndarray:
    """Return the numbers in a column, 0 in the rows that are blank; shape (row,).

    Raises
    ------
    DataError
        If a cell is not a whole number, 0 or more.
    """
    cells = frame[name].str.removesuffix(".0")  # as pandas writes whole numbers
    wrong = ~cells.str.fullmatch("[0-9]{1,15}").to_numpy(dtype=bool) & ~blank
    if wrong.any():
        at = int(wrong.argmax())
        raise DataError(f"{where(frame, at)}: {name} is {frame[name].iloc[at]!r}, but must be a whole number, 0 or more, in "
                        "plain digits")  # fmt: skip
    return cells.where(~blank, "0").astype(np.int64).to_numpy()


def votes(
    frame: pd.DataFrame,
    *,
    columns: str | Sequence[str] = (),
    item: str | None = None,
    gold: str | None = None,
) -> pd.DataFrame:
    """Make a long table of numbers of answers: a row for each item, a column for each label.

    Parameters
    ----------
    frame : DataFrame
    columns : str or sequence of str, optional
        The labels' columns, as for `wide`; needed unless all columns but those of items and true labels are labels.
    item, gold : str, optional
        As for `wide`.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"item": ["s1", "s2"], "no": [2, 0], "yes": [0, 1]})
    >>> ba.shapes.votes(said, columns="no,yes")[["item", "annotator", "label"]].to_numpy().tolist()
    [['s1', 'anyone', 'no'], ['s1', 'anyone', 'no'], ['s2', 'anyone', 'yes']]
    """
    text = text_of(frame)
    golden = find(text, "gold", gold)
    if columns:
        named = choose(text, columns, [item, golden])
        items = _item_of(text, item, named, frame)
    else:
        items = _item_of(text, item, [], frame)
        left = {items, golden, "", *beside(text.columns)}
        named = [name for name in text.columns if name not in left and f"{{{name}}}" not in (item or "")]
        odd = next((name for name in named if matching([name], "annotator") or matching([name], "label") or
                    name.casefold() in ("total", "sum", "all", "n", "subject") or "n_" in name.casefold()), None)  # fmt: skip
        rest = [name for name in named if name != odd]
        if odd is not None and len(named) > 1:
            raise Question(f"{name_of(text)}: the column {odd!r} may be no label", {"columns": ",".join(rest)},
                           {"item": odd, "columns": ",".join(rest)}, {"columns": ",".join(named)})  # fmt: skip
    if items in named:
        check_distinct(text, {"item": items, "label": items})
    times = np.stack([whole_numbers(text, name, (text[name] == "").to_numpy()) for name in named], axis=1)  # (row, label)
    if times.sum() > MOST_ROWS:
        raise DataError(f"{name_of(text)}: the counts add up to {times.sum():,} answers, and the limit is {MOST_ROWS:,}")
    cells = {"item": cells_of(text, items, "item") if items is not None else [str(n) for n in range(1, len(text) + 1)]}
    cells |= {"gold": text[golden]} if golden else {}
    table = pd.DataFrame(cells, index=text.index, dtype="str")
    times = np.column_stack([times, ~times.any(axis=1)])  # an item without answers is kept
    row, label = np.nonzero(times)
    several = times[row, label]
    made = _keep(text, table.iloc[np.repeat(row, several)])
    names = np.array([*named, ""], dtype=object)[np.repeat(label, several)]
    made = _make(made, {"item": made["item"], "annotator": ANYONE, "label": pd.Series(names, made.index),
                        **({"gold": made["gold"]} if golden else {})})  # fmt: skip
    made["label"] = pd.Categorical(made["label"].where(made["label"] != ""), named, ordered=True)
    said = f"items {'by row' if items is None else f'in {items!r}'}; numbers of answers {listed(named)}, by nobody who is named"
    left_out = describe(text, {}, made, [items or "", golden or "", *named])
    made.attrs |= {"read_as": "; ".join(filter(None, [said, left_out])), "numbered": items is None}
    return made


def transposed(frame: pd.DataFrame, *, columns: str | Sequence[str] = (), annotator: str | None = None) -> pd.DataFrame:
    """Make a long table of one with a row for each annotator and a column for each item, as surveys have.

    Parameters
    ----------
    frame : DataFrame
    columns : str or sequence of str, optional
        The items' columns, as for `wide`; needed unless all but that of annotators have one word with numbers, as Q1, Q2.
    annotator : str, optional
        The column that names the annotators; by default one with a name of annotators, or a first one without a name.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"worker": ["ada", "bo"], "Q1": ["a", "c"], "Q2": ["b", None]})
    >>> ba.shapes.transposed(said)["label"].tolist()
    ['a', 'c', 'b', '']
    """
    text = text_of(frame)
    people = find(text, "annotator", annotator)
    people = "" if people is None and "" in text.columns else people
    if people is None:
        raise Question(f"{name_of(text)} has no column for the annotator among {listed(list(text.columns), most=6)}",
                       {"annotator": text.columns[0], "columns": ",".join(text.columns[1:])})  # fmt: skip
    names = text[people]
    if (names == "").any() or names.duplicated().any():
        at = int(((names == "") | names.duplicated()).to_numpy().argmax())
        what = f"{names.iloc[at]!r} already has a row" if names.iloc[at] else "this row has no annotator"
        raise DataError(f"{where(text, at)}: {what}: give each annotator one row, or name their column with "
                        f"{option('annotator')}")  # fmt: skip
    items = choose(text, columns or "1:", [people])
    words = {name.casefold().rstrip("0123456789").rstrip("_- .") for name in items}
    if not columns and (len(words) > 1 or any(not name[-1:].isdigit() for name in items)):
        raise Question(f"{name_of(text)}: the names {listed(items, most=6)} do not say which columns are items",
                       {"columns": ",".join(items)})  # fmt: skip
    made = text[items].set_axis(names, axis=0).melt(ignore_index=False, var_name="item", value_name="label")
    columns_at = {name: at for at, name in enumerate(text.columns, 1)}
    made = pd.DataFrame({"item": made["item"], "annotator": made.index, "label": made["label"]}, dtype="str")
    made = made.reset_index(drop=True).assign(row=made["item"].map(columns_at).to_numpy())
    said = f"items {listed(items)}; annotators in {people!r}"
    left_out = describe(text, {}, made, [people, *items])
    made.attrs |= {"name": name_of(text), "unit": "column", "read_as": "; ".join(filter(None, [said, left_out]))}
    return made


def one_hot(
    frame: pd.DataFrame, *, columns: str | Sequence[str], item: str | None = None, annotator: str | None = None
) -> pd.DataFrame:
    """Make a long table of one with a row for each answer and a column of 0 and 1 for each label.

    Each label becomes a yes-or-no question: an item named `item / label`.

    Parameters
    ----------
    frame : DataFrame
    columns : str or sequence of str
        The labels' columns, as for `wide`.
    item, annotator : str, optional
        As for `long`.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"id": ["e1", "e1"], "rater_id": ["1", "2"], "joy": [0, 1], "anger": [1, 1]})
    >>> ba.shapes.one_hot(said, columns="joy,anger")[["item", "annotator", "label"]].iloc[0].tolist()
    ['e1 / anger', '1', 'yes']
    """
    text = text_of(frame)
    item, annotator = item or find(text, "item"), annotator or find(text, "annotator")
    if item is None or annotator is None:
        lacking = "item" if item is None else "annotator"
        said = f"{name_of(text)}: no column for the {lacking} among {listed(list(text.columns), most=6)}"
        raise Question(said, *({lacking: name} for name in text.columns))
    named = sorted(choose(text, columns, [item, annotator]))
    cells = text[named].apply(lambda one: one.str.casefold())
    wrong = ~cells.isin(list(_CHOSEN))
    if wrong.any(axis=None):
        row, at = (int(place[0]) for place in np.nonzero(wrong.to_numpy()))
        raise DataError(f"{where(text, row)}: {named[at]} is {text[named[at]].iloc[row]!r}, but must be 0 or 1: leave this "
                        f"column out of {option('columns')}")  # fmt: skip
    said = cells.replace(_CHOSEN).where((cells != "").any(axis=1), "")
    names = cells_of(text, item, "item")
    text = _keep(text, said.assign(**{"$item": names.to_numpy(), "$gold": "", "$who": cells_of(text, annotator, "annotator")}))
    table = _melt(text, named)
    made = table.assign(item=(table["item"] + " / " + table["annotator"]).where(table["item"] != "", ""),
                        annotator=np.repeat(text["$who"].to_numpy(dtype=object), len(named)))  # fmt: skip
    made = made.astype({"annotator": "str"})
    made.attrs |= {"name": name_of(text), "unit": text.attrs["unit"]}
    made.attrs["read_as"] = f"items in {item!r}; annotators in {annotator!r}; labels {listed(named)}"
    return made


