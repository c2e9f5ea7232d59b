"""What is the result, and what next? One verdict; labels, vote, annotators; what to do. Diagnostics come later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bayesanno.agreement.vote import majority_vote
from bayesanno.analysis.annotators import annotator_table
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import FitPart, parts_of
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted, enumerated
from bayesanno.inference.diagnosis.design import design_problems
from bayesanno.inference.diagnosis.explain_misfit import Errors
from bayesanno.io.names import explain_alike
from bayesanno.modeling.capabilities import caveats
from bayesanno.report.blocks import Heading, PageBlock, Problems, SmallTable, Steps, Verdict
from bayesanno.report.plots.annotators import is_at_chance
from bayesanno.report.sections.findings import COPIES, Findings

LEAST_SURE = 0.9  # a label less probable than that may need another look
MOST_NAMED = 3  # annotators, or labels, that are named at either end
A_FEW = "20 to 100 items drawn at random"


def summarise(found: Findings) -> Iterator[PageBlock]:
    """Give the verdict that rules the page, what came out, and what to do next."""
    view = found.view
    answers = [*found.misfit, *_explain_copies(found), *_explain_failed(found)]
    doubts = [*found.wrong, *found.problems] if view.is_recalibrated else [*answers, *found.wrong, *found.problems]
    yield Verdict(_judge(found, len(doubts)), well=not doubts)
    if doubts:
        yield Problems(doubts)
    if view.is_recalibrated and answers:
        yield Heading("Before recalibration")
        yield Problems(answers)
    if rows := [*_describe_labels(found), *_describe_annotators(found)]:
        yield SmallTable(rows=rows)
    yield Heading("What to do next")
    yield Steps(list(_list_steps(found)))
    cannot = list(caveats(view.model, view.named_data))
    if not isinstance(view.named_data, AnnotationTotals):
        cannot = [*design_problems(view.data), *cannot]
    if cannot:
        yield Heading("What these data cannot identify")
        yield Problems(cannot)
    if names := _find_alike(found):
        yield Heading("Names that may be the same")
        yield Problems(names)


# ------------------------------------------------------------------------------------------------------- the verdict


def _judge(found: Findings, n_doubts: int) -> str:
    view, seen = found.view, " ".join(map(_describe_errors, found.errors.values()))
    if view.is_recalibrated:
        said = "The labels are recalibrated by true labels"
        return f"{said}, and their probabilities are still off." if found.wrong else f"{said}. {seen}".strip()
    if found.wrong and not found.is_misfit:
        return "The probabilities of labels are off: read the problems below before you use the labels."
    if found.is_misfit or found.wrong:
        return "The answers are not as the model predicts them: read the problems below before you use the labels."
    if n_doubts:
        return f"Use with care: {counted(n_doubts, 'problem')} below."
    checked = "misfit" in view.diagnostics or found.check is not None
    fits = "the answers are as the model predicts them" if checked else "the fit was not compared with the answers"
    limits = {
        "point": "This fit is a point without intervals",
        "approximation": "This fit is an approximation, whose intervals are too narrow",
    }
    return f"No problems found: {fits}. {seen} {limits.get(view.yields, '')}".rstrip(" .") + "."


def _explain_copies(found: Findings) -> Iterator[str]:
    for dimension, table in found.dependence.items():
        for group in found.copies:
            pairs = table[(table["level"] == "pair") & table["first"].isin(group) & table["second"].isin(group)]
            if len(pairs) and (first := pairs.iloc[0])["correlation_ci95_lb"] > COPIES:
                yield (
                    f"{f'in {dimension!r}, ' if dimension else ''}{enumerated(group)} err together like copies: the "
                    f"errors of {first['first']} and {first['second']} on {counted(int(first['n_items']), 'item')} "
                    f"correlate by {first['correlation']:.2f} ({first['correlation_ci95_lb']:.2f} to "
                    f"{first['correlation_ci95_ub']:.2f}), where the model takes them to be independent"
                )


def _explain_failed(found: Findings) -> Iterator[str]:
    for name, p in found.failed.items():
        yield f"simulated answers hardly ever have the observed {name} (p = {p:.3f})"


def _describe_errors(errors: Errors) -> str:
    return (
        f"{errors.made:,.0f} of {counted(errors.n, 'item')} whose true label is known are labelled wrongly, and "
        f"{errors.expected:,.1f} were expected."
    )


# ------------------------------------------------------------------------------------------------------ what came out


def _describe_labels(found: Findings) -> Iterator[tuple[str, str]]:
    """Describe labels, or types, and how the model compares with the vote."""
    for part in found.parts:
        if len(part.states) == 1:
            continue
        of, state = f"{part.dimension}: " if part.dimension else "", "type" if part.is_of_types else "label"
        best = part.posterior.values.max(axis=1)
        number = pd.Series(part.best).value_counts()
        named = enumerated([f"{n:,} {name!r}" for name, n in number.items()], most=2 * MOST_NAMED)
        sure = f"{int((best >= LEAST_SURE).sum()):,} of {counted(best.size, 'item')} have a {state} of probability"
        yield f"{of}{state}s", f"{named}; {sure} {LEAST_SURE} or more{', but these are off' if found.is_off else ''}"
        if part.votes is not None and not part.is_of_types:
            yield f"{of}model and vote", _compare_with_vote(part)


def _compare_with_vote(part: FitPart) -> str:
    """Describe how often model and majority vote are right, and on how many items they differ."""
    vote = majority_vote(part.data)
    clear = ~vote["tied"].to_numpy()
    differ = int((vote["label"].to_numpy()[clear] != part.best[clear]).sum())
    ties = f"; the vote is tied on {int((~clear).sum()):,}" if not clear.all() else ""
    said = f"they differ on {differ:,} of {counted(len(vote), 'item')}{ties}"
    known = np.isfinite(part.right)
    if not known.any():
        return f"{said}; no true label is known, so nothing here says which is right more often"
    right = f"of {counted(int(known.sum()), 'known label')} the model has {part.right[known].mean():.1%} right"
    return f"{right}, the vote {vote['right'][known].mean():.1%} (a tie counts half); {said}"


def _describe_annotators(found: Findings) -> Iterator[tuple[str, str]]:
    """Name the best and the worst annotators: by the model, and by known labels."""
    model = found.view.model
    if model.competence is None:
        return
    table = annotator_table(found.view).set_index("annotator")
    for part in parts_of(found.view, need_items=False):
        of, own = f"{part.dimension}: " if part.dimension else "", table
        if part.dimension:
            own = table[table["dimension"] == part.dimension]
        if model.has_severity:  # exact matches are no measure of a grader
            severity = _name_ends(own["severity_mean"], "+.2f", ("severest", "most lenient"))
            yield f"{of}severity by {model.name}", f"{severity} (grades too low; below 0 too high)"
            spread = _name_ends(own["sd_mean"], ".2f", ("least", "most"), down=False)
            yield f"{of}spread by {model.name}", f"{spread} (standard deviation, in grades){_shared(found)}"
        else:
            competence = _name_ends(own["competence_mean"], ".2f")
            yield f"{of}annotators by {model.name}", f"{competence}{_shared(found)}"
        if "gold_agreement" in own:
            yield f"{of}annotators by known labels", _name_ends(own["gold_agreement"], ".0%")


def _shared(found: Findings) -> str:
    """Say whose competence is too high for the errors that they share."""
    named = " and ".join(enumerated(group) for group in found.copies)
    return f"; {named} err together, and are not as good as this says" if named and found.is_off else ""


def _name_ends(values: pd.Series, digits: str, ends: Sequence[str] = ("best", "worst"), *, down: bool = True) -> str:
    """Name who has the highest and the lowest values, or, unless `down`, the lowest and the highest."""
    ordered = values.dropna().sort_values(ascending=not down, kind="stable")
    said = [f"{name} {value:{digits}}" for name, value in ordered.items()]
    if len(said) <= 2 * MOST_NAMED:
        return enumerated(said)
    return f"{ends[0]} {enumerated(said[:MOST_NAMED])}; {ends[1]} {enumerated(said[-MOST_NAMED:])}"


# -------------------------------------------------------------------------------------------------------- what to do


def _list_steps(found: Findings) -> Iterator[str]:
    view = found.view
    if found.problems:
        yield "Follow the remedy that each problem above names, and fit again."
    n = len(getattr(view.named_data, "annotators", ()))
    for group in found.copies:
        if 2 * len(group) <= n:
            yield (
                f"Keep only one of {enumerated(group)}: the model takes their shared errors for confirmation. Fit "
                "again without the answers of the others, and compare the labels."
            )
        else:
            yield (
                f"{len(group)} of {counted(n, 'annotator')} err together, so that leaving out some does not help: "
                "rely on true labels of a sample."
            )
    if any(errors.made > errors.vote for errors in found.errors.values()) and found.wrong:
        yield "Until then use the majority vote (bayesanno.majority_vote), which makes fewer errors."
    if found.is_off and not view.is_recalibrated:
        by = "the known labels" if found.errors else f"the true labels of {A_FEW}"
        yield (
            f"Recalibrate by {by} (bayesanno recalibrate): the probabilities are corrected; the most probable labels "
            "mostly stay as they are."
        )
    if found.is_misfit and not found.copies:
        yield "Fit other models, and compare them (bayesanno compare)."
    if not found.is_off:
        yield from _list_uses(found)


def _list_uses(found: Findings) -> Iterator[str]:
    """List what to do with labels, or types, that can be relied on."""
    parts = [part for part in found.parts if len(part.states) > 1]
    unsure = sum(int((part.posterior.values.max(axis=1) < LEAST_SURE).sum()) for part in parts)
    what = "types" if all(part.is_of_types for part in parts) else "labels"
    if parts and not found.problems:
        yield f"Use the {what} with their probabilities (labels.csv, bayesanno.label_table)."
    if unsure:
        yield (
            f"Review the {counted(unsure, 'item')} without a probability of {LEAST_SURE} or more (first in the table "
            "of items), or ask for more answers to them (bayesanno next)."
        )
    if found.view.model.competence is not None:
        table = annotator_table(found.view)
        if low := table.loc[is_at_chance(table), "annotator"].drop_duplicates().tolist():
            yield f"Look at the answers of {enumerated(low)}: they are probably no better than chance."
    if what == "labels" and not found.errors:
        yield f"Find the true labels of {A_FEW}: only they show errors that all annotators of an item share."


def _find_alike(found: Findings) -> list[str]:
    """Return which names of the data may be the same, as a warning said when they were read."""
    parts = parts_of(found.view, need_items=False)
    labels = {name for part in parts for name in (*getattr(part.data, "labels", ()), *part.gold.values())}
    annotators = {name for part in parts for name in getattr(part.data, "annotators", ())}
    return explain_alike(labels=sorted(labels), annotators=sorted(annotators))
