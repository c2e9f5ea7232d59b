"""What models of counts have beside the contract that all models join: orders of answers, large counts, their data."""

from math import comb

import numpy as np
import pytest

from bayesanno._core.errors import DataError
from tests.models.graphs import close
from tests.models.references_counts import count_probability, counts

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times


def test_the_order_of_answers_counts(counted, rng):
    """The likelihood is of answers in their order: with log C(n, x) added it is that of a count."""
    (parameters,) = counted.draw(1, rng)
    whole = counted.whole(parameters)
    found = np.exp(counted.graph.item_logp(parameters, counted.data))
    for p, x, n in zip(found, counted.data.successes.tolist(), counted.data.trials.tolist(), strict=True):
        close(comb(n, x) * p, count_probability(counted.reference, whole, x, n).sum())


def test_many_answers_do_not_overflow(counted, rng):
    many = counts((0, 100_000), (50_000, 100_000), (100_000, 100_000))
    for parameters in counted.draw(3, rng):
        assert np.isfinite(counted.graph.item_logp(parameters, many)).all()


def test_data_of_another_kind_are_refused(counted, refuses):
    with refuses(DataError, f"{counted.entry.name} needs CountData .*, not str"):
        counted.entry.check("answers")
