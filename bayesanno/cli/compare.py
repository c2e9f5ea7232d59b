"""What `bayesanno compare` and `sensitivity` do: they fit several models, or priors of one, to the same data.

The invariant: errors in options, models and data are found before anything is sampled.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import bayesanno as ba
from bayesanno._core.fields import as_typed
from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import counted, enumerated
from bayesanno._core.validate import check_at_least, known_seed
from bayesanno.cli import options as opt
from bayesanno.cli.files import describe_study, new_folder, print_findings, print_result, show_table, write_results
from bayesanno.cli.for_model import choose_model, read_for, run_fit
from bayesanno.criticism.predictive import LEAST_REPLICATES
from bayesanno.criticism.sensitivity import lay_out_grid, require_labels
from bayesanno.fits.storage import MAX_GROUP_BYTES
from bayesanno.fits.view import view_of
from bayesanno.inference.diagnosis.findings import read_findings
from bayesanno.inference.em_vb.fixed_point import require_updates
from bayesanno.inference.methods import METHODS, choose_method

WITH_DRAWS = opt.name_one_of([name for name, method in METHODS.items() if method.yields != "point"])
SMALL = 0.05  # p-values below this are reported
SHOWN = ("name", "elpd_loo", "elpd_diff", "se_diff", "weight", "n_high_pareto_k", "accuracy", "log_score")
CLEAR = 4  # nats: smaller differences of elpd are uncertain, also in their standard errors (Sivula et al. 2020)
MOST_SHOWN = 5  # rows of a table on the screen


@opt.command(ba.fit, ba.predictive_check, intervals=True)
def compare(
    data: opt.DataSource,
    model: Annotated[list[str], opt.value("MODEL[,FIELD=VALUE...]", "A model, with fields to set; give two or more.")],
    out: opt.OutFolder,
    method: opt.Method,
    replicates: Annotated[int, opt.value("N", "Number of simulated data sets for each predictive check.")],
    sampling: opt.Sampling,
    random_seed: opt.Seed,
    reading: opt.ReadingForModel,
    overwrite: opt.Overwrite = False,
) -> None:
    """Fit several models to DATA and compare them.

    The files are loo.csv, ppc.csv, run.json and, with gold, calibration.csv and its figure. Labels are adjusted by the
    check of each fit, as by `bayesanno fit`.
    """
    begin = time.perf_counter()
    options, seed, source = opt.gather_options(**reading), known_seed(random_seed), opt.one_source(data)
    models = parse_models(model, source, options)
    check_method(method, models, sampling)
    check_at_least("replicates", replicates, LEAST_REPLICATES)
    with new_folder(out, overwrite=overwrite) as folder:
        answers, described = read_for_all(models, source, options)
        check_size(answers.n_items, sampling["draws"] * sampling["chains"])
        typer.echo(described, err=True)
        fits = {}
        for spec, one in models.items():
            typer.echo(f"fitting {spec}", err=True)
            fits[spec] = run_fit(one, answers, adjust=True, method=method, random_seed=seed, **sampling)
            print_findings(read_findings(view_of(fits[spec])), "see run.json")
        tables, files = write_comparison(fits, folder, replicates=replicates, seed=seed, began=begin)
    print_result(describe_comparison(tables), out, sorted(files))


def parse_models(specs: list[str], source: Any, options: opt.DataOptions) -> dict[str, ba.AnnotationModel]:
    """Return the models that --model names, by what was given, all with the class prior that options of items say.

    Raises
    ------
    ModelError
        If a model or a field is unknown, a value is out of its range, or an equals sign is missing.
    FitError
        If there are fewer than two, or two are the same.
    """
    models: dict[str, ba.AnnotationModel] = {}
    for spec in specs:
        name, *settings = (part.strip() for part in spec.split(","))
        fields = opt.parse_settings(settings, option="--model", example="mace,strategy_prior=3")
        found = choose_model(name, fields, source, options)
        same = next((other for other, known in models.items() if known == found), None)
        if same is not None:
            raise ba.FitError(f"--model {spec} is the same as --model {same}: leave one of them out")
        models[spec] = found
    if len(models) < 2:
        raise ba.FitError(f"--model is given {len(specs)} time: give two models or more to compare")
    return models


def check_method(method: str, models: dict[str, ba.AnnotationModel], sampling: opt.Sampling) -> None:
    """Raise a FitError unless a method exists, fits all these models, and gives draws to compare them by."""
    chosen, _ = choose_method(method, **sampling)
    if chosen.yields == "point":
        raise ba.FitError(f"--method {method} gives one point, and models are compared by draws: take {WITH_DRAWS}")
    if not chosen.needs_graph:
        for found in models.values():
            require_updates(found, method)


def read_for_all(models: dict[str, ba.AnnotationModel], source: Any, options: opt.DataOptions) -> tuple[Any, str]:
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
            raise ba.DataError(
                f"--model {spec} takes other data than --model {next(iter(models))} ({own.describe()}, not "
                f"{described}): compare models of the same data"
            )
        model.check(own)
    return answers, described


def check_size(n_items: int, n_draws: int) -> None:
    """Raise a FitError if the log-likelihoods of so many draws would be left out of a fit for their size."""
    most = MAX_GROUP_BYTES // (8 * n_items)
    if n_draws > most:
        raise ba.FitError(
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
    chosen: dict[str, Any] = {"replicates": replicates, "random_seed": seed}
    tables["ppc.csv"] = _concat({spec: ba.predictive_check(view, **chosen).table for spec, view in views.items()})
    if "n_gold" in tables["loo.csv"]:
        scored = tables["loo.csv"].set_index("name")["n_gold"]
        of_labels = {spec: view for spec, view in views.items() if scored[spec] > 0}  # those of types have none
        tables["calibration.csv"] = _concat({spec: ba.calibration_table(view) for spec, view in of_labels.items()})
        drawn["calibration.png"] = ba.plot_calibration(of_labels)
    attrs = first.tree.attrs
    asked = {name: json.loads(attrs[name]) for name in ("settings", "versions")}
    asked |= {"method": attrs["method"], "replicates": replicates, "seed": seed}
    asked["models"] = {
        spec: {
            "model": view.model.name,
            "fields": view.model.to_fields(),
            "diagnostics": view.diagnostics,
            "findings": [one.to_record() for one in read_findings(view)],
        }
        for spec, view in views.items()
    }
    run = describe_study("compare", first.data, began, **asked)
    return tables, write_results(folder, tables, drawn, run)


def _concat(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return tables as one, with a first column that names the model of each row."""
    return pd.concat([table.assign(name=spec)[["name", *table]] for spec, table in tables.items()], ignore_index=True)


def describe_comparison(tables: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Return a comparison: a row for each model, and the statistics that it does not predict."""
    loo, ppc = tables["loo.csv"], tables["ppc.csv"]
    yield show_table(loo[[name for name in SHOWN if name in loo]])
    yield from _describe_difference(loo)
    whole = ppc[ppc["level"] == "total"]
    of = [f" of {name}" for name in whole["dimension"]] if "dimension" in whole else ""
    whole = whole.assign(said=whole["statistic"] + of + whole["p"].map(" (p = {:.2g})".format))
    for name in loo["name"]:
        low = whole[(whole["name"] == name) & (whole["p"] < SMALL)].sort_values("p", kind="stable")["said"]
        yield f"{name} does not predict {', '.join(low)}" if len(low) else f"{name} predicts all statistics"


def _describe_difference(loo: pd.DataFrame) -> Iterator[str]:
    """Return which models predict about as well as the best: a smaller difference is no reason to choose."""
    if "elpd_diff" not in loo:
        return
    best, others = loo["name"].iloc[0], loo.iloc[1:]
    is_close = others["elpd_diff"].abs() < np.maximum(CLEAR, 2 * others["se_diff"])
    names = others["name"][is_close].tolist()
    if names:
        yield (
            f"{best} predicts best, but not clearly better than {enumerated(names)}: the difference is below "
            f"{CLEAR} or two standard errors"
        )
    else:
        yield f"{best} predicts best: all others are worse by more than {CLEAR} and two standard errors"


@opt.command(ba.fit, intervals=True)
def sensitivity(
    model: opt.ModelName,
    data: opt.DataSource,
    out: opt.OutFolder,
    *,
    grid: Annotated[
        opt.Texts, opt.value("FIELD=V1,V2,...", "Fit again with these values, in all combinations; tuples are 0.5:0.5.")
    ] = None,
    settings: opt.Settings = None,
    sampling: opt.Sampling,
    random_seed: opt.Seed,
    reading: opt.ReadingForModel,
    workers: Annotated[int, opt.value("N", "Fits in parallel; 0 for as many as there are cores.", min=0)] = 0,
    resume: Annotated[
        opt.File, opt.value("DIR", "Keep finished fits here, and continue from them (with --seed).")
    ] = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Study how the prior of MODEL affects its fit to DATA.

    The files describe the prior, how much the fit depends on it, and what other priors change. The labels compared are
    those of the posteriors, not adjusted.
    """
    began, show = time.perf_counter(), sys.stderr.isatty()
    options, drawn, source = opt.gather_options(**reading), known_seed(random_seed), opt.one_source(data)
    chosen = choose_model(model, opt.parse_settings(settings), source, options)
    values = parse_grid(grid or ())
    choose_method("nuts", **sampling)
    if resume is not None and random_seed is None:
        raise ba.ModelError("--resume goes on with a study of a known seed: give --seed as well")
    if resume is not None and resume.is_file():
        raise ba.errors.DataFileError(f"--resume {resume} is a file: name a folder")
    with new_folder(out, overwrite=overwrite) as folder:
        answers, described = read_for(chosen, source, options)
        require_labels(chosen, answers)
        rows = lay_out_grid(chosen, values, answers, drawn, sampling) if values else []
        typer.echo(f"{chosen.name}: {described}", err=True)
        before = ba.describe_prior(
            name_priors(chosen, {row.name: row.model for row in rows}), answers, random_seed=drawn
        )
        fitted = run_fit(chosen, answers, adjust=False, random_seed=drawn, **sampling)
        tables = {"prior.csv": before.table}
        tables |= {
            "powerscale.csv": ba.power_scaling_table(fitted),
            "labels.csv": ba.criticism.label_power_scaling(fitted),
        }
        figures = {
            "prior.png": ba.plot_prior(before),
            "labels.png": ba.report.plot_label_power_scaling(tables["labels.csv"]),
        }
        if values:
            many = workers or os.cpu_count() or 1
            study = ba.sensitivity(
                chosen, answers, values, random_seed=drawn, folder=resume, workers=many, progressbar=show, **sampling
            )
            tables |= {"grid.csv": study.table, "flips.csv": study.flips, "annotators.csv": study.annotators}
            figures["priors.png"] = ba.plot_priors(study)
        asked = {"model": chosen.name, "fields": chosen.to_fields(), "settings": sampling, "seed": drawn}
        asked["grid"] = {field: list(tried) for field, tried in values.items()}
        run = describe_study("sensitivity", answers, began, **asked)
        files = write_results(folder, tables, figures, run)
    lines = [*_describe_before(before.table), *_describe_scaling(tables["powerscale.csv"], tables["labels.csv"])]
    print_result([*lines, *(_describe_study(study) if values else [])], out, files)


def parse_grid(given: Sequence[str]) -> dict[str, list[str]]:
    """Return what --grid was given: the values of each field, as text."""
    parsed = opt.parse_settings(given, option="--grid", form="FIELD=V1,V2,...", example="strategy_prior=1,10,100")
    values = {field: [value.strip() for value in text.split(",")] for field, text in parsed.items()}
    for field, tried in values.items():
        if "" in tried:
            raise ba.ModelError(f"--grid {field}={','.join(tried)} has an empty value: write --grid {field}=V1,V2,...")
    return values


def name_priors(model: ba.AnnotationModel, study: Mapping[str, ba.AnnotationModel]) -> dict[str, ba.AnnotationModel]:
    """Return the model and those of a study by their names; one that takes parameters from data is replaced."""
    found: dict[str, ba.AnnotationModel] = {}
    for name, one in {model.name: model, **study}.items():
        own = one.without_data()
        if own in found.values():
            continue
        given = one.to_fields()
        changed = [f"{field}={as_typed(value)}" for field, value in own.to_fields().items() if value != given[field]]
        found[", ".join([name, *changed])] = own
    return found


def _describe_before(table: pd.DataFrame) -> list[str]:
    accuracy = table[table["quantity"] == "accuracy"]
    low, high, _ = find_bounds(table)
    return [
        f"{row['model']}: before data, an annotator is right {row['mean']:.0%} of the time "
        f"({row[low]:.0%} to {row[high]:.0%})"
        for row in accuracy.head(MOST_SHOWN).to_dict("records")
    ]


def _describe_scaling(parameters: pd.DataFrame, items: pd.DataFrame) -> Iterator[str]:
    said = parameters["diagnosis"][parameters["diagnosis"] != ""].value_counts().sort_index()
    for what, number in said.items():
        yield f"{number} of {len(parameters)} parameters: {what}"
    if said.empty:
        yield f"none of {counted(len(parameters), 'parameter')} depends much on its prior"
    soon = int((items["doublings"].abs() < 1).sum())
    yield f"{soon} of {counted(len(items), 'item')} would change their label if the prior were doubled or halved"


def _describe_study(study: ba.criticism.Study) -> Iterator[str]:
    table = study.table.iloc[1:].sort_values("labels_changed", ascending=False)
    for row in table.head(MOST_SHOWN).to_dict("records"):
        if row["labels_changed"] != row["labels_changed"]:
            yield f"{row['prior']}: {row['problem']}"
            continue
        said = [f"{counted(int(row['labels_changed']), 'item')} with another label"]
        if row.get("largest_rank_move"):
            said.append(f"an annotator's rank moves by up to {int(row['largest_rank_move'])}")
        if (difference := row.get("elpd_diff", np.nan)) == difference:
            way = "higher" if difference > 0 else "lower"
            said.append(f"elpd is {way} by {abs(difference):.1f} (SE {row['se_diff']:.1f})")
        yield f"{row['prior']}: {'; '.join(said)}"
    if len(table) > MOST_SHOWN:
        yield f"and {len(table) - MOST_SHOWN} more that change less"
