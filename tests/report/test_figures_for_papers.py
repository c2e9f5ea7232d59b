"""Figures as a paper needs them: of a size, without a title, with another interval; and legible."""

from __future__ import annotations

import inspect
import itertools
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.text import Text

import bayesanno as ba
from bayesanno.report.plots import style
from tests.report.conftest import ends_of
from tests.samples import title_of

PLOTS = {name: getattr(room, name) for room in (ba, ba.report) for name in dir(room) if name.startswith("plot_")}
UNTITLED = {"plot_plates", "plot_prior", "plot_ranks"}  # panels and plates name themselves
PANELS = UNTITLED - {"plot_plates"} | {
    "plot_confusion", "plot_groups", "plot_label_power_scaling", "plot_priors",
}  # fmt: skip


@pytest.mark.parametrize("name", PLOTS)
def test_every_figure_has_a_size_and_may_do_without_its_title(name):
    plot = PLOTS[name]
    parameters = inspect.signature(plot).parameters
    assert inspect.signature(plot).return_annotation == "Figure"
    kind = {"Unpack[style.OneAxes]": style.OneAxes, "Unpack[style.Panels]": style.Panels}
    options = {
        *parameters,
        *(kind[parameters["options"].annotation].__annotations__ if "options" in parameters else ()),
    }
    assert "figsize" in options
    assert ("title" in options) == (name not in UNTITLED)
    assert ("ax" in options) == (name not in PANELS)
    for option in {"figsize", "title", "ax"} & options:
        assert re.search(rf"^(\w+, )*{option}(, \w+)*$", inspect.getdoc(plot), re.MULTILINE), option


def test_a_figure_of_one_axes_can_be_a_part_of_another(tiny_fit):
    crowd = ba.read_annotations("@crowd")
    whole, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
    axes[0, 0].set_title("mine", loc="left")
    assert ba.plot_usage(crowd, ax=axes[0, 1], figsize=(2, 2), title=False) is whole
    assert ba.plot_annotators(tiny_fit, ax=axes[0, 2]) is whole
    assert ba.plot_coverage(tiny_fit, ax=axes[1, 0], title=False) is whole
    assert ba.plot_plates("mace", ax=axes[1, 1]) is whole
    assert ba.report.plot_distances(crowd, ax=axes[1, 2]) is whole
    assert whole.get_size_inches().tolist() == [9, 6]
    assert len(whole.axes) == 7  # the scale of distances is one
    whole.draw_without_rendering()
    assert [bool(one.get_title(loc="left")) for one in axes.flat] == [True, False, True, False, False, True]
    assert axes[0, 0].get_title(loc="left") == "mine"
    plt.close(whole)


def test_an_option_that_is_not_there_is_refused(tiny_fit):
    with pytest.raises(TypeError, match="'figsiz'"):
        ba.plot_coverage(tiny_fit, figsiz=(3, 3))


def test_sizes_and_titles_are_as_asked_for(tiny_fit):
    figure = ba.plot_annotators(tiny_fit, figsize=(5, 4.5), title=False)
    assert figure.get_size_inches().tolist() == [5, 4.5]
    assert figure.axes[0].get_title(loc="left") == ""
    assert ba.plot_confusion(tiny_fit, title=False).get_suptitle() == ""


def test_figures_are_as_wide_as_a_small_screen_and_no_text_is_tiny(tiny_fit):
    crowd = ba.read_annotations("@crowd")
    figures = [
        *(plot(tiny_fit) for plot in (ba.plot_annotators, ba.plot_confusion, ba.plot_coverage, ba.plot_calibration)),
        *(plot(crowd) for plot in (ba.plot_usage, ba.report.plot_divergence, ba.report.plot_distances)),
    ]
    for figure in figures:
        figure.draw_without_rendering()
        assert figure.get_figwidth() == style.WIDTH
        shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        assert min(text.get_fontsize() for text in shown) >= style.SMALLEST


def test_a_legend_is_below_its_axes(tiny_fit):
    for figure in (ba.plot_coverage(tiny_fit), ba.plot_usage(ba.read_annotations("@crowd"))):
        figure.draw_without_rendering()
        (axes,) = figure.axes
        assert axes.get_legend().get_window_extent().y1 < axes.xaxis.label.get_window_extent().y0


def test_intervals_have_the_probability_and_the_kind_that_are_asked_for(tiny_fit):
    draws = tiny_fit["posterior"]["accuracy"]
    order = np.argsort(draws.mean(["chain", "draw"]).values, kind="stable")
    figure = ba.plot_annotators(tiny_fit, ci_prob=0.5, ci_kind="eti")
    (bars,) = (one for one in figure.axes[0].collections if isinstance(one, LineCollection))
    tails = draws.quantile([0.25, 0.75], ["chain", "draw"]).values.T[order]
    np.testing.assert_allclose(ends_of(bars), tails, rtol=1e-6)
    assert title_of(figure.axes[0]).endswith("posterior mean and 50% interval")
    shown = " ".join(ba.plot_confusion(tiny_fit, ["ada"], ci_prob=0.8).get_suptitle().split())
    assert shown == "Confusion of ada: posterior mean and 80% interval, in percent"


def test_numbers_of_panels_side_by_side_do_not_touch():
    figure, panels = style.new_grid(2, 2, 1.5)
    for axes in panels:
        axes.set(xlim=(0, 1), xticks=[0, 0.5, 1])
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for axes in panels for label in axes.get_xticklabels()]
    gaps = [right.x0 - left.x1 for left, right in itertools.pairwise(boxes)]
    assert min(gaps) > 0.06 * figure.dpi  # inches
