"""Fixtures that several test modules use."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

from bayesanno.errors import BayesannoError

# A time limit per example says more about the machine than about the code.
settings.register_profile("bayesanno", deadline=None)
settings.load_profile("bayesanno")


@pytest.fixture(scope="session")
def shared():
    """The folder of larger data sets beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"the data of this test are not here: no folder {folder}")
    return folder


@pytest.fixture(scope="session")
def refuses():
    """A context in which an error must be raised, be one of ours, match, and be one line."""

    @contextmanager
    def check(error, match):
        with pytest.raises(error, match=match) as caught:
            yield caught
        assert isinstance(caught.value, BayesannoError)
        assert len(str(caught.value).splitlines()) == 1

    return check
