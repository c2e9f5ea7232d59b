"""What `bayesanno compare` does: it fits models to the same data with the same settings, and compares them.

The invariant: errors in options, models and data are found before anything is sampled.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import bayesanno as ba
from bayesanno.cli import options as opt
from bayesanno.cli.files import describe_data, new_folder, print_result, write_results
from bayesanno.cli.for_model import read_for
from bayesanno.cli.models import choose_model
from bayesanno.criticism.predictive import LEAST_REPLICATES
from bayesanno.fits.storage import MAX_GROUP_BYTES
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import DataError, FitError
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import check_at_least, known_seed
from bayesanno.inference.climbing.climb import require_updates
from bayesanno.inference.methods import METHODS, NUTSSettings, choose_method
from bayesanno.modeling.base import AnnotationModel

WITH_DRAWS = opt.name_one_of([name for name, method in METHODS.items() if method.yields != "point"])
SMALL = 0.05  # p-values below this are reported


@opt.reads_data()
def compare(
    data: opt.DataSource,
    model: Annotated[list[str], opt.value("MODEL[,FIELD=VALUE...]", "A model, with fields to set; give two or more.")],
    out: opt.OutFolder,
    formula: opt.ClassPriorFormula = None,
    classifier: opt.ClassifierColumns = None,
    method: Annotated[str, typer.Option(help=f"{WITH_DRAWS}.")] = "nuts",
    draws: opt.Draws = NUTSSettings.draws,
    tune: opt.Tune = NUTSSettings.tune,
    chains: opt.Chains = NUTSSettings.chains,
    replicates: Annotated[int, typer.Option(help="Number of simulated data sets for each predictive check.")] = 500,
    seed: opt.Seed = None,
    *,
    options: opt.DataOptions,
    overwrite: opt.Overwrite = False,
) -> None:
    """Fit several models to DATA and compare them.

    The files are loo.csv, ppc.csv, run.json, figures and, with gold, calibration.csv.
    """
    begin, show = time.perf_counter(), sys.stderr.isatty()
    models = parse_models(model, data, options, formula, classifier)
    sampling: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains}
    check_method(method, models, sampling)
    check_at_least("replicates", replicates, LEAST_REPLICATES)
    with new_folder(out, overwrite=overwrite) as folder:
        answers, described = read_for_all(models, data, options)
        check_size(answers.n_items, draws * chains)
        typer.echo(described, err=True)
        seed = known_seed(seed)
        fits = {}
        for spec, one in models.items():
            typer.echo(f"fitting {spec}", err=True)
            fits[spec] = ba.fit(one, answers, method=method, random_seed=seed, progressbar=show, **sampling)
        tables, files = write_comparison(fits, folder, replicates=replicates, seed=seed, began=begin)
    print_result(describe_comparison(tables), out, sorted(files))


def parse_models(
    specs: list[str], source: str, options: opt.DataOptions, formula: str | None = None, classifier: str | None = None
) -> dict[str, AnnotationModel]:
    """Return the models that --model names, by what was given, all with the class prior that options of items say.

    Raises
    ------
    ModelError
        If a model or a field is unknown, a value is out of its range, or an equals sign is missing.
    FitError
        If there are fewer than two, or two are the same.
    """
    models: dict[str, AnnotationModel] = {}
    for spec in specs:
        name, *settings = (part.strip() for part in spec.split(","))
        fields = opt.parse_settings(settings, option="--model", example="mace,strategy_prior=3")
        found = choose_model(name, fields, source, options, formula, classifier)
        same = next((other for other, known in models.items() if known == found), None)
        if same is not None:
            raise FitError(f"--model {spec} is the same as --model {same}: leave one of them out")
        models[spec] = found
    if len(models) < 2:
        raise FitError(f"--model is given {len(specs)} time: give two models or more to compare")
    return models


def check_method(method: str, models: dict[str, AnnotationModel], sampling: dict[str, Any]) -> None:
    """Raise a FitError unless a method exists, fits all these models, and gives draws to compare them by."""
    chosen, _ = choose_method(method, **sampling)
    if chosen.yields == "point":
        raise FitError(f"--method {method} gives one point, and models are compared by draws: take {WITH_DRAWS}")
    if not chosen.needs_graph:
        for found in models.values():
            require_updates(found, method)


def read_for_all(models: dict[str, AnnotationModel], source: str, options: opt.DataOptions) -> tuple[Any, str]:
    """Read the data that all models take, and describe them in one line.

    Raises
    ------
    DataFileError, DataError
        As for the readers; if a model takes other data than the first; if a model cannot take them.
    """
    read: dict[Any, tuple[Any, str]] = {}
    for spec, model in models.items():
        kind = (model.data_class, model.two_labels)
        if kind not in read:
            read[kind] = read_for(model, source, options)
        own, (answers, described) = read[kind][0], next(iter(read.values()))
        if own.hash != answers.hash:
            raise DataError(
                f"--model {spec} takes other data than --model {next(iter(models))} ({own.describe()}, not "
                f"{described}): compare models of the same data"
            )
        model.check(own)
    return answers, described


def check_size(n_items: int, n_draws: int) -> None:
    """Raise a FitError if the log-likelihoods of so many draws would be left out of a fit for their size."""
    most = MAX_GROUP_BYTES // (8 * n_items)
    if n_draws > most:
        raise FitError(
            f"the log-likelihoods of {n_items:,} items in {n_draws:,} draws would take more than "
            f"{MAX_GROUP_BYTES / 2**30:.0f} GiB for each model: take {most:,} draws or fewer, over all chains"
        )


def write_comparison(
    fits: dict[str, xr.DataTree], folder: Path, *, replicates: int, seed: int, began: float
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Write the files of a comparison to a folder; return its tables by their names, and the names of all files."""
    views = {spec: view_of(fit) for spec, fit in fits.items()}
    first = next(iter(views.values()))
    tables, drawn = {"loo.csv": ba.compare(views, random_seed=seed)}, {}
    checks = {spec: ba.predictive_check(view, replicates=replicates, random_seed=seed) for spec, view in views.items()}
    tables["ppc.csv"] = _concat({spec: check.table for spec, check in checks.items()})
    if "n_gold" in tables["loo.csv"]:
        scored = tables["loo.csv"].set_index("name")["n_gold"]
        of_labels = {spec: view for spec, view in views.items() if scored[spec] > 0}  # those of types have none
        tables["calibration.csv"] = _concat({spec: ba.calibration_table(view) for spec, view in of_labels.items()})
        drawn["calibration.png"] = ba.plot_calibration(of_labels)
    figures = {spec: f"ppc_{number}_{view.model.name}.png" for number, (spec, view) in enumerate(views.items(), 1)}
    drawn |= {figures[spec]: ba.plot_predictive_check(check) for spec, check in checks.items()}
    attrs = first.tree.attrs
    run = {
        "command": "compare",
        "models": {
            spec: {
                "model": view.model.name,
                "fields": view.model.to_fields(),
                "figure": figures[spec],
                "diagnostics": view.diagnostics,
            }
            for spec, view in views.items()
        },
        "method": attrs["method"],
        "settings": json.loads(attrs["settings"]),
        "replicates": replicates,
        "seed": seed,
        "versions": json.loads(attrs["versions"]),
        "data": describe_data(first.data) | {"hash": attrs["data_hash"]},
        "seconds": {"total": time.perf_counter() - began},
    }
    return tables, write_results(folder, tables, drawn, run)


def _concat(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return tables as one, with a first column that names the model of each row."""
    return pd.concat([table.assign(name=spec)[["name", *table]] for spec, table in tables.items()], ignore_index=True)


def describe_comparison(tables: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Return a comparison in words: a line for each model, and the statistics that it does not predict."""
    loo, ppc = tables["loo.csv"], tables["ppc.csv"]
    width = max(4, *map(len, loo["name"]))
    header = f"{'model':<{width}} {'elpd_loo':>10} {'elpd_diff':>10} {'se_diff':>8} {'weight':>6} {'k > 0.7':>7}"
    scored = "accuracy" in loo
    yield header + ("  accuracy  log_score" if scored else "")
    for row in loo.to_dict("records"):
        line = f"{row['name']:<{width}} {row['elpd_loo']:>10.1f} {row['elpd_diff']:>10.1f} {row['se_diff']:>8.1f} "
        line += f"{row['weight']:>6.2f} {row['n_high_pareto_k']:>7}"
        known = scored and row["accuracy"] == row["accuracy"]
        yield line + (f"  {row['accuracy']:>8.4f}  {row['log_score']:>9.4f}" if known else "")
    whole = ppc[ppc["of"] == ""]
    of = [f" of {name}" for name in whole["dimension"]] if "dimension" in whole else ""
    whole = whole.assign(said=whole["statistic"] + of + whole["p"].map(" (p = {:.3f})".format))
    for name in loo["name"]:
        low = whole[(whole["name"] == name) & (whole["p"] < SMALL)].sort_values("p", kind="stable")["said"]
        yield f"{name} does not predict {', '.join(low)}" if len(low) else f"{name} predicts all statistics"
