"""Power-scaling: slopes against exact posteriors under stronger and weaker priors, and against fits with them."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.agreement.behaviour import count_usage
from bayesanno.ground.errors import FitError
from bayesanno.models.label_usage import LabelUsage
from tests.inference.exact import exact_posterior
from tests.samples import SETTINGS, tiny_data

STEP = 0.02  # of log2(alpha), for derivatives of what is known exactly


def tempered(log2_alpha):
    """The exact posterior of model B with its prior to the power alpha: a Beta's a is alpha (a - 1) + 1, and so on."""
    alpha, model = 2.0**log2_alpha, ba.models.ModelB()
    right = alpha * (model.confusion_strength * model.confusion_accuracy - 1) + 1
    wrong = alpha * (model.confusion_strength * (1 - model.confusion_accuracy) - 1) + 1
    return exact_posterior(
        tiny_data(),
        prevalence_prior=alpha * (model.prevalence_prior - 1) + 1,
        strength=right + wrong,
        accuracy=right / (right + wrong),
    )


@pytest.fixture(scope="module")
def slopes():
    """By how much doubling the prior moves the exact posterior means, and the label probabilities."""
    more, less = tempered(STEP), tempered(-STEP)
    names = ("prevalence", "confusion", "probability")
    return {name: (getattr(more, name) - getattr(less, name)) / (2 * STEP) for name in names}


def test_slopes_of_the_prior_are_those_of_exact_posteriors(tiny_fit, slopes):
    table = ba.power_scaling_table(tiny_fit, ["prevalence", "confusion"])
    expected = np.concatenate([slopes["prevalence"].ravel(), slopes["confusion"].ravel()])
    assert (np.abs(table["prior_slope"] - expected) < 4.5 * table["prior_slope_mcse"]).all()
    assert np.corrcoef(table["prior_slope"], expected)[0, 1] > 0.9
    assert np.abs(expected).max() > 10 * table["prior_slope_mcse"].min()


def test_slopes_of_labels_are_those_of_exact_posteriors(tiny_fit, slopes):
    table = ba.label_power_scaling(tiny_fit).set_index("item")
    data, exact = ba.data_of(tiny_fit), tempered(0).probability
    best = np.array([data.classes.index(label) for label in table.loc[list(data.items), "label"]])
    rows = np.arange(data.n_items)
    np.testing.assert_allclose(table.loc[list(data.items), "probability"], exact[rows, best], atol=0.03)
    np.testing.assert_allclose(
        table.loc[list(data.items), "prior_slope"], slopes["probability"][rows, best], atol=0.015
    )
    # with two labels, the runner-up gains what the label loses
    margin = 2 * table["probability"] - 1
    np.testing.assert_allclose(table["doublings"], margin / (-2 * table["prior_slope"]), rtol=1e-9)
    assert np.abs(table["doublings"]).is_monotonic_increasing


def test_both_slopes_of_a_dirichlet_are_known():
    """Label usage: with alpha, the posterior has (alpha (a - 1) + 1 + n), or (a + alpha n)."""
    data = tiny_data()
    fit = ba.fit(LabelUsage(centre="even", usage_prior=3.0), data, **SETTINGS)
    table = ba.power_scaling_table(fit)
    counts = count_usage(data)

    def mean(prior, n):
        return (prior + n) / (prior + n).sum(axis=1, keepdims=True)

    up, down = 2.0**STEP, 2.0**-STEP
    by_prior = (mean(up * 2 + 1, counts) - mean(down * 2 + 1, counts)) / (2 * STEP)
    by_data = (mean(3.0, up * counts) - mean(3.0, down * counts)) / (2 * STEP)
    for what, expected in (("prior", by_prior), ("likelihood", by_data)):
        found, error = table[f"{what}_slope"], table[f"{what}_slope_mcse"]
        assert (np.abs(found - expected.ravel()) < 4.5 * error).all(), what
    np.testing.assert_allclose(table["mean"], mean(3.0, counts).ravel(), atol=0.02)
    assert table["parameter"].tolist()[0] == "usage[ada, no]"


def test_a_prior_that_the_data_outweigh_moves_nothing(mace_fit):
    """4 annotators of 400 items and more would be sure; of 30 with 55 answers each the prevalence is."""
    table = ba.power_scaling_table(mace_fit, ["prevalence"])
    assert (table["prior"] < 0.05).all()
    assert (table["diagnosis"] == "").all()
    assert (np.abs(table["prior_slope"]) < table["sd"]).all()


def test_only_the_priors_that_are_asked_for_are_scaled(tiny_fit):
    both = ba.power_scaling_table(tiny_fit, ["prevalence"])
    parts = [
        ba.power_scaling_table(tiny_fit, ["prevalence"], prior_var_names=[name]) for name in ("prevalence", "confusion")
    ]
    np.testing.assert_allclose(both["prior_slope"], sum(part["prior_slope"] for part in parts), rtol=1e-9)
    assert not np.allclose(both["prior_slope"], parts[0]["prior_slope"])


def test_what_cannot_be_scaled_is_refused(refuses, tiny_fit, crowd):
    with refuses(FitError, "the fit has no variable 'confusing': it has "):
        ba.power_scaling_table(tiny_fit, ["confusing"])
    with refuses(FitError, "the fit has no prior of 'accuracy': it has those of "):
        ba.power_scaling_table(tiny_fit, prior_var_names=["accuracy"])
    point = ba.fit("mace", crowd[0], method="em", random_seed=1, progressbar=False)
    for call in (ba.power_scaling_table, ba.label_power_scaling):
        with refuses(FitError, "is one point, and says nothing on how sure it is: power-scaling takes draws"):
            call(point)
    without = tiny_fit.copy()
    del without["log_likelihood"]
    with refuses(FitError, "the fit has no group log_likelihood, which power-scaling needs: compute_log_likelihood"):
        ba.power_scaling_table(without)
