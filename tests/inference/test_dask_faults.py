"""A Dask cluster that breaks: lost workers change nothing, and a failed cluster gives an error of one line."""

import os
import signal
import subprocess
import sys

import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.inference.dask import annotations as of_dask
from bayesanno.inference.dask import cluster as of_cluster
from tests.samples import write_parts

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own reader of Parquet, pandas 3.1
SETTINGS = {"random_seed": 1, "progressbar": False, "draws": 50, "method_options": {"restarts": 1}}
STOPPED = "cluster failed: its scheduler has stopped or restarted, or the client is closed, .* read the data again"


@pytest.fixture(scope="module")
def folder(crowd, tmp_path_factory):
    return write_parts(crowd[0].to_frame(), tmp_path_factory.mktemp("spread") / "answers", 4)


def cluster(**options):
    return distributed.LocalCluster(
        **{"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50} | options
    )


@pytest.fixture(scope="module")
def of_processes():
    """A client of two processes."""
    with (
        pytest.MonkeyPatch.context() as patch,
        cluster(processes=True) as made,
        distributed.Client(made) as client,
    ):
        patch.setattr(of_dask, "PART_ROWS", 600)
        yield client


class TestWorkers:
    @pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")
    def test_those_that_are_killed_within_an_iteration_change_nothing(
        self, folder, of_processes, monkeypatch, tmp_path
    ):
        client = of_processes
        there = ba.distribute_annotations(folder, client)
        whole = ba.fit("mace", there, method="vb", **SETTINGS)
        pids, add_all, calls = client.run(os.getpid), of_dask.add_all, []

        def kill_at_the_fifth(client, sums):
            calls.append(len(sums))
            if len(calls) == 5:  # the tasks of this step are on their way
                holds = {worker for workers in client.who_has(there.on_workers.parts).values() for worker in workers}
                for worker in sorted(pids, key=lambda worker: (worker not in holds, worker))[:2]:
                    os.kill(pids[worker], signal.SIGKILL)
            return add_all(client, sums)

        monkeypatch.setattr(of_dask, "add_all", kill_at_the_fifth)
        broken = ba.fit("mace", there, method="vb", **SETTINGS)
        assert len(calls) > 10
        assert len(set(pids.values()) - set(client.run(os.getpid).values())) == 2
        written = ba.write_labels(broken, there, tmp_path / "labels")
        xr.testing.assert_equal(broken["posterior"].to_dataset(), whole["posterior"].to_dataset())
        assert (written.n_items, written.n_gold) == (400, 400)
        assert broken.attrs["diagnostics"] == whole.attrs["diagnostics"]

    def test_none_that_runs(self, folder, monkeypatch, refuses):
        monkeypatch.setattr(of_cluster, "LOOK_EVERY", 0.05)
        monkeypatch.setattr(of_cluster, "LONGEST_WAIT", 0.2)
        # without a limit nothing looks at memory, and lets them go on
        with cluster(processes=False, memory_limit=None) as made, distributed.Client(made) as client:
            there = ba.distribute_annotations(folder, client)
            for worker in made.workers.values():
                worker.status = distributed.Status.paused
            with refuses(FitError, "for 0 s all workers were paused, .* memory is full: give them more"):
                ba.fit("mace", there, method="em", **SETTINGS)
            for worker in made.workers.values():
                worker.status = distributed.Status.running
            assert ba.fit("mace", there, method="em", **SETTINGS).attrs["method"] == "em"
            made.scale(0)
            with refuses(FitError, "for 0 s there was no worker: start some"):
                ba.fit("mace", there, method="em", **SETTINGS)


class TestScheduler:
    def test_one_that_is_killed_within_an_iteration(self, folder, monkeypatch, refuses, tmp_path):
        monkeypatch.setattr(of_cluster, "LOOK_EVERY", 0.05)
        script = (
            "import distributed, time\n"
            "made = distributed.LocalCluster(1, processes=False, protocol='tcp', dashboard_address='127.0.0.1:0')\n"
            "print(made.scheduler_address, flush=True); time.sleep(600)"
        )
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            try:
                with of_cluster.connect(process.stdout.readline().strip()) as client:
                    data = ba.distribute_annotations(folder, client)
                    fit = ba.fit("mace", data, method="em", **SETTINGS)
                    add_all, calls = of_dask.add_all, []

                    def kill_at_the_fifth(client, sums):
                        calls.append(len(sums))
                        if len(calls) == 5:
                            process.kill()
                        return add_all(client, sums)

                    monkeypatch.setattr(of_dask, "add_all", kill_at_the_fifth)
                    with refuses(FitError, STOPPED):
                        ba.fit("mace", data, method="vb", **SETTINGS)
                    assert len(calls) >= 5
                    with refuses(FitError, STOPPED):
                        ba.write_labels(fit, data, tmp_path / "labels")
                    assert list(tmp_path.iterdir()) == []
            finally:
                process.kill()

    @pytest.mark.parametrize(
        ("error", "match"),
        [
            (distributed.KilledWorker("step", None, 1), "2 workers were lost at the same task, .* more memory"),
            (RuntimeError("P2P 12 failed during transfer phase"), "annotations of each item: P2P 12 failed"),
        ],
    )
    def test_its_errors_are_one_line(self, error, match, refuses):
        with refuses(FitError, match), of_cluster.explain_errors():
            raise error
        with pytest.raises(RuntimeError, match="of ours"), of_cluster.explain_errors():
            raise RuntimeError("of ours")
