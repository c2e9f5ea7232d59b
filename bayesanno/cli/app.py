"""The command line: reads options, calls the library, writes files whole or not at all.

Results go to stdout, everything else to stderr. Exit codes: 0 done; 1 bad data, model, field or value, with one line
`error: ...`; 2 what the option parser rejects; 130 interrupted. Nothing heavy is imported before the data are read and
the options checked.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesanno.cli.agreement import agreement
from bayesanno.cli.compare import compare
from bayesanno.cli.files import describe_result, new_folder, write_fit, write_simulation
from bayesanno.cli.options import (
    DATA_HELP,
    AnnotatorColumn,
    ControlsFile,
    DaskAddress,
    DataSource,
    GoldColumn,
    GoldFile,
    ItemColumn,
    LabelColumn,
    LabelColumns,
    LabelNames,
    ModelName,
    Overwrite,
    PositiveLabel,
    Seed,
    Settings,
    SuccessesColumn,
    TableFormat,
    TrialsColumn,
    parse_labels,
    parse_range,
    parse_settings,
)
from bayesanno.cli.sensitivity import sensitivity
from bayesanno.ground.errors import BayesannoError, DataFileError
from bayesanno.ground.validate import check_seed, known_seed
from bayesanno.inference.methods import METHODS, choose_method
from bayesanno.inference.nuts import NUTSSettings
from bayesanno.io.options import ReadOptions

if TYPE_CHECKING:
    import xarray

app = typer.Typer(
    name="bayesanno",
    help="Bayesian models of annotation: what is true, whom to trust, and how sure to be.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

INTERRUPTED = 130
SAMPLING = "Sampling"
OPTIONS = "; ".join(
    f"of {name} " + ", ".join(f"{option}={value}" for option, value in method.options.items())
    for name, method in METHODS.items()
    if method.options
)


def main() -> None:
    """Run the command line; turn errors of ours into one line and an exit code."""
    warnings.showwarning = _show_warning
    try:
        app(standalone_mode=True)
    except BayesannoError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer has turned the KeyboardInterrupt into its exit code
            typer.echo("interrupted: nothing was written", err=True)
        raise


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print our own warnings as one line each; leave out what libraries say to programmers."""
    if category.__module__.startswith("bayesanno."):
        typer.echo(f"warning: {message}", err=True)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"bayesanno {version('bayesanno')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def models() -> None:
    """List the zoo."""
    from rich.console import Console
    from rich.table import Table

    from bayesanno.modeling.registry import describe_models

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("model")
    table.add_column("fields (--set)")
    for row in describe_models():
        name = f"{row['name']}\n({row['aliases']})" if row["aliases"] else row["name"]
        table.add_row(name, row["model"], row["fields"].replace(", ", "\n"))
    Console(markup=False, highlight=False, emoji=False).print(table)


@app.command()
def fit(
    model: ModelName,
    data: DataSource,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write; it must not exist yet.")],
    settings: Settings = None,
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.", rich_help_panel=SAMPLING)] = "nuts",
    draws: Annotated[int, typer.Option(help="Draws kept, per chain.", rich_help_panel=SAMPLING)] = NUTSSettings.draws,
    tune: Annotated[int, typer.Option(help="Tuning steps, per chain.", rich_help_panel=SAMPLING)] = NUTSSettings.tune,
    chains: Annotated[int, typer.Option(help="Number of chains.", rich_help_panel=SAMPLING)] = NUTSSettings.chains,
    target_accept: Annotated[
        float, typer.Option(help="Target acceptance rate of NUTS.", rich_help_panel=SAMPLING)
    ] = NUTSSettings.target_accept,
    nuts_sampler: Annotated[
        str, typer.Option(help="nutpie, pymc, numpyro or blackjax.", rich_help_panel=SAMPLING)
    ] = NUTSSettings.nuts_sampler,
    initvals: Annotated[
        str,
        typer.Option(
            help="Where chains start: auto (the modes that carry mass), vote, prior or em.", rich_help_panel=SAMPLING
        ),
    ] = "auto",
    method_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help=f"A further option of the method: {OPTIONS}.", rich_help_panel=SAMPLING
        ),
    ] = None,
    seed: Seed = None,
    format_: TableFormat = "auto",
    item: ItemColumn = None,
    annotator: AnnotatorColumn = None,
    label: LabelColumns = None,
    labels: LabelNames = None,
    gold: GoldColumn = None,
    gold_file: GoldFile = None,
    controls: ControlsFile = None,
    positive: PositiveLabel = None,
    successes: SuccessesColumn = None,
    trials: TrialsColumn = None,
    coverage: Annotated[
        float | None, typer.Option(help="Mark this share of the surest items as kept in labels.csv.")
    ] = None,
    dask: DaskAddress = None,
    overwrite: Overwrite = False,
) -> None:
    """Fit MODEL to DATA and write posterior.nc, labels.csv, annotators.csv, summary.csv and run.json to DIR.

    With --dask, labels are Parquet files in a folder, labels. A model of counts reads a table of successes and trials,
    or counts a label of annotations (--positive). A model of several dimensions reads a long table with a label column
    for each (--label A --label B).
    """
    begin = time.perf_counter()
    from bayesanno.analysis.labels import check_coverage
    from bayesanno.cli.for_model import Request, read_for
    from bayesanno.cli.on_dask import fit_on_dask
    from bayesanno.inference.starts import check_initvals
    from bayesanno.modeling.registry import get_model

    chosen = get_model(model, parse_settings(settings))
    sampling: dict[str, Any] = {
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "target_accept": target_accept,
        "nuts_sampler": nuts_sampler,
        "method_options": parse_settings(
            method_option, option="--method-option", form="NAME=VALUE", example="steps=10000"
        ),
    }
    choose_method(method, **sampling)  # refuses what is not possible
    check_initvals(initvals)
    check_seed(seed)
    check_coverage(coverage)
    with new_folder(out, overwrite=overwrite) as folder:
        options = ReadOptions(
            format=format_,
            item=item,
            annotator=annotator,
            label=tuple(label or ()),
            gold=gold,
            gold_file=gold_file,
            controls=controls,
            successes=successes,
            trials=trials,
        )
        sampling |= {"method": method, "random_seed": seed, "initvals": initvals}
        if dask is not None:
            request = Request(model=chosen, source=data, options=options, labels=labels or (), positive=positive)
            run = fit_on_dask(request, dask, folder, coverage=coverage, began=begin, **sampling)
        else:
            answers, described = read_for(chosen, data, options, labels=labels or (), positive=positive)
            typer.echo(f"{chosen.name}: {described}", err=True)
            run = write_fit(_fit(chosen, answers, **sampling), folder, coverage=coverage, began=begin)
    _report(run, out)


def _fit(*arguments: Any, **settings: Any) -> xarray.DataTree:
    from bayesanno.inference.fit import fit as fit_model

    return fit_model(*arguments, progressbar=sys.stderr.isatty(), **settings)


@app.command()
def simulate(
    model: ModelName,
    out: Annotated[Path, typer.Option(metavar="FILE.csv", help="The answers; FILE.json has the true parameters.")],
    items: Annotated[int, typer.Option(help="Number of items.")] = 300,
    annotators: Annotated[int, typer.Option(help="Number of annotators; counts have none.")] = 20,
    per_item: Annotated[
        str, typer.Option(metavar="N|N-M", help="Annotations per item, by different annotators.")
    ] = "5",
    labels: Annotated[
        str, typer.Option(metavar="K|A,B,...", help="Number of labels, or their names; counts have none.")
    ] = "3",
    dimensions: Annotated[
        str, typer.Option(metavar="A,B,...", help="For models of several dimensions: their names.")
    ] = "first,second",
    seed: Seed = None,
    settings: Settings = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw parameters from the prior of MODEL and let it annotate: a CSV (with gold), and the truth as JSON."""
    from bayesanno.cli.for_model import Design, design_for
    from bayesanno.modeling.registry import get_model
    from bayesanno.simulation.simulate import simulate as simulate_model

    chosen = get_model(model, parse_settings(settings))
    beside = out.with_suffix(".json")
    if beside == out:
        raise DataFileError(f"{out} is where the parameters go: give a name in .csv")
    for path in (out, beside):
        if path.exists() and not overwrite:
            raise DataFileError(f"{path} exists: choose another name, or --overwrite")
    check_seed(seed)
    seed = known_seed(seed)
    asked = Design(
        items=items,
        annotators=annotators,
        per_item=parse_range(per_item),
        labels=labels,
        dimensions=dimensions,
        random_seed=seed,
    )
    design = design_for(chosen, asked)
    data, truth = simulate_model(chosen, design, random_seed=seed)
    written = write_simulation(chosen, data, truth, out, seed=seed)
    for path in written:
        typer.echo(path)


@app.command()
def noise(
    data: Annotated[str | None, typer.Argument(metavar="DATA", help=f"{DATA_HELP} Or give the counts.")] = None,
    items: Annotated[int | None, typer.Option(metavar="N", help="Number of items.")] = None,
    disagreements: Annotated[
        int | None, typer.Option(metavar="D", help="Number of items on which annotators disagree.")
    ] = None,
    chance: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Chance that annotators agree on a hard item; estimated from DATA if not given."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the bounds.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    format_: TableFormat = "auto",
    item: ItemColumn = None,
    annotator: AnnotatorColumn = None,
    label: LabelColumn = None,
    labels: LabelNames = None,
    gold: GoldColumn = None,
    gold_file: GoldFile = None,
) -> None:
    """Bound how many of the items that all annotators agree on may be agreed on by chance.

    From DATA, or from --items, --disagreements and --chance.
    """
    from bayesanno.cli.noise import find_noise, format_noise

    options = ReadOptions(
        format=format_,
        item=item,
        annotator=annotator,
        label=() if label is None else (label,),
        labels=parse_labels(labels or ()),
        gold=gold,
        gold_file=gold_file,
    )
    level, left_out = find_noise(data, items, disagreements, chance, confidence=confidence, options=options)
    if left_out:
        typer.echo(f"items with fewer than two annotations, left out: {left_out}", err=True)
    typer.echo(format_noise(level, as_json=as_json))


@app.command()
def modes(
    model: ModelName,
    data: DataSource,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Where to write all modes and their parameters.")
    ] = None,
    settings: Settings = None,
    objective: Annotated[str, typer.Option(help="ml (the likelihood) or map (the posterior density).")] = "ml",
    starts: Annotated[int, typer.Option(help="How many points to start from.")] = 200,
    seed: Seed = None,
    format_: TableFormat = "auto",
    item: ItemColumn = None,
    annotator: AnnotatorColumn = None,
    label: LabelColumns = None,
    labels: LabelNames = None,
    controls: ControlsFile = None,
    positive: PositiveLabel = None,
    successes: SuccessesColumn = None,
    trials: TrialsColumn = None,
    overwrite: Overwrite = False,
) -> None:
    """Find the modes of the likelihood of MODEL given DATA, or of its posterior, and say what they mean."""
    from bayesanno.cli.for_model import read_for
    from bayesanno.cli.modes import format_modes
    from bayesanno.inference.modes import check_search, find_modes
    from bayesanno.io.write import write_table
    from bayesanno.modeling.registry import get_model

    chosen = get_model(model, parse_settings(settings))
    check_search(objective, starts, seed)
    if out is not None and out.exists() and not overwrite:
        raise DataFileError(f"{out} exists: choose another --out, or --overwrite")
    if out is not None and not out.absolute().parent.is_dir():
        raise DataFileError(f"there is no folder {out.absolute().parent} to write {out} into")
    options = ReadOptions(
        format=format_,
        item=item,
        annotator=annotator,
        label=tuple(label or ()),
        controls=controls,
        successes=successes,
        trials=trials,
    )
    answers, described = read_for(chosen, data, options, labels=labels or (), positive=positive)
    typer.echo(f"{chosen.name}: {described}", err=True)
    found = find_modes(
        chosen,
        answers,
        objective=objective,  # type: ignore[arg-type]  # it has been checked
        starts=starts,
        random_seed=seed,
        progressbar=sys.stderr.isatty(),
    )
    typer.echo(format_modes(found))
    if out is not None:
        write_table(found.reset_index(), out)
        typer.echo(out)


app.command()(agreement)
app.command()(sensitivity)
app.command()(compare)


def _report(run: dict[str, Any], out: Path) -> None:
    """Say in a few lines what came out."""
    from bayesanno.inference.found_modes import explain_chains

    for line in describe_result(run):
        typer.echo(line)
    for problem in explain_chains(run["diagnostics"]):
        typer.echo(f"warning: {problem}; in Python, fit = bayesanno.load({str(out)!r})", err=True)
    for name in run["files"]:
        typer.echo(str(out / name))
