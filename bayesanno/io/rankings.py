"""Rankings of several systems, and choices of the best and the worst of a set, as comparisons of two.

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

The invariant: each two systems of a row are one comparison, and which is named first does not depend on the answer.

References
----------
M. Ribatet, D. Cooley and A. C. Davison (2012), Bayesian inference from composite likelihoods, with an application to
spatial extremes, Statistica Sinica 22:813-845, doi:10.5705/ss.2009.248: the curvature adjustment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import listed, nearest, option
from bayesanno.data.labelled import is_number
from bayesanno.io.cells import find_several, parse_cell, split_cell
from bayesanno.io.layout import choose_columns
from bayesanno.io.read_options import OF_RANKINGS, RANKED, ReadOptions
from bayesanno.io.text_table import TextTable

TIE = "tie"
_EQUAL = " = "  # with blanks, since names may have the sign
type Levels = dict[str, float]  # of each system; lower is better


def read_rankings(table: TextTable, options: ReadOptions) -> tuple[TextTable, ReadOptions, np.ndarray]:
    """Return a table of comparisons, (row,), the options to read it, and the weight of each comparison.

    Raises
    ------
    DataError
        If a column is missing, a row ranks a system twice, or ranks, best or worst cannot be read.
    """
    item = table.find_item(options.item)
    annotator = table.need("annotator", options.annotator)
    asked = [str(row) for row in range(1, table.n_rows + 1)] if item is None else table.columns[item]
    ranked, people = list(_read_rows(table, options)), table.columns[annotator]
    _check_systems(table, ranked, options)
    question = {name: number for number, name in enumerate(dict.fromkeys(asked))}
    place = {name: number for number, name in enumerate(sorted({name for levels in ranked for name in levels}))}
    rows: list[tuple[str, ...]] = []
    lines, weights, weight = list[int | str](), list[float](), _weigh(ranked, options)
    for row, levels in enumerate(ranked):
        pairs = _list_pairs(levels, options)
        weights += [weight[len(levels)]] * len(pairs)
        lines += [table.lines[row]] * len(pairs)
        for a, b in pairs:
            better = TIE if levels[a] == levels[b] else min(a, b, key=levels.__getitem__)
            sides = (a, b) if (question[asked[row]] + place[a] + place[b]) % 2 else (b, a)
            rows.append((asked[row], people[row], *sides, better))
    if not rows:
        raise DataError(f"{table.name} has no row that ranks two systems")
    header: tuple[str, ...] = ("item", "annotator", *RANKED, "label")
    if options.by is not None:
        by, header = table.need("subset", options.by), (*header, options.by)
        at = {line: row for row, line in enumerate(table.lines)}
        rows = [(*row, table.columns[by][at[line]]) for row, line in zip(rows, lines, strict=True)]
    left_out = frozenset(table.list_rest({item, annotator, *choose_columns(table, options.compared, ())}))
    cells = tuple(map(list, zip(*rows, strict=True)))
    long = replace(table, header=header, columns=cells, lines=lines, categories={}, nested=left_out - {options.by})
    used: dict[str, Any] = dict.fromkeys(OF_RANKINGS, ()) | {"split": None}
    used |= {"item": "item", "annotator": "annotator", "label": ("label",), "pairs": RANKED, "tie": (TIE,)}
    return long, replace(options, **used), np.array(weights)


def _check_systems(table: TextTable, ranked: Sequence[Levels], options: ReadOptions) -> None:
    """Raise a DataError if names of systems may be ranks, or several systems."""
    names, why = sorted({name for levels in ranked for name in levels}), ""
    several = find_several(dict.fromkeys(names, ""), "=,~<")
    if several is not None and not options.ranks:
        why = f"{several[0]!r} may be several systems: if so, write ' > ' between them, or ' = ' if they are equal"
    if options.ranking and names and all(map(is_number, names)):
        why = (
            f"{listed(names)} may be ranks, and columns the systems: if so, use {option('ranks')} in place of "
            f"{option('ranking')}"
        )
    if why:
        raise DataError(f"{table.name}: {why}; if not, rename these systems")


def _list_pairs(levels: Levels, options: ReadOptions) -> list[tuple[str, str]]:
    """Return the comparisons of a row; equal systems are a tie, except between the best and the worst."""
    pairs = combinations(sorted(levels), 2)
    return [(a, b) for a, b in pairs if levels[a] != levels[b] or not options.best_worst]


def _weigh(ranked: Sequence[Levels], options: ReadOptions) -> dict[int, float]:
    """Return the weight of comparisons in rows of each number of systems."""
    n_strict, squares = dict[int, int](), dict[int, int]()
    for levels in ranked:
        k, balance = len(levels), dict.fromkeys(levels, 0)  # wins less losses
        strict = [pair for pair in _list_pairs(levels, options) if levels[pair[0]] != levels[pair[1]]]
        for pair in strict:
            better, worse = sorted(pair, key=levels.__getitem__)
            balance[better] += 1
            balance[worse] -= 1
        n_strict[k] = n_strict.get(k, 0) + len(strict)
        squares[k] = squares.get(k, 0) + sum(x**2 for x in balance.values())
    return {k: 2 * n_strict[k] / squares[k] if n_strict[k] else 1.0 for k in n_strict}


def _read_rows(table: TextTable, options: ReadOptions) -> Iterator[Levels]:
    """Yield the levels of the systems that a row ranks."""
    if options.best_worst:
        best, worst, *among = (table.columns[at] for at in choose_columns(table, options.best_worst, ()))
        for row, (one, other) in enumerate(zip(best, worst, strict=True)):
            cells = [cells[row] for cells in among]
            yield _of_best(one, other, cells, table.where(row), options) if one or other else {}
        return
    chosen = choose_columns(table, options.ranks or options.ranking, ())
    number_of = {at: int(found[-1]) for at in chosen if (found := re.findall(r"[0-9]+", table.header[at]))}
    if number_of.keys() == {*chosen} and not {*options.ranking} <= {*table.header}:  # places are in this order
        chosen.sort(key=number_of.__getitem__)
    columns, names = [table.columns[at] for at in chosen], [table.header[at] for at in chosen]
    for row in range(table.n_rows):
        cells, where = ["" if (cell := each[row]) in options.missing else cell for each in columns], table.where(row)
        if options.ranks:
            yield {name: _as_rank(cell, name, where) for name, cell in zip(names, cells, strict=True) if cell}
        elif len(cells) == 1:
            yield _parse(cells[0], where, options) if cells[0] else {}
        else:
            yield _of_groups([[cell] for cell in cells if cell], where)


def _parse(cell: str, where: str, options: ReadOptions) -> Levels:
    """Return the levels in a cell: a list, objects with a value and a rank, or a text such as `a > b = c`."""
    given = parse_cell(cell)
    if isinstance(given, Mapping):
        return {str(name): _as_rank(rank, name, where) for name, rank in given.items()}
    if isinstance(given, list) and all(isinstance(each, Mapping) for each in given):
        ranked = [(_name(each.get("value")), each.get("rank", "")) for each in given]
        _check_names([name for name, _ in ranked], where)
        return {name: _as_rank(rank, name, where) for name, rank in ranked}
    if isinstance(given, list):
        groups = (each if isinstance(each, list) else [each] for each in given)
        return _of_groups([list(map(_name, group)) for group in groups], where)
    separator = options.split or ">"
    if separator not in cell and _EQUAL not in cell:
        raise DataError(
            f"{where}: {cell!r} is no ranking: write it as 'a > b = c', as a list, or say what separates systems, the "
            f"best first, with {option('split')}"
        )
    equal = [f" {each} ".split(_EQUAL) for each in split_cell(cell, separator)]
    return _of_groups([[name.strip() for name in group] for group in equal], where)


def _name(given: object) -> str:
    """Return the name of a system in JSON, "" if it is missing."""
    return "" if given is None else str(given)


def _of_groups(groups: Sequence[Sequence[str]], where: str) -> Levels:
    """Return the levels of groups of equal systems, the best first."""
    names = [name for group in groups for name in group]
    _check_names(names, where)
    return {name: float(level) for level, group in enumerate(groups) for name in group}


def _of_best(best: str, worst: str, cells: Sequence[str], where: str, options: ReadOptions) -> Levels:
    """Return the levels of the best, the others and the worst of a set."""
    given = parse_cell(cells[0])
    if len(cells) == 1:
        cells = list(map(_name, given)) if isinstance(given, list) else split_cell(cells[0], options.split or ",")
    names = [name for name in cells if name]
    _check_names(names, where)
    odd = next((name for name in (best, worst) if name not in names), None)
    if odd is not None or best == worst:
        what = f"{odd!r} is not one of the set" if odd is not None else f"{best!r} is both best and worst"
        what = what if best and worst else "the best or the worst is missing"
        raise DataError(f"{where}: {what}, {listed(names)}: correct it{nearest(odd or '', names)}")
    return dict.fromkeys(names, 1.0) | {best: 0.0, worst: 2.0}


def _check_names(names: Sequence[str], where: str) -> None:
    if "" in names:
        raise DataError(f"{where}: the ranking has an empty place: fill it in")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{where}: {twice!r} is ranked twice: keep one place")


def _as_rank(cell: object, name: object, where: str) -> float:
    """Return a rank, of which 1 is the best."""
    rank = float(str(cell)) if is_number(str(cell)) else 0.0
    if rank < 1 or not (2 * rank).is_integer():
        how = "but must be 1 for the best, 2, 3, ..., or a half for ties: if these are scores, rank the systems"
        raise DataError(f"{where}: the rank of {str(name)!r} is {cell!r}, {how}")
    return rank
