"""Does the model fit the answers? The fit's own check; where true labels are known, errors expected and made."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import parts_of
from bayesanno.fits.view import FitView
from bayesanno.ground.wording import counted
from bayesanno.inference.diagnosis.explain_misfit import (
    CANNOT_SEE,
    describe_adjustment,
    describe_misfit,
    explain_misfit,
)
from bayesanno.inference.diagnosis.gold import Errors, count_errors, explain_errors
from bayesanno.io.names import explain_alike
from bayesanno.report.blocks import Heading, PageBlock, Problems, Text, Verdict


def judge_answers(view: FitView) -> Iterator[PageBlock]:
    """Judge whether the answers are as the model predicts them, and whether labels are as sure as they should be."""
    off, checked = explain_misfit(view.diagnostics), "misfit" in view.diagnostics
    counts = {} if isinstance(view.named_data, AnnotationTotals) else _count(view)
    wrong = [text for dimension, errors in counts.items() for text in explain_errors(errors, dimension)]
    seen = " ".join(map(_describe, counts.values()))
    if view.is_recalibrated:
        said = "The labels are recalibrated by true labels"
        still = f"{said}, and their probabilities are still off."
        yield Verdict(still if wrong else f"{said}. {seen}".strip(), well=not wrong)
        if wrong:
            yield Problems(wrong)
        if off:
            yield Heading("Before recalibration")
            yield Problems(off)
    elif off or wrong:
        what = "The answers are not as the model predicts them" if off else "The probabilities of labels are off"
        yield Verdict(f"{what}: read the problems below before you use the labels.", well=False)
        yield Problems([*off, *wrong])
        for done in filter(None, map(describe_adjustment, view.diagnostics.get("misfit", []))):
            yield Text(f"{done[0].upper()}{done[1:]}.")
    else:
        near = "; ".join(filter(None, map(describe_misfit, view.diagnostics.get("misfit", []))))
        said = f"The answers are as the model predicts them ({near})." if near else ""
        if said or seen:
            yield Verdict(f"{said} {seen}".strip(), well=True)
        if checked and not counts:
            yield Text(CANNOT_SEE)
    if not checked:
        yield Text("The fit was not compared with the answers.")
    if names := _find_alike(view):
        yield Heading("Names that may be the same")
        yield Problems(names)


def _describe(errors: Errors) -> str:
    return (
        f"{errors.made:,.0f} of {counted(errors.n, 'item')} whose true label is known are labelled wrongly, and "
        f"{errors.expected:,.1f} were expected."
    )


def _count(view: FitView) -> dict[str, Errors]:
    counts = {part.dimension: count_errors(part) for part in parts_of(view)}
    return {dimension: errors for dimension, errors in counts.items() if errors is not None}


def _find_alike(view: FitView) -> list[str]:
    """Return which names of the data may be the same, as a warning said when they were read."""
    parts = parts_of(view, need_items=False)
    labels = {name for part in parts for name in (*getattr(part.data, "labels", ()), *part.gold.values())}
    annotators = {name for part in parts for name in getattr(part.data, "annotators", ())}
    return explain_alike(labels=sorted(labels), annotators=sorted(annotators))
