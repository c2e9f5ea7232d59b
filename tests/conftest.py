"""Fixtures that several test modules use."""

import gc
import os
import pickle
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings

from bayesanno._core.messages import BayesannoError

# Tests start many processes, and where bytecode may not be kept each of them compiles PyMC, SciPy and the rest again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Each core has a worker, and threads of BLAS that wait for each other take the time of the other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# PyTensor notes where in the code each operation of a graph was made, which takes a fifth of the time of small fits.
# For operations with a graph inside it runs a C compiler, also where NumPy evaluates.
os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), "traceback__limit=0", "cxx="]))

# Tests interrupt fits; what a shell starts in the background ignores that, and so do the processes it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Graphs and compiled code are many objects that stay: to look through them seldom saves a tenth of the time.
gc.set_threshold(200_000, 50, 100)

# A time limit per example says more about the machine than about the code.
settings.register_profile("bayesanno", deadline=None)
settings.load_profile("bayesanno")

pytest.register_assert_rewrite("tests.models.contract", "tests.models.contract_counts")

SEED = 20080530


@pytest.fixture(scope="session")
def shared():
    """The folder of larger data sets beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"the data of this test are not here: no folder {folder}")
    return folder


@pytest.fixture(scope="session")
def refuses():
    """A context in which an error must be raised, be one of ours, match, and be one line, before commands that "
    "answer it."""

    @contextmanager
    def check(error, match):
        with pytest.raises(error, match=match) as caught:
            yield caught
        assert isinstance(caught.value, BayesannoError)
        first, *commands = str(caught.value).splitlines()
        assert first.strip()
        assert all(line.startswith(("  ba.read_table(", "  bayesanno read ")) for line in commands)
        assert len(commands) <= 3

    return check


@pytest.fixture
def rng(request):
    """A generator with a seed of its own for each test, the same in every run."""
    return np.random.default_rng([SEED, crc32(request.node.nodeid.encode())])


def pytest_collection_finish():
    """Leave what is imported out of each search for garbage."""
    gc.freeze()


def pytest_generate_tests(metafunc):
    """Run every test that takes a `case`, or of counts a `counted`, for each such model with each of its variants."""
    if "case" in metafunc.fixturenames:
        from tests.models.contract import cases

        metafunc.parametrize("case", cases(), indirect=True, scope="session")
    if "counted" in metafunc.fixturenames:
        from tests.models.contract_counts import count_cases

        metafunc.parametrize("counted", count_cases(), indirect=True, scope="session")


@pytest.fixture(scope="session")
def case(request):
    """One model of the zoo, with its independent reference."""
    from tests.models.contract import make_case

    return make_case(*request.param)


@pytest.fixture(scope="session")
def counted(request):
    """One model of counts, with its independent reference."""
    from tests.models.contract_counts import CountCase

    return CountCase(*request.param)


@pytest.fixture(params=["free", "controlled"])
def tiny(request, case):
    """The tiny design, without and with items whose true label is known."""
    if request.param == "controlled" and not case.entry.takes_controls:
        pytest.skip(f"{case.entry.name} takes no controls")
    return case.designs.controlled if request.param == "controlled" else case.designs.tiny


@pytest.fixture(scope="module")
def by_numpy():
    """PyTensor's functions are evaluated by NumPy: for what a formula says, and not how fast, and called few times."""
    import pytensor

    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="session")
def crowd():
    """A simulated data set with gold, and the parameters that made it."""
    from tests.samples import simulate_crowd

    return simulate_crowd()


@pytest.fixture(scope="session")
def once_per_run(tmp_path_factory, worker_id):
    """A function that makes something under a name, or reads what another worker made under it."""

    def make_or_read(name, make):
        if worker_id == "master":  # the only one
            return make()
        file = tmp_path_factory.getbasetemp().parent / f"{name}.pickle"
        if file.exists():
            return pickle.loads(file.read_bytes())
        made = make()
        unfinished = file.with_suffix(f".{worker_id}")
        unfinished.write_bytes(pickle.dumps(made))
        unfinished.replace(file)
        return made

    return make_or_read


@pytest.fixture(scope="session")
def mace_fit(crowd, once_per_run):
    """MACE by NUTS on the simulated data set."""
    import bayesanno as ba
    from tests.samples import SETTINGS

    return once_per_run("mace_fit", lambda: ba.fit("mace", crowd[0], **SETTINGS))


@pytest.fixture(scope="session")
def tiny_fit(once_per_run):
    """Model B by NUTS on the tiny data set, with gold for three items."""
    import bayesanno as ba
    from tests.samples import SETTINGS, tiny_data

    gold = {"s1": "yes", "s2": "no", "s4": "yes"}
    return once_per_run("tiny_fit", lambda: ba.fit("model_b", tiny_data(gold=gold), **SETTINGS))
