"""What `bayesanno next` and `bayesanno plan` do: which answers to ask for, and how many are enough, by a fit."""

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
from bayesanno.ground.validate import check_share
from bayesanno.ground.wording import counted
from bayesanno.io.text_table import open_table

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
        str, typer.Option(help="In what gains for labels are measured: information (nats) or accuracy.")
    ] = "information",
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
    who = _read_annotators(annotators, per_annotator)
    from bayesanno.fits.storage import load
    from bayesanno.io.write import write_table
    from bayesanno.planning.suggest import suggest_annotations

    fit = load(folder)
    with status("choosing answers", show=sys.stderr.isatty()):
        table = suggest_annotations(
            fit,
            batch,
            target=target,  # type: ignore[arg-type]  # it is checked there
            utility=utility,
            random_seed=seed,
            **who,
        )
    table.insert(1 if target == "gold" else 2, "label", "")
    typer.echo(show_table(table.drop(columns="label").head(SHOWN)))
    if len(table) > SHOWN:
        typer.echo("...")
    typer.echo(_describe_asked(table, target, "labels" if utility == "accuracy" else "nats"))
    if out is not None:
        write_table(table, out)
        typer.echo(out)


def plan(
    folder: opt.FitFolder,
    target: Annotated[
        float | None, typer.Option(help="The expected accuracy, or with --measure share_sure the share, to be reached.")
    ] = None,
    measure: Annotated[str, typer.Option(help="accuracy, or share_sure: of labels surer than --sure.")] = "accuracy",
    sure: Annotated[float, typer.Option(help="From which probability on a label is sure.")] = 0.95,
    allocation: Annotated[
        str, typer.Option(help="evenly, each (as many new answers to each item) or suggested (as by `next`).")
    ] = "evenly",
    annotators: Annotators = None,
    per_annotator: PerAnnotator = None,
    out: opt.OutTable = None,
    seed: opt.Seed = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Say how good labels are expected to be after more answers, and how many reach --target, by the fit in DIR."""
    for name, share in (("--target", target), ("--sure", sure)):
        if share is not None:
            check_share(name, share)
    if out is not None:
        check_out(out, overwrite=overwrite)
    who = _read_annotators(annotators, per_annotator)
    from bayesanno.fits.storage import load
    from bayesanno.io.write import write_table
    from bayesanno.planning.progress import expected_progress

    fit = load(folder)
    with status("following futures", show=sys.stderr.isatty()):
        table = expected_progress(
            fit,
            target=target,
            measure=measure,  # type: ignore[arg-type]  # these are checked there
            sure=sure,
            allocation=allocation,  # type: ignore[arg-type]
            random_seed=seed,
            **who,
        )
    typer.echo(show_table(table))
    if target is not None:
        typer.echo(_describe_needed(table, target, measure, with_cost="costs" in who))
    if out is not None:
        write_table(table, out)
        typer.echo(out)


def _describe_asked(table: pd.DataFrame, target: str, unit: str) -> str:
    items = counted(table["item"].nunique(), "item")
    if target == "gold":  # of each as if it were the only one, so that there is no sum
        return f"the true labels of {items}"
    who = counted(table["annotator"].nunique(), "annotator")
    return f"{counted(len(table), 'answer')} of {who} to {items}: an expected gain of {table['gain'].sum():.2f} {unit}"


def _describe_needed(table: pd.DataFrame, target: float, measure: str, *, with_cost: bool) -> str:
    from bayesanno.planning.progress import find_needed

    what = f"an accuracy of {target:g}" if measure == "accuracy" else f"a share of sure labels of {target:g}"
    if table["p_reached"].iloc[0] > 0.5:
        return f"{what} is expected already"
    needed, least, most = find_needed(table)
    if not np.isfinite(needed):
        return f"{what} is not expected with {table['answers'].iloc[-1]:,} more answers"
    ends = f"{least:,.0f} to {most:,.0f}" if np.isfinite(most) else f"{least:,.0f} or more"
    cost = f", at a cost of {find_needed(table, 'cost')[0]:,.0f}" if with_cost else ""
    return f"{what} is expected with {needed:,.0f} more answers (94%: {ends}){cost}"


def _read_annotators(path: Path | None, per_annotator: int | None) -> dict[str, Any]:
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
