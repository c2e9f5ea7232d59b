"""What `bayesanno next` and `simulate` do: what to ask, and simulated answers."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import bayesanno as ba
from bayesanno._core.lazy import pd
from bayesanno._core.messages import counted, nearest
from bayesanno._core.validate import known_seed
from bayesanno.cli import options as opt
from bayesanno.cli.files import (
    check_out,
    reading_of,
    show_status,
    show_table,
    write_if_asked,
    write_simulation,
)
from bayesanno.cli.for_model import design_for
from bayesanno.data.labelled import is_number
from bayesanno.fits.view import FitView
from bayesanno.io.beside import OF_FILES, open_beside, open_table
from bayesanno.io.names import find, name_of, split_names, where

SHOWN = 10  # rows on the screen

TARGETS = "What to learn: labels, annotators, gold (true labels to ask an expert for), or ranking (of two systems)."
WHO = "Who can be asked: columns annotator and, if wanted, answers (at most so many) and cost (of one answer)."


@opt.command(ba.suggest_annotations)
def ask_next(
    folder: opt.FitFolder,
    random_seed: opt.Seed,
    target: Annotated[str, opt.value(None, TARGETS)],
    items: Annotated[opt.File, opt.value("FILE", "The items to ask about, in a column item; by default all.")],
    annotators: Annotated[opt.File, opt.value("FILE", WHO)],
    per_annotator: Annotated[int | None, opt.value("N", "Maximum number of answers of each annotator.", min=1)],
    batch: Annotated[int, opt.value("N", "How many answers.", min=1)] = 100,
    without: Annotated[opt.Text, opt.value("A,B,...", "Annotators to leave out, who are not asked.")] = None,
    out: opt.OutTable = None,
    utility: Annotated[
        opt.Text, opt.value(None, "How gains for labels are measured: information (in nats; the default) or accuracy.")
    ] = None,
    loss: Annotated[
        opt.File,
        opt.value(
            "FILE.csv", "The costs of decisions, in place of --utility: a column label, and a column for each decision."
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Choose the answers that would help a fit most.

    Each is an answer by an annotator to an item. FILE.csv has a column label to fill in: then
    `bayesanno fit MODEL DATA --add FILE.csv` includes the answers.
    """
    check_out(out, overwrite=overwrite)
    if utility is not None and loss is not None:
        raise ba.DataError("--utility and --loss both set how gains are measured: leave one out")
    chosen = {"target": target} | read_annotators(annotators, per_annotator)
    left_out = split_names(without)
    if items is not None:
        reading = reading_of(folder)
        chosen["items"] = _read_items(items, {name: reading[name] for name in OF_FILES if name in reading})
    if loss is not None:
        chosen["utility"] = _read_loss(loss)
    elif utility is not None:
        chosen["utility"] = utility
    fit = ba.load(folder)
    if left_out:
        chosen["annotators"] = leave_out(chosen.get("annotators", FitView(fit).data.annotators), left_out)
    with show_status("choosing answers"):
        table = ba.suggest_annotations(fit, batch, random_seed=random_seed, **chosen)
    typer.echo(show_table(table.head(SHOWN)))
    if len(table) > SHOWN:
        typer.echo("...")
    unit = "in cost" if loss is not None else "labels" if utility == "accuracy" else "nats"
    typer.echo(_describe_asked(table, target, unit))
    table.insert(1 if target == "gold" else 2, "label", "")
    write_if_asked(table, out)


def leave_out(people: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return annotators without some of them.

    Raises
    ------
    DataError
        If one of these is no annotator.
    """
    odd = next((name for name in names if name not in people), None)
    if odd is not None:
        raise ba.DataError(f"--without names {odd!r}, who is no annotator{nearest(odd, people)}")
    return [name for name in people if name not in names]


def _describe_asked(table: pd.DataFrame, target: str, unit: str) -> str:
    items = counted(table["item"].nunique(), "item")
    if target == "gold":  # the gain of each is as if it were the only one, so that there is no sum
        return f"the true labels of {items}"
    who = counted(table["annotator"].nunique(), "annotator")
    return f"{counted(len(table), 'answer')} of {who} to {items}: an expected gain of {table['gain'].sum():.3g} {unit}"


def _read_items(path: Path, options: Mapping[str, Any]) -> list[str]:
    """Return the items that a file names, once each."""
    table = open_beside(path, options)
    names = table.iloc[:, 0].tolist()
    if "" in names:
        raise ba.DataError(f"{where(table, names.index(''))}: there is no item: fill it in, or leave the row out")
    return list(dict.fromkeys(names))


def _read_loss(path: Path) -> pd.DataFrame:
    """Return what decisions cost, a row for each true label."""
    names, costs, name = _read_numbers(path, "label")
    if not costs:
        raise ba.DataError(f"{name} has no decision: it needs a column for each, with its cost for each true label")
    return pd.DataFrame(costs, index=names)


def read_annotators(path: Path | None, per_annotator: int | dict[str, float] | None) -> dict[str, Any]:
    """Return who can be asked, how often and at what cost, as arguments of the library.

    Raises
    ------
    DataError
        If the file has no column annotator, names somebody twice, or has a cell that is no number.
    """
    found: dict[str, Any] = {}
    if path is not None:
        found["annotators"], numbers, name = _read_numbers(path, "annotator", ("answers", "cost"))
        if "answers" in numbers and per_annotator is not None:
            raise ba.DataError(f"{name} has a column answers: leave out --per-annotator")
        per_annotator = numbers.get("answers", per_annotator)
        found |= {"costs": numbers["cost"]} if "cost" in numbers else {}
    return found if per_annotator is None else {**found, "per_annotator": per_annotator}


def _read_numbers(
    path: Path, role: str, read: Container[str] | None = None
) -> tuple[list[str], dict[str, dict[str, float]], str]:
    """Return the names in the column of a role, the numbers of each in all other columns, or some, and the table's."""
    table = open_table(path)
    own, seen = find(table, role), set[str]()
    if own is None:
        raise ba.DataError(f"{name_of(table)} has no column for the {role}: rename one to {role!r}")
    for row, name in enumerate(table[own]):
        if not name or name in seen:
            raise ba.DataError(f"{where(table, row)}: {role} {name!r} is named twice, or without a name")
        seen.add(name)
    numbers: dict[str, dict[str, float]] = {}
    for column in table.columns:
        if column == own or (read is not None and column not in read):
            continue
        for row, cell in enumerate(table[column]):
            if not is_number(cell):
                raise ba.DataError(f"{where(table, row)}: {column} is {cell!r}: it must be a number")
        numbers[column] = dict(zip(table[own], map(float, table[column]), strict=True))
    return table[own].tolist(), numbers, name_of(table)


@opt.command()
def simulate(
    model: opt.ModelName,
    out: Annotated[Path, opt.value("FILE.csv", "The answers; FILE.json has the true parameters.")],
    items: Annotated[int, opt.value("N", "Number of items.")] = 300,
    annotators: Annotated[int, opt.value("N", "Number of annotators; counts have none.")] = 20,
    per_item: Annotated[str, opt.value("N|N-M", "Annotations per item, by different annotators.")] = "5",
    labels: Annotated[str, opt.value("K|A,B,...", "Number of labels, or their names; counts have none.")] = "3",
    unsure: opt.Unsure = None,
    dimensions: Annotated[
        str, opt.value("A,B,...", "Names of the dimensions, for models of several.")
    ] = "first,second",
    seed: opt.Seed = None,
    settings: opt.Settings = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Simulate answers from the prior of MODEL.

    The answers are written as CSV with the true labels as gold, and the parameters as JSON.
    """
    chosen = ba.get_model(model, opt.parse_settings(settings))
    beside = out.with_suffix(".json")
    if beside == out:
        raise ba.errors.DataFileError(f"{out} is where the parameters go: give a name in .csv")
    for path in (out, beside):
        check_out(path, overwrite=overwrite)
    seed = known_seed(seed)
    asked: dict[str, Any] = {"items": items, "annotators": annotators, "per_item": opt.parse_range(per_item)}
    asked |= {"labels": labels, "dimensions": dimensions, "random_seed": seed}
    design = design_for(chosen, unsure=tuple(unsure or ()), **asked)
    data, truth = ba.simulate(chosen, design, random_seed=seed)
    written = write_simulation(chosen, data, truth, out, seed=seed)
    for path in written:
        typer.echo(path)
