"""What `bayesanno fit` does: from data and options to the files of a fit."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

import bayesanno as ba
from bayesanno.analysis.grades import check_grades
from bayesanno.analysis.labels import check_coverage
from bayesanno.analysis.recalibrate import check_gold
from bayesanno.analysis.tags import check_tags
from bayesanno.cli import options as opt
from bayesanno.cli.files import finish_fit, new_folder, write_fit
from bayesanno.cli.for_model import read_for
from bayesanno.cli.models import choose_model
from bayesanno.cli.on_dask import fit_on_dask
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import as_line
from bayesanno.inference.diagnosis.explain_modes import explain_chains
from bayesanno.inference.methods import METHODS, NUTSSettings, choose_method
from bayesanno.inference.sampling.starts import check_initvals

OPTIONS = "; ".join(
    f"of {name} " + ", ".join(f"{option}={value}" for option, value in method.options.items())
    for name, method in METHODS.items()
    if method.options
)
ON_DASK = " and ".join(name for name, method in METHODS.items() if not method.needs_graph)


@opt.reads_data()
def fit(
    model: opt.ModelName,
    data: opt.DataSource,
    out: opt.OutFolder,
    settings: opt.Settings = None,
    formula: opt.ClassPriorFormula = None,
    classifier: opt.ClassifierColumns = None,
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.")] = "nuts",
    draws: opt.Draws = NUTSSettings.draws,
    tune: opt.Tune = NUTSSettings.tune,
    chains: opt.Chains = NUTSSettings.chains,
    target_accept: Annotated[float, typer.Option(help="Target acceptance rate of NUTS.")] = NUTSSettings.target_accept,
    nuts_sampler: Annotated[str, typer.Option(help="nutpie, pymc, numpyro or blackjax.")] = NUTSSettings.nuts_sampler,
    initvals: Annotated[
        str, typer.Option(help="Where chains start: auto (the modes that carry mass), vote, prior or em.")
    ] = "auto",
    method_option: Annotated[
        list[str] | None, opt.value("NAME=VALUE", f"A further option of the method: {OPTIONS}.")
    ] = None,
    seed: opt.Seed = None,
    *,
    options: opt.DataOptions,
    coverage: opt.Coverage = None,
    grades: Annotated[
        bool, typer.Option("--grades", help="Write grades.csv: the labels are grades, in order.")
    ] = False,
    bio: Annotated[
        bool, typer.Option("--bio", help="Write tags.csv: items are tokens, such as text/3, and labels BIO tags.")
    ] = False,
    dask: Annotated[
        str | None,
        opt.value(
            "local|ADDRESS",
            "Read DATA, a folder of Parquet files, on a Dask cluster: local (this machine's cores), or the "
            f"address of a scheduler, as tcp://10.0.0.1:8786 ({ON_DASK}; needs the extra bayesanno[dask]).",
        ),
    ] = None,
    recalibrate: Annotated[
        Path | None,
        opt.value("FILE", "True labels of some items (item,gold), to recalibrate the probabilities of labels."),
    ] = None,
    adjust: Annotated[
        bool,
        typer.Option(
            "--adjust/--no-adjust",
            help="Adjust the probabilities of labels where the fit finds that errors of annotators are correlated.",
        ),
    ] = True,
    report: opt.Report = True,
    overwrite: opt.Overwrite = False,
) -> None:
    """Fit MODEL to DATA and write the results to a folder.

    The files are posterior.nc, labels.csv, annotators.csv, summary.csv, run.json and report.html. Models of difficulty
    add difficulty.csv; models of grades, and --grades, add grades.csv (labels are ordered as in --labels, or as
    numbers); --bio adds tags.csv, and --recalibrate recalibration.csv. With --dask, labels are Parquet files in the
    folder labels. A model of counts reads a table of successes and trials, or counts one label of annotations
    (--positive). A model of several dimensions reads a long table with a label column for each (--label A --label B).
    """
    begin = time.perf_counter()
    chosen = choose_model(model, opt.parse_settings(settings), data, options, formula, classifier)
    sampling: dict[str, Any] = {
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "target_accept": target_accept,
        "nuts_sampler": nuts_sampler,
        "method_options": opt.parse_settings(
            method_option, option="--method-option", form="NAME=VALUE", example="steps=10000"
        ),
    }
    choose_method(method, **sampling)  # refuses what is not possible
    check_initvals(initvals)
    check_coverage(coverage)
    with new_folder(out, overwrite=overwrite) as folder:
        sampling |= {"method": method, "random_seed": seed, "initvals": initvals, "adjust": adjust}
        if dask is not None:
            of_items: dict[str, Any] = {"--class-prior": formula, "--classifier": classifier}
            of_items |= {"--coverage": coverage, "--grades": grades, "--bio": bio, "--recalibrate": recalibrate}
            fitted, written = fit_on_dask(chosen, data, options, dask, folder, of_items, **sampling)
        else:
            answers, described = read_for(chosen, data, options)
            typer.echo(f"{chosen.name}: {described}", err=True)
            known = None if recalibrate is None else check_gold(chosen, answers, recalibrate)
            if grades:
                check_grades(chosen, answers)
            if bio:
                check_tags(chosen, answers)
            fitted, written = ba.fit(chosen, answers, progressbar=sys.stderr.isatty(), **sampling), None
            if known is not None:
                fitted = ba.recalibrate(fitted, known)
        view = view_of(fitted)
        run = write_fit(view, folder, coverage=coverage, labels=written, grades=grades, bio=bio, began=begin)
    for problem in explain_chains(run["diagnostics"]):
        typer.echo(f"warning: {as_line(problem)}; in Python, fit = bayesanno.load({str(out)!r})", err=True)
    finish_fit(view, run, out, report=report)
