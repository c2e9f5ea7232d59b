"""What `bayesanno plan` does: how many answers are enough, by a fit, or before there are data by a model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import bayesanno as ba
from bayesanno.cli import options as opt
from bayesanno.cli.ask import PerAnnotator, read_annotators
from bayesanno.cli.files import check_out, show_status, show_table, write_if_asked
from bayesanno.ground.errors import DataError, DataFileError, ModelError
from bayesanno.ground.lazy import pd
from bayesanno.ground.validate import check_share
from bayesanno.modeling.registry import model_class
from bayesanno.planning.before import SIMULATIONS, find_usual_method
from bayesanno.planning.progress import find_needed


def plan(
    what: Annotated[
        str,
        typer.Argument(
            metavar="DIR|MODEL", help="A folder that `bayesanno fit` wrote; or, before there are data, a model."
        ),
    ],
    target: Annotated[
        float | None, typer.Option(help="The expected accuracy, or with --measure share_sure the share, to be reached.")
    ] = None,
    measure: Annotated[str, typer.Option(help="accuracy, or share_sure: of labels surer than --sure.")] = "accuracy",
    sure: Annotated[float, typer.Option(help="From which probability on a label is sure.")] = 0.95,
    annotators: Annotated[
        str | None,
        opt.value(
            "FILE|N",
            "By DIR, who can be asked: a column annotator and, if they differ, answers (the most of each) and "
            "cost (of one). By MODEL, how many there are.",
        ),
    ] = None,
    allocation: Annotated[
        str | None,
        typer.Option(
            help="By DIR: evenly (the default), each (as many new answers to each item) or suggested (as by `next`)."
        ),
    ] = None,
    per_annotator: PerAnnotator = None,
    items: Annotated[int | None, opt.value("N", "By MODEL: how many items.")] = None,
    per_item: Annotated[str | None, opt.value("A,B,...", "By MODEL: answers per item; by default 1,2,3,5,8.")] = None,
    labels: Annotated[
        str | None, opt.value("K|A,B,...", "By MODEL: number of labels, or names; by default 2, or as --like has.")
    ] = None,
    like: Annotated[
        Path | None,
        opt.value(
            "DIR",
            "By MODEL: a fit whose annotators are like the new ones, who are drawn from its population, or "
            "else from them; by default parameters are drawn from the prior of MODEL.",
        ),
    ] = None,
    settings: opt.Settings = None,
    method: Annotated[
        str | None, typer.Option(help="By MODEL: how simulated answers are fitted; by default vb, or else nuts.")
    ] = None,
    simulations: Annotated[int | None, opt.value("N", "By MODEL: how many; by default 30, by nuts 10.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="By MODEL: fits in parallel; by default as many as there are cores, by vb 1.")
    ] = None,
    out: opt.OutTable = None,
    seed: opt.Seed = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Predict how good labels will be after more answers.

    With a fit in DIR, the table also shows how many answers reach --target. Before there are data, answers are
    simulated and fitted with MODEL, for each number of answers per item.
    """
    for name, share in (("--target", target), ("--sure", sure)):
        if share is not None:
            check_share(name, share)
    check_out(out, overwrite=overwrite)
    aim: dict[str, Any] = {"target": target, "measure": measure, "sure": sure, "random_seed": seed}
    of_fit = {"--allocation": allocation, "--per-annotator": per_annotator}
    of_model = {"--items": items, "--per-item": per_item, "--labels": labels, "--like": like, "--set": settings}
    of_model |= {"--method": method, "--simulations": simulations, "--workers": workers}
    if Path(what).is_file() or Path(what, "posterior.nc").is_file():
        _refuse(of_model, f"is for planning by a model before there are data, and {what} is a fit")
        who = read_annotators(None if annotators is None else Path(annotators), per_annotator)
        fit = ba.load(what)
        with show_status("simulating futures"):
            table = ba.expected_progress(fit, allocation=allocation or "evenly", **aim | who)  # type: ignore[arg-type]
        has_costs, more = "costs" in who, " more"
    else:
        chosen = _find_model(what, settings)
        _refuse(of_fit, f"is for planning by a fit, and {what} is a model")
        if items is None or annotators is None:
            raise DataError("before there are data, say how many there will be: --items N and --annotators N")
        asked: dict[str, Any] = {"items": items, "annotators": _whole(annotators, "--annotators"), "method": method}
        asked |= {"simulations": simulations, "like": None if like is None else ba.load(like)}
        asked["per_item"] = None if per_item is None else [_whole(n, "--per-item") for n in opt.split_names(per_item)]
        if labels is not None:
            asked["labels"] = opt.parse_label_names(labels)
        if workers is None:  # a process takes seconds to begin
            workers = 1 if (method or find_usual_method(chosen)) in SIMULATIONS else os.cpu_count() or 1
        table = ba.plan_answers(chosen, **aim | asked, workers=workers, progressbar=sys.stderr.isatty())
        has_costs, more = False, ""
    typer.echo(show_table(table if has_costs else table.drop(columns="cost")))
    if target is not None:
        typer.echo(_describe_needed(table, target, measure, more, with_cost=has_costs))
    write_if_asked(table, out)


def _find_model(what: str, settings: list[str] | None) -> Any:
    try:
        model_class(what)
    except ModelError as error:
        raise DataFileError(f"there is no fit at {what}, and {error}") from None
    return ba.get_model(what, opt.parse_settings(settings))


def _refuse(options: dict[str, Any], why: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise DataError(f"{option} {why}: leave it out")


def _whole(text: str, option: str) -> int:
    if not text.isdecimal():
        raise DataError(f"{option} has {text!r}: it must be a whole number")
    return int(text)


def _describe_needed(table: pd.DataFrame, target: float, measure: str, more: str, *, with_cost: bool) -> str:
    what = f"an accuracy of {target:g}" if measure == "accuracy" else f"a share of sure labels of {target:g}"
    if table["p_reached"].iloc[0] > 0.5:
        first = table["answers"].iloc[0]
        return f"{what} is expected already" + (f" with {first:,} answers" if first else "")
    needed, least, most = find_needed(table)
    if not np.isfinite(needed):
        return f"{what} is not expected with {table['answers'].iloc[-1]:,}{more} answers"
    ends = f"{least:,.0f} to {most:,.0f}" if np.isfinite(most) else f"{least:,.0f} or more"
    cost = f", at a cost of {find_needed(table, 'cost')[0]:,.0f}" if with_cost else ""
    each = "" if more else f", {find_needed(table, 'per_item')[0]:.1f} per item"
    return f"{what} is expected with {needed:,.0f}{more} answers (94%: {ends}){each}{cost}"
