"""Intervals that are not given are ArviZ's at the time of the call."""

import arviz as az
import pytest

from bayesanno._core.intervals import choose_interval, choose_prob, find_bounds, name_interval
from bayesanno._core.messages import DataError


def test_what_is_not_given_is_that_of_arviz_at_the_call():
    assert choose_interval(None, None) == (az.rcParams["stats.ci_prob"], az.rcParams["stats.ci_kind"])
    with az.rc_context({"stats.ci_prob": 0.5, "stats.ci_kind": "hdi"}):
        assert choose_interval(None, None) == (0.5, "hdi")
        assert choose_interval(0.8, "eti") == (0.8, "eti")
    assert choose_prob(None) != 0.5


@pytest.mark.parametrize(("given", "wrong"), [((94, "hdi"), "ci_prob is 94"), ((0.9, "central"), "ci_kind is 'cen")])
def test_what_is_no_interval_is_refused(given, wrong, refuses):
    with refuses(DataError, wrong):
        choose_interval(*given)


def test_columns_of_an_interval_are_found_by_the_name_of_a_quantity():
    columns = ["mean", "hdi94_lb", "hdi94_ub", "rank_ci97.5_lb", "rank_ci97.5_ub", "win_rate_eti50_lb"]
    assert find_bounds(columns) == ("hdi94_lb", "hdi94_ub", "94% interval of highest density")
    assert find_bounds(columns, "rank") == ("rank_ci97.5_lb", "rank_ci97.5_ub", "97.5% interval")
    assert find_bounds(columns, "rate") == ("rate_eti89_lb", "rate_eti89_ub", "89% interval")  # as they would be
    assert name_interval(0.5, "eti") == "50% interval"
