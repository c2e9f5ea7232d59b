"""Figures of agreement: what they show, for few annotators and for many, whatever these are called."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.report.plots.style import MOST_HEIGHT, write_png
from tests.analysis.made import from_prior
from tests.samples import tiny_data


@pytest.mark.parametrize("draw", [ba.plot_usage, ba.report.plot_divergence, ba.report.plot_distances])
def test_a_figure_of_many_fits_on_a_page_and_names_are_text(draw, rng, tmp_path):
    """Names with a mark of a formula would fail when the figure is drawn."""
    people = [f"$x^ \\frac number {who}" for who in range(70)]
    records = [(f"s{item}", who, f"$_{rng.integers(5)}") for who in people for item in range(12)]
    data = ba.AnnotationData.from_records(records)
    figure = draw(data)
    shown = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert 0 < len(shown) <= 60
    assert {name.rstrip("…") for name in shown} <= {name[:19] for name in data.annotators} | set(data.annotators)
    assert max(figure.get_size_inches()) <= MOST_HEIGHT
    write_png(figure, tmp_path / "figure.png")


def test_bars_are_shares_and_the_most_unlike_is_on_top():
    data = tiny_data()
    axes = ba.plot_usage(data).axes[0]
    table = ba.usage_table(data).sort_values("leverage")
    assert [text.get_text() for text in axes.get_yticklabels()] == table["annotator"].tolist()
    widths = [bar.get_width() for bar in axes.containers[0]]
    np.testing.assert_allclose(widths, table["usage[no]"])


def test_an_infinite_divergence_is_shown_as_one():
    records = [("s1", "ada", "a"), ("s2", "ada", "a"), ("s1", "bo", "a"), ("s2", "bo", "b"), ("s1", "cy", "a")]
    data = ba.AnnotationData.from_records(records)
    axes = ba.report.plot_divergence(data).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["infinite"]
    assert "nats" in axes.get_xlabel()
    assert "bits" in ba.report.plot_divergence(data, base=2).axes[0].get_xlabel()
    assert "nats" not in ba.report.plot_divergence(data, measure="leverage").axes[0].get_xlabel()


def test_distances_that_chance_gives_are_white(rng):
    records = [(f"i{item}", who, str(rng.integers(2))) for item in range(40) for who in "abcdef"]
    alike = ba.report.plot_distances(ba.AnnotationData.from_records(records)).axes[0].images[0].get_array()
    assert (alike == 0).mean() > 0.8
    always = [(item, who, "1" if who == "c" else label) for item, who, label in records]
    far = ba.report.plot_distances(ba.AnnotationData.from_records(always)).axes[0].images[0].get_array()
    assert sorted((far > 0.02).sum(axis=0).tolist())[-1] == 5


def test_what_cannot_be_drawn_is_refused(refuses):
    alone = ba.AnnotationData.from_records([("s1", "ada", "no"), ("s1", "ada", "yes")])
    with refuses(DataError, "only one annotator answered"):
        ba.report.plot_divergence(alone)
    with refuses(DataError, "there is no measure 'kl'"):
        ba.report.plot_divergence(tiny_data(), measure="kl")


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # of few draws and one annotator
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.IdentifiabilityWarning")
def test_the_report_of_a_single_annotator_shows_no_divergence_from_others(tmp_path):
    alone = ba.AnnotationData.from_records([("s1", "ada", "no"), ("s1", "ada", "yes"), ("s2", "ada", "no")])
    fit = from_prior(ba.get_model("label_usage"), alone)
    page = ba.write_report(fit, tmp_path / "report.html", checks=False).read_text(encoding="utf-8")
    assert "How annotators use the labels." in page
    assert "Divergence of each annotator" not in page


def test_a_legend_of_many_labels_stays_within_the_figure(rng):
    records = [(f"i{item}", who, f"topic {rng.integers(90)}") for item in range(200) for who in ("ada", "bo", "cy")]
    data = ba.AnnotationData.from_records(records)
    figure = ba.plot_usage(data)
    figure.canvas.draw()
    legend = figure.axes[0].get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    assert names[-1] == f"{data.n_labels - 19} others"
    shares = (data.usage / data.usage.sum(axis=1, keepdims=True)).sum(axis=0)
    shown = np.isin(data.labels, names)
    assert shares[shown].min() >= shares[~shown].max()
    assert legend.get_window_extent().height < figure.bbox.height
    widths = np.array([[bar.get_width() for bar in container] for container in figure.axes[0].containers])
    np.testing.assert_allclose(widths.sum(axis=0), 1.0)
