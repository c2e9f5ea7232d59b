"""Shares of labels in groups of items: what is drawn, what is known, how groups are pulled together, and bad input."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import DataError, PredictionWarning
from bayesanno.analysis.ranking import describe_ranks
from tests.analysis.made import from_prior
from tests.samples import tabulate

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning"),  # of short fits
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.IdentifiabilityWarning"),  # of few answers
]
QUICK = {"method": "vb", "draws": 250, "check": False, "random_seed": 1, "progressbar": False}
SHARES = {"old": 0.8, "new": 0.3}
N = 90  # items of each group


def simulate_groups(rng, *, accuracy=0.8, per_item=3, annotators=8, shares=SHARES):
    """Annotations of two classes in groups of different shares, with all gold, and the group of each item."""
    group = np.repeat(np.arange(len(shares)), N)
    truth = (rng.random(group.size) < np.array([*shares.values()])[group]).astype(int)
    said = np.where(rng.random((annotators, group.size)) < accuracy, truth, 1 - truth)
    answers = rng.random((annotators, group.size)).argsort(axis=0).argsort(axis=0) < per_item
    data = tabulate(truth, np.where(answers, said, None))
    names = [*shares]
    return data, {item: names[code] for item, code in zip(data.items, group.tolist(), strict=True)}


def row(table, first, second=None, label="yes", source="model"):
    table = table.rename(columns={"group": "first"})
    is_row = (table["first"] == first) & (table["label"] == label) & (table["source"] == source)
    found = table[is_row if second is None else is_row & (table["second"] == second)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.fixture(scope="module")
def grouped():
    data, groups = simulate_groups(np.random.default_rng(3))
    return ba.fit("model_b", data, **QUICK), groups


@pytest.fixture(scope="module")
def uniform(grouped):
    """A fit of the same data by a model without a prevalence."""
    return ba.fit(ba.models.MACE(class_prior="uniform"), ba.data_of(grouped[0]), **QUICK)


class TestWhatIsCounted:
    def test_shares_are_those_of_labels_drawn_from_a_fit_without_a_prevalence(self, grouped, uniform):
        fit, groups = uniform, grouped[1]
        table = ba.group_table(fit, groups, use_gold=False, random_seed=1)
        assert table.columns.tolist() == [
            "group", "source", "quantity", "label", "mean", "sd", "eti89_lb", "eti89_ub", "rank_mean", "rank_eti89_lb",
            "rank_eti89_ub", "p_best", "n_items", "n_known",
        ]  # fmt: skip
        assert table[["group", "source", "label"]].to_numpy().tolist() == [
            ["old", "model", "yes"], ["new", "model", "yes"],
        ]  # fmt: skip
        p = fit["latent"]["probability"].sel(true_class="yes").to_pandas()
        drawn = ba.sample_labels(fit, random_seed=2).stack(sample=("chain", "draw")).transpose("sample", "item")
        in_group = {name: np.array([groups[item] == name for item in p.index]) for name in SHARES}
        share = {name: drawn.values[:, inside].mean(axis=1) for name, inside in in_group.items()}
        for name, inside in in_group.items():
            found = row(table, name)
            mcse = found["sd"] / np.sqrt(1000)
            assert found["mean"] == pytest.approx(p[inside].mean(), abs=5 * mcse)
            assert found["sd"] == pytest.approx(share[name].std(), rel=0.2)
            assert found[["n_items", "n_known"]].tolist() == [N, 0]
            assert found["eti89_lb"] < found["mean"] < found["eti89_ub"]
            assert found[["rank_mean", "rank_eti89_lb", "rank_eti89_ub"]].tolist() == [1 + (name == "new")] * 3
            assert found["p_best"] == (name == "old")
        pairs = ba.group_table(fit, groups, differences=True, use_gold=False, random_seed=1)
        (pair,) = pairs.to_dict("records")
        assert (pair["first"], pair["second"]) == ("old", "new")
        assert pair["mean"] == pytest.approx(row(table, "old")["mean"] - row(table, "new")["mean"])
        assert pair["sd"] == pytest.approx((share["old"] - share["new"]).std(), rel=0.2)
        assert (pair["p_above"], pair["n_items"]) == (1, 2 * N)
        again = ba.group_table(fit, groups, use_gold=False, random_seed=1)
        pd.testing.assert_frame_equal(table, again)

    def test_known_labels_count_and_leave_nothing_uncertain(self, grouped):
        fit, groups = grouped
        table, gold = ba.group_table(fit, groups, random_seed=1), ba.data_of(fit).gold
        for name in SHARES:
            found = row(table, name)
            share = np.mean([label == "yes" for item, label in gold.items() if groups[item] == name])
            assert found[["mean", "eti89_lb", "eti89_ub"]].tolist() == pytest.approx([share] * 3)
            assert (found["sd"], found["n_known"]) == (0, N)
            same = row(table, name, source="ppi")
            assert same[["mean", "eti89_lb", "eti89_ub", "sd"]].tolist() == pytest.approx([share] * 3 + [0])

    def test_a_fit_with_controls_has_no_prediction_powered_rows(self, rng):
        data, groups = simulate_groups(rng)
        fit = ba.fit("model_b", replace(data, controls=dict(list(data.gold.items())[::10])), **QUICK)
        assert set(ba.group_table(fit, groups, random_seed=1)["source"]) == {"model"}
        alone = ba.group_table(fit, groups, use_gold=False)  # controls count nevertheless
        assert alone["n_known"].tolist() == [N / 10, N / 10]

    def test_of_a_system_at_large_intervals_are_those_of_a_sample(self, grouped):
        table, gold = ba.group_table(*grouped, at_large=True, random_seed=1), ba.data_of(grouped[0]).gold
        for name in SHARES:
            found, p = row(table, name), np.mean([gold[item] == "yes" for item, of in grouped[1].items() if of == name])
            assert found["sd"] == pytest.approx(np.sqrt(p * (1 - p) / (N + 2)), rel=0.1)
            assert found["mean"] == pytest.approx((p * N + 0.5) / (N + 1), abs=0.01)

    def test_one_group_has_no_differences_and_a_group_of_one_item_is_one(self, grouped):
        fit, groups = grouped
        assert ba.group_table(fit, dict.fromkeys(groups, "all"), differences=True).empty
        first = next(iter(groups))
        found = row(ba.group_table(fit, groups | {first: "single"}, use_gold=False, random_seed=1), "single")
        p = float(fit["latent"]["probability"].sel(item=first, true_class="yes"))
        assert found["mean"] == pytest.approx(p, abs=0.1)
        assert {found["eti89_lb"], found["eti89_ub"]} <= {0, 1}

    def test_every_form_of_groups_is_the_same(self, grouped):
        fit, groups = grouped
        expected = ba.group_table(fit, groups, random_seed=1)
        frame = pd.DataFrame({"item": list(groups), "group": list(groups.values())})
        for same in (pd.Series(groups | {"page x": "old"}), pd.concat([frame, frame])):
            pd.testing.assert_frame_equal(ba.group_table(fit, same, random_seed=1), expected)

    def test_equal_shares_divide_the_first_place(self):
        found = describe_ranks(np.array([[0.5, 0.5, 0.1], [0.2, 0.3, 0.1]]), 0.9)
        assert found["p_best"].tolist() == [0.25, 0.75, 0]
        assert found["rank_mean"].tolist() == [1.5, 1, 3]
        assert [found[f"rank_eti90_{end}"].tolist() for end in ("lb", "ub")] == [[1, 1, 3], [2, 1, 3]]


@pytest.fixture(scope="module")
def favoured():
    """A fit of judges who call half of the bad outputs of the first group good, and the true shares."""
    rng = np.random.default_rng(5)
    data, groups = simulate_groups(rng)
    said = np.where(np.isin(data.item, np.arange(N)) & (rng.random(data.item.size) < 0.5), 1, data.label)
    labelled = [data.items[place * N + item] for place in (0, 1) for item in rng.choice(N, 40, replace=False)]
    some = {item: data.gold[item] for item in labelled}
    fit = ba.fit("model_b", replace(data, label=said, gold=some), **QUICK)
    members = {name: [item for item, own in groups.items() if own == name] for name in SHARES}
    return fit, groups, {name: np.mean([data.gold[item] == "yes" for item in of]) for name, of in members.items()}


class TestKnownLabels:
    """Judges who favour a group: the model's share is wrong, and the prediction-powered one is not."""

    def test_known_labels_correct_the_share_of_a_favoured_group(self, favoured):
        fit, groups, true = favoured
        table = ba.group_table(fit, groups, random_seed=1)
        assert table["source"].tolist() == ["ppi"] * 2 + ["model"] * 2
        assert (
            table["group"].tolist() == [*sorted(SHARES, key=lambda name: -row(table, name, source="ppi")["mean"])] * 2
        )
        for name in SHARES:
            low, high = row(table, name, source="ppi")[["eti89_lb", "eti89_ub"]]
            assert row(table, name)["outside_ppi"] == (not low <= row(table, name)["mean"] <= high)
        assert row(table, "old")["outside_ppi"]
        assert row(table, "old")["eti89_lb"] > true["old"]
        for name in SHARES:
            found = row(table, name, source="ppi")
            assert found["eti89_lb"] <= true[name] <= found["eti89_ub"]
            assert found[["n_items", "n_known"]].tolist() == [N, 40]
        (pair, _) = ba.group_table(fit, groups, differences=True, random_seed=1).to_dict("records")
        assert (pair["source"], pair["n_known"]) == ("ppi", 80)
        means = [row(table, pair[side], source="ppi")["mean"] for side in ("first", "second")]
        assert pair["mean"] == pytest.approx(means[0] - means[1], abs=1e-9)

    def test_recalibration_does_not_change_prediction_powered_rows(self, favoured):
        fit, groups, _ = favoured
        before, after = (
            ba.group_table(one, groups, at_large=True, random_seed=1).query("source == 'ppi'")
            for one in (fit, ba.recalibrate(fit))
        )
        np.testing.assert_allclose(before["mean"], after["mean"], atol=1e-6)

    def test_four_known_labels_of_a_group_are_too_few(self, grouped):
        fit, groups = grouped
        data = ba.data_of(fit)
        some = dict(list(data.gold.items())[: N + 4])
        few = ba.fit("one_coin", replace(data, gold=some), **QUICK)
        assert set(ba.group_table(few, groups, random_seed=1)["source"]) == {"model"}

    def test_without_them_a_fit_of_shared_errors_warns(self, grouped):
        fit, groups = grouped
        errors = {"correlation": 0.21, "expected": 0, "z": 98.7, "p": 0.0099, "n_answers": 121.0, "worth": 4.6}
        off = fit.copy()
        off.attrs["diagnostics"] = json.dumps({"misfit": [{"dimension": "", "errors": errors}]})
        del off.attrs["findings"]  # so that they are found again
        with pytest.warns(PredictionWarning, match="annotators err together, so intervals of shares may be too narrow"):
            ba.group_table(off, groups, use_gold=False, random_seed=1)
        ba.group_table(off, groups, random_seed=1)  # warnings are errors


class TestPrevalence:
    def test_the_common_prevalence_pulls_groups_together_and_their_own_do_not(self, rng):
        found = []  # (fit, 2): the difference by the table, and by the probabilities of the fit
        for _ in range(4):
            data, groups = simulate_groups(rng, accuracy=0.75)
            fit = ba.fit("one_coin", data, method="em", random_seed=1, progressbar=False, check=False)
            with pytest.warns(PredictionWarning, match="one point"):
                table = ba.group_table(fit, groups, use_gold=False, random_seed=1)
            p = fit["latent"]["probability"].sel(true_class="yes").to_pandas().groupby(groups).mean()
            found.append((row(table, "old")["mean"] - row(table, "new")["mean"], p["old"] - p["new"]))
        own, common = np.mean(found, axis=0)
        error = np.std(found, axis=0, ddof=1)[0] / 2
        assert own == pytest.approx(0.5, abs=4 * error + 0.05)
        assert own > common + 0.1


class TestRareClasses:
    """One of 100 items is bad, and errors are independent, but the check of a small table finds shared errors."""

    @pytest.mark.parametrize("per_item", [3, 5])
    def test_the_vote_of_an_adjusted_fit_does_not_make_a_rare_class_likely(self, per_item):
        rng, truth = np.random.default_rng(2), (np.arange(100) == 0).astype(int)
        data = tabulate(truth, np.where(rng.random((per_item, 100)) < 0.95, truth, 1 - truth))
        fit = ba.fit("model_b", data, **QUICK | {"check": True})
        adjusted, groups = ba.adjust(tempered(fit)), dict.fromkeys(data.items, "all")
        plain, found = (
            row(ba.group_table(one, groups, use_gold=False, random_seed=1), "all") for one in (fit, adjusted)
        )
        assert found["mean"] < plain["mean"] + 0.005
        assert found["sd"] < 2 * plain["sd"]


def tempered(fit):
    """Return the fit as if its check had found correlated errors and votes that the model does not predict."""
    check, whole = fit["check"].to_dataset(), fit.copy()
    changed = {
        "weight": 0.9,
        "vote_weight": 0.05,
        "vote_share": 0.4,
        "correlation": xr.full_like(check.correlation, 0.2),
    }
    whole["check"] = xr.DataTree(check.assign(changed))
    return whole


class TestGrades:
    def test_three_labels_in_order_have_a_mean_grade(self):
        data = ba.read_annotations("@crowd")
        fit = from_prior(ba.get_model("one_coin"), data)
        settings = {"order": sorted(data.labels), "use_gold": False, "random_seed": 1}
        groups = {item: "ab"[number % 2] for number, item in enumerate(data.items)}
        table = ba.group_table(fit, groups, **settings)
        for name in "ab":
            grade = row(table, name, label="")
            shares = [row(table, name, label=label)["mean"] for label in sorted(data.labels)]
            assert grade["quantity"] == "grade"
            assert grade["mean"] == pytest.approx(np.dot(shares, [1, 2, 3, 4]))
        assert set(ba.group_table(fit, groups, label="other", **settings)["label"]) == {"other"}


class TestWhatIsRefused:
    def test_a_true_label_that_is_no_label_of_the_fit(self, grouped, refuses):
        data = ba.data_of(grouped[0])
        fit = ba.fit("one_coin", replace(data, gold={"page 1": "odd"}), **QUICK)
        with refuses(DataError, match="gold label 'odd' of item 'page 1'"):
            ba.group_table(fit, grouped[1])
        assert (ba.group_table(fit, grouped[1], use_gold=False)["n_known"] == 0).all()


def test_groups_may_be_a_column_of_the_items():
    data = ba.read_annotations("@crowd")
    system = ["old" if number % 3 else "new" for number in range(data.n_items)]
    model = ba.models.OneCoin(class_prior=ba.Columns("(1 | system)"))
    fit = from_prior(model, replace(data, item_columns={"system": system}))
    by_column = ba.group_table(fit, "system", random_seed=1)
    by_name = ba.group_table(fit, dict(zip(data.items, system, strict=True)), random_seed=1)
    pd.testing.assert_frame_equal(by_column, by_name)
    with pytest.warns(PredictionWarning, match="this recalibrated fit has a class prior"):
        ba.group_table(ba.recalibrate(fit), "system", random_seed=1)
