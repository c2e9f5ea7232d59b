"""`bayesanno fit --dask`: annotations that are read, and labels that are written, where they lie."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from bayesanno.cli.options import parse_labels
from bayesanno.ground.errors import DataError, FitError
from bayesanno.inference.climbing.climb import require_updates
from bayesanno.inference.dask.annotations import connect, spread_annotations
from bayesanno.inference.methods import check_method_on_dask

if TYPE_CHECKING:
    from pathlib import Path

    import xarray

    from bayesanno.analysis.spread_labels import WrittenLabels
    from bayesanno.cli.for_model import Request

REFUSED = ("--gold-file", "--controls", "--successes", "--trials", "--positive", "--format")


def fit_on_dask(
    request: Request,
    address: str,
    folder: Path,
    *,
    coverage: float | None,
    method: str,
    **settings: Any,
) -> tuple[xarray.DataTree, WrittenLabels]:
    """Fit annotations on a Dask cluster, write their labels to a folder, and return the fit, and what was written.

    Parameters
    ----------
    request : Request
        What is to be read, and for which model.
    address : str
        Of a scheduler; "local" for a cluster of this machine's own cores.
    folder : path
        Where labels go.
    coverage : float or None
        Refused: it takes the entropies of all items in order.
    method, **settings
        Those of `fit`.

    Raises
    ------
    FitError
        If the method or an option takes data in memory, or there is no scheduler at the address.
    ExtraError, DataFileError, DataError
        As for `spread_annotations` and `write_labels`.
    """
    from bayesanno.analysis.spread_labels import write_labels
    from bayesanno.inference.fit import fit

    check_method_on_dask(method)
    require_updates(request.model, method)
    _check_options(request, coverage)
    options = request.options
    with connect(address) as client:
        data = spread_annotations(
            request.source,
            client,
            item=options.item,
            annotator=options.annotator,
            label=options.columns["label"],
            gold=options.gold,
            labels=parse_labels(request.labels),
        )
        typer.echo(f"{request.model.name}: {data.describe()}", err=True)
        fitted = fit(request.model, data, method=method, progressbar=sys.stderr.isatty(), **settings)
        written = write_labels(fitted, data, folder / "labels")
    return fitted, written


def _check_options(request: Request, coverage: float | None) -> None:
    """Raise unless what is asked for can be had of parts of a long table."""
    if coverage is not None:
        raise FitError(
            "--coverage takes the entropies of all items in order, and with --dask they lie in parts: leave it out, "
            "labels have the column entropy"
        )
    if request.options.unsure:
        raise DataError(
            "--unsure is for data in memory: with --dask every label is a class; empty those cells, which are then no "
            "answers, or leave out --dask"
        )
    for option in REFUSED:
        if request.given[option]:
            raise DataError(f"{option} is for data in memory: with --dask a long table is read in parts; leave it out")
    if len(request.options.label) > 1:
        raise DataError(f"{request.model.name} is of one label column, not {len(request.options.label)}: name one")
    if request.source.startswith("@"):
        raise DataError(f"{request.source} is a named data set and small: leave out --dask")
