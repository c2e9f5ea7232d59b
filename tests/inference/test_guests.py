"""Fits of a model that most of the zoo is unlike: items have parameters of their own."""

from dataclasses import replace

import pytest

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.modeling.posterior import recover
from tests.analysis.made import from_prior
from tests.models.guests import OF_PAGE
from tests.samples import tiny_data


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")
def test_items_with_parameters_are_labelled_and_not_predicted(refuses):
    data = tiny_data()
    fit = from_prior(OF_PAGE.LapseDifficulty(), data)
    assert fit["posterior"]["difficulty"].sizes["item"] == len(ba.label_table(fit)) == data.n_items
    with refuses(FitError, "items have their own parameters in lapse_difficulty, which new items lack"):
        ba.predict_labels(fit, data)
    others = replace(data, items=tuple(f"new {name}" for name in data.items), gold={})
    with refuses(FitError, "items have parameters of their own in lapse_difficulty, and these are of other items"):
        recover(OF_PAGE.LapseDifficulty(), others, fit["posterior"].to_dataset())
