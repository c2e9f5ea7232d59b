"""Tables of text, by the name of their shape, as one long table: a DataFrame in, a DataFrame out.

The invariant: a column is what its name or an option says, and each answer becomes one row with its place; no answer is
dropped, merged or renamed. Where names do not decide, a function asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed, option
from bayesanno.data.labelled import ANYONE
from bayesanno.io.names import (
    CONTENTS,
    Question,
    beside,
    cells_of,
    check_distinct,
    choose,
    find,
    find_item,
    matching,
    name_of,
    numbered,
    others_than_annotators,
    sides_among,
    split_names,
    where,
)
from bayesanno.io.records import ENOUGH, describe, doubt_roles, records
from bayesanno.io.sources import text_of

_TOTALS = ("total", "sum", "all", "n_total", "n_annotators", "n_answers", "n_votes", "num_annotators", "num_votes")
MOST_ROWS = 10_000_000  # the limit of items or answers that counts expand to
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
    item : str, optional
        The column of items, or a template over columns such as `{system}/{segment}`; for records a field or a path.
        By default a column named item, task, question, unit, instance_id, doc or example, or the only id of anything,
        or image, text, sentence, prompt or document.
    annotator : str, optional
        The column of annotators, or a template; for records a field or a path such as `votes[].by`. By default a column
        named annotator, worker, rater, coder, judge, grader, evaluator, user, performer, participant or respondent, or
        else model.
    label : str, optional
        The column of labels; for exports the question, for records a field or a path. By default a column named label,
        rating, answer, response, annotation, category, winner, verdict or preference, or else score.
    gold : str, optional
        The column of known true labels. By default a column named gold, true_label, truth, human_label or human.
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
        counts = [name for name in matching(text.columns, "count") if name not in (*roles.values(), "n", "weight")]
        if counts and not anonymous:
            raise Question(f"{name_of(text)}: the column {counts[0]!r} may say how often an answer was given, and a "
                           "row is one "
                           "answer: repeat the rows", {"label": roles["label"]})  # fmt: skip
        sides = sides_among(name for name in text.columns if name not in roles.values())
        said = [name for name in text.columns if name in set(text[roles["label"]].unique())]
        if len(pair := sides or (said if len(said) == 2 else [])) == 2:
            raise Question(f"{name_of(text)}: the columns {pair[0]!r} and {pair[1]!r} may be two systems, of which the "
                           "label is the better", {"pairs": ",".join(pair)}, {"label": roles["label"]})  # fmt: skip
    cells: Roles = {role: cells_of(text, name, role) for role, name in roles.items()}
    made = _make(text, cells | ({"annotator": ANYONE} if anonymous else {}))
    given = {"item": item, "annotator": annotator, "label": label}
    if not anonymous:
        doubt_roles(text, made, roles, {role for role, name in given.items() if name is None})
    if ordered := text.attrs.get("ordered", {}).get(roles["label"]):
        made.attrs["labels"] = ordered
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
    lacking = [
        role
        for role in ("item", "annotator", "label")
        if names[role] is None and not (anonymous and role == "annotator")
    ]
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
        The annotators' columns: names, patterns such as `rater_*`, or positions: `3:9` from the third to the ninth,
        `2:` from the second on. A text is split at commas. Needed unless all columns that are no other role's have one
        word for annotators with a number, as `rater_1`.
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
    golden = find(text, "gold", gold)
    others = [name for name in (golden, _count_of(text, count, columns)) if name]
    named = choose(text, columns, [*others, *([item] if item else matching(text.columns, "item"))]) if columns else []
    others = [name for name in others if name not in named or name in (gold, count)]
    golden = golden if golden in others else None
    items = _item_of(text, item, named)
    if not columns:
        left = {items, *others, *others_than_annotators(list(text.columns)), ""}
        named = [name for name in text.columns if name not in left]
        if not numbered(named):
            raise Question(f"{name_of(text)}: the names {listed(list(text.columns), most=6)} do not say which "
                           "columns are "
                           "annotators")  # fmt: skip
    check_distinct(text, {"annotator": items if items in named else None, "item": items})
    check_distinct(text, {"annotator": gold if gold in named else None, "gold": gold})
    asked = {*split_names(columns)}
    odd = [name for name in beside(named) if columns and name not in asked]  # by a position or a pattern
    counts = _count_of(text, count, columns)
    counts = None if counts in named and count is None else counts
    if count is not None and item is None:
        items = None
    said = set(text[named].to_numpy(dtype=object).ravel()) if columns and not asked <= {*text.columns} else set()
    if len(named) > 1 and {*named} <= said:
        raise Question(f"{name_of(text)}: the names {listed(named)} are labels too, so the first line may be data",
                       {"no_header": True}, {"columns": ",".join(named)})  # fmt: skip
    counts = (
        None if columns and items is not None and count is None else counts
    )  # columns that are not named are left out
    rest = [name for name in text.columns if name and name not in (*named, *others, items)]
    if (
        counts is not None
        and count is None
        and (rest or text[counts].tolist() == list(map(str, range(1, len(text) + 1))))
    ):
        why = f"stands beside {listed(rest)}" if rest else "numbers the rows"
        raise Question(f"{name_of(text)}: the column {counts!r} {why}, so it may not say how many items have the "
                       "answers of a row", {"count": counts},
                       *({"item": name, "columns": ",".join(named)} for name in (*rest, counts)))  # fmt: skip
    if counts is not None and items is not None:
        why = f"a row with a number {counts!r} stands for several items, but column {items!r} names one"
        raise Question(f"{name_of(text)}: {why}", {"columns": ",".join(named)}, {"count": counts})
    used = [items or "", *named, *filter(None, (golden, counts))]
    left_out = describe(text, {}, text, used)
    text = text.assign(**{"$item": cells_of(text, items, "item") if items is not None else "",
                          "$gold": text[golden] if golden else ""})  # fmt: skip
    if not columns and not text.attrs.get("are_numbers"):
        cells = pd.Series(text[named].to_numpy(dtype=object).ravel(), dtype="str")
        cells = cells[cells != ""]
        if len(cells) >= ENOUGH and 2 * cells.nunique() > len(cells):
            raise Question(f"{name_of(text)}: the columns {listed(named)} may not hold labels, since most answers in "
                           "them "
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
            made.attrs["labels"] = list(ordered)
    if "gold" in made and not (made["gold"] != "").any():
        made = made.drop(columns="gold")
    said_of = [f"items {'by row' if numbers else f'in {items!r}' if items else 'in the first column'}",
               f"annotators {listed(named)}", *([f"true labels in {golden!r}"] if "gold" in made else []),
               *([f"each row counts {counts!r} times"] if counts else []), left_out]  # fmt: skip
    made.attrs |= {"name": name_of(text), "unit": "place" if multi_label or split else text.attrs["unit"]}
    made.attrs |= {"read_as": "; ".join(filter(None, said_of)), "numbered": numbers, "used": used, "odd": odd}
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
    made = made[(made["item"] != "") | (made["label"] != "") | (made["gold"] != "")].reset_index(drop=True)
    return made if (made["gold"] != "").any() else made.drop(columns="gold")


def _count_of(frame: pd.DataFrame, count: str | None, columns: Any) -> str | None:
    """Return the column that counts the items of each row, if there is one; a name of one decides beside annotators."""
    if count is not None:
        return find(frame, "count", count)
    named = matching(frame.columns, "count")
    return named[0] if named and named[0] not in (columns or ()) else None


def _item_of(frame: pd.DataFrame, item: str | None, named: Sequence[str]) -> str | None:
    """Return the column that names the items, if a name or the index shows it; a text that repeats does not."""
    if item is not None:
        return item if "{" in item and item not in frame.columns else find(frame, "item", item)
    rest = frame.drop(columns=[name for name in named if name in frame.columns])
    found = find_item(rest)
    if found is None and (frame.attrs.get("index") in rest.columns or "" in rest.columns):
        found = "" if "" in rest.columns else frame.attrs["index"]
    if found is None or found.casefold() == "item":
        return found
    cells = frame[found][frame[found] != ""]
    if not cells.duplicated().any():
        return found
    if found.casefold() in CONTENTS:
        return None
    what = f"column {found!r}" if found else "first column, or index,"
    raise Question(f"{name_of(frame)}: the {what} repeats a name, so it may not name the items",
                   *([{"item": found}] if found else []))  # fmt: skip


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
        raise DataError(f"{where(frame, at)}: {name} is {frame[name].iloc[at]!r}, but must be a whole number, 0 or "
                        "more, in "
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
        items = _item_of(text, item, named)
    else:
        items = _item_of(text, item, [])
        left = {items, golden, "", *beside(text.columns)}
        named = [name for name in text.columns if name not in left and f"{{{name}}}" not in (item or "")]
        first = named[0] if items is None and named and len(text) > 2 and text[named[0]].is_unique else None
        odd = next((name for name in named if matching([name], "annotator") or matching([name], "label") or
                    name.casefold() in _TOTALS), first)  # fmt: skip
        rest = [name for name in named if name != odd]
        if odd is not None and len(named) > 1:
            of_items = [{"item": odd, "columns": ",".join(rest)}] if items is None else []
            raise Question(f"{name_of(text)}: the column {odd!r} may be no "
                           "label", *of_items, {"columns": ",".join(rest)},
                           {"columns": ",".join(named)})  # fmt: skip
    if items in named:
        check_distinct(text, {"item": items, "label": items})
    times = np.stack(
        [whole_numbers(text, name, (text[name] == "").to_numpy()) for name in named], axis=1
    )  # (row, label)
    if times.sum() > MOST_ROWS:
        raise DataError(
            f"{name_of(text)}: the counts add up to {times.sum():,} answers, and the limit is {MOST_ROWS:,}"
        )
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
    made.attrs["labels"] = named
    place = "by row" if items is None else f"in {items!r}"
    said = f"items {place}; numbers of answers {listed(named)}, by nobody who is named"
    left_out = describe(text, {}, made, [items or "", golden or "", *named])
    made.attrs |= {"read_as": "; ".join(filter(None, [said, left_out])), "numbered": items is None}
    return made


def transposed(frame: pd.DataFrame, *, columns: str | Sequence[str] = (), annotator: str | None = None) -> pd.DataFrame:
    """Make a long table of one with a row for each annotator and a column for each item, as surveys have.

    Parameters
    ----------
    frame : DataFrame
    columns : str or sequence of str, optional
        The items' columns, as for `wide`; needed unless all but that of annotators have one word with numbers, as Q1,
        Q2.
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
    columns_at = {name: at for at, name in enumerate(text.columns, 1)}
    cells = text[items].to_numpy(dtype=object).T.ravel()  # those of an item together
    made = pd.DataFrame(
        {"item": np.repeat(items, len(text)), "annotator": np.tile(names, len(items)), "label": cells}, dtype="str"
    )
    made = made.assign(row=made["item"].map(columns_at).to_numpy())
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
    chosen = named = sorted(choose(text, columns, [item, annotator]))
    header = list(text.columns)
    cells = text[named].apply(lambda one: one.str.casefold())
    wrong = ~cells.isin(list(_CHOSEN))
    if wrong.any(axis=None):
        row, at = (int(place[0]) for place in np.nonzero(wrong.to_numpy()))
        raise DataError(f"{where(text, row)}: {named[at]} is {text[named[at]].iloc[row]!r}, but must be 0 or 1: "
                        "leave this "
                        f"column out of {option('columns')}")  # fmt: skip
    named = [name for name in named if "yes" in {*cells[name].map(_CHOSEN.get)}]  # labels that anybody chose
    said = cells[named].replace(_CHOSEN).where((cells != "").any(axis=1), "")
    names = cells_of(text, item, "item")
    text = _keep(
        text, said.assign(**{"$item": names.to_numpy(), "$gold": "", "$who": cells_of(text, annotator, "annotator")})
    )
    text = _keep(text, text[(text["$item"] != "") | (text[named] != "").any(axis=1)])  # as melting leaves them
    table = _melt(text, named)
    made = table.assign(item=(table["item"] + " / " + table["annotator"]).where(table["item"] != "", ""),
                        annotator=np.repeat(text["$who"].to_numpy(dtype=object), len(named)))  # fmt: skip
    made = made.astype({"annotator": "str"})
    made.attrs |= {"labels": ["no", "yes"], "name": name_of(text), "unit": text.attrs["unit"]}
    made.attrs["read_as"] = f"items in {item!r}; annotators in {annotator!r}; labels {listed(named)}"
    made.attrs["used"] = [one for one in (item, annotator, *chosen) if one in header]
    return made
