"""The labels of a fit's items as a folder of Parquet files: one file, or of items on a cluster one of each part.

The invariant: a folder of labels is whole or not there, and a file of it too, however often a task is run again. Where
items are on a cluster, each worker writes those that it holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayesanno.analysis.labels import label_table
from bayesanno.analysis.predict import predict_labels
from bayesanno.fits.parts import tabulate_posterior
from bayesanno.fits.storage import is_on_dask, model_of, require_tree, totals_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataFileError, FitError
from bayesanno.ground.files import write_whole
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import is_remote
from bayesanno.inference.adjust import Adjustment, Votes, adjustments_of
from bayesanno.inference.climbing.climb import require_updates
from bayesanno.inference.dask.annotations import DaskAnnotations, require_distributed
from bayesanno.inference.dask.cluster import allow_large_tasks
from bayesanno.inference.dask.parts import Part
from bayesanno.modeling.expectation import Logs, read_log_posterior

if TYPE_CHECKING:
    from dask.distributed import Client


@dataclass(frozen=True)
class WrittenLabels:
    """What was written: how many items, of how many the true label is known, and how many of these got it.

    Attributes
    ----------
    n_items, n_gold, n_right : int
    """

    n_items: int
    n_gold: int
    n_right: int

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n_items + other.n_items, self.n_gold + other.n_gold, self.n_right + other.n_right)

    @cached_property
    def accuracy(self) -> float | None:
        """The share of items with a known true label that got it; None if none is known."""
        return self.n_right / self.n_gold if self.n_gold else None


def write_labels(
    fit: xr.DataTree, data: Any, folder: str | os.PathLike[str], *, client: Client | None = None
) -> WrittenLabels:
    """Write the labels of items to a new folder of Parquet files, for fits in memory or on a cluster.

    The columns are those of `label_table`: item, label, probability, entropy, n_annotations, p[<label>] of each label
    and, where any is known, gold. Items in memory make one file. Items on a Dask cluster make one for each part,
    written by the worker that holds it.

    Parameters
    ----------
    fit : xarray.DataTree
    data : AnnotationData, CountData, MultiAnnotationData, DaskAnnotations, path, dask.dataframe or None
        The data of the fit, or others of the same annotators and labels. None for a fit that holds its items: these.
        Other items in memory are predicted, as by `predict_labels`. For a fit on a cluster, what is not on the cluster
        yet is read again, so give what `distribute_annotations` returned where there is more to do than this.
    folder : path
        A new folder; of items on a cluster, in a file system that all workers share.
    client : dask.distributed.Client, optional
        Of the cluster, if the annotations are not on one yet.

    Returns
    -------
    WrittenLabels
        With `n_items` and, where gold is known, `accuracy`.

    Raises
    ------
    FitError
        If one of the fit and the data is on a cluster and the other is not, their annotators or labels differ, or the
        cluster cannot go on.
    DataError
        If the data are no data for this fit, as for `predict_labels`.
    DataFileError
        If the folder is there, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("mace", data, method="em", random_seed=1, progressbar=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ba.write_labels(fit, data, f"{folder}/labels").n_items
    300
    """
    require_tree(fit)
    path = Path(folder).absolute()
    if path.exists():
        raise DataFileError(f"{path} exists: choose another folder for the labels")
    if not path.parent.is_dir():
        raise DataFileError(f"there is no folder {path.parent} to write {path.name} into")
    write = _of_parts(fit, require_distributed(data, client)) if is_on_dask(fit) else _of_items(fit, data, client)
    with write_whole(path) as unfinished:
        unfinished.mkdir()
        return write(unfinished)


def _of_items(fit: xr.DataTree, data: Any, client: Client | None) -> Callable[[Path], WrittenLabels]:
    """Return what writes the labels of items in memory to a folder."""
    if client is not None or isinstance(data, DaskAnnotations) or is_remote(data):
        raise FitError("this fit holds its items, in memory: give data from read_annotations, or None for its own")
    of_fit = data is None or getattr(data, "hash", None) == fit.attrs["data_hash"]
    table = label_table(fit) if of_fit else predict_labels(fit, data)
    return lambda folder: write_file(table, table["item"].nunique(), folder, 0)


def _of_parts(fit: xr.DataTree, data: DaskAnnotations) -> Callable[[Path], WrittenLabels]:
    """Return what has workers write the labels of the items that they hold to a folder."""
    model, known = require_updates(model_of(fit), fit.attrs["method"]), totals_of(fit)
    for what in ("annotators", "labels"):
        if getattr(known, what) != getattr(data, what):
            raise FitError(f"the {what} of {data.name} are not those of this fit, in the same order: fit it again")
    shares = {str(name): values.values for name, values in fit["e_step"].data_vars.items()}
    logs = model.log_probabilities(shares, data.on_workers.names_class)
    adjustment = adjustments_of(FitView(fit)).get("")

    def write(folder: Path) -> WrittenLabels:
        with allow_large_tasks():
            written = data.on_workers.add_up_parts(write_part, logs, adjustment, data.labels, folder)
        for left in folder.glob(".*.tmp"):  # by workers that were killed while they wrote
            left.unlink(missing_ok=True)
        return written

    return write


def write_part(
    part: Part, logs: Logs, adjustment: Adjustment | None, labels: Sequence[str], folder: Path
) -> WrittenLabels:
    """Write the labels of a part, and return how many there are."""
    log_p = read_log_posterior(part.items, logs)
    if adjustment is not None:
        weight = adjustment.weigh(part.by_annotator.size, part.items.names_class).reshape(-1, len(labels))
        votes = np.concatenate([block.answers @ weight for block in part.items.blocks])[part.items.pattern]
        log_p = adjustment.average(log_p, Votes(part.n_annotations, votes))
    probability = np.exp(log_p)
    table = tabulate_posterior(part.names, labels, probability, part.n_annotations)
    if part.gold is not None:
        table["gold"] = pd.Series(part.gold, dtype="str")
    return write_file(table, len(table), folder, part.number)


def write_file(table: pd.DataFrame, n_items: int, folder: Path, number: int) -> WrittenLabels:
    """Write a table of labels as the file of a part, and return how many there are."""
    with write_whole(folder / f"part.{number:05d}.parquet") as unfinished:
        table.to_parquet(unfinished, index=False)
    if not {"label", "gold"}.issubset(table):
        return WrittenLabels(n_items, 0, 0)
    known = table[table["gold"] != ""]
    return WrittenLabels(n_items, len(known), int((known["label"] == known["gold"]).sum()))
