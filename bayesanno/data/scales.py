"""Known scales of grades: words whose order is known, from the lowest to the highest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bayesanno._core.errors import DataError
from bayesanno._core.wording import listed, option

SCALES = (
    ("none", "absent", "minimal", "very mild", "mild", "moderate", "severe", "very severe", "extreme"),
    ("strongly disagree", "disagree", "somewhat disagree", "slightly disagree", "neutral", "slightly agree",
     "somewhat agree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "undecided", "agree", "strongly agree"),
    ("never", "almost never", "rarely", "occasionally", "sometimes", "often", "usually", "almost always", "always"),
    ("never", "seldom", "sometimes", "frequently", "always"),
    ("very poor", "poor", "fair", "average", "good", "very good", "excellent"),
    ("terrible", "very bad", "bad", "ok", "good", "very good", "great", "excellent", "perfect"),
    ("much worse", "worse", "slightly worse", "same", "slightly better", "better", "much better"),
    ("very low", "low", "medium", "high", "very high"),
    ("none", "low", "moderate", "high", "critical"),
    ("very negative", "negative", "slightly negative", "neutral", "slightly positive", "positive", "very positive"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("not at all", "slightly", "somewhat", "moderately", "very", "extremely"),
    ("very easy", "easy", "medium", "hard", "very hard"),
    ("irrelevant", "marginally relevant", "partially relevant", "relevant", "highly relevant", "perfectly relevant"),
    ("neutral", "minor", "major", "critical"),
    ("very small", "small", "medium", "large", "very large"),
)  # fmt: skip


def order_by_scale(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels in the order of a known scale that has all of them.

    Capitals do not matter, nor whether words are joined by blanks, hyphens or underscores.

    Raises
    ------
    DataError
        If no scale has all of them.

    Examples
    --------
    >>> from bayesanno.data.scales import order_by_scale
    >>> order_by_scale(["mild", "none", "severe"]), order_by_scale(["Strongly_agree", "agree"])
    (('none', 'mild', 'severe'), ('agree', 'Strongly_agree'))
    """
    name_of = {re.sub(r"[\s_-]+", " ", label.casefold()): label for label in labels}
    scale = next((scale for scale in SCALES if {*name_of} <= {*scale}), ())
    if not scale or len(name_of) < len(labels):
        raise DataError(
            f"the labels {listed(labels)} have no order that is known: declare them from the lowest to the highest "
            f"with {option('labels')}"
        )
    return tuple(name_of[word] for word in scale if word in name_of)
