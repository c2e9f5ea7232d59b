"""Rows around a common row: one density however they are sampled, and draws that come from it."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph import rewrite_graph
from scipy.stats import kstest, norm

import bayesanno as ba
from bayesanno.modeling.ops.variables import (
    centring_of,
    draw_rows,
    level_of,
    logistic_normal,
    normal_around,
    shift_centring_of,
    spread_of,
)
from bayesanno.models import HierarchicalDawidSkene

PYTHON = Mode(linker="py", optimizer="fast_run")
COORDS = {"annotator": range(3), "true_class": range(2), "response": range(3)}
RIGHT = np.array([0, 2])  # the response in the middle names no class
CENTRE = np.array([[0.7, 0.2, 0.1], [0.05, 0.15, 0.8]])
SPREAD = np.array([0.3, 1.7])
WRONG = [[1, 2], [0, 1]]  # responses of each class


def graph_of(centring, spread=SPREAD):
    with pm.Model(coords=COORDS) as graph:
        typical = logistic_normal("typical", CENTRE, np.ones(2), RIGHT, centring=1.0, dims=("true_class", "response"))
        logistic_normal("rows", typical, spread, RIGHT, centring=centring, dims=tuple(COORDS))
    return graph


def log_odds(rows):
    return np.stack([np.log(rows[..., k, WRONG[k]] / rows[..., k, [RIGHT[k]]]) for k in range(2)], axis=-2)


@pytest.mark.parametrize("w", [0.0, 0.3, 1.0, "each its own"])
def test_the_density_of_the_rows_is_that_of_their_log_odds(w, rng):
    centring = rng.uniform(size=(3, 2, 2)) if w == "each its own" else w
    graph = graph_of(centring)
    names = [value.name for value in graph.value_vars]
    inside = graph.compile_fn(graph.unobserved_value_vars, inputs=graph.value_vars, point_fn=True, mode=PYTHON)
    own_scale = graph.compile_logp(jacobian=False, mode=PYTHON)
    sampled = graph.compile_logp(mode=PYTHON)
    for _ in range(3):
        point = dict(zip(names, (rng.normal(size=(2, 2)), rng.normal(size=(3, 2, 2))), strict=True))
        values = dict(zip((one.name for one in graph.unobserved_value_vars), inside(point), strict=True))
        typical, rows = log_odds(values["typical"]), log_odds(values["rows"])
        np.testing.assert_allclose(values["rows"].sum(axis=-1), 1, rtol=1e-12)
        of_odds = norm(log_odds(CENTRE), 1).logpdf(typical).sum()
        of_odds += norm(typical, SPREAD[:, None]).logpdf(rows).sum()
        volume = np.log(values["typical"]).sum() + np.log(values["rows"]).sum()  # of rows in their log odds
        np.testing.assert_allclose(own_scale(point), of_odds - volume, rtol=1e-10)
        # u is w m + (e - m) / spread^(1 - w): what is sampled has the volume spread^(1 - w) of the log odds
        stretch = (1 - np.broadcast_to(centring, (3, 2, 2))) * np.log(SPREAD)[:, None]
        np.testing.assert_allclose(sampled(point), of_odds + stretch.sum(), rtol=1e-10)
        u = centring * typical + (rows - typical) / SPREAD[:, None] ** (1 - centring)
        np.testing.assert_allclose(point[names[1]], u, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [800.0, -800.0, 3000.0, -3000.0])
def test_the_gradient_stays_finite_where_probabilities_underflow(size):
    with graph_of(0.3) as graph:
        pm.Potential("answers", pt.log(graph["rows"])[:, :, 0].sum())
    values = graph.value_vars
    density = rewrite_graph(graph.logp(), include=["canonicalize", "stabilize"])  # as they have it
    function = pytensor.function(values, [density, *pytensor.grad(density, values)], mode=PYTHON)
    start = [np.zeros((2, 2)), np.zeros((3, 2, 2))]
    for which, at in [(0, (0, 0)), (0, (1, 1)), (1, (0, 0, 0)), (1, (0, 1, 1)), (1, (2, 0))]:
        point = [values.copy() for values in start]
        point[which][at] = size
        assert all(np.isfinite(found).all() for found in function(*point))


# --------------------------------------------------------------------------------------- a shift of all log odds


def graph_with_shift(centring):
    with pm.Model(coords=COORDS) as graph:
        typical = logistic_normal("typical", CENTRE, np.ones(2), RIGHT, centring=1.0, dims=("true_class", "response"))
        level = level_of(typical, RIGHT)
        far = pm.Gamma("far", 2, 4)
        shift = normal_around("shift", 0.0, far, level=level, centring=centring, dims="annotator")
        logistic_normal("rows", typical, SPREAD, RIGHT, shift=-shift[:, None], centring=0.3, dims=tuple(COORDS))
    return graph


@pytest.mark.parametrize("w", [np.zeros(3), np.array([0.0, 0.4, 1.0])])
def test_a_shift_is_normal_and_rows_are_around_the_shifted_centre(w, rng):
    graph = graph_with_shift(w)
    names = [value.name for value in graph.value_vars]
    inside = graph.compile_fn(graph.unobserved_value_vars, inputs=graph.value_vars, point_fn=True, mode=PYTHON)
    densities = graph.compile_logp(vars=[graph["shift"], graph["rows"]], jacobian=False, mode=PYTHON)
    sampled = graph.compile_logp(vars=[graph["shift"]], mode=PYTHON)
    point = dict(
        zip(names, (rng.normal(size=(2, 2)), 0.4, rng.normal(size=3), rng.normal(size=(3, 2, 2))), strict=True)
    )
    values = dict(zip((one.name for one in graph.unobserved_value_vars), inside(point), strict=True))
    far, shift = values["far"], values["shift"]
    typical, rows = log_odds(values["typical"]), log_odds(values["rows"])
    of_shift = norm(0, far).logpdf(shift).sum()
    of_rows = norm(typical - shift[:, None, None], SPREAD[:, None]).logpdf(rows).sum() - np.log(values["rows"]).sum()
    np.testing.assert_allclose(densities(point), of_shift + of_rows, rtol=1e-10)
    np.testing.assert_allclose(sampled(point), of_shift + ((1 - w) * np.log(far)).sum(), rtol=1e-10)
    np.testing.assert_allclose(point["shift_centred__"], -w * typical.mean() + shift / far ** (1 - w), rtol=1e-9)


def test_draws_of_a_shift_and_of_rows_are_as_the_density_says(rng):
    graph = graph_with_shift(np.full(3, 0.5))
    drawn = pm.draw([graph[name] for name in ("typical", "far", "shift", "rows")], 2000, random_seed=rng, mode=PYTHON)
    typical, far, shift, rows = drawn
    assert kstest((shift / far[:, None]).ravel(), norm.cdf).pvalue > 1e-4
    assert kstest((log_odds(typical) - log_odds(CENTRE)).ravel(), norm.cdf).pvalue > 1e-4
    own = log_odds(rows) - log_odds(typical)[:, None] + shift[..., None, None]
    assert kstest((own / SPREAD[:, None]).ravel(), norm.cdf).pvalue > 1e-4
    assert kstest((1.2 * own / SPREAD[:, None]).ravel(), norm.cdf).pvalue < 1e-4  # a wrong spread is noticed
    by_numpy = draw_rows(np.broadcast_to(CENTRE, (5000, 2, 3)), SPREAD, RIGHT, rng, shift=np.full((5000, 2), -0.7))
    assert kstest(((log_odds(by_numpy) - log_odds(CENTRE) + 0.7) / SPREAD[:, None]).ravel(), norm.cdf).pvalue > 1e-4


# ------------------------------------------------------------------------------------------- how much is centred


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_the_spread_of_rows_is_estimated_from_counts(spread, rng):
    centre = np.array([[0.8, 0.2], [0.3, 0.7]])
    right = np.array([0, 1])
    around = np.broadcast_to(centre, (4000, 2, 2))
    rows = draw_rows(around, np.full(2, spread), right, rng)
    counts = rng.multinomial(rng.choice([500, 2000], size=(4000, 2)), rows).astype(float)
    np.testing.assert_allclose(spread_of(counts, centre, right, 1.0), spread, rtol=0.15)


def test_no_answers_leave_the_expected_spread():
    assert spread_of(np.zeros((5, 2, 3)), CENTRE, RIGHT, 0.8) == pytest.approx(0.8)


def test_a_wide_spread_centres_rows_more_and_their_shift_less():
    counts = np.full((3, 2, 3), 30.0)
    w = [centring_of(counts, CENTRE, RIGHT, spread) for spread in (0.5, 1.0, np.array([3.0, 3.0]))]
    np.testing.assert_array_equal(w[0], w[1])
    assert (w[2] > w[1]).all()
    assert (w[2] < 1).all()
    assert (shift_centring_of(w[2], 3.0) < shift_centring_of(w[1], 0.35)).all()


def test_the_model_has_one_density_however_much_is_centred(rng):
    """The weights change what is sampled and its volume, and nothing else."""
    n, n_classes = 4, 3
    records = [{"item": i, "annotator": x, "label": (i + i * x) % n_classes} for i in range(8) for x in range(n)]
    data = ba.read_annotations(pd.DataFrame(records))
    graph = HierarchicalDawidSkene().build(data)
    log_density = graph.compile_logp(mode=PYTHON)
    typical = rng.normal(-1, 0.5, size=(n_classes, n_classes - 1))  # log odds of the typical annotator
    spread, ability_spread = rng.uniform(0.3, 2, n_classes), 0.4
    ability = rng.normal(0, ability_spread, n)
    mean = typical - ability[:, None, None]
    odds = mean + spread[:, None] * rng.normal(size=mean.shape)
    found = []
    for w, of_ability in [(0.0, 0.0), (1.0, 1.0), (0.3, 0.6), (rng.uniform(size=mean.shape), rng.uniform(size=n))]:
        w, of_ability = np.broadcast_to(w, mean.shape), np.broadcast_to(of_ability, n)
        pm.set_data({"centring": w, "ability_centring": of_ability}, model=graph)
        point = {
            "prevalence_simplex__": np.array([0.2, -0.4]),
            "population_logodds__": typical,
            "spread_log__": np.log(spread),
            "ability_spread_log__": np.array(np.log(ability_spread)),
            "ability_centred__": of_ability * -typical.mean() + ability / ability_spread ** (1 - of_ability),
            "confusion_logodds__": w * mean + (odds - mean) / spread[:, None] ** (1 - w),
        }
        volume = ((1 - w) * np.log(spread)[:, None]).sum() + ((1 - of_ability) * np.log(ability_spread)).sum()
        found.append(log_density(point) - volume)
    np.testing.assert_allclose(found, found[0], rtol=1e-10)
