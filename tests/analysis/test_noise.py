"""The noise of agreed items from a fit: against the closed form, and against distributions computed in other ways."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.agreement.noise import bound_count, hard_items_posterior
from bayesanno.analysis.labels import score
from bayesanno.analysis.noise import count_successes
from bayesanno.models.easy_hard import EasyHard
from tests.inference.draws import make_quiet_fit
from tests.models.contract import close


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


def test_a_bound_is_exceeded_with_the_probability_left():
    pmf = np.array([0.5, 0.3, 0.16, 0.04])
    assert [bound_count(pmf, ci_prob) for ci_prob in (0.49, 0.51, 0.79, 0.81, 0.97)] == [0, 1, 1, 2, 3]


N, D = 1000, 100


@pytest.fixture(scope="module")
def nearly_fair():
    """The paper's section 3.1: two annotators and fair coins; draws are of the posterior, which is known on a grid."""
    said = [(0, 0)] * 450 + [(1, 1)] * 450 + [(0, 1)] * 50 + [(1, 0)] * 50
    records = [(item, who, pair[who]) for item, pair in enumerate(said) for who in (0, 1)]
    data = ba.AnnotationData.from_records(records, gold={"0": "0", "999": "1"})
    hard, share = np.meshgrid((np.arange(500) + 0.5) / 1000, (np.arange(500) + 0.5) / 500)
    logp = D * np.log(hard) + 450 * sum(np.log((1 - hard) * own + hard / 4) for own in (share, 1 - share))
    p = np.exp(logp - logp.max()).ravel()
    drawn = np.random.default_rng(1).choice(p.size, size=(4, 1000), p=p / p.sum())
    share = share.ravel()[drawn]
    coin = np.random.default_rng(2).normal(0.5, 0.001, size=(4, 1000, 2))
    values = {
        "hard_fraction": (("chain", "draw"), hard.ravel()[drawn]),
        "easy_prevalence": (("chain", "draw", "response"), np.stack([share, 1 - share], axis=-1)),
        "coin": (("chain", "draw", "annotator", "response"), np.stack([coin, 1 - coin], axis=-1)),
    }
    coords = {"chain": range(4), "draw": range(1000), "annotator": list(data.annotators), "response": ["0", "1"]}
    return make_quiet_fit(EasyHard(coin_prior=1000), data, xr.Dataset(values, coords))


@pytest.mark.parametrize("ci_prob", [0.9, 0.99])
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


def test_a_label_table_of_types_names_the_most_probable(nearly_fair):
    table = ba.label_table(nearly_fair)
    p = nearly_fair["latent"]["probability"].values
    states = ["easy: 0", "easy: 1", "hard"]
    assert [name for name in table if name.startswith("p[")] == [f"p[{state}]" for state in states]
    assert table["item_type"].tolist() == [states[k] for k in p.argmax(axis=1)]
    np.testing.assert_allclose(table["hard"], table["p[hard]"], rtol=1e-12)  # one by the model, one by exp of its log
    assert (table["p[hard]"][-D:] == 1).all()


def test_the_type_of_a_new_item_is_predicted_and_not_scored(nearly_fair, refuses):
    new = ba.AnnotationData.from_records([("a", 0, 0), ("a", 1, 1), ("b", 0, 1), ("b", 1, 1)])
    assert ba.predict_labels(nearly_fair, new)["item_type"].tolist() == ["hard", "easy: 1"]
    assert score(nearly_fair) == {}
    with refuses(FitError, "needs labels, and easy_hard gives item types"):
        ba.coverage_table(nearly_fair)
