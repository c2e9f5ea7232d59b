"""Fixtures of the tests of models."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def fast_categorical_draws():
    """The same categorical draws, sooner: `test_generative_process` compares them."""
    from pytensor.tensor.random import basic

    from tests.models.contract import search_sorted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(basic, "vsearchsorted", search_sorted)
        yield
