"""Figures of items: what they show is what the tables say."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from tests.analysis.made import from_prior
from tests.report.conftest import rows_of
from tests.samples import simulate_unsure, tiny_data, title_of

QUICK = {"random_seed": 1, "progressbar": False, "method": "em"}


def cells_of(axes):
    """The cells of the two halves of a figure of labels: shares of answers, and probabilities; (item, label) each."""
    cells = np.ma.filled(axes.images[0].get_array(), np.nan)
    n = cells.shape[1] // 2
    return cells[:, :n], cells[:, n + 1 :]


class TestPlotLabels:
    def test_the_most_doubtful_items_come_first_with_their_answers_and_probabilities(self, crowd_em):
        axes = ba.plot_labels(crowd_em).axes[0]
        table = ba.label_table(crowd_em).sort_values("entropy", ascending=False, kind="stable").head(30)
        assert rows_of(axes) == table["item"].tolist()
        data = ba.data_of(crowd_em)
        answers, probability = cells_of(axes)
        np.testing.assert_allclose(probability, table[[f"p[{label}]" for label in data.labels]])
        np.testing.assert_allclose(answers, data.vote_shares[[data.items.index(item) for item in table["item"]]])
        assert title_of(axes) == "Labels of the 30 least certain of 400 items, the most doubtful on top"
        printed = [int(text.get_text() or 0) for text in axes.texts]
        rows = np.array(printed).reshape(30, -1)[:, : data.n_labels]
        assert rows.sum(axis=1).tolist() == table["n_annotations"].tolist()

    def test_items_are_chosen_by_name_or_at_random_by_a_seed(self, crowd_em):
        entropy = ba.label_table(crowd_em).set_index("item")["entropy"]
        sure, unsure = entropy.idxmin(), entropy.idxmax()
        assert rows_of(ba.plot_labels(crowd_em, [sure, unsure, sure]).axes[0]) == [unsure, sure]
        assert rows_of(ba.plot_labels(crowd_em, sure).axes[0]) == [sure]
        first, again, other = (
            rows_of(ba.plot_labels(crowd_em, choose="random", most=20, random_seed=seed).axes[0]) for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other
        assert len(set(first)) == 20
        assert entropy[first].is_monotonic_decreasing
        assert len(rows_of(ba.plot_labels(crowd_em, most=60).axes[0])) == 60

    def test_known_labels_are_marked_and_items_without_answers_are_empty(self):
        data = tiny_data(items=["s1", "s2", "s3", "s4", "s5", "s6", "new"], gold={"s1": "yes"}, controls={"s2": "no"})
        axes = ba.plot_labels(ba.fit("one_coin", data, **QUICK)).axes[0]
        answers, probability = cells_of(axes)
        names = rows_of(axes)
        assert np.isnan(answers[names.index("new")]).all()
        assert np.isfinite(probability).all()
        marked = {tuple(path.vertices.mean(axis=0).round(1)) for path in axes.collections[0].get_paths()}
        at = {"no": 3, "yes": 4}  # the columns of the right half
        assert marked == {(at["yes"], names.index("s1") + 0.4), (at["no"], names.index("s2") + 0.4)}

    def test_unsure_answers_are_no_votes(self, rng):
        fit = ba.fit("model_b", simulate_unsure(rng), check=False, **QUICK)
        answers, probability = cells_of(ba.plot_labels(fit).axes[0])
        assert answers.shape == probability.shape == (30, 2)
        np.testing.assert_allclose(np.nansum(answers, axis=1), np.isfinite(answers[:, 0]))

    def test_of_many_labels_the_rarest_share_a_column(self):
        records = [(f"i{n}", who, f"label number {n % 25:02d}") for n in range(40) for who in "abc"]
        fit = ba.fit("one_coin", ba.AnnotationData.from_records(records), check=False, **QUICK)
        axes = ba.plot_labels(fit, most=40).axes[0]
        answers, probability = cells_of(axes)
        names = [text.get_text() for text in axes.get_xticklabels()]
        assert len(set(names)) == 14  # cut, and yet different
        assert names[13] == "12 others"
        assert answers.shape == probability.shape == (40, 14)
        np.testing.assert_allclose([answers.sum(axis=1), probability.sum(axis=1)], 1)
        assert not axes.texts

    def test_one_dimension_of_several(self):
        design = ba.make_design(items=40, annotators=3, labels=["-", "+"], per_item=3, random_seed=1)
        focus, polarity = (ba.simulate("one_coin", design, random_seed=seed)[0] for seed in (1, 2))
        data = ba.MultiAnnotationData(by_dimension={"focus": focus, "polarity": polarity})
        fit = from_prior(ba.get_model("model_a_multi"), data)
        axes = ba.plot_labels(fit, dimension="focus").axes[0]
        table = ba.label_table(fit).query("dimension == 'focus'").set_index("item")
        np.testing.assert_allclose(cells_of(axes)[1], table.loc[rows_of(axes), ["p[-]", "p[+]"]])
        assert title_of(axes).startswith("focus: labels of the 30 least certain of 40 items")

    @pytest.mark.parametrize("change", [ba.adjust, ba.recalibrate])
    @pytest.mark.filterwarnings("ignore::bayesanno.errors.PredictionWarning")  # of a point
    def test_adjusted_and_recalibrated_labels_are_those_of_the_table(self, crowd_em, change):
        changed, columns = change(crowd_em), [f"p[{label}]" for label in ba.data_of(crowd_em).labels]
        axes = ba.plot_labels(changed).axes[0]
        own, before = (ba.label_table(one).set_index("item").loc[rows_of(axes), columns] for one in (changed, crowd_em))
        np.testing.assert_allclose(cells_of(axes)[1], own)
        assert not np.allclose(own, before)

    @pytest.mark.parametrize(
        ("asked", "error", "match"),
        [
            ({"items": []}, FitError, "0 items are asked for, and 1 to 60 can be drawn"),
            ({"most": 61}, FitError, "61 items are asked for, and 1 to 60 can be drawn"),
            ({"most": 0}, DataError, "most is 0"),
            ({"items": ["nobody"]}, FitError, "item 'nobody' is not in this fit"),
            ({"choose": "best"}, FitError, "choose is 'best': choose one of doubtful, random"),
            ({"random_seed": -1}, FitError, "random_seed is -1"),
            ({"dimension": "focus"}, FitError, "leave out dimension='focus'"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, crowd_em, refuses, asked, error, match):
        with refuses(error, match):
            ba.plot_labels(crowd_em, **asked)


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
