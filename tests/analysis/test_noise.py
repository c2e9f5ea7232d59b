"""The noise of agreed items from a fit: against the closed form, and against distributions computed in other ways."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError, IdentifiabilityWarning
from bayesanno.agreement.noise import bound_count, hard_items_posterior
from bayesanno.analysis.labels import score
from bayesanno.analysis.noise import count_successes
from bayesanno.models.easy_hard import EasyHard
from tests.models.contract import close
from tests.samples import SETTINGS

# ------------------------------------------------------------------------------------------------ the distribution


def convolve_trials(probability, times):
    """Trial after trial, sample after sample."""
    total = np.zeros(times.sum() + 1)
    for sample in probability:
        pmf = np.ones(1)
        for p in np.repeat(sample, times):
            pmf = np.convolve(pmf, [1 - p, p])
        total += pmf / len(probability)
    return total


@given(
    times=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    n_samples=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_successes_are_distributed_as_by_convolution(times, n_samples, seed):
    rng = np.random.default_rng(seed)
    probability = np.clip(rng.uniform(-0.2, 1.2, size=(n_samples, len(times))), 0, 1)  # 0 and 1 among them
    times = np.array(times)
    close(count_successes(probability, times), convolve_trials(probability, times))


def test_many_equal_trials_are_binomial():
    found = count_successes(np.array([[0.02], [0.3], [1.0]]), np.array([20_000]))
    expected = np.mean([binom.pmf(np.arange(20_001), 20_000, p) for p in (0.02, 0.3, 1.0)], axis=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("ci_prob", "bound"), [(0.49, 0), (0.51, 1), (0.79, 1), (0.81, 2), (0.97, 3)])
def test_a_bound_is_exceeded_with_the_probability_left(ci_prob, bound):
    assert bound_count(np.array([0.5, 0.3, 0.16, 0.04]), ci_prob) == bound


# ------------------------------------------------------------------------------------------------ two annotators

N, D = 1000, 100


@pytest.fixture(scope="module")
def nearly_fair():
    """The paper's section 3.1: two annotators, coins that are known to be nearly fair."""
    said = [(0, 0)] * 450 + [(1, 1)] * 450 + [(0, 1)] * 50 + [(1, 0)] * 50
    records = [(item, who, pair[who]) for item, pair in enumerate(said) for who in (0, 1)]
    gold = {"0": "0", "999": "1"}
    with pytest.warns(IdentifiabilityWarning, match="^design-few-annotators: "):
        return ba.fit(EasyHard(coin_prior=1000), ba.AnnotationData.from_records(records, gold=gold), **SETTINGS)


@pytest.mark.parametrize("ci_prob", [0.9, 0.95, 0.99])
def test_with_coins_known_to_be_fair_the_closed_form_comes_back(nearly_fair, ci_prob):
    found, known = (
        ba.noise.noise_posterior(nearly_fair, ci_prob=ci_prob),
        ba.noise.bound_noise(N, D, 0.5, ci_prob=ci_prob),
    )
    assert (found.n, found.d, found.n_agreed, found.ci_prob) == (N, D, N - D, ci_prob)
    assert found.t0 == pytest.approx(known.t0, abs=3)
    assert found.n_noise == found.t0 - D
    assert found.gamma == found.n_noise / found.n_agreed


def test_the_number_of_hard_items_has_the_posterior_of_the_closed_form(nearly_fair):
    found, known = ba.noise.noise_posterior(nearly_fair), hard_items_posterior(N, D, 0.5)
    assert np.abs(found.hard - known).sum() < 0.1  # 4,000 draws; that of another p is far away
    assert np.abs(found.hard - hard_items_posterior(N, D, 0.45)).sum() > 0.5
    close(found.hard[D:], found.hard_agreed)  # what is disagreed on is hard
    assert found.expected == pytest.approx((known @ np.arange(N + 1) - D) / (N - D), abs=0.003)


def test_what_cannot_be_bounded_is_refused(refuses, nearly_fair, mace_fit):
    with refuses(FitError, "mace does not infer which annotated items are hard"):
        ba.noise.noise_posterior(mace_fit)
    with refuses(DataError, "ci_prob is 1: it must be above 0 and below 1"):
        ba.noise.noise_posterior(nearly_fair, ci_prob=1)


# ------------------------------------------------------------------------------------------------ tables of types


def test_a_label_table_of_types_names_the_most_probable(nearly_fair):
    table = ba.label_table(nearly_fair, coverage=0.5)
    p = nearly_fair["latent"]["probability"].values
    states = ["easy: 0", "easy: 1", "hard"]
    assert table.columns.tolist() == [
        *("item", "item_type", "probability", "entropy", "n_annotations"),
        *(f"p[{state}]" for state in states),
        *("hard", "gold", "kept"),
    ]
    assert table["item_type"].tolist() == [states[k] for k in p.argmax(axis=1)]
    np.testing.assert_allclose(table["hard"], table["p[hard]"], rtol=1e-12)  # one by the model, one by exp of its log
    assert (table["p[hard]"][-D:] == 1).all()


def test_types_are_not_scored(refuses, nearly_fair):
    assert score(nearly_fair) == {}
    with refuses(FitError, "easy_hard gives item types instead of labels"):
        ba.coverage_table(nearly_fair)


def test_the_type_of_a_new_item_is_predicted(nearly_fair):
    new = ba.AnnotationData.from_records([("a", 0, 0), ("a", 1, 1), ("b", 0, 1), ("b", 1, 1)])
    assert ba.predict_labels(nearly_fair, new)["item_type"].tolist() == ["hard", "easy: 1"]
