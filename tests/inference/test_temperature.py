"""Temperature and shifts: their posterior against quadrature and simulation, and leave-one-out against leaving out."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp
from scipy.stats import kstest, norm

from bayesanno.analysis.recalibrate import SHIFT_SD, SIZE_PRIOR, learn_tempering, score_shares
from bayesanno.inference.tempering import log_probabilities, measure_logs

IMPOSSIBLE = 1e-4  # a p-value below it is no chance


def make_logs(rng, n_items=300, n_labels=2, size=8.0):
    """Log posteriors of labels as a fit has them: far apart, of some items almost even."""
    return log_softmax(rng.normal(size=(n_items, n_labels)) * size * rng.uniform(size=(n_items, 1)), axis=1)


def draw_labels(rng, logs):
    return (rng.uniform(size=(len(logs), 1)) >= np.exp(logs).cumsum(axis=1)[:, :-1]).sum(axis=1)


def learn(logs, known, truth, **how):
    return learn_tempering(logs, known, truth, tempered=0.0, **how)


def on_a_grid(logs, known, truth, n=(300, 200)):
    """Quadrature for two labels: log T and the difference of shifts, with twice the variance of one, and weights."""
    log_share, _, size = measure_logs(logs)
    at = np.linspace(-6, 7, n[0]), np.linspace(-5, 5, n[1])
    scaled, apart = (values.ravel() for values in np.meshgrid(*at))

    def logit(some):
        odds = (some - log_share) @ [1, -1] / size
        return np.exp(scaled)[:, None] * odds + (log_share @ [1, -1] + apart)[:, None]  # (point, item)

    log_p = -np.logaddexp(0, np.where(truth == 0, -logit(known), logit(known)))  # (point, known)
    log_prior = norm.logpdf(scaled, -SIZE_PRIOR[0], SIZE_PRIOR[1]) + norm.logpdf(apart, 0, SHIFT_SD * np.sqrt(2))
    return np.log(size) - scaled, apart, log_prior, log_p, logit


@pytest.mark.parametrize(("n_known", "temperature"), [(5, 1.0), (30, 4.0), (100, 50.0)])
def test_the_posterior_is_that_of_quadrature(rng, n_known, temperature):
    logs = make_logs(rng)
    truth = draw_labels(rng, log_softmax(logs[:n_known] / temperature, axis=1))
    found, left_out = learn(logs, logs[:n_known], truth)
    log_temperature, apart, log_prior, log_p, logit = on_a_grid(logs, logs[:n_known], truth)
    weight = np.exp(log_prior + log_p.sum(axis=1) - logsumexp(log_prior + log_p.sum(axis=1)))
    for drawn, points in ((np.log(found.temperature), log_temperature), (found.shift @ [1, -1], apart)):
        mean = weight @ points
        sd = np.sqrt(weight @ (points - mean) ** 2)
        assert drawn.mean() == pytest.approx(mean, abs=0.02 * sd)
        assert drawn.std() == pytest.approx(sd, rel=0.03)
    new = make_logs(rng, 20)
    np.testing.assert_allclose(np.exp(found.average(new))[:, 0], weight @ expit(logit(new)), atol=0.002)
    without = log_prior[:, None] + log_p.sum(axis=1, keepdims=True) - log_p  # (point, known)
    weights = np.exp(without - logsumexp(without, axis=0))
    expected = (weights * expit(logit(logs[:n_known]))).sum(axis=0)
    np.testing.assert_allclose(np.exp(left_out)[:, 0], expected, atol=0.003)


def test_temperature_1_and_no_shift_change_nothing(rng):
    logs = make_logs(rng, n_labels=3)
    log_share, *_ = measure_logs(logs)
    same = log_probabilities(np.ones((1, 1)), np.zeros((1, 3)), log_share, logs - log_share)
    np.testing.assert_allclose(same[0], logs, rtol=1e-12, atol=1e-12)


def test_what_is_impossible_by_the_fit_may_be_true(rng):
    logs = make_logs(rng, 50)
    logs[:10] = [0, -np.inf]
    truth = np.where(logs[:, 0] > logs[:, 1], 0, 1)
    truth[:5] = 1
    again = learn(logs, logs, truth)[0].average(logs)
    assert np.isfinite(again).all()
    np.testing.assert_allclose(np.exp(again).sum(axis=1), 1)


@pytest.mark.parametrize(("n_labels", "near"), [(3, 0.006), (13, 0.02)])  # of so many points in 3, or 13, directions
@pytest.mark.parametrize("n_known", [6, 40])
def test_leaving_out_by_weights_is_leaving_out(rng, n_known, n_labels, near):
    logs = make_logs(rng, n_labels=n_labels)
    truth = draw_labels(rng, log_softmax(logs / 5, axis=1)[:n_known])
    truth[0] = logs[0].argmin()  # a surprise: its weights are the worst
    known = logs[:n_known]
    with_own, found = learn(logs, known, truth)
    for row in range(min(n_known, 8)):
        others = np.arange(n_known) != row
        exact = learn(logs, known[others], truth[others])[0].average(known[[row]])[0]
        np.testing.assert_allclose(np.exp(found[row]), np.exp(exact), atol=near)
    with_own = with_own.average(known)
    assert (found[np.arange(n_known), truth] < with_own[np.arange(n_known), truth]).mean() > 0.9


def test_shares_of_labels_leave_each_item_out():
    truth = np.array([2, 0, 0, 1, 0])
    for row, label in enumerate(truth):
        others = np.delete(truth, row)
        assert np.exp(score_shares(truth, 3))[row] == pytest.approx(((others == label).sum() + 1) / (4 + 3))


def simulate_ranks(rng, more=0.0):
    """Where log T and a difference of shifts, drawn from the prior, are in draws of their posterior, 60 times.

    Labels are drawn by log odds e^more times as large as the parameters say.
    """
    ranks = []
    for number in range(60):
        n_labels, n_known = (2, 3)[number % 2], (10, 20, 50)[number % 3]
        logs = make_logs(rng, n_labels=n_labels)
        log_share, _, size = measure_logs(logs)
        log_temperature, shift = np.log(size) + rng.normal(*SIZE_PRIOR), rng.normal(0, SHIFT_SD, n_labels)
        rows = rng.choice(len(logs), n_known, replace=False)
        effect = np.exp(np.full((1, 1), log_temperature - more))
        made = log_probabilities(effect, shift[None], log_share, logs[rows] - log_share)[0]
        found, _ = learn(logs, logs[rows], draw_labels(rng, made))
        of_shift = found.shift[:, 0] - found.shift[:, 1]
        ranks.append([(np.log(found.temperature) < log_temperature).mean(), (of_shift < shift[0] - shift[1]).mean()])
    return np.array(ranks)


def test_ranks_of_what_the_prior_drew_are_uniform_and_a_wrong_temperature_is_noticed(rng):
    for rank in simulate_ranks(rng).T:
        assert kstest(rank, "uniform").pvalue > IMPOSSIBLE
        assert abs((np.abs(rank - 0.5) < 0.4).mean() - 0.8) < 4 * np.sqrt(0.16 / 60)
    assert kstest(simulate_ranks(rng, more=1.0)[:, 0], "uniform").pvalue < IMPOSSIBLE
