"""Who errs with whom: what is found of annotators who do, and who do not, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError, SizeWarning
from bayesanno.analysis import dependence
from bayesanno.analysis.dependence import error_chances
from bayesanno.fits.parts import part_of
from bayesanno.fits.view import view_of
from bayesanno.modeling.posterior import take_draws
from tests.analysis.made import from_prior
from tests.samples import simulate_clique, simulate_unsure, tiny_data

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning"),  # of short fits
    pytest.mark.filterwarnings("ignore::bayesanno._core.errors.IdentifiabilityWarning"),  # of few answers
]

QUICK = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}


def group_of(data, clique):
    return {name: "clique" if code < clique else "rest" for code, name in enumerate(data.annotators)}


def row(table, level, first="", second=None):
    second = first if second is None else second
    return table[(table["level"] == level) & (table["first"] == first) & (table["second"] == second)].iloc[0]


@pytest.fixture(scope="module")
def clique_fit():
    data, wrong = simulate_clique(np.random.default_rng(1), clique=4)
    return ba.fit("model_b", data, **QUICK), wrong


class TestWhatIsFound:
    def test_with_gold_it_is_the_correlation_of_errors(self, clique_fit):
        fit, wrong = clique_fit
        table = ba.dependence_table(fit)
        phi = np.corrcoef(wrong.T)
        pairs = table[table["level"] == "pair"]
        assert len(pairs) == table.loc[0, "n_pairs"] == 45
        expected = [
            phi[int(one[1:]), int(other[1:])] for one, other in zip(pairs["first"], pairs["second"], strict=True)
        ]
        np.testing.assert_allclose(pairs["correlation"], expected, atol=0.03)
        assert (pairs["correlation_ci89_lb"].diff().dropna() <= 0).all()

    def test_a_clique_is_found_by_gold_and_less_so_by_the_posterior(self, clique_fit):
        fit, wrong = clique_fit
        groups = group_of(ba.data_of(fit), 4)
        within = np.corrcoef(wrong[:, :4].T)[np.triu_indices(4, 1)].mean()
        found = {truth: ba.dependence_table(fit, groups, truth=truth, ci_prob=0.95) for truth in ("gold", "posterior")}
        assert row(found["gold"], "group", "clique")["correlation"] == pytest.approx(within, abs=0.02)
        assert 0.03 < row(found["posterior"], "group", "clique")["correlation"] < within / 2
        for table in found.values():
            assert row(table, "group", "clique")["correlation_ci95_lb"] > 0
            for names in (("rest",), ("clique", "rest")):
                assert abs(row(table, "group", *names)["correlation"]) < 0.05
            assert set(table["truth"]) == {next(truth for truth, one in found.items() if one is table)}
        top = found["gold"].query("level == 'pair'").head(6)
        assert {*top["first"], *top["second"]} == {"a0", "a1", "a2", "a3"}

    def test_rows_of_groups_are_means_of_their_pairs(self, clique_fit):
        data = ba.data_of(clique_fit[0])
        table = ba.dependence_table(clique_fit[0], group_of(data, 4))
        pairs, groups = table[table["level"] == "pair"], group_of(data, 4)
        ends = [(groups[one], groups[other]) for one, other in zip(pairs["first"], pairs["second"], strict=True)]
        assert row(table, "all")["n_pairs"] == 45
        own = {name: [end == (name, name) for end in ends] for name in ("clique", "rest")}
        for name, is_own in own.items():
            one = row(table, "group", name)
            assert one["n_pairs"] == sum(is_own)
            assert pairs["correlation"][is_own].min() < one["correlation"] < pairs["correlation"][is_own].max()
        same = row(table, "within")
        assert (same["n_pairs"], row(table, "between")["n_pairs"]) == (6 + 15, 24)
        between = row(table, "group", "clique", "rest")["correlation"]
        assert row(table, "between")["correlation"] == pytest.approx(between)
        lone = ba.dependence_table(clique_fit[0], {name: name for name in data.annotators})
        assert set(lone["level"]) == {"all", "between", "group", "pair"}  # nobody is in a group with others

    def test_worth_is_kishs_and_no_more_than_there_are(self, clique_fit):
        table = ba.dependence_table(clique_fit[0], group_of(ba.data_of(clique_fit[0]), 4))
        whole = table.iloc[0]
        assert whole["n_answers"] == 10
        assert whole["worth"] == pytest.approx(10 / (1 + 9 * whole["correlation"]))
        assert whole["worth_ci89_lb"] == pytest.approx(10 / (1 + 9 * whole["correlation_ci89_ub"]))
        assert whole["worth_ci89_lb"] < whole["worth"] < whole["worth_ci89_ub"]
        assert row(table, "group", "clique")["n_answers"] == 4
        assert np.isnan(row(table, "between")["worth"])
        negative = table[table["correlation"] < 0].query("level == 'pair'")
        assert len(negative)
        assert (negative["worth"] == 2).all()

    def test_answers_are_counted_of_all_items_and_errors_on_those_with_gold(self, rng):
        data, _ = simulate_clique(rng, items=200, per_item=4)
        few = {item: data.gold[item] for item in data.items[:30]}
        fit = ba.fit("one_coin", ba.AnnotationData(**{**vars_of(data), "gold": few}), **QUICK)
        table = ba.dependence_table(fit)
        assert table.loc[0, ["n_items", "n_answers", "truth"]].tolist() == [30, 4, "gold"]
        assert ba.dependence_table(fit, truth="posterior").loc[0, "n_items"] == 200

    @pytest.mark.parametrize(
        "design", [{}, {"accuracy": (0.95, 0.99)}, {"share": 0.05}], ids=["even", "hardly an error", "a rare class"]
    )
    def test_intervals_cover_what_is_independent(self, design, rng):
        data, _ = simulate_clique(rng, annotators=20, items=200, **design)
        fit = ba.fit("model_b", data, **QUICK)
        for truth in ("gold", "posterior"):
            table = ba.dependence_table(fit, truth=truth, ci_prob=0.95)
            pairs = table[table["level"] == "pair"]
            covered = (pairs["correlation_ci95_lb"] <= 0) & (pairs["correlation_ci95_ub"] >= 0)
            assert covered.mean() > 0.9
            assert abs(table.loc[0, "correlation"]) < 0.02


def vars_of(data):
    return {
        name: getattr(data, name) for name in ("item", "annotator", "label", "items", "annotators", "labels", "gold")
    }


class TestModels:
    def test_chances_are_the_fits_own(self, tiny_fit):
        view = view_of(tiny_fit)
        confusion = take_draws(view.posterior, dependence.MOST_DRAWS)["confusion"].mean(("chain", "draw"))
        expected = 1 - np.diagonal(confusion.transpose("annotator", "true_class", "response").values, axis1=1, axis2=2)
        np.testing.assert_allclose(error_chances(view, part_of(view, None))[0], expected)

    def test_a_model_in_which_nobody_may_be_right_has_its_accuracy(self):
        model, data = ba.get_model("model_a"), tiny_data()
        view = view_of(from_prior(model, data))
        accuracy = view.posterior["accuracy"].mean(("chain", "draw")).values
        expected = np.repeat(1 - accuracy[:, None], 2, axis=1)
        np.testing.assert_allclose(error_chances(view, part_of(view, None))[0], expected, atol=1e-6)

    def test_an_unsure_answer_is_none(self, rng):
        data = simulate_unsure(rng)
        table = ba.dependence_table(ba.fit("model_b", data, **QUICK), least_items=1)
        sure = data.without_unsure()
        per_item = np.bincount(sure.item)
        assert table.loc[0, "n_items"] == (per_item >= 2).sum()
        assert table.loc[0, "n_answers"] == pytest.approx(per_item[per_item > 0].mean())


def test_the_pairs_that_share_most_have_rows_and_those_above_count_all(rng, monkeypatch):
    data, _ = simulate_clique(rng, annotators=12, items=60)
    kept = rng.random(data.n_annotations) < rng.uniform(0.2, 0.9, 12)[data.annotator]
    some = {name: getattr(data, name)[kept] for name in ("item", "annotator", "label")}
    fit = ba.fit("one_coin", ba.AnnotationData(**vars_of(data) | some), **QUICK)
    whole = ba.dependence_table(fit, least_items=5)
    monkeypatch.setattr(dependence, "MOST_PAIRS", 7)
    with pytest.warns(SizeWarning, match="only the 7 pairs of annotators that share most items have rows"):
        fewer = ba.dependence_table(fit, least_items=5)
    shared = [np.sort(table.loc[table["level"] == "pair", "n_items"]) for table in (whole, fewer)]
    np.testing.assert_array_equal(shared[1], shared[0][-7:])
    assert fewer.loc[0, "n_pairs"] == whole.loc[0, "n_pairs"] > 7


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("given", "error", "match"),
        [
            ({"groups": ["x"]}, DataError, "groups is list: give the group of each annotator by name"),
            ({"groups": {"ada": "x", "cy": "y"}}, DataError, "annotator 'bo' is in no group"),
            ({"groups": {"zed": "x"}}, DataError, r"annotator 'ada' \(as 2 more\) is in no group"),
            ({"groups": pd.Series(["x", "y"], index=["bo", "bo"])}, DataError, "annotator 'bo' has two groups"),
            ({"groups": pd.DataFrame({"annotator": ["bo"]})}, DataError, "groups has no column 'group'"),
            ({"truth": "votes"}, FitError, "there is no truth 'votes': choose one of gold, posterior"),
            ({"least_items": 0}, DataError, "least_items is 0"),
            ({"ci_prob": 1}, DataError, "ci_prob is 1"),
        ],
    )
    def test_arguments(self, given, error, match, tiny_fit, refuses):
        with refuses(error, match):
            ba.dependence_table(tiny_fit, **given)

    def test_groups_may_be_a_table_or_one(self, tiny_fit):
        table = ba.dependence_table(tiny_fit, ba.agreement.group_annotators(tiny_data()), truth="posterior")
        assert table.loc[0, "level"] == "all"
        one = ba.dependence_table(tiny_fit, dict.fromkeys(["ada", "bo", "cy", "nobody here"], 1))
        assert row(one, "group", "1")["correlation"] == pytest.approx(one.loc[0, "correlation"])

    def test_data_without_what_it_takes(self, refuses):
        alone = ba.AnnotationData.from_records([(f"i{n}", "abc"[n % 3], "xy"[n // 3 % 2]) for n in range(12)])
        fit = ba.fit("one_coin", alone, method="em", random_seed=1, progressbar=False)
        with refuses(DataError, "no item was answered by two annotators"):
            ba.dependence_table(fit)
        fit = ba.fit("one_coin", tiny_data(gold={"s5": "yes"}), **QUICK)
        with refuses(DataError, 'no item with a known true label was answered by two .*: truth="posterior" takes all'):
            ba.dependence_table(fit)
        with refuses(DataError, "no item has a known true label"):
            ba.dependence_table(ba.fit("one_coin", tiny_data(), **QUICK), truth="gold")

    def test_models_in_which_nobody_errs(self, count_fit, refuses):
        with refuses(FitError, "binomial_mixture has no true labels, and so no errors: fit model_b"):
            ba.dependence_table(count_fit)
