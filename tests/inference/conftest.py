"""Data that tests of several methods of fitting share."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from tests.inference.answers import data_of, noisy
from tests.inference.draws import fit_quietly


@pytest.fixture(scope="session")
def wrong_majority():
    """Three of five click "A" whatever the item: the vote is no place to start from, and there are two maxima."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=150)
    records = [
        (f"{item}", f"{who}", "ABCD"[said])
        for item, true in enumerate(truth)
        for who in range(5)
        for usual, share in [(true, 0.9) if who < 2 else (0, 0.97)]
        for said in [usual if rng.uniform() < share else rng.integers(4)]
    ]
    gold = {f"{item}": "ABCD"[true] for item, true in enumerate(truth)}
    return ba.AnnotationData.from_records(records, labels=list("ABCD"), gold=gold)


@pytest.fixture(scope="session")
def copies():
    """Five good annotators, and five who copy one bad one; a rare class, two controls, an empty item, one answer."""
    rng = np.random.default_rng(1)
    truth = rng.choice(3, p=[0.6, 0.35, 0.05], size=200)
    bad = noisy(truth, 0.6, 3, rng)
    copied = [np.where(rng.random(200) < 0.95, bad, noisy(truth, 0.6, 3, rng)) for _ in range(5)]
    answers = np.column_stack([*(noisy(truth, 0.75, 3, rng) for _ in range(5)), *copied])
    answers[0, 1:] = answers[1] = -1
    data = data_of(answers, "abc", truth=truth)
    return replace(data, controls={"item 002": data.gold["item 002"], "item 001": data.gold["item 001"]})


@pytest.fixture(scope="session")
def fit_of_copies(copies, once_per_run):
    """Model B by VB on the copies, which are checked and adjusted."""
    return once_per_run("fit_of_copies", lambda: fit_quietly("model_b", copies, method="vb"))
