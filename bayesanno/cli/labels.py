"""What `bayesanno groups` and `export` do: the labels of a fit by groups of items, and in the formats of tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import bayesanno as ba
from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pd
from bayesanno._core.validate import check_share
from bayesanno._core.wording import counted, listed
from bayesanno.analysis.group_shares import code_items
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, reading_of, show_status, show_table, write_if_asked
from bayesanno.fits.view import FitView
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.sources import open_beside
from bayesanno.io.text_table import TextTable
from bayesanno.io.tools import TOOLS

GROUP = "group"
FIGURES = (".png", ".pdf", ".svg")


@opt.command(ba.group_table)
def groups(
    folder: opt.FitFolder,
    by: Annotated[
        str,
        opt.value("FILE|COL", "The group of every item: a column of the items, or a file (item,group)."),
    ],
    arguments: opt.Grouping,
    item: Annotated[opt.Text, opt.value("COL", "The item column of FILE.")] = None,
    group: Annotated[opt.Text, opt.value("COL", "The column of groups in FILE; by default the only other.")] = None,
    out: opt.OutTable = None,
    figure: Annotated[opt.File, opt.value("FILE.png", "Draw the groups (png, pdf or svg).")] = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Compare groups of items, such as the outputs of systems.

    The table has the share of each label in each group, or of the last of two labels, with intervals and ranks; and the
    mean grade where labels are in order. Where five true labels of each group are known, rows of the source "ppi" have
    shares that hold without the model.
    """
    if arguments["ci_prob"] is not None:
        check_share("--ci-prob", arguments["ci_prob"])
    for path in (out, figure):
        check_out(path, overwrite=overwrite)
    if figure is not None and figure.suffix not in FIGURES:
        raise ba.DataError(f"--figure {figure}: the name must end in {', '.join(FIGURES[:-1])} or {FIGURES[-1]}")
    options = ReadOptions.of_files_beside(reading_of(folder))
    options = options if item is None else replace(options, item=item)
    is_file = by.startswith("@") or Path(by).exists()
    table: Any = read_groups(by, options, group=group) if is_file else by  # asks before anything takes long
    fit = ba.load(folder)
    data = FitView(fit).data
    if not is_file and by not in (columns := getattr(data, "item_columns", {})):
        raise ba.DataError(
            f"--by {by} is neither a file nor a column of the items, which have {listed([*columns]) or 'none'}"
        )
    if not isinstance(table, str):
        code_items(table, data.items, where=f"--by {by}")
    with show_status("drawing labels"):
        found = ba.group_table(fit, table, **arguments)
    typer.echo(show_table(found))
    write_if_asked(found, out)
    if figure is not None:
        with write_whole(figure.absolute()) as unfinished:
            ba.plot_groups(found).savefig(unfinished, format=figure.suffix[1:], dpi=150)
        typer.echo(figure)


def read_groups(path: str | Path, options: ReadOptions, *, group: str | None = None) -> pd.DataFrame:
    """Read the group of each item: columns item and group. A row without one is left out, and an item may have several.

    Raises
    ------
    DataError
        If the file has no such columns, or a group has no item.
    """
    table, item = open_beside(path, options)
    columns = item, _find_group(table, group, item)
    items, names = (table.columns[column] for column in columns)
    for row, name in enumerate(names):
        if name and not items[row]:
            raise ba.DataError(f"{table.where(row)}: group {name!r} has no item: fill it in, or leave it out")
    kept = dict.fromkeys((one, name) for one, name in zip(items, names, strict=True) if name)
    return pd.DataFrame(list(kept), columns=["item", GROUP], dtype="str")


def _find_group(table: TextTable, option: str | None, item: int) -> int:
    if option is not None:
        return table.need(GROUP, option)
    header = table.header
    named = [column for column, name in enumerate(header) if name.casefold() == GROUP]
    others = [column for column in range(len(header)) if column != item]
    for found in (named, others):
        if len(found) == 1:
            return found[0]
    raise ba.DataError(f"{table.name}: no column 'group' among {listed(header)}: name the column with --group COL")


@opt.command(ba.export_labels)
def export(
    folder: opt.FitFolder,
    to: Annotated[str, opt.value("TOOL", f"{opt.name_one_of([*TOOLS])}.")],
    out: Annotated[Path, opt.value("FILE", "The file to write.")],
    arguments: opt.Exporting,
    overwrite: opt.Overwrite = False,
) -> None:
    """Write the labels of a fit in the format of a tool.

    The probability of each label is its score in the tool.

    \b
    bayesanno export run --to label-studio --tasks export.json --out labels.json
    bayesanno export run --to doccano --tasks texts.csv --out labels.jsonl
    """  # noqa: D301  (the escape keeps the lines as they are)
    check_out(out, overwrite=overwrite)
    written = ba.export_labels(ba.load(folder), out, to=to, **arguments)
    known = f", of which {written.n_known:,} are known to be true (--ignore-gold)" if written.n_known else ""
    typer.echo(f"{counted(written.n_items, 'label')} for {to}{known}")
    if written.n_unsure:
        typer.echo(
            f"left out: {counted(written.n_unsure, 'label')} less probable than {arguments['min_probability']:g}"
        )
    if written.n_without_task:
        typer.echo(
            f"left out: {counted(written.n_without_task, 'label')} of items that {arguments['tasks']} does not have"
        )
    typer.echo(out)
