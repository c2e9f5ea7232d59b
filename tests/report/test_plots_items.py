"""Figures of items: what they show is what the tables say."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

import bayesanno as ba
from bayesanno._core.messages import FitError
from tests.samples import tiny_data

QUICK = {"random_seed": 1, "progressbar": False, "method": "em"}


class TestPlotCoverage:
    def test_lines_are_those_of_the_tables_and_of_the_vote(self, crowd_em, crowd, mace_fit):
        (axes,) = ba.plot_coverage({"EM": crowd_em, "$NUTS^": mace_fit}).axes
        vote, *lines = axes.lines
        for line, fit in zip(lines, (crowd_em, mace_fit), strict=True):
            np.testing.assert_allclose(line.get_xydata(), ba.coverage_table(fit)[["coverage", "accuracy"]])
        data = crowd[0]
        most = data.votes == data.votes.max(axis=1, keepdims=True)
        gold = np.array([data.labels.index(data.gold[item]) for item in data.items])
        right = (most / most.sum(axis=1, keepdims=True))[np.arange(400), gold]
        np.testing.assert_allclose(vote.get_xydata()[-1], [1, right.mean()])
        unanimous = (data.votes > 0).sum(axis=1) == 1
        at = int(unanimous.sum() / 400 * 20) - 1
        np.testing.assert_allclose(vote.get_ydata()[at], right[np.flatnonzero(unanimous)[: 20 * (at + 1)]].mean())

    def test_one_fit_at_chosen_coverages(self, crowd_em):
        (axes,) = ba.plot_coverage(crowd_em, coverages=[0.5, 1]).axes
        assert axes.lines[1].get_xdata().tolist() == [0.5, 1]
        table = ba.coverage_table(crowd_em, [0.5, 1])
        (band,) = axes.collections
        low, high = proportion_confint(table["accuracy"] * table["n_gold"], table["n_gold"], 0.11, method="wilson")
        np.testing.assert_allclose(np.sort(band.get_paths()[0].vertices[:, 1])[[0, -1]], [low.min(), high.max()])

    def test_what_cannot_be_drawn_is_refused(self, refuses):
        with refuses(FitError, "no gold label is known"):
            ba.plot_coverage(ba.fit("one_coin", tiny_data(), **QUICK))
        with refuses(FitError, "there is no fit to draw"):
            ba.plot_coverage({})


def group_rows(labels, groups=("old", "new"), grade=False):
    rows = [
        {"group": group, "source": "model", "quantity": "share" if label else "grade", "label": label, "mean": 0.1 * k,
         "sd": 0.01, "eti80_lb": 0.1 * k - 0.02, "eti80_ub": 0.1 * k + 0.02}
        for k, label in enumerate([*labels, *([""] if grade else [])], 1) for group in groups
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_groups_have_a_panel_for_each_label():
    axes = ba.plot_groups(group_rows(["bad", "fair", "good"], grade=True)).axes
    assert [one.get_xlabel() for one in axes] == ["share of 'bad'", "share of 'fair'", "share of 'good'", "mean grade"]
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["new", "old"]
    assert axes[1].lines[0].get_xdata().tolist() == pytest.approx([0.2, 0.2])
    assert axes[0].get_title(loc="left") == "2 groups: mean and 80% interval"
    assert len(ba.plot_groups(group_rows([f"l{k}" for k in range(30)], grade=True)).axes) == 9
    of_two = pd.concat([group_rows(["yes"]), group_rows(["yes"]).assign(source="ppi")])
    (axes,) = ba.plot_groups(of_two).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["model", "ppi"]
    with pytest.raises(ba.FitError, match="group_table"):
        ba.plot_groups(pd.DataFrame({"first": []}))
