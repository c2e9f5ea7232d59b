"""What `bayesanno groups` does: the shares of labels in groups of items, read from a file, and their differences."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bayesanno.cli import options as opt
from bayesanno.cli.files import check_dimension, check_out, show_table
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd
from bayesanno.ground.running import status
from bayesanno.ground.validate import check_share
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.sources import open_table
from bayesanno.io.text_table import TextTable

GROUP = "group"


def groups(
    folder: opt.FitFolder,
    by: Annotated[Path, typer.Option(metavar="FILE", help="The group of every item (item,group), such as its system.")],
    item: Annotated[str | None, typer.Option(metavar="COL", help="The item column of FILE.")] = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The column of groups in FILE; by default group, or the only other."),
    ] = None,
    out: opt.OutTable = None,
    own_prevalence: Annotated[
        bool, typer.Option("--own-prevalence", help="Learn a prevalence of each group, near the common one.")
    ] = False,
    at_large: Annotated[
        bool, typer.Option("--at-large", help="Shares among all items that those of a group are a sample of.")
    ] = False,
    ignore_gold: Annotated[
        bool, typer.Option("--ignore-gold", help="Do not count items by their known true labels.")
    ] = False,
    prob: Annotated[float, typer.Option(help="The probability of the intervals.")] = 0.94,
    order: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="The labels from the lowest to the highest, for mean grades.")
    ] = None,
    dimension: opt.Dimension = None,
    seed: opt.Seed = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace FILE.csv.")] = False,
) -> None:
    """Compare groups of items, such as the outputs of several systems, by the fit in DIR.

    The share of each label in each group and, where labels are in order, the mean grade; and their differences between
    groups, with intervals.
    """
    check_share("--prob", prob)
    if out is not None:
        check_out(out, overwrite=overwrite)
    table = read_groups(by, item=item, group=group)
    from bayesanno.analysis.group_shares import code_items, group_table
    from bayesanno.fits.storage import load
    from bayesanno.io.write import write_table

    fit = load(folder)
    view = FitView(fit)
    check_dimension(fit, dimension)
    code_items(table, view.data.items, where=f"--by {by}")
    with status("drawing labels", show=sys.stderr.isatty()):
        found = group_table(
            fit,
            table,
            prevalence="own" if own_prevalence else "common",
            at_large=at_large,
            use_gold=not ignore_gold,
            prob=prob,
            order=None if order is None else opt.split_names(order),
            dimension=dimension,
            random_seed=seed,
        )
    typer.echo(show_table(found))
    if out is not None:
        write_table(found, out)
        typer.echo(out)


def read_groups(path: Path, *, item: str | None = None, group: str | None = None) -> pd.DataFrame:
    """Read the group of each item: columns item and group. A row without one is left out.

    Raises
    ------
    DataError
        If the file has no such columns, or a group has no item.
    """
    table = open_table(path)
    columns = table.need("item", item), _find_group(table, group, item)
    items, names = (table.columns[column] for column in columns)
    nameless = next((row for row, name in enumerate(names) if name and not items[row]), None)
    if nameless is not None:
        raise DataError(f"{table.where(nameless)}: group {names[nameless]!r} has no item: fill it in, or leave it out")
    kept = [(one, name) for one, name in zip(items, names, strict=True) if name]
    return pd.DataFrame(kept, columns=["item", GROUP], dtype="str")


def _find_group(table: TextTable, option: str | None, item: str | None) -> int:
    header = table.header
    if option is not None:
        if option not in header:
            raise DataError(
                f"{table.name}: there is no column {option!r} to take as group; the columns are {listed(header)}"
                f"{nearest(option, header)}"
            )
        return header.index(option)
    named = [column for column, name in enumerate(header) if name.casefold() == GROUP]
    others = [column for column in range(len(header)) if column != table.need("item", item)]
    if len(named) != 1 and len(others) != 1:
        raise DataError(f"{table.name}: no column 'group' among {listed(header)}: name the column with --group COL")
    return (named if len(named) == 1 else others)[0]
