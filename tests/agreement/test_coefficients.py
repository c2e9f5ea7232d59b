"""Agreement coefficients: known values, equality with other packages on tables with holes, and undefined values."""

import warnings
from dataclasses import replace
from itertools import combinations

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from bayesanno.agreement.coefficients import count_sums, measure_all
from bayesanno.agreement.pairs import find_pairs
from bayesanno.agreement.resampling import bound, resample_items
from tests.samples import tiny_data

ONCE = {"resamples": 0}


def from_matrix(answers, labels=None):
    """Annotations from an array (item, annotator) of codes, -1 where there is none."""
    answers = np.asarray(answers)
    item, annotator = np.nonzero(answers >= 0)
    n_labels = max(2, answers.max() + 1)
    return ba.AnnotationData(
        item=item,
        annotator=annotator,
        label=answers[item, annotator],
        items=tuple(f"s{n}" for n in range(len(answers))),
        annotators=tuple("abcdefghijklmnop"[: answers.shape[1]]),
        labels=labels or tuple(str(code) for code in range(n_labels)),
    )


def values_of(data, **options):
    return ba.agreement_table(data, **ONCE, **options).set_index("coefficient")["value"]


@st.composite
def tables(draw):
    """Answers of two to five annotators to some items, with holes, and at least one item of two answers."""
    n_labels, n_annotators = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    row = st.lists(st.integers(-1, n_labels - 1), min_size=n_annotators, max_size=n_annotators)
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return np.array([*rows, [n_labels - 1, 0, *[-1] * (n_annotators - 2)]])


@settings(max_examples=30)
@given(tables(), st.sampled_from([("0", "1", "2", "3"), ("2000.1", "2000.3", "2000.4", "1000000")]))
def test_alphas_are_those_of_krippendorff(answers, labels):
    """Also of numbers far from 0."""
    labels = labels[: max(2, answers.max() + 1)]
    found, numbers = values_of(from_matrix(answers, labels)), np.array(labels, dtype=float)
    for level in ("nominal", "ordinal", "interval"):
        values = numbers if level == "interval" else np.arange(len(labels))
        said = np.where(answers < 0, np.nan, values[answers]).T  # (annotator, item)
        expected = krippendorff.alpha(said, value_domain=values, level_of_measurement=level)
        assert found[f"krippendorff_alpha_{level}"] == pytest.approx(expected, abs=1e-9), level


@settings(max_examples=30)
@given(tables(), st.lists(st.integers(0, 3), min_size=13, max_size=13))
def test_weights_of_items_are_how_often_each_is_in_the_data(answers, times):
    """Of items drawn again, some never and some three times; a pair of annotators without items has no coefficient."""
    times = np.array(times[: len(answers)])
    assume(times[-1] > 0)  # the item that two annotators surely answered
    drawn = []
    for often in (np.ones_like(times), times):
        gold = np.repeat(np.arange(len(answers)) % 2, often)
        data = from_matrix(np.repeat(answers, often, axis=0))
        drawn.append(replace(data, gold={item: str(code) for item, code in zip(data.items, gold, strict=True)}))
    (data, again), weights = drawn, times[:, None].astype(float)
    pairs, others, numbers = find_pairs(data), find_pairs(again), np.arange(data.n_labels, dtype=float)
    expected = others.coefficients_and_errors(np.ones(again.n_items))
    place = {pair: at for at, pair in enumerate(zip(others.first, others.second, strict=True))}
    for name, values in pairs.coefficients_and_errors(weights[:, 0]).items():
        for value, pair in zip(values, zip(pairs.first, pairs.second, strict=True), strict=True):
            known = expected[name][place[pair]] if pair in place else np.nan
            assert value == pytest.approx(known, abs=1e-9, nan_ok=True), name
    found = measure_all(count_sums(data), pairs, numbers, weights)
    for name, (value,) in measure_all(count_sums(again), others, numbers, np.ones((again.n_items, 1))).items():
        assert found[name][0] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@settings(max_examples=20)
@given(tables())
def test_pairs_have_the_kappas_and_alphas_of_other_packages(answers):
    data = from_matrix(answers)
    table, codes = ba.pair_table(data), np.arange(data.n_labels)
    place = {name: code for code, name in enumerate(data.annotators)}
    for row in table.itertuples():
        first, second = answers[:, place[row.annotator_1]], answers[:, place[row.annotator_2]]
        both = (first >= 0) & (second >= 0)
        first, second = first[both], second[both]
        assert row.n == both.sum()
        assert row.agreement == pytest.approx((first == second).mean())
        assert row.g_index == pytest.approx(((first == second).mean() - 1 / codes.size) / (1 - 1 / codes.size))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is not defined
            for name, weights in (("", None), ("_linear", "linear"), ("_quadratic", "quadratic")):
                expected = cohen_kappa_score(first, second, labels=codes, weights=weights)
                assert getattr(row, f"cohen_kappa{name}") == pytest.approx(expected, abs=1e-12, nan_ok=True)
        used = np.concatenate([first, second])
        shares = np.bincount(used, minlength=codes.size) / used.size
        spread = (shares * (1 - shares)).sum() / (codes.size - 1)
        assert row.gwet_ac1 == pytest.approx((row.agreement - spread) / (1 - spread))
        if np.unique(used).size == 1:
            assert np.isnan(row.scott_pi)
            assert np.isnan(row.krippendorff_alpha)
            continue
        chance = (shares**2).sum()
        assert row.scott_pi == pytest.approx((row.agreement - chance) / (1 - chance))
        both_said = np.stack([first, second]).astype(float)
        alpha = krippendorff.alpha(both_said, value_domain=codes, level_of_measurement="nominal")
        assert row.krippendorff_alpha == pytest.approx(alpha, abs=1e-12)
    there = (answers >= 0).astype(int)
    assert len(table) == (np.triu(there.T @ there, 1) > 0).sum()


@settings(max_examples=20)
@given(st.integers(2, 4), st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=2, max_size=10))
def test_kappa_of_many_is_that_of_statsmodels(n_annotators, rows):
    answers = np.array(rows)[:, :n_annotators]
    data = from_matrix(answers)
    counts, _ = aggregate_raters(answers)
    if counts.shape[1] == 1:
        assert np.isnan(values_of(data)["fleiss_kappa"])
        return
    expected = fleiss_kappa(counts)
    assert values_of(data)["fleiss_kappa"] == pytest.approx(expected, abs=1e-12)
    assert ba.agreement.measure_kappa(data.votes).kappa == pytest.approx(expected, abs=1e-12)


def test_krippendorffs_own_examples(shared):
    """Four observers, twelve units, with holes: .743, .815, .849 (Hayes and Krippendorff 2007; Krippendorff 2019)."""
    said = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, -1, -1, -1],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, -1, 3],
        [-1, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, -1],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, -1],
    ]
    found = values_of(from_matrix(np.array(said).T))
    assert found["krippendorff_alpha_nominal"] == pytest.approx(0.7434210526, abs=1e-9)
    assert found["krippendorff_alpha_ordinal"] == pytest.approx(0.815, abs=5e-4)
    assert found["krippendorff_alpha_interval"] == pytest.approx(0.849, abs=5e-4)
    toy = values_of(ba.read_annotations(shared / "data" / "krippendorff_toy.csv"))
    assert toy["krippendorff_alpha_nominal"] == pytest.approx(0.691, abs=5e-4)


def test_gwets_ac1_by_hand():
    """Unequal numbers of answers: what is observed from items of two and more, chance from all that are answered."""
    found = values_of(from_matrix([[0, 0, 0], [0, 1, -1], [1, 1, 0], [2, -1, -1]]))
    observed = (1 + 0 + 1 / 3) / 3
    shares = np.array([1 + 1 / 2 + 1 / 3, 1 / 2 + 2 / 3, 1]) / 4
    chance = (shares * (1 - shares)).sum() / 2
    assert found["percent_agreement"] == pytest.approx(observed)
    assert found["gwet_ac1"] == pytest.approx((observed - chance) / (1 - chance))
    assert found["g_index"] == pytest.approx((observed - 1 / 3) / (1 - 1 / 3))


@pytest.mark.parametrize(
    ("name", "agreement", "kappa"), [("rte", 0.7324, 0.8001), ("temp", 0.8141, 0.8192), ("wsd", 0.7694, 0.6905)]
)
def test_agreement_correlates_with_accuracy_as_in_table_1(shared, name, agreement, kappa):
    """Table 1 of Hovy et al. (2013), computed: the correlation of mean agreement with the share of right answers."""
    data = ba.read_annotations(shared / "data" / f"{name}.csv")
    table = ba.annotator_agreement(data)
    right = np.bincount(data.annotator, weights=data.label == data.gold_codes[data.item]) / np.bincount(data.annotator)
    for coefficient, expected in (("agreement", agreement), ("g_index", agreement), ("cohen_kappa", kappa)):
        known = table[coefficient].notna().to_numpy()
        found = np.corrcoef(table[coefficient].to_numpy()[known], right[known])[0, 1]
        assert found == pytest.approx(expected, abs=5e-5)


def answers_of(n_items, seed=3, accuracy=0.8):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=(n_items, 1))
    return np.where(rng.random((n_items, 4)) < accuracy, truth, rng.integers(3, size=(n_items, 4)))


def test_intervals_cover_what_they_are_of():
    """The 90% interval holds the coefficient of very many items in about 90 of 100 data sets, of each coefficient."""
    expected = values_of(from_matrix(answers_of(200_000, seed=99)))
    held = 0
    for seed in range(100):
        data = from_matrix(answers_of(80, seed=seed))
        table = ba.agreement_table(data, ci_prob=0.9, resamples=100, random_seed=seed).set_index("coefficient")
        assert (table["reason"] == "").all()
        held += table["ci90_lb"].le(expected) & table["ci90_ub"].ge(expected)
    assert len(held) == 11
    assert held.between(79, 99).all(), held  # 90, 3.5 standard deviations
    (weights,) = resample_items(100, 3, 5)
    assert (weights.sum(axis=0) == 100).all()


def test_tables_of_pairs_and_annotators_have_intervals_too(crowd):
    pairs = ba.pair_table(crowd[0], resamples=100, random_seed=1)
    own = ba.annotator_agreement(crowd[0], resamples=100, random_seed=1)
    for table, name, least in ((pairs, "agreement", 0.5), (pairs, "error_correlation", 0.3), (own, "agreement", 0.99)):
        known = table.dropna(subset=[f"{name}_ci89_lb"])
        assert len(known) > least * len(table)
        assert known[name].between(known[f"{name}_ci89_lb"], known[f"{name}_ci89_ub"]).all()


def test_a_value_far_from_its_resamples_has_no_interval():
    drawn = np.linspace(0, 1, 201)
    for value in (0.9, np.nan):
        assert np.isnan(bound(np.array(value), drawn, 0.95)).all()
    low, high = bound(np.array([0.5, 0.6]), np.stack([drawn, drawn]), 0.8)
    assert low[1] > low[0] == pytest.approx(0.1)
    assert high[1] > high[0] == pytest.approx(0.9)
    holes = np.where(np.arange(201) % 2, np.nan, drawn)
    assert np.allclose(bound(np.array(0.5), holes, 0.8), (0.1, 0.9), atol=0.02)


def test_undefined_values_are_nan_with_a_reason():
    same = ba.agreement_table(from_matrix([[1, 1], [1, 1], [1, 1]])).set_index("coefficient")
    defined = {"percent_agreement", "g_index", "gwet_ac1"}
    assert (same.loc[sorted(defined), "value"] == 1).all()
    rest = same.drop(index=sorted(defined))
    assert rest[["value", "ci89_lb"]].isna().all(axis=None)
    assert set(rest["reason"].str.partition(" ")[0]) == {"all", "no"}  # all are one label, or no pair gave two
    unequal = ba.agreement_table(from_matrix([[0, 1, 1], [1, 1, -1]]), **ONCE).set_index("coefficient")
    assert np.isnan(unequal.loc["fleiss_kappa", "value"])
    assert unequal.loc["fleiss_kappa", "reason"].startswith("items have 2 to 3 annotations")


def test_one_item_has_values_but_no_interval():
    data = from_matrix([[0, 1, 1], [1, -1, -1]])  # the second item has one answer
    table = ba.agreement_table(data, random_seed=1).set_index("coefficient")
    defined = table[table["value"].notna()]
    assert defined.loc["krippendorff_alpha_nominal", "value"] == 0
    assert defined[["ci89_lb", "ci89_ub"]].isna().all(axis=None)
    assert defined["reason"].str.contains("only one item has two answers").all()
    more = from_matrix([[0, 1, 1], [1, 0, -1], [0, 0, -1]])
    assert ba.agreement_table(more, random_seed=1)["ci89_lb"].notna().any()
    pairs, each = (table(more, resamples=200, random_seed=1) for table in (ba.pair_table, ba.annotator_agreement))
    assert pairs["agreement_ci89_lb"].isna().tolist() == [False, True, True]  # c shares one item with a and with b
    assert each["agreement_ci89_lb"].isna().tolist() == [False, False, True]


def test_words_have_no_interval_alpha_and_an_order_only_if_declared():
    data = from_matrix(answers_of(50), labels=("low", "middle", "high"))
    without = ba.agreement_table(data, **ONCE).set_index("coefficient")
    of_order = ["krippendorff_alpha_ordinal", "cohen_kappa_linear", "cohen_kappa_quadratic"]
    assert without.loc[of_order, "value"].isna().all()
    assert without.loc[of_order, "reason"].str.contains("ordered=True").all()
    assert "not all numbers" in without.loc["krippendorff_alpha_interval", "reason"]
    with pytest.raises(DataError, match="no order that is known"):
        ba.agreement_table(data, ordered=True, **ONCE)
    declared = replace(data, order_declared=True)
    ordered = ba.agreement_table(declared, ordered=True, **ONCE).set_index("coefficient")
    numbers = ba.agreement_table(from_matrix(answers_of(50)), **ONCE).set_index("coefficient")
    assert ordered.loc[of_order, "value"].equals(numbers.loc[of_order, "value"])
    assert np.isnan(ordered.loc["krippendorff_alpha_interval", "value"])
    unordered = ba.agreement_table(from_matrix(answers_of(50)), ordered=False, **ONCE).set_index("coefficient")
    assert np.isnan(unordered.loc["krippendorff_alpha_ordinal", "value"])


def test_words_of_a_known_scale_are_ordered_by_default_and_declared_words_only_if_asked():
    answers, words = answers_of(50), ("low", "medium", "high")
    scale = ba.agreement_table(from_matrix(answers, labels=words), **ONCE).set_index("coefficient")
    numbers = ba.agreement_table(from_matrix(answers), **ONCE).set_index("coefficient")
    of_order = ["krippendorff_alpha_ordinal", "cohen_kappa_linear", "cohen_kappa_quadratic"]
    assert scale.loc[of_order, "value"].equals(numbers.loc[of_order, "value"])
    assert "Krippendorff's ordinal alpha" in ba.agreement.advise(
        from_matrix(answers, labels=words), scale.reset_index()
    )
    turned = replace(from_matrix(answers, labels=("high", "low", "medium")), order_declared=True)
    for data, ordered, reason in (
        (turned, None, "declared labels may be in no order: .* use ordered=True"),
        (from_matrix(answers, labels=words), False, "the labels are taken as unordered"),
        (from_matrix(answers, labels=("ham", "eggs", "spam")), None, "no order of the labels is known: .*labels="),
    ):
        table = ba.agreement_table(data, ordered=ordered, **ONCE).set_index("coefficient")
        assert table.loc[of_order, "value"].isna().all()
        assert table.loc[of_order, "reason"].str.contains(reason).all()
    by_place = ba.agreement_table(turned, ordered=True, **ONCE).set_index("coefficient")
    assert by_place.loc[of_order, "value"].equals(numbers.loc[of_order, "value"])


def test_an_annotator_who_shares_no_item_agrees_with_nobody():
    data = from_matrix([[0, 0, -1], [1, 0, -1], [1, 1, -1], [-1, -1, 1]])
    table = ba.annotator_agreement(data).set_index("annotator")
    assert table["n_partners"].to_dict() == {"a": 1, "b": 1, "c": 0}
    assert table.loc["c"].drop(["n", "n_partners", "n_repeats"]).isna().all()
    assert table.loc["a", "agreement"] == pytest.approx(2 / 3)
    assert len(ba.pair_table(data)) == 1


class TestAnswersTwice:
    def test_one_annotator_is_no_agreement_between_two(self, refuses):
        data = ba.AnnotationData.from_records([("s1", "ada", "no"), ("s1", "ada", "yes"), ("s2", "bo", "no")])
        with refuses(DataError, "no item has answers by two annotators"):
            ba.agreement_table(data)
        own = ba.annotator_agreement(data).set_index("annotator")
        assert own["n_repeats"].to_dict() == {"ada": 1, "bo": 0}
        assert own.loc["ada", "self_agreement"] == 0
        assert np.isnan(own.loc["bo", "self_agreement"])

    def test_second_answers_change_no_agreement_of_all_or_subsets(self, rng):
        first = answers_of(40)
        twice = np.concatenate([first, np.where(rng.random(first.shape) < 0.7, first, -1)])
        said = [
            (f"s{n % 40}", who, str(label))
            for n, row in enumerate(twice)
            for who, label in zip("abcdefgh", row, strict=False)
        ]
        data = ba.AnnotationData.from_records([one for one in said if one[2] != "-1"])
        once = ba.AnnotationData.from_records(said[: first.size])
        for table in (ba.agreement_table, ba.agreement.subset_table):
            more = {"resamples": 0} if table is ba.agreement_table else {}
            pd.testing.assert_frame_equal(table(data, **more), table(once, **more))

    def test_self_agreement_is_that_of_all_pairs_and_alpha_that_of_krippendorff(self, rng):
        said = [(item, time, rng.integers(3)) for item in range(30) for time in range(item % 4)]
        data = ba.AnnotationData.from_records(
            [(item, "ada", label) for item, _, label in said] + [(0, "bo", 1), (1, "bo", 1)]
        )
        (own, bo) = ba.annotator_agreement(data).to_dict("records")
        given = [[label for of, _, label in said if of == item] for item in range(30)]
        pairs = [a == b for labels in given for a, b in combinations(labels, 2)]
        assert (own["n_repeats"], own["self_agreement"]) == (len(pairs), pytest.approx(np.mean(pairs)))
        counts = [[labels.count(label) for label in range(3)] for labels in given if len(labels) > 1]
        assert own["self_alpha"] == pytest.approx(
            krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
        )
        assert bo["n_repeats"] == 0

    def test_in_two_orders_the_same_winner_is_consistent(self):
        said = ["ab", "ab", "ba", "bb", "aa"]  # the winners of five pairs in both orders
        data = ba.AnnotationData(
            item=np.repeat(np.arange(5), 2), annotator=np.zeros(10, dtype=int), swapped=np.tile([False, True], 5),
            label=np.array(["ab".index(one) for both in said for one in both]), items=tuple("vwxyz"),
            annotators=("judge",), labels=("a", "b"), sides=("a", "b"),
        )  # fmt: skip
        (row,) = ba.annotator_agreement(data).to_dict("records")
        assert (row["n_both_orders"], row["same_in_both_orders"], row["self_agreement"]) == (5, 0.4, 0.4)


class TestErrorCorrelation:
    def test_it_is_phi_of_errors_on_items_with_gold(self, crowd):
        data = crowd[0]
        table = ba.pair_table(data)
        wrong = data.to_frame().assign(wrong=lambda frame: (frame["label"] != frame["gold"]) * 1.0)
        wide = wrong.pivot(index="item", columns="annotator", values="wrong")
        for row in table.head(40).itertuples():
            both = wide[[row.annotator_1, row.annotator_2]].dropna()
            assert len(both) == row.n
            expected = both.corr().iloc[0, 1]
            np.testing.assert_allclose(row.error_correlation, expected, atol=1e-12)
        assert table["error_correlation"].notna().sum() > 20
        own = ba.annotator_agreement(data).set_index("annotator")["error_correlation"]
        of_one = table[(table["annotator_1"] == own.index[0]) | (table["annotator_2"] == own.index[0])]
        np.testing.assert_allclose(own.iloc[0], of_one["error_correlation"].mean())

    def test_items_without_gold_are_left_out_and_no_gold_is_no_column(self):
        said = {"s1": "yy", "s2": "yn", "s3": "ny", "s4": "nn", "s5": "yy", "s6": "nn"}
        records = [(item, who, label) for item, both in said.items() for who, label in zip("ab", both, strict=True)]
        assert "error_correlation" not in ba.pair_table(ba.AnnotationData.from_records(records))
        data = ba.AnnotationData.from_records(records, gold={"s1": "y", "s2": "y", "s3": "n", "s4": "n"})
        # right of a: 1, 1, 1, 1; of b: 1, 0, 0, 1
        assert np.isnan(ba.pair_table(data)["error_correlation"].item())
        data = ba.AnnotationData.from_records(records, gold={"s1": "n", "s2": "n", "s4": "n"})
        # wrong of a: 1, 1, 0; of b: 1, 0, 0
        assert ba.pair_table(data)["error_correlation"].item() == pytest.approx(0.5)


def test_wrong_arguments_are_refused(refuses):
    for wrong, error in (({"ci_prob": 1}, DataError), ({"resamples": -1}, DataError), ({"random_seed": -1}, FitError)):
        with refuses(error, f"{next(iter(wrong))} is "):
            ba.agreement_table(tiny_data(), **wrong)
