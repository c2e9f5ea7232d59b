"""A Dask cluster: connections, sums on its workers, and explanations of its failures.

The invariant: every wait for a cluster ends, with a result or an error of one line. A lost worker is not an error: Dask
computes its results again elsewhere.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import pairwise
from operator import add
from threading import Event
from typing import TYPE_CHECKING, Any

from bayesanno._core.messages import FitError
from bayesanno._core.running import quiet_logger
from bayesanno.io.partitioned import require_dask

if TYPE_CHECKING:
    from dask.distributed import Client, Future

FAN_IN = 8  # sums that one task adds up
TIMEOUT = "10 s"  # to reach a scheduler
LOOK_EVERY = 10.0  # seconds between looks at workers, while a result is waited for
# Settings of glibc that keep the memory of a block of items for the next one. With Dask's defaults it is returned, and
# allocating it again, page by page, takes longer than the computation.
MALLOC_SETTINGS = {"MALLOC_MMAP_THRESHOLD_": 2**25, "MALLOC_TRIM_THRESHOLD_": 2**28}
STOPPED = (
    "the Dask cluster failed: its scheduler has stopped or restarted, or the client is closed, so the data there are "
    "lost: check that the cluster runs, and read the data again"
)
LONGEST_WAIT = 300.0  # seconds without a running worker, after which a wait ends


def check_client(client: Any) -> None:
    """Raise a FitError unless this is a client of a Dask cluster."""
    from distributed import Client

    if not isinstance(client, Client):
        raise FitError(f"client is {client!r}: it must be a dask.distributed.Client, as Client('tcp://10.0.0.1:8786')")


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """Yield a client of the scheduler at an address, or of a cluster on the cores of this machine ("local").

    Raises
    ------
    ExtraError
        If Dask is not installed.
    FitError
        If there is no scheduler at the address.
    """
    require_dask()
    import dask
    from distributed import Client
    from distributed.comm import resolve_address

    # their long log messages repeat our errors
    with quiet_logger("distributed", logging.CRITICAL), quiet_logger("distributed.client", logging.CRITICAL):
        if address == "local":
            with dask.config.set(
                {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in MALLOC_SETTINGS.items()}
            ):
                client = Client(
                    n_workers=os.cpu_count() or 1,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
        else:
            try:
                resolve_address(address)  # a client with an invalid address would stay Dask's default, and close late
                client = Client(address, timeout=TIMEOUT)
            except (OSError, ValueError, TypeError) as error:
                reason = " ".join(str(error).split())
                raise FitError(
                    f"there is no Dask scheduler at {address!r} ({reason}): start one with `dask scheduler` and give "
                    "its address, such as tcp://10.0.0.1:8786, or 'local'"
                ) from None
        with client:
            yield client


def add_all(client: Client, sums: Sequence[Future]) -> Any:
    """Return the sum of the results of tasks, added up on the workers in a fixed order; the tasks are released.

    Raises
    ------
    FitError
        If the cluster fails.
    """
    level = list(sums)
    with explain_errors():
        while len(level) > 1:
            n_groups = math.ceil(len(level) / FAN_IN)
            ends = [len(level) * at // n_groups for at in range(n_groups + 1)]
            level = client.map(_add, [level[a:b] for a, b in pairwise(ends)], pure=False)
        return wait_for(client, level[0])


def _add(sums: Sequence[Any]) -> Any:
    return reduce(add, sums)


def wait_for(client: Client, task: Future) -> Any:
    """Return the result of a task, as long as workers run.

    Raises
    ------
    FitError
        If no worker has run for long: there is none, or Dask has paused all because their memory is full.
    """
    done = Event()
    task.add_done_callback(lambda _: done.set())
    running = time.monotonic()
    while not done.wait(LOOK_EVERY):  # a TimeoutError of Dask would keep references to all tasks of this step
        if client.status != "running":  # it may reconnect, but the scheduler has lost the task
            raise FitError(STOPPED)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if any(worker["status"] == "running" for worker in workers):
            running = time.monotonic()
        elif time.monotonic() - running > LONGEST_WAIT:
            why = "all workers were paused, since their memory is full: give them more, or start more workers"
            why = why if workers else "there was no worker: start some"
            raise FitError(f"the Dask cluster failed: for {LONGEST_WAIT:.0f} s {why}")
    return task.result()


@contextmanager
def explain_errors() -> Iterator[None]:
    """Replace the errors of a failed cluster by one line."""
    from distributed import CancelledError, KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm.core import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise FitError(
            f"the Dask cluster failed: {error.allowed_failures + 1} workers were lost at the same task, probably for "
            "lack of memory: give workers more memory, or fewer threads each; their logs have details"
        ) from error
    except (CancelledError, CommClosedError, ClosedClientError) as error:
        raise FitError(STOPPED) from error
    except (OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        if not reason.startswith("P2P"):  # the name of Dask's shuffle, in all its errors
            raise
        raise FitError(f"the Dask cluster failed to collect the annotations of each item: {reason}") from error


@contextmanager
def allow_large_tasks() -> Iterator[None]:
    """Suppress Dask's warning about large arguments: parameters of many annotators are large, and sent every step."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        yield
