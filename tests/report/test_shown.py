"""Figures in a notebook: a picture, although the package never imports pyplot."""

import pytest

import bayesanno as ba


@pytest.mark.parametrize("draw", [ba.plot_coverage, ba.plot_confusion], ids=["one panel", "several"])
def test_a_figure_is_a_picture_where_a_cell_shows_it(draw):
    formatters = pytest.importorskip("IPython.core.formatters")
    fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    shown, _ = formatters.DisplayFormatter().format(draw(fit))
    assert shown["image/png"].startswith(b"\x89PNG")
