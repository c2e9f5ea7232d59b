"""Checks of values, and words for messages."""

import pytest

from bayesanno.ground.errors import DataError, FitError
from bayesanno.ground.validate import check_seed, check_share, known_seed
from bayesanno.ground.wording import counted, enumerated, listed, nearest


@pytest.mark.parametrize("seed", [-1, 2**63, float("nan")])
def test_a_seed_that_a_sampler_cannot_take_is_refused(refuses, seed):
    with refuses(FitError, f"random_seed is {seed}: it must be at least 0"):
        check_seed(seed)


def test_a_seed_that_is_given_is_kept_and_one_that_is_not_is_drawn():
    for seed in (0, 2**63 - 1):
        check_seed(seed)
        assert known_seed(seed) == seed
    check_seed(None)
    drawn = {known_seed(None) for _ in range(10)}
    assert len(drawn) > 1
    for seed in drawn:
        check_seed(seed)


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan"), float("inf")])
def test_a_share_lies_between_nothing_and_everything(refuses, share):
    with refuses(DataError, f"confidence is {share}: it must be above 0 and below 1"):
        check_share("confidence", share)
    check_share("confidence", 0.5)


def test_names_in_words_are_short_and_one_line():
    assert listed(["a", "b\nc"]) == r"'a', 'b\nc'"
    assert listed(list("abc"), most=2) == "'a', 'b' and 1 more"
    assert enumerated(["a", "b\nc", "d,e"]) == r"a, 'b\nc', 'd,e'"
    assert enumerated(list("abc"), most=2) == "a, b and 1 more"
    assert len(enumerated(["x" * 1000])) == 40
    assert (counted(0, "item"), counted(1, "item"), counted(1234, "item")) == ("0 items", "1 item", "1,234 items")
    assert nearest("colour", ["color", "size"]) == "; did you mean 'color'?"
    assert nearest("colour", ["size"]) == ""
