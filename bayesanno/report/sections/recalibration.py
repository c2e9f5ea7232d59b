"""What did recalibration change? Temperature and shifts, and scores before and after."""

from __future__ import annotations

from typing import Any

from bayesanno.analysis.recalibrate import about_recalibration, recalibration_table
from bayesanno.analysis.recalibrated import view_before
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted
from bayesanno.report.blocks import Block, Heading, Problems, Table, Text, draw, table_of
from bayesanno.report.plots.criticism import plot_calibration


def show_recalibration(view: FitView) -> list[Block]:
    """Return what was learnt from true labels: in words, in a table, and how right labels are before and after."""
    table = recalibration_table(view)
    blocks: list[Block] = []
    for dimension, about in about_recalibration(view).items():
        own = table if not dimension else table[table["dimension"] == dimension].drop(columns="dimension")
        blocks += [*([Heading(dimension)] if dimension else []), *_show_one(about, own)]
    said = "Share of known items whose label is right (vertical), by its probability."
    both = {"before": view_before(view), "recalibrated": view}
    return [*blocks, draw(plot_calibration(both), said)]


def _show_one(about: dict[str, Any], table: pd.DataFrame) -> list[Block]:
    temperature, n = about["temperature"], counted(about["n_known"], "item")
    between = f"between {temperature['hdi94_lb']:.3g} and {temperature['hdi94_ub']:.3g} (94%)"
    if temperature["hdi94_lb"] > 1:
        said = f"Labels were too sure: their log odds are divided by a temperature {between}"
    elif temperature["hdi94_ub"] < 1:
        said = f"Labels were not sure enough: their log odds are divided by a temperature {between}"
    else:
        said = f"Labels may have been as sure as they should be: the temperature is {between}, and 1 changes nothing"
    blocks: list[Block] = [Text(f"{said}. It was learnt from the true labels of {n}, which the fit had not used.")]
    if about["remarks"]:
        blocks.append(Problems([remark[0].upper() + remark[1:] + "." for remark in about["remarks"]]))
    scores = {
        "before recalibration": about["log_score_before"],
        "recalibrated, each item without its own true label": about["log_score"],
        "by the frequencies of labels among the other known items": about["log_score_shares"],
    }
    rows = [[what, f"{value:.4g}"] for what, value in scores.items()]
    header = ["mean log score of the true labels", "nats"]
    return [*blocks, Table(header=header, numbers=[False, True], rows=rows), table_of(table)]
