"""What `bayesanno recalibrate` does: it writes the files of a fit again, with labels recalibrated by true ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import bayesanno as ba
from bayesanno.analysis.labels import check_coverage
from bayesanno.cli import options as opt
from bayesanno.cli.files import finish_fit, new_folder, show_status, write_fit
from bayesanno.fits.view import view_of


def recalibrate(
    folder: opt.FitFolder,
    out: opt.OutFolder,
    gold: Annotated[
        Path | None,
        opt.value("FILE", "True labels of some items (item,gold); by default the gold of the fit's own data."),
    ] = None,
    coverage: opt.Coverage = None,
    report: opt.Report = True,
    overwrite: opt.Overwrite = False,
) -> None:
    """Correct the label probabilities of a fit by true labels.

    A temperature and a shift for each label are learnt from the true labels of a few items (recalibration.csv). All
    results for labels are computed again and written to --out. Parameters and annotators stay as they are.
    """
    begin = time.perf_counter()
    check_coverage(coverage)
    with new_folder(out, overwrite=overwrite) as unfinished:
        fit = ba.load(folder)
        with show_status("recalibrating"):
            view = view_of(ba.recalibrate(fit, gold))
        run = write_fit(view, unfinished, coverage=coverage, began=begin)
    finish_fit(view, run, out, report=report)
