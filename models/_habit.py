"""Answers that are skewed to one label: its class may be common, or the label may be a habit.

In MACE the class prior decides between the two. Models without habits may mistake a label that many annotators repeat
for a class. The bounds here come from the shares of right labels in simulated tables, in `notebooks/benchmarks.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from bayesanno._core.messages import counted, listed
from bayesanno.agreement.skew import SKEWED, find_repeaters, measure_skew
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals
from bayesanno.modeling.findings import Finding, find, threshold_of

MISLED = {"learnt": SKEWED, "uniform": 1 / 4}  # of the way from even answers to all the same: where a prior may mislead
# The least shares of all answers, by annotators who repeat a label, at which labels may follow them:
OF_ANY = 0.55  # if they repeat different labels;
MATRICES = 0.45  # if they repeat one label, in a model with confusions,
RATES = 1 / 3  # and in a model that only has accuracies


def find_class_or_habit(
    data: AnnotationData | AnnotationTotals, class_prior: Literal["learnt", "uniform"]
) -> Iterator[Finding]:
    """Yield that the two class priors explain skewed answers in different ways."""
    skew = measure_skew(data)
    said: dict[str, Any] = {"share": skew.share, "label": repr(skew.label)}
    if not skew.alpha >= threshold_of("class-or-habit"):
        if skew.exceeds(MISLED[class_prior], data.n_classes):
            yield find("class-or-habit", value=None if np.isnan(skew.alpha) else skew.alpha, **said)
    elif class_prior == "uniform" and skew.exceeds(MISLED["uniform"], data.n_classes):
        yield find("class-not-habit", value=skew.alpha, **said)


def find_habits(data: AnnotationData | AnnotationTotals, many: float) -> Iterator[Finding]:
    """Yield that many annotators repeat a label (a share `many` of the answers, for one label).

    Nothing is said of annotations on a cluster, since their items are not in memory.
    """
    if isinstance(data, AnnotationTotals):
        return
    found = find_repeaters(data)
    repeated = sorted(set(found.labels), key=data.labels.index)
    total = sum(found.shares)
    of_one = [sum(s for s, label in zip(found.shares, found.labels, strict=True) if label == one) for one in repeated]
    if not (total >= OF_ANY or max(of_one, default=0.0) >= many):
        return
    answering = int((data.by_annotator > 0).sum())
    what = f"one label ({listed(repeated)}) each" if len(repeated) > 1 else repr(repeated[0])
    if len(found.annotators) == answering:
        yield find("only-repeaters", found.annotators, total, what=what)
    else:
        yield find("repeated-label", found.annotators, total, annotators=counted(answering, "annotator"), what=what)
