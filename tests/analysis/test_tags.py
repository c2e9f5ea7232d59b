"""Tags of tokens: the best valid sequence, against all sequences one by one."""

from itertools import product

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.analysis.tags import _decode, _find_allowed

TAGS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def is_valid(sequence):
    return all(
        not tag.startswith("I-") or before in (tag, "B-" + tag[2:])
        for before, tag in zip(["O", *sequence], sequence, strict=False)
    )


@pytest.mark.parametrize("seed", range(5))
def test_no_valid_sequence_is_more_probable(seed):
    probability = np.random.default_rng(seed).dirichlet(np.full(5, 0.5), size=4)
    found = [TAGS[tag] for tag in _decode(np.log(probability), *_find_allowed(TAGS))]

    def score(sequence):
        return np.prod([probability[token, TAGS.index(tag)] for token, tag in enumerate(sequence)])

    assert is_valid(found)
    assert score(found) == pytest.approx(max(map(score, filter(is_valid, product(TAGS, repeat=4)))))


def fit_tags(said):
    data = ba.AnnotationData.from_records(said)
    return ba.fit("model_b", data, method="em", random_seed=1, check=False)


def test_a_tag_inside_nothing_is_decoded_away():
    """Annotators agree on each token of the first text; of the second, most of them miss where the name begins."""
    first = [
        (f"s1/{i}", who, tag) for who in "abcde" for i, tag in enumerate(["B-LOC", "I-LOC", "O", "B-LOC", "O"] * 4)
    ]
    second = [("s2/10", who, tag) for who, tag in zip("abcde", ["O", "O", "O", "B-LOC", "B-LOC"], strict=True)]
    inside = [("s2/11", who, "I-LOC") for who in "abcde"]
    table = ba.tag_table(fit_tags([*inside, *second, *first])).set_index("item")
    assert table.loc["s2/11", ["text", "token", "tag"]].tolist() == ["s2", 11, "I-LOC"]
    assert table.loc["s2/10", "tag"] == "B-LOC"
    assert table.loc["s2/10", "label"] == "O"
    assert table.loc["s2/10", "probability"] < 0.5
    assert (table["tag"] == table["label"]).drop("s2/10").all()
