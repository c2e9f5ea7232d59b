"""The labels of items on a cluster, written where they lie: one Parquet file of each part.

The invariant: a folder of labels is whole or not there, and a file of it too, however often a task is run again.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Self

import numpy as np

from bayesanno.analysis.parts import tabulate_posterior
from bayesanno.fits.storage import is_spread, model_of, require_tree, totals_of
from bayesanno.ground.errors import DataFileError, FitError
from bayesanno.inference.climbing.climb import require_updates
from bayesanno.inference.dask.annotations import find_spread, quiet
from bayesanno.modeling.expectation import log_probabilities, read_posterior

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import xarray
    from dask.distributed import Client

    from bayesanno.inference.dask.annotations import SpreadAnnotations
    from bayesanno.inference.dask.parts import Part
    from bayesanno.modeling.expectation import Logs


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
    fit: xarray.DataTree,
    data: SpreadAnnotations | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    client: Client | None = None,
) -> WrittenLabels:
    """Write the labels of items that lie on a Dask cluster, one Parquet file of each part.

    The columns are those of `label_table`: item, label, probability, entropy, n_annotations, p[<label>] of each label
    and, where there is a column of it, gold. Each worker writes the parts that it holds.

    Parameters
    ----------
    fit : xarray.DataTree
        Made on a Dask cluster.
    data : SpreadAnnotations, path or dask.dataframe
        The annotations of the fit, or others of the same annotators and labels; what is not on the cluster yet is read
        again, so give what `spread_annotations` returned where there is more to do than this.
    folder : path
        A new folder, in a file system that all workers share.
    client : dask.distributed.Client, optional
        Of the cluster, if the annotations are not on one yet.

    Returns
    -------
    WrittenLabels
        With `n_items` and, where gold is known, `accuracy`.

    Raises
    ------
    FitError
        If the fit was not made on a cluster, or its annotators or labels are not those of the data.
    DataFileError
        If the folder is there, or cannot be written.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.spread_annotations("answers", client)  # doctest: +SKIP
    >>> fit = ba.fit("mace", data, method="em")  # doctest: +SKIP
    >>> ba.write_labels(fit, data, "labels").n_items  # doctest: +SKIP
    """
    require_tree(fit)
    if not is_spread(fit):
        raise FitError("this fit holds its items: label_table(fit) has their labels")
    model, path = require_updates(model_of(fit), fit.attrs["method"]), Path(folder).absolute()
    if path.exists():
        raise DataFileError(f"{path} exists: choose another folder for the labels")
    if not path.parent.is_dir():
        raise DataFileError(f"there is no folder {path.parent} to write {path.name} into")
    spread, known = find_spread(data, client), totals_of(fit)
    for what in ("annotators", "labels"):
        if getattr(known, what) != getattr(spread, what):
            raise FitError(f"the {what} of {spread.name} are not those of this fit, in the same order: fit it anew")
    shares = {str(name): values.values for name, values in fit["e_step"].data_vars.items()}
    logs = log_probabilities(model, spread.spread.names_class, shares)
    temporary = path.with_name(f".{path.name}-{token_hex(4)}")
    try:
        temporary.mkdir()
        with quiet():
            written = spread.spread.add_up_parts(write_part, logs, spread.labels, str(temporary))
        temporary.replace(path)
    except OSError as error:
        raise DataFileError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return written


def write_part(part: Part, logs: Logs, labels: Sequence[str], folder: str) -> WrittenLabels:
    """Write the labels of a part, and return how many there are."""
    probability, _ = read_posterior(part.items, logs)
    table = tabulate_posterior(part.names, labels, probability, part.n_annotations)
    right, known = 0, np.zeros(len(table), dtype=bool)
    if part.gold is not None:
        import pandas as pd

        table["gold"] = pd.Series(part.gold, dtype="str")
        known = part.gold != ""
        right = int((table["label"] == table["gold"])[known].sum())
    file = Path(folder) / f"part.{part.number:05d}.parquet"
    unfinished = file.with_name(f".{file.name}.{token_hex(4)}")
    table.to_parquet(unfinished, index=False)
    unfinished.replace(file)
    return WrittenLabels(len(table), int(known.sum()), right)
