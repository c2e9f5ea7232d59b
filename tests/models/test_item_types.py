"""What the models of item types have beside their fits: priors, warnings, findings, types from another fit."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.stats import beta, kstest

from bayesanno import fit, get_model, simulate
from bayesanno._core.messages import DataError, FitError, ModelError
from bayesanno.analysis.item_types import moments_of
from bayesanno.models.binomial_mixture import BinomialMixture
from bayesanno.models.diligent_lazy import DiligentLazy
from bayesanno.models.gaussian_mixture import GaussianMixture
from bayesanno.simulation import make_count_design
from tests.models.contract import FAST, P_VALUE
from tests.models.references_counts import counts

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

DRAWS = 2_000
TEN = counts((1, 10), (4, 10), (9, 10))

# ------------------------------------------------------------------------------------------------- the prior


@pytest.mark.parametrize(
    ("model", "name", "scale"),
    [
        (BinomialMixture(types=3, rate_prior=(2.0, 5.0)), "rate", 1),
        (GaussianMixture(types=3, mean_prior=(2.0, 5.0)), "mean", 10),
    ],
    ids=["rates", "means"],
)
def test_each_rate_or_mean_has_the_prior_that_the_card_says(model, name, scale):
    drawn = pm.draw(model.build(TEN)[name], draws=DRAWS, random_seed=1, mode=FAST) / scale  # (draw, item_type)
    assert (np.diff(drawn, axis=1) > 0).all()
    for t in range(3):
        assert kstest(drawn[:, t], beta(2 + 5 * t, 2 + 5 * (2 - t)).cdf).pvalue > P_VALUE
        assert kstest(drawn[:, t], beta(7, 8).cdf).pvalue < P_VALUE


# ------------------------------------------------------------------------------------------------- what is refused


def test_more_types_than_different_shares_are_refused(refuses):
    same = counts((1, 2), (2, 4), (5, 10), (0, 0))
    with refuses(DataError, "2 types are asked for, .* only 1 different share"):
        fit("binomial_mixture", same)
    with refuses(DataError, "4 types are asked for, .* only 3 different shares"):
        fit(GaussianMixture(types=4), TEN)
    BinomialMixture(types=3).check(TEN)
    with refuses(DataError, "the same number of answers to every item, but item 's2' has 3 and item 's1' has 4"):
        fit("gaussian_mixture", counts((1, 4), (3, 3), (2, 4)))


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"weight_mean": (0.5, 0.4)}, r"weight_mean is \(0.5, 0.4\): its sum must be 1, not 0.9"),
        ({"weight_mean": (0.5, 0.3, 0.2)}, "rate_mean has 2 numbers, weight_mean has 3"),
        ({"rate_mean": (0.8, 0.2)}, r"rate_mean is \(0.8, 0.2\): types are numbered by ascending rate"),
        ({"rate_strength": (1.0, 2.0, 3.0)}, "rate_strength has 3 numbers, weight_mean has 2"),
        ({"rate_strength": "5:-1"}, "rate_strength is -1: it must be a number > 0"),
    ],
)
def test_types_that_do_not_fit_together_are_refused(refuses, fields, match):
    with refuses(ModelError, f"diligent_lazy: {match}"):
        get_model("diligent_lazy", fields)


def test_a_number_of_types_is_whole_and_positive(refuses):
    for types in (0, 1.5, "two"):
        with refuses(ModelError, "types is "):
            get_model("binomial_mixture", {"types": types})


# ------------------------------------------------------------------------------------------------- what is said


def posterior_of(weight, rate):
    """Draws (draw, item_type) as a posterior of one chain."""
    dims = ("chain", "draw", "item_type")
    return xr.Dataset({"weight": (dims, np.array([weight])), "rate": (dims, np.array([rate]))})


GOOD, FEW, NEAR = ([0.5, 0.5], [0.2, 0.8]), ([0.97, 0.03], [0.2, 0.8]), ([0.5, 0.5], [0.5, 0.53])


@pytest.mark.parametrize(
    ("draws", "share"),
    [
        ([GOOD] * 9 + [FEW], None),  # one in ten is not often
        ([GOOD] * 8 + [FEW] * 2, 0.2),
        ([GOOD] * 6 + [NEAR] * 2 + [FEW] * 2, 0.4),
    ],
    ids=["once", "few", "both"],
)
def test_types_that_are_hardly_needed_are_found(draws, share):
    posterior = posterior_of(*(list(part) for part in zip(*draws, strict=True)))
    found = [(one.code, one.value) for one in BinomialMixture().findings_of_posterior(posterior)]
    assert found == ([] if share is None else [("type-not-needed", pytest.approx(share))])


def test_humps_may_share_a_mean_and_an_only_type_is_needed():
    humps = posterior_of([NEAR[0]] * 9, [NEAR[1]] * 9).rename(rate="mean")
    assert list(GaussianMixture().findings_of_posterior(humps)) == []
    assert list(BinomialMixture(types=1).findings_of_posterior(posterior_of([[0.3]], [[0.2]])[["rate"]])) == []


# ------------------------------------------------------------------------------------------------- from another fit


def fit_of(model, **draws):
    """Draws (chain, draw, item_type) as a fit."""
    dims = ("chain", "draw", "item_type")
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({name: (dims, values) for name, values in draws.items()})})
    tree.attrs["model"] = model
    return tree


def test_types_of_a_fit_become_the_prior_of_another(rng):
    weight, rate = rng.dirichlet([40, 20, 60], size=(4, 5000)), rng.beta([20, 50, 90], [80, 50, 10], size=(4, 5000, 3))
    found = fit_of("binomial_mixture", weight=weight, rate=rate)
    model = DiligentLazy.from_fit(found)
    np.testing.assert_allclose(model.weight_mean, [1 / 3, 1 / 6, 1 / 2], atol=0.01)
    np.testing.assert_allclose(model.rate_mean, [0.2, 0.5, 0.9], atol=0.01)
    assert model.weight_strength == pytest.approx(120, rel=0.05)
    np.testing.assert_allclose(model.rate_strength, 100, rtol=0.1)
    for t in range(3):  # exactly the moments of the draws
        prior = beta(model.rate_mean[t] * model.rate_strength[t], (1 - model.rate_mean[t]) * model.rate_strength[t])
        assert prior.std() == pytest.approx(rate[..., t].std(), rel=1e-9)
    mean = np.array(model.weight_mean)
    variance = (mean * (1 - mean)).sum() / (model.weight_strength + 1)
    assert variance == pytest.approx(weight.var(axis=(0, 1)).sum(), rel=1e-9)
    known = DiligentLazy.from_fit(found, known=True)
    assert (known.known, known.weight_mean, known.rate_mean) == (True, model.weight_mean, model.rate_mean)


def test_an_only_type_can_be_taken_from_a_fit_and_types_without_rates_cannot(rng, refuses):
    model = DiligentLazy.from_fit(fit_of("binomial_mixture", rate=rng.beta(30, 70, size=(2, 500, 1))))
    assert (model.weight_mean, len(model.rate_mean)) == ((1.0,), 1)
    with refuses(FitError, "come from a fit of binomial_mixture, not of gaussian_mixture"):
        moments_of(fit_of("gaussian_mixture", mean=np.ones((1, 4, 2))))


# ------------------------------------------------------------------------------------------------- simulation


def test_a_design_of_counts(refuses):
    design = make_count_design(items=200, per_item=(3, 5), random_seed=1)
    assert (design.n_items, design.items[0], set(design.trials.tolist())) == (200, "i1", {3, 4, 5})
    assert not design.successes.any()
    for items, per_item, match in (
        (0, 3, "at least one item"),
        (3, (4, 2), r"\(4, 2\)"),
        (3, 0, "no item has a trial"),
    ):
        with refuses(DataError, match):
            make_count_design(items=items, per_item=per_item)


def test_many_answers_do_not_overflow(counted, rng):
    many = counts((0, 100_000), (50_000, 100_000), (100_000, 100_000))
    for parameters in counted.draw(3, rng):
        assert np.isfinite(counted.graph.item_logp(parameters, many)).all()


def test_what_is_known_is_among_the_simulated_parameters():
    data, truth = simulate(DiligentLazy(known=True), make_count_design(items=50, per_item=4), random_seed=1)
    assert truth["rate"].values.tolist() == [0.2, 0.8]
    assert {"weight", "rate", "diligence", "lazy_rate", "state"} == set(truth.data_vars)
    assert data.trials.tolist() == [4] * 50
