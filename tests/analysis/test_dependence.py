"""Who errs with whom: what is found of annotators who do, and who do not, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import SizeWarning
from bayesanno.analysis import dependence
from bayesanno.fits.view import view_of
from bayesanno.inference.diagnosis.residuals import error_chances
from bayesanno.simulation.quantities import ModelDraws
from tests.analysis.made import from_prior
from tests.samples import simulate_clique, simulate_unsure, tiny_data

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning"),  # of short fits
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.IdentifiabilityWarning"),  # of few answers
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
        first, second = (pairs[side].str[1:].astype(int) for side in ("first", "second"))
        expected = phi[first, second]
        np.testing.assert_allclose(pairs["correlation"], expected, atol=0.03)
        assert (pairs["correlation_ci89_lb"].diff().dropna() <= 0).all()
        negative = pairs[pairs["correlation"] < 0]
        assert len(negative)
        assert (negative["worth"] == 2).all()  # no more than there are

    def test_a_clique_is_found_by_gold_and_less_so_by_the_posterior(self, clique_fit):
        fit, wrong = clique_fit
        groups = group_of(ba.data_of(fit), 4)
        within = np.corrcoef(wrong[:, :4].T)[np.triu_indices(4, 1)].mean()
        found = {truth: ba.dependence_table(fit, groups, truth=truth, ci_prob=0.95) for truth in ("gold", "posterior")}
        assert row(found["gold"], "group", "clique")["correlation"] == pytest.approx(within, abs=0.02)
        assert 0.03 < row(found["posterior"], "group", "clique")["correlation"] < within / 2
        for truth, table in found.items():
            assert row(table, "group", "clique")["correlation_ci95_lb"] > 0
            for names in (("rest",), ("clique", "rest")):
                assert abs(row(table, "group", *names)["correlation"]) < 0.05
            assert set(table["truth"]) == {truth}
        top = found["gold"].query("level == 'pair'").head(6)
        assert {*top["first"], *top["second"]} == {"a0", "a1", "a2", "a3"}

    def test_rows_of_groups_are_means_of_their_pairs_and_worth_is_kishs(self, clique_fit):
        data = ba.data_of(clique_fit[0])
        groups = group_of(data, 4)
        table = ba.dependence_table(clique_fit[0], groups)
        pairs = table[table["level"] == "pair"]
        ends = [(groups[one], groups[other]) for one, other in zip(pairs["first"], pairs["second"], strict=True)]
        for name in ("clique", "rest"):
            is_own = [end == (name, name) for end in ends]
            one = row(table, "group", name)
            assert one["n_pairs"] == sum(is_own)
            assert pairs["correlation"][is_own].min() < one["correlation"] < pairs["correlation"][is_own].max()
        between = row(table, "between")
        assert (row(table, "within")["n_pairs"], between["n_pairs"]) == (6 + 15, 24)
        assert between["correlation"] == pytest.approx(row(table, "group", "clique", "rest")["correlation"])
        assert np.isnan(between["worth"])
        assert row(table, "group", "clique")["n_answers"] == 4
        whole = table.iloc[0]
        assert whole["worth"] == pytest.approx(10 / (1 + 9 * whole["correlation"]))
        assert whole["worth_ci89_lb"] == pytest.approx(10 / (1 + 9 * whole["correlation_ci89_ub"]))
        lone = ba.dependence_table(clique_fit[0], {name: name for name in data.annotators})
        assert set(lone["level"]) == {"all", "between", "group", "pair"}  # nobody is in a group with others

    def test_answers_are_counted_of_all_items_and_errors_on_those_with_gold(self, rng):
        data, _ = simulate_clique(rng, items=200, per_item=4)
        fit = ba.fit("one_coin", replace(data, gold={item: data.gold[item] for item in data.items[:30]}), **QUICK)
        assert ba.dependence_table(fit).loc[0, ["n_items", "n_answers", "truth"]].tolist() == [30, 4, "gold"]
        assert ba.dependence_table(fit, truth="posterior").loc[0, "n_items"] == 200

    @pytest.mark.parametrize(
        "design", [{"accuracy": (0.95, 0.99)}, {"share": 0.05}], ids=["few errors", "a rare class"]
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


class TestModels:
    def test_a_model_in_which_nobody_may_be_right_has_its_accuracy(self):
        model, data = ba.get_model("model_a"), tiny_data()
        view = view_of(from_prior(model, data))
        accuracy = view.posterior["accuracy"].mean(("chain", "draw")).values
        expected = np.repeat(1 - accuracy[:, None], 2, axis=1)
        np.testing.assert_allclose(
            error_chances(ModelDraws(model, data, view.posterior, view.known))[0], expected, atol=1e-6
        )

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
    fit = ba.fit("one_coin", replace(data, **some), **QUICK)
    whole = ba.dependence_table(fit, least_items=5)
    monkeypatch.setattr(dependence, "MOST_PAIRS", 7)
    with pytest.warns(SizeWarning, match="only the 7 pairs of annotators that share most items have rows"):
        fewer = ba.dependence_table(fit, least_items=5)
    shared = [np.sort(table.loc[table["level"] == "pair", "n_items"]) for table in (whole, fewer)]
    np.testing.assert_array_equal(shared[1], shared[0][-7:])
    assert fewer.loc[0, "n_pairs"] == whole.loc[0, "n_pairs"] > 7
