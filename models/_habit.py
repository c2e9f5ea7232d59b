"""Answers that are skewed to one label: its class may be common, or the label may be a habit.

In MACE the class prior decides between the two. Models without habits may mistake a label that many annotators repeat
for a class. The bounds here come from the shares of right labels in simulated tables, in `notebooks/which-model.md`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from bayesanno.agreement.skew import find_repeaters, measure_skew
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals
from bayesanno.ground.wording import counted, listed

SKEWED = {"learnt": 1 / 2, "uniform": 1 / 4}  # of the way from even answers to all the same: where a prior may mislead
AGREED = 0.4  # the least alpha at which annotators agree on the items without the commonest label
# The least shares of all answers, by annotators who repeat a label, at which labels may follow them:
OF_ANY = 0.55  # if they repeat different labels;
MATRICES = 0.45  # if they repeat one label, in a model with confusions,
RATES = 1 / 3  # and in a model that only has accuracies


def explain_class_or_habit(
    data: AnnotationData | AnnotationTotals, class_prior: Literal["learnt", "uniform"]
) -> list[str]:
    """Return the warning for answers that the two class priors explain in different ways."""
    skew = measure_skew(data)
    even = 1 / data.n_classes
    said = f"{skew.share:.0%} of the answers are {skew.label!r}, and annotators"
    if not skew.alpha >= AGREED and skew.share > even + (1 - even) * SKEWED[class_prior]:
        known = "" if np.isnan(skew.alpha) else f" (Krippendorff's alpha {skew.alpha:.2f})"
        return [
            f"{said} hardly agree on where it is not{known}: either most items are {skew.label!r}, to which "
            f"class_prior='learnt' leans, or many annotators say {skew.label!r} whatever the item is, to which "
            "class_prior='uniform' leans: fit both; where their labels differ, the true labels of a few items show "
            "which holds"
        ]
    if class_prior == "uniform" and skew.share > even + (1 - even) * SKEWED["uniform"]:
        return [
            f"{said} agree on where it is not (Krippendorff's alpha {skew.alpha:.2f}): most items are "
            f"{skew.label!r}, which class_prior='uniform' may take for a habit of annotators who do not know; "
            "class_prior='learnt' does not"
        ]
    return []


def explain_habits(data: AnnotationData | AnnotationTotals, many: float) -> list[str]:
    """Return the warning for many annotators who repeat a label (a share `many` of the answers, for one label).

    Empty for annotations on a cluster, since their items are not in memory.
    """
    if isinstance(data, AnnotationTotals):
        return []
    found = find_repeaters(data)
    repeated = sorted(set(found.labels), key=data.labels.index)
    total = sum(found.shares)
    of_one = [sum(s for s, label in zip(found.shares, found.labels, strict=True) if label == one) for one in repeated]
    if not (total >= OF_ANY or max(of_one, default=0.0) >= many):
        return []
    answering, n = int((data.by_annotator > 0).sum()), len(found.annotators)
    what = f"one label ({listed(repeated)}) each" if len(repeated) > 1 else repr(repeated[0])
    said = (
        f"{n} of {counted(answering, 'annotator')} ({listed(found.annotators, most=3)}) give {what} nine times in ten "
        f"or more, also where others give another label, and gave {total:.0%} of the answers: "
    )
    if n == answering:
        return [f"{said}there are no others from whom to learn the true labels; ask some"]
    return [
        f"{said}labels may follow their habits; compare with a fit without their answers, and with mace, "
        "class_prior='uniform'; where labels differ, the true labels of a few items show which holds"
    ]
