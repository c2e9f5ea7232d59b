"""How often each number of types is chosen, by each criterion, on data simulated from model M. Long, and marked slow.

Model M is the paper's: Beigman Klebanov and Beigman (2010), figure 3, three types. Log-likelihoods are of the answers
in their order.
"""

from collections import Counter

import numpy as np
import nutpie
import pytest
from arviz_stats.base import array_stats
from scipy.special import comb, logsumexp

from bayesanno import CountData
from bayesanno.graph.functions import exact_arithmetic
from bayesanno.histograms import count_histogram, fit_binomials, select_n_types
from bayesanno.modeling.likelihood import observed_arrays
from bayesanno.models.binomial_mixture import BinomialMixture
from bayesanno.simulation import make_count_design

SIMULATIONS = 100
ITEMS, TRIALS = 800, 10
WEIGHT, RATE = np.array([343, 159, 298]) / 800, np.array([0.1978, 0.5487, 0.8942])
TYPES = (1, 2, 3, 4)
SEED = 20100601


def simulate_counts(number):
    rng = np.random.default_rng([SEED, number])
    rate = rng.choice(RATE, p=WEIGHT, size=ITEMS)
    design = make_count_design(items=ITEMS, per_item=TRIALS)
    return CountData(items=design.items, successes=rng.binomial(TRIALS, rate), trials=design.trials)


def chosen_in_steps(histogram, method):
    """Add types until not rejected; 5 where even 4 are rejected."""
    last = select_n_types(histogram, method=method).iloc[-1]
    return 5 if last["rejected"] else int(last["types"])


@pytest.mark.slow
def test_the_number_of_types_that_each_criterion_chooses():
    chosen = {name: Counter() for name in ("chi-square of ML, in steps", "least squares, in steps", "AIC", "BIC")}
    rejected, done = Counter(), 0
    for number in range(SIMULATIONS):
        histogram = count_histogram(simulate_counts(number))
        chosen["chi-square of ML, in steps"][chosen_in_steps(histogram, "likelihood")] += 1
        chosen["least squares, in steps"][chosen_in_steps(histogram, "least_squares")] += 1
        fits = [fit_binomials(histogram, types) for types in TYPES]
        for name, cost in (("AIC", 2.0), ("BIC", np.log(ITEMS))):
            criteria = [cost * (2 * k - 1) - 2 * fit.ordered_log_likelihood for k, fit in zip(TYPES, fits, strict=True)]
            chosen[name][TYPES[int(np.argmin(criteria))]] += 1
        rejected.update(k for k, fit in zip(TYPES, fits, strict=True) if fit.goodness.rejected)
        done += 1
    for name, counted in chosen.items():
        print(f"{name:30}", *(f"{counted[k]:4}" for k in (*TYPES, 5)))
    print(f"{'rejected by chi-square of ML':30}", *(f"{rejected[k]:4}" for k in TYPES))
    assert done == SIMULATIONS
    assert all(counted.total() == SIMULATIONS for counted in chosen.values())
    assert rejected[1] == SIMULATIONS
    assert rejected[2] >= 95
    assert rejected[3] <= 15


def log_probability(posterior):
    """Log p(answers in their order | draw) of 0..n successes; shape (chain, draw, bin)."""
    bins = np.arange(TRIALS + 1)
    rate, weight = (posterior[name].values[..., None] for name in ("rate", "weight"))  # (chain, draw, type, 1)
    return logsumexp(np.log(weight) + bins * np.log(rate) + (TRIALS - bins) * np.log1p(-rate), axis=2)


def draw_logp(compiled, entry, data, number):
    """Log p(answers in their order | draw) of 0..n successes, after a fit by NUTS; shape (draw, bin)."""
    used = {variable.name for variable in compiled.shared_var_keys}
    arrays = {name: array for name, array in observed_arrays(entry, data).items() if name in used}
    tree = nutpie.sample(
        compiled.with_data(**arrays), draws=500, tune=500, chains=4, cores=2, seed=number, progress_bar=False
    )
    return log_probability(tree["posterior"].to_dataset()).reshape(-1, TRIALS + 1)


def leave_one_out(logp):
    """elpd of each number of successes, (bin,), and the largest Pareto k; items with as many successes are alike."""
    elpd, worst = np.empty(TRIALS + 1), -np.inf
    for j, values in enumerate(logp.T):
        weights, k = array_stats.psislw(values)  # of 1 / p: ArviZ's smoother negates its argument itself
        elpd[j], worst = logsumexp(weights + values), max(worst, float(k))
    return elpd, worst


def predictive_p_value(logp, histogram, rng):
    expected = ITEMS * comb(TRIALS, np.arange(TRIALS + 1)) * np.exp(logp)  # (draw, bin)
    replicates = rng.multinomial(ITEMS, expected / expected.sum(axis=1, keepdims=True))
    seen, again = (((counts - expected) ** 2 / expected).sum(axis=1) for counts in (histogram, replicates))
    return np.mean(again >= seen)


@pytest.mark.slow
def test_leave_one_out_and_predictive_checks_of_two_and_three_types():
    """Each model is compiled once."""
    gains, errors, pareto, p_values = [], [], [], []
    entries = [BinomialMixture(types=k) for k in (2, 3)]
    rng = np.random.default_rng(SEED)
    with exact_arithmetic():
        models = [entry.build(simulate_counts(0)) for entry in entries]
        starts = [entry.start(simulate_counts(0)) for entry in entries]
        compiled = [
            nutpie.compile_pymc_model(model, initial_points=start) for model, start in zip(models, starts, strict=True)
        ]
        for number in range(SIMULATIONS):
            data = simulate_counts(number)
            histogram = count_histogram(data)
            logp = [draw_logp(*pair, data, number) for pair in zip(compiled, entries, strict=True)]
            (two, k_two), (three, k_three) = map(leave_one_out, logp)
            gain = three - two  # (bin,)
            gains.append(histogram @ gain)
            errors.append(np.sqrt(histogram @ (gain - gains[-1] / ITEMS) ** 2))
            pareto.append(max(k_two, k_three))
            p_values.append([predictive_p_value(values, histogram, rng) for values in logp])
    gains, errors, p_values = np.array(gains), np.array(errors), np.array(p_values)
    preferred, clearly, rejected = np.sum(gains > 0), np.sum(gains > 2 * errors), (p_values < 0.05).sum(axis=0)
    print(f"elpd of 3 less that of 2: mean {gains.mean():.1f}, least {gains.min():.1f}; Pareto k {max(pareto):.2f}")
    print(f"3 preferred {preferred}, by more than 2 se {clearly}; p < .05 with 2, 3 types: {rejected.tolist()}")
    print(f"predictive p: most with 2 types {p_values[:, 0].max():.3f}, median with 3 {np.median(p_values[:, 1]):.2f}")
    assert p_values.shape == (SIMULATIONS, 2)
    assert max(pareto) < 0.7
    assert preferred >= 95
    assert rejected[0] >= 95
    assert rejected[1] <= 15
