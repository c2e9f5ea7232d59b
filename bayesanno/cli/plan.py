"""What `bayesanno next`, `plan` and `simulate` do: what to ask, how many answers are enough, and simulated answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import bayesanno as ba
from bayesanno.cli import options as opt
from bayesanno.cli.files import (
    check_out,
    reading_of,
    show_status,
    show_table,
    write_if_asked,
    write_simulation,
)
from bayesanno.cli.for_model import design_for
from bayesanno.ground.intervals import choose_prob, name_interval
from bayesanno.ground.lazy import pd
from bayesanno.ground.validate import check_share, known_seed
from bayesanno.ground.wording import counted
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.sources import open_beside, open_table
from bayesanno.io.text_table import TextTable
from bayesanno.modeling.registry import model_class
from bayesanno.planning.before import SIMULATIONS, find_usual_method
from bayesanno.planning.progress import find_needed

SHOWN = 10  # rows on the screen

PerAnnotator = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Maximum number of answers of each annotator.")
]


def ask_next(
    folder: opt.FitFolder,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="How many answers.")] = 100,
    out: opt.OutTable = None,
    target: str = opt.option(
        "labels",
        "What to learn: labels, annotators, gold (which true labels an expert should give), or ranking "
        "(which of two systems is better, if items compare systems).",
    ),
    utility: str | None = opt.option(
        None, "How gains for labels are measured: information (in nats; the default) or accuracy."
    ),
    loss: Path | None = opt.option(
        None,
        "The costs of decisions, in place of --utility: a column label (the true one) and one for each decision.",
        "FILE.csv",
    ),
    items: Path | None = opt.option(None, "The items to ask about, in a column item; by default all.", "FILE"),
    annotators: Path | None = opt.option(
        None,
        "Who can be asked: columns annotator and, optionally, answers (maximum for each) and cost (of one answer).",
        "FILE",
    ),
    per_annotator: PerAnnotator = None,
    seed: opt.Seed = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Choose the answers that would help a fit most.

    Each is an answer by an annotator to an item. FILE.csv has a column label to fill in: then
    `bayesanno fit MODEL DATA --add FILE.csv` includes the answers.
    """
    check_out(out, overwrite=overwrite)
    if utility is not None and loss is not None:
        raise ba.DataError("--utility and --loss both set how gains are measured: leave one out")
    chosen = {"target": target} | read_annotators(annotators, per_annotator)
    if items is not None:
        chosen["items"] = _read_items(items, ReadOptions.of_files_beside(reading_of(folder)))
    if loss is not None:
        chosen["utility"] = _read_loss(loss)
    elif utility is not None:
        chosen["utility"] = utility
    fit = ba.load(folder)
    with show_status("choosing answers"):
        table = ba.suggest_annotations(fit, batch, random_seed=seed, **chosen)
    typer.echo(show_table(table.head(SHOWN)))
    if len(table) > SHOWN:
        typer.echo("...")
    unit = "in cost" if loss is not None else "labels" if utility == "accuracy" else "nats"
    typer.echo(_describe_asked(table, target, unit))
    table.insert(1 if target == "gold" else 2, "label", "")
    write_if_asked(table, out)


def _describe_asked(table: pd.DataFrame, target: str, unit: str) -> str:
    items = counted(table["item"].nunique(), "item")
    if target == "gold":  # the gain of each is as if it were the only one, so that there is no sum
        return f"the true labels of {items}"
    who = counted(table["annotator"].nunique(), "annotator")
    return f"{counted(len(table), 'answer')} of {who} to {items}: an expected gain of {table['gain'].sum():.2f} {unit}"


def _read_items(path: Path, options: ReadOptions) -> list[str]:
    """Return the items that a file names, once each."""
    table, item = open_beside(path, options)
    names = table.columns[item]
    if "" in names:
        raise ba.DataError(f"{table.where(names.index(''))}: there is no item: fill it in, or leave the row out")
    return list(dict.fromkeys(names))


def _read_loss(path: Path) -> pd.DataFrame:
    """Return what decisions cost, a row for each true label."""
    table = open_table(path)
    names, own = _read_names(table, "label"), table.header[table.need("label", may_be_named=False)]
    decisions = [name for name in table.header if name != own]
    if not decisions:
        raise ba.DataError(
            f"{table.name} has no decision: it needs a column for each, with its cost for each true label"
        )
    costs = {decision: _read_numbers(table, names, decision, "a number", np.isfinite) for decision in decisions}
    return pd.DataFrame(costs, index=names)


def read_annotators(path: Path | None, per_annotator: int | dict[str, int] | None) -> dict[str, Any]:
    """Return who can be asked, how often and at what cost, as arguments of the library.

    Raises
    ------
    DataError
        If the file has no column annotator, names somebody twice, or has a cell that is no number.
    """
    if path is None:
        return {} if per_annotator is None else {"per_annotator": per_annotator}
    table = open_table(path)
    found: dict[str, Any] = {"annotators": _read_names(table, "annotator")}
    if "answers" in table.header:
        if per_annotator is not None:
            raise ba.DataError(f"{table.name} has a column answers: leave out --per-annotator")
        most = _read_numbers(table, found["annotators"], "answers", "a whole number", lambda n: n >= 0 and n % 1 == 0)
        per_annotator = {name: int(number) for name, number in most.items()}
    if per_annotator is not None:
        found["per_annotator"] = per_annotator
    if "cost" in table.header:
        above_0 = "a number above 0", lambda cost: 0 < cost < np.inf
        found["costs"] = _read_numbers(table, found["annotators"], "cost", *above_0)
    return found


def _read_names(table: TextTable, role: str) -> list[str]:
    """Return the names in a column, which names each row once."""
    names = table.columns[table.need(role, may_be_named=False)]
    seen: set[str] = set()
    for row, name in enumerate(names):
        if not name or name in seen:
            raise ba.DataError(f"{table.where(row)}: {role} {name!r} is named twice, or without a name")
        seen.add(name)
    return names


def _read_numbers(
    table: TextTable, names: Sequence[str], column: str, what: str, allowed: Callable[[float], bool]
) -> dict[str, float]:
    """Return the number of each name in a column; `what` says which numbers are allowed."""
    numbers = {}
    for row, (name, cell) in enumerate(zip(names, table.columns[table.header.index(column)], strict=True)):
        try:
            numbers[name] = float(cell)
        except ValueError:
            numbers[name] = np.nan
        if not allowed(numbers[name]):
            raise ba.DataError(f"{table.where(row)}: {column} of {name!r} is {cell!r}: it must be {what}")
    return numbers


def plan(
    what: Annotated[
        str,
        typer.Argument(
            metavar="DIR|MODEL", help="A folder that `bayesanno fit` wrote; or, before there are data, a model."
        ),
    ],
    target: float | None = opt.option(
        None, "The expected accuracy, or with --measure share_sure the share, to be reached."
    ),
    measure: str = opt.option("accuracy", "accuracy, or share_sure: of labels surer than --sure."),
    sure: float = opt.option(0.95, "From which probability on a label is sure."),
    annotators: str | None = opt.option(
        None,
        "By DIR, who can be asked: a column annotator and, if they differ, answers (the most of each) and "
        "cost (of one). By MODEL, how many there are.",
        "FILE|N",
    ),
    allocation: str | None = opt.option(
        None, "By DIR: evenly (the default), each (as many new answers to each item) or suggested (as by `next`)."
    ),
    per_annotator: PerAnnotator = None,
    items: int | None = opt.option(None, "By MODEL: how many items.", "N"),
    per_item: str | None = opt.option(None, "By MODEL: answers per item; by default 1,2,3,5,8.", "A,B,..."),
    labels: str | None = opt.option(
        None, "By MODEL: number of labels, or names; by default 2, or as --like has.", "K|A,B,..."
    ),
    like: Path | None = opt.option(
        None,
        "By MODEL: a fit whose annotators are like the new ones, who are drawn from its population, or "
        "else from them; by default parameters are drawn from the prior of MODEL.",
        "DIR",
    ),
    settings: opt.Settings = None,
    method: str | None = opt.option(None, "By MODEL: how simulated answers are fitted; by default vb, or else nuts."),
    simulations: int | None = opt.option(None, "By MODEL: how many; by default 30, by nuts 10.", "N"),
    workers: int | None = opt.option(
        None, "By MODEL: fits in parallel; by default as many as there are cores, by vb 1."
    ),
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
            raise ba.DataError("before there are data, say how many there will be: --items N and --annotators N")
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
    except ba.ModelError as error:
        raise ba.DataFileError(f"there is no fit at {what}, and {error}") from None
    return ba.get_model(what, opt.parse_settings(settings))


def _refuse(options: dict[str, Any], why: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise ba.DataError(f"{option} {why}: leave it out")


def _whole(text: str, option: str) -> int:
    if not text.isdecimal():
        raise ba.DataError(f"{option} has {text!r}: it must be a whole number")
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
    interval = name_interval(choose_prob(None), "eti")
    each = "" if more else f", {find_needed(table, 'per_item')[0]:.1f} per item"
    return f"{what} is expected with {needed:,.0f}{more} answers ({interval}: {ends}){each}{cost}"


def simulate(
    model: opt.ModelName,
    out: Annotated[Path, opt.value("FILE.csv", "The answers; FILE.json has the true parameters.")],
    items: int = opt.option(300, "Number of items."),
    annotators: int = opt.option(20, "Number of annotators; counts have none."),
    per_item: str = opt.option("5", "Annotations per item, by different annotators.", "N|N-M"),
    labels: str = opt.option("3", "Number of labels, or their names; counts have none.", "K|A,B,..."),
    unsure: opt.UnsureLabels = None,
    dimensions: str = opt.option("first,second", "Names of the dimensions, for models of several.", "A,B,..."),
    seed: opt.Seed = None,
    settings: opt.Settings = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Simulate answers from the prior of MODEL.

    The answers are written as CSV with the true labels as gold, and the parameters as JSON.
    """
    chosen = ba.get_model(model, opt.parse_settings(settings))
    beside = out.with_suffix(".json")
    if beside == out:
        raise ba.DataFileError(f"{out} is where the parameters go: give a name in .csv")
    for path in (out, beside):
        check_out(path, overwrite=overwrite)
    seed = known_seed(seed)
    asked: dict[str, Any] = {"items": items, "annotators": annotators, "per_item": opt.parse_range(per_item)}
    asked |= {"labels": labels, "dimensions": dimensions, "random_seed": seed}
    design = design_for(chosen, unsure=tuple(unsure or ()), **asked)
    data, truth = ba.simulate(chosen, design, random_seed=seed)
    written = write_simulation(chosen, data, truth, out, seed=seed)
    for path in written:
        typer.echo(path)
