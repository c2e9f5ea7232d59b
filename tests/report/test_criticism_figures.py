"""Figures of calibration: they draw what the tables say."""

import numpy as np
from matplotlib.collections import LineCollection, PathCollection

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.report.plots.criticism import plot_calibration
from tests.report.conftest import ends_of, rows_of


def points(axes):
    """The shares that are right and the probabilities of all bins, from the top, as they are drawn."""
    right, predicted = (one.get_offsets()[::-1, 0] for one in axes.collections if isinstance(one, PathCollection))
    return np.column_stack([right, predicted])


def test_calibration_of_one_fit_and_of_several(mace_fit, refuses):
    table = ba.calibration_table(mace_fit, bins=5, equal_counts=True)
    (axes,) = plot_calibration(mace_fit).axes
    assert not axes.lines  # nothing between bins
    np.testing.assert_allclose(points(axes), table[["right", "predicted"]])
    (bars,) = (one for one in axes.collections if isinstance(one, LineCollection))
    np.testing.assert_allclose(ends_of(bars)[::-1], table[["ci89_lb", "ci89_ub"]])
    assert [text.get_text() for text in axes.texts] == [*(str(n) for n in table["n"][::-1]), "n"]
    table = ba.calibration_table(mace_fit, bins=5, equal_counts=True, cumulative=True)
    (axes,) = plot_calibration(mace_fit, cumulative=True).axes
    np.testing.assert_allclose(points(axes), table[["right", "predicted"]])
    (axes,) = plot_calibration({"a": mace_fit, "b": mace_fit}, bins=3).axes
    few = ba.calibration_table(mace_fit, bins=3, equal_counts=True)
    np.testing.assert_allclose(points(axes), np.tile(few[["right", "predicted"]], (2, 1)))
    assert [name[0] for name in rows_of(axes)[::-1]] == ["a"] * len(few) + ["b"] * len(few)
    with refuses(FitError, "there is no fit to draw"):
        plot_calibration({})
