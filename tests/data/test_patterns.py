"""The layout of a table: which items are one pattern, and where each of their annotations goes."""

from collections import Counter

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytensor.compile.mode import Mode

from bayesanno import AnnotationData, get_model
from bayesanno.data.patterns import lay_out
from bayesanno.modeling.arguments import Answers
from bayesanno.modeling.likelihood import observed_arrays

N_ITEMS, N_ANNOTATORS, N_LABELS = 6, 4, 3

ROWS = st.lists(
    st.tuples(st.integers(0, N_ITEMS - 1), st.integers(0, N_ANNOTATORS - 1), st.integers(0, N_LABELS - 1)),
    min_size=1,
    max_size=30,
)
CONTROLS = st.dictionaries(st.integers(0, N_ITEMS - 1), st.integers(0, N_LABELS - 1), max_size=3)


@st.composite
def tables(draw):
    rows = draw(ROWS)
    if draw(st.booleans()):  # the first item's answers once more, given in the opposite order
        rows = rows + [(N_ITEMS - 1, annotator, label) for item, annotator, label in reversed(rows) if item == 0]
    item, annotator, label = np.array(rows).T
    return AnnotationData(
        item=item,
        annotator=annotator,
        label=label,
        items=tuple(f"s{i}" for i in range(N_ITEMS)),
        annotators=tuple(f"a{i}" for i in range(N_ANNOTATORS)),
        labels=tuple(f"l{i}" for i in range(N_LABELS)),
        controls={f"s{i}": f"l{k}" for i, k in draw(CONTROLS).items()},
    )


def answers_of(data, item):
    """An item's answers as a multiset of (annotator, label), with what is known of it."""
    mine = np.flatnonzero(data.item == item)
    said = Counter((int(data.annotator[n]), int(data.label[n])) for n in mine)
    return frozenset(said.items()), int(data.control_codes[item])


@given(tables())
def test_items_are_one_pattern_if_their_answers_and_controls_are_equal(data):
    layout = lay_out(data)
    answers = [answers_of(data, item) for item in range(N_ITEMS)]
    for one in range(N_ITEMS):
        for other in range(one):
            assert (layout.pattern[one] == layout.pattern[other]) == (answers[one] == answers[other])
    assert layout.n_patterns == len(set(answers))
    assert sorted(set(layout.pattern.tolist())) == list(range(layout.n_patterns))
    for pattern, first in enumerate(layout.first):
        assert np.flatnonzero(layout.pattern == pattern)[0] == first


def test_the_order_of_an_annotator_s_two_answers_does_not_matter():
    records = [("s1", "ada", "no"), ("s1", "ada", "yes"), ("s2", "ada", "yes"), ("s2", "ada", "no")]
    assert lay_out(AnnotationData.from_records(records)).pattern.tolist() == [0, 0]


@given(tables())
def test_each_annotation_of_the_first_items_is_kept_once(data):
    layout = lay_out(data)
    kept = np.flatnonzero(np.isin(data.item, layout.first))
    assert sorted(layout.kept.tolist()) == kept.tolist()
    np.testing.assert_array_equal(layout.pattern[data.item[layout.kept]], layout.kept_pattern)


@given(tables())
def test_source_leads_from_each_annotation_to_its_equal(data):
    layout = lay_out(data)
    equal = layout.kept[layout.source]
    np.testing.assert_array_equal(data.annotator[equal], data.annotator)
    np.testing.assert_array_equal(data.label[equal], data.label)
    np.testing.assert_array_equal(layout.kept_pattern[layout.source], layout.pattern[data.item])
    for item in range(N_ITEMS):  # a repeated answer has an equal of its own
        mine = layout.source[data.item == item]
        assert np.unique(mine).size == mine.size


@pytest.fixture(scope="module")
def total():
    """`Answers.sum_over_annotations` as a function of a table and the arrays of a design."""
    annotator, said, kept, item, n_items = *(pt.lvector() for _ in range(4)), pt.lscalar()
    table = pt.tensor3("table")
    sizes = {"n_annotators": N_ANNOTATORS, "n_responses": N_LABELS, "names_class": np.eye(N_LABELS, dtype=bool)}
    answers = Answers(annotator=annotator, item=item, n_items=n_items, all_responses=said, kept=kept, **sizes)
    summed = answers.sum_over_annotations(table)
    mode = Mode(linker="py", optimizer="fast_compile")
    return pytensor.function([table, annotator, said, kept, item, n_items], summed, mode=mode)


@given(data=tables(), seed=st.integers(0, 2**32 - 1))
def test_total_adds_up_each_pattern(total, data, seed):
    table = np.random.default_rng(seed).normal(size=(N_ANNOTATORS, N_LABELS, 2))
    arrays = observed_arrays(get_model("model_b"), data)
    kept, pattern = arrays["kept_annotation"], arrays["kept_pattern"]
    by_pattern = total(table, arrays["kept_annotator"], data.label, kept, pattern, arrays["pattern_item"].size)
    expected = np.zeros((N_ITEMS, 2))
    np.add.at(expected, data.item, table[data.annotator, data.label])
    np.testing.assert_allclose(by_pattern[arrays["item_pattern"]], expected, rtol=0, atol=1e-12)
