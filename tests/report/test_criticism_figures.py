"""Figures of predictive checks and of calibration: they draw what the tables say."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.ground.errors import FitError
from bayesanno.report.plots.criticism import PAGE, plot_calibration, plot_predictive_check
from bayesanno.report.plots.style import write_png


@pytest.fixture(scope="module")
def check(tiny_fit):
    return ba.predictive_check(tiny_fit, ["unanimous", "votes_per_item"], replicates=50, random_seed=1)


def test_a_panel_for_each_statistic(check, tmp_path):
    figure = plot_predictive_check(check)
    single, several = figure.axes
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "share of items on which all agree",
        "items with so many votes for a label",
    ]
    table = check.table
    assert single.lines[0].get_xdata()[0] == table["observed"][0]
    assert sum(bar.get_height() for bar in single.patches) == 50
    rows = table.query("statistic == 'votes_per_item' and of != ''")
    (bars,) = (one for one in several.collections if one.get_paths() and len(one.get_paths()) == len(rows))
    np.testing.assert_allclose([path.vertices[:, 0] for path in bars.get_paths()], rows[["eti89_lb", "eti89_ub"]])
    points = np.concatenate([one.get_offsets() for one in several.collections if one is not bars])
    assert sorted(points[:, 0]) == sorted(rows["observed"])
    named = [tick.get_text() for tick in several.get_yticklabels()]
    assert named == rows["of"].tolist()[:: -(-len(rows) // len(named))]
    assert all(one <= most for one, most in zip(figure.get_size_inches(), PAGE, strict=True))
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["predicted (bars: 89% interval)", "observed", "observed, p below 0.05"]
    whole = table.query("of == ''")["p"].tolist()
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"p = {p:.3f}" for p in whole]
    write_png(figure, tmp_path / "check.png")
    assert (tmp_path / "check.png").read_bytes()[1:4] == b"PNG"


def test_many_rows_are_in_the_order_of_what_is_predicted(mace_fit):
    check = ba.predictive_check(mace_fit, "label_counts", replicates=20, random_seed=1)
    rows = check.table[check.table["of"] != ""]
    assert len(rows) > 60
    (axes,) = plot_predictive_check(check).axes
    bars = next(one for one in axes.collections if len(one.get_paths()) == len(rows))
    ordered = rows.sort_values("mean", ascending=False, kind="stable")
    np.testing.assert_allclose([path.vertices[0, 0] for path in bars.get_paths()], ordered["eti89_lb"])
    assert axes.get_yticklabels() == []


def test_calibration_of_one_fit_and_of_several(mace_fit, refuses):
    table = ba.calibration_table(mace_fit)
    (axes,) = plot_calibration(mace_fit).axes
    assert axes.get_legend() is None
    np.testing.assert_allclose(axes.lines[1].get_xydata(), table[["predicted", "right"]])
    (axes,) = plot_calibration({"a": mace_fit, "b": mace_fit}, bins=5).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    np.testing.assert_allclose(
        axes.lines[2].get_xydata(), ba.calibration_table(mace_fit, bins=5)[["predicted", "right"]]
    )
    with refuses(FitError, "there is no fit to draw"):
        plot_calibration({})


def test_calibration_of_grades_is_drawn_over_all_probabilities(mace_fit):
    table = ba.calibration_table(mace_fit, cumulative=True)
    (axes,) = plot_calibration(mace_fit, cumulative=True).axes
    np.testing.assert_allclose(axes.lines[1].get_xydata(), table[["predicted", "right"]])
    assert axes.get_xlim()[0] < 0.05
    assert axes.get_xlabel() == "probability that the true grade is at most k, for all k"
