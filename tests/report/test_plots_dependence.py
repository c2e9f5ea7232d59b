"""The figure of who errs with whom: it shows the table, in an order that shows cliques."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.report.plots import agreement
from tests.report.conftest import rows_of
from tests.samples import simulate_clique, title_of

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # of short fits

QUICK = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def clique_fit():
    data, _ = simulate_clique(np.random.default_rng(2), items=200, clique=3, copies=0.9)
    order = np.array([5, 0, 7, 1, 9, 2, 3, 4, 6, 8])  # the clique is not side by side in the data
    names = tuple(f"a{number}" for number in order)
    place = np.argsort(order)
    moved = replace(data, annotator=place[data.annotator], annotators=names)
    return ba.fit("model_b", moved, **QUICK)


def shown(figure):
    axes = figure.axes[0]
    names = rows_of(axes)
    assert names == [text.get_text() for text in axes.get_xticklabels()]
    return names, np.ma.filled(axes.images[0].get_array(), np.nan)


def test_it_shows_the_table_and_a_clique_side_by_side(clique_fit):
    figure = ba.plot_dependence(clique_fit)
    names, matrix = shown(figure)
    table = ba.dependence_table(clique_fit)
    for pair in table[table["level"] == "pair"].itertuples():
        one, other = names.index(pair.first), names.index(pair.second)
        assert matrix[one, other] == matrix[other, one] == pytest.approx(pair.correlation)
    places = sorted(names.index(name) for name in ("a0", "a1", "a2"))
    assert places[2] - places[0] == 2
    title = title_of(figure.axes[0])
    assert f"10 answers an item are worth {table.loc[0, 'worth']:.1f} independent ones" in title
    assert "by known labels" in title
    assert "by the fit's own labels" in title_of(ba.plot_dependence(clique_fit, truth="posterior").axes[0])


def test_a_correlation_that_may_be_0_is_pale(clique_fit):
    figure = ba.plot_dependence(clique_fit)
    names, _ = shown(figure)
    opacity, table = figure.axes[0].images[0].get_alpha(), ba.dependence_table(clique_fit)
    pairs = table[table["level"] == "pair"]
    may_be_0 = (pairs["correlation_ci89_lb"] <= 0) & (pairs["correlation_ci89_ub"] >= 0)
    assert 0 < may_be_0.sum() < len(pairs)
    for one, other, is_pale in zip(pairs["first"], pairs["second"], may_be_0, strict=True):
        assert (opacity[names.index(one), names.index(other)] < 1) == is_pale


def test_of_many_the_most_dependent_are_drawn_or_their_groups(clique_fit, monkeypatch):
    monkeypatch.setattr(agreement, "MOST_DRAWN", 3)
    figure = ba.plot_dependence(clique_fit)
    assert sorted(shown(figure)[0]) == ["a0", "a1", "a2"]
    assert "the 3 of 10 that most surely do" in title_of(figure.axes[0])
    clique = {name: "clique" if name in ("a0", "a1", "a2") else "rest" for name in ba.data_of(clique_fit).annotators}
    names, matrix = shown(ba.plot_dependence(clique_fit, clique))
    table = ba.dependence_table(clique_fit, clique)
    own = table[(table["level"] == "group") & (table["first"] == table["second"])].set_index("first")["correlation"]
    np.testing.assert_allclose(np.diag(matrix), own[names])


def test_without_a_pair_there_is_none(tiny_fit, refuses):
    with refuses(DataError, "lower least_items"):
        ba.plot_dependence(tiny_fit)
    assert len(shown(ba.plot_dependence(tiny_fit, truth="posterior", least_items=1))[0]) == 3
