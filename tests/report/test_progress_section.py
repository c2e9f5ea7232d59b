"""What more answers would bring, in the report and in a figure: what is shown is what the tables say."""

import html
import re

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from bayesanno.fits.view import view_of
from bayesanno.report.page import render
from bayesanno.report.sections.labels import FUTURES
from tests.samples import simulate_clique

QUICK = {"method": "vb", "random_seed": 1, "progressbar": False, "check": False}
pytestmark = pytest.mark.filterwarnings("ignore:pareto-k")  # what is said of it is not of interest


def show(fit):
    """The section on more answers; "" where there is none."""
    page = html.unescape(render(view_of(fit), checks=True, random_seed=1))
    found = re.findall(r'<section id="progress">(.*?)</section>', page, re.DOTALL)
    return " ".join(found[0].split()) if found else ""


@pytest.fixture(scope="module")
def small():
    return simulate_clique(np.random.default_rng(1), items=80, annotators=8, per_item=4, accuracy=(0.7, 0.9))[0]


@pytest.fixture(scope="module")
def small_vb(small):
    return ba.fit("one_coin", small, **QUICK)


def test_the_section_says_what_the_tables_say(small_vb):
    section = show(small_vb)
    assert section.count("<img") == 1
    items = ba.expected_progress(small_vb, of="items", futures=FUTURES, random_seed=1)["next"]
    counts = [int(n) for n in re.findall(r"<td>(\d+) items?</td>", section)]
    assert counts == [int((items == name).sum()) for name in ("done", "ask", "expert")]
    settings = {"futures": FUTURES, "random_seed": 1}
    for way, words in (("evenly", "spread evenly"), ("suggested", "asked where they help most")):
        after = ba.expected_progress(small_vb, [0, 25, 50, 100], allocation=way, **settings)["accuracy"]
        assert f"{after.iloc[-1]:.1%} if they are {words}" in section
        assert f"<p>{after.iloc[0]:.1%} of the labels" in section


def test_a_fit_that_cannot_say_it_has_no_section(small):
    assert show(ba.fit("one_coin", small, **(QUICK | {"method": "em"}))) == ""  # one point
    full = [(str(i), str(j), "yn"[(i + (j == i)) % 2]) for i in range(12) for j in range(5)]
    assert show(ba.fit("one_coin", ba.AnnotationData.from_records(full), **QUICK)) == ""  # nobody is left to ask


class TestPlotProgress:
    def test_each_table_is_a_curve_in_its_band(self, small_vb):
        tables = {way: ba.expected_progress(small_vb, [0, 40, 80], allocation=way) for way in ("evenly", "suggested")}
        (axes,) = ba.plot_progress(tables, measure="share_sure", target=0.9).axes
        target, *curves = axes.lines
        assert set(target.get_ydata()) == {0.9}
        for curve, band, (name, table) in zip(curves, axes.collections, tables.items(), strict=True):
            assert curve.get_label() == name
            np.testing.assert_allclose(curve.get_xydata(), table[["answers", "share_sure"]])
            (path,) = band.get_paths()
            ends = table[["share_sure_eti89_lb", "share_sure_eti89_ub"]]
            assert path.vertices[:, 1].min() == ends.to_numpy().min()
            assert path.vertices[:, 1].max() == ends.to_numpy().max()

    def test_what_is_no_progress_is_refused(self, small_vb, refuses):
        table = ba.expected_progress(small_vb, [0, 40])
        for given, more, error, match in (
            (table.drop(columns="accuracy"), {}, FitError, "without 'accuracy'"),
            ({}, {}, FitError, "no progress to draw"),
            (table, {"measure": "cost"}, DataError, "measure is 'cost'"),
            (table, {"target": 95}, DataError, "target is 95"),
        ):
            with refuses(error, match):
                ba.plot_progress(given, **more)
