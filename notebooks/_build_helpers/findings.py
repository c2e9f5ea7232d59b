"""The page of findings, made from their rules."""

from __future__ import annotations

from pathlib import Path

from _build_helpers.models import write
from bayesanno.modeling.findings import Finding, Rule, find, read_rules

ABOUT = """# Findings

`ba.findings(fit)` lists what was found of a fit: one row for each thing. The terminal, warnings, `run.json` and the
report read the same list. A code names a rule, and this page explains each.

| level | meaning |
|---|---|
| stop | do not use the results as they are |
| care | read this before you use the results |
| note | good to know |

A model of your own adds its findings by its methods `findings(data)`, before the fit, and
`findings_of_posterior(posterior)`, after it.
"""


def write_findings(folder: Path) -> None:
    """Write the page of all rules."""
    parts = [ABOUT, *(_section(code, rule) for code, rule in read_rules().items())]
    write(folder / "findings.md", "\n".join(parts))


def render_example(code: str, rule: Rule) -> Finding:
    """Return the finding of a rule's example."""
    example = dict(rule.example)
    return find(code, example.pop("about", ()), example.pop("value", None), **example)


def _section(code: str, rule: Rule) -> str:
    example = render_example(code, rule)
    warns = f", raises a {rule.warning}" if rule.warning else ""
    limit = f" The threshold is {rule.threshold:g}." if rule.threshold is not None else ""
    typed = f" On the command line: {example.command}" if example.command != example.remedy else ""
    return (
        f"## {code}\n\nLevel: {rule.level}{warns}.\n\n"
        f"**Measured.** {rule.measured}{limit}\n\n**Why.** {rule.why}\n\n**What to do.** {example.remedy}{typed}\n\n"
        f"For example:\n\n```text\n{example.text}\n```\n"
    )
