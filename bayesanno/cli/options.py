"""Options that several commands share: a command that takes DATA reads it as every other does."""

from pathlib import Path
from typing import Annotated

import typer

PANEL = "Data"
DATA_HELP = "A CSV, TSV or Parquet file, or a named data set such as @crowd."

DataSource = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
TableFormat = Annotated[str, typer.Option("--format", help="auto, long, wide, grouped or snow.", rich_help_panel=PANEL)]
ItemColumn = Annotated[str | None, typer.Option(metavar="COL", help="The item column.", rich_help_panel=PANEL)]
AnnotatorColumn = Annotated[
    str | None, typer.Option(metavar="COL", help="The annotator column.", rich_help_panel=PANEL)
]
LabelColumn = Annotated[str | None, typer.Option(metavar="COL", help="The label column.", rich_help_panel=PANEL)]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="COL", help="The label column; one for each dimension if several.", rich_help_panel=PANEL
    ),
]
LabelNames = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="All possible labels, used or not, in order.", rich_help_panel=PANEL),
]
GoldColumn = Annotated[
    str | None, typer.Option(metavar="COL", help="A column of known true labels.", rich_help_panel=PANEL)
]
GoldFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Known true labels (item,gold), for evaluation.", rich_help_panel=PANEL),
]

PositiveLabel = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL", help="The label that counts, against all others (models of two labels).", rich_help_panel=PANEL
    ),
]


def parse_labels(labels: str | None) -> list[str] | None:
    """Return the names in a comma-separated list."""
    return None if labels is None else [name.strip() for name in labels.split(",")]
