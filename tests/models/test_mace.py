"""MACE: what a class prior fails on, and what a population of annotators refuses. Its prior is in the contract."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import FitError, ModelError
from bayesanno.models import MACE
from tests.samples import tabulate, tiny_data


def rare_class(rng, share=0.05, items=200, annotators=3, right=0.95):
    truth = (rng.uniform(size=items) < share).astype(int)
    return tabulate(truth, [np.where(rng.uniform(size=items) < right, truth, 1 - truth) for _ in range(annotators)])


@pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")  # Pareto k
def test_a_rare_class_is_taken_for_a_habit_by_the_uniform_prior_alone():
    data = rare_class(np.random.default_rng(3))
    accuracy, competence = {}, {}
    for prior in ("learnt", "uniform"):
        with pytest.warns(ba.errors.IdentifiabilityWarning, match="^class-(or|not)-habit: 94%"):
            fit = ba.fit(MACE(class_prior=prior), data, method="vb", check=False, random_seed=1, progressbar=False)
        labels = ba.label_table(fit)
        accuracy[prior] = (labels["label"] == labels["gold"]).mean()
        competence[prior] = ba.annotator_table(fit)["competence_mean"]
    assert accuracy["learnt"] >= 0.98
    assert competence["learnt"].min() > 0.7
    assert accuracy["uniform"] < 0.93
    assert competence["uniform"].max() < 0.1


def test_answers_that_are_all_the_same_are_a_riddle_too():
    data = tabulate([0] * 50, [[0] * 50, [0] * 50])
    (found,) = MACE().findings(data)
    assert (found.code, found.value) == ("class-or-habit", None)  # there is no alpha


LEARNT = MACE(competence_prior="learnt")


@pytest.mark.parametrize("method", ["em", "vb"])
def test_methods_without_it_are_refused(method, refuses):
    with refuses(FitError, f"mace has no {method.upper()} with competence_prior='learnt'"):
        ba.fit(LEARNT, tiny_data(), method=method)


def test_modes_and_another_word_are_refused(refuses):
    with refuses(FitError, "highest where all annotators are equal"):
        ba.find_modes(LEARNT, tiny_data())
    with refuses(ModelError, "competence_prior is 'learned': it must be 2 numbers .*, or 'learnt'"):
        MACE(competence_prior="learned")
