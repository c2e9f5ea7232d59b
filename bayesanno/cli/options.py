"""Options that several commands share: a command that takes DATA reads it as every other does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bayesanno.ground.errors import DataError, ModelError
from bayesanno.io.read_options import label_names

PANEL = "Data"
SAMPLING = "Sampling"
DATA_HELP = "A CSV, TSV or Parquet file, or a named data set such as @crowd."

ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="A model of the zoo: see `bayesanno models`.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of the model; tuples are written 0.5:0.5."),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="local|ADDRESS",
        help="Read DATA, a folder of Parquet files, on a Dask cluster: one of this machine's cores, or that of a "
        "scheduler, as tcp://10.0.0.1:8786 (em and vb; the extra bayesanno[dask]).",
        rich_help_panel=PANEL,
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Makes the result reproducible.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
ControlsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Known true labels (item,label) for the model to use.", rich_help_panel=PANEL),
]
Draws = Annotated[int, typer.Option(help="Draws kept, per chain.", rich_help_panel=SAMPLING)]
Tune = Annotated[int, typer.Option(help="Tuning steps, per chain.", rich_help_panel=SAMPLING)]
Chains = Annotated[int, typer.Option(help="Number of chains.", rich_help_panel=SAMPLING)]
TargetAccept = Annotated[float, typer.Option(help="Target acceptance rate of NUTS.", rich_help_panel=SAMPLING)]
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
    list[str] | None,
    typer.Option(
        "--labels",
        metavar="A,B,...",
        help="All possible labels, used or not, in order; of several dimensions NAME=A,B,... for each.",
        rich_help_panel=PANEL,
    ),
]
UnsureLabels = Annotated[
    list[str] | None,
    typer.Option(
        "--unsure",
        metavar="LABEL",
        help='A label that is an answer and no class, such as "unsure"; once for each.',
        rich_help_panel=PANEL,
    ),
]
DropUnsure = Annotated[
    bool,
    typer.Option("--drop-unsure", help="Leave the answers out that --unsure names.", rich_help_panel=PANEL),
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
SuccessesColumn = Annotated[
    str | None, typer.Option(metavar="COL", help="The column of positive answers (counts).", rich_help_panel=PANEL)
]
TrialsColumn = Annotated[
    str | None, typer.Option(metavar="COL", help="The column of all answers (counts).", rich_help_panel=PANEL)
]


def parse_settings(
    settings: Sequence[str] | None,
    *,
    option: str = "--set",
    form: str = "FIELD=VALUE",
    example: str = "strategy_prior=5",
) -> dict[str, str]:
    """Return what --set, or another option of its form, was given: names and values.

    Raises
    ------
    ModelError
        If there is no equals sign.
    """
    parsed = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals:
            raise ModelError(f"{option} {setting}: write {form}, as in {option} {example}")
        parsed[name.strip()] = value.strip()
    return parsed


def parse_range(text: str) -> int | tuple[int, int]:
    """Return the number or the range that --per-item was given."""
    parts = text.split("-")
    if not 1 <= len(parts) <= 2 or not all(part.strip().isdecimal() for part in parts):
        raise typer.BadParameter(f"{text!r} is no whole number, nor a range such as 3-7", param_hint="--per-item")
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def split_names(names: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in names.split(",")]


def parse_labels(given: Sequence[str]) -> tuple[str, ...] | None:
    """Return the labels that --labels declares for one label column, None where it was not given.

    Raises
    ------
    DataError
        If it was given more than once, or a name is empty.
    """
    if len(given) > 1:
        raise DataError(f"--labels is given {len(given)} times for one label column: give one list, --labels A,B,...")
    return label_names("--labels", split_names(given[0])) if given else None


def parse_labels_by_dimension(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels that --labels declares for each of several dimensions, those of NAME=A,B,... .

    Raises
    ------
    DataError
        If a list does not say of which dimension it is, two are of the same, or a name is empty.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, names = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise DataError(
                f"--labels {text} does not say of which dimension: write --labels NAME=A,B,..., once for each dimension"
            )
        if name in found:
            raise DataError(f"--labels {name}=... is given twice: give all labels of a dimension in one list")
        found[name] = label_names(f"--labels {name}=...", split_names(names))
    return found
