"""The labels of a fit's items as a folder of Parquet files: one file, or one per part for items on a cluster.

The invariant: a folder of labels is complete or absent, and so is each file in it, even if a task runs several times.
On a cluster, each worker writes the labels of the items it holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataFileError, FitError
from bayesanno._core.validate import is_remote
from bayesanno.agreement.vote import choose_votes
from bayesanno.analysis.labels import label_table
from bayesanno.analysis.predict import predict_labels
from bayesanno.fits.storage import is_on_dask, model_of, require_tree, totals_of
from bayesanno.fits.view import ADJUSTMENT, FitView
from bayesanno.inference.dask.annotations import DaskAnnotations, require_distributed
from bayesanno.inference.dask.cluster import allow_large_tasks
from bayesanno.inference.dask.parts import Part
from bayesanno.inference.em_vb.fixed_point import require_updates
from bayesanno.inference.tempering import CountedAnswers, Tempering, temperings_of
from bayesanno.modeling.expectation import Logs, read_log_posterior
from bayesanno.modeling.kinds.annotations import tabulate_posterior

if TYPE_CHECKING:
    from dask.distributed import Client


@dataclass(frozen=True)
class WrittenLabels:
    """Counts of what was written.

    Attributes
    ----------
    n_items, n_gold, n_right : int
        Items; those with a known true label; those labelled correctly among them.
    """

    n_items: int
    n_gold: int
    n_right: int

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n_items + other.n_items, self.n_gold + other.n_gold, self.n_right + other.n_right)

    @cached_property
    def accuracy(self) -> float | None:
        """The share of correct labels among items with a known true label; None if there are no such items."""
        return self.n_right / self.n_gold if self.n_gold else None


def write_labels(
    fit: xr.DataTree, data: Any, folder: str | os.PathLike[str], *, client: Client | None = None
) -> WrittenLabels:
    """Write the labels of items to a new folder of Parquet files, for fits in memory or on a cluster.

    The columns are those of `label_table`: item, label, probability, entropy, n_annotations, p[<label>] for each label,
    weight, agreement and, if any is known, gold. Items in memory are written to one file. Items on a Dask cluster are
    written to one file per part, by the worker that holds the part.

    Parameters
    ----------
    fit : xarray.DataTree
    data : data of the fit's kind, DaskAnnotations, path, dask.dataframe or None
        The data of the fit, or other data with the same annotators and labels. None writes the items that the fit
        holds. Other items in memory are predicted with `predict_labels`. For a fit on a cluster, data that are not yet
        on the cluster are read again; to use them several times, pass what `distribute_annotations` returned.
    folder : path
        A new folder. For items on a cluster, it must be in a file system that all workers share.
    client : dask.distributed.Client, optional
        The client of the cluster, if the annotations are not yet on one.

    Returns
    -------
    WrittenLabels
        With `n_items` and, if gold is known, `accuracy`.

    Raises
    ------
    FitError
        If only one of the fit and the data is on a cluster, their annotators or labels differ, or the cluster fails.
    DataError
        If the data do not suit the fit, as for `predict_labels`.
    DataFileError
        If the folder exists, or cannot be written.

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
    """Return a function that writes the labels of items in memory to a folder."""
    if client is not None or isinstance(data, DaskAnnotations) or is_remote(data):
        raise FitError("this fit is in memory: give data from read_annotations, or None for its own items")
    of_fit = data is None or getattr(data, "hash", None) == fit.attrs["data_hash"]
    table = label_table(fit) if of_fit else predict_labels(fit, data)
    return lambda folder: write_file(table, table["item"].nunique(), folder, 0)


def _of_parts(fit: xr.DataTree, data: DaskAnnotations) -> Callable[[Path], WrittenLabels]:
    """Return a function that has workers write the labels of the items that they hold to a folder."""
    model, known = require_updates(model_of(fit), fit.attrs["method"]), totals_of(fit)
    frequency = known.label_shares
    for what in ("annotators", "labels"):
        if getattr(known, what) != getattr(data, what):
            raise FitError(f"the {what} of {data.name} must be those of this fit, in the same order: fit again")
    shares = {str(name): values.values for name, values in fit["e_step"].data_vars.items()}
    logs = model.log_probabilities(shares, data.on_workers.names_class)
    adjustment = temperings_of(FitView(fit), ADJUSTMENT).get("")

    def write(folder: Path) -> WrittenLabels:
        with allow_large_tasks():
            written = data.on_workers.add_up_parts(write_part, logs, adjustment, data.labels, frequency, folder)
        for left in folder.glob(".*.tmp"):  # left by workers that were killed while writing
            left.unlink(missing_ok=True)
        return written

    return write


def write_part(
    part: Part,
    logs: Logs,
    adjustment: Tempering | None,
    labels: Sequence[str],
    frequency: np.ndarray,
    folder: Path,
) -> WrittenLabels:
    """Write the labels of a part, and return their counts; the `frequency` of labels is that in the whole table."""
    log_p, model = read_log_posterior(part.items, logs), None
    if adjustment is not None:
        model = np.exp(log_p)
        log_p = adjustment.average(log_p, count_part(part, adjustment))
    probability = np.exp(log_p)
    of_class = np.tile(part.items.names_class.T, (part.by_annotator.size, 1))  # (annotator and response, label)
    said = np.concatenate([block.answers @ of_class for block in part.items.blocks])[part.items.pattern]
    vote = np.where(said.sum(axis=1) > 0, np.array(labels, dtype=object)[choose_votes(said, frequency)], "")
    table = tabulate_posterior(part.names, labels, probability, part.n_annotations, said, model=model, vote=vote)
    if part.gold is not None:
        table["gold"] = pd.Series(part.gold, dtype="str")
    return write_file(table, len(table), folder, part.number)


def count_part(part: Part, adjustment: Tempering) -> CountedAnswers:
    """Return the answers to each item of a part, as an adjustment takes them."""
    found = []
    for block in part.items.blocks:
        said = block.answers.tocoo()
        pattern, cell = (codes.astype(np.int64) for codes in said.coords)
        annotator, label = np.divmod(cell, block.n_labels)
        found.append(
            adjustment.count(pattern, annotator, label, part.items.names_class, said.shape[0], said.data.astype(float))
        )
    n, weight, copied = (
        np.concatenate([getattr(one, name) for one in found])[part.items.pattern] for name in ("n", "weight", "copied")
    )
    return CountedAnswers(n, weight, copied)


def write_file(table: pd.DataFrame, n_items: int, folder: Path, number: int) -> WrittenLabels:
    """Write a table of labels as the file of a part, and return their counts."""
    with write_whole(folder / f"part.{number:05d}.parquet") as unfinished:
        table.to_parquet(unfinished, index=False)
    if not {"label", "gold"}.issubset(table):
        return WrittenLabels(n_items, 0, 0)
    known = table[table["gold"] != ""]
    return WrittenLabels(n_items, len(known), int((known["label"] == known["gold"]).sum()))
