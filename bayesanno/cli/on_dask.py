"""`bayesanno fit --dask`: the workers of a Dask cluster read annotations and write labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

import bayesanno as ba
from bayesanno._core.lazy import xr
from bayesanno.analysis.write_labels import WrittenLabels
from bayesanno.cli.for_model import run_fit
from bayesanno.cli.options import DataOptions
from bayesanno.inference.dask.cluster import connect
from bayesanno.inference.em_vb.fixed_point import require_updates
from bayesanno.inference.methods import check_method_on_dask
from bayesanno.modeling.kinds.base import require_one_column

READ = ("item", "annotator", "label", "labels", "gold")  # the options of a long table in parts


def fit_on_dask(
    model: ba.AnnotationModel,
    source: Any,
    options: DataOptions,
    address: str,
    folder: Path,
    of_items: Mapping[str, Any],
    *,
    method: str,
    adjust: bool,
    **settings: Any,
) -> tuple[xr.DataTree, WrittenLabels]:
    """Fit annotations on a Dask cluster, write their labels to a folder, and return the fit and a record of the labels.

    Parameters
    ----------
    model : AnnotationModel
    source : str
        The folder or file of annotations.
    options : DataOptions
    address : str
        The address of a scheduler; "local" makes a cluster of this machine's own cores.
    folder : path
        Labels are written to it.
    of_items : mapping of option to value
        Options that need the items in memory; they are refused.
    adjust : bool
        Whether to adjust its labels.
    method, **settings
        Those of `fit`.

    Raises
    ------
    FitError
        If the method or an option takes data in memory, or there is no scheduler at the address.
    ExtraError, DataFileError, DataError
        As for `distribute_annotations` and `write_labels`.
    """
    check_method_on_dask(method)
    for option, value in of_items.items():
        if value not in (None, False):
            raise ba.FitError(f"{option} needs all items in memory: leave it out, or --dask")
    options.refuse((name for name in options if name not in READ), "--dask reads a long table")
    require_updates(model, method)
    require_one_column(model, options)
    if not isinstance(source, str):
        raise ba.DataError("--dask reads one folder of Parquet files: put all files into it")
    if source.startswith("@"):
        raise ba.DataError(f"{source} is a named data set, which fits into memory: leave out --dask")
    with connect(address) as client:
        data = ba.distribute_annotations(source, client, **options.reading, labels=options.get("labels"))
        typer.echo(f"{model.name}: {data.describe()}", err=True)
        fitted = run_fit(model, data, method=method, adjust=adjust, **settings)
        written = ba.write_labels(fitted, data, folder / "labels")
    return fitted, written
