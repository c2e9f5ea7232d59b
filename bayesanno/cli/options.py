"""Options that several commands share: a command that takes DATA reads it as every other does.

`reads_data` gives a command all options of reading in place of its parameter `options: DataOptions`. Each of these
options is one entry of `DATA_OPTIONS`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Self, cast

import typer

from bayesanno._core.errors import DataError, ModelError
from bayesanno._core.validate import check_seed
from bayesanno._core.wording import as_names
from bayesanno.io.read_options import ReadOptions, label_names
from bayesanno.io.registry import FORMAT_NAMES

DATA_HELP = (
    "A CSV, TSV or Parquet file, an export of a tool (see --format), a named data set such as @crowd, or - for "
    "standard input."
)
CLASS_PRIOR_HELP = 'Columns of items that their class depends on, "system + (1 | language)"; see --items.'
CLASSIFIER_HELP = "A classifier's probabilities of classes, in columns NAME[CLASS] of items."
UNSURE_HELP = 'A label that is an answer but no class, such as "unsure"; may be repeated.'


def value(metavar: str, what: str, *names: str) -> Any:
    """Return an option with a value: how the help calls the value, and what it is."""
    return typer.Option(*names, metavar=metavar, help=what)


def option[Given](default: Given, what: str, metavar: str | None = None, *names: str) -> Given:
    """Return an option as the default of a parameter: its value where it is not given, and what it is."""
    return cast("Given", typer.Option(default, *names, metavar=metavar, help=what))


def flag(names: str, what: str, *, default: bool = False) -> bool:
    """Return an option without a value as the default of a parameter: its name, or two for yes and no."""
    return cast("bool", typer.Option(default, names, help=what))


def _check_seed(seed: int | None) -> int | None:
    check_seed(seed)
    return seed


ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="A model; `bayesanno models` lists them.")]
DataSource = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
Settings = Annotated[
    list[str] | None, value("FIELD=VALUE", "Set a field of the model; tuples are written 0.5:0.5.", "--set")
]
ClassPriorFormula = Annotated[str | None, value("FORMULA", CLASS_PRIOR_HELP, "--class-prior")]
ClassifierColumns = Annotated[str | None, value("NAME", CLASSIFIER_HELP, "--classifier")]
FitFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `bayesanno fit` wrote.")]
OutFolder = Annotated[Path, value("DIR", "The folder to write; it must not exist yet.")]
OutTable = Annotated[Path | None, value("FILE.csv", "Where to write the table.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Makes the result reproducible.", callback=_check_seed)]
Dimension = Annotated[str | None, value("NAME", "The dimension, if there are several.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
Coverage = Annotated[float | None, typer.Option(help="Mark this share of items, the most certain, in labels.csv.")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html as well.")]
Draws = Annotated[int, typer.Option(help="Draws kept, per chain.")]
Tune = Annotated[int, typer.Option(help="Tuning steps, per chain.")]
Chains = Annotated[int, typer.Option(help="Number of chains.")]
UnsureLabels = Annotated[list[str] | None, value("LABEL", UNSURE_HELP, "--unsure")]


def name_one_of(names: Sequence[str]) -> str:
    """Return names to choose from, in words."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _text(metavar: str, what: str, *names: str) -> Any:
    return Annotated[str | None, value(metavar, what, *names)]


def _column(what: str, *names: str) -> Any:
    return _text("COL", what, *names)


def _flag(name: str, what: str) -> Any:
    return Annotated[bool, typer.Option(f"--{name}", help=what)]


def _file(what: str) -> Any:
    return Annotated[Path | None, value("FILE", what)]


LABEL_NAMES = ("--label", "--question")  # the second is the word of tools

# By the name of the option, in the order of the help. An option that is not given is None unless DEFAULTS has it.
DATA_OPTIONS: dict[str, Any] = {
    "format": Annotated[str, typer.Option(help=f"{name_one_of(FORMAT_NAMES)}.")],
    "item": _column('The item column, or field or path of JSON; also a template, "{system}/{segment}".'),
    "annotator": _column('The annotator column, field or path, "votes[].by"; also a template, "{model}/{prompt}".'),
    "label": Annotated[
        list[str] | None,
        value("COL", "The label column, question or path; one for each dimension if several.", *LABEL_NAMES),
    ],
    "labels": Annotated[
        list[str] | None,
        value("A,B,...", "All possible labels in order, used or not; NAME=A,B,... for each of several dimensions."),
    ],
    "unsure": UnsureLabels,
    "drop_unsure": Annotated[bool, typer.Option("--drop-unsure", help="Leave out the answers that --unsure names.")],
    "gold": _column("A column of known true labels."),
    "gold_file": _file("Known true labels (item,gold), for evaluation."),
    "controls": _file("Known true labels (item,label) for the model to use."),
    "add": _file("Further answers (item,annotator,label), such as those that `bayesanno next` asks for."),
    "predictions": _flag(
        "predictions", "For exports: count predictions of models as answers, with each model an annotator."
    ),
    "multi_label": _flag("multi-label", "For answers with several labels: make each label a yes-or-no question."),
    "drop_rejected": _flag("drop-rejected", "For exports: leave out answers that were rejected."),
    "split": _text("TEXT", 'The separator between several labels, or annotators, in one cell, such as "|".'),
    "missing": _text("A,B,...", "Codes for missing answers, such as NA,-1."),
    "strip": _flag("strip", "Join labels that differ only in the spaces between words."),
    "ignore_case": _flag("ignore-case", "Join labels that differ only in capitals."),
    "same": Annotated[
        list[str] | None, value("A=B", "Read label A as B, such as a misspelt one; may be repeated.", "--same")
    ],
    "columns": _text("A,B,...", "The annotators' columns: names, patterns (rater_*), positions (2: to the end)."),
    "count": _column("The column that counts the items with the answers of a row."),
    "items": _file("A table of items (item and further columns), for --class-prior."),
    "annotators": _file("A table of annotators (annotator and further columns), for models of one's own."),
    "pairs": _text("A,B", "The columns that name the two systems compared; their strengths are fitted."),
    "first": _text("A,B,...", "With --pairs: codes for the first side, in place of A, 1, left, first and win."),
    "second": _text("A,B,...", "With --pairs: codes for the second side."),
    "tie": _text("A,B,...", 'With --pairs: labels that are ties; by default draw, and those that begin with "tie".'),
    "baseline": _text("NAME", "The system that all others were compared with, if --pairs names one column."),
    "by": _column("With --pairs or rankings: subsets of the items, such as categories, each ranked as well."),
    "ranking": _text(
        "COL,...", 'Rankings: a column of lists or of "a > b = c", or columns of systems, the best first.'
    ),
    "ranks": _text("A,B,...", "Rankings: the columns of systems, which hold their ranks; 1 is the best."),
    "best_worst": _text(
        "B,W,SET", "The columns of the best, of the worst, and of the set (a list, or several columns)."
    ),
    "no_header": _flag("no-header", "The first line of a table is data; columns are then named 1, 2, ..."),
    "transpose": _flag("transpose", "Rows are annotators, and columns are items."),
    "separator": _text("C", "What separates the cells of a text file, such as ' '; by default it is detected."),
    "encoding": _text("NAME", "The encoding of a text file, such as latin-1; by default UTF-8."),
    "positive": _text("LABEL", "The positive label; all others are negative (models of two labels)."),
    "successes": _column("The column of positive answers (counts)."),
    "trials": _column("The column of all answers (counts)."),
}
# commands that need no model do not have them
OF_MODELS = ("controls", "add", "items", "annotators", "positive", "successes", "trials")
FLAGS = ("drop_unsure", "predictions", "multi_label", "drop_rejected", "strip", "ignore_case", "no_header", "transpose")
DEFAULTS = {"format": "auto", **dict.fromkeys(FLAGS, False)}


@dataclass(frozen=True, kw_only=True)
class DataOptions(ReadOptions):
    """The options of reading that a command was given.

    Parameters
    ----------
    declared : tuple of str
        The values of --labels, one for each time it was given: "A,B,..." once, or "NAME=A,B,..." for each of several
        dimensions.
    add : path, optional
        A file of further answers.
    positive : str, optional
        The label to count, or to set against all others.
    """

    declared: tuple[str, ...] = ()
    add: Path | None = None
    positive: str | None = None

    @property
    def of_one_column(self) -> Self:
        """The options of reading one label column, with the labels that are declared."""
        return replace(self, labels=parse_labels(self.declared))

    def refuse(self, reasons: dict[str, str], model: str) -> None:
        """Raise a DataError, with its reason, if a refused option is given; --format long is never refused.

        The reasons may name the {option} and the {model}.
        """
        for option, reason in reasons.items():
            name = option.removeprefix("--").replace("-", "_")
            if self.gives(name) and getattr(self, name) != "long":
                raise DataError(reason.format(option=option, model=model))


def reads_data(
    *, without: Collection[str] = (), several: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of reading; it gets their values as its parameter `options`.

    Parameters
    ----------
    without : collection of str
        The options that it does not have.
    several : bool
        Whether there may be several label columns.
    """
    kinds = (
        DATA_OPTIONS if several else {**DATA_OPTIONS, "label": _column("The label column, or question.", *LABEL_NAMES)}
    )
    taken = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=kind)
        for name, kind in kinds.items()
        if name not in without
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            options = gather_options(**{each.name: given.pop(each.name) for each in taken})
            command(**given, options=options)

        own = signature(command, eval_str=True)
        shown = [
            each.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in own.parameters.items()
            for each in (taken if name == "options" else [parameter])
        ]
        run.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {each.name: each.annotation for each in shown}
        return run

    return decorate


def gather_options(
    *, label: str | Sequence[str] | None = None, labels: Sequence[str] | None = None, **given: Any
) -> DataOptions:
    """Return the options of reading as one value; any of them may be None.

    Raises
    ------
    DataError
        As for `ReadOptions`.
    """
    named = as_names(label or ())
    said = {name: value for name, value in given.items() if value is not None}
    if "same" in said:
        said["same"] = parse_settings(said["same"], option="--same", form="LABEL=LABEL", example="dgo=dog")
    return DataOptions(label=named, declared=tuple(labels or ()), **said)


def parse_settings(
    settings: Sequence[str] | None,
    *,
    option: str = "--set",
    form: str = "FIELD=VALUE",
    example: str = "strategy_prior=5",
) -> dict[str, str]:
    """Return the names and values that --set, or another option of its form, was given.

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


def parse_label_names(text: str) -> int | list[str]:
    """Return a number of labels, or their names from a comma-separated list."""
    return int(text) if text.isdecimal() else split_names(text)


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
        If a list does not name its dimension, two lists name the same one, or a name is empty.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, names = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise DataError(
                f"--labels {text} does not name a dimension: write --labels NAME=A,B,..., once for each dimension"
            )
        if name in found:
            raise DataError(f"--labels {name}=... is given twice: give all labels of a dimension in one list")
        found[name] = label_names(f"--labels {name}=...", split_names(names))
    return found
