"""Figures of agreement: what they show, for few annotators and for many, whatever these are called."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayesanno as ba
from bayesanno._core.errors import DataError
from bayesanno.report.plots.style import MOST_HEIGHT, write_png
from tests.samples import tiny_data


def many(n_annotators):
    rng = np.random.default_rng(1)
    records = [
        (f"s{item}", f"annotator number {who}", str(rng.integers(5)))
        for who in range(n_annotators)
        for item in range(12)
    ]
    return ba.AnnotationData.from_records(records)


FIGURES = {
    "usage": ba.plot_usage,
    "divergence": ba.report.plot_divergence,
    "distances": ba.report.plot_distances,
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("data", [tiny_data(), many(70)], ids=["3", "70"])
def test_a_figure_has_a_title_and_named_rows_and_fits_on_a_page(name, data, tmp_path):
    figure = FIGURES[name](data)
    assert isinstance(figure, Figure)
    axes = figure.axes[0]
    assert axes.get_title(loc="left")
    shown = [text.get_text() for text in axes.get_yticklabels()]
    assert shown
    assert {name.rstrip("…") for name in shown} <= {name[:19] for name in data.annotators} | set(data.annotators)
    width, height = figure.get_size_inches()
    assert max(width, height) <= MOST_HEIGHT
    assert len(axes.get_yticklabels()) <= 60
    write_png(figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5_000


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


def test_names_are_text_and_no_formulas(tmp_path):
    records = [
        (f"s{n}", who, label) for n in range(4) for who in ("$x^", "a_{", "\\frac") for label in ("$y", "_z")[n % 2 :]
    ]
    data = ba.AnnotationData.from_records(records)
    for name in ("usage", "divergence", "distances"):
        write_png(FIGURES[name](data), tmp_path / f"{name}.png")


def test_what_cannot_be_drawn_is_refused(refuses):
    alone = ba.AnnotationData.from_records([("s1", "ada", "no"), ("s1", "ada", "yes")])
    with refuses(DataError, "only one annotator answered"):
        ba.report.plot_divergence(alone)
    with refuses(DataError, "there is no measure 'kl': choose one of leverage, kld, jsd_mean"):
        ba.report.plot_divergence(tiny_data(), measure="kl")


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # of few draws and one annotator
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.IdentifiabilityWarning")
def test_the_report_of_a_single_annotator_shows_no_divergence_from_others(tmp_path):
    alone = ba.AnnotationData.from_records([("s1", "ada", "no"), ("s1", "ada", "yes"), ("s2", "ada", "no")])
    fit = ba.fit("label_usage", alone, draws=20, tune=20, chains=1, check=False, random_seed=1, progressbar=False)
    page = ba.write_report(fit, tmp_path / "report.html", checks=False).read_text(encoding="utf-8")
    assert "How annotators use the labels." in page
    assert "Divergence of each annotator" not in page


def test_a_legend_of_many_labels_stays_within_the_figure(rng):
    records = [(f"i{item}", who, f"topic {rng.integers(90)}") for item in range(200) for who in ("ada", "bo", "cy")]
    data = ba.AnnotationData.from_records(records)
    figure = ba.plot_usage(data)
    figure.canvas.draw()
    legend = figure.axes[0].get_legend()
    assert legend.get_texts()[-1].get_text() == f"{data.n_labels - 19} others"
    assert legend.get_window_extent().height < figure.bbox.height
    widths = np.array([[bar.get_width() for bar in container] for container in figure.axes[0].containers])
    np.testing.assert_allclose(widths.sum(axis=0), 1.0)
