"""MACE's class prior: what each fails on, what is said beforehand, and that what is no riddle is passed over."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.models import MACE
from tests.samples import tabulate


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
