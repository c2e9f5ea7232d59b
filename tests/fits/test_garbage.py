"""Fits that nobody holds are freed once they are many bytes, and not when Python has counted enough objects."""

import gc
import math
import weakref

import pytest

import bayesanno as ba
from bayesanno.fits import garbage
from tests.samples import tiny_data


@pytest.fixture
def no_other_collection():
    """Python's own counting is out of the way; what is asked for by name is done."""
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1_000_000_000)
    yield
    gc.set_threshold(*before)


def fit():
    return ba.fit("one_coin", tiny_data(), method="em", random_seed=1, progressbar=False)


@pytest.mark.usefixtures("no_other_collection")
@pytest.mark.parametrize(("fits", "alive"), [(4, 4), (math.inf, 12)], ids=["by bytes", "never"])
def test_fits_that_nobody_holds_are_freed(monkeypatch, fits, alive):
    held = fit()
    monkeypatch.setattr(garbage, "MOST_BYTES", fits * held.nbytes)
    monkeypatch.setattr(garbage, "_made", 0)
    made = [weakref.ref(fit()) for _ in range(12)]
    assert sum(one() is not None for one in made) <= alive
    if fits == math.inf:
        assert all(one() is not None for one in made)  # trees are cycles; else none of this would be needed
    assert held.attrs["model"] == "one_coin"


@pytest.mark.usefixtures("no_other_collection")
def test_so_are_fits_that_were_read(monkeypatch, tmp_path):
    one = fit()
    ba.save(one, tmp_path / "fit.nc")
    monkeypatch.setattr(garbage, "MOST_BYTES", 4 * one.nbytes)
    monkeypatch.setattr(garbage, "_made", 0)
    read = [weakref.ref(ba.load(tmp_path / "fit.nc")) for _ in range(12)]
    assert sum(one() is not None for one in read) <= 5


@pytest.mark.usefixtures("no_other_collection")
def test_who_turned_the_collector_off_meant_it(monkeypatch):
    monkeypatch.setattr(garbage, "MOST_BYTES", 0)
    gc.disable()
    try:
        made = [weakref.ref(fit()) for _ in range(3)]
    finally:
        gc.enable()
    assert all(one() is not None for one in made)
