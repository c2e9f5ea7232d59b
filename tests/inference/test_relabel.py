"""Label switching and chains in different modes: what is permuted, what is only reported, and what is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from bayesanno import fit
from bayesanno._core.messages import ConvergenceWarning, FitError
from bayesanno.inference.methods import METHODS
from bayesanno.inference.relabel import relabel
from bayesanno.inference.relabelling import align_classes, class_permutations, compose, share_changed
from bayesanno.models.model_b import ModelB
from tests.inference.draws import EXCHANGEABLE, clear_posterior, make_fit, permute_draws, posterior_of
from tests.models.contract import CONTROLLED, EXACT, LABELS, TINY

CYCLE = [1, 2, 0]


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_permutation_is_better_than_the_chosen_one(n_classes, weighted, rng):
    confusion = rng.dirichlet(np.ones(n_classes), size=(8, 3, n_classes))
    weight = rng.dirichlet(np.ones(n_classes), size=8)

    def value(draw, order):  # eq. 56, eq. 55
        gamma = weight[draw] if weighted else np.ones(n_classes)
        return sum(gamma[there] * confusion[draw, :, there, here].sum() for here, there in enumerate(order))

    for draw, chosen in enumerate(class_permutations(confusion, weight if weighted else None)):
        best = max(value(draw, order) for order in itertools.permutations(range(n_classes)))
        assert value(draw, chosen) == pytest.approx(best, rel=1e-12)


# ------------------------------------------------------------------------------------------------- whole fits


@pytest.fixture
def swapped(rng):
    """Clear draws, and the same with the classes of every other draw in another order."""
    posterior = clear_posterior(rng)[["confusion", "prevalence"]]
    orders = np.tile(np.arange(3), (2, 6, 1))
    orders[:, ::2] = CYCLE
    return posterior, permute_draws(posterior, orders)


@pytest.mark.parametrize("rule", ["accuracy", "weighted"])
def test_a_fit_is_relabelled_by_the_rule_asked_for(rule, rng):
    clear = 0.01 * clear_posterior(rng)[["confusion", "prevalence"]]
    posterior = clear.assign(
        confusion=clear["confusion"]
        + 0.99 * np.array([[0.4, 0.6, 0], [0.1, 0.9, 0], [0, 0, 1]]),  # in order, by eq. 56
        prevalence=clear["prevalence"] + 0.99 * np.array([0.8, 0.1, 0.1]),  # by eq. 55 the first is the second
    )
    fit = make_fit(EXCHANGEABLE, TINY, posterior)
    with pytest.warns(ConvergenceWarning):
        again = relabel(fit, rule=rule)
    order = [0, 1, 2] if rule == "accuracy" else [1, 0, 2]
    assert (again["sample_stats"]["permutation"] == order).all()
    expected = posterior.isel(true_class=order).assign_coords(true_class=list(LABELS))
    xr.testing.assert_equal(again["posterior"].to_dataset()[["confusion", "prevalence"]], expected)


def test_permutations_one_after_the_other_are_composed(rng):
    raw = clear_posterior(rng)[["confusion", "prevalence"]]
    raw = permute_draws(raw, np.array([rng.permutation(3) for _ in range(12)]).reshape(2, 6, 3))
    raw = raw.assign_coords(true_class=list(LABELS))
    once, first = align_classes(raw)
    cycled = xr.DataArray(np.tile(CYCLE, (2, 6, 1)), dims=first.dims, coords=first.coords)
    twice = once["prevalence"].values[..., CYCLE]
    np.testing.assert_array_equal(np.take_along_axis(raw["prevalence"].values, compose(first, cycled).values, 2), twice)
    assert share_changed(first) == float((once["prevalence"] != raw["prevalence"]).any("true_class").mean())


def test_deterministics_belong_to_their_draws(swapped):
    stale = swapped[1].assign(accuracy=(("chain", "draw", "annotator"), np.full((2, 6, 3), 9.0)))
    posterior = make_fit(ModelB(confusion_accuracy=0.7), TINY, stale)["posterior"]
    accuracy = np.einsum("cdk,cdxkk->cdx", posterior["prevalence"], posterior["confusion"])
    np.testing.assert_allclose(posterior["accuracy"], accuracy, rtol=EXACT)


def test_relabelling_is_refused_where_it_would_change_the_density(swapped, refuses):
    for model, data, match in ((ModelB(), TINY, "the prior of model_b"), (EXCHANGEABLE, CONTROLLED, "it has controls")):
        with refuses(FitError, f"relabelling would change the density of this fit's draws: {match}"):
            relabel(make_fit(model, data, swapped[1]))


# ------------------------------------------------------------------------- classes in whatever variable has them


def one_for_all(posterior):
    """The draws of a model with one confusion matrix for all annotators."""
    return posterior.isel(annotator=0, drop=True)[["confusion", "prevalence", "other"]]


@pytest.mark.parametrize("rule", ["accuracy", "weighted"])
def test_classes_are_found_in_one_matrix_for_all_annotators(rule, rng):
    posterior = one_for_all(clear_posterior(rng))
    assert posterior["confusion"].dims == ("chain", "draw", "true_class", "response")
    posterior["prevalence"] = xr.ones_like(posterior["prevalence"]) / 3
    orders = np.array([rng.permutation(3) for _ in range(12)]).reshape(2, 6, 3)
    aligned, permutation = align_classes(permute_draws(posterior, orders), rule)
    xr.testing.assert_identical(aligned, posterior)
    np.testing.assert_array_equal(permutation, np.argsort(orders, axis=2))


def test_a_response_that_is_no_class_counts_for_no_class(rng):
    posterior = one_for_all(clear_posterior(rng))
    orders = np.array([rng.permutation(3) for _ in range(12)]).reshape(2, 6, 3)
    unsure = posterior["confusion"].isel(response=[0]).assign_coords(response=["a unsure"]) * 0 + 50.0
    wider = xr.concat([unsure, posterior["confusion"]], "response").isel(response=[0, 3, 1, 2])  # and in another order
    posterior = posterior.drop_vars(["confusion", "response"]).assign(confusion=wider)
    aligned, permutation = align_classes(permute_draws(posterior, orders))
    xr.testing.assert_identical(aligned, posterior)
    np.testing.assert_array_equal(permutation, np.argsort(orders, axis=2))


def test_the_weights_are_the_variable_that_is_a_distribution_over_classes():
    confusion = np.broadcast_to([[0.4, 0.6], [0.1, 0.9]], (1, 1, 1, 2, 2))
    more = {"concentration": np.array([[[0.1, 9.0]]]), "share": np.array([[[0.9, 0.1]]])}
    draws = posterior_of(["ada"], ["no", "yes"], ["no", "yes"], confusion=confusion, **more)
    assert share_changed(align_classes(draws, "weighted")[1]) == 1
    with pytest.raises(FitError, match='"weighted" needs the prevalence'):
        align_classes(draws.drop_vars("share"), "weighted")


def test_a_fit_whose_classes_cannot_be_relabelled_is_refused_at_once(monkeypatch, refuses):
    monkeypatch.setattr("bayesanno.models.mace.MACE.is_exchangeable", lambda *_: True)  # it has no matrix over classes
    monkeypatch.setitem(METHODS, "nuts", replace(METHODS["nuts"], run=lambda *_, **__: pytest.fail("was sampled")))
    with refuses(FitError, "classes cannot be relabelled: .*; fit with relabel=False"):
        fit("mace", TINY, progressbar=False)
