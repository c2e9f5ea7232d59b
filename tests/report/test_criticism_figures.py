"""Figures of calibration: they draw what the tables say."""

import numpy as np

import bayesanno as ba
from bayesanno._core.errors import FitError
from bayesanno.report.plots.criticism import plot_calibration


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
