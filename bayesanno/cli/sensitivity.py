"""What `bayesanno sensitivity` does: what a stronger prior would change, and what other priors do change."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import bayesanno as ba
from bayesanno.cli import options as opt
from bayesanno.cli.files import describe_data, new_folder, print_result, write_results
from bayesanno.cli.for_model import read_for
from bayesanno.cli.models import choose_model
from bayesanno.criticism.sensitivity import Study, lay_out_grid, require_labels
from bayesanno.ground.errors import ModelError
from bayesanno.ground.fields import as_typed
from bayesanno.ground.lazy import pd
from bayesanno.ground.validate import known_seed
from bayesanno.ground.wording import counted
from bayesanno.inference.methods import NUTSSettings, choose_method
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import HasKnownParameters

MOST_SHOWN = 5  # rows of a table on the screen


@opt.reads_data(without=("successes", "trials"), several=False)
def sensitivity(
    model: opt.ModelName,
    data: opt.DataSource,
    out: opt.OutFolder,
    grid: Annotated[
        list[str] | None,
        opt.value("FIELD=V1,V2,...", "Fit again with these values, in all combinations; tuples are 0.5:0.5."),
    ] = None,
    settings: opt.Settings = None,
    formula: opt.ClassPriorFormula = None,
    classifier: opt.ClassifierColumns = None,
    draws: opt.Draws = NUTSSettings.draws,
    tune: opt.Tune = NUTSSettings.tune,
    chains: opt.Chains = NUTSSettings.chains,
    workers: Annotated[int, typer.Option(help="Fits in parallel; 0 for as many as there are cores.")] = 0,
    resume: Annotated[
        Path | None, opt.value("DIR", "Keep finished fits here, and continue from them (with --seed).")
    ] = None,
    seed: opt.Seed = None,
    *,
    options: opt.DataOptions,
    overwrite: opt.Overwrite = False,
) -> None:
    """Study how the prior of MODEL affects its fit to DATA.

    The files describe the prior, how much the fit depends on it, and what other priors change.
    """
    began, show = time.perf_counter(), sys.stderr.isatty()
    chosen = choose_model(model, opt.parse_settings(settings), data, options, formula, classifier)
    values = parse_grid(grid or ())
    sampling: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains}
    choose_method("nuts", **sampling)
    if resume is not None and seed is None:
        raise ModelError("--resume goes on with a study of a known seed: give --seed as well")
    with new_folder(out, overwrite=overwrite) as folder:
        answers, described = read_for(chosen, data, options)
        require_labels(chosen, answers)
        drawn = known_seed(seed)
        if values:
            lay_out_grid(chosen, values, answers, drawn, sampling)  # refuses what is not possible
        typer.echo(f"{chosen.name}: {described}", err=True)
        before = ba.describe_prior(name_priors(chosen, values), answers, random_seed=drawn)
        fitted = ba.fit(chosen, answers, random_seed=drawn, progressbar=show, **sampling)
        tables = {"prior.csv": before.table}
        tables |= {"powerscale.csv": ba.power_scaling_table(fitted), "labels.csv": ba.label_power_scaling(fitted)}
        figures = {
            "prior.png": ba.plot_prior(before),
            "powerscale.png": ba.plot_power_scaling(tables["powerscale.csv"]),
            "labels.png": ba.plot_label_power_scaling(tables["labels.csv"]),
        }
        if values:
            study = ba.sensitivity(
                chosen,
                answers,
                values,
                random_seed=drawn,
                folder=resume,
                workers=workers or os.cpu_count() or 1,
                progressbar=show,
                **sampling,
            )
            tables |= {"grid.csv": study.priors, "flips.csv": study.flips, "annotators.csv": study.annotators}
            figures["priors.png"] = ba.plot_priors(study)
        run = {
            "command": "sensitivity",
            "model": chosen.name,
            "fields": chosen.to_fields(),
            "grid": {field: list(tried) for field, tried in values.items()},
            "settings": sampling,
            "seed": drawn,
            "data": describe_data(answers) | {"hash": answers.hash},
            "seconds": time.perf_counter() - began,
        }
        files = write_results(folder, tables, figures, run)
    lines = [*_describe_before(before.table), *_describe_scaling(tables["powerscale.csv"], tables["labels.csv"])]
    print_result([*lines, *(_describe_study(study, values) if values else [])], out, files)


def parse_grid(given: Sequence[str]) -> dict[str, list[str]]:
    """Return what --grid was given: the values of each field, as text."""
    parsed = opt.parse_settings(given, option="--grid", form="FIELD=V1,V2,...", example="strategy_prior=1,10,100")
    values = {field: [value.strip() for value in text.split(",")] for field, text in parsed.items()}
    for field, tried in values.items():
        if "" in tried:
            raise ModelError(f"--grid {field}={','.join(tried)} has an empty value: write --grid {field}=V1,V2,...")
    return values


def name_priors(model: AnnotationModel, grid: dict[str, list[str]]) -> dict[str, AnnotationModel]:
    """Return the model and those of a grid, by their settings; one that takes parameters from data is replaced."""
    named = {model.name: model}
    for values in product(*grid.values()):
        setting = dict(zip(grid, values, strict=True))
        named[", ".join(f"{field}={value}" for field, value in setting.items())] = ba.get_model(model, setting)
    found: dict[str, AnnotationModel] = {}
    for name, one in named.items():
        own = one.without_data() if isinstance(one, HasKnownParameters) else one
        if own in found.values():
            continue
        given = one.to_fields()
        changed = [f"{field}={as_typed(value)}" for field, value in own.to_fields().items() if value != given[field]]
        found[", ".join([name, *changed])] = own
    return found


def _describe_before(table: pd.DataFrame) -> list[str]:
    accuracy = table[table["quantity"] == "accuracy"]
    return [
        f"{row['model']}: before data, an annotator is right {row['mean']:.0%} of the time ({row['eti94_lb']:.0%} to "
        f"{row['eti94_ub']:.0%})"
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


def _describe_study(study: Study, fields: Iterable[str]) -> Iterator[str]:
    table = study.priors.iloc[1:].sort_values("labels_changed", ascending=False)
    for row in table.head(MOST_SHOWN).to_dict("records"):
        what = ", ".join(f"{field}={as_typed(row[field])}" for field in fields)
        if row["labels_changed"] != row["labels_changed"]:
            yield f"{what}: {row['problem']}"
            continue
        move = row.get("largest_rank_move", np.nan)
        ranks = "" if np.isnan(move) else f"; an annotator's rank moves by up to {int(move)}"
        yield f"{what}: {counted(int(row['labels_changed']), 'item')} with another label{ranks}"
    if len(table) > MOST_SHOWN:
        yield f"and {len(table) - MOST_SHOWN} more that change less"
