"""Class priors that depend on the item are calibrated, and one that is not what it says is found out."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.modeling.arguments import LOG_CLASS
from tests.criticism.test_sbc import assert_calibrated
from tests.models.contract import broken
from tests.samples import bounds_of

LABELS = ("first", "second", "tie")
SYSTEMS = ("bloom", "llama", "opt", "pythia")
PRIORS = {
    "pairs": ba.Pairs(),
    "columns": ba.Columns("system + length + (1 | language)"),
    "classifier": ba.Classifier(),
}
SETTINGS = {"simulations": 100, "random_seed": 2, "draws": 400, "tune": 400, "chains": 2, "progressbar": False}
LEVEL = 0.01 / 6  # in one of a hundred runs of all these studies a sound one would fail

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")]


@pytest.fixture(scope="module")
def design():
    rng = np.random.default_rng(0)
    n, plain = 60, ba.make_design(items=60, annotators=4, labels=LABELS, per_item=2, random_seed=1)
    pairs = np.array([rng.choice(4, 2, replace=False) for _ in range(n)])
    columns = {side: [SYSTEMS[code] for code in pairs[:, at]] for at, side in enumerate(LABELS[:2])}
    columns |= {"length": rng.normal(size=n), "system": [SYSTEMS[code] for code in rng.integers(4, size=n)]}
    columns |= {"language": [f"language {code}" for code in rng.integers(5, size=n)]}
    shares = rng.dirichlet(np.ones(3), n).T
    columns |= {f"p[{label}]": share for label, share in zip(LABELS, shares, strict=True)}
    return replace(plain, item_columns=columns)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", ["model_b", "mace"])
def test_models_with_a_class_prior_are_calibrated(name, prior, design):
    ranks = ba.sbc(ba.get_model(name, {"class_prior": PRIORS[prior]}), design, **SETTINGS)
    assert "probability" in ranks
    assert_calibrated(ranks, LEVEL)


# Not of columns: 60 items say too little of each effect for intervals to miss it (their 94% intervals cover it still).
@pytest.mark.parametrize(("prior", "name"), [("pairs", "strength"), ("classifier", "slope")])
def test_classes_that_are_surer_than_the_prior_says_are_found_out(prior, name, design):
    model = ba.models.MACE(class_prior=PRIORS[prior])

    def generate(self, asked, p):
        values = {each: p[each] for each in p}
        values[LOG_CLASS] = 3 * values[LOG_CLASS]
        return ba.models.MACE.generate(self, asked, type(p)(values))

    ranks = ba.sbc(broken(model, generate=generate), design, **SETTINGS)
    coverage = ba.sbc_table(ranks, of="coverage", ci_prob=1 - LEVEL).query("level > 0.9")
    held = coverage[coverage["variable"] == name]
    assert (bounds_of(held)["high"] < held["level"]).all()
