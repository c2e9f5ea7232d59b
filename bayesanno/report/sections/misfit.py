"""Does the model fit the answers? The fit's own check; where true labels are known, errors expected and made."""

from __future__ import annotations

from bayesanno.analysis.accuracy import Errors, count_errors
from bayesanno.analysis.parts import parts_of
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.view import FitView
from bayesanno.ground.wording import counted
from bayesanno.inference.diagnosis.explain_misfit import CANNOT_SEE, describe_misfit, explain_misfit
from bayesanno.io.alike import explain_alike
from bayesanno.report.blocks import Block, Heading, Problems, Text, Verdict

MOST_P = 0.01  # that labels are too sure by chance
MOST_P_VOTE = 0.05  # that they are worse than the vote by chance


def judge_answers(view: FitView) -> list[Block]:
    """Return whether the answers are as the model predicts them, and whether labels are as sure as they should be."""
    off, checked = explain_misfit(view.diagnostics), "misfit" in view.diagnostics
    counts = {} if isinstance(view.named_data, AnnotationTotals) else _count(view)
    wrong = [text for dimension, errors in counts.items() for text in explain_errors(errors, dimension)]
    seen = " ".join(map(_describe, counts.values()))
    blocks: list[Block] = []
    if view.is_recalibrated:
        said = "The labels are recalibrated by true labels."
        still = "The labels are recalibrated by true labels, and their probabilities are still off."
        blocks.append(Verdict(still if wrong else f"{said} {seen}".strip(), well=not wrong))
        blocks += [Problems(wrong)] if wrong else []
        blocks += [Heading("Before recalibration"), Problems(off)] if off else []
    elif off or wrong:
        what = "The answers are not as the model predicts them" if off else "The probabilities of labels are off"
        blocks.append(Verdict(f"{what}: read the problems below before you use the labels.", well=False))
        blocks.append(Problems([*off, *wrong]))
    else:
        near = "; ".join(filter(None, map(describe_misfit, view.diagnostics.get("misfit", []))))
        said = f"The answers are as the model predicts them ({near})." if near else ""
        if said or seen:
            blocks.append(Verdict(f"{said} {seen}".strip(), well=True))
        if checked and not counts:
            blocks.append(Text(CANNOT_SEE))
    if not checked:
        blocks.append(Text("The fit was not compared with the answers."))
    if names := _find_alike(view):
        blocks += [Heading("Names that may be the same"), Problems(names)]
    return blocks


def explain_errors(errors: Errors, dimension: str = "") -> list[str]:
    """Say how labels are wrong beyond chance; empty if they are as sure as they should be, and as good as the vote."""
    where = f"in {dimension!r}, " if dimension else ""
    said = []
    if errors.p < MOST_P:
        said.append(
            f"{where}of {counted(errors.n, 'item')} whose true label is known, {errors.made:,.0f} are labelled "
            f"wrongly, where {errors.expected:,.1f} were expected: the labels are too sure"
        )
    if errors.p_vote < MOST_P_VOTE:
        said.append(
            f"{where}the majority vote makes fewer errors ({errors.vote:,.1f}) than these labels ({errors.made:,.0f}): "
            "use the vote, or compare with another model (bayesanno.compare)"
        )
    return said


def _describe(errors: Errors) -> str:
    return (
        f"Of {counted(errors.n, 'item')} whose true label is known, {errors.made:,.0f} are labelled wrongly, and "
        f"{errors.expected:,.1f} were expected."
    )


def _count(view: FitView) -> dict[str, Errors]:
    counts = {part.dimension: count_errors(part) for part in parts_of(view)}
    return {dimension: errors for dimension, errors in counts.items() if errors is not None}


def _find_alike(view: FitView) -> list[str]:
    """Return what of the names of the data may be one, as reading them warned of."""
    parts = parts_of(view, need_items=False)
    labels = {name for part in parts for name in (*getattr(part.data, "labels", ()), *part.gold.values())}
    annotators = {name for part in parts for name in getattr(part.data, "annotators", ())}
    return explain_alike(labels=sorted(labels), annotators=sorted(annotators))
