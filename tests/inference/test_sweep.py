"""From no annotator who clicks one label to eight of ten, and adversaries: no fit is wrong and silent.

Ten annotators, five per item, four labels. A fit must be in the most probable mode, as far as a start from the
true parameters shows; or say beforehand that it may not be.
"""

import warnings

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.inference.modes.laplace import LogDensity
from bayesanno.inference.modes.search import search
from bayesanno.inference.sampling.starts import choose_starts
from bayesanno.models import MACE

LABELS = ("A", "B", "C", "D")
ALWAYS = [("clickers", 5, 2), ("clickers", 8, 1), ("adversaries", 3, 1)]
ALL = [("clickers", n, seed) for n in range(9) for seed in (1, 2, 3)] + [("adversaries", 3, seed) for seed in (1, 2, 3)]
PRIORS = {"learnt": MACE(), "uniform": MACE(class_prior="uniform")}


def simulate(kind, n_bad, seed, items=150):
    """Answers with gold, and the parameters of MACE that come nearest to how they were made."""
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
    data = ba.AnnotationData.from_records(
        records, labels=LABELS, gold={f"image {item}": LABELS[one] for item, one in enumerate(truth)}
    )
    bad = np.array([int(name.split()[1]) >= 10 - n_bad for name in data.annotators])
    strategy = np.full((10, 4), 0.25)
    if kind == "clickers":
        strategy[bad] = [0.97, 0.01, 0.01, 0.01]
    return data, {"competence": np.where(bad, 0.03, 0.9), "strategy": strategy}


CASES = [  # all with both priors; by default those of `ALWAYS`, with the prior by default
    pytest.param(*case, prior, marks=() if case in ALWAYS and prior == "learnt" else pytest.mark.slow)
    for prior in PRIORS
    for case in ALL
]


@pytest.mark.parametrize(("kind", "n_bad", "seed", "prior"), CASES)
def test_a_fit_is_in_the_most_probable_mode_or_says_that_it_may_not_be(kind, n_bad, seed, prior):
    model = PRIORS[prior]
    data, informed = simulate(kind, n_bad, seed)
    if prior == "learnt":
        informed |= {"prevalence": np.full(4, 0.25)}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit = ba.fit(model, data, draws=300, tune=300, random_seed=1, progressbar=False)
    said = any("class-or-habit" in str(one.message) for one in seen)
    said |= any(str(one.message).startswith("mode") for one in seen)
    settings = {"n_starts": 20, "most_gradients": 100_000, "random_seed": 1}
    near = choose_starts(model.build(data), model, data, informed, **settings)
    log_density = LogDensity(near.density, 12_500)
    (best,) = search(log_density, near.centre, n_starts=0, most_gradients=100_000, rng=np.random.default_rng(1)).found
    found = choose_starts(model.build(data), model, data, "auto", **settings).modes.found[0]
    modes = ba.diagnostics_of(fit)["modes"]
    in_the_best = found.log_integral > best.log_integral - 0.5 and modes["found"][0]["chains"] == [0, 1, 2, 3]
    labels = ba.label_table(fit)
    accuracy = (labels["label"] == labels["gold"]).mean()
    nats = found.log_integral - best.log_integral
    what = f"{kind} {n_bad}, seed {seed}, {prior}: accuracy {accuracy:.3f}, {nats:.1f} nats"
    assert in_the_best or said, what
    assert accuracy > 0.85 or said, what
