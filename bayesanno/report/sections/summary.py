"""What is the result, and what next? One verdict; labels, vote, annotators; what to do. Diagnostics come later."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.wording import counted, enumerated
from bayesanno.agreement.vote import majority_vote
from bayesanno.analysis.annotators import annotator_table
from bayesanno.fits.parts import FitPart, parts_of
from bayesanno.io.names import explain_alike
from bayesanno.report.blocks import Heading, PageBlock, Problems, SmallTable, Steps, Text, Verdict
from bayesanno.report.sections.findings import Findings

LEAST_SURE = 0.9  # a label less probable than that may need another look
MOST_NAMED = 3  # annotators, or labels, that are named at either end
LIMITS = {
    "point": " This fit is a point without intervals.",
    "approximation": " This fit is an approximation, whose intervals are too narrow.",
}


def summarise(found: Findings) -> Iterator[PageBlock]:
    """Give the verdict that rules the page, what came out, and what to do next."""
    doubts = [one for one in found.listed if one.level != "note"]
    yield Verdict(_judge(found), well=not doubts)
    if found.listed:
        yield Problems([f"{one.code} ({one.level}): {one.message}" for one in found.listed])
        yield Text("The page Findings of the documentation explains each code.")
    if rows := [*_describe_labels(found), *_describe_annotators(found)]:
        yield SmallTable(rows=rows)
    yield Heading("What to do next")
    yield Steps(list(_list_steps(found)))
    if names := _find_alike(found):
        yield Heading("Names that may be the same")
        yield Problems(names)


# ------------------------------------------------------------------------------------------------------- the verdict


def _judge(found: Findings) -> str:
    """Return the verdict, by the levels of the findings."""
    view, gold = found.view, found.view.diagnostics.get("gold", {}).values()
    n_stop, n_care = (sum(one.level == level for one in found.listed) for level in ("stop", "care"))
    known = "The labels are recalibrated by true labels. " if view.is_recalibrated else ""
    if n_stop or n_care:
        how = "Do not use these results as they are" if n_stop else "Use with care"
        return f"{known}{how}: {counted(n_stop + n_care, 'finding')} below."
    checked = "misfit" in view.diagnostics or found.check is not None
    fits = "the answers are as the model predicts them" if checked else "the fit was not compared with the answers"
    seen = [
        f" Of {counted(one['n'], 'known label')}, {one['made']:,.0f} are wrong, {one['expected']:,.1f} were expected."
        for one in gold
    ]
    return f"{known}No problems found: {fits}.{''.join(seen)}{LIMITS.get(view.yields, '')}"


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
    vote, known = majority_vote(part.data), np.isfinite(part.right)
    clear = ~vote["tied"].to_numpy()
    differ = int((vote["label"].to_numpy() != part.best)[clear].sum())
    said = f"they differ on {differ:,} of {counted(len(vote), 'item')}; the vote is tied on {int((~clear).sum()):,}"
    if not known.any():
        return f"{said}; no true label is known, so nothing here says which is right more often"
    right = f"of {counted(int(known.sum()), 'known label')} the model has {part.right[known].mean():.1%} right"
    return f"{right}, the vote {vote['right'][known].mean():.1%} (a tie counts half); {said}"


def _describe_annotators(found: Findings) -> Iterator[tuple[str, str]]:
    """Name the annotators at either end: by the model, and by known labels."""
    view = found.view
    if view.model.competence is None:
        return
    table, by = annotator_table(view).set_index("annotator"), f"by {view.model.name}"
    ends = {"competence_mean": ("annotators", ".2f", "")}
    if view.has_severity:  # exact matches are no measure of a grader
        ends = {
            "severity_mean": ("severity", "+.2f", " (grades too low; below 0 too high)"),
            "sd_mean": ("spread", ".2f", " (standard deviation, in grades)"),
        }
    for part in parts_of(view, need_items=False):
        own = table[table["dimension"] == part.dimension] if part.dimension else table
        of = f"{part.dimension}: " if part.dimension else ""
        for column, (what, digits, unit) in ends.items():
            yield f"{of}{what} {by}", f"{_name_ends(own[column], digits)}{unit}"
        if "gold_agreement" in own:
            yield f"{of}annotators by known labels", _name_ends(own["gold_agreement"], ".0%")


def _name_ends(values: pd.Series, digits: str) -> str:
    """Name who has the highest and the lowest values."""
    ordered = values.dropna().sort_values(ascending=False, kind="stable")
    said = [f"{name} {value:{digits}}" for name, value in ordered.items()]
    if len(said) <= 2 * MOST_NAMED:
        return enumerated(said)
    return f"highest {enumerated(said[:MOST_NAMED])}; lowest {enumerated(said[-MOST_NAMED:])}"


def _list_steps(found: Findings) -> Iterator[str]:
    """List the remedies of the findings, the most serious first, and what to do with labels that can be relied on."""
    yield from dict.fromkeys(one.remedy for one in found.listed if one.level != "note")
    parts = [part for part in found.parts if len(part.states) > 1]
    what = "types" if all(part.is_of_types for part in parts) else "labels"
    if found.is_off or not parts:
        return
    if not found.has_problems:
        yield f"Use the {what} with their probabilities (labels.csv, bayesanno.label_table)."
    if unsure := sum(int((part.posterior.values.max(axis=1) < LEAST_SURE).sum()) for part in parts):
        yield (
            f"Review the {counted(unsure, 'item')} without a probability of {LEAST_SURE} or more (first in the table "
            "of items), or ask for more answers to them (bayesanno next)."
        )
    if what == "labels" and not found.view.diagnostics.get("gold"):
        yield (
            "Find the true labels of 20 to 100 items drawn at random: only they show errors that all annotators of an "
            "item share."
        )


def _find_alike(found: Findings) -> list[str]:
    """Return which names of the data may be the same, as a warning said when they were read."""
    parts = parts_of(found.view, need_items=False)
    labels = {name for part in parts for name in (*getattr(part.data, "labels", ()), *part.gold.values())}
    annotators = {name for part in parts for name in getattr(part.data, "annotators", ())}
    return explain_alike(labels=sorted(labels), annotators=sorted(annotators))
