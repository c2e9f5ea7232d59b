"""What `bayesanno read` does: the long table of a file, with its labels, its first rows and what is doubted of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

import bayesanno as ba
from bayesanno._core.lazy import pd
from bayesanno._core.messages import counted
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, show_table, write_if_asked
from bayesanno.data.labelled import spell_numbers
from bayesanno.io.read import read_long

SHOWN, MOST_LABELS = 5, 20  # rows, and labels, on the screen


@opt.command()
def read(
    data: opt.DataSource, reading: opt.Reading, out: opt.OutTable = None, overwrite: opt.Overwrite = False
) -> None:
    """Show how DATA are read, a row for each answer.

    It has the same options as the commands that read. What looks like a mistake is listed with what to do about it.
    """
    check_out(out, overwrite=overwrite)
    options = opt.gather_options(**reading)
    if len(options.label) > 1:
        raise ba.DataError("read shows one label column: name one")
    table = read_long(opt.one_source(data), options.reading)
    if "labels" in options:
        ba.AnnotationData.from_frame(table, labels=options["labels"])  # refuses a label that is not declared
    for line in describe(table, ba.check_table(table, labels=options.get("labels"))):
        typer.echo(line)
    write_if_asked(table, out)


def describe(table: pd.DataFrame, doubts: pd.DataFrame) -> Iterator[str]:
    """Yield in words what was read: how much, the labels with their counts, the first answers, and what is doubted."""
    labels = table["label"][table["label"] != ""]
    count = labels.replace(spell_numbers(labels.unique())).value_counts()
    n_items, n_people = (sum(map(bool, table[role].unique())) for role in ("item", "annotator"))
    answers = counted(len(labels), "answer")
    if table.attrs.get("read_as"):
        yield f"{table.attrs['name']}: {table.attrs['read_as']}"
    yield f"{answers} to {counted(n_items, 'item')} by {counted(n_people, 'annotator')}"
    shown = [f"{name} ({n:,})" for name, n in count.head(MOST_LABELS).items()]
    more = f" and {len(count) - len(shown):,} more" if len(count) > len(shown) else ""
    yield f"labels: {', '.join(shown)}{more}"
    for role, what in (("gold", "known true labels"), ("control", "controls")):
        if role in table:
            known: Any = table[table[role] != ""]
            yield f"{what} of {counted(known['item'].nunique(), 'item')}"
    answered = table[table["label"] != ""]
    yield show_table((table if answered.empty else answered).head(SHOWN))
    for doubt in doubts.itertuples():
        yield f"{doubt.code} ({doubt.level}): {doubt.message} {doubt.remedy}"
