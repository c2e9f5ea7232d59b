"""Answers that lean to one label: its class may be common, or saying it may be a habit; what decides between the two.

In MACE the class prior decides.  Where most items are "no", the uniform prior takes so many "no" for a habit.  Three
annotators who are right in .95 of 200 items, one in twenty of them "yes", come out with a competence of .03, and .88 of
the labels are right (vote and learnt prior: .99; means of ten simulated tables, 4 chains of 500 draws).  With one "yes"
in ten the same happens on two tables of ten, and with 1,000 items on all ten (competence .32, labels .87).  Where most
annotators click "no" whatever the item is, the learnt prior takes the habit for the class.  Rare classes are more
frequent than such majorities, so the learnt prior is the default.  On RTE it makes no difference (.928 of the labels
are right with the learnt prior, .926 with the uniform one).

The share of labels that are right under both priors where some of ten annotators click (five answers an item, four
labels, three tables each):

    annotators who click one label      0 to 4      5             6                7
    uniform                             as good     .92 to .97    .90 to .96       .89, .23, .88
    learnt, Dirichlet(1)                as good     .29 once      .21 to .27       .23 to .31
    learnt, Dirichlet(10)               as good     .93 to .97    .23, .21, .96    .23 to .31

With six who click, twenty known labels as controls were enough for the learnt prior.  With seven they were not.
Leave-one-out comparison did not find the better prior either.

Models without habits do worse.  In the next table three of eight annotators are right in .85 of the items, and five
repeat one label: it is .93 of their answers, and the rest are labels at random.  There are 200 items with five answers
each.  The share of labels that are right, three tables each, by NUTS (2 chains of 300 draws):

                               one label, of 3      one label, of 4      labels of their own, of 4
    vote                       .41 to .45           .36 to .38           .72 to .78
    pooled_dawid_skene         .55 to .60           .57 to .63           .53 to .56
    model_b                    .34 to .56           .30 to .51           .58 to .92
    hierarchical_dawid_skene   .75 to .81           .45 to .78           .68 to .92
    class_conditional          .28 to .31           .20 to .23           .24 to .54
    one_coin                   .28 to .31           .20 to .23           .20 to .23
    mace, learnt               .28 to .32           .21, .88, .23        .88 to .92
    mace, uniform              .86 to .92           .88 to .90           .88 to .90
    model_b, hierarchical: without the five         .85 to .94 in all three columns
    model_b, 20 controls       .84 to .91           .67, .88, .67        .86 to .91
    hierarchical, 20 controls  .84 to .89           .87 to .92           .86 to .91

By VB twenty controls help neither class_conditional (.21 to .36) nor one_coin; without the five, all models have .83 to
.93.  Where only four of eight repeat one label, model_b fails on one table of six (.67) and pooled_dawid_skene on three
(.62 to .65); where only three do, class_conditional has .29 to .40 and one_coin .20 to .50, with four labels.  Where
four repeat labels of their own, all models but one_coin are right about as often as the vote, or more often.  On
temporal order ten annotators who repeat "1" or "2" gave .32 of the answers, and all these models have .94 right.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from bayesanno.agreement.repeaters import find_repeaters
from bayesanno.agreement.skew import measure_skew
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals
from bayesanno.ground.wording import counted, listed

SKEWED = {"learnt": 1 / 2, "uniform": 1 / 4}  # of the way from even answers to all the same: where a prior may mislead
AGREED = 0.4  # the alpha from which on annotators agree on where the commonest label is not
OF_ANY = 0.55  # of all answers, those by annotators who repeat a label, from which on labels may follow them;
MATRICES = 0.45  # of one label, where a model learns confusions,
RATES = 1 / 3  # and where it learns no more than how often annotators are right


def explain_class_or_habit(
    data: AnnotationData | AnnotationTotals, class_prior: Literal["learnt", "uniform"]
) -> list[str]:
    """Return what to say of answers that the class prior explains in one way, and the other prior in the other."""
    skew = measure_skew(data)
    even = 1 / data.n_classes
    said = f"{skew.share:.0%} of the answers are {skew.label!r}, and annotators"
    if not skew.alpha >= AGREED and skew.share > even + (1 - even) * SKEWED[class_prior]:
        known = "" if np.isnan(skew.alpha) else f" (Krippendorff's alpha {skew.alpha:.2f})"
        return [
            f"{said} hardly agree on where it is not{known}: either most items are {skew.label!r}, to which "
            f"class_prior='learnt' leans, or many annotators say {skew.label!r} whatever the item is, to which "
            "class_prior='uniform' leans: fit both; where their labels differ, the true labels of a few items tell "
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
    """Return what to say where annotators who repeat a label are many: of one label, a share `many` of the answers.

    Empty for annotations on a cluster, whose items are not known as a whole.
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
        f"or more, also where others say another, and gave {total:.0%} of the answers: "
    )
    if n == answering:
        return [f"{said}no others are there to learn the true labels from; ask some"]
    return [
        f"{said}labels may follow their habits; compare with a fit without their answers, and with mace, "
        "class_prior='uniform'; where labels differ, the true labels of a few items tell which holds"
    ]
