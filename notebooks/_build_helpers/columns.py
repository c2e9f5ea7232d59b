"""The guide's tables that are made of data: what commands write, and which coefficient of agreement to report.

`uv run python notebooks/_build_helpers/columns.py` writes them into the guide again, between lines such as
`<!-- fit -->` and `<!-- end of fit -->`. tests/test_columns.py says where the guide is not what this makes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bayesanno.agreement.advice import RULES

GUIDE = Path(__file__).parents[1] / "guide.md"
COLUMNS = Path(__file__).with_suffix(".toml")
OF_PARAMETER = ("mean", "sd", "eti89_lb", "eti89_ub", "ess_bulk", "ess_tail", "r_hat")
OF_FILES = ("save", "load", "write_report")  # functions that take more than a fit


def read_columns() -> dict[str, dict[str, Any]]:
    """Return what each command writes: its files with what their rows are, and their columns with what they hold."""
    return tomllib.loads(COLUMNS.read_text(encoding="utf-8"))


def names_of(columns: str) -> list[str]:
    """Return the names of the columns that share an explanation; "..." is the rest of what describes a parameter."""
    first, *rest = columns.split(", ")
    return [first.replace("mean", what) for what in OF_PARAMETER] if rest == ["..."] else [first, *rest]


def matches(shown: str, name: str) -> bool:
    """Whether a column of this name is one that the guide shows: p[...] is any label, and eti89 any interval."""
    pattern = re.escape(shown).replace(re.escape("[...]"), r"\[.*\]")
    return bool(re.fullmatch(re.sub(r"(eti|ci)89", lambda found: rf"(?:hdi|{found[1]})[\d.]+", pattern), name))


def _list_files(files: dict[str, Any]) -> Iterator[str]:
    yield from ("| file | one row for each | in Python |", "|---|---|---|")
    for file, about in files.items():
        python = ", ".join(f"`ba.{name}{'' if name in OF_FILES else '(fit)'}`" for name in about["python"])
        yield f"| `{file}` | {about['rows'] or about['about']} | {python}{' |' if python else '|'}"


def _tabulate_columns(files: dict[str, Any], *, with_rows: bool) -> Iterator[str]:
    """Yield a table of columns for each file that has some."""
    for file, about in files.items():
        if "columns" in about:
            rows = f", one row for each {about['rows']}" if with_rows else ""
            yield from ("", f"`{file}`{rows}:", "", "| column | content |", "|---|---|")
            yield from (f"| {_quote(names)} | {what.replace('|', '\\|')} |" for names, what in about["columns"].items())


def _tabulate_advice() -> Iterator[str]:
    yield from ("| data | report | because |", "|---|---|---|")
    for rule in RULES:
        yield f"| {rule.data} | {rule.name}: `{rule.coefficient}` | {rule.why} |"


def _quote(names: str) -> str:
    return ", ".join(name if name == "..." else f"`{name}`" for name in names.split(", "))


MADE: dict[str, Callable[[dict[str, dict[str, Any]]], Iterator[str]]] = {
    "files of fit": lambda known: _list_files(known["fit"]),
    "columns of fit": lambda known: _tabulate_columns(known["fit"], with_rows=False),
    "columns of agreement": lambda known: _tabulate_columns(known["agreement"], with_rows=True),
    "columns of compare": lambda known: _tabulate_columns(known["compare"], with_rows=True),
    "advice on agreement": lambda _: _tabulate_advice(),
}


def fill_in(text: str) -> str:
    """Return the text of the guide with these tables made again."""
    known = read_columns()
    for name, make in MADE.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(f"{begin}\n")
        _, found, after = rest.partition(f"{end}\n")
        if not found:
            raise ValueError(f"the guide has no lines {begin} and {end}")
        lines = "\n".join(make(known)).strip("\n")
        text = f"{before}{begin}\n\n{lines}\n\n{end}\n{after}"
    return text


if __name__ == "__main__":
    GUIDE.write_text(fill_in(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
