"""What `bayesanno fit`, `recalibrate`, `modes` and `report` do: they write the files of a fit, or its page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import bayesanno as ba
from bayesanno._core.lazy import xr
from bayesanno.analysis.grades import check_grades
from bayesanno.analysis.labels import check_coverage
from bayesanno.analysis.recalibrate import check_gold
from bayesanno.analysis.tags import check_tags
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, finish_fit, new_folder, reading_of, show_status, write_fit
from bayesanno.cli.for_model import choose_model, read_for, run_fit
from bayesanno.cli.on_dask import fit_on_dask
from bayesanno.fits.view import FitView, view_of
from bayesanno.inference.methods import choose_method
from bayesanno.inference.sampling.starts import check_initvals
from bayesanno.inference.settings import NUTSSettings
from bayesanno.io.beside import OF_FILES, read_known
from bayesanno.io.names import write_command
from bayesanno.modeling.arguments import require_latents

DASK_HELP = (
    "Read DATA, a folder of Parquet files, on a Dask cluster: local (this machine's cores), or the address of a "
    f"scheduler, as tcp://10.0.0.1:8786 ({opt.ON_DASK}; needs the extra bayesanno[dask])."
)


@opt.command(ba.fit, intervals=True)
def fit(
    model: opt.ModelName,
    data: opt.DataSource,
    out: opt.OutFolder,
    *,
    settings: opt.Settings = None,
    arguments: opt.Fitting,
    reading: opt.ReadingForModel,
    coverage: opt.Coverage = None,
    grades: Annotated[bool, opt.flag("--grades", "Write grades.csv: the labels are grades, in order.")] = False,
    bio: Annotated[
        bool, opt.flag("--bio", "Write tags.csv: items are tokens, such as text/3, and labels BIO tags.")
    ] = False,
    dask: Annotated[opt.Text, opt.value("local|ADDRESS", DASK_HELP)] = None,
    recalibrate: Annotated[
        opt.File, opt.value("FILE", "True labels of some items (item,gold), to recalibrate the label probabilities.")
    ] = None,
    adjust: opt.Adjust = True,
    report: opt.Report = True,
    overwrite: opt.Overwrite = False,
) -> None:
    """Fit MODEL to DATA and write the results to a folder.

    The files are posterior.nc, labels.csv, annotators.csv, summary.csv, run.json and report.html. Probabilities of
    labels are adjusted by the check of the fit; the columns model_probability and model_p[...] have those of the model
    alone. Models of difficulty add difficulty.csv. Models of grades, and --grades, add grades.csv (labels are ordered
    as in --labels, as numbers, or as words of a known scale). --bio adds tags.csv, and --recalibrate recalibration.csv.
    With --dask, labels are Parquet files in the folder labels. A model of counts reads a table of successes and trials,
    or counts one label of annotations (--positive). A model of several dimensions reads a long table with a label
    column for each (--label A --label B).
    """
    begin = time.perf_counter()
    options, source = opt.gather_options(**reading), opt.one_source(data)
    chosen = choose_model(model, opt.parse_settings(settings), source, options)
    further = opt.parse_settings(
        arguments["method_options"], option="--method-option", form="NAME=VALUE", example="steps=10000"
    )
    asked: dict[str, Any] = {**arguments, "method_options": further}
    of_method = {name: asked[name] for name in asked if name in ("method_options", *NUTSSettings.default_fields())}
    choose_method(asked["method"], **of_method)  # refuses what is not possible
    check_initvals(asked["initvals"])
    check_coverage(coverage)
    with new_folder(out, overwrite=overwrite) as folder:
        if dask is not None:
            of_items = {"--coverage": coverage, "--grades": grades, "--bio": bio, "--recalibrate": recalibrate}
            fitted, written = fit_on_dask(chosen, source, options, dask, folder, of_items, adjust=adjust, **asked)
        else:
            answers, described = read_for(chosen, source, options)
            typer.echo(f"{chosen.name}: {described}", err=True)
            known = None if recalibrate is None else read_gold(chosen, answers, recalibrate, options)
            if coverage is not None and not {one.kind for one in chosen.latents(answers)} & {"labels", "types"}:
                require_latents(chosen, answers, "labels", "--coverage")
            if grades:
                check_grades(chosen, answers)
            if bio:
                check_tags(chosen, answers)
            fitted, written = run_fit(chosen, answers, adjust=adjust, **asked), None
            if known is not None:
                fitted = ba.recalibrate(fitted, known)
        typed = write_command(source, options.describe()).removeprefix("bayesanno read ")
        view = view_of(fitted)
        run = write_fit(
            view,
            folder,
            coverage=coverage,
            labels=written,
            grades=grades,
            bio=bio,
            began=begin,
            reading=options.describe(),
        )
    finish_fit(view, run, out, report=report, data=typed)


def read_gold(model: ba.AnnotationModel, data: Any, path: Path, options: Mapping[str, Any]) -> Any:
    """Read the true labels for a recalibration as the data were read, before anything takes long."""
    one_table = isinstance(data, ba.AnnotationData)
    gold = read_known(path, ("gold", "label"), data.items, data.classes, options) if one_table else path
    known = check_gold(model, data, gold)
    return known.get("", known)


def write_changed(
    folder: Path,
    change: Callable[[FitView], xr.DataTree],
    out: Path,
    what: str,
    *,
    coverage: float | None = None,
    report: bool = True,
    overwrite: bool = False,
) -> None:
    """Load a fit, change it, and write the files of the result."""
    begin = time.perf_counter()
    check_coverage(coverage)
    with new_folder(out, overwrite=overwrite) as unfinished:
        fit = ba.load(folder)
        with show_status(what):
            view = view_of(change(view_of(fit)))
        run = write_fit(view, unfinished, coverage=coverage, began=begin, reading=reading_of(folder))
    finish_fit(view, run, out, report=report)


@opt.command(write_changed, intervals=True)
def recalibrate(
    folder: opt.FitFolder,
    out: opt.OutFolder,
    gold: Annotated[
        opt.File, opt.value("FILE", "True labels of some items (item,gold); by default those of the fit's own data.")
    ] = None,
    *,
    writing: opt.Writing,
) -> None:
    """Correct the label probabilities of a fit by true labels.

    A temperature and a shift for each label are learnt from the true labels of a few items (recalibration.csv). All
    results for labels are computed again and written to --out. Parameters and annotators stay as they are.
    """

    def change(before: FitView) -> xr.DataTree:
        options = {name: value for name, value in reading_of(folder).items() if name in OF_FILES}
        known = None if gold is None else read_gold(before.model, before.named_data, gold, options)
        return ba.recalibrate(before, known)

    write_changed(folder, change, out, "recalibrating", **writing)


@opt.command(ba.combine_modes, write_changed, intervals=True)
def modes(
    folder: opt.FitFolder,
    out: opt.OutFolder,
    drop_chains: Annotated[
        opt.Text, opt.value("N,N,...", "Leave these chains out, by their numbers, instead of weighing modes.")
    ] = None,
    *,
    random_seed: opt.Seed,
    writing: opt.Writing,
) -> None:
    """Weigh the modes of a fit, or leave chains out.

    Each mode that chains are in gets its share of the posterior. All results are computed again and written to --out.
    """
    numbers = None if drop_chains is None else parse_chains(drop_chains)

    def change(before: FitView) -> xr.DataTree:
        if numbers is None:
            return ba.combine_modes(before, random_seed=random_seed)
        return ba.drop_chains(before, numbers)

    write_changed(folder, change, out, "weighing modes", **writing)


def parse_chains(text: str) -> list[int]:
    """Return the numbers of chains in a comma-separated list."""
    numbers = opt.split_names(text)
    if not all(number.isdecimal() for number in numbers):
        raise ba.FitError(f"--drop-chains {text}: give the numbers of chains, as in --drop-chains 2,3")
    return [int(number) for number in numbers]


@opt.command(ba.write_report, intervals=True)
def report(
    folder: opt.FitFolder,
    random_seed: opt.Seed,
    checks: Annotated[
        bool,
        opt.flag("--checks/--no-checks", "Also run predictive checks and power-scaling, and simulate further answers."),
    ],
    out: Annotated[opt.File, opt.value("FILE.html", "Where to write it; by default DIR/report.html.")] = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Write the report of a fit as one HTML page."""
    path = folder / "report.html" if out is None else out
    check_out(out, overwrite=overwrite)
    if not path.absolute().parent.is_dir():
        raise ba.errors.DataFileError(f"there is no fit at {folder}: name a folder that `bayesanno fit` wrote")
    fit = ba.load(folder)
    with show_status("writing the report"):
        ba.write_report(fit, path, checks=checks, random_seed=random_seed)
    typer.echo(path)
