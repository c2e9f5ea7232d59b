"""What `bayesanno next` does: which answers to ask for, by a fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, show_table
from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd
from bayesanno.ground.running import status
from bayesanno.ground.wording import counted
from bayesanno.io.sources import open_table

SHOWN = 10  # rows on the screen

Annotators = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Who can be asked: a column annotator and, if they differ, answers (the most of each) and cost (of one).",
    ),
]
PerAnnotator = Annotated[int | None, typer.Option(metavar="N", min=1, help="The most answers of each annotator.")]


def ask_next(
    folder: opt.FitFolder,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="How many answers.")] = 100,
    out: opt.OutTable = None,
    target: Annotated[
        str, typer.Option(help="What to learn: labels, annotators, or gold (true labels by an expert, for all labels).")
    ] = "labels",
    utility: Annotated[
        str | None,
        typer.Option(help="In what gains for labels are measured: information (nats; the default) or accuracy."),
    ] = None,
    loss: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="In its place, what decisions cost: a column label, the true one, and a column for each decision.",
        ),
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="About which items: a column item; by default all.")
    ] = None,
    annotators: Annotators = None,
    per_annotator: PerAnnotator = None,
    seed: opt.Seed = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Choose the answers, of an annotator to an item, that would help most, by the fit in DIR.

    FILE.csv has a column label to fill in: `bayesanno fit MODEL DATA --add FILE.csv` fits the answers as well.
    """
    if out is not None:
        check_out(out, overwrite=overwrite)
    if utility is not None and loss is not None:
        raise DataError("--utility and --loss both say in what gains are measured: leave one out")
    chosen = read_annotators(annotators, per_annotator)
    if items is not None:
        chosen["items"] = _read_items(items)
    if loss is not None:
        chosen["utility"] = _read_loss(loss)
    elif utility is not None:
        chosen["utility"] = utility
    from bayesanno.fits.storage import load
    from bayesanno.io.write import write_table
    from bayesanno.planning.suggest import suggest_annotations

    fit = load(folder)
    with status("choosing answers", show=sys.stderr.isatty()):
        table = suggest_annotations(
            fit,
            batch,
            target=target,  # type: ignore[arg-type]  # it is checked there
            random_seed=seed,
            **chosen,
        )
    table.insert(1 if target == "gold" else 2, "label", "")
    typer.echo(show_table(table.drop(columns="label").head(SHOWN)))
    if len(table) > SHOWN:
        typer.echo("...")
    unit = "in cost" if loss is not None else "labels" if utility == "accuracy" else "nats"
    typer.echo(_describe_asked(table, target, unit))
    if out is not None:
        write_table(table, out)
        typer.echo(out)


def _describe_asked(table: pd.DataFrame, target: str, unit: str) -> str:
    items = counted(table["item"].nunique(), "item")
    if target == "gold":  # of each as if it were the only one, so that there is no sum
        return f"the true labels of {items}"
    who = counted(table["annotator"].nunique(), "annotator")
    return f"{counted(len(table), 'answer')} of {who} to {items}: an expected gain of {table['gain'].sum():.2f} {unit}"


def _read_items(path: Path) -> list[str]:
    """Return the items that a file names, once each."""
    table = open_table(path)
    names = table.columns[table.need("item", may_be_named=False)]
    blank = next((row for row, name in enumerate(names) if not name), None)
    if blank is not None:
        raise DataError(f"{table.where(blank)}: there is no item: fill it in, or leave the row out")
    return list(dict.fromkeys(names))


def _read_loss(path: Path) -> pd.DataFrame:
    """Return what decisions cost, a row for each true label."""
    table = open_table(path)
    of_labels = table.need("label", may_be_named=False)
    names, decisions = table.columns[of_labels], [at for at in range(len(table.header)) if at != of_labels]
    if not decisions:
        raise DataError(f"{table.name} has no decision: it needs a column for each, with its cost for each true label")
    twice = next((row for row, name in enumerate(names) if name in names[:row]), None)
    if twice is not None:
        raise DataError(f"{table.where(twice)}: label {names[twice]!r} has a second row")
    costs = {
        table.header[at]: [
            _cost(cell, f"{table.where(row)}: {table.header[at]!r}") for row, cell in enumerate(table.columns[at])
        ]
        for at in decisions
    }
    return pd.DataFrame(costs, index=names)


def _cost(cell: str, what: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise DataError(f"{what} is {cell!r}: a cost must be a number") from None


def read_annotators(path: Path | None, per_annotator: int | None) -> dict[str, Any]:
    """Return who can be asked, how often and at what cost, as arguments of the library.

    Raises
    ------
    DataError
        If the file has no column annotator, names somebody twice, or has a cell that is no number.
    """
    if path is None:
        return {} if per_annotator is None else {"per_annotator": per_annotator}
    table = open_table(path)
    names = table.columns[table.need("annotator", may_be_named=False)]
    twice = next((row for row, name in enumerate(names) if name in names[:row] or not name), None)
    if twice is not None:
        raise DataError(f"{table.where(twice)}: annotator {names[twice]!r} is named twice, or without a name")
    found: dict[str, Any] = {"annotators": names}
    for column, argument, kind in (("answers", "per_annotator", int), ("cost", "costs", float)):
        if column in table.header:
            cells = table.columns[table.header.index(column)]
            found[argument] = {
                name: _number(cell, kind, f"{table.where(row)}: {column} of annotator {name!r}")
                for row, (name, cell) in enumerate(zip(names, cells, strict=True))
            }
    if per_annotator is not None:
        if "per_annotator" in found:
            raise DataError(f"{table.name} has a column answers: leave out --per-annotator")
        found["per_annotator"] = per_annotator
    return found


def _number(cell: str, kind: type, what: str) -> float:
    try:
        value = kind(cell)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value) or value < 0 or (value == 0 and kind is float):
        raise DataError(f"{what} is {cell!r}: it must be a {'whole number' if kind is int else 'number above 0'}")
    return float(value) if kind is float else int(value)
