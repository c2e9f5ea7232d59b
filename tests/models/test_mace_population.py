"""MACE with a population of annotators: what it learns, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.errors import FitError, ModelError

LEARNT = ba.models.MACE(competence_prior="learnt")
SETTINGS = {"draws": 400, "tune": 500, "chains": 2, "random_seed": 1, "progressbar": False}
SHORT = pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")  # of two short chains


@pytest.fixture(scope="module")
def crowd():
    """Forty annotators who know nine times in ten, of whom the last has one answer."""
    design = ba.make_design(items=150, annotators=40, labels=3, per_item=4, random_seed=1)
    given = {"competence": np.full(40, 0.9), "prevalence": np.full(3, 1 / 3)}
    made, _ = ba.simulate(ba.models.MACE(), design, parameters=given, random_seed=2)
    kept = np.delete(np.arange(made.n_annotations), np.flatnonzero(made.annotator == 39)[1:])
    return replace(made, item=made.item[kept], annotator=made.annotator[kept], label=made.label[kept])


@SHORT
def test_what_is_known_of_many_is_known_of_those_with_few_answers(crowd):
    learnt, fixed = (ba.fit(model, crowd, **SETTINGS) for model in (LEARNT, "mace"))
    posterior = learnt["posterior"]
    assert 0.82 < float(posterior["competence_mean"].mean()) < 0.95
    fewest = crowd.annotators[int(crowd.by_annotator.argmin())]
    sd = [float(fit["posterior"]["competence"].sel(annotator=fewest).std()) for fit in (learnt, fixed)]
    assert sd[0] < 0.7 * sd[1]


def test_em_and_modes_are_refused(crowd, refuses):
    with refuses(FitError, "mace has no EM with competence_prior='learnt': fit it by nuts"):
        ba.fit(LEARNT, crowd, method="em")
    with refuses(FitError, "mace has no VB with competence_prior='learnt': fit it by nuts"):
        ba.fit(LEARNT, crowd, method="vb")
    with refuses(FitError, "the density of mace is highest where all annotators are equal"):
        ba.find_modes(LEARNT, crowd)


def test_another_word_is_refused(refuses):
    with refuses(ModelError, "mace: competence_prior is 'learned': it must be 2 numbers .*, or 'learnt'"):
        ba.models.MACE(competence_prior="learned")
    assert ba.get_model("mace", {"competence_prior": "learnt"}) == LEARNT
