"""MACE with a population of annotators: what it refuses. Its prior is in the contract, its posterior in SBC."""

import pytest

import bayesanno as ba
from bayesanno._core.errors import FitError, ModelError
from tests.samples import tiny_data

LEARNT = ba.models.MACE(competence_prior="learnt")


@pytest.mark.parametrize("method", ["em", "vb"])
def test_methods_without_it_are_refused(method, refuses):
    with refuses(FitError, f"mace has no {method.upper()} with competence_prior='learnt'"):
        ba.fit(LEARNT, tiny_data(), method=method)


def test_modes_and_another_word_are_refused(refuses):
    with refuses(FitError, "highest where all annotators are equal"):
        ba.find_modes(LEARNT, tiny_data())
    with refuses(ModelError, "competence_prior is 'learned': it must be 2 numbers .*, or 'learnt'"):
        ba.models.MACE(competence_prior="learned")
