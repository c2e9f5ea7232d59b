"""Figures of annotators: what they show is what the tables say."""

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection, PathCollection

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.analysis.behaviour import find_confusion
from bayesanno.fits.view import view_of
from tests.analysis.made import from_prior
from tests.report.conftest import ends_of, rows_of
from tests.samples import tiny_data, title_of

QUICK = {"random_seed": 1, "progressbar": False}


def points(axes):
    """The drawn points of annotators as (competence, row, whether it is hollow)."""
    drawn = [one for one in axes.collections if isinstance(one, PathCollection) and len(one.get_offsets())]
    hollow = [np.resize(one.get_facecolor()[0, 2] == 1.0, len(one.get_offsets())) for one in drawn]
    return np.column_stack([np.concatenate([one.get_offsets() for one in drawn]), np.concatenate(hollow)])


class TestPlotAnnotators:
    def test_it_shows_the_table_the_most_competent_on_top(self, mace_fit):
        (axes,) = ba.plot_annotators(mace_fit).axes
        table = ba.annotator_table(mace_fit)
        table = table.assign(low=table["p_chance"] >= 0.8)
        table = table.sort_values("competence_mean", kind="stable")
        assert rows_of(axes) == table["annotator"].tolist()
        (bars,) = (one for one in axes.collections if isinstance(one, LineCollection))
        np.testing.assert_allclose(ends_of(bars), table[["competence_eti89_lb", "competence_eti89_ub"]])
        shown = points(axes)
        shown = shown[np.argsort(shown[:, 1])]
        np.testing.assert_allclose(shown[:, 0], table["competence_mean"])
        assert (shown[:, 2] == table["low"]).all()
        assert 0 < table["low"].sum() < len(table)
        assert [text.get_text() for text in axes.texts] == [*map(str, table["n_annotations"]), "answers"]
        assert set(axes.lines[0].get_xdata()) == {0}  # of MACE

    def test_chance_of_an_accuracy_is_that_of_the_annotators_own_labels(self, tiny_fit):
        (axes,) = ba.plot_annotators(tiny_fit).axes
        table = tiny_data().to_frame()
        said = pd.crosstab(table["annotator"], table["label"], normalize="index")[["no", "yes"]]
        share = tiny_fit["latent"]["probability"].mean("item").sel(true_class=["no", "yes"]).values
        chance = (said * share).sum(axis=1)
        np.testing.assert_allclose(axes.lines[0].get_xdata()[::2], chance[rows_of(axes)])

    def test_a_point_has_no_intervals(self, crowd_em):
        (axes,) = ba.plot_annotators(crowd_em).axes
        assert "one point" in title_of(axes)
        low = ba.annotator_table(crowd_em)["competence_mean"] <= 0.1
        assert points(axes)[:, 2].sum() == low.sum()
        assert not [one for one in axes.collections if isinstance(one, LineCollection)]


class TestPlotConfusion:
    def test_a_panel_has_the_means_and_prints_the_intervals(self, tiny_fit):
        figure = ba.plot_confusion(tiny_fit, ["cy", "ada"])
        panels = figure.axes[:2]
        assert [axes.get_title(loc="left") for axes in panels] == ["cy\n5 answers", "ada\n6 answers"]
        table = ba.summary(tiny_fit, ["confusion"]).set_index("parameter")
        rows = table.loc[["confusion[cy, no, no]", "confusion[cy, no, yes]"]]
        np.testing.assert_allclose(panels[0].images[0].get_array()[0], rows["mean"])
        printed = [
            f"{mean:.0f}\n{low:.0f}–{high:.0f}"
            for mean, low, high in 100 * rows[["mean", "eti89_lb", "eti89_ub"]].to_numpy()
        ]
        assert [text.get_text() for text in panels[0].texts[:2]] == printed
        assert rows_of(panels[0]) == ["no", "yes"]

    def test_those_with_most_answers_are_drawn(self, mace_fit):
        figure = ba.plot_confusion(mace_fit)
        table = ba.annotator_table(mace_fit).sort_values("n_annotations", ascending=False, kind="stable")[:12]
        shown = [axes.get_title(loc="left") for axes in figure.axes[:-1]]
        assert shown == [f"{row.annotator}\n{row.n_annotations} answers" for row in table.itertuples()]
        assert figure.get_suptitle().startswith("Confusion of the 12 of 30 annotators with most answers")

    def test_matrices_of_mace_follow_from_its_parameters(self, mace_fit):
        found = find_confusion(view_of(mace_fit), [4, 2]).mean(("chain", "draw")).values
        draws = mace_fit["posterior"].to_dataset().isel(annotator=[4, 2])
        know = draws["competence"]
        spam = ((1 - know) * draws["strategy"]).mean(("chain", "draw")).transpose("annotator", "response").values
        expected = know.mean(("chain", "draw")).values[:, None, None] * np.eye(3) + spam[:, None, :]
        np.testing.assert_allclose(found, expected, atol=0.01)  # of one in four of the draws
        np.testing.assert_allclose(found.sum(axis=2), 1)

    def test_matrices_of_one_coin_follow_from_its_accuracies(self):
        fit = ba.fit("one_coin", tiny_data(), method="em", method_options={"objective": "map"}, **QUICK)
        accuracy = fit["posterior"]["accuracy"].values[0, 0]
        found = find_confusion(view_of(fit), [0, 1, 2]).values[0, 0]
        np.testing.assert_allclose(found[:, [0, 1], [0, 1]], np.tile(accuracy[:, None], 2))
        np.testing.assert_allclose(found[:, 0, 1], 1 - accuracy)
        panel = ba.plot_confusion(fit, ["bo"]).axes[0]
        assert panel.texts[0].get_text() == f"{100 * accuracy[1]:.0f}"

    def test_many_labels_have_lines_for_intervals(self):
        records = [(f"s{n}", who, f"l{n % 7}") for n in range(14) for who in ("ada", "bo")]
        fit = from_prior(ba.get_model("model_b"), ba.AnnotationData.from_records(records))
        panel = ba.plot_confusion(fit, ["ada"]).axes[0]
        table = ba.summary(fit, ["confusion"])
        own = table[table["parameter"].str.startswith("confusion[ada,") & (table["eti89_ub"] > 0.05)]
        ends = np.concatenate([ends_of(one) for one in panel.collections])
        left = own["parameter"].str[-2].astype(int) - 0.5  # of the cell of a response, such as [ada, l3, l5]
        for side, bound in enumerate(("eti89_lb", "eti89_ub")):
            np.testing.assert_allclose(np.sort(ends[:, side]), np.sort(left + own[bound]))

    def test_what_cannot_be_drawn_is_refused(self, tiny_fit, refuses):
        with refuses(FitError, "'dora' is not in this fit"):
            ba.plot_confusion(tiny_fit, ["dora"])
        with refuses(FitError, "no annotator is asked for"):
            ba.plot_confusion(tiny_fit, [])
