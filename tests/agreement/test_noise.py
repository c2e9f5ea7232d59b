"""The noise of agreed items: the paper's numbers, and everything again by enumeration or by another formula."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesanno._core.messages import DataError
from bayesanno.agreement.noise import (
    bound_noise,
    bound_noise_of,
    hard_items_posterior,
    noise_from_kappa,
    plan_annotators,
    tolerated_disagreements,
)
from bayesanno.data.annotations import AnnotationData
from tests.samples import rte_annotations

# n, d, p: t0, P(X > t0), P(X > t0 - 1), gamma (Beigman Klebanov and Beigman 2009, recomputed where it errs)
PAPER = {
    "3.1, two annotators": (1000, 100, 0.5, 225, 0.0480502543, 0.0546967336, 0.138889),
    "Poesio and Vieira": (992, 121, 0.47, 253, 0.04965716, 0.05650631, 0.151550),
    "33 are tolerated": (1000, 33, 0.5, 81, 0.04851546, 0.05963683, 0.049638),
    "34 are not": (1000, 34, 0.5, 84, 0.04102715, 0.05056817, 0.051760),
    "3.2, five annotators": (1000, 340, 0.0625, 371, 0.04350622, 0.06301195, 0.046970),
    "5.3, three annotators (printed 7.7%)": (1000, 150, 0.25, 214, 0.04732483, 0.05923986, 0.075294),
}


def exceeds(posterior, t):
    return posterior[t + 1 :].sum()


@pytest.mark.parametrize("example", PAPER)
def test_the_numbers_of_the_paper(example):
    n, d, p, t0, tail, tail_before, gamma = PAPER[example]
    level = bound_noise(n, d, p)
    assert (level.n, level.d, level.p, level.ci_prob, level.t0, level.kappa) == (n, d, p, 0.95, t0, None)
    assert level.gamma == pytest.approx(gamma, abs=5e-7)
    assert (level.n_noise, level.n_agreed) == (t0 - d, n - d)
    posterior = hard_items_posterior(n, d, p)
    assert exceeds(posterior, t0) == pytest.approx(tail, abs=5e-9)
    assert exceeds(posterior, t0 - 1) == pytest.approx(tail_before, abs=5e-9)


def test_where_all_items_are_disagreed_on_there_is_no_noise_level():
    level = bound_noise(7, 7, 0.5)
    assert (level.t0, level.n_noise, level.n_agreed, level.gamma) == (7, 0, 0, None)


def fractions_posterior(n, d, p, prior):
    weights = [Fraction(0)] * (n + 1)
    for h in range(d, n + 1):
        weights[h] = comb(h, d) * (1 - p) ** d * p ** (h - d) * prior[h]
    return [weight / sum(weights) for weight in weights]


@given(data=st.data())
def test_the_posterior_and_the_bound_equal_exact_fractions(data):
    n = data.draw(st.integers(1, 25))
    d = data.draw(st.integers(0, n))
    p = Fraction(data.draw(st.integers(1, 63)), 64)  # a float that is its fraction
    prior = data.draw(st.none() | st.lists(st.integers(0, 9), min_size=n + 1, max_size=n + 1))
    if prior is not None and not any(prior[d:]):
        prior[n] = 1
    exact = fractions_posterior(n, d, p, prior or [1] * (n + 1))
    found = hard_items_posterior(n, d, float(p), prior=prior)
    np.testing.assert_allclose(found, np.array(exact, dtype=float), rtol=1e-10, atol=1e-300)
    tails = [sum(exact[t + 1 :]) for t in range(n + 1)]
    for ci_prob in (0.5, 0.75, 0.96875):
        if all(abs(float(tail) + ci_prob - 1) > 1e-9 for tail in tails):  # a tie is decided by rounding
            t0 = next(t for t in range(n + 1) if tails[t] < 1 - Fraction(ci_prob))
            level = bound_noise(n, d, float(p), ci_prob=ci_prob, prior=prior)
            assert level.t0 == t0
            assert level.gamma == (None if n == d else (t0 - d) / (n - d))


def test_the_posterior_equals_the_generative_process_enumerated():
    """Every number of hard items, which items they are, and every flip of every coin."""
    n, coins = 4, [(0.5, 0.25, 0.25), (0.125, 0.75, 0.125)]
    exact = [[Fraction(coin) for coin in coin_of] for coin_of in coins]
    labels = range(len(exact[0]))
    joint = [[Fraction(0)] * (n + 1) for _ in range(n + 1)]  # (hard, disagreed)
    flips = [(a, b, exact[0][a] * exact[1][b]) for a, b in product(labels, labels)]
    for hard in range(n + 1):
        for world in product(flips, repeat=hard):
            probability = Fraction(1, n + 1)
            for *_, chance in world:
                probability *= chance
            joint[hard][sum(a != b for a, b, _ in world)] += probability
    p = float(sum(chance for a, b, chance in flips if a == b))
    for d in range(n + 1):
        total = sum(joint[hard][d] for hard in range(n + 1))
        expected = [float(joint[hard][d] / total) for hard in range(n + 1)]
        np.testing.assert_allclose(hard_items_posterior(n, d, p), expected, atol=1e-14)


@settings(max_examples=40)
@given(
    n=st.integers(1, 25),
    p=st.floats(0.01, 0.99),
    gamma=st.floats(0, 0.999),
    ci_prob=st.sampled_from([0.5, 0.8, 0.95, 0.99]),
)
def test_tolerated_disagreements_equal_a_search_one_by_one(n, p, gamma, ci_prob):
    expected = None
    for d in range(n):
        tails = 1 - np.cumsum(hard_items_posterior(n, d, p))
        assume((np.abs(tails - (1 - ci_prob)) > 1e-9).all())  # a tie is decided by rounding
        if bound_noise(n, d, p, ci_prob=ci_prob).gamma > gamma + 1e-12:
            break
        expected = d
    assert tolerated_disagreements(n, p, gamma, ci_prob=ci_prob) == expected


def test_the_paper_tolerates_33_disagreements_and_few_items_none():
    assert tolerated_disagreements(1000, 0.5, 0.05) == 33
    assert bound_noise(1000, 33, 0.5).gamma <= 0.05 < bound_noise(1000, 34, 0.5).gamma
    assert tolerated_disagreements(10, 0.5, 0.3) is None


def test_an_annotator_more_halves_the_noise():
    two, three, five = (plan_annotators(1000, 200, annotators) for annotators in (2, 3, 5))
    assert (two.p, two.d, two.n_noise) == (0.5, 100, 125)
    assert (three.p, three.d, three.n_noise, three.n_agreed) == (0.25, 150, 64, 850)
    assert three.gamma == pytest.approx(0.075294, abs=5e-7)
    assert five.gamma < three.gamma
    assert plan_annotators(1000, 200, 2, coin=(0.9, 0.1)).p == pytest.approx(0.82)


@pytest.mark.parametrize(
    ("kappa", "d", "noise"), [(0.8, 100, 1 / 9), (0.637, 340, 23 / 660), (0.95, 100, 0), (-2, 0, 1)]
)
def test_noise_from_kappa(kappa, d, noise):
    assert noise_from_kappa(kappa, 1000, d) == pytest.approx(noise, abs=1e-12)


def pairs(*said):
    rows = [(f"s{item}", who, label) for item, pair in enumerate(said) for who, label in zip("ab", pair, strict=True)]
    return AnnotationData.from_records(rows)


def test_the_first_example_of_the_paper_from_a_table():
    said = [("no", "no"), ("yes", "yes")] * 450 + [("no", "yes"), ("yes", "no")] * 50
    level = bound_noise_of(pairs(*said))
    assert (level.n, level.d, level.p, level.t0) == (1000, 100, 0.5, 225)
    assert level.kappa == pytest.approx(0.8, abs=1e-12)
    assert bound_noise_of(pairs(*said), ci_prob=0.9).n_noise == 120
    assert bound_noise(1000, 100, 0.5, ci_prob=0.99).n_noise == 136
    assert bound_noise_of(pairs(*said), chance=0.25).t0 == bound_noise(1000, 100, 0.25).t0


def test_a_chance_that_cannot_be_estimated_must_be_given(refuses):
    agreed = pairs(("no", "no"), ("yes", "yes"))
    with refuses(DataError, "no item is disagreed on, so the chance of agreement cannot be estimated: give chance"):
        bound_noise_of(agreed)
    assert bound_noise_of(agreed, chance=0.5).d == 0
    one_sided = pairs(("no", "yes"), ("no", "yes"), ("no", "no"))  # a's coin always says no, b's always yes
    with refuses(DataError, "from 2 items disagreed on the chance of agreement is 0, not a reliable estimate"):
        bound_noise_of(one_sided)
    assert bound_noise_of(one_sided, chance=0.5).d == 2


def test_real_annotations():
    level = bound_noise_of(rte_annotations())
    assert (level.n, level.d) == (800, 800 - 5 - 73)  # those with 0 or 10 of 10 positive answers are agreed on
    assert level.kappa == pytest.approx(0.2413839389, abs=5e-10)
    assert level.t0 == bound_noise(800, 722, level.p).t0


WRONG = {
    "11 disagreements among 10": lambda: bound_noise(10, 11, 0.5),
    "d, the number of disagreements, is -1": lambda: bound_noise(10, -1, 0.5),
    "n, the number of items, is 0": lambda: bound_noise(0, 0, 0.5),
    r"n, the number of items, is 10\.5": lambda: bound_noise(10.5, 1, 0.5),
    r"hard item, is 0\.0": lambda: bound_noise(10, 1, 0.0),
    r"hard item, is 1\.0": lambda: plan_annotators(10, 5, 2, coin=(1, 0)),
    "hard item, is nan": lambda: bound_noise(10, 1, float("nan")),
    "hard item, is 2": lambda: tolerated_disagreements(10, 2, 0.1),
    "ci_prob is 1": lambda: bound_noise(10, 1, 0.5, ci_prob=1),
    r"prior has shape \(2,\)": lambda: bound_noise(2, 1, 0.5, prior=[1, 1]),
    "weight that is negative": lambda: bound_noise(2, 1, 0.5, prior=[1, 1, -1]),
    "negative or not finite": lambda: bound_noise(1, 1, 0.5, prior=[1, float("nan")]),
    "1 hard item or more": lambda: bound_noise(2, 1, 0.5, prior=[1, 0, 0]),
    "gamma is 1": lambda: tolerated_disagreements(10, 0.5, 1),
    "annotators is 1": lambda: plan_annotators(10, 5, 1),
    r"kappa is 1\.2": lambda: noise_from_kappa(1.2, 10, 1),
    "every item .10. is disagreed on": lambda: noise_from_kappa(0.2, 10, 10),
}


@pytest.mark.parametrize("match", WRONG)
def test_values_out_of_range_are_refused(refuses, match):
    with refuses(DataError, match):
        WRONG[match]()
