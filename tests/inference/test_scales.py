"""Modes of models with scale parameters: told apart by labels at fixed scales, with probabilities from the draws."""

from __future__ import annotations

import warnings

import numpy as np
import pymc as pm
import pytest

import bayesanno as ba
from bayesanno.fits.view import view_of
from bayesanno.graph.density import compile_graph
from bayesanno.inference.diagnosis.findings import find_in_modes
from bayesanno.inference.modes.record import find_chain_modes, place_chains
from bayesanno.inference.modes.search import (
    LogDensity,
    Mode,
    Modes,
    compile_model,
    find_scales,
    make_log_density,
    search,
)
from bayesanno.inference.sampling.starts import choose_places, choose_starts
from bayesanno.models import MACE
from tests.inference.exact_probabilities import TABLES

HIERARCHICAL = "hierarchical_dawid_skene"
LEARNT = MACE(competence_prior="learnt")
QUICK = {"random_seed": 1, "progressbar": False, "check": False}
NOISY = pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")  # of two modes


# ------------------------------------------------------------------------------------------------------ the search


SEEN = np.random.default_rng(1).standard_normal(30)


def compile_apart(scale: float, tilt: float = 0.0) -> LogDensity:
    """Numbers drawn around 0, a scale apart, and seen with an error of 1; another one has either sign.

    The mode where this one is positive is `tilt` higher.
    """
    with pm.Model(coords={"group": range(SEEN.size)}) as graph:
        eta = pm.Normal("eta", 0, pm.Gamma("scale", 2, 2), dims="group")
        pm.Normal("seen", eta, 1, observed=SEEN)
        side = pm.Normal("side", 0, 10)
        higher = pm.Data("tilt", np.array(tilt)) * pm.math.sigmoid(20 * side)
        pm.Potential("sides", higher - 50 * (pm.math.abs(side) - 2) ** 2)
    density = compile_graph(graph, {"scale": np.array(scale), "eta": np.zeros(SEEN.size), "side": np.array(-1.0)})
    return LogDensity(
        density, 3_000, np.arange(32) == 0, read_states=lambda points: (points[:, -1:] > 0).repeat(30, axis=1)
    )


def test_an_ascent_keeps_the_scale_and_maximises_the_rest():
    log_density, scale = compile_apart(3.0), 3.0
    start = log_density.density.start
    elsewhere = start + 1.0  # another scale, which is not kept: heights at one scale can be compared
    for point in (start, elsewhere):
        mode = log_density.maximize(point)
        assert mode.is_reached
        assert mode.point[0] == start[0]
        np.testing.assert_allclose(mode.point[1:31], SEEN * scale**2 / (1 + scale**2), atol=1e-4)


def look(log_density, n_starts=15):
    rng = np.random.default_rng(1)
    return search(log_density, log_density.density.start, n_starts=n_starts, most_gradients=10_000, rng=rng)


@pytest.mark.parametrize(("tilt", "n_places"), [(10.0, 2), (20.0, 1)])
def test_chains_start_in_modes_nearly_as_high_as_the_highest(tilt, n_places):
    """The first start leads to the lower mode; that 20 nats below has no chain, although the first start led there."""
    modes = look(compile_apart(1.0, tilt))
    assert [mode.states[0] for mode in modes.found] == [True, False]
    assert [mode.is_first for mode in modes.found] == [False, True]
    assert sum(mode.visits for mode in modes.found) == 16
    assert modes.found[0].log_density - modes.found[1].log_density == pytest.approx(tilt, abs=0.1)
    places, share = choose_places(modes, modes.found[0].point)
    assert [place.is_first for place in places] == ([True, False] if n_places == 2 else [False])
    np.testing.assert_allclose(share, 1 / n_places)
    assert all(place.sd[0] == 1 and (place.sd[1:31] < 1).all() for place in places)


def test_ends_with_the_same_labels_are_one_mode():
    states = np.zeros(200, dtype=int)
    one, far = (Mode(np.array([at]), at, True, states=states) for at in (0.0, 9.0))
    two, three = states.copy(), states.copy()
    two[:2], three[:3] = 1, 1
    assert one.is_one_with(far)
    assert one.is_one_with(Mode(np.zeros(1), 0.0, True, states=two))  # a hundredth of the items
    assert not one.is_one_with(Mode(np.zeros(1), 0.0, True, states=three))


def test_which_numbers_are_scales():
    model = ba.models.HierarchicalDawidSkene()
    data = TABLES[0].data()
    graph = model.build(data)
    density = compile_graph(graph, model.start(data))
    assert find_scales(density, model, graph).sum() == data.n_classes + 1
    assert not find_scales(density, ba.models.MACE(), graph).any()


# ------------------------------------------------------------------------------------- probabilities, by the draws


def log_odds_of_modes(fit):
    """Log odds of the two modes that chains are in, from the draws, in the record and split."""
    modes = ba.diagnostics_of(fit)["modes"]
    assert modes["weighed_by"] == "bridge"
    assert [mode["probability"] is None for mode in modes["found"]] == [not mode["chains"] for mode in modes["found"]]
    probabilities = [mode["probability"] for mode in modes["found"] if mode["chains"]]
    parts = ba.split_modes(fit, random_seed=1)
    assert {part.attrs["probability_by"] for part in parts} == {"bridge"}
    assert sum(probabilities) == pytest.approx(1)
    return [np.log(first / second) for first, second in (probabilities, [part.attrs["probability"] for part in parts])]


@NOISY
@pytest.mark.parametrize(
    ("model", "table", "probabilities"),
    [
        (HIERARCHICAL, TABLES[0], [0.5327, 0.4673]),
        (LEARNT, TABLES[16], [0.9593, 0.0407]),
    ],
    ids=["hierarchical, opposed", "mace, pairs"],
)
def test_probabilities_from_draws_are_those_of_a_quadrature_over_scales(model, table, probabilities):
    """The reference: Laplace's method for everything else at each scale, and the trapezoidal rule over each scale."""
    fit = ba.fit(model, table.data(), **QUICK)
    np.testing.assert_allclose(np.abs(log_odds_of_modes(fit)), np.log(probabilities[0] / probabilities[1]), atol=0.3)


# ------------------------------------------------------------------------------------------------------ the record


@pytest.fixture(scope="module")
def one_mode():
    """A fit of a crowd that is mostly right: the mirrored mode is far below."""
    data = ba.simulation.simulate_pool(good=8, adverse=1, items=120, per_item=5, accuracy=0.9, random_seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ba.fit(HIERARCHICAL, data, **QUICK | {"draws": 300, "tune": 300, "chains": 2})


def test_a_mode_that_nothing_weighed_has_no_probability(one_mode):
    modes = ba.diagnostics_of(one_mode)["modes"]
    assert modes["weighed_by"] is None
    assert "higher" not in modes
    assert {mode["probability"] for mode in modes["found"]} == {None}
    assert modes["found"][0]["chains"] == [0, 1]
    assert len(modes["found"]) > 1
    for rhat in (1.005, 1.5):
        assert not list(find_in_modes({"modes": modes, "max_rhat": rhat}))
    ((mode,), unsampled) = find_chain_modes(view_of(one_mode))
    assert (mode.by, np.isnan(mode.probability), unsampled) == ("unknown", True, 0.0)


def test_a_mode_of_chains_that_is_higher_than_those_of_the_search_is_said(one_mode):
    """As if all starts had led to the mirrored mode."""
    view = view_of(one_mode)
    graph = view.model.build(view.data)
    density = compile_model(view.model, view.data, graph)
    log_density = make_log_density(view.model, view.data, graph, density, 3_000)
    found = choose_starts(graph, view.model, view.data, "auto", n_starts=10, most_gradients=9_000, random_seed=1).modes
    mirrored = Modes(log_density, found.found[1:])
    free = view.posterior[[variable.name for variable in graph.free_RVs]]
    record = place_chains(view.model, view.data, graph, mirrored, free, view.tree["sample_stats"]["lp"])
    assert record["higher"] == pytest.approx(found.found[0].log_density - found.found[1].log_density, abs=0.1)
    assert record["found"][0]["chains"] == [0, 1]
    assert record["found"][0]["visits"] == 0
    (found,) = find_in_modes({"modes": record, "max_rhat": 1.005})
    assert (found.code, found.value) == ("mode-higher", record["higher"])


# -------------------------------------------------------------------------------------- labels are not turned round


def make_crowd(n_items=6_700, n_annotators=180):
    """Some 20,000 answers of annotators of unequal accuracy and diligence; the second label is rare."""
    rng = np.random.default_rng(1)
    truth = (rng.uniform(size=n_items) < 0.07).astype(int)
    right = np.stack([rng.beta(18, 1, n_annotators), rng.beta(6, 3, n_annotators)], axis=1)  # (annotator, class)
    weight = rng.pareto(1.2, n_annotators) + 0.05
    annotator = np.concatenate(
        [rng.choice(n_annotators, size=3, replace=False, p=weight / weight.sum()) for _ in range(n_items)]
    )
    item = np.repeat(np.arange(n_items), 3)
    is_right = rng.uniform(size=item.size) < right[annotator, truth[item]]
    return ba.AnnotationData(
        item=item, annotator=annotator, label=np.where(is_right, truth[item], 1 - truth[item]), labels=("0", "1"),
        items=tuple(f"i{i}" for i in range(n_items)), annotators=tuple(f"a{j}" for j in range(n_annotators)),
        gold={f"i{i}": str(code) for i, code in enumerate(truth)},
    )  # fmt: skip


def test_with_a_rare_class_and_unequal_annotators_chains_start_at_the_truth():
    model, data = ba.get_model(HIERARCHICAL), make_crowd()
    starts = choose_starts(model.build(data), model, data, "auto", n_starts=20, most_gradients=9_000, random_seed=1)
    assert starts.density.n_calls < 9_000
    for point in starts.points:
        states = starts.modes.log_density.read_states(point[None])[0]
        assert (states == data.gold_codes).mean() > 0.95
    mirrored = [mode for mode in starts.modes.found if (mode.states == data.gold_codes).mean() < 0.5]
    assert mirrored  # so that this tests something
