"""Figures of priors, and of how labels depend on them: they draw what the tables say."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.errors import FitError
from bayesanno.report.plots.sensitivity import plot_label_power_scaling, plot_prior
from tests.report.conftest import ends_of, rows_of
from tests.samples import title_of


def points(axes, marker):
    return np.concatenate([line.get_xydata() for line in axes.lines if line.get_marker() == marker])


def test_a_panel_for_each_quantity_and_a_row_for_each_prior():
    design = ba.simulation.make_count_design(items=20, per_item=3)
    long = "two types, of which it would take long to say how they were chosen"
    priors = {long: "binomial_mixture", "three": ba.models.BinomialMixture(types=3)}
    found = ba.describe_prior(priors, design, draws=30, random_seed=1)
    figure = plot_prior(found)
    table = found.table
    shown = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len(shown) == table["quantity"].nunique()
    assert shown[0].get_title(loc="left") == "share of positive answers"
    assert [" ".join(name.split()) for name in rows_of(shown[0])] == [f"{long[:43]}…", "three"]
    for axes, (_, rows) in zip(shown, table.groupby("quantity", sort=False), strict=True):
        means = points(axes, "o")
        np.testing.assert_allclose(means[:, 0], rows["mean"])
        bars = [ends_of(line)[0] for line in axes.collections]  # each holds the middle of what is drawn
        np.testing.assert_allclose(bars, rows[["eti89_lb", "eti89_ub"]])
    legend = next(axes for axes in shown if "rate" in axes.get_title(loc="left")).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["type 1", "type 2", "type 3"]


def test_labels_are_in_the_order_in_which_they_would_change(tiny_fit, refuses):
    table = ba.criticism.label_power_scaling(tiny_fit)
    left, right = plot_label_power_scaling(table.sample(frac=1, random_state=1)).axes
    assert rows_of(left) == [f"{row['item']}: {row['label']} or {row['runner_up']}" for row in table.to_dict("records")]
    near = np.abs(table["doublings"]) <= 4
    np.testing.assert_allclose(points(left, "o")[:, 0], table.loc[near, "doublings"])
    beyond = [(line.get_marker(), line.get_xdata().size) for line in left.lines if line.get_marker() in "<>"]
    assert beyond == [("<", (table["doublings"] < -4).sum()), (">", (table["doublings"] > 4).sum())]
    np.testing.assert_allclose(points(right, "|")[:, 0], table["probability"])
    soon = (table["doublings"].abs() < 1).sum()
    assert title_of(left) == f"Labels that depend on the prior: {soon} would change within one doubling"
    with refuses(FitError, "most is 0: it must be at least 1"):
        plot_label_power_scaling(table, most=0)
    with refuses(FitError, "the table has no rows to draw"):
        plot_label_power_scaling(table[:0])


@pytest.mark.parametrize("rows", [3, 400])
def test_few_rows_and_many_are_drawn(rows, tiny_fit):
    table = ba.criticism.label_power_scaling(tiny_fit)
    many = table.sample(rows, replace=True, random_state=1).assign(item=[f"x{n}" for n in range(rows)])
    figure = plot_label_power_scaling(many)
    assert len(rows_of(figure.axes[0])) == min(rows, 25)
    assert figure.get_size_inches()[1] <= 14
    few = plot_label_power_scaling(many, most=2).axes[0]
    assert len(rows_of(few)) == 2
    assert f"2 of {rows} drawn" in title_of(few)


def test_the_rows_of_a_study_differ_in_their_names():
    data = ba.read_annotations("@crowd")
    grid = {"competence_prior": [(1, 1), (6, 2)], "strategy_prior": [1, 10]}
    study = ba.sensitivity("mace", data, grid, method="em", random_seed=1, progressbar=False)
    shown = rows_of(ba.plot_priors(study).axes[0])
    assert shown[0] == "competence_prior=0.5:0.5, strategy_prior=10 (own)"
    assert len(set(shown)) == len(study.table)
