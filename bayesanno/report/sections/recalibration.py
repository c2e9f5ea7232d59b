"""What did recalibration change? Temperature and shifts, and scores before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayesanno.analysis.recalibrate import about_recalibration, recalibration_table
from bayesanno.analysis.recalibrated import view_before
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted
from bayesanno.report.blocks import Heading, PageBlock, Problems, Text, draw, small_table
from bayesanno.report.plots.criticism import plot_calibration


def show_recalibration(view: FitView) -> Iterator[PageBlock]:
    """Show what was learnt from true labels: in words, in a table, and how right labels are before and after."""
    if not view.is_recalibrated:
        return
    table = recalibration_table(view)
    for dimension, about in about_recalibration(view).items():
        if dimension:
            yield Heading(dimension)
        own = table if not dimension else table[table["dimension"] == dimension].drop(columns="dimension")
        yield from _show_one(about, own)
    said = "Share of known items whose label is right (vertical), by its probability."
    yield draw(plot_calibration({"before": view_before(view), "recalibrated": view}), said)


def _show_one(about: dict[str, Any], table: pd.DataFrame) -> Iterator[PageBlock]:
    temperature, n = about["temperature"], counted(about["n_known"], "item")
    between = f"between {temperature['hdi94_lb']:.3g} and {temperature['hdi94_ub']:.3g} (94%)"
    if temperature["hdi94_lb"] <= 1 <= temperature["hdi94_ub"]:
        said = f"Labels may have been calibrated already: the temperature is {between}, and 1 changes nothing"
    else:
        how = "overconfident" if temperature["hdi94_lb"] > 1 else "underconfident"
        said = f"Labels were {how}: their log odds were divided by a temperature {between}"
    yield Text(f"{said}. It was estimated from the true labels of {n}, which the fit had not used.")
    if about["remarks"]:
        yield Problems([remark[0].upper() + remark[1:] + "." for remark in about["remarks"]])
    scores = {
        "before recalibration": about["log_score_before"],
        "recalibrated, each item without its own true label": about["log_score"],
        "by the frequencies of labels among the other known items": about["log_score_shares"],
    }
    yield small_table(pd.DataFrame(scores.items(), columns=["mean log score of the true labels", "nats"]))
    yield small_table(table)
