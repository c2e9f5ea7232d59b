"""Large fits that nobody holds are freed when the next one is made or read, and not when Python has counted enough."""

import gc
import math
import weakref

import pytest

import bayesanno as ba
from bayesanno.fits import storage
from tests.samples import tiny_data


@pytest.fixture
def no_other_collection():
    """Python's own counting is out of the way; what is asked for by name is done, and older objects are left out."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(1_000_000_000)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def fit():
    once = {"method": "em", "method_options": {"restarts": 1}, "check": False, "random_seed": 1, "progressbar": False}
    return ba.fit("one_coin", tiny_data(), **once)


@pytest.mark.usefixtures("no_other_collection")
@pytest.mark.parametrize(("large", "alive"), [(0, 1), (math.inf, 4), (None, 4)], ids=["large", "small", "off"])
def test_fits_that_nobody_holds_are_freed_if_large_and_the_collector_is_on(monkeypatch, large, alive):
    monkeypatch.setattr(storage, "LARGE_FIT", large or 0)
    held = fit()
    if large is None:
        gc.disable()
    try:
        made = [weakref.ref(fit()) for _ in range(4)]
    finally:
        gc.enable()
    assert sum(one() is not None for one in made) == alive  # trees are cycles; else none of this would be needed
    assert held.attrs["model"] == "one_coin"


@pytest.mark.usefixtures("no_other_collection")
def test_so_are_fits_that_were_read(monkeypatch, tmp_path):
    ba.save(fit(), tmp_path / "fit.nc")
    monkeypatch.setattr(storage, "LARGE_FIT", 0)
    read = [weakref.ref(ba.load(tmp_path / "fit.nc")) for _ in range(4)]
    assert sum(one() is not None for one in read) == 1
