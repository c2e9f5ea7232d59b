"""Class priors that data cannot support, and what of them is no class prior: each is one line that says what to do."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from tests.models.test_item_priors import DATA, LABELS

FIRST = DATA.item_columns["first"].names


def having(**columns):
    return replace(DATA, item_columns={**DATA.item_columns, **columns})


PAIRS, LENGTH, CLASSIFIER, SOURCE = ba.Pairs(), ba.Columns("length"), ba.Classifier(), ba.Columns("source")
URLS = having(source=[f"url {i}" for i in range(12)])
APART = having(  # only items 10 and 11, without answers, compare both groups
    first=["a", "a", "b", "c", "e"] * 2 + ["a", "c"], second=["b", "c", "c", "a", "d"] * 2 + ["d", "e"]
)
REFUSED = {
    "no columns": (PAIRS, replace(DATA, item_columns={}), "column 'first' of the items, and they have no"),
    "no such column": (ba.Columns("lenght"), DATA, "needs the column 'lenght' .* did you mean 'length'"),
    "a pair with itself": (PAIRS, having(second=[FIRST[0], *FIRST[1:]]), "'q0' compares 'bloom' with itself"),
    "a side is no label": (ba.Pairs(first="left", second="second"), having(left=FIRST), "'left' is no label"),
    "numbers for systems": (PAIRS, having(first=np.arange(12.0)), "column 'first' has numbers"),
    "a missing system": (PAIRS, having(first=["", *FIRST[1:]]), "item 'q0' has no 'first'"),
    "two labels more": (PAIRS, replace(DATA, labels=(*LABELS, "both bad")), "there are 'tie', 'both bad'"),
    "systems apart": (PAIRS, APART, "no answer compares a, b, c with d, e"),
    "a missing number": (LENGTH, having(length=[*range(11), np.nan]), "item 'q11' has no 'length'"),
    "a constant number": (LENGTH, having(length=[3] * 12), "'length' is the same for all items"),
    "a constant name": (SOURCE, having(source=["web"] * 12), "'source' is the same for all items"),
    "a level an item": (SOURCE, URLS, "'source' has another value for each of 12 items"),
    "a group an item": (ba.Columns("(1 | source)"), URLS, "'source' has another value for each of 12 items"),
    "groups of numbers": (ba.Columns("(1 | length)"), DATA, "'length' has numbers"),
    "a parameter": (ba.Columns("confusion"), having(confusion=["a", "b"] * 6), "is the name of a parameter"),
    "no probability": (CLASSIFIER, having(**{"p[tie]": [1.5, *[0.1] * 11]}), "of item 'q0' is no probability"),
    "no sum of 1": (CLASSIFIER, having(**{"p[tie]": [0.0] * 12}), "of item 'q0' add up to"),
    "no classifier": (ba.Classifier(columns_of="q"), DATA, r"Classifier needs the column 'q\[first\]'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_items_that_lack_what_the_prior_reads_are_refused(name, refuses):
    prior, data, match = REFUSED[name]
    with refuses(ba.DataError, match):
        ba.fit(ba.models.ModelB(class_prior=prior), data)


def test_ten_thousand_levels_are_refused(refuses):
    said = [(f"s{i}", "ada", "yes" if i % 2 else "no") for i in range(20_000)]
    data = ba.AnnotationData.from_records(said, item_columns={"page": [f"p{i // 2}" for i in range(20_000)]})
    with refuses(ba.DataError, "'page' has 10,000 levels, more than 1,000"):
        ba.fit(ba.models.ModelB(class_prior=ba.Columns("page")), data)


NO_CLASS_PRIOR = [
    (lambda: ba.Columns("length +"), "'length \\+' is no formula"),
    (lambda: ba.Columns("y ~ length"), "has a left side"),
    (lambda: ba.Columns("np.log(length)"), "is a function"),
    (lambda: ba.Columns("1"), "names no column"),
    (lambda: ba.Columns(""), "names no column"),
    (lambda: ba.Columns("2*length"), "multiplies by 2"),
    (lambda: ba.Columns("length**2"), "has a power"),
    (lambda: ba.Columns("0 + length"), "leaves out the intercept"),
    (lambda: ba.Columns("length - 1"), "leaves out the intercept"),
    (lambda: LENGTH + SOURCE, "there are two Columns"),
    (lambda: ba.Pairs(first="first", second="first"), "both in 'first'"),
    (lambda: ba.get_model("model_a", {"class_prior": PAIRS}), "model_a has no field 'class_prior'"),
    (lambda: ba.models.ModelB(class_prior=3), "class_prior is 3: it must be one of 'learnt', or Classifier"),
]


@pytest.mark.parametrize(("make", "match"), NO_CLASS_PRIOR, ids=[match for _, match in NO_CLASS_PRIOR])
def test_what_is_no_class_prior_is_refused(make, match, refuses):
    with refuses(ba.ModelError, match):
        make()


@pytest.mark.parametrize("method", ["em", "vb"])
def test_methods_without_graphs_say_so(method, refuses):
    with refuses(ba.FitError, f"model_b has no {method.upper()} with class_prior=Pairs.*: fit it by nuts"):
        ba.fit(ba.models.ModelB(class_prior=PAIRS), DATA, method=method)
