"""Ratings: the density is that of PyMC's distributions with the true value integrated out, and so is its posterior."""

from functools import cache

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph import graph_inputs
from scipy.stats import multivariate_normal, norm

from bayesanno.data.ratings import RatingData
from bayesanno.graph.functions import BY_NUMPY, compile_once
from bayesanno.modeling.arguments import Parameters, Priors, RatingDesign, Ratings
from bayesanno.models.rating import Rating

VARIANTS = {
    "normal": Rating(slope=True),
    "student": Rating(noise="student"),
    "censored": Rating(ends="censored", slope=True),
    "ambiguity": Rating(ambiguity=True),
}
LOW, HIGH = 0.0, 100.0
LEVELS = np.array([0.055, 0.25, 0.5, 0.945])


def draw_table(rng, n_annotators, n_items=6, at_ends=0.0):
    """Ratings in the order of items: an annotator with one rating, an item with none, and perhaps many at an end."""
    pairs = [(i, j) for i in range(n_items - 1) for j in range(n_annotators) if j != 1 or i == 0]
    item, who = np.array(pairs).T
    value = np.round(rng.normal(50, 25, item.size).clip(1, 99), 1)
    value[rng.uniform(size=item.size) < at_ends] = LOW
    return item, who, np.where((value > 90) & (at_ends > 0), HIGH, value)


def draw_parameters(rng, n):
    bias, sd = rng.normal(0, 8, n), np.exp(rng.normal(2.5, 0.5, n))
    slope = rng.normal(1, 0.3, n)
    numbers = {"mean": 48.0, "spread": 20.0, "ambiguity_spread": 0.4, "low": LOW, "high": HIGH}
    return {"bias": bias - bias.mean(), "sd": sd, "slope": slope - slope.mean() + 1} | numbers


@cache
def compile_formulas(model):
    """The names of the parameters that a model uses, and the function of them and of a table of ratings."""
    shapes = {"bias": 1, "sd": 1, "slope": 1} | dict.fromkeys(["mean", "spread", "ambiguity_spread", "low", "high"], 0)
    symbols = {name: pt.tensor(name, shape=(None,) * n, dtype="float64") for name, n in shapes.items()}
    p, table = Parameters(symbols), [pt.lvector(), pt.lvector(), pt.vector(), pt.vector(), pt.matrix()]
    item, who, value, known, level = table
    ratings = Ratings(who, item, value, known.shape[0], known, level)
    logp, of_latent = model.item_logp(ratings, p), model.latent_posterior(ratings, p)
    (number,), (derived,) = of_latent.numbers.values(), of_latent.derived.values()
    used = set(graph_inputs([logp, *number, derived["expected"].values]))
    names = [name for name, symbol in symbols.items() if symbol in used]
    gradient = pytensor.grad(logp.sum(), [symbols[name] for name in names], disconnected_inputs="ignore")
    outputs = [logp, of_latent.total, derived["expected"].values, *number, *gradient]
    return names, compile_once([*(symbols[name] for name in names), *table], outputs)


def evaluate(model, table, n_items, parameters, known=None):
    """The log density, mean, sd and expected rating of each item, and the gradient of the sum of log densities."""
    logp, mean, sd, _, expected, slopes = evaluate_all(model, table, n_items, parameters, known)
    return logp, mean, sd, expected, slopes


def evaluate_all(model, table, n_items, parameters, known=None):
    """The same, with the quantiles at `LEVELS`, (item, level)."""
    names, function = compile_formulas(model)
    known = np.full(n_items, np.inf) if known is None else known
    level = np.broadcast_to(LEVELS, (n_items, LEVELS.size)).copy()
    logp, total, expected, mean, sd, quantile, *slopes = function(
        *(np.asarray(parameters[name]) for name in names), *table, known, level
    )
    np.testing.assert_allclose(total, logp, atol=1e-8)
    return logp, mean, sd, quantile, expected, dict(zip(names, slopes, strict=True))


def integrate(model, table, n_items, p, n_points=40_001):
    """Log density, mean and sd of each item, by PyMC's densities on a grid of true values (and of ambiguities)."""
    item, who, value = table
    t = np.linspace(p["mean"] - 9 * p["spread"], p["mean"] + 9 * p["spread"], n_points)
    z = np.linspace(-6, 6, 61) if model.ambiguity else np.zeros(1)
    found = []
    for i in range(n_items):
        j, x = who[item == i], value[item == i]
        slope = p["slope"][j] if model.slope else np.ones(j.size)
        mu = p["mean"] + p["bias"][j] + slope * (t[:, None, None] - p["mean"])  # (truth, log a, rating)
        sd = p["sd"][j] * np.exp((p["ambiguity_spread"] if model.ambiguity else 0) * z[:, None])
        student = pm.StudentT.dist(nu=4, mu=mu, sigma=sd / np.sqrt(2))
        noise = student if model.noise == "student" else pm.Normal.dist(mu, sd)
        of = pm.Censored.dist(noise, LOW, HIGH) if model.ends == "censored" else noise
        logs = pm.logp(of, np.broadcast_to(x, (t.size, z.size, j.size))).eval(mode=BY_NUMPY).sum(axis=2)
        logs += norm.logpdf(t, p["mean"], p["spread"])[:, None]
        logs += norm.logpdf(z) + np.log(z[1] - z[0]) if model.ambiguity else 0.0
        top = logs.max()
        weight = np.exp(logs - top).sum(axis=1)
        total = weight.sum()
        mean = (weight * t).sum() / total
        sd = np.sqrt((weight * (t - mean) ** 2).sum() / total)
        quantiles = np.interp(LEVELS, (weight.cumsum() - weight / 2) / total, t)
        found.append((top + np.log(total * (t[1] - t[0])), mean, sd, *quantiles))
    return np.array(found).T


@pytest.mark.parametrize("n_annotators", [1, 2, 8])
@pytest.mark.parametrize("name", VARIANTS)
def test_density_and_posterior_are_those_on_a_grid(name, n_annotators, rng):
    model = VARIANTS[name]
    table = draw_table(rng, n_annotators, at_ends=0.65 if name == "censored" else 0.0)
    parameters = draw_parameters(rng, n_annotators)
    logp, mean, sd, quantile, expected, _ = evaluate_all(model, table, 6, parameters)
    on_grid = integrate(model, table, 6, parameters, 4_001 if name == "ambiguity" else 40_001)
    np.testing.assert_allclose(logp, on_grid[0], atol=1e-8)
    np.testing.assert_allclose(mean, on_grid[1], atol=1e-5)
    np.testing.assert_allclose(sd, on_grid[2], atol=1e-5)
    np.testing.assert_allclose(quantile.T, on_grid[3:], atol=0.01 * parameters["spread"])
    if name != "censored":
        np.testing.assert_allclose(expected, mean, atol=1e-9)  # biases add up to 0, and slopes have mean 1


def test_normal_ratings_are_jointly_normal_for_thirty_annotators(rng):
    item, who, value = table = draw_table(rng, 30)
    p = draw_parameters(rng, 30)
    logp, *_ = evaluate(VARIANTS["normal"], table, 6, p)
    for i in range(6):
        j = who[item == i]
        covariance = p["spread"] ** 2 * np.outer(p["slope"][j], p["slope"][j]) + np.diag(p["sd"][j] ** 2)
        expected = multivariate_normal.logpdf(value[item == i], p["mean"] + p["bias"][j], covariance) if j.size else 0.0
        assert logp[i] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_known_true_value_is_given(name, rng):
    model, parameters = VARIANTS[name], draw_parameters(rng, 3)
    known = np.array([40.0, np.inf, np.inf, 120.0, np.inf, 55.0])
    table = draw_table(rng, 3, at_ends=0.3 if name == "censored" else 0.0)
    logp, mean, sd, *_ = evaluate(model, table, 6, parameters, known)
    free, *_ = evaluate(model, table, 6, parameters)
    is_known = np.isfinite(known)
    np.testing.assert_allclose(logp[~is_known], free[~is_known])
    np.testing.assert_allclose(mean[is_known], known[is_known])
    np.testing.assert_allclose(sd[is_known], 0, atol=1e-5)
    for i in np.flatnonzero(is_known):  # what is left is the density of the ratings given this value
        bias = parameters["bias"] + ((parameters["slope"] if model.slope else 1) - 1) * (known[i] - parameters["mean"])
        near = {**parameters, "mean": known[i], "spread": 1e-6, "bias": bias}
        given, *_ = evaluate(model, table, 6, near)
        own = norm.logpdf(known[i], parameters["mean"], parameters["spread"])
        assert logp[i] == pytest.approx(given[i] + own, abs=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_gradients_are_those_of_finite_differences(name, rng):
    model, parameters = VARIANTS[name], draw_parameters(rng, 4)
    known = np.array([40.0, *[np.inf] * 5])
    table = draw_table(rng, 4, at_ends=0.4 if name == "censored" else 0.0)
    *_, slopes = evaluate(model, table, 6, parameters, known)
    for parameter, slope in slopes.items():
        if parameter in ("low", "high"):
            continue
        for at in np.ndindex(np.shape(parameters[parameter])):
            ends = []
            for step in (1e-4, -1e-4):
                moved = np.array(parameters[parameter], dtype=float)
                moved[at] += step
                ends.append(evaluate(model, table, 6, {**parameters, parameter: moved}, known)[0].sum())
            assert slope[at] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-5, abs=1e-5)


def test_expected_ratings_are_within_the_scale(rng):
    """By simulation from the posterior of each item's true value, by the average annotator."""
    model, parameters = VARIANTS["censored"], draw_parameters(rng, 4)
    table = draw_table(rng, 4, at_ends=0.65)
    _, mean, sd, expected, _ = evaluate(model, table, 6, parameters)
    assert ((expected > LOW) & (expected < HIGH)).all()
    truth = rng.normal(mean[-1], sd[-1], (100_000, 1))  # of the item without ratings, which is normal
    x = parameters["mean"] + parameters["bias"] + parameters["slope"] * (truth - parameters["mean"])
    seen = (x + parameters["sd"] * rng.normal(size=x.shape)).clip(LOW, HIGH).mean(axis=1)
    assert abs(seen.mean() - expected[-1]) < 5 * seen.std() / np.sqrt(seen.size)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_generative_process_has_the_moments_of_the_density(name, rng):
    model, p = VARIANTS[name], draw_parameters(rng, 2)
    who, item = np.tile([0, 1], 3_000), np.repeat(np.arange(3_000), 2)
    known = np.full(3_000, np.inf)
    known[0] = 77.0
    design = RatingDesign(*map(pt.as_tensor, (who, item)), 3_000, pt.as_tensor(known))
    truth, x = pm.draw(model.generate(design, Parameters({name: pt.as_tensor(of) for name, of in p.items()})),
                       random_seed=1, mode=BY_NUMPY)  # fmt: skip
    assert truth[0] == 77
    slope = p["slope"] if model.slope else np.ones(2)
    x, expected = x.reshape(-1, 2), p["mean"] + p["bias"] + slope * (truth[:, None] - p["mean"])
    assert truth[1:].std() == pytest.approx(p["spread"], rel=5 / np.sqrt(2 * truth.size))
    if model.ends == "censored":  # shares at the ends
        below, above = norm.cdf(LOW, expected, p["sd"]), norm.sf(HIGH, expected, p["sd"])
        for seen, chance in (((x == LOW), below), ((x == HIGH), above)):
            assert (abs(seen.sum(axis=0) - chance.sum(axis=0)) < 5 * np.sqrt(chance.sum(axis=0) + 1)).all()
        return
    squares = (x - expected) ** 2
    variance = p["sd"] ** 2 * (np.exp(2 * p["ambiguity_spread"] ** 2) if model.ambiguity else 1)
    assert (abs(squares.mean(axis=0) - variance) < 5 * squares.std(axis=0) / np.sqrt(len(x))).all()


@pytest.mark.parametrize("n_annotators", [1, 2, 8])
@pytest.mark.parametrize("origin", ["panel", "population"])
def test_starts_are_possible(n_annotators, origin, rng):
    item, who, value = draw_table(rng, n_annotators, 9)
    data = RatingData(
        item=item, annotator=who, value=value, items=tuple(map(str, range(9))), scale=(LOW, HIGH),
        annotators=tuple(f"a{j}" for j in range(max(n_annotators, 2))),
    )  # fmt: skip
    model = Rating(slope=True, ambiguity=True, origin=origin)
    with pm.Model(coords=data.coords()) as graph:
        for name, (fixed, dims) in model.fixed_parameters(data).items():
            pm.Data(name, fixed, dims=dims)
        model.priors(data, Priors(model))
    start = model.start(data)
    assert set(start) == {one.name for one in graph.free_RVs}
    own = pm.model.transform.conditioning.remove_value_transforms(graph)
    assert np.isfinite(own.compile_logp(mode=BY_NUMPY)({name: np.asarray(of) for name, of in start.items()}))
    if origin == "panel":
        assert start["bias"].sum() == pytest.approx(0, abs=1e-9)
