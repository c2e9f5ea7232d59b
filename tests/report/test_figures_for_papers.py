"""Figures as a paper needs them: of a size, without a title, with another interval."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import bayesanno as ba
from tests.report.conftest import ends_of
from tests.samples import title_of


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
    assert [bool(one.get_title(loc="left")) for one in axes.flat] == [True, False, True, False, False, True]
    plt.close(whole)
    figure = ba.plot_annotators(tiny_fit, figsize=(5, 4.5), title=False)
    assert figure.get_size_inches().tolist() == [5, 4.5]
    assert ba.plot_confusion(tiny_fit, title=False).get_suptitle() == ""


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
