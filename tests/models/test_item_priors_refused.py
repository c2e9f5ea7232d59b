"""Class priors that data cannot support, and what of them is no class prior: each is one line that says what to do."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from tests.models.test_item_priors import DATA, LABELS

FIRST = DATA.item_columns["first"].names


def with_columns(**columns):
    return replace(DATA, item_columns={**DATA.item_columns, **columns})


def of_labels(*labels):
    return replace(with_columns(), labels=labels)


PAIRS, LENGTH = ba.Pairs(), ba.Columns("length")
REFUSED = {
    "no columns": (
        PAIRS,
        replace(DATA, item_columns={}),
        "Pairs needs the column 'first' of the items, and they have no",
    ),
    "no such column": (ba.Columns("lenght"), DATA, "needs the column 'lenght' .* did you mean 'length'"),
    "a pair with itself": (
        PAIRS,
        with_columns(second=[FIRST[0], *FIRST[1:]]),
        "item 'q0' compares 'bloom' with itself",
    ),
    "a side is no label": (ba.Pairs(first="left", second="second"), with_columns(left=FIRST), "'left' is no label"),
    "numbers for systems": (PAIRS, with_columns(first=np.arange(12.0)), "column 'first' has numbers"),
    "a missing system": (PAIRS, with_columns(first=["", *FIRST[1:]]), "item 'q0' has no 'first'"),
    "two labels more": (
        PAIRS,
        of_labels(*LABELS, "both bad"),
        "beside 'first' and 'second' there are 'tie', 'both bad'",
    ),
    "a missing number": (LENGTH, with_columns(length=[*range(11), np.nan]), "item 'q11' has no 'length'"),
    "a constant number": (LENGTH, with_columns(length=[3] * 12), "'length' is the same for all items"),
    "a constant name": (ba.Columns("source"), with_columns(source=["web"] * 12), "'source' is the same for all items"),
    "groups of numbers": (ba.Columns("(1 | length)"), DATA, "'length' has numbers, and groups need names"),
    "the name of a parameter": (
        ba.Columns("confusion"),
        with_columns(confusion=["a", "b"] * 6),
        "'confusion' is the name of a parameter",
    ),
    "no probability": (
        ba.Classifier(),
        with_columns(**{"p[tie]": [1.5, *[0.1] * 11]}),
        "of item 'q0' is no probability",
    ),
    "no sum of 1": (ba.Classifier(), with_columns(**{"p[tie]": [0.0] * 12}), "of item 'q0' add up to .* should to 1"),
    "no classifier": (ba.Classifier(columns_of="q"), DATA, r"Classifier needs the column 'q\[first\]'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_items_that_lack_what_the_prior_reads_are_refused(name, refuses):
    prior, data, match = REFUSED[name]
    with refuses(ba.DataError, match):
        ba.fit(ba.models.ModelB(class_prior=prior), data)


def test_systems_that_no_answer_connects_are_named(refuses):
    first, second = ["a", "a", "b", "c", "e"] * 2 + ["a", "c"], ["b", "c", "c", "a", "d"] * 2 + ["d", "e"]
    data = with_columns(first=first, second=second)  # only items 10 and 11, without answers, compare both groups
    with refuses(ba.DataError, "no answer compares a, b, c with d, e: strengths"):
        ba.fit(ba.models.MACE(class_prior=PAIRS), data)


def test_a_factor_with_one_item_a_level_is_refused(refuses):
    data = with_columns(source=[f"url {i}" for i in range(12)])
    for formula in ("source", "(1 | source)"):
        with refuses(ba.DataError, "'source' has another value for each of 12 items"):
            ba.fit(ba.models.ModelB(class_prior=ba.Columns(formula)), data)


def test_ten_thousand_levels_are_refused(refuses):
    said = [(f"s{i}", "ada", "yes" if i % 2 else "no") for i in range(20_000)]
    data = ba.AnnotationData.from_records(said, item_columns={"page": [f"p{i // 2}" for i in range(20_000)]})
    with refuses(ba.DataError, "'page' has 10,000 levels, more than 1,000"):
        ba.fit(ba.models.ModelB(class_prior=ba.Columns("page")), data)


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("length +", "'length \\+' is no formula"),
        ("y ~ length", "has a left side"),
        ("np.log(length)", "'np.log\\(length\\)' is a function: put its values into a column"),
        ("1", "names no column"),
        ("", "names no column"),
        ("2*length", "multiplies by 2, and what it multiplies must be columns"),
        ("length**2", "has a power: put its values into a column"),
        ("0 + length", "leaves out the intercept, which base_rate is"),
        ("length - 1", "leaves out the intercept, which base_rate is"),
    ],
)
def test_what_is_no_formula_of_columns_is_refused(formula, match, refuses):
    with refuses(ba.ModelError, match):
        ba.Columns(formula)


def test_two_terms_of_a_kind_are_refused(refuses):
    with refuses(ba.ModelError, "there are two Columns"):
        LENGTH + ba.Columns("source")


def test_two_sides_in_one_column_are_refused(refuses):
    with refuses(ba.ModelError, "both in 'first'"):
        ba.Pairs(first="first", second="first")


def test_models_without_classes_and_methods_without_graphs_say_so(refuses):
    with refuses(ba.ModelError, "model_a has no field 'class_prior'"):
        ba.get_model("model_a", {"class_prior": PAIRS})
    for method in ("em", "vb"):
        with refuses(ba.FitError, f"model_b has no {method.upper()} with class_prior=Pairs.*: fit it by nuts"):
            ba.fit(ba.models.ModelB(class_prior=PAIRS), DATA, method=method)
    with refuses(ba.ModelError, "class_prior is 3: it must be one of 'learnt', or Classifier"):
        ba.models.ModelB(class_prior=3)
