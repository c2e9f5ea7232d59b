"""The advice which coefficient to report: the data decide, numbers are the table's, and nan is not advised."""

import pytest

import bayesanno as ba
from bayesanno.agreement.advice import RULES
from bayesanno.agreement.skew import LOW_ALPHA
from bayesanno.modeling.findings import threshold_of


def answers(rng, who, labels, rare=None, left_out=()):
    rows = [
        (f"s{item}", name, labels[int(rng.random() < rare) if rare else rng.integers(len(labels))])
        for item in range(60)
        for name in who
        if (item, name) not in left_out
    ]
    return ba.AnnotationData.from_records(rows, labels=labels)


@pytest.fixture
def advised(rng):
    def advise(*which, rare=None, left_out=(), **settings):
        data = answers(rng, *which, rare=rare, left_out=left_out)
        table = ba.agreement_table(data, random_seed=1, **{"resamples": 50, **settings})
        return ba.agreement.advise(data, table), table.set_index("coefficient")["value"]

    return advise


@pytest.mark.parametrize(
    ("which", "settings", "name", "coefficient"),
    [
        (("ab", ["x", "y", "z"]), {}, "Cohen's kappa,", "cohen_kappa"),
        (("ab", ["1", "2", "3"]), {}, "Cohen's kappa with quadratic weights,", "cohen_kappa_quadratic"),
        (("ab", ["0", "1"]), {}, "Cohen's kappa,", "cohen_kappa"),  # an order of two labels says nothing
        (("ab", ["x", "y", "z"]), {"left_out": {(3, "a")}}, "Krippendorff's alpha,", "krippendorff_alpha_nominal"),
        (("abc", ["x", "y", "z"]), {}, "Krippendorff's alpha,", "krippendorff_alpha_nominal"),
        (("abc", ["x", "y", "z"]), {"ordered": True}, "Krippendorff's ordinal alpha,", "krippendorff_alpha_ordinal"),
    ],
)
def test_the_data_decide_and_the_number_is_the_table_s(advised, which, settings, name, coefficient):
    said, values = advised(*which, **settings)
    assert said.startswith(f"Report {name} ")
    number = float(said.partition(", ")[2].split()[0])
    assert number == pytest.approx(values[coefficient], abs=0.00501)
    assert "(89% interval " in said
    assert "skew" not in said


def test_without_an_interval_the_sentence_says_why(advised):
    assert "(no interval: set resamples=1000)" in advised("ab", ["x", "y"], resamples=0)[0]
    one = ba.AnnotationData.from_records([("s1", "a", "x"), ("s1", "b", "y"), ("s2", "a", "x")])
    said = ba.agreement.advise(one, ba.agreement_table(one, random_seed=1))
    assert "only one item has two answers" in said


def test_of_skewed_labels_the_share_of_equal_answers_is_reported_too(advised):
    said, values = advised("abc", ["no", "yes"], rare=0.05)
    assert values["krippendorff_alpha_nominal"] < LOW_ALPHA
    assert "of the answers are 'no'" in said
    assert f"equal answers, .{100 * values['percent_agreement']:.0f} (" in said
    assert threshold_of("class-or-habit") == LOW_ALPHA  # what a fit says of the same answers


@pytest.mark.parametrize(("who", "name"), [("ab", "Cohen's kappa"), ("abc", "Krippendorff's alpha")])
def test_what_is_undefined_is_not_advised(who, name):
    rows = [(f"s{item}", each, "no") for item in range(9) for each in who]
    alone = [("alone", "a", "yes")] if who == "abc" else []  # is compared with nothing
    data = ba.AnnotationData.from_records([*rows, *alone], labels=["no", "yes"])
    said = ba.agreement.advise(data, ba.agreement_table(data, random_seed=1))
    assert said.startswith("No coefficient of agreement can be reported: all answers that can be compared are 'no'")
    assert f"and {name} is then undefined" in said


def test_of_ratings_alpha_is_for_one_and_icc_for_their_mean(rng):
    rows = [(f"s{item}", who, float(item + rng.normal(0, 3))) for item in range(30) for who in "abc"]
    data = ba.RatingData.from_records(rows, scale=(-20, 60))
    table = ba.rating_agreement(data, random_seed=1).set_index("coefficient")["value"]
    said = ba.agreement.advise(data, ba.rating_agreement(data, random_seed=1))
    assert f"Krippendorff's interval alpha, {table['alpha']:.2f} (".replace("0.", ".", 1) in said
    assert f"ICC(1,k), {table['ICC(1,k)']:.2f} (".replace("0.", ".", 1) in said


def test_sets_are_compared_by_their_distance(rng, tmp_path):
    rows = "".join(f"s{n},{who},{rng.choice(['joy|fear', 'joy', 'anger'])}\n" for n in range(30) for who in "ab")
    (tmp_path / "sets.csv").write_text(f"item,annotator,label\n{rows}")
    data = ba.read_annotations(tmp_path / "sets.csv", multi_label=True, split="|")
    table = ba.agreement_table(data, sets=True, random_seed=1)
    assert ba.agreement.advise(data, table).startswith("Report Krippendorff's alpha with the distance MASI, ")


def test_every_rule_can_hold_and_names_a_row_of_a_table(advised):
    rows = {"alpha", "krippendorff_alpha_masi", *advised("ab", ["1", "2", "3"])[1].index}
    assert {rule.coefficient for rule in RULES} <= rows
    with pytest.raises(ba.DataError, match="has no coefficients"):
        ba.agreement.advise(answers_of_two(), ba.usage_table(answers_of_two()))


def answers_of_two():
    return ba.AnnotationData.from_records([("s1", "a", "x"), ("s1", "b", "y")])


def test_answers_without_names_are_compared():
    rows = [(f"s{item}", "anyone", label) for item in range(20) for label in ("xxx", "xyx", "yyy", "zzz")[item % 4]]
    data = ba.AnnotationData.from_records(rows)
    table = ba.agreement_table(data, random_seed=1).set_index("coefficient")
    assert table.loc["fleiss_kappa", "value"] == pytest.approx(ba.agreement.measure_kappa(data.votes).kappa)
    confused = ba.agreement.confusable_labels(data).set_index(["label_1", "label_2"])["times_confused"]
    assert confused.to_dict() == {("x", "y"): 10, ("x", "z"): 0, ("y", "z"): 0}
