"""Figures of studies by simulation: lines are the ranks', and a band holds those of a calibrated study."""

import numpy as np
import pytest
import xarray as xr

from bayesanno._core.messages import DataError
from bayesanno.report.plots.criticism import _make_band, plot_ranks


def study(usage, prevalence):
    names = [f"a{number}" for number in range(usage.shape[1])]
    found = {"usage": (("simulation", "annotator"), usage), "prevalence": (("simulation",), prevalence)}
    return xr.Dataset(found, coords={"annotator": names}, attrs={"ranked": ["usage", "prevalence"]})


def lines_of(axes):
    """The lines of parameters: all but the one at 0."""
    return axes.lines[1:]


def test_lines_are_of_ranks_and_those_outside_the_band_are_named(rng):
    usage = rng.integers(100, size=(200, 6))
    usage[:, 2] = usage[:, 2] // 2  # too low: the posterior is too high
    figure = plot_ranks(study(usage, rng.integers(100, size=200)))
    left, right = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["usage (6)", "prevalence"]
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["usage[a2]"]
    assert (len(lines_of(left)), len(lines_of(right))) == (6, 1)
    (wrong,) = (line for line in lines_of(left) if line.get_label() == "usage[a2]")
    y = wrong.get_ydata()
    assert y[49] == pytest.approx(0.5)  # all ranks are below 50, where a half should be
    np.testing.assert_allclose(y[9], (usage[:, 2] < 10).mean() - 0.1)


def test_the_band_holds_uniform_ranks_as_often_as_it_says(rng):
    n, ci_prob = 60, 0.9
    low, high = _make_band(n, ci_prob, 1)
    below = rng.multinomial(n, np.full(100, 0.01), size=20_000).cumsum(axis=1)[:, :-1]  # as many ranks below 1, 2, ...
    held = ((below >= low) & (below <= high)).all(axis=1).mean()
    assert held == pytest.approx(ci_prob, abs=0.03)  # the band's own 1,000 samples have a standard error of 0.01


def test_confidence_is_of_all_lines_together(rng, refuses):
    uniform = rng.integers(100, size=200)
    alone = plot_ranks(study(uniform[:, None], uniform)).axes[0].collections[0]
    among_many = plot_ranks(study(np.stack([uniform] * 40, axis=1), uniform)).axes[0].collections[0]
    assert np.ptp(among_many.get_paths()[0].vertices[:, 1]) > 1.2 * np.ptp(alone.get_paths()[0].vertices[:, 1])
    with refuses(DataError, "ci_prob is 1"):
        plot_ranks(study(uniform[:, None], uniform), ci_prob=1)
