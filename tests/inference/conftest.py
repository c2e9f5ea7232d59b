"""Data that tests of several methods of fitting share."""

import numpy as np
import pytest

import bayesanno as ba


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
