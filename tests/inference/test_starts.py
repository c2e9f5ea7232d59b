"""Where chains start: in the probable modes, also where the majority is wrong or nobody can tell who is."""

import numpy as np
import pymc as pm
import pytest

import bayesanno as ba
from bayesanno.graph.density import compile_graph
from bayesanno.inference.em_vb.em import start_at_point
from bayesanno.inference.modes.search import LogDensity, Mode, Modes, search
from bayesanno.inference.sampling.starts import Starts, assign_chains, choose_places, choose_starts, start_near
from tests.inference.exact_probabilities import Table
from tests.samples import SETTINGS, tiny_data

UNIFORM = ba.models.MACE(class_prior="uniform")
SHORT = {"random_seed": 1, "progressbar": False, "draws": 500, "tune": 500, "check": False}
NOISY = pytest.mark.filterwarnings(
    "ignore::bayesanno.ConvergenceWarning", "ignore::bayesanno.errors.IdentifiabilityWarning"
)


@pytest.fixture(scope="module")
def graph():
    return ba.get_model("model_b").build(tiny_data())


class TestTwoModes:
    @NOISY
    def test_two_who_agree_on_everything_may_both_be_spamming(self):
        """Exact: P(all are "A") = .520 and E(competence) = .034; chains that start at the vote say .9998 and .977."""
        records = [(f"item {i}", who, "A") for i in range(50) for who in ("ada", "bo")]
        fit = ba.fit(UNIFORM, ba.AnnotationData.from_records(records, labels=["A", "B"]), check=False, **SETTINGS)
        knowing, spamming = sorted(ba.diagnostics_of(fit)["modes"]["found"], key=lambda mode: mode["probability"])
        assert spamming["probability"] == pytest.approx(0.99, abs=0.005)
        assert ba.label_table(fit)["p[A]"].mean() == pytest.approx(0.52, abs=0.02)
        assert ba.annotator_table(fit)["competence_mean"].mean() == pytest.approx(0.034, abs=0.01)
        assert spamming["chains"] == [0, 1, 2, 3]
        assert knowing["chains"] == []


class TestLabellings:
    def test_a_mode_weighs_the_same_however_many_labellings_were_found(self):
        """Two explanations, and the names of the classes can be swapped in each: three or four ends are two modes."""
        model, data = ba.models.ModelB(confusion_accuracy=0.5), Table("pairs", 0).data()
        found = [
            choose_starts(model.build(data), model, data, "auto", n_starts=n, most_gradients=100_000, random_seed=seed)
            for n, seed in ((2, 3), (3, 2), (20, 1))
        ]
        assert [len(starts.modes.found) for starts in found] == [4, 3, 4]
        for starts in found:
            error = np.sqrt(0.55 * 0.45 / starts.modes.n_effective)
            assert error < 0.05  # two thirds to one, as where a labelling counts twice, would be found
            np.testing.assert_allclose(starts.shares, [0.5508, 0.4492], atol=3 * error)


class TestUnfinished:
    """A ridge on which L-BFGS crawls: y = x squared, narrow, that rises in x for long."""

    def compile(self):
        with pm.Model(coords={"axis": range(2)}) as graph:
            z = pm.Normal("z", 0, 1e3, dims="axis")
            pm.Potential("ridge", -1e5 * (z[1] - z[0] ** 2) ** 2 - (z[0] - 9) ** 2)
        return start_near(compile_graph(graph, {"z": np.zeros(2)}))

    def test_the_first_start_is_kept_where_its_climb_does_not_end(self):
        starts = self.compile()
        rng = np.random.default_rng(1)
        found = search(LogDensity(starts.density, 30), starts.centre, n_starts=3, most_gradients=240, rng=rng)
        assert not found.has_probabilities
        assert found.n_unfinished >= 1
        assert found.unfinished[0].is_first
        assert not found.unfinished[0].is_reached
        assert np.isfinite(found.unfinished[0].sd).all()

    def test_where_the_vote_led_to_has_a_chain_though_chains_are_few(self):
        starts = TestExplore().normal([1.0, 1.0])

        def mode(at, *, reached, first=False):
            return Mode(np.full(2, float(at)), -at, reached, log_integral=-at if reached else np.nan, is_first=first)

        modes = tuple(mode(at, reached=True) for at in range(4))
        vote = mode(9, reached=False, first=True)
        found = Modes(LogDensity(starts.density, 1000), modes, (vote, mode(8, reached=False)))
        places, share = choose_places(found, starts.centre)
        assert [place.point[0] for place in places] == [0, 9, 1, 2, 3, 8]
        assert share == pytest.approx(1 / 6)
        assert assign_chains(share, 2) == [0, 1]


class TestStarts:
    def choose(self, graph, initvals, **options):
        options = {"n_starts": 5, "most_gradients": 3_000, "random_seed": 1} | options
        return choose_starts(graph, ba.get_model("model_b"), tiny_data(), initvals, **options)

    def test_chains_start_around_the_mode_within_three_deviations(self, graph):
        starts = self.choose(graph, "auto")
        (mode,) = starts.modes.found
        away = np.array([starts.draw(seed) - mode.point for seed in range(200)])
        width = np.minimum(1, 3 * mode.sd)
        assert (np.abs(away) <= width).all()
        assert (np.abs(away).max(axis=0) > 0.9 * width).all()

    def test_a_jitter_that_leaves_the_density_is_smaller(self):
        def box(point):
            inside = np.abs(point).max() < 0.05
            return (0.0 if inside else -np.inf), np.zeros(3)

        starts = Starts(box, np.zeros((1, 3)), np.ones((1, 3)), np.ones(1))
        points = np.array([starts.draw(seed) for seed in range(20)])
        assert (np.abs(points).max(axis=1) < 0.05).all()
        assert (points != 0).all()

    @pytest.mark.parametrize("initvals", ["vote", "em", {"prevalence": [0.8, 0.2]}])
    def test_chains_start_around_what_is_given(self, graph, initvals, refuses):
        starts, model, data = self.choose(graph, initvals), ba.get_model("model_b"), tiny_data()
        of_words = {"vote": {}, "em": start_at_point(model, data, 1)}
        given = model.start(data) | (of_words[initvals] if isinstance(initvals, str) else initvals)
        for name, value in starts.values.items():
            np.testing.assert_allclose(value, given[name])
        assert starts.modes is None
        away = np.array([starts.draw(seed) - starts.centre for seed in range(200)])
        assert 0.9 < np.abs(away).max() <= 1
        with refuses(ba.BayesannoError, "initvals: model_b has no density there"):
            self.choose(graph, {"prevalence": [1.0, 0.0]})

    def test_from_the_prior_starts_are_spread_as_it_is(self, graph):
        starts = self.choose(graph, "prior")
        shares = np.array([starts.draw_values(seed)["prevalence"][0] for seed in range(400)])
        assert shares.mean() == pytest.approx(0.5, abs=0.05)  # Dirichlet(3, 3)
        assert shares.std() == pytest.approx(np.sqrt(1 / 28), rel=0.15)
        np.testing.assert_array_equal(starts.draw(3), starts.draw(3))


class TestExplore:
    def normal(self, sd):
        with pm.Model(coords={"axis": range(len(sd))}) as graph:
            pm.Normal("x", 1.0, np.array(sd), dims="axis")
        return start_near(compile_graph(graph, {"x": np.zeros(len(sd))}))

    @pytest.mark.parametrize("most_gradients", [10_000, 50])
    def test_the_integral_of_a_normal_is_one_from_the_hessian_or_its_diagonal(self, most_gradients):
        starts = self.normal([0.1, 1.0, 10.0] * 20)
        rng = np.random.default_rng(1)
        log_density = LogDensity(starts.density, 1000)
        found = search(log_density, starts.centre, n_starts=3, most_gradients=most_gradients, rng=rng)
        (mode,) = found.found
        assert mode.log_integral == pytest.approx(0, abs=1e-4)
        np.testing.assert_allclose(mode.sd, [0.1, 1.0, 10.0] * 20, rtol=1e-4)
        assert found.rough == (most_gradients == 50)
        found = search(log_density, starts.centre, n_starts=1_000, most_gradients=200, rng=rng)
        assert 1 < found.n_starts < 200  # gradients are limited

    def test_a_climb_that_stops_a_nat_too_soon_is_at_no_top(self):
        """Where the density is so large a number, L-BFGS comes to rest before the last nats are gained."""
        sd = np.logspace(-2, 1, 12)
        left = []
        for seed in range(10):
            start = 5 * np.random.default_rng(seed).normal(size=12)
            end = LogDensity(lambda z: (-1e9 - 0.5 * ((z / sd) ** 2).sum(), -z / sd**2), 5000).maximize(start)
            left.append(0.5 * ((end.point / sd) ** 2).sum())
            assert not end.is_reached
        assert 0.05 < np.median(left) < 5

    def test_two_tops_close_together_are_two_modes_if_a_nat_apart(self):
        one, higher, same = (Mode(np.array([at]), height, True) for at, height in [(0, -9), (0.3, -8), (0.3, -8.96)])
        assert not one.is_one_with(higher)
        assert one.is_one_with(same)
