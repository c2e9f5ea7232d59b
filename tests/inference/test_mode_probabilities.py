"""Modes of a posterior, judged by their probability: chains left out, taken apart, put together."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr
from scipy.stats import multivariate_normal

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.fits.view import view_of
from bayesanno.graph.functions import unconstrain
from bayesanno.inference.modes import bridge
from bayesanno.inference.modes.record import find_chain_modes
from bayesanno.inference.modes.search import Modes
from bayesanno.inference.sampling.starts import Starts, assign_chains, choose_starts
from bayesanno.inference.split import _count_draws
from tests.inference.draws import EXCHANGEABLE, clear_posterior, join, make_fit, make_quiet_fit, said_of
from tests.models.contract import TINY
from tests.models.guests import TwoWidths
from tests.samples import tiny_data

NOISY = pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")
CHEAP = {"random_seed": 1, "progressbar": False, "draws": 1000, "tune": 500, "check": False}


@pytest.fixture(scope="module")
def table15():
    """A fit of every fifth item of table 15, and what is said of it."""
    frame = ba.read_annotations("@table15").to_frame()
    some = frame[frame["item"].isin(frame["item"].unique()[::5])]
    return said_of(lambda: ba.fit("model_a", ba.read_annotations(some), **CHEAP))


@pytest.fixture(scope="module")
def whole15(table15):
    return ba.combine_modes(table15[0], random_seed=1)


@pytest.fixture(scope="module")
def parts15(table15):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ba.split_modes(table15[0], random_seed=2)


def probability_by_quadrature(fit):
    """The probability of the region of the draws of each mode, on a grid of half standard deviations."""
    model, data = ba.get_model("model_a"), ba.data_of(fit)
    graph = model.build(data)
    density = choose_starts(graph, model, data, "vote", n_starts=0, most_gradients=0, random_seed=1).density
    z = unconstrain(graph, fit["posterior"].to_dataset())
    high = z[:, :, 0].mean(axis=1) > 0  # the first annotator is right more often than not
    log_integral = []
    for mode in (high, ~high):
        points = z[mode].reshape(-1, z.shape[2])
        margin = 0.5 * np.ptp(points, axis=0)
        ends = zip(points.min(axis=0) - margin, points.max(axis=0) + margin, points.std(axis=0) / 2, strict=True)
        axes = [np.arange(low, high, step) for low, high, step in ends]  # a far draw makes it wider, and no coarser
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, z.shape[2])
        cell = np.log(points.std(axis=0) / 2).sum()
        log_integral.append(cell + np.logaddexp.reduce([density(point)[0] for point in grid]))
    return np.exp(log_integral - np.logaddexp.reduce(log_integral))


@pytest.fixture(scope="module")
def share15(table15):
    """The exact probability of the lesser mode."""
    return probability_by_quadrature(table15[0])[1]


class TestMirroredAccuracies:
    """Model A with two labels: theta -> 1 - theta leaves the likelihood as it is."""

    def test_the_mirrored_mode_of_table15_has_a_chain_and_a_probability(self, table15):
        fit, said = table15
        first, second = ba.diagnostics_of(fit)["modes"]["found"]
        assert (len(first["chains"]), len(second["chains"])) == (3, 1)
        assert first["probability"] + second["probability"] == pytest.approx(1)
        assert said[0].startswith("modes-apart: The posterior has 2 modes, with about ")

    @NOISY
    def test_the_probability_of_table15_is_that_of_a_grid_within_its_error(self, table15, share15, parts15):
        """The posterior has a long tail, so that the bridge gives up for some seeds, as on some processors."""
        assert share15 == pytest.approx(0.1235, abs=0.001)
        errors = {"bridge": 0.005, "importance": 0.05}
        estimators = []
        for parts in (parts15, *(ba.split_modes(table15[0], random_seed=seed) for seed in (3, 4))):
            for part, share in zip(parts, (1 - share15, share15), strict=True):
                assert part.attrs["probability_error"] < errors[part.attrs["probability_by"]]
                assert abs(part.attrs["probability"] - share) < 4 * part.attrs["probability_error"]
                estimators.append(part.attrs["probability_by"])
        assert "bridge" in estimators
        assert [part["posterior"].sizes["chain"] for part in parts15] == [3, 1]
        assert "found" not in ba.diagnostics_of(parts15[0])["modes"]

    def test_where_no_mode_is_known_chains_are_compared_and_bridged(self, table15, share15, monkeypatch):
        monkeypatch.setattr(Modes, "ascend_from_draws", lambda self, points: (self, np.full(points.shape[:2], -1)))
        found, _ = find_chain_modes(view_of(table15[0]), 2)
        assert [(len(mode.chains), mode.by) for mode in found] == [(3, "bridge"), (1, "bridge")]
        assert found[1].probability == pytest.approx(share15, abs=4 * found[1].error)

    def test_where_no_bridge_settles_modes_are_weighed_by_importance_samples(self, table15, share15, monkeypatch):
        monkeypatch.setattr(bridge, "MAX_ROUNDS", 1)
        found, _ = find_chain_modes(view_of(table15[0]), 2)
        assert [mode.by for mode in found] == ["importance", "importance"]
        assert "does not settle" in found[0].reason
        assert found[1].error == pytest.approx(np.sqrt(share15 * (1 - share15) / 200), rel=0.5)
        assert found[1].probability == pytest.approx(share15, abs=3 * found[1].error)

    def test_a_combination_has_draws_of_both_in_proportion_and_no_rhat(self, table15, whole15, parts15, share15):
        combination = json.loads(whole15.attrs["combination"])
        assert combination["weights"] == "probability"
        assert combination == ba.diagnostics_of(whole15)["combination"]
        low = (whole15["posterior"]["accuracy"] < 0.5).mean(("chain", "draw")).values
        assert low == pytest.approx([share15, share15, 1 - share15], abs=4 * combination["modes"][0]["error"])
        assert sum(mode["n_draws"] for mode in combination["modes"]) == whole15["posterior"].sizes["draw"]
        assert 400 < combination["n_effective"] < whole15["posterior"].sizes["draw"]
        found = ba.diagnostics_of(whole15)
        assert (found["max_rhat"], found["n_chains"], found["min_bfmi"]) == (None, None, None)
        assert ba.summary(whole15)["r_hat"].isna().all()
        share, *apart = (float(one["latent"]["probability"][:, 0].mean()) for one in (whole15, *parts15))
        assert share == pytest.approx((1 - share15) * apart[0] + share15 * apart[1], abs=0.01)
        stats = whole15["sample_stats"]
        chain, draw = stats["source_chain"].values[0], stats["source_draw"].values[0]
        assert len(set(zip(chain.tolist(), draw.tolist(), strict=True))) == chain.size  # each is there once
        before = table15[0]["posterior"]["accuracy"].transpose("chain", "draw", ...).values
        np.testing.assert_array_equal(whole15["posterior"]["accuracy"].values[0], before[chain, draw])

    def test_a_fit_warns_once_and_names_the_call_that_weighs_modes(self, table15):
        fit, (said,) = table15
        assert said.endswith("Weigh the chains by mode: bayesanno.combine_modes(fit).")
        for table in (ba.label_table, ba.summary, ba.annotator_table, ba.analysis.correctness_table):
            assert said_of(lambda table=table: table(fit))[1] == []

    def test_chains_left_out_by_isel_are_noticed(self, table15):
        (said,) = said_of(lambda: ba.label_table(table15[0].isel(chain=[0, 1])))[1]
        assert "2 chains, and its labels and diagnostics are still those of 4" in said
        assert "bayesanno.drop_chains" in said

    @NOISY
    def test_dropping_chains_computes_all_anew_and_joined_again_they_can_be_combined(self, table15, share15, refuses):
        fit, _ = table15
        (alone,) = ba.diagnostics_of(fit)["modes"]["found"][1]["chains"]
        dropped, said = said_of(lambda: ba.drop_chains(fit, [alone]))
        kept = ba.drop_chains(fit, [chain for chain in range(4) if chain != alone])
        parts = [one["latent"]["probability"].values for one in (dropped, kept, fit)]
        np.testing.assert_allclose((3 * parts[0] + parts[1]) / 4, parts[2], rtol=1e-9)
        found = ba.diagnostics_of(dropped)
        assert found["max_rhat"] < 1.05 < ba.diagnostics_of(fit)["max_rhat"]
        assert [mode["chains"] for mode in found["modes"]["found"]] == [[0, 1, 2], []]
        assert json.loads(dropped.attrs["settings"])["chains"] == 3
        assert "No chain is in mode 2" in said[0]
        with refuses(FitError, "there is nothing to combine; modes without a chain have probability"):
            ba.combine_modes(dropped)
        joined = join(dropped, kept)
        assert "found" not in ba.diagnostics_of(joined)["modes"]
        weight = json.loads(ba.combine_modes(joined, random_seed=1).attrs["combination"])["modes"][1]["weight"]
        assert weight == pytest.approx(share15, abs=0.015)

    @NOISY
    def test_stacking_weighs_by_prediction(self, table15):
        whole = ba.combine_modes(table15[0], "stacking", random_seed=1)
        names = ("inference_library", "inference_library_version")
        for group in ("posterior", "sample_stats"):  # of the draws that were taken
            assert [whole[group].attrs[name] for name in names] == [table15[0][group].attrs[name] for name in names]
        combination = json.loads(whole.attrs["combination"])
        assert combination["weights"] == "stacking"
        weight = [mode["weight"] for mode in combination["modes"]]
        assert sum(weight) == pytest.approx(1)
        better = int(np.argmax([mode["elpd"] for mode in combination["modes"]]))
        assert weight[better] > 0.9  # every item says the same: the better mode, by however little, has all
        assert combination["modes"][better]["n_draws"] == combination["modes"][better]["n_available"]
        assert combination["modes"][0]["error"] is None

    def test_what_is_refused(self, table15, whole15, refuses):
        fit, _ = table15
        for chains, what in (
            ([7], "there is no chain 7"),
            (range(4), "no chain would be left"),
            ([], "give the numbers"),
        ):
            with refuses(FitError, what):
                ba.drop_chains(fit, chains)
        with refuses(FitError, "there are no weights 'density': choose one of probability, stacking"):
            ba.combine_modes(fit, "density")
        for call in (ba.split_modes, ba.combine_modes, lambda one: ba.drop_chains(one, [0])):
            with refuses(FitError, "has no chains"):
                call(whole15)


def test_a_probable_mode_without_draws_is_not_left_out_silently():
    np.testing.assert_array_equal(_count_draws(np.array([0.6, 0.4]), [30, 100]), [30, 20])
    np.testing.assert_array_equal(_count_draws(np.array([1.0, 1e-9]), [30, 0]), [30, 0])
    with pytest.raises(FitError, match="no draw is closer to it"):
        _count_draws(np.array([0.6, 0.4]), [0, 100])


# ------------------------------------------------------------------------------------------------ wide and narrow


@pytest.fixture
def two_widths(rng):
    """Two chains in a wide mode of probability .999, and two in a narrow one of .001 that is nats higher."""
    model = TwoWidths()
    normals = [multivariate_normal(at, sd**2) for at, sd in zip(model.CENTRES, model.SDS, strict=True)]
    draws = np.stack([normals[i].rvs(500, random_state=rng) for i in (1, 0, 1, 0)])
    log_density = np.logaddexp(*[np.log(w) + n.logpdf(draws) for w, n in zip(model.MASS, normals, strict=True)])
    coords = {"chain": range(4), "draw": range(500)}
    posterior = xr.Dataset({"place": (("chain", "draw", "place_dim_0"), draws)}, coords=coords)
    return said_of(lambda: make_quiet_fit(model, tiny_data(), posterior, log_density=log_density))


@NOISY
def test_a_wide_mode_wins_over_a_narrow_one_of_greater_density(two_widths):
    fit, said = two_widths
    lower = ba.diagnostics_of(fit)["modes"]
    assert sorted(lower["groups"][0]) == [0, 2]  # by density, the narrow one is the best
    assert said[0].startswith("modes-unweighed: Chains are in 2 modes")
    wide, narrow = ba.split_modes(fit, random_seed=1)
    assert wide.attrs["probability_by"] == narrow.attrs["probability_by"] == "bridge"
    assert float(wide["posterior"]["place"].mean()) == pytest.approx(-3, abs=0.2)
    ratio = np.log(narrow.attrs["probability"] / wide.attrs["probability"])
    assert ratio == pytest.approx(
        np.log(0.001 / 0.999), abs=4 * narrow.attrs["probability_error"] / narrow.attrs["probability"]
    )
    assert narrow.attrs["probability_error"] < 0.1 * narrow.attrs["probability"]
    whole = ba.combine_modes(fit, random_seed=1)
    of_wide, of_narrow = (mode["n_draws"] for mode in json.loads(whole.attrs["combination"])["modes"])
    assert of_wide == 1000
    assert of_narrow <= 1


# ---------------------------------------------------------------------------------------- chains, and what is said


@NOISY
def test_a_fit_in_one_mode_is_split_into_itself_and_not_combined(rng, refuses):
    fit = make_fit(EXCHANGEABLE, TINY, clear_posterior(rng, n_draws=50)[["confusion", "prevalence"]])
    fit.attrs["diagnostics"] = json.dumps(ba.diagnostics_of(fit) | {"max_rhat": 1.005})  # so few draws have more
    (same,) = ba.split_modes(fit)
    assert (same.attrs["probability"], same["posterior"].sizes["chain"]) == (1.0, 2)
    with refuses(FitError, "there is nothing to combine"):
        ba.combine_modes(fit, "stacking")


@pytest.mark.parametrize(
    ("shares", "n_chains", "numbers"),
    [
        ([0.5, 0.5], 4, [0, 0, 1, 1]),
        ([0.02, 0.98], 4, [0, 1, 1, 1]),
        ([0.2, 0.5, 0.3], 4, [0, 1, 1, 2]),
        ([0.2, 0.5, 0.3], 2, [1, 2]),
        ([0.2, 0.5, 0.3], 10, [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]),
    ],
)
def test_each_mode_has_a_chain_and_the_others_are_in_proportion(shares, n_chains, numbers):
    assert assign_chains(np.array(shares), n_chains) == numbers


def test_seeds_are_shared_out_among_modes_in_whatever_order_they_come():
    points = np.array([[-9.0], [9.0]])
    starts = Starts(lambda point: (0.0, 0 * point), points, np.full((2, 1), 0.1), np.array([0.9, 0.1]))
    one, other = starts.assign_chains([5, 3, 8, 1]), starts.assign_chains([1, 3, 5, 8])
    assert [float(np.sign(one.draw(seed)[0])) for seed in (1, 3, 5, 8)] == [-1, -1, -1, 1]
    for seed in (1, 3, 5, 8):
        assert one.draw(seed) == other.draw(seed)
