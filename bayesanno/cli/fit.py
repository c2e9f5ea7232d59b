"""What `bayesanno fit` does: data and options to the files of a fit."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesanno.cli.files import describe_result, new_folder, write_fit
from bayesanno.cli.options import (
    SAMPLING,
    AnnotatorColumn,
    Chains,
    ControlsFile,
    DaskAddress,
    DataSource,
    Draws,
    DropUnsure,
    GoldColumn,
    GoldFile,
    ItemColumn,
    LabelColumns,
    LabelNames,
    ModelName,
    Overwrite,
    PositiveLabel,
    Seed,
    Settings,
    SuccessesColumn,
    TableFormat,
    TargetAccept,
    TrialsColumn,
    Tune,
    UnsureLabels,
    parse_settings,
)
from bayesanno.ground.validate import check_seed
from bayesanno.inference.methods import METHODS, choose_method
from bayesanno.inference.sampling.nuts import NUTSSettings
from bayesanno.io.read_options import ReadOptions

if TYPE_CHECKING:
    import xarray

OPTIONS = "; ".join(
    f"of {name} " + ", ".join(f"{option}={value}" for option, value in method.options.items())
    for name, method in METHODS.items()
    if method.options
)


def fit(
    model: ModelName,
    data: DataSource,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write; it must not exist yet.")],
    settings: Settings = None,
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.", rich_help_panel=SAMPLING)] = "nuts",
    draws: Draws = NUTSSettings.draws,
    tune: Tune = NUTSSettings.tune,
    chains: Chains = NUTSSettings.chains,
    target_accept: TargetAccept = NUTSSettings.target_accept,
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
    unsure: UnsureLabels = None,
    drop_unsure: DropUnsure = False,
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
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html as well.")] = True,
    overwrite: Overwrite = False,
) -> None:
    """Fit MODEL to DATA; write posterior.nc, labels.csv, annotators.csv, summary.csv, run.json and report.html to DIR.

    A model of items of unequal difficulty writes difficulty.csv as well. With --dask, labels are Parquet files in a
    folder, labels. A model of counts reads a table of successes and trials, or counts a label of annotations
    (--positive). A model of several dimensions reads a long table with a label column for each (--label A --label B).
    """
    begin = time.perf_counter()
    from bayesanno.analysis.labels import check_coverage
    from bayesanno.cli.for_model import Request, read_for
    from bayesanno.cli.on_dask import fit_on_dask
    from bayesanno.fits.view import view_of
    from bayesanno.inference.sampling.starts import check_initvals
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
            unsure=tuple(unsure or ()),
            drop_unsure=drop_unsure,
            gold=gold,
            gold_file=gold_file,
            controls=controls,
            successes=successes,
            trials=trials,
        )
        sampling |= {"method": method, "random_seed": seed, "initvals": initvals}
        if dask is not None:
            request = Request(model=chosen, source=data, options=options, labels=labels or (), positive=positive)
            fitted, written = fit_on_dask(request, dask, folder, coverage=coverage, **sampling)
        else:
            answers, described = read_for(chosen, data, options, labels=labels or (), positive=positive)
            typer.echo(f"{chosen.name}: {described}", err=True)
            fitted, written = _fit(chosen, answers, **sampling), None
        view = view_of(fitted)
        run = write_fit(view, folder, coverage=coverage, labels=written, began=begin)
    _tell(run, out)
    if report:  # the fit is safe by now, whatever becomes of its pictures
        from bayesanno.report.page import write_report

        typer.echo(write_report(view, out / "report.html", checks=False))


def _fit(*arguments: Any, **settings: Any) -> xarray.DataTree:
    from bayesanno.inference.fit import fit as fit_model

    return fit_model(*arguments, progressbar=sys.stderr.isatty(), **settings)


def _tell(run: dict[str, Any], out: Path) -> None:
    """Say in a few lines what came out."""
    from bayesanno.inference.modes.found_modes import explain_chains

    for line in describe_result(run):
        typer.echo(line)
    for problem in explain_chains(run["diagnostics"]):
        typer.echo(f"warning: {problem}; in Python, fit = bayesanno.load({str(out)!r})", err=True)
    for name in run["files"]:
        typer.echo(str(out / name))
