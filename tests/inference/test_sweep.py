"""From no annotator who clicks one label to eight of ten, and adversaries: no fit is wrong and silent.

Ten annotators, five per item, four labels. Labels must be right, or the fit must say that they may not be.
"""

import warnings

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.models import MACE

LABELS = ("A", "B", "C", "D")
ALWAYS = [("clickers", 5, 2), ("clickers", 8, 1), ("adversaries", 3, 1)]
ALL = [("clickers", n, seed) for n in range(9) for seed in (1, 2, 3)] + [("adversaries", 3, seed) for seed in (1, 2, 3)]


def simulate(kind, n_bad, seed, items=150):
    rng = np.random.default_rng(100 * seed + n_bad)
    truth = rng.integers(4, size=items)
    records = []
    for item in range(items):
        for who in rng.choice(10, size=5, replace=False):
            usual = truth[item]
            if who >= 10 - n_bad:
                usual = 0 if kind == "clickers" else (truth[item] + 1) % 4
            said = usual if rng.uniform() < (0.97 if usual != truth[item] else 0.9) else rng.integers(4)
            records.append((f"image {item}", f"worker {who}", LABELS[said]))
    gold = {f"image {item}": LABELS[one] for item, one in enumerate(truth)}
    return ba.AnnotationData.from_records(records, labels=LABELS, gold=gold)


@pytest.mark.parametrize("prior", ["learnt", pytest.param("uniform", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "n_bad", "seed"), [pytest.param(*of, marks=() if of in ALWAYS else pytest.mark.slow) for of in ALL]
)
def test_labels_are_right_or_the_fit_says_that_they_may_not_be(kind, n_bad, seed, prior):
    data = simulate(kind, n_bad, seed)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit = ba.fit(MACE(class_prior=prior), data, draws=300, tune=300, random_seed=1, progressbar=False)
    said = any("class-or-habit" in str(one.message) or str(one.message).startswith("mode") for one in seen)
    labels, modes = ba.label_table(fit), ba.diagnostics_of(fit)["modes"]
    is_in_the_best = modes["found"][0]["chains"] == [0, 1, 2, 3]
    assert said or (is_in_the_best and (labels["label"] == labels["gold"]).mean() > 0.85)
