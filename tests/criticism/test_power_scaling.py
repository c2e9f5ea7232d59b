"""Power-scaling: slopes against exact posteriors under stronger and weaker priors, and against fits with them."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.criticism.power_scaling import BY_BOTH, BY_PRIOR, _adjust_p
from bayesanno.models.label_usage import LabelUsage
from tests.analysis.made import from_prior
from tests.inference.draws import make_quiet_fit
from tests.inference.exact import exact_posterior
from tests.models.contract import as_posterior
from tests.samples import tiny_data

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
    names = ("prevalence", "confusion", "accuracy", "probability")
    return {name: (getattr(more, name) - getattr(less, name)) / (2 * STEP) for name in names}


@pytest.fixture(scope="module")
def own(tiny_fit):
    return ba.power_scaling_table(tiny_fit)


def test_slopes_of_the_prior_are_those_of_exact_posteriors(own, slopes):
    names = ("prevalence", "confusion", "accuracy")
    table = pd.concat([own[own["parameter"].str.startswith(name)] for name in names])
    expected = np.concatenate([slopes[name].ravel() for name in names])
    assert (np.abs(table["prior_slope"] - expected) < 4.5 * table["prior_slope_mcse"]).all()
    assert (np.abs(expected) > 4.5 * table["prior_slope_mcse"]).any()  # one that says nothing would fail
    assert np.corrcoef(table["prior_slope"], expected)[0, 1] > 0.9


def test_a_flat_prior_moves_nothing():
    """Where the prior's density is the same everywhere, its powers are."""
    counts = ba.CountData(items=tuple("abcdef"), successes=np.array([9, 8, 1, 2, 9, 1]), trials=np.full(6, 10))
    flat = ba.models.BinomialMixture(types=2, weight_prior=1.0, rate_prior=(1.0, 1.0))
    fit = from_prior(flat, counts)
    table = ba.power_scaling_table(fit)
    assert (table[["prior", "prior_noise", "prior_slope"]].abs() < 1e-12).all(axis=None)
    assert (table["likelihood"] > 0).any()


def test_what_is_no_parameter_is_derived_from_them(tiny_fit, slopes, own):
    without = tiny_fit.copy()
    without["posterior"] = without["posterior"].to_dataset().drop_vars("accuracy")
    table = ba.power_scaling_table(without, ["accuracy", "class_share"])
    numbers = ["mean", "sd", "prior", "likelihood", "prior_slope", "likelihood_slope_mcse"]
    kept = own.set_index("parameter").loc[table["parameter"], numbers]
    np.testing.assert_allclose(table[numbers], kept, rtol=1e-6, atol=1e-9)
    # of the share of items in a class, the mean is that of the label probabilities
    share = table[table["parameter"].str.startswith("class_share")]
    np.testing.assert_allclose(share["mean"], tiny_fit["latent"]["probability"].mean("item"), atol=1e-9)
    expected = slopes["probability"].mean(axis=0)
    assert (np.abs(share["prior_slope"] - expected) < 4.5 * share["prior_slope_mcse"]).all()


def out_of_step(fit, rng):
    """The same draws in another order: they have nothing to do with the prior, or the likelihood."""
    mixed = fit.copy()
    posterior = mixed["posterior"].to_dataset()
    other = posterior.isel(draw=rng.permutation(posterior.sizes["draw"]))
    mixed["posterior"] = other.assign_coords(draw=posterior["draw"])
    return mixed


def test_none_of_many_parameters_that_rest_on_nothing_is_told_of(mace_fit, rng):
    """Of 120, more than one in 20 come farther than 19 in 20 do by chance."""
    some = mace_fit.isel(draw=slice(0, 1000, 2))
    own = ba.power_scaling_table(some, ["competence", "strategy"])
    table = ba.power_scaling_table(out_of_step(some, rng), ["competence", "strategy"])
    assert len(table) == 120
    assert not table["diagnosis"].isin([BY_BOTH, BY_PRIOR]).any()
    assert own["diagnosis"].isin([BY_BOTH, BY_PRIOR]).sum() > 5
    for of in ("prior", "likelihood"):
        assert 0 < ((table[of] > table[f"{of}_noise"]) & (table[of] >= 0.05)).sum() < 0.15 * 120
        assert table[f"{of}_p_adjusted"].min() > 0.05
        assert own[f"{of}_p_adjusted"].min() < 0.05


def test_p_values_are_empirical_and_adjusted_for_the_rows():
    unrelated = np.random.default_rng(1).permutation(np.arange(1, 100) / 100)  # .01 to .99
    found = _adjust_p(np.array([0.5, 1.0, np.nan, 0.98]), unrelated)
    np.testing.assert_allclose(found, [4 / 3 * 0.51, 4 * 0.01, 1.0, 4 / 2 * 0.03])  # by Benjamini and Hochberg


def test_sensitivities_that_chance_may_bring_are_not_told_of(own, mace_fit):
    """Of fewer draws chance brings more."""
    table = own
    counts = (table["prior"] >= 0.05) & (table["prior_p_adjusted"] <= 0.05)
    assert counts.any()
    assert (table["diagnosis"].isin([BY_BOTH, BY_PRIOR]) == counts).all()
    both = counts & (table["likelihood"] >= 0.05) & (table["likelihood_p_adjusted"] <= 0.05)
    assert ((table["diagnosis"] == BY_BOTH) == both).all()
    many, few = (ba.power_scaling_table(mace_fit.isel(draw=slice(0, 1000, step)), ["competence"]) for step in (1, 10))
    assert (few["prior_noise"] > 2 * many["prior_noise"]).all()
    unsure = (few["prior"] >= 0.05) & (few["prior_p_adjusted"] > 0.05)
    assert unsure.any()
    assert (few.loc[unsure, "diagnosis"] == "too few draws to tell").all()
    assert (few["draws_to_tell"].notna() == unsure).all()
    assert few.loc[unsure, "draws_to_tell"].between(1_000, 20_000).all()


def test_slopes_of_labels_are_those_of_exact_posteriors(tiny_fit, slopes):
    table = ba.criticism.label_power_scaling(tiny_fit).set_index("item")
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


def test_both_slopes_of_a_dirichlet_are_known(rng):
    """Label usage: with alpha, the posterior has (alpha (a - 1) + 1 + n), or (a + alpha n)."""
    data = tiny_data()
    counts = data.usage
    drawn = np.stack([rng.dirichlet(3.0 + own, size=4000) for own in counts], axis=1)  # of the posterior itself
    model = LabelUsage(centre="even", usage_prior=3.0)
    posterior = as_posterior(model.build(data), [{"usage": usage} for usage in drawn], 4)
    table = ba.power_scaling_table(make_quiet_fit(model, data, posterior))

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


def test_only_the_priors_that_are_asked_for_are_scaled(tiny_fit, own):
    both = own.loc[own["parameter"].str.startswith("prevalence"), "prior_slope"]
    parts = [ba.power_scaling_table(tiny_fit, ["prevalence"], prior_var_names=[name])["prior_slope"]
             for name in ("prevalence", "confusion")]  # fmt: skip
    np.testing.assert_allclose(both, sum(parts), rtol=1e-9)
    assert not np.allclose(both, parts[0])


def test_few_parameters_are_told_from_chance_by_more_shifts(tiny_fit):
    table = ba.power_scaling_table(tiny_fit, ["accuracy"])
    assert len(table) == 3
    assert (table["prior_p_adjusted"] < 0.01).all()  # by eight shifts of three, .04 is the least
    assert table["diagnosis"].isin([BY_BOTH, BY_PRIOR]).all()


def test_as_many_draws_as_the_table_asks_for_tell(mace_fit):
    asked_of = {"var_names": ["competence", "strategy"], "prior_var_names": "competence"}
    many = ba.power_scaling_table(mace_fit, **asked_of)
    quarters = [mace_fit.isel(draw=slice(start, 1000, 4)) for start in range(2)]  # a single one says 4,800 to 6,200
    asked, n_undecided = [], []
    for few in (ba.power_scaling_table(quarter, **asked_of) for quarter in quarters):
        undecided = few["draws_to_tell"].notna()
        asked.append(few.loc[undecided, "draws_to_tell"].unique().item())
        n_undecided.append(undecided.sum())
    assert np.mean(n_undecided) >= 10  # each 13 to 26, by seed
    assert many["draws_to_tell"].notna().sum() < np.mean(n_undecided) / 3
    assert 3_500 < np.mean(asked) < 6_000


def test_a_prior_that_the_data_outweigh_moves_nothing(mace_fit):
    """The prevalence of 400 items, by its own prior: those of all parameters together move as much by chance alone."""
    table = ba.power_scaling_table(mace_fit, ["prevalence"], prior_var_names=["prevalence"])
    assert (table["prior"] < 0.03).all()  # .006 to .021, by seed
    assert (table["diagnosis"] == "").all()
    assert (np.abs(table["prior_slope"]) < 0.1 * table["sd"]).all()
