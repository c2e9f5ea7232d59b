"""What `bayesanno groups` and `export` do: the labels of a fit by groups of items, and in the formats of tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import bayesanno as ba
from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pd
from bayesanno._core.messages import counted, listed
from bayesanno.analysis.group_shares import code_items
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, reading_of, show_status, show_table, write_if_asked
from bayesanno.fits.view import FitView
from bayesanno.io.beside import OF_FILES, open_beside
from bayesanno.io.names import check_column, name_of, where
from bayesanno.io.write import TOOLS

GROUP = "group"
FIGURES = (".png", ".pdf", ".svg")


@opt.command(ba.group_table, intervals=True)
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
    for path in (out, figure):
        check_out(path, overwrite=overwrite)
    if figure is not None and figure.suffix not in FIGURES:
        raise ba.DataError(f"--figure {figure}: the name must end in {', '.join(FIGURES[:-1])} or {FIGURES[-1]}")
    options = {name: value for name, value in reading_of(folder).items() if name in OF_FILES}
    options |= {} if item is None else {"item": item}
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


def read_groups(path: str | Path, options: Mapping[str, Any], *, group: str | None = None) -> pd.DataFrame:
    """Read the group of each item: columns item and group. A row without one is left out, and an item may have several.

    Raises
    ------
    DataError
        If the file has no such columns, or a group has no item.
    """
    table = open_beside(path, options)
    own, *others = table.columns
    named = [name for name in others if name.casefold() == GROUP]
    if group is not None:
        named = [check_column(table, group, GROUP)]
    found = named if len(named) == 1 else others
    if len(found) != 1:
        header = listed(list(table.columns))
        raise ba.DataError(f"{name_of(table)}: no column 'group' among {header}: name the column with --group COL")
    pairs = table[[own, found[0]]].set_axis(["item", GROUP], axis=1)
    nameless = (pairs["item"] == "") & (pairs[GROUP] != "")
    if nameless.any():
        row = int(nameless.to_numpy().argmax())
        name = pairs[GROUP].iloc[row]
        raise ba.DataError(f"{where(table, row)}: group {name!r} has no item: fill it in, or leave it out")
    return pairs[pairs[GROUP] != ""].drop_duplicates().reset_index(drop=True)


@opt.command(ba.export_labels)
def export(
    folder: opt.FitFolder,
    to: Annotated[str, opt.value("TOOL", f"{opt.name_one_of([*TOOLS])}.")],
    out: Annotated[Path, opt.value("FILE", "The file to write.")],
    arguments: opt.Exporting,
    overwrite: opt.Overwrite = False,
) -> None:
    """Write the labels of a fit in the format of a tool.

    The probability of each label is its score in the tool. Answers of annotators and known labels are left out.

    \b
    bayesanno export run --to label-studio --tasks export.json --out labels.json
    bayesanno export run --to doccano --tasks texts.csv --out labels.jsonl
    """  # noqa: D301  (the escape keeps the lines as they are)
    check_out(out, overwrite=overwrite)
    written = ba.export_labels(ba.load(folder), out, to=to, reading=reading_of(folder), **arguments)
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
