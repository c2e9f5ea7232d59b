"""What `bayesanno report` does: the page on a fit that `bayesanno fit` has written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bayesanno as ba
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, show_status
from bayesanno.ground.errors import DataFileError


def report(
    folder: opt.FitFolder,
    out: Annotated[Path | None, opt.value("FILE.html", "Where to write it; by default DIR/report.html.")] = None,
    checks: Annotated[
        bool,
        typer.Option(
            "--checks/--no-checks",
            help="Run predictive checks and power-scaling of the prior, and look at what more answers would bring.",
        ),
    ] = True,
    seed: opt.Seed = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace FILE.html.")] = False,
) -> None:
    """Write the report of a fit as one HTML page."""
    path = folder / "report.html" if out is None else out
    check_out(out, overwrite=overwrite)
    if not path.absolute().parent.is_dir():
        raise DataFileError(f"there is no fit at {folder}: name a folder that `bayesanno fit` wrote")
    fit = ba.load(folder)
    with show_status("writing the report"):
        ba.write_report(fit, path, checks=checks, random_seed=seed)
    typer.echo(path)
