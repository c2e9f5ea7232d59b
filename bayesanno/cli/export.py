"""What `bayesanno export` does: the labels of a fit in the form in which a tool for annotation imports them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import bayesanno as ba
from bayesanno.analysis.export_labels import check_least
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_dimension, check_out
from bayesanno.ground.wording import counted
from bayesanno.io.registry import TOOLS
from bayesanno.io.tools.tool import ToolOptions, find_tool


def export(
    folder: opt.FitFolder,
    to: Annotated[str, opt.value("TOOL", f"{opt.name_one_of([*TOOLS])}.")],
    out: Annotated[Path, opt.value("FILE", "The file to write; for cleanlab a folder.")],
    tasks: Annotated[
        Path | None,
        opt.value(
            "FILE", "The contents of items to show: the tool's own export (JSON or JSON Lines), or a table (item,text)."
        ),
    ] = None,
    item: Annotated[
        str | None, opt.value("COL", "The field of --tasks that names the item, such as data.ticket.")
    ] = None,
    question: Annotated[
        str | None,
        opt.value(
            "NAME",
            "The question in Argilla, or the control in Label Studio; by default the only one in --tasks.",
            *("--question", "--from-name"),
        ),
    ] = None,
    to_name: Annotated[str | None, opt.value("NAME", "What the control labels in Label Studio, such as text.")] = None,
    agent: Annotated[
        str | None,
        opt.value("NAME", 'Who gives the labels; by default "bayesanno MODEL".', "--agent", "--model-version"),
    ] = None,
    min_probability: Annotated[float, typer.Option(help="Leave out items whose label is less probable.")] = 0.0,
    ignore_gold: Annotated[
        bool, typer.Option("--ignore-gold", help="Do not label items by their known true labels.")
    ] = False,
    dimension: opt.Dimension = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace FILE.")] = False,
) -> None:
    """Write the labels of a fit in the format of a tool.

    The probability of each label is its score in the tool.

    \b
    bayesanno export run --to label-studio --tasks export.json --out labels.json
    bayesanno export run --to soft-labels --out labels.parquet
    """  # noqa: D301  (the escape keeps the lines as they are)
    check_out(out, overwrite=overwrite)
    options: dict[str, Any] = {"question": question, "to_name": to_name, "tasks": tasks, "item": item, "agent": agent}
    find_tool(to).check(ToolOptions(**options))
    check_least(min_probability)
    fit = ba.load(folder)
    check_dimension(fit, dimension)
    written = ba.export_labels(
        fit, out, to=to, **options, min_probability=min_probability, dimension=dimension, use_gold=not ignore_gold
    )
    known = f", of which {written.n_known:,} are known to be true (--ignore-gold)" if written.n_known else ""
    typer.echo(f"{counted(written.n_items, 'label')} for {to}{known}")
    if written.n_unsure:
        typer.echo(f"left out: {counted(written.n_unsure, 'label')} less probable than {min_probability}")
    if written.n_without_task:
        typer.echo(f"left out: {counted(written.n_without_task, 'label')} of items that {tasks} does not have")
    typer.echo(out)
