"""The layout of a table: which items are one pattern, and where each of their annotations goes."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayesanno import AnnotationData
from bayesanno.data.patterns import lay_out

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


@given(tables())
def test_annotations_of_the_first_items_are_kept_once_and_source_leads_to_them(data):
    layout = lay_out(data)
    kept = np.flatnonzero(np.isin(data.item, layout.first))
    assert sorted(layout.kept.tolist()) == kept.tolist()
    np.testing.assert_array_equal(layout.pattern[data.item[layout.kept]], layout.kept_pattern)
    equal = layout.kept[layout.source]
    np.testing.assert_array_equal(data.annotator[equal], data.annotator)
    np.testing.assert_array_equal(data.label[equal], data.label)
    np.testing.assert_array_equal(layout.kept_pattern[layout.source], layout.pattern[data.item])
    for item in range(N_ITEMS):  # a repeated answer has an equal of its own
        mine = layout.source[data.item == item]
        assert np.unique(mine).size == mine.size
