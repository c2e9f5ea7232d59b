"""Fixtures of the tests of models."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def fast_categorical_draws():
    """The same categorical draws, sooner: `test_generative_process` compares them."""
    from pytensor.tensor.random import basic

    from tests.models.graphs import search_sorted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(basic, "vsearchsorted", search_sorted)
        yield


def pytest_generate_tests(metafunc):
    """Run every test that takes an `any_case` for each model with each of its variants, of annotations or of counts."""
    if "any_case" in metafunc.fixturenames:
        from tests.models.contract import cases
        from tests.models.contract_counts import count_cases

        metafunc.parametrize("any_case", [*cases(), *count_cases()], indirect=True, scope="session")


@pytest.fixture(scope="session")
def any_case(request):
    """One model, with its independent reference."""
    from tests.models.contract_counts import make_any_case

    return make_any_case(*request.param)
