"""EM and VB on a Dask cluster of this machine: seconds and memory by annotations, annotators and workers.

    uv run --extra dask python tests/benchmarks/dask_scale.py --annotations 1000000 10000000 --workers 2

A folder of Parquet files is made for each table and deleted after: three labels, five answers an item, each of them in
another file, and confusion matrices of the annotators' own. There is one start; of ten, the default, steps are as many
times more. Printed are

- seconds, and in brackets those of processors, of workers and client together: of reading the files and bringing items
  together; of a step by each method, the median; of all else in a fit (the design, the vote, where starts differ; of VB
  the log likelihood of draws); of writing labels,
- the most resident memory of a worker, and of the client, which is the scheduler too, in MiB: when all is read, and in
  all. It is read as Linux has it.

An estimate for a cluster, not a measurement: with 100 cores, 100 million annotations and 10,000 annotators a step takes
.2 s, a twentieth of the time on one core. Most of it is the scheduler's (1.2 ms for each of 117 tasks), which can keep
about 30 cores busy whatever the size of the table; a tenth is network.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster

import bayesanno as ba
from bayesanno.inference.em_vb.em import EM
from bayesanno.inference.em_vb.vb import VB

LABELS, PER_ITEM, FILE_ROWS = np.array(["a", "b", "c"]), 5, 1_000_000


def write_table(folder: Path, n: int, n_annotators: int) -> None:
    """Write about n answers; a file has one answer of each of up to a million items."""
    rng = np.random.default_rng([n, n_annotators])
    n_items, n_labels = n // PER_ITEM, len(LABELS)
    right = rng.beta(6, 3, size=(n_annotators, n_labels, 1))
    confusion = right * np.eye(n_labels) + (1 - right) * rng.dirichlet(np.ones(n_labels), (n_annotators, n_labels))
    below = confusion.cumsum(axis=-1)
    for first in range(0, n_items, FILE_ROWS):
        item = np.arange(first, min(first + FILE_ROWS, n_items))
        truth = rng.choice(n_labels, item.size, p=[0.5, 0.3, 0.2])
        for answer in range(PER_ITEM):
            annotator = rng.integers(n_annotators, size=item.size)
            label = (rng.uniform(size=(item.size, 1)) > below[annotator, truth]).sum(axis=1).clip(max=n_labels - 1)
            table = {"item": _name("i", item), "annotator": _name("w", annotator), "label": pa.array(LABELS[label])}
            pq.write_table(pa.table(table), folder / f"part{answer}-{first // FILE_ROWS}.parquet")


def _name(letter: str, number: np.ndarray) -> Any:
    return pa.array(np.char.add(letter, number.astype(str)))


def most_memory() -> float:
    """Return the most resident memory of this process, in MiB."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


class Clock:
    """Seconds, and those that processes of this machine have had of its processors."""

    def __init__(self, pids: Sequence[int] = ()) -> None:
        self.processes = [psutil.Process(pid) for pid in pids]

    def read(self) -> np.ndarray:
        """Return both, since some moment."""
        cpu = sum(times.user + times.system for times in (process.cpu_times() for process in self.processes))
        return np.array([time.perf_counter(), cpu])

    @contextmanager
    def into(self, took: list[np.ndarray]) -> Iterator[None]:
        """Add to a list how long the block takes."""
        begin = self.read()
        yield
        took.append(self.read() - begin)


def time_steps(problem: type[EM] | type[VB], clock: Clock, steps: list[np.ndarray]) -> None:
    """From now on, add to a list how long every step of a method takes."""
    step = problem.step

    def timed(self: Any, *arguments: Any, **options: Any) -> Any:
        with clock.into(steps):
            return step(self, *arguments, **options)

    problem.step = timed  # type: ignore[method-assign]


def measure(
    folder: Path, n_workers: int, clock: Clock, steps: list[np.ndarray], options: argparse.Namespace
) -> dict[str, Any]:
    """Read and fit the table of a folder on so many workers, of one thread each."""
    found: dict[str, Any] = {}
    took: list[np.ndarray] = []
    Path("/proc/self/clear_refs").write_text("5")  # the most memory of this process is from now on
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=f"{options.memory / n_workers:.2f}GiB",
            dashboard_address="127.0.0.1:0", silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        clock.processes = [psutil.Process(pid) for pid in (os.getpid(), *client.run(os.getpid).values())]
        with clock.into(took):
            data = ba.distribute_annotations(folder, client)
        found["read"] = took[-1]
        found |= {"worker, read": max(client.run(most_memory).values()), "client, read": most_memory()}
        for method in options.methods:
            steps.clear()
            climb = {"restarts": 1, "steps": options.steps, "tolerance": 1e-300}
            with clock.into(took):
                fit = ba.fit(options.model, data, method=method, method_options=climb, random_seed=1, progressbar=False)
            found[f"{method} step"] = np.median(steps, axis=0)
            found[f"{method} else"] = took[-1] - np.sum(steps, axis=0)
        with clock.into(took):
            ba.write_labels(fit, data, folder / "labels")
        found |= {"write": took[-1], "worker": max(client.run(most_memory).values()), "client": most_memory()}
    shutil.rmtree(folder / "labels")
    return found


def main() -> None:
    """Measure each table on each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--annotations", nargs="+", type=int, default=[1_000_000, 10_000_000])
    parser.add_argument("--annotators", nargs="+", type=int, default=[1_000])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--methods", nargs="+", default=["em", "vb"])
    parser.add_argument("--model", default="model_b")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--memory", type=float, default=12.0, help="GiB of all workers together")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    clock, steps = Clock(), []
    for problem in (EM, VB):
        time_steps(problem, clock, steps)
    for n, n_annotators in product(options.annotations, options.annotators):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_table(folder, n, n_annotators)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
            print(f"{n:,} annotations, {n_annotators:,} annotators: {size:.0f} MiB", flush=True)
            for n_workers in options.workers:
                found = measure(folder, n_workers, clock, steps, options)
                print(f"    {n_workers} workers:", "; ".join(f"{what} {said(value)}" for what, value in found.items()))


def said(value: Any) -> str:
    """Return memory, or seconds with those of processors in brackets, as text."""
    return f"{value:.0f}" if np.ndim(value) == 0 else "{:.3g} ({:.3g})".format(*value)


if __name__ == "__main__":
    main()
