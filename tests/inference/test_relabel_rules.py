"""Rules of relabelling that compare draws with each other: what they find, where they differ, what is refused."""

import itertools
import json

import numpy as np
import pytest
import xarray as xr

from bayesanno import AnnotationData
from bayesanno._core.messages import FitError
from bayesanno.inference import relabelling
from bayesanno.inference.relabel import relabel
from bayesanno.inference.relabelling import minimise_divergence
from bayesanno.models.model_b import ModelB
from tests.inference.draws import EXCHANGEABLE, clear_posterior, make_fit, permute_draws
from tests.models.contract import EXACT, TINY

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # so few draws
RULES = ["accuracy", "weighted", "stephens", "pivot"]


def even(posterior):
    """The parameters of model B, with nearly even prevalences: by their weight no class stands for another."""
    n_classes = posterior.sizes["true_class"]
    posterior["prevalence"] = 0.99 * xr.ones_like(posterior["prevalence"]) / n_classes + 0.01 * posterior["prevalence"]
    return posterior[["confusion", "prevalence"]]


def labelled(n_classes, n_items, rng):
    """Items that three annotators give one label, and a few that they differ about."""
    names = [f"c{k}" for k in range(n_classes)]
    records = []
    for item in range(n_items):
        for annotator in TINY.annotators[:3]:
            said = item if rng.uniform() < 0.9 else rng.integers(n_classes)
            records.append((f"s{item}", annotator, names[said % n_classes]))
    return AnnotationData.from_records(records, labels=names)


def random_orders(posterior, rng):
    shape = [posterior.sizes[dim] for dim in ("chain", "draw", "true_class")]
    return np.array([rng.permutation(shape[2]) for _ in range(shape[0] * shape[1])]).reshape(shape)


# ------------------------------------------------------------------------------------------------- what is undone


@pytest.fixture(scope="module")
def switched():
    """A fit whose draws have permuted classes, by how, and the fit before that."""
    rng = np.random.default_rng(9)
    model, data, posterior = ModelB(confusion_accuracy=1 / 9), labelled(9, 36, rng), even(clear_posterior(rng, 9))
    orders = random_orders(posterior, rng)
    return make_fit(model, data, permute_draws(posterior, orders)), orders, make_fit(model, data, posterior)


@pytest.mark.parametrize("rule", RULES)
def test_permuted_draws_are_put_back(rule, switched):
    """Nine classes have 362,880 permutations: no rule tries them."""
    fit, orders, straight = switched
    aligned = relabel(fit, rule=rule)
    for group in ("posterior", "latent"):
        xr.testing.assert_allclose(aligned[group].to_dataset(), straight[group].to_dataset(), rtol=EXACT)
    xr.testing.assert_allclose(aligned["log_likelihood"].to_dataset(), fit["log_likelihood"].to_dataset(), rtol=EXACT)
    np.testing.assert_array_equal(aligned["sample_stats"]["permutation"], np.argsort(orders, axis=2))
    changed = (orders != np.arange(orders.shape[2])).any(axis=2).mean()
    assert json.loads(aligned.attrs["diagnostics"])["relabelled_fraction"] == pytest.approx(changed)


# ----------------------------------------------------------------------------------------------------- stephens


def divergence(probability, n_items, orders):
    """The sum over draws of the Kullback-Leibler divergence from their mean, each draw permuted."""
    p = np.stack([one[:, order] for one, order in zip(probability, orders, strict=True)])  # (sample, pattern, class)
    return float((n_items[:, None] * p * np.log(p / p.mean(axis=0))).sum())


def test_no_draw_of_the_end_can_be_nearer_to_the_mean(rng):
    """All 24 permutations of every draw, against the mean over draws as permuted in the end."""
    truth = rng.dirichlet(np.full(4, 0.3), size=15)  # (pattern, class)
    probability = np.array([rng.dirichlet(3 * one + 0.1, size=30) for one in truth]).transpose(1, 0, 2)
    probability = (probability + 1e-6) / (1 + 4e-6)
    shuffled = np.array([rng.permutation(4) for _ in range(30)])
    probability = np.stack([one[:, order] for one, order in zip(probability, shuffled, strict=True)])
    n_items = rng.integers(1, 9, size=15)
    start = np.tile(np.arange(4), (30, 1))
    found = minimise_divergence(probability, n_items, start)
    q = np.stack([one[:, order] for one, order in zip(probability, found, strict=True)]).mean(axis=0)
    for one, order in zip(probability, found, strict=True):
        cost = {
            pi: (n_items[:, None] * one[:, pi] * np.log(one[:, pi] / q)).sum()
            for pi in itertools.permutations(range(4))
        }
        assert cost[tuple(order)] == pytest.approx(min(cost.values()), rel=1e-12)
    assert divergence(probability, n_items, found) < 0.7 * divergence(probability, n_items, start)


def test_equal_items_count_as_often_as_there_are_of_them():
    """Two patterns that ask for opposite names: the more frequent one decides."""
    probability = np.array([[[0.9, 0.1], [0.8, 0.2]]] * 5 + [[[0.1, 0.9], [0.8, 0.2]]] * 3)  # (sample, pattern, class)
    start = np.tile([0, 1], (8, 1))
    assert minimise_divergence(probability, np.array([5, 1]), start)[5:].tolist() == [[1, 0]] * 3
    assert minimise_divergence(probability, np.array([1, 5]), start).tolist() == start.tolist()


def test_probabilities_of_0_and_1_have_no_infinite_divergence():
    certain = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    found = minimise_divergence(certain, np.array([1, 1]), np.tile([0, 1], (3, 1)))
    assert found.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_items_that_do_not_fit_in_memory_are_left_out_evenly(rng, monkeypatch):
    model, data = ModelB(confusion_accuracy=0.25), labelled(4, 60, rng)
    posterior = even(clear_posterior(rng, 4))
    fit = make_fit(model, data, permute_draws(posterior, random_orders(posterior, rng)))
    seen = []
    monkeypatch.setattr(relabelling, "MAX_BYTES", 8 * 12 * 4 * 9 + 7)
    monkeypatch.setattr(
        relabelling, "minimise_divergence", lambda *given: seen.append(given) or minimise_divergence(*given)
    )
    aligned = relabel(fit, rule="stephens")
    ((probability, n_items, _),) = seen
    assert probability.shape == (12, 9, 4)
    assert n_items.sum() < 60
    xr.testing.assert_allclose(aligned["posterior"].to_dataset()[["confusion", "prevalence"]], posterior, rtol=EXACT)


# -------------------------------------------------------------------------------------------------------- pivot


@pytest.mark.parametrize(("best", "restored"), [((1, 3), True), ((0, 0), False)])
def test_the_pivot_is_the_draw_of_greatest_density(best, restored, rng):
    """In the first draw all annotators guess: it is a pivot to which all orders are equally near."""
    posterior = even(clear_posterior(rng))
    posterior["confusion"][{"chain": 0, "draw": 0}] = 1 / 3
    fit = make_fit(EXCHANGEABLE, TINY, permute_draws(posterior, random_orders(posterior, rng)))
    fit["sample_stats"]["lp"][{"chain": best[0], "draw": best[1]}] = 5.0
    aligned = relabel(fit, rule="pivot")["posterior"]["confusion"].values
    assert np.allclose(aligned.reshape(12, -1)[1:], posterior["confusion"].values.reshape(12, -1)[1:]) == restored


def test_a_reference_names_the_classes(rng):
    posterior = even(clear_posterior(rng))
    fit = make_fit(EXCHANGEABLE, TINY, permute_draws(posterior, random_orders(posterior, rng)))
    one = posterior.isel(chain=0, draw=2)
    cycled = one.isel(true_class=[1, 2, 0]).assign_coords(true_class=one["true_class"].values)
    expected = posterior.isel(true_class=[1, 2, 0]).assign_coords(true_class=one["true_class"].values)
    tree = xr.DataTree(posterior.isel(chain=[0], draw=[2]))
    plain = {"confusion": one["confusion"].values.tolist()}
    backwards = one.isel(annotator=[2, 0, 1], response=[2, 1, 0]).transpose(..., "annotator")
    for reference, result in (
        (one, posterior), (tree, posterior), (plain, posterior), (backwards, posterior), (cycled, expected),
    ):  # fmt: skip
        aligned = relabel(fit, rule="pivot", reference=reference)["posterior"].to_dataset()
        xr.testing.assert_allclose(aligned[["confusion", "prevalence"]], result, rtol=EXACT)


def test_references_and_rules_that_do_not_do_are_refused(rng, refuses):
    posterior = even(clear_posterior(rng))
    fit, one = make_fit(EXCHANGEABLE, TINY, posterior), posterior.isel(chain=0, draw=0)
    for rule, reference, match in (
        ("pivot", one[["prevalence"]], "the reference has no confusion"),
        ("pivot", {"confusion": np.eye(3)}, r"confusion has shape \(3, 3\) in the reference and \(3, 3, 3\)"),
        ("pivot", posterior.isel(chain=0), "the reference has 6 draws of confusion"),
        ("pivot", one.isel(annotator=[0, 1]), "lacks some of the dimension annotator"),
        ("stephens", one, 'a reference is for the rule "pivot"'),
        ("unweighted", None, "no relabelling rule 'unweighted'"),
    ):
        with refuses(FitError, match):
            relabel(fit, rule=rule, reference=reference)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 13])
def test_a_prior_typed_with_four_digits_is_meant_to_be_exchangeable(n_classes, rng):
    data = labelled(n_classes, 2 * n_classes, rng)
    for typed in (1 / n_classes, round(1 / n_classes, 4), int(10_000 / n_classes) / 10_000):
        assert ModelB(confusion_accuracy=typed).is_exchangeable(data)
        assert not ModelB(confusion_accuracy=typed * 1.01).is_exchangeable(data)
    assert not ModelB(confusion_accuracy=0.333).is_exchangeable(TINY)
