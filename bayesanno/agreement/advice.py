"""Which coefficient of agreement to report of which data.

The invariant: `RULES` decides alone. The command prints its advice, and the table of the guide has the same rows.

References
----------
A. F. Hayes and K. Krippendorff (2007), Answering the call for a standard reliability measure for coding data,
Communication Methods and Measures 1(1), 77-89, doi:10.1080/19312450709336664.
A. R. Feinstein and D. V. Cicchetti (1990), High agreement but low kappa, Journal of Clinical Epidemiology 43(6),
543-549, doi:10.1016/0895-4356(90)90158-L.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed, option
from bayesanno.agreement.skew import LOW_ALPHA, SKEWED, measure_skew
from bayesanno.agreement.vote import require_once
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind
from bayesanno.data.ratings import RatingData


class Facts(NamedTuple):
    """What the rules ask: which coefficients there are, whether labels are in order, and who answered what."""

    coefficients: frozenset[str]
    is_ordered: bool
    is_complete_pair: bool


class Rule(NamedTuple):
    """One row of the advice: for which data it is, the coefficient in the table, its name, and why it is the one."""

    data: str
    holds: Callable[[Facts], bool]
    coefficient: str
    name: str
    why: str


RULES = (  # the first that holds
    Rule(
        "ratings on a scale (`--scale`)",
        lambda facts: "alpha" in facts.coefficients,
        "alpha",
        "Krippendorff's interval alpha",
        "it counts how far ratings are apart, and allows for items that some annotators left out",
    ),
    Rule(
        "sets of labels (`--sets`)",
        lambda facts: "krippendorff_alpha_masi" in facts.coefficients,
        "krippendorff_alpha_masi",
        "Krippendorff's alpha with the distance MASI",
        "it counts how far sets of labels are apart, and allows for items that some annotators left out",
    ),
    Rule(
        "two annotators who both answered every item, three or more labels in order",
        lambda facts: facts.is_complete_pair and facts.is_ordered,
        "cohen_kappa_quadratic",
        "Cohen's kappa with quadratic weights",
        "two annotators answered every item, and it uses the order of the labels",
    ),
    Rule(
        "two annotators who both answered every item, other labels",
        lambda facts: facts.is_complete_pair,
        "cohen_kappa",
        "Cohen's kappa",
        "two annotators answered every item",
    ),
    Rule(
        "more annotators, or items that some left out, three or more labels in order",
        lambda facts: facts.is_ordered,
        "krippendorff_alpha_ordinal",
        "Krippendorff's ordinal alpha",
        "it uses the order of the labels, and allows for any number of annotators and for items that some left out",
    ),
    Rule(
        "more annotators, or items that some left out, other labels",
        lambda _: True,
        "krippendorff_alpha_nominal",
        "Krippendorff's alpha",
        "it allows for any number of annotators, and for items that some left out",
    ),
)


def advise(data: AnnotationData | RatingData, table: pd.DataFrame) -> str:
    """Return which coefficient of agreement to report, as sentences with its value and its interval.

    Parameters
    ----------
    data : AnnotationData or RatingData
    table : pandas.DataFrame
        What `agreement_table` or `rating_agreement` returned for these data.

    Returns
    -------
    str
        It says so if the coefficient is undefined. If most answers are one label, and the coefficient is low for that
        reason, the share of equal answers is to be reported with it.

    Raises
    ------
    DataError
        If the table has no coefficients.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> print(ba.agreement.advise(data, ba.agreement_table(data, random_seed=1)).partition(":")[0])
    Report Krippendorff's alpha, .29 (89% interval .26 to .32)
    """
    if not isinstance(data, RatingData):
        require_kind(data, AnnotationData, "agreement.advise")
    if "coefficient" not in table:
        raise DataError("the table has no coefficients: pass what agreement_table or rating_agreement returns")
    found: dict[Any, Any] = table.set_index("coefficient").to_dict("index")
    rule = next(one for one in RULES if one.holds(_gather(data, found)))
    value = found[rule.coefficient]["value"]
    if math.isnan(value):
        return (
            f"No coefficient of agreement can be reported: all answers that can be compared are {_name_answer(data)}, "
            f"and {rule.name} is then undefined. Report that these answers are all equal."
        )
    said = [f"Report {rule.name}, {_describe(found, rule.coefficient)}: {rule.why}."]
    if isinstance(data, RatingData):
        said.append(f"Of the mean of an item's ratings, report ICC(1,k), {_describe(found, 'ICC(1,k)')}.")
    elif "krippendorff_alpha_masi" not in found:
        said += _describe_skew(data, found, value)
    return " ".join([*said, "The other coefficients are for comparison with papers that report them."])


def _gather(data: AnnotationData | RatingData, found: Mapping[str, Mapping[str, Any]]) -> Facts:
    if isinstance(data, RatingData):
        return Facts(frozenset(found), is_ordered=True, is_complete_pair=False)
    once = require_once(data, "advise")
    n = once.by_annotator[once.by_annotator > 0]
    is_complete_pair = n.size == 2 and bool((n == np.unique(once.item).size).all())
    is_ordered = data.n_classes > 2 and not math.isnan(found["krippendorff_alpha_ordinal"]["value"])
    return Facts(frozenset(found), is_ordered=is_ordered, is_complete_pair=is_complete_pair)


def _describe(found: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """Return a value with its interval, or why there is none."""
    row = found[name]
    low, high, interval = find_bounds(row)
    if math.isnan(row[low] + row[high]):
        return f"{_shorten(row['value'])} ({row.get('reason') or f'no interval: set {option("resamples", 1000)}'})"
    return f"{_shorten(row['value'])} ({interval} {_shorten(row[low])} to {_shorten(row[high])})"


def _shorten(value: float) -> str:
    """Return a coefficient as papers print it.

    Examples
    --------
    >>> [_shorten(value) for value in (0.618, -0.05, 1.0, -0.001)]
    ['.62', '-.05', '1.00', '.00']
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1)


def _name_answer(data: AnnotationData | RatingData) -> str:
    if isinstance(data, RatingData):
        return "the same number"
    once = require_once(data, "advise")
    several = once.votes.sum(axis=1) >= 2  # (item,)
    return listed([once.labels[code] for code in np.unique(once.label[several[once.item]])])


def _describe_skew(data: AnnotationData, found: Mapping[str, Mapping[str, Any]], value: float) -> list[str]:
    """Return what to report beside a coefficient that is low because most answers are one label."""
    skew = measure_skew(data)
    if not (value < LOW_ALPHA and skew.exceeds(SKEWED, data.n_classes)):
        return []
    return [
        f"{skew.share:.0%} of the answers are {skew.label!r}. Such a skew makes the coefficient low even if annotators "
        "seldom err, and it does not show whether that label is common or a habit: also report the share of equal "
        f"answers, {_describe(found, 'percent_agreement')}."
    ]
