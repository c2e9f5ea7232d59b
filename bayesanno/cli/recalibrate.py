"""What `bayesanno recalibrate` does: the files of a fit anew, with labels recalibrated by true ones; and for `fit`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesanno.cli import options as opt
from bayesanno.cli.files import describe_result, new_folder, print_result, write_fit
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.ground.running import status


def recalibrate(
    folder: opt.FitFolder,
    out: opt.OutFolder,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="True labels of some items (item,gold); by default the gold of the fit's own data."
        ),
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Mark this share of the surest items as kept in labels.csv.")
    ] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html as well.")] = True,
    overwrite: opt.Overwrite = False,
) -> None:
    """Recalibrate the labels of the fit in DIR by the true labels of a few items; write the files of a fit to --out.

    A temperature and a shift for each label are learnt from them (recalibration.csv), and all results for labels are
    written anew. Parameters and annotators stay as they are.
    """
    begin = time.perf_counter()
    from bayesanno.analysis.labels import check_coverage
    from bayesanno.analysis.recalibrate import recalibrate as recalibrate_fit
    from bayesanno.fits.storage import load
    from bayesanno.fits.view import view_of

    check_coverage(coverage)
    with new_folder(out, overwrite=overwrite) as unfinished:
        fit = load(folder)
        with status("recalibrating", show=sys.stderr.isatty()):
            view = view_of(recalibrate_fit(fit, gold))
        run = write_fit(view, unfinished, coverage=coverage, began=begin)
    print_result(describe_result(run), out, run["files"])
    if report:
        from bayesanno.report.page import write_report

        typer.echo(write_report(view, out / "report.html", checks=False))


def check_before(gold: Path | None, model: Any = None, data: Any = None, *, on_dask: bool = False) -> None:
    """Raise an error, before a model is fitted, if this file, if any, could not recalibrate the fit."""
    if gold is None:
        return
    if on_dask:
        raise FitError("--recalibrate is for data in memory: a fit on Dask holds no items; leave out one of the two")
    from bayesanno.analysis.recalibrate import check_gold

    check_gold(model, data, gold)


def recalibrate_by(gold: Path | None, fit: xr.DataTree) -> xr.DataTree:
    """Return a fit recalibrated by a file of true labels, if there is one."""
    if gold is None:
        return fit
    from bayesanno.analysis.recalibrate import recalibrate as recalibrate_fit

    return recalibrate_fit(fit, gold)
