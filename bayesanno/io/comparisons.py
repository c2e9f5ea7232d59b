"""Comparisons of two systems, rankings of several, and choices of the best and the worst of a set, as one long table.

The label of a row is the side that is better, by the name of its column, or "tie"; the two columns hold the systems in
the order that was shown. So a row says the same whichever order an item has.

A ranking says of every two systems which is better; the best and the worst of a set say it of every pair with one of
these. The comparisons of one ranking are not independent, so that an item counts less than a comparison by itself.
Where all systems are equally good, let x be the wins less the losses of a system among the comparisons of its row. The
curvature of the log likelihood of the comparisons is then right for strengths if each has the weight

    w  =  2 comparisons that are no ties / (sum over systems of x^2),

summed over all rows of as many systems, so that an answer does not determine its weight, and ties do not become more
frequent or rarer. It is 1 for two systems, 3 / (k + 1) for rankings of k without ties, and (2 k - 3) / (k - 1)^2 for
the best and the worst of k. It is the ratio of curvature and variance of the score of a composite likelihood, which is
the same in all directions since systems are exchangeable. The model of Plackett and Luce is not assumed; under it, a
comparison of two has the probabilities of Bradley and Terry.

The invariant: a label is a side only where it has the name of its column, of its system in that row, or of a side, as A
and B; and which system of a ranking is named first does not depend on the answer.

References
----------
M. Ribatet, D. Cooley and A. C. Davison (2012), Bayesian inference from composite likelihoods, with an application to
spatial extremes, Statistica Sinica 22:813-845, doi:10.5705/ss.2009.248: the curvature adjustment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, counted, enumerated, listed, nearest, option
from bayesanno.data.frame import SIDES, TIE, WEIGHT
from bayesanno.data.labelled import ANYONE, is_number
from bayesanno.io.names import Question, cells_of, check_distinct, choose, find, name_of, split_names, where
from bayesanno.io.paths import parse_cell
from bayesanno.io.records import describe
from bayesanno.io.sources import text_of

BASELINE = "baseline"
_TIE = re.compile(rf"{TIE}|draw$", re.IGNORECASE)
CODES: Mapping[str, int] = {  # of the sides
    **dict.fromkeys(("a", "1", "left", "first", "win"), 0),
    **dict.fromkeys(("b", "2", "right", "second", "loss", "lose"), 1),
}
_ORDERS: Mapping[str, bool] = {  # whether a word says that the other order was shown
    **dict.fromkeys(("", "ab", "a,b", "12", "1", "original", "false", "0", "no", "first"), False),
    **dict.fromkeys(("ba", "b,a", "21", "2", "swapped", "reversed", "flipped", "true", "yes", "second"), True),
}
_EQUAL = " = "  # with blanks, since names may have the sign

type Pair = tuple[str, str]  # two systems, or the two columns that name them
type Levels = dict[str, float]  # of each system; lower is better


@dataclass(frozen=True)
class Words:
    """The words of a table of comparisons.

    Parameters
    ----------
    sides : pair of str
        The names of the columns.
    systems : frozenset of str
        The names in both columns.
    ties : tuple of str
        The labels that are ties; if there is none here, "draw" and those that begin with "tie".
    codes : mapping of str to int
        The labels that are sides, 0 for the first and 1 for the second; if there is none here, the usual ones, and the
        last word of a column's name.
    others : collection of str
        Labels that stay as they are, such as unsure ones.
    """

    sides: Pair
    systems: frozenset[str] = frozenset()
    ties: tuple[str, ...] = ()
    codes: Mapping[str, int] = field(default_factory=dict)
    others: tuple[str, ...] = ()

    @cached_property
    def known(self) -> Mapping[str, str]:
        """The labels that name a side whichever systems are compared."""
        if self.codes:
            return {label: self.sides[at] for label, at in self.codes.items()}
        last = [re.split(r"[\W_]+", side.casefold())[-1] for side in self.sides]
        words = {word: at for at, word in enumerate(last)} if last[0] != last[1] else {}
        return {word: self.sides[at] for word, at in {**CODES, **words}.items()}

    def find_side(self, label: str) -> str | None:
        """Return the side that a label names whichever systems are compared, by its column or by a code."""
        names = {name: side for side in self.sides for name in (side, side.rpartition(".")[2])}
        return names.get(label) or self.known.get(label if self.codes else label.casefold())

    def understand(self, label: str, pair: Pair, place: str = "") -> str:
        """Return the side that a label names, or "tie"; an empty one, and others, stay unchanged.

        Raises
        ------
        Question
            If it is none of these, or could be either side.
        """
        named = [side for side, system in zip(self.sides, pair, strict=True)
                 if label in (side, side.rpartition(".")[2], system)]  # fmt: skip
        side = self.find_side(label)
        if not label or pair[0] == pair[1] or (label in self.others and label != TIE):
            return label and (label if pair[0] != pair[1] else self.sides[0])
        if named and side not in (None, *named) and len({*self.codes.values()}) < 2 and self.sides != SIDES:
            raise Question(f"{place}: label {label!r} may be the system {named[0]!r} or the side {side!r}",
                           {"first": self.sides[0], "second": self.sides[1]},
                           {"first": pair[1], "second": pair[0]})  # fmt: skip
        if label in self.codes:
            return self.sides[self.codes[label]]
        if len({*named}) == 2:
            raise DataError(
                f"{place}: label {label!r} names both a column and the system in the other column: rename it"
            )
        if named:
            return named[0]
        if label not in self.systems and label not in self.ties and side is not None:
            return side
        if label in self.ties if self.ties else _TIE.match(label) and label not in self.systems:
            return TIE
        first, second = (f"{system!r} ({name})" for system, name in zip(pair, self.sides, strict=True))
        what = f"label {label!r} is neither {first} nor {second}, nor a tie"
        if label in self.systems:
            raise DataError(f"{place}: {what}: correct it")
        close = nearest(label, (*self.sides, *pair, *self.ties))
        ties = ",".join((*(self.ties or (TIE,)), label))
        raise Question(f"{place}: {what}{close}", {"tie": ties}, {"missing": label})


def comparisons(
    frame: pd.DataFrame,
    *,
    pairs: str | Sequence[str] = SIDES,
    first: str | Sequence[str] = (),
    second: str | Sequence[str] = (),
    tie: str | Sequence[str] = (),
    order: str | None = None,
    baseline: str | None = None,
    by: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    gold: str | None = None,
) -> pd.DataFrame:
    """Make a long table of one with a row for each comparison of two systems.

    An item is one pair, in whichever order it is shown, within a value of the column of items if there is one. Without
    a column of annotators, each row is an item. Where no item has two answers, fits take winners as true; see `Pairs`.

    Parameters
    ----------
    frame : DataFrame
    pairs : str or sequence of two str, default ("first", "second")
        The columns, or fields of records, that name the systems, as "model_a,model_b". The label is the name of a
        column, the name of a system, a side (A, 1, left, first or win, and B, 2, right, second, loss or lose), or a
        tie.
    first : str or sequence of str, optional
        Codes for the first side, in place of A, 1, left, first and win.
    second : str or sequence of str, optional
        Codes for the second side, in place of B, 2, right, second, loss and lose.
    tie : str or sequence of str, optional
        Labels that are ties, in place of draw and those that begin with "tie".
    order : str, optional
        The column of the order in which the two were shown, if labels name a side of that order: AB or BA, or
        whether they were swapped. `COLUMN=WORD` gives the word for the other order.
    baseline : str, optional
        The system with which all others were compared, if `pairs` names one column.
    by : str, optional
        A column with subsets of the items, such as categories, each of which is ranked as well.
    item, annotator, label, gold : str, optional
        As for `long`.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "z"], "judge": "ada", "winner": ["x", "B"]})
    >>> ba.shapes.comparisons(said, pairs="model_a,model_b")[["item", "label", "model_a"]].to_numpy().tolist()
    [['x | y', 'model_a', 'x'], ['y | z', 'model_b', 'y']]
    """
    text = text_of(frame)
    sides = _sides_of(text, pairs, baseline)
    if baseline is not None:
        text = text.assign(**{sides[1]: baseline})
    rest = text.drop(columns=[name for name in (by,) if name in text.columns])
    roles = {
        "annotator": find(rest, "annotator", annotator) if annotator is None or "{" not in annotator else annotator
    }
    roles |= {"label": find(rest, "label", label), "gold": find(rest, "gold", gold)}
    if roles["label"] is None:
        raise Question(f"{name_of(text)}: no column for the label among {listed(list(text.columns), most=6)}",
                       *({"label": name} for name in text.columns if name not in sides))  # fmt: skip
    rest = rest.drop(columns=[name for name in (*sides, *roles.values()) if name in rest.columns])
    is_template = item is not None and "{" in item and item not in text.columns
    asked = item if is_template else find(rest if item is None else text, "item", item)
    for name in sides:
        check_distinct(text, {"item": asked, **roles, "pairs": name})
    written = text.attrs["spelling"].join([text[name] for name in (*sides, roles["label"], roles["gold"]) if name]) if (
        "spelling" in text.attrs) else {}  # fmt: skip
    if written:
        text = text.assign(
            **{name: text[name].replace(written) for name in (*sides, roles["label"], roles["gold"]) if name}
        )
    shown: list[Pair] = _in_order_shown(
        text, list(zip(text[sides[0]].tolist(), text[sides[1]].tolist(), strict=True)), order
    )
    of_systems = frozenset(name for pair in shown for name in pair)
    codes = dict.fromkeys(split_names(first), 0) | dict.fromkeys(split_names(second), 1)
    words = Words(sides, of_systems, tuple(split_names(tie)), codes, tuple(text.attrs.get("unsure", ())))
    cells: dict[str, Any] = {
        "annotator": ANYONE if roles["annotator"] is None else cells_of(text, roles["annotator"], "annotator")
    }
    said = dict[str, None]()
    for role in ("label", "gold"):
        if (column := roles[role]) is not None:
            known: dict[tuple[str, Pair], str] = {}
            understood = []
            for at, key in enumerate(zip(text[column].tolist(), shown, strict=True)):
                if key not in known:
                    known[key] = words.understand(*key, where(text, at))
                understood.append(known[key])
            cells[role] = understood
            said |= {label: None for (label, _), side in known.items() if side == TIE}
    names = cells_of(text, asked, "item").tolist() if asked is not None else [""] * len(text)
    cells["item"], item_is = _name_items(names, shown, asked, alone=roles["annotator"] is None)
    own: dict[str, Any] = {role: cells[role] for role in ("item", "annotator", "label", "gold") if role in cells}
    own |= {side: [pair[at] for pair in shown] for at, side in enumerate(sides)}
    made = pd.DataFrame(own, dtype="str").reset_index(drop=True)
    if "gold" in made and not (made["gold"] != "").any():
        made = made.drop(columns="gold")
    made = made.assign(
        **({by: text[by].to_numpy()} if by is not None and find(text, "item", by) else {}), row=text.index
    )
    if asked is None and roles["annotator"] is not None:
        again = made[made["label"] != ""].duplicated(["item", "annotator", *sides])
        if again.any():
            at = int(again[again].index[0])
            a, b = shown[at]
            raise Question(f"{where(text, at)}: {made['annotator'][at]!r} compares {a!r} with {b!r} again, but "
                           "without an "
                           "item column each pair is one item",
                           *({"item": name} for name in rest.columns if name))  # fmt: skip
    joined = [label for label in said if label != TIE]
    told = describe(
        text, {role: name for role, name in {"item": asked, **roles}.items() if name}, made, [*sides, by or ""]
    )
    parts = [told, f"pairs {sides[0]!r} and {sides[1]!r} of {counted(len(of_systems), 'system')} "
             f"({enumerated(sorted(of_systems), most=5)})",
             f"ties are {listed(joined)}" if joined else "", item_is]  # fmt: skip
    made.attrs |= {"name": name_of(text), "unit": text.attrs["unit"], "sides": list(sides), "numbered": asked is None}
    made.attrs |= {"read_as": "; ".join(filter(None, parts)), "item_columns": [by] if by else []}
    return made


def _sides_of(frame: pd.DataFrame, pairs: str | Sequence[str], baseline: str | None) -> Pair:
    """Return the two columns of systems; that of a baseline is made."""
    names, n = split_names(pairs), 2 if baseline is None else 1
    if len(names) != n or len({*names}) < n:
        of_all = f"name the two columns of systems, as in {option('pairs', 'model_a,model_b')}"
        one = "name the one column of systems that were compared with the baseline"
        raise DataError(f"pairs is {', '.join(map(repr, names)) or 'empty'}: {of_all if n == 2 else one}")
    for name in names:
        find(frame, "item", name)  # which refuses it
    return (names[0], BASELINE) if baseline is not None else (names[0], names[1])


def _in_order_shown(frame: pd.DataFrame, pairs: Sequence[Any], order: str | None) -> list[Pair]:
    """Return the systems of each row in the order that was shown."""
    if order is None:
        return list(pairs)
    name, equals, word = (order, "", "") if order in frame.columns else order.partition("=")
    cells = frame[find(frame, "item", name)]
    found = []
    for at, (cell, pair) in enumerate(zip(cells, pairs, strict=True)):
        if not equals and cell.casefold().replace(" ", "") not in _ORDERS:
            values = sorted(cells.unique())
            raise Question(f"{where(frame, at)}: {name} is {cell!r}, which says no order",
                           *({"order": f"{name}={one}"} for one in values))  # fmt: skip
        turned = cell == word if equals else _ORDERS[cell.casefold().replace(" ", "")]
        found.append((pair[1], pair[0]) if turned else pair)
    return found


def _name_items(asked: Sequence[str], shown: Sequence[Pair], name: str | None, *, alone: bool) -> tuple[list[str], str]:
    """Return the item of each row, with its pair if the column alone is ambiguous, and then a note in words."""
    if name is None and alone:
        return [str(row) for row in range(1, len(shown) + 1)], "an item is one row"
    orders = {(one, *pair) for one, pair in zip(asked, shown, strict=True)}
    pairs = [
        (min(pair), max(pair)) if (one, *pair[::-1]) in orders else pair for one, pair in zip(asked, shown, strict=True)
    ]
    if name is None:
        return [" | ".join(pair) if all(pair) else "" for pair in pairs], "an item is one pair"
    pair_of: dict[str, Pair] = {}
    if all(
        {*pair_of.setdefault(one, pair)} == {*pair} for one, pair in zip(asked, pairs, strict=True) if one and all(pair)
    ):
        named, note = list(asked), ""
    else:
        named = [one and f"{one}: {' | '.join(pair)}" for one, pair in zip(asked, pairs, strict=True)]
        note = f"an item is {name!r} with one pair"
    if not alone or len({*named}) == len(named):
        return named, note
    times = Counter[str]()  # of two battles without a judge, each has its own winner
    for at, one in enumerate(named):
        times[one] += 1
        named[at] = f"{one} #{times[one]}" if times[one] > 1 and one else one
    return named, "an item is one row"


# ------------------------------------------------------------------------------------------------------- rankings


def rankings(
    frame: pd.DataFrame,
    *,
    ranking: str | Sequence[str] = (),
    ranks: str | Sequence[str] = (),
    split: str | None = None,
    by: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
) -> pd.DataFrame:
    """Make a long table of the comparisons of each two systems in rankings, with their weight.

    Parameters
    ----------
    frame : DataFrame
    ranking : str or sequence of str, optional
        One column with a list, or a text as `a > b = c`; or columns with one system each, the best first, as "rank_*".
    ranks : str or sequence of str, optional
        Columns named like the systems, with their ranks; 1 is the best, equal ranks are ties.
    split : str, optional
        As for `records`; by default ">".
    by, item, annotator : str, optional
        As for `comparisons`. Without a column of items each row is a question.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"who": ["ada"], "order": ["b > a"]})
    >>> table = ba.shapes.rankings(said, ranking="order", annotator="who")
    >>> table[["item", "label", "first", "second"]].iloc[0].tolist()
    ['1', 'second', 'a', 'b']
    """
    text = text_of(frame)
    chosen = choose(text, ranks or ranking)
    number_of = {name: int(found[-1]) for name in chosen if (found := re.findall(r"[0-9]+", name))}
    if number_of.keys() == {*chosen} and not {*split_names(ranking)} <= {*text.columns}:  # places are in this order
        chosen.sort(key=number_of.__getitem__)
    ranked = []
    for at, cells in enumerate(text[chosen].itertuples(index=False, name=None)):
        place = where(text, at)
        if ranks:
            ranked.append({name: _as_rank(cell, name, place) for name, cell in zip(chosen, cells, strict=True) if cell})
        elif len(cells) == 1:
            ranked.append(_parse(cells[0], place, split) if cells[0] else {})
        else:
            ranked.append(_of_groups([[cell] for cell in cells if cell], place))
    names = sorted({name for levels in ranked for name in levels})
    if ranking and names and all(map(is_number, names)):
        raise Question(f"{name_of(text)}: {listed(names, most=4)} may be ranks, and columns the systems",
                       {"ranks": ",".join(chosen), "ranking": None})  # fmt: skip
    odd = next((name for name in names if not ranks and "=" in name and {*re.split("=", name)} <= {*names}), None)
    if odd is not None:
        raise DataError(
            f"{name_of(text)}: {odd!r} may be several systems: write ' > ' between them, or ' = ' if they are equal"
        )
    return _as_comparisons(text, ranked, chosen, by=by, item=item, annotator=annotator)


def best_worst(
    frame: pd.DataFrame,
    *,
    best_worst: str | Sequence[str],
    split: str | None = None,
    by: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
) -> pd.DataFrame:
    """Make a long table of the comparisons that the best and the worst of a set say, with their weight.

    Parameters
    ----------
    frame : DataFrame
    best_worst : str or sequence of str
        The columns of the best, of the worst, and of the set, which is one column with a list, or one for each system.
    split : str, optional
        As for `records`; by default a comma.
    by, item, annotator : str, optional
        As for `rankings`.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"who": ["ada"], "best": "a", "worst": "c", "set": "a,b,c"})
    >>> len(ba.shapes.best_worst(said, best_worst="best,worst,set", annotator="who"))
    3
    """
    text = text_of(frame)
    chosen = choose(text, best_worst)
    if len(chosen) < 3:
        raise DataError(
            f"{option('best_worst')} needs the columns of the best, of the worst, and of the set, as in 'b,w,set'"
        )
    ranked: list[Levels] = []
    for at, (best, worst, *among) in enumerate(text[chosen].itertuples(index=False, name=None)):
        if not (best or worst):
            ranked.append({})
            continue
        given, place = parse_cell(among[0]), where(text, at)
        if len(among) == 1:
            among = (
                [str(one) for one in given]
                if isinstance(given, list)
                else [part.strip() for part in among[0].split(split or ",")]
            )
        names = [name for name in among if name]
        _check_names(names, place)
        odd = next((name for name in (best, worst) if name not in names), None)
        if odd is not None or best == worst:
            what = f"{odd!r} is not one of the set" if odd is not None else f"{best!r} is both best and worst"
            what = what if best and worst else "the best or the worst is missing"
            raise DataError(f"{place}: {what}, {listed(names)}: correct it{nearest(odd or '', names)}")
        ranked.append(dict.fromkeys(names, 1.0) | {best: 0.0, worst: 2.0})
    return _as_comparisons(text, ranked, chosen, by=by, item=item, annotator=annotator, strict=True)


def _as_comparisons(
    text: pd.DataFrame,
    ranked: Sequence[Levels],
    used: Sequence[str],
    *,
    by: str | None,
    item: str | None,
    annotator: str | None,
    strict: bool = False,
) -> pd.DataFrame:
    """Return the comparisons of each two systems of a row; equal ones are a tie, or with `strict` left out."""
    rest = text.drop(columns=[name for name in (*used, by) if name in text.columns])
    who = find(rest, "annotator", annotator) if annotator is None or "{" not in annotator else annotator
    if who is None:
        raise Question(f"{name_of(text)}: no column for the annotator among {listed(list(text.columns), most=6)}",
                       *({"annotator": name} for name in rest.columns if name))  # fmt: skip
    of_items = item if item is not None and "{" in item else find(rest, "item", item)
    asked = (
        [str(row) for row in range(1, len(text) + 1)] if of_items is None else cells_of(text, of_items, "item").tolist()
    )
    question = {name: number for number, name in enumerate(dict.fromkeys(asked))}
    place = {name: number for number, name in enumerate(sorted({name for levels in ranked for name in levels}))}
    weight, rows = _weigh(ranked, strict=strict), list[tuple[Any, ...]]()
    people = cells_of(text, who, "annotator")
    for row, levels in enumerate(ranked):
        for a, b in _list_pairs(levels, strict=strict):
            sides = (a, b) if (question[asked[row]] + place[a] + place[b]) % 2 else (b, a)
            better = TIE if levels[a] == levels[b] else SIDES[sides.index(min(a, b, key=levels.__getitem__))]
            rows.append((asked[row], people.iloc[row], better, *sides, weight[len(levels)], row))
    if not rows:
        raise DataError(f"{name_of(text)} has no row that ranks two systems")
    made = pd.DataFrame(rows, columns=["item", "annotator", "label", *SIDES, WEIGHT, "row"])
    made["item"], item_is = _name_items(made["item"].tolist(), list(zip(made["first"], made["second"], strict=True)),
                                        of_items or "row", alone=False)  # fmt: skip
    if by is not None:
        made[by] = text[find(text, "item", by)].to_numpy()[made["row"]]
    made["row"] = text.index.to_numpy()[made["row"]]
    made = made.astype(dict.fromkeys(("item", "annotator", "label", *SIDES), "str"))
    told = describe(text, {"annotator": who} | ({"item": of_items} if of_items else {}), made, [*used, by or ""])
    systems = f"pairs 'first' and 'second' of {counted(len(place), 'system')} ({enumerated(list(place), most=5)})"
    made.attrs |= {
        "name": name_of(text),
        "unit": text.attrs["unit"],
        "sides": list(SIDES),
        "numbered": of_items is None,
    }
    made.attrs["read_as"] = "; ".join(filter(None, [told, systems, item_is, "they follow from rankings"]))
    made.attrs["item_columns"] = [by] if by else []
    return made


def _list_pairs(levels: Levels, *, strict: bool) -> list[Pair]:
    return [(a, b) for a, b in combinations(sorted(levels), 2) if levels[a] != levels[b] or not strict]


def _weigh(ranked: Sequence[Levels], *, strict: bool) -> dict[int, float]:
    """Return the weight of comparisons in rows of each number of systems."""
    n_strict, squares = dict[int, int](), dict[int, int]()
    for levels in ranked:
        k, balance = len(levels), dict.fromkeys(levels, 0)  # wins less losses
        pairs = [pair for pair in _list_pairs(levels, strict=strict) if levels[pair[0]] != levels[pair[1]]]
        for pair in pairs:
            better, worse = sorted(pair, key=levels.__getitem__)
            balance[better] += 1
            balance[worse] -= 1
        n_strict[k] = n_strict.get(k, 0) + len(pairs)
        squares[k] = squares.get(k, 0) + sum(x**2 for x in balance.values())
    return {k: 2 * n_strict[k] / squares[k] if n_strict[k] else 1.0 for k in n_strict}


def _parse(cell: str, place: str, split: str | None) -> Levels:
    """Return the levels in a cell: a list, objects with a value and a rank, or a text such as `a > b = c`."""
    given = parse_cell(cell)
    if isinstance(given, Mapping):
        return {str(name): _as_rank(rank, name, place) for name, rank in given.items()}
    if isinstance(given, list) and given and all(isinstance(each, Mapping) for each in given):
        pairs = [(_name(each.get("value")), each.get("rank", "")) for each in given]
        _check_names([name for name, _ in pairs], place)
        return {name: _as_rank(rank, name, place) for name, rank in pairs}
    if isinstance(given, list):
        groups = (each if isinstance(each, list) else [each] for each in given)
        return _of_groups([list(map(_name, group)) for group in groups], place)
    mark = split or ">"
    if mark not in cell and _EQUAL not in cell:
        raise DataError(f"{place}: {cell!r} is no ranking: write it as 'a > b = c', as a list, or say what separates "
                        f"systems, the best first, with {option('split')}")  # fmt: skip
    return _of_groups([[name.strip() for name in f" {each} ".split(_EQUAL)] for each in cell.split(mark)], place)


def _name(given: object) -> str:
    return "" if given is None else str(given)


def _of_groups(groups: Sequence[Sequence[str]], place: str) -> Levels:
    """Return the levels of groups of equal systems, the best first."""
    _check_names([name for group in groups for name in group], place)
    return {name: float(level) for level, group in enumerate(groups) for name in group}


def _check_names(names: Sequence[str], place: str) -> None:
    if "" in names:
        raise DataError(f"{place}: the ranking has an empty place: fill it in")
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise DataError(f"{place}: {twice!r} is ranked twice: keep one place")


def _as_rank(cell: object, name: object, place: str) -> float:
    """Return a rank, of which 1 is the best."""
    rank = float(str(cell)) if is_number(str(cell)) else 0.0
    if rank < 1 or not (2 * rank).is_integer():
        how = "but must be 1 for the best, 2, 3, ..., or a half for ties: if these are scores, rank the systems"
        raise DataError(f"{place}: the rank of {str(name)!r} is {cell!r}, {how}")
    return rank
