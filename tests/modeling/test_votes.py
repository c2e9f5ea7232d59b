"""What the majority vote adds up to over blocks is what it is of the table."""

import numpy as np
import pytest

from bayesanno.modeling.expectation import agreement_with_vote, count_votes, make_blocks, votes_of
from tests.samples import tiny_data


@pytest.mark.parametrize("size", [1, 4, 100])
def test_votes_add_up_over_blocks(size, crowd):
    for data in (tiny_data(items=("s1", "s2", "s3", "s4", "s5", "s6", "unanswered")), crowd[0]):
        votes = make_blocks(data, size).add_up(count_votes, np.eye(data.n_labels, dtype=bool))
        agreed, n_annotations = agreement_with_vote(data)
        np.testing.assert_allclose(votes.agreed, agreed)
        np.testing.assert_array_equal(votes.given.sum(axis=1), n_annotations)
        np.testing.assert_allclose(votes.shares, data.vote_shares.sum(axis=0))
        by_hand = np.zeros_like(votes.answers)
        np.add.at(by_hand, (data.annotator, data.label), data.vote_shares[data.item])
        np.testing.assert_allclose(votes.answers, by_hand)
        np.testing.assert_allclose(votes_of(data).answers, by_hand)
