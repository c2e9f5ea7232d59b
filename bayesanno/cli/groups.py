"""What `bayesanno groups` does: the shares of labels in groups of items, read from a file, and their differences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bayesanno as ba
from bayesanno.analysis.group_shares import code_items
from bayesanno.analysis.parameters import CI_PROB, CiKind
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_dimension, check_out, show_status, show_table, write_if_asked
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd
from bayesanno.ground.validate import check_share
from bayesanno.ground.wording import listed
from bayesanno.io.sources import open_table
from bayesanno.io.text_table import TextTable

GROUP = "group"
FIGURES = (".png", ".pdf", ".svg")


def groups(
    folder: opt.FitFolder,
    by: Annotated[
        str,
        opt.value(
            "FILE|COL",
            "The group of every item: a column of the items, or a file (item,group), such as the table of answers.",
        ),
    ],
    item: Annotated[str | None, opt.value("COL", "The item column of FILE.")] = None,
    group: Annotated[
        str | None, opt.value("COL", "The column of groups in FILE; by default group, or the only other.")
    ] = None,
    out: opt.OutTable = None,
    at_large: Annotated[
        bool, typer.Option("--at-large", help="Shares in the population that the items of a group are a sample of.")
    ] = False,
    ignore_gold: Annotated[
        bool, typer.Option("--ignore-gold", help="Do not count items by their known true labels.")
    ] = False,
    ci_prob: Annotated[float, typer.Option(help="The probability of the intervals.")] = CI_PROB,
    ci_kind: Annotated[CiKind, typer.Option(help="Intervals of the highest density, or with equal tails.")] = "hdi",
    order: Annotated[
        str | None, opt.value("A,B,...", "The labels from the lowest to the highest, for mean grades.")
    ] = None,
    dimension: opt.Dimension = None,
    seed: opt.Seed = None,
    figure: Annotated[
        Path | None, opt.value("FILE.png", "Draw the groups with their intervals (png, pdf or svg).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace FILE.csv and FILE.png.")] = False,
) -> None:
    """Compare groups of items, such as the outputs of systems.

    The table has the share of each label in each group, the mean grade where labels are in order, and the differences
    between groups, with intervals.
    """
    check_share("--ci-prob", ci_prob)
    for path in (out, figure):
        check_out(path, overwrite=overwrite)
    if figure is not None and figure.suffix not in FIGURES:
        raise DataError(f"--figure {figure}: the name must end in {', '.join(FIGURES[:-1])} or {FIGURES[-1]}")
    fit = ba.load(folder)
    data = FitView(fit).data
    is_column = by in getattr(data, "item_columns", {}) and not Path(by).exists()
    table = by if is_column else read_groups(by, item=item, group=group)
    check_dimension(fit, dimension)
    if not isinstance(table, str):
        code_items(table, data.items, where=f"--by {by}")
    with show_status("drawing labels"):
        found = ba.group_table(
            fit,
            table,
            at_large=at_large,
            use_gold=not ignore_gold,
            ci_prob=ci_prob,
            ci_kind=ci_kind,
            order=None if order is None else opt.split_names(order),
            dimension=dimension,
            random_seed=seed,
        )
    typer.echo(show_table(found))
    write_if_asked(found, out)
    if figure is not None:
        ba.plot_groups(found).savefig(figure, dpi=150)
        typer.echo(figure)


def read_groups(path: str | Path, *, item: str | None = None, group: str | None = None) -> pd.DataFrame:
    """Read the group of each item: columns item and group. A row without one is left out, and an item may have several.

    Raises
    ------
    DataError
        If the file has no such columns, or a group has no item.
    """
    table = open_table(path)
    columns = table.need_item(item), _find_group(table, group, item)
    items, names = (table.columns[column] for column in columns)
    for row, name in enumerate(names):
        if name and not items[row]:
            raise DataError(f"{table.where(row)}: group {name!r} has no item: fill it in, or leave it out")
    kept = dict.fromkeys((one, name) for one, name in zip(items, names, strict=True) if name)
    return pd.DataFrame(list(kept), columns=["item", GROUP], dtype="str")


def _find_group(table: TextTable, option: str | None, item: str | None) -> int:
    if option is not None:
        return table.need(GROUP, option)
    header = table.header
    named = [column for column, name in enumerate(header) if name.casefold() == GROUP]
    others = [column for column in range(len(header)) if column != table.need_item(item)]
    for found in (named, others):
        if len(found) == 1:
            return found[0]
    raise DataError(f"{table.name}: no column 'group' among {listed(header)}: name the column with --group COL")
