"""The options of all commands, each declared once as an annotated type.

A group of options is a TypedDict, or a `Group`: the options of reading are made of the parameters of `read_table`, of
the functions of shapes and of `read_annotations`, and their help of the docstrings of these. A command with a
parameter of such a type has every option of the group, and gets their values as one dictionary; see `command`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

import typer

from bayesanno._core.messages import DataError, ModelError
from bayesanno._core.validate import check_seed, check_share
from bayesanno.data.frame import SIDES
from bayesanno.data.labelled import name_labels
from bayesanno.inference.methods import METHODS
from bayesanno.inference.sampling.starts import Begin
from bayesanno.inference.settings import NUTSSampler
from bayesanno.io.comparisons import BASELINE
from bayesanno.io.read import SHAPES, format_names, options_of_shapes, read_annotations, read_table
from bayesanno.io.records import read_tool
from bayesanno.modeling.kinds import KINDS

DATA_HELP = (
    "A CSV, TSV or Parquet file, an export of a tool (see --format), a named data set such as @crowd, or - for "
    "standard input; or several files of the same columns."
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


def _check_probability(prob: float | None) -> float | None:
    if prob is not None:
        check_share("--ci", prob)
    return prob


ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="A model; `bayesanno models` lists them.")]
DataSource = Annotated[list[str], typer.Argument(metavar="DATA", help=DATA_HELP)]
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
Intervals = Annotated[
    float | None,
    value(
        "P", "The probability of the intervals, such as 0.95; by default ArviZ's (0.89).", callback=_check_probability
    ),
]
Adjust = Annotated[
    bool, flag("--adjust/--no-adjust", "Make label probabilities as certain as the check of the fit allows.")
]


class Writing(TypedDict):
    """How the files of a changed fit are written."""

    coverage: Coverage
    report: Report
    overwrite: Overwrite


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

    label: Annotated[
        Text, value("LABEL", "Give the shares of this label only; by default of each label, or of the last of two.")
    ]
    differences: Annotated[bool, flag("--differences", "Give the differences between groups instead of their shares.")]
    at_large: Annotated[
        bool, flag("--at-large", "Give the shares in the population that the items of a group are a sample of.")
    ]
    order: Annotated[
        Text, value("A,B,...", "The labels from the lowest to the highest, for mean grades.", callback=_split_given)
    ]
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
    to_name: Annotated[Text, value("NAME", "The data that the control labels in Label Studio, such as text.")]
    agent: Annotated[
        Text, value("NAME", 'Who gives the labels; "bayesanno MODEL" by default.', "--agent", "--model-version")
    ]
    min_probability: Annotated[float, value("P", "Leave out items whose label is less probable.")]
    use_gold: UseGold
    dimension: Dimension


@dataclass(frozen=True)
class Group:
    """Options by name, each as an annotated type."""

    options: Mapping[str, Any]


_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?: +.*\n?)+)", re.MULTILINE)
_METAVARS = {
    "format": None,
    "encoding": "NAME",
    "separator": "C",
    "split": "TEXT",
    "baseline": "NAME",
    "labels": "A,B,...",
}
_FILES = ("gold_file", "controls", "items", "annotators")


def _explain(function: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence of what the docstring of a function says of each parameter."""
    section = (getdoc(function) or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for names, text in _ENTRY.findall(f"{section}\n"):
        first = re.split(r"(?<=[^.]\.)\s+(?=[A-Z])", " ".join(text.split()).replace("`", ""))[0]
        if first.startswith("Whether "):  # a flag does it, or says it
            rest = first.removeprefix("Whether ").removeprefix("to ")
            first = rest[0].upper() + rest[1:]
        found |= dict.fromkeys(names.split(", "), first)
    return found


def _make_options(*names: str) -> dict[str, Any]:
    """Return the options of reading, by name: of all functions that read, each with its help."""
    takers: list[Callable[..., Any]] = [read_annotations, read_table, *SHAPES.values(), read_tool]
    said: dict[str, str] = {}
    for taker in takers:
        for name, what in _explain(taker).items():
            if name not in said or said[name].startswith("As for"):
                said[name] = what
    kinds = {name: each.annotation for taker in takers for name, each in signature(taker).parameters.items()}
    made: dict[str, Any] = {}
    for name in names:
        kind, flags = str(kinds[name]), f"--{name.replace('_', '-')}"
        if kind == "bool":
            made[name] = Annotated[bool, flag(flags, said[name])]
        elif name in _FILES:
            made[name] = Annotated[File, value("FILE", said[name])]
        elif name in ("label", "labels", "unsure", "same"):
            of_label = LABEL_NAMES if name == "label" else (flags,)
            meant = {"labels": "A,B,...", "same": "A=B"}.get(name, "COL" if name == "label" else "LABEL")
            made[name] = Annotated[Texts, value(meant, f"{said[name].removesuffix('.')}; may be repeated.", *of_label)]
        else:
            is_list = "Sequence" in kind and name not in _METAVARS
            metavar = _METAVARS.get(name, "A,B,..." if is_list else "COL")
            what = f"{name_one_of(format_names())}; or the TOML file of a tool." if name == "format" else said[name]
            made[name] = Annotated[Texts if is_list else Text, value(metavar, what)]
    return made


_OF_TABLE = tuple(name for name in signature(read_table).parameters if name not in ("source", "shape"))
OF_READING = (*dict.fromkeys((*_OF_TABLE, *options_of_shapes())), "transpose")
OF_DATA = ("labels", "unsure", "gold_file")
_OPTIONS = _make_options(*(name for name in OF_READING if name != "transpose"), *OF_DATA) | {
    "transpose": Annotated[bool, flag("--transpose", "Rows are annotators, and columns are items.")],
    "drop_unsure": Annotated[bool, flag("--drop-unsure", "Leave out the answers that --unsure names.")],
}
_OF_ONE_LIST = ("label", "labels", "unsure", "same")  # which have lists of their own
_LISTS = [name for name, kind in _OPTIONS.items() if get_args(kind)[0] == Texts and name not in _OF_ONE_LIST]
OF_KINDS = {name: value(*shown) for kind in KINDS.values() for name, shown in kind.options.items()}
_OF_MODELS = _make_options("controls", "items", "annotators") | {
    "add": Annotated[File, value("FILE", "Further answers (item,annotator,label), as `bayesanno next` asks for.")],
    "class_prior": Annotated[
        Text, value("FORMULA", 'A formula of the columns that the class of an item depends on, such as "a + (1 | b)".')
    ],
    "classifier": Annotated[Text, value("NAME", "A classifier's probabilities, in columns NAME[CLASS] of items.")],
    "judges_err": Annotated[
        bool,
        flag(
            "--judges-err",
            "Learn the errors of judges even if no comparison has two answers; by default, winners are then true.",
        ),
    ],
    "positive": Annotated[Text, value("LABEL", "The positive label; all others are negative (models of two labels).")],
    **{name: Annotated[Text, shown] for name, shown in OF_KINDS.items()},
}
Reading = Annotated[dict[str, Any], Group(_OPTIONS)]  # how DATA are read, if no model is needed
ReadingForModel = Annotated[dict[str, Any], Group(_OPTIONS | _OF_MODELS)]  # and for a model


def options_of(kind: Any) -> dict[str, Any] | None:
    """Return the options of a group; None for any other type."""
    if is_typeddict(kind):
        return get_type_hints(kind, include_extras=True)
    group = (
        next((one for one in get_args(kind)[1:] if isinstance(one, Group)), None)
        if get_origin(kind) is Annotated
        else None
    )
    return None if group is None else dict(group.options)


def command(
    *takers: Callable[..., Any], intervals: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of its groups, and the defaults of the functions and classes that take its options.

    A parameter without a default gets that of the first taker with an argument of its name. An option of a group that
    no taker knows is None by default. A command whose results have `intervals` gets --ci, which is ArviZ's
    `stats.ci_prob` while it runs, so that all tables and figures have it.
    """
    taken = {name: each.default for one in reversed(takers) for name, each in signature(one).parameters.items()}
    usual = {name: default for name, default in taken.items() if isinstance(default, str | int | float | None)}

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        own = signature(run, eval_str=True)
        found = {name: options_of(each.annotation) for name, each in own.parameters.items()}
        groups = {name: options for name, options in found.items() if options is not None}
        shown = []
        for name, each in own.parameters.items():
            if name in groups:
                shown += [
                    Parameter(option, Parameter.KEYWORD_ONLY, default=_default(usual, option, kind), annotation=kind)
                    for option, kind in groups[name].items()
                ]
            else:
                default = usual.get(name, Parameter.empty) if each.default is Parameter.empty else each.default
                shown.append(each.replace(kind=Parameter.KEYWORD_ONLY, default=default))

        if intervals:
            shown.insert(-1, Parameter("ci", Parameter.KEYWORD_ONLY, default=None, annotation=Intervals))

        @wraps(run)
        def run_in_groups(**given: Any) -> None:
            with _set_intervals(given.pop("ci", None)):
                run(**given | {name: {option: given.pop(option) for option in group} for name, group in groups.items()})

        run_in_groups.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]  # what typer reads
        run_in_groups.__annotations__ = {each.name: each.annotation for each in shown}
        return run_in_groups

    return decorate


def _set_intervals(prob: float | None) -> AbstractContextManager[None]:
    if prob is None:
        return nullcontext()
    from arviz_base import rc_context

    return rc_context({"stats.ci_prob": prob})


def _default(usual: Mapping[str, Any], name: str, kind: Any) -> Any:
    return False if get_args(kind)[0] is bool and usual.get(name) is None else usual.get(name)


class DataOptions(dict[str, Any]):
    """The options of reading that a command was given, by name; `label` and `labels` are those of one column."""

    label: tuple[str, ...] = ()  # of all columns
    labels_by_dimension: Mapping[str, tuple[str, ...]] = {}

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise a DataError, which begins with the reason, if one of some options is given; --format long never is."""
        for name in names:
            if name in self and self[name] != "long":
                raise DataError(f"{why}: leave out --{name.replace('_', '-')}")

    @property
    def reading(self) -> dict[str, Any]:
        """The options of `read_table`."""
        return {name: value for name, value in self.items() if name in OF_READING}

    @property
    def known(self) -> dict[str, Any]:
        """The options of `read_annotations` beyond those."""
        return {name: value for name, value in self.items() if name in (*OF_DATA, "controls", "items", "annotators")}

    @property
    def sides(self) -> tuple[str, ...]:
        """The columns of items with the two systems of a comparison; none for other tables."""
        pair = tuple(name.strip() for name in self.get("pairs", "").split(",") if name.strip())
        if {"ranking", "ranks", "best_worst"} & self.keys():
            return SIDES
        return (*pair, BASELINE) if pair and "baseline" in self else pair

    def describe(self) -> dict[str, Any]:
        """Return the options as values for JSON."""
        given = {name: value for name, value in self.items() if name not in ("label", "labels")}
        given |= {"label": list(self.label)} if self.label else {}
        given |= {"labels": self["labels"]} if "labels" in self else {}
        return {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}


def one_source(data: Sequence[str]) -> Any:
    """Return the only source, or the list of several."""
    return data[0] if len(data) == 1 else list(data)


def gather_options(
    *, label: Sequence[str] | None = None, labels: Sequence[str] | None = None, **given: Any
) -> DataOptions:
    """Return the options that were given; any of them may be None.

    Labels are "A,B,..." once, or, if there are several label columns, "NAME=A,B,..." for each.

    Raises
    ------
    DataError
        If labels are given in another way, or unsure answers are left out and none is named.
    ModelError
        As for `parse_settings`.
    """
    named = tuple(label or ())
    said = DataOptions({name: value for name, value in given.items() if value not in (None, False, [], (), "auto")})
    said.update({name: ",".join(said[name]) for name in _LISTS if name in said})  # given again: one longer list
    if "same" in said:
        said["same"] = parse_settings(said["same"], option="--same", form="LABEL=LABEL", example="dgo=dog")
    said.label = named
    if len(named) == 1:
        said["label"] = named[0]
    if "drop_unsure" in said and "unsure" not in said:
        raise DataError("--drop-unsure leaves out unsure answers: name their labels with --unsure")
    if labels and len(named) > 1:
        of = parse_settings(labels, option="--labels", form="NAME=A,B,... for each label column", example="tone=no,yes")
        said.labels_by_dimension = {name: name_labels(text, f"--labels {name}=...") for name, text in of.items()}
    elif labels and len(labels) > 1:
        raise DataError(f"--labels is given {len(labels)} times for one label column: give one list, --labels A,B,...")
    elif labels:
        said["labels"] = list(name_labels(labels[0], "--labels"))
    return said


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
