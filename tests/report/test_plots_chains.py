"""Figures of chains, and of prior and posterior: which parameters they choose, and what they draw."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.ground.errors import FitError
from bayesanno.simulation.quantities import draw_prior
from tests.samples import tiny_data

QUICK = {"random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def em_fit():
    return ba.fit("one_coin", tiny_data(), method="em", method_options={"objective": "map"}, **QUICK)


class TestChains:
    def test_the_worst_parameters_are_drawn(self, mace_fit, tmp_path):
        table = ba.summary(mace_fit)
        traces = ba.plot_traces(mace_fit)
        names = [axes.get_xlabel() for axes in traces.axes[::2]]
        assert len(names) == 8
        assert names[:2] == [table.loc[table["r_hat"].idxmax(), "parameter"],
                             table.loc[table["ess_bulk"].idxmin(), "parameter"]]  # fmt: skip
        by_rank = [set(table.nlargest(n, "r_hat")["parameter"]) | set(table.nsmallest(n, "ess_bulk")["parameter"])
                   for n in (4, 8)]  # fmt: skip
        assert by_rank[0] <= set(names) <= by_rank[1]  # in turn, and some are among the worst by both
        assert traces.axes[1].get_ylabel() == "value"
        traces.savefig(tmp_path / "traces.png")
        figure = ba.plot_chain_ranks(mace_fit)
        assert [axes.get_title() for axes in figure.axes] == names
        *chains, dots = [text.get_text() for text in figure.legends[0].get_texts()]
        assert chains == [f"chain {chain}" for chain in range(4)]
        assert dots == "not uniform (p below 0.01)"
        colours = [line.get_color() for line in figure.legends[0].get_lines()]
        assert len(set(colours)) == 5
        assert figure.get_suptitle() == "Ranks of the chains, of the parameters that mix worst"

    def test_a_figure_is_a_picture_and_nothing_of_it_stays_in_pyplot(self, tiny_fit):
        from matplotlib import pyplot

        for plot in (ba.plot_traces, ba.plot_chain_ranks):
            assert plot(tiny_fit, "prevalence")._repr_png_().startswith(b"\x89PNG")
        assert pyplot.get_fignums() == []

    def test_those_that_are_asked_for_are_drawn(self, tiny_fit):
        axes = ba.plot_traces(tiny_fit, ["prevalence", "accuracy[bo]"]).axes
        assert [one.get_xlabel() for one in axes[::2]] == ["prevalence[no]", "prevalence[yes]", "accuracy[bo]"]
        draws = tiny_fit["posterior"]["accuracy"].sel(annotator="bo").values
        np.testing.assert_allclose([line.get_ydata() for line in axes[-1].lines], draws)
        ranks = ba.plot_chain_ranks(tiny_fit, "prevalence").axes
        assert [one.get_title() for one in ranks] == ["prevalence[no]", "prevalence[yes]"]

    @pytest.mark.filterwarnings("ignore::bayesanno.ground.errors.ConvergenceWarning")  # of so few draws
    def test_names_with_slashes_are_drawn_as_they_are(self):
        """Judges are named so: model, prompt, order."""
        names = ["alder/plain/ab", "birch/plain/ab", "birch/plain/ba"]
        records = [(f"s{k}", who, "yes" if k % 2 else "no") for k in range(12) for who in names]
        data = ba.AnnotationData.from_records(records)
        fit = ba.fit("one_coin", data, draws=50, tune=50, chains=2, check=False, random_seed=1, progressbar=False)
        axes = ba.plot_traces(fit, "accuracy").axes
        assert [one.get_xlabel() for one in axes[::2]] == [f"accuracy[{name}]" for name in names]

    @pytest.mark.filterwarnings("ignore::bayesanno.ground.errors.ConvergenceWarning")  # of VB, and of a single chain
    def test_what_cannot_be_drawn_is_refused(self, em_fit, tiny_fit, refuses):
        vb = ba.fit("one_coin", tiny_data(), method="vb", draws=50, **QUICK)
        for plot in (ba.plot_traces, ba.plot_chain_ranks):
            with refuses(FitError, "this fit by em has no chains: fit by nuts"):
                plot(em_fit)
            with refuses(FitError, "this fit by vb has no chains: fit by nuts"):
                plot(vb)
            with refuses(FitError, "variable 'accuracies' is not in this fit.*did you mean 'accuracy'"):
                plot(tiny_fit, "accuracies")
            with refuses(FitError, "variable 'accuracy.dora.' is not in this fit"):
                plot(tiny_fit, "accuracy[dora]")
            with refuses(FitError, "no variable is asked for"):
                plot(tiny_fit, [])
        with refuses(FitError, "this fit has one chain, and ranks compare chains"):
            ba.plot_chain_ranks(ba.drop_chains(tiny_fit, [1, 2, 3]))


class TestPriorPosterior:
    def test_annotators_who_moved_farthest_are_drawn(self, mace_fit):
        figure = ba.plot_prior_posterior(mace_fit)
        names = [axes.get_title(loc="left") for axes in figure.axes]
        assert names[:3] == [f"prevalence[{label}]" for label in ("maybe", "no", "yes")]
        mean = ba.annotator_table(mace_fit).set_index("annotator")["competence_mean"]
        shown = [name.removeprefix("competence[").rstrip("]") for name in names[3:]]
        assert len(shown) == 8
        far = (mean - 0.5).abs()  # the prior's mean is one half, of everybody; how it is drawn adds a little
        assert far[shown].min() > far.drop(shown).max() - 0.05
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["prior", "posterior"]

    def test_histograms_are_of_draws_of_the_prior_and_of_the_posterior(self, tiny_fit):
        (axes,) = ba.plot_prior_posterior(tiny_fit, "accuracy[bo]").axes
        before, after = (patch.get_path().vertices[:, 0] for patch in axes.patches)
        draws = tiny_fit["posterior"]["accuracy"].sel(annotator="bo").values
        np.testing.assert_allclose([after.min(), after.max()], [draws.min(), draws.max()])
        prior = draw_prior(ba.model_of(tiny_fit), ba.data_of(tiny_fit), 1000, np.random.default_rng(0),
                           names=["accuracy"])  # fmt: skip
        assert list(prior) == ["accuracy"]
        np.testing.assert_allclose([before.min(), before.max()],
                                   [prior["accuracy"][..., 1].min(), prior["accuracy"][..., 1].max()])  # fmt: skip

    def test_a_point_is_a_line(self, em_fit):
        figure = ba.plot_prior_posterior(em_fit, ["accuracy"])
        points = [axes.lines[0].get_xdata()[0] for axes in figure.axes]
        assert sorted(points) == sorted(em_fit["posterior"]["accuracy"].values.ravel())

    def test_what_cannot_be_drawn_is_refused(self, em_fit, refuses):
        with refuses(FitError, "variable 'strategy' is not in this fit, which has"):
            ba.plot_prior_posterior(em_fit, "strategy")
