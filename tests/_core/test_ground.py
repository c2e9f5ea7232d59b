"""Checks of values, and words for messages."""

import pickle

import numpy as np
import pytest

from bayesanno._core.messages import (
    BayesannoError,
    DataError,
    FitError,
    MisfitWarning,
    counted,
    enumerated,
    listed,
    nearest,
    warn,
)
from bayesanno._core.validate import check_seed, check_share, known_seed


def test_a_seed_that_is_given_is_kept_and_one_that_is_not_is_drawn():
    for seed in (0, 2**63 - 1, np.int64(3)):
        check_seed(seed)
        assert known_seed(seed) == seed
    check_seed(None)
    drawn = {known_seed(None) for _ in range(10)}
    assert len(drawn) > 1
    for seed in drawn:
        check_seed(seed)


@pytest.mark.parametrize("seed", [-1, 2**63, float("nan"), "1", np.random.default_rng(1)])
def test_what_a_sampler_cannot_take_is_no_seed(refuses, seed):
    with refuses(FitError, "random_seed is .*: it must be"):
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
    assert nearest("Dawid-Skene", ["mace", "dawid_skene"]) == "; did you mean 'dawid_skene'?"
    assert nearest("colour", ["size"]) == ""


STRANGE = "annotator a\nb\u202e \x1b[31m\ud800 \u2028 is caf\u00e9"
SHOWN = r"annotator a\nb\u202e \x1b[31m\ud800 \u2028 is " + "caf\u00e9"


@pytest.mark.parametrize("kind", BayesannoError.__subclasses__(), ids=lambda kind: kind.__name__)
def test_errors_are_one_line_for_any_name_and_can_be_pickled(kind):
    error = kind(STRANGE)
    assert str(error) == SHOWN
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, SHOWN)


def test_a_warning_is_one_line_whatever_the_names_in_it():
    with pytest.warns(MisfitWarning) as heard:
        warn(STRANGE, MisfitWarning)
    assert [str(each.message) for each in heard] == [SHOWN]
