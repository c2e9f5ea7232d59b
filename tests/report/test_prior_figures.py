"""Figures of priors, and of how labels depend on them: they draw what the tables say."""

import numpy as np

import bayesanno as ba
from bayesanno._core.messages import FitError
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
    assert [" ".join(name.split()) for name in rows_of(shown[0])] == [f"{long[:43]}…", "three"]
    for axes, (_, rows) in zip(shown, table.groupby("quantity", sort=False), strict=True):
        means = points(axes, "o")
        np.testing.assert_allclose(means[:, 0], rows["mean"])
        bars = np.concatenate([ends_of(lines) for lines in axes.collections])  # each holds the middle of what is drawn
        np.testing.assert_allclose(bars, rows[["eti89_lb", "eti89_ub"]])


def test_a_panel_has_the_models_that_have_the_quantity_and_a_row_for_each_of_six_classes():
    design = ba.make_design(items=20, annotators=3, labels=8, per_item=2, random_seed=1)
    found = ba.describe_prior({"MACE": "mace", "one coin": "one_coin"}, design, draws=30, random_seed=1)
    panels = {axes.get_title(loc="left"): axes for axes in plot_prior(found).axes}
    assert rows_of(panels["competence of an annotator"]) == ["MACE"]
    assert rows_of(panels["accuracy of an annotator"]) == ["MACE", "one coin"]
    classes = panels["prevalence of a class (the first 6 of 8)"]
    first = found.table.query("quantity == 'prevalence'")["of"].unique()[:6].tolist()
    assert [text.get_text() for text in classes.texts] == 2 * first
    assert len(points(classes, "o")) == 12


def test_only_the_quantities_that_are_chosen_have_a_panel(refuses):
    design = ba.make_design(items=20, annotators=3, labels=2, per_item=2, random_seed=1)
    found = ba.describe_prior({"MACE": "mace", "one coin": "one_coin"}, design, draws=30, random_seed=1)
    agree, right = plot_prior(found, ["vote_right", "agreement"]).axes  # in the order of the table
    assert agree.get_title(loc="left") == "how often two annotators agree"
    np.testing.assert_allclose(points(right, "o")[:, 0], found.table.query("quantity == 'vote_right'")["mean"])
    (alone,) = plot_prior(found, "agreement").axes
    np.testing.assert_allclose(points(alone, "o"), points(agree, "o"))
    with refuses(FitError, "there is no quantity 'agrement'"):
        plot_prior(found, "agrement")
    with refuses(FitError, "quantities is empty"):
        plot_prior(found, [])


def test_labels_are_in_the_order_in_which_they_would_change(tiny_fit, refuses):
    table = ba.criticism.label_power_scaling(tiny_fit)
    left, right = plot_label_power_scaling(table.sample(frac=1, random_state=1)).axes
    assert rows_of(left) == [f"{row['item']}: {row['label']} or {row['runner_up']}" for row in table.to_dict("records")]
    near = np.abs(table["doublings"]) <= 4
    np.testing.assert_allclose(points(left, "o")[:, 0], table.loc[near, "doublings"])
    np.testing.assert_allclose(points(right, "|")[:, 0], table["probability"])
    soon = (table["doublings"].abs() < 1).sum()
    assert title_of(left) == f"Labels that depend on the prior: {soon} would change within one doubling"
    with refuses(FitError, "most is 0: it must be at least 1"):
        plot_label_power_scaling(table, most=0)
    with refuses(FitError, "the table has no rows to draw"):
        plot_label_power_scaling(table[:0])


def test_of_many_rows_few_are_drawn(tiny_fit):
    table = ba.criticism.label_power_scaling(tiny_fit)
    many = table.sample(400, replace=True, random_state=1).assign(item=[f"x{n}" for n in range(400)])
    assert len(rows_of(plot_label_power_scaling(many).axes[0])) == 25
    assert "2 of 400 drawn" in title_of(plot_label_power_scaling(many, most=2).axes[0])
