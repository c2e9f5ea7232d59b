"""Annotations on the workers of a Dask cluster, for EM and VB.

Each item's annotations are brought together once, by Dask's shuffle, and laid out there. After that, parameters go to
the workers and sums over blocks come back; annotations stay. If a worker is lost, Dask reads and lays out its parts
again.

The invariant: every task has its inputs in its graph, so that lost results can be recomputed. Sums are added in a fixed
order, so that results do not depend on where blocks are.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import DataError, FitError, NamesWarning, listed, warn
from bayesanno._core.validate import is_remote
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import name_labels
from bayesanno.data.patterns import Links, link_annotators
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.view import FitPart, FitView
from bayesanno.inference.assemble import parts_to_check
from bayesanno.inference.dask.cluster import add_all, allow_large_tasks, check_client, explain_errors
from bayesanno.inference.dask.parts import (
    PartTotals,
    add_up_part,
    count_block_labels,
    describe_part,
    itself,
    make_part,
    take_some,
)
from bayesanno.inference.diagnosis.findings import find_in_design
from bayesanno.inference.diagnosis.misfit import MOST_ANSWERS
from bayesanno.inference.em_vb.fixed_point import items_of, require_updates
from bayesanno.io.check import doubt_names
from bayesanno.io.partitioned import (
    FoundNames,
    PartitionedTable,
    coded_types,
    encode,
    find_names,
    open_partitions,
    require_dask,
    spell_labels,
)
from bayesanno.modeling.arguments import ENTROPY, LOG_PROBABILITY, PROBABILITY, measure_entropy
from bayesanno.modeling.expectation import AddsUp, PatternBlock, make_blocks, read_log_posterior
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.kinds.base import find_in_links

if TYPE_CHECKING:
    from dask.distributed import Client, Future

log = logging.getLogger(__name__)  # reports the columns that were left out
PART_ROWS = 1_000_000  # annotations per part: some tens of megabytes
LEAST_ROWS = 10_000  # least size of parts made only to occupy every thread
CLIMBS = 32  # climbs at a time: they mostly wait for workers


class DaskItems(AddsUp):
    """The items of a table in parts on workers.

    Parameters
    ----------
    client : dask.distributed.Client
    parts : sequence of Future of Part
    names_class : array of bool, shape (true_class, response)
    totals : PartTotals
    """

    def __init__(
        self, client: Client, parts: Sequence[Future], names_class: np.ndarray, totals: PartTotals | None = None
    ) -> None:
        self.client, self.parts, self.names_class = client, parts, names_class
        self.n_threads = CLIMBS
        if totals is not None:
            self.n_different, self.largest = totals.n_different, totals.largest

    def add_up[T](self, of_block: Callable[..., T], *arguments: Any) -> T:
        """Return the sum over all blocks of all parts."""
        return self.add_up_parts(add_up_part, of_block, arguments)

    def add_up_parts[T](self, of_part: Callable[..., T], *arguments: Any) -> T:
        """Return the sum over parts of `of_part(part, *arguments)`, a function of a module."""
        n = len(self.parts)
        with explain_errors():
            # an argument of a task, since scattered data would be lost with their worker
            sent = self.client.submit(itself, arguments, pure=False)
            found: T = add_all(self.client, self.client.map(_call, self.parts, [of_part] * n, [sent] * n, pure=False))
        return found


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DaskAnnotations(AnnotationTotals):
    """Annotations on the workers of a cluster, as made by `distribute_annotations`; they last as long as this object.

    Attributes
    ----------
    on_workers : DaskItems
        The items, in parts.
    name : str
        The name of their table in messages.
    """

    on_workers: DaskItems
    name: str = field(default="")


def distribute_annotations(
    source: Any,
    client: Client,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    gold: str | None = None,
    labels: str | Sequence[str] | None = None,
) -> DaskAnnotations:
    """Read annotations on the workers of a cluster, and bring those of each item together on one worker.

    Cells, names and columns are as for `read_annotations`. Annotators are numbered by first appearance, files are in
    the order of their names (part 2 before part 10), and labels are sorted, as if the table were read as a whole.

    Parameters
    ----------
    source : path or dask.dataframe
        A long table: a folder of Parquet files that all workers can read, one such file, or a Dask DataFrame.
    client : dask.distributed.Client
        The client of the cluster that reads and holds the annotations.
    item, annotator, label, gold : str, optional
        The names of the columns, unless they are among the usual ones.
    labels : str or sequence of str, optional
        All possible labels; their order then counts as declared. By default the labels found, sorted.

    Returns
    -------
    DaskAnnotations
        Data for `fit` and `write_labels`. The annotations stay on the workers as long as this object exists.

    Raises
    ------
    ExtraError
        If Dask is not installed.
    DataFileError
        If the folder does not exist, or has no Parquet files.
    DataError
        If files differ in their columns, a column is not found, or rows are inconsistent.
    FitError
        If `client` is not a client, or the cluster fails.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> data = ba.distribute_annotations("answers", Client("tcp://10.0.0.1:8786"))  # doctest: +SKIP
    >>> fit = ba.fit("mace", data, method="em")  # doctest: +SKIP
    >>> ba.write_labels(fit, data, "labels")  # doctest: +SKIP
    """
    require_dask()
    check_client(client)
    declared = None if labels is None else name_labels(labels)
    table = open_partitions(source, {"item": item, "annotator": annotator, "label": label, "gold": gold})
    with explain_errors(), allow_large_tasks():
        found = add_all(client, _map_frames(client, table.frame, find_names, replace(table, frame=None)))
        spelt, known = spell_labels(found, declared, table.name)
        _warn_of_names(table, found, () if declared is not None else known)
        if not found.labels:
            raise DataError("there is no annotation: the table has no row with an item, an annotator and a label")
        parts = _bring_together(client, table, tuple(found.annotators), spelt, known, found.n_rows)
        items = DaskItems(client, parts, np.eye(len(known), dtype=bool))
        totals = items.add_up_parts(describe_part)
        counts = items.add_up(count_block_labels)
    digest = hashlib.sha256(json.dumps([list(found.annotators), known, totals.n_items, totals.digest]).encode())
    return DaskAnnotations(
        annotators=tuple(found.annotators),
        labels=known,
        n_items=totals.n_items,
        by_annotator=totals.by_annotator,
        label_shares=counts.average,
        label_alphas=counts.alphas,
        n_gold=totals.n_gold,
        hash=digest.hexdigest(),
        order_declared=declared is not None,
        on_workers=DaskItems(client, parts, items.names_class, totals),
        name=table.name,
    )


def _warn_of_names(table: PartitionedTable, found: FoundNames, labels: Sequence[str]) -> None:
    """Say which columns are left out, and warn of names as `read_annotations` does; of labels unless declared."""
    rest = [column for column in table.header if column not in table.columns.values()]
    if rest:
        log.info("%s: left out %s", table.name, listed(rest))
    said = doubt_names(labels=found.labels if labels else {}, annotators=found.annotators)
    if said:
        warn(f"{table.name}: {' '.join(said)}", NamesWarning)


@items_of.register
def _(data: DaskAnnotations) -> AddsUp:
    return data.on_workers


def link_block(block: PatternBlock) -> Links:
    """Return which annotators are linked by the items of a block."""
    said = block.answers.tocoo()
    pattern, cell = (part.astype(np.int64) for part in said.coords)
    n_patterns, n_cells = block.answers.shape
    return link_annotators(pattern, cell // block.n_labels, n_patterns, n_cells // block.n_labels)


@find_in_design.register
def _(data: DaskAnnotations) -> list[Finding]:
    return find_in_links(data.on_workers.add_up(link_block), data)


@parts_to_check.register
def _(data: DaskAnnotations, view: FitView, random_seed: Sequence[int]) -> list[FitPart]:
    share = min(1.0, MOST_ANSWERS / max(1, data.n_annotations))
    found = data.on_workers.add_up_parts(take_some, share, list(random_seed))
    begin = np.cumsum([0, *(len(names) for names, *_ in found)])
    names, gold, _, cell = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    items = tuple(map(str, names))
    some = AnnotationData(
        item=np.concatenate([row + first for (_, _, row, _), first in zip(found, begin[:-1], strict=True)]),
        annotator=cell // data.n_labels,
        label=cell % data.n_labels,
        items=items,
        annotators=data.annotators,
        labels=data.labels,
        order_declared=data.order_declared,
        gold={item: label for item, label in zip(items, gold, strict=True) if label},
    )
    shares = {str(name): values.values for name, values in view.tree["e_step"].data_vars.items()}
    model = require_updates(view.model, view.tree.attrs["method"])
    logs = read_log_posterior(make_blocks(some), model.log_probabilities(shares, some.names_class))
    dims, p = ("item", "true_class"), np.exp(logs)
    values = {PROBABILITY: (dims, p), LOG_PROBABILITY: (dims, logs), ENTROPY: ("item", measure_entropy(p))}
    return [FitPart(some, xr.Dataset(values, coords={"item": list(items), "true_class": list(some.classes)}))]


def require_distributed(data: Any, client: Client | None) -> DaskAnnotations:
    """Return annotations on the workers of a cluster, after reading them there if necessary.

    Raises
    ------
    FitError
        If a client is missing, or given without need; otherwise as for `distribute_annotations`.
    """
    if isinstance(data, DaskAnnotations):
        if client is not None and client is not data.on_workers.client:
            raise FitError("these annotations are on the cluster of another client: leave out client=...")
        return data
    if not is_remote(data):
        raise FitError(
            f"client=... is for a folder of Parquet files or a dask.dataframe, and {type(data).__name__} is in memory: "
            "leave it out"
        )
    if client is None:
        what = repr(str(data)) if isinstance(data, str | os.PathLike) else "a Dask DataFrame"
        raise FitError(
            f"{what} is read on a Dask cluster: give client=dask.distributed.Client(...); a file that fits into memory "
            "is read with read_annotations"
        )
    return distribute_annotations(data, client)


def _map_frames(client: Client, frame: Any, of_frame: Callable[..., Any], *arguments: Any) -> list[Future]:
    """Return the futures of a function applied to each partition of a Dask DataFrame."""
    from dask import delayed

    sent = delayed(itself)(arguments)
    return list(client.compute([delayed(_call)(part, of_frame, sent) for part in frame.to_delayed()]))


def _bring_together(
    client: Client,
    table: Any,
    annotators: Sequence[str],
    spelt: Mapping[str, str],
    labels: Sequence[str],
    n_rows: int,
) -> list[Future]:
    """Return the futures of the parts: each part has all annotations of its items."""
    from dask import delayed

    numbers = delayed(_number)(tuple(annotators))
    coded = table.frame.map_partitions(
        encode, replace(table, frame=None), numbers, dict(spelt), tuple(labels), meta=coded_types(table)
    )
    n_threads = max(1, sum(client.nthreads().values()))
    n_parts = max(math.ceil(n_rows / PART_ROWS), min(n_threads, math.ceil(n_rows / LEAST_ROWS)))
    n_parts = n_threads * math.ceil(n_parts / n_threads) if n_parts > n_threads else n_parts  # as many for each thread
    shuffled = coded.shuffle(on="item", npartitions=n_parts, shuffle_method="p2p")
    parts = [
        delayed(make_part)(part, number, len(annotators), tuple(labels), table.name)
        for number, part in enumerate(shuffled.to_delayed())
    ]
    return list(client.compute(parts))


def _call(first: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(first, *arguments)


def _number(names: Sequence[str]) -> dict[str, int]:
    return {name: code for code, name in enumerate(names)}
