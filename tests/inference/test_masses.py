"""The masses of modes, against enumeration of all labels of small tables: they are right, or unknown."""

from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.graph.density import Density
from bayesanno.inference.diagnosis.findings import APART
from bayesanno.inference.modes.record import find_equal_chains
from bayesanno.inference.modes.search import LogDensity, search, weigh
from bayesanno.inference.sampling.starts import choose_places
from tests.inference.draws import said_of
from tests.inference.exact_masses import SEEDS, data, exact_labels, exact_masses

EXCHANGEABLE = ba.models.ModelB(confusion_accuracy=0.5)
QUICK = SEEDS[:2]  # the others are `slow`
PRINTED = {  # of an independent implementation
    248: (0.97, 0.03),
    238: (0.62, 0.31, 0.08),
    244: (0.46, 0.42, 0.06, 0.04, 0.02),
    239: (0.84, 0.16),
    254: (0.63, 0.37),
    204: (0.585, 0.415),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_exact_masses_are_those_of_another_implementation(seed):
    for own, other in zip(exact_masses(seed), PRINTED[seed], strict=True):
        assert own == pytest.approx(other, abs=4 * np.sqrt(other * (1 - other) * (1 / 2000 + 1 / 1500)) + 0.005)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed in QUICK else pytest.mark.slow) for seed in SEEDS]
)
@pytest.mark.parametrize("random_seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_masses_are_exact_or_unknown_and_right_labels_raise_no_alarm(seed, random_seed):
    fit, _ = said_of(lambda: ba.fit(EXCHANGEABLE, data(seed), random_seed=random_seed, progressbar=False, check=False))
    found = [mode["probability"] for mode in ba.diagnostics_of(fit)["modes"]["found"]]
    assert None not in found or set(found) == {None}
    if None not in found:
        for own, exact in zip_longest(sorted(found, reverse=True), exact_masses(seed), fillvalue=0.0):
            assert own == pytest.approx(exact, abs=0.1)
    labels = fit["latent"]["probability"].sel(true_class="yes").values
    assert np.abs(labels - exact_labels(seed)).max() < 0.03
    assert "stop" not in ba.findings(fit)["level"].tolist()


# ------------------------------------------------------------------------------------------------- what is unknown


class Sides:
    """Two modes of equal mass, at -6 and 6 in every dimension: normal within a width, and exponential beyond."""

    n_calls = 0
    log_at = Density.log_at

    def __init__(self, n_dim, width):
        self.start, self.width = np.full(n_dim, 6.0), width

    def __call__(self, z):
        self.n_calls += 1
        away = z - np.where(z.sum() > 0, 6.0, -6.0)
        far = np.sqrt(1 + (away / self.width) ** 2)
        return -(self.width**2) * (far - 1).sum(), -away / far


def weighed(width):
    rng, density = np.random.default_rng(1), Sides(40, width)
    found = search(LogDensity(density, 1000), density.start, n_starts=20, most_gradients=20_000, rng=rng)
    assert len(found.found) == 2
    return weigh(found, rng)


def test_masses_are_unknown_where_samples_are_worth_little():
    """In 40 dimensions, tails that begin within a standard deviation leave next to no samples that count."""
    modes = weighed(width=10.0)
    np.testing.assert_allclose(modes.probabilities, 0.5, atol=3 * 0.5 / np.sqrt(modes.n_effective))
    assert 50 < modes.n_effective <= 200
    modes = weighed(width=0.1)
    assert not modes.has_probabilities
    assert np.isnan(modes.probabilities).all()
    places, shares = choose_places(modes, modes.log_density.density.start)
    assert (len(places), shares.tolist()) == (2, [0.5, 0.5])


def test_a_saddle_is_no_mode_and_has_no_integral():
    """Two hills with a pass between them, where an ascent along the ridge comes to rest."""

    def hills(z):
        return -((z[0] ** 2 - 1) ** 2) - z[1] ** 2, np.array([-4 * z[0] * (z[0] ** 2 - 1), -2 * z[1]])

    log_density = LogDensity(hills, 1000)
    end = log_density.maximize(np.array([0.0, 3.0]))
    np.testing.assert_allclose(end.point, 0, atol=1e-6)
    (described,) = log_density.describe([end], rough=False)
    assert (end.is_reached, described.is_reached) == (True, False)
    assert np.isnan(described.log_integral)


# ------------------------------------------------------------------------------------------ chains that move slowly


@dataclass(frozen=True, kw_only=True)
class Drifting(ba.models.ModelB):
    """Model B, and a scale of heavy tails that answers say nothing of: chains wander along it for long."""

    name: ClassVar[str] = "drifting"

    def priors(self, data, prior):
        super().priors(data, prior)
        pm.StudentT("scale", nu=0.7)

    def start(self, data):
        return {**super().start(data), "scale": np.array(1.0)}


def test_chains_that_cross_slowly_are_told_to_sample_longer_and_once():
    fit, said = said_of(
        lambda: ba.fit(Drifting(confusion_accuracy=0.5), data(204), random_seed=1, progressbar=False, check=False)
    )
    found = ba.diagnostics_of(fit)
    modes = found["modes"]
    assert found["max_rhat"] > 1.01
    assert len(modes["found"]) > 1
    assert len(modes["crossing"]) > 1
    assert len(modes["groups"]) == 1
    codes = ba.findings(fit)["code"].tolist()
    assert "rhat" in codes
    assert "ess" not in codes  # which has the same cause
    assert not set(codes) & set(APART)
    assert [one.split(":")[0] for one in said] == [code for code in codes if code in ("rhat", "ess")]
    assert said_of(lambda: (ba.label_table(fit), ba.annotator_table(fit), ba.summary(fit)))[1] == []


def test_chains_agree_if_all_means_do_within_monte_carlo_error(rng):
    def posterior(shift):
        draws = rng.normal(size=(3, 400, 20))
        draws[2, :, 7] += shift
        return xr.Dataset({"x": (("chain", "draw", "of"), draws), "fixed": (("chain", "draw"), np.ones((3, 400)))})

    log_density = rng.normal(size=(3, 400))
    assert list(find_equal_chains(posterior(0.0), log_density)) == [(0, 1), (0, 2), (1, 2)]
    assert list(find_equal_chains(posterior(1.0), log_density)) == [(0, 1)]
    log_density[0] += 1.0
    assert list(find_equal_chains(posterior(0.0), log_density)) == [(1, 2)]
