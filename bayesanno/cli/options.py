"""The options of all commands, each declared once as an annotated type.

A group of options is a TypedDict. A command with a parameter of this type has every option of the group, and gets their
values as one dictionary; see `command`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_args, get_type_hints, is_typeddict

import typer

from bayesanno._core.errors import DataError, ModelError
from bayesanno._core.validate import check_seed
from bayesanno._core.wording import as_names
from bayesanno.inference.methods import METHODS, NUTSSampler
from bayesanno.inference.sampling.starts import Begin
from bayesanno.io.read_options import ReadOptions, label_names
from bayesanno.io.registry import FORMAT_NAMES

DATA_HELP = (
    "A CSV, TSV or Parquet file, an export of a tool (see --format), a named data set such as @crowd, or - for "
    "standard input."
)
METHOD_OPTIONS = "; ".join(
    f"of {name} " + ", ".join(f"{each}={value}" for each, value in method.options.items())
    for name, method in METHODS.items()
    if method.options
)
ON_DASK = " and ".join(name for name, method in METHODS.items() if not method.needs_graph)
LABEL_NAMES = ("--label", "--question")  # the second is the word of tools

Text = str | None
Texts = list[str] | None
File = Path | None


def value(metavar: str | None, what: str, *names: str, **more: Any) -> Any:
    """Return an option with a value: how the help calls the value, and what it is."""
    return typer.Option(*names, metavar=metavar, help=what, **more)


def flag(names: str, what: str) -> Any:
    """Return an option without a value: its name, or two for yes and no."""
    return typer.Option(names, help=what)


def name_one_of(names: Sequence[str]) -> str:
    """Return names to choose from, in words."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def split_names(names: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in names.split(",")]


def _split_given(names: str | None) -> list[str] | None:
    return None if names is None else split_names(names)


def _check_seed(seed: int | None) -> int | None:
    check_seed(seed)
    return seed


ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="A model; `bayesanno models` lists them.")]
DataSource = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
FitFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `bayesanno fit` wrote.")]
OutFolder = Annotated[Path, value("DIR", "The folder to write; it must not exist yet.")]
OutTable = Annotated[File, value("FILE.csv", "Where to write the table.")]
Overwrite = Annotated[bool, flag("--overwrite", "Replace existing output.")]
Seed = Annotated[int | None, value(None, "Makes the result reproducible.", "--seed", callback=_check_seed)]
Settings = Annotated[Texts, value("FIELD=VALUE", "Set a field of the model; tuples are written 0.5:0.5.", "--set")]
Unsure = Annotated[Texts, value("LABEL", "A label that is an answer but no class; may be repeated.")]
Method = Annotated[str, value(None, f"{name_one_of([*METHODS])}.")]
Dimension = Annotated[Text, value("NAME", "The dimension, if there are several.")]
UseGold = Annotated[bool, flag("--use-gold/--ignore-gold", "Whether to use the known true labels of items.")]
Coverage = Annotated[float | None, value(None, "Mark this share of items, the most certain, in labels.csv.")]
Report = Annotated[bool, flag("--report/--no-report", "Write report.html as well.")]
Adjust = Annotated[
    bool, flag("--adjust/--no-adjust", "Make label probabilities as certain as the check of the fit allows.")
]


class Sampling(TypedDict):
    """How NUTS draws."""

    draws: Annotated[int, value(None, "Draws kept, per chain.")]
    tune: Annotated[int, value(None, "Tuning steps, per chain.")]
    chains: Annotated[int, value(None, "Number of chains.")]


class Fitting(Sampling):
    """The arguments of `fit`."""

    random_seed: Seed
    method: Method
    target_accept: Annotated[float, value(None, "Target acceptance rate of NUTS.")]
    nuts_sampler: Annotated[str, value(None, f"{name_one_of(get_args(NUTSSampler))}.")]
    initvals: Annotated[str, value(None, f"Where chains start: {name_one_of(get_args(Begin))}.")]
    method_options: Annotated[
        Texts, value("NAME=VALUE", f"A further option of the method: {METHOD_OPTIONS}.", "--method-option")
    ]


class Grouping(TypedDict):
    """The arguments of `group_table`."""

    label: Annotated[Text, value("LABEL", "The only label to give shares of; of two labels the last by default.")]
    differences: Annotated[bool, flag("--differences", "The differences between groups instead of their shares.")]
    at_large: Annotated[bool, flag("--at-large", "Shares in the population that the items of a group are a sample of.")]
    order: Annotated[
        Text, value("A,B,...", "The labels from the lowest to the highest, for mean grades.", callback=_split_given)
    ]
    ci_prob: Annotated[float | None, value("P", "The probability of the intervals; ArviZ's by default (0.89).")]
    use_gold: UseGold
    dimension: Dimension
    random_seed: Seed


class Exporting(TypedDict):
    """The arguments of `export_labels`."""

    tasks: Annotated[
        File, value("FILE", "The items to show: the tool's export (JSON or JSONL), or a table (item,text).")
    ]
    item: Annotated[Text, value("COL", "The field of --tasks that names the item, such as data.ticket.")]
    question: Annotated[
        Text, value("NAME", "The question in Argilla, or the control in Label Studio.", "--question", "--from-name")
    ]
    to_name: Annotated[Text, value("NAME", "What the control labels in Label Studio, such as text.")]
    agent: Annotated[
        Text, value("NAME", 'Who gives the labels; "bayesanno MODEL" by default.', "--agent", "--model-version")
    ]
    min_probability: Annotated[float, value("P", "Leave out items whose label is less probable.")]
    use_gold: UseGold
    dimension: Dimension


class Reading(TypedDict):
    """How DATA are read, if no model is needed."""

    format: Annotated[str, value(None, f"{name_one_of(FORMAT_NAMES)}.")]
    item: Annotated[Text, value("COL", 'The item column, field or path; or a template, "{system}/{segment}".')]
    annotator: Annotated[Text, value("COL", 'The annotator column, field, path "votes[].by", or template.')]
    label: Annotated[Texts, value("COL", "The label column, question or path; one for each dimension.", *LABEL_NAMES)]
    labels: Annotated[
        Texts, value("A,B,...", "All possible labels in order; NAME=A,B,... for each of several dimensions.")
    ]
    unsure: Unsure
    drop_unsure: Annotated[bool, flag("--drop-unsure", "Leave out the answers that --unsure names.")]
    gold: Annotated[Text, value("COL", "A column of known true labels.")]
    gold_file: Annotated[File, value("FILE", "Known true labels (item,gold), for evaluation.")]
    predictions: Annotated[bool, flag("--predictions", "For exports: count predictions of models as answers.")]
    multi_label: Annotated[
        bool, flag("--multi-label", "Make each label a yes-or-no question, if answers have several.")
    ]
    drop_rejected: Annotated[bool, flag("--drop-rejected", "For exports: leave out answers that were rejected.")]
    split: Annotated[Text, value("TEXT", 'What separates several labels, or annotators, in a cell, such as "|".')]
    missing: Annotated[Text, value("A,B,...", "Codes for missing answers, such as NA,-1.")]
    strip: Annotated[bool, flag("--strip", "Join labels that differ only in the spaces between words.")]
    ignore_case: Annotated[bool, flag("--ignore-case", "Join labels that differ only in capitals.")]
    same: Annotated[Texts, value("A=B", "Read label A as B, such as a misspelt one; may be repeated.")]
    columns: Annotated[Text, value("A,B,...", "The annotators' columns: names, patterns (rater_*), positions (2:).")]
    count: Annotated[Text, value("COL", "The column that counts the items with the answers of a row.")]
    pairs: Annotated[Text, value("A,B", "The columns that name the two systems compared; their strengths are fitted.")]
    first: Annotated[Text, value("A,B,...", "With --pairs: codes for the first side, in place of A, 1, left and win.")]
    second: Annotated[Text, value("A,B,...", "With --pairs: codes for the second side.")]
    tie: Annotated[Text, value("A,B,...", 'With --pairs: labels that are ties, in place of draw and "tie...".')]
    baseline: Annotated[Text, value("NAME", "The system that all were compared with, if --pairs names one column.")]
    by: Annotated[Text, value("COL", "With --pairs or rankings: subsets of the items, each ranked as well.")]
    ranking: Annotated[Text, value("COL,...", 'Columns of systems, the best first, or one of lists or "a > b = c".')]
    ranks: Annotated[Text, value("A,B,...", "Rankings: the columns of systems, which hold their ranks; 1 is the best.")]
    best_worst: Annotated[Text, value("B,W,SET", "The columns of the best, of the worst, and of the set.")]
    no_header: Annotated[bool, flag("--no-header", "The first line is data; columns are then named 1, 2, ...")]
    transpose: Annotated[bool, flag("--transpose", "Rows are annotators, and columns are items.")]
    separator: Annotated[Text, value("C", "What separates the cells of a text file; by default it is detected.")]
    encoding: Annotated[Text, value("NAME", "The encoding of a text file, such as latin-1; by default UTF-8.")]


class ReadingForModel(Reading):
    """How DATA are read for a model, and what its classes depend on."""

    controls: Annotated[File, value("FILE", "Known true labels (item,label) for the model to use.")]
    add: Annotated[File, value("FILE", "Further answers (item,annotator,label), as `bayesanno next` asks for.")]
    items: Annotated[File, value("FILE", "A table of items (item and further columns), for --class-prior.")]
    annotators: Annotated[File, value("FILE", "A table of annotators (annotator and further columns), for own models.")]
    class_prior: Annotated[Text, value("FORMULA", 'Columns of items that their class depends on, "a + (1 | b)".')]
    classifier: Annotated[Text, value("NAME", "A classifier's probabilities, in columns NAME[CLASS] of items.")]
    positive: Annotated[Text, value("LABEL", "The positive label; all others are negative (models of two labels).")]
    successes: Annotated[Text, value("COL", "The column of positive answers (counts).")]
    trials: Annotated[Text, value("COL", "The column of all answers (counts).")]


def command(*takers: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of its groups, and the defaults of the functions and classes that take its options.

    A parameter without a default gets that of the first taker with an argument of its name. An option of a group that
    no taker knows is None by default.
    """
    taken = {name: each.default for one in reversed(takers) for name, each in signature(one).parameters.items()}
    usual = {name: default for name, default in taken.items() if isinstance(default, str | int | float | None)}

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        own = signature(run, eval_str=True)
        groups = {
            name: get_type_hints(each.annotation, include_extras=True)
            for name, each in own.parameters.items()
            if is_typeddict(each.annotation)
        }
        shown = []
        for name, each in own.parameters.items():
            if name in groups:
                shown += [
                    Parameter(option, Parameter.KEYWORD_ONLY, default=usual.get(option), annotation=kind)
                    for option, kind in groups[name].items()
                ]
            else:
                default = usual.get(name, Parameter.empty) if each.default is Parameter.empty else each.default
                shown.append(each.replace(kind=Parameter.KEYWORD_ONLY, default=default))

        @wraps(run)
        def run_in_groups(**given: Any) -> None:
            run(**given | {name: {option: given.pop(option) for option in group} for name, group in groups.items()})

        run_in_groups.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]  # what typer reads
        run_in_groups.__annotations__ = {each.name: each.annotation for each in shown}
        return run_in_groups

    return decorate


@dataclass(frozen=True, kw_only=True)
class DataOptions(ReadOptions):
    """The options of reading that a command was given.

    Parameters
    ----------
    add : path, optional
        A file of further answers.
    class_prior, classifier : str, optional
        The columns of items that the class depends on, and the name of a classifier's columns.
    positive : str, optional
        The label to count, or to set against all others.
    """

    add: Path | None = None
    class_prior: str | None = None
    classifier: str | None = None
    positive: str | None = None

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise a DataError, which begins with the reason, if one of some options is given; --format long never is."""
        for name in names:
            if self.gives(name) and getattr(self, name) != "long":
                raise DataError(f"{why}: leave out --{name.replace('_', '-')}")


def gather_options(
    *, label: str | Sequence[str] | None = None, labels: Sequence[str] | None = None, **given: Any
) -> DataOptions:
    """Return the options of reading as one value; any of them may be None.

    Labels are "A,B,..." once, or, if there are several label columns, "NAME=A,B,..." for each.

    Raises
    ------
    DataError
        As for `ReadOptions`; if labels are given in another way.
    ModelError
        As for `parse_settings`.
    """
    named = as_names(label or ())
    said = {name: value for name, value in given.items() if value is not None}
    if "same" in said:
        said["same"] = parse_settings(said["same"], option="--same", form="LABEL=LABEL", example="dgo=dog")
    if labels and len(named) > 1:
        of = parse_settings(labels, option="--labels", form="NAME=A,B,... for each label column", example="tone=no,yes")
        declared = {name: label_names(f"--labels {name}=...", split_names(text)) for name, text in of.items()}
        return DataOptions(label=named, labels_by_dimension=declared, **said)
    if labels and len(labels) > 1:
        raise DataError(f"--labels is given {len(labels)} times for one label column: give one list, --labels A,B,...")
    return DataOptions(label=named, labels=label_names("--labels", split_names(labels[0])) if labels else None, **said)


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
        If there is no equals sign, or a name is given twice.
    """
    parsed = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals:
            raise ModelError(f"{option} {setting}: write {form}, as in {option} {example}")
        if name.strip() in parsed:
            raise ModelError(f"{option} {name.strip()}=... is given twice: leave out one")
        parsed[name.strip()] = value.strip()
    return parsed


def parse_range(text: str) -> int | tuple[int, int]:
    """Return the number or the range that --per-item was given."""
    parts = text.split("-")
    if not 1 <= len(parts) <= 2 or not all(part.strip().isdecimal() for part in parts):
        raise typer.BadParameter(f"{text!r} is no whole number, nor a range such as 3-7", param_hint="--per-item")
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def parse_label_names(text: str) -> int | list[str]:
    """Return a number of labels, or their names from a comma-separated list."""
    return int(text) if text.isdecimal() else split_names(text)
