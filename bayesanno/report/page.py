"""The report: one page on a fit. It needs no network, and its sections answer a reader's questions in turn.

The invariant: the template has the sentences. A function of `SHOWN` returns tables, figures and numbers that they are
about, or None where a fit has none.
"""

from __future__ import annotations

import json

from bayesanno._core.fields import as_typed
from bayesanno._core.intervals import find_bounds
from bayesanno._core.messages import counted, enumerated, percent, spell
from bayesanno.analysis.behaviour import behaviour_table
from bayesanno.analysis.labels import score
from bayesanno.analysis.recalibrate import about_recalibration, recalibration_table, view_before
from bayesanno.analysis.values import reliability_table, value_table
from bayesanno.criticism.calibration import calibration_scores
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.view import FitView, parts_of
from bayesanno.inference.diagnosis.findings import WRONG
from bayesanno.report.blocks import as_text, encode_picture, join_ends, large_table
from bayesanno.report.plots.agreement import describe_worth, plot_divergence, plot_usage
from bayesanno.report.plots.annotators import draw_annotators, plot_confusion
from bayesanno.report.plots.criticism import plot_calibration
from bayesanno.report.plots.items import draw_labels
from bayesanno.report.plots.types import plot_types
from bayesanno.report.plots.values import plot_biases, plot_values
from bayesanno.report.sections import annotators, findings, labels, systems
from bayesanno.report.sections.findings import LEAST_ITEMS, find_all

SHOWN = (
    counted, enumerated, spell, as_typed, as_text, encode_picture, join_ends, large_table, parts_of,
    labels.count_labels, labels.count_unsure, labels.compare_with_vote, labels.check_known, labels.find_hardest,
    labels.item_rows, labels.expect_progress, draw_labels,
    systems.rank_systems, systems.share_labels,
    annotators.list_at_chance, annotators.list_annotators, annotators.describe_typical, annotators.describe_pairs,
    behaviour_table, describe_worth, draw_annotators, plot_confusion, plot_divergence, plot_usage,
    findings.check_predictions, findings.scale_prior, calibration_scores, plot_calibration, plot_types, score,
    about_recalibration, find_bounds, recalibration_table, view_before,
    findings.list_modes, findings.list_cards, findings.explain_rule,
    plot_biases, plot_values, reliability_table, value_table,
)  # fmt: skip


def render(view: FitView, *, checks: bool, random_seed: int) -> str:
    """Return the page of a fit."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bayesanno.report"),
        autoescape=True,  # every value; tojson writes < as \u003c as well
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update({one.__name__: one for one in SHOWN})
    environment.filters.update(percent=percent, text=as_text, json=json.loads)
    page = environment.get_template("report.html").render(
        view=view,
        found=find_all(view, checks=checks, random_seed=random_seed),
        is_on_cluster=isinstance(view.named_data, AnnotationTotals),
        checks=checks,
        seed=random_seed,
        sure=labels.LEAST_SURE,
        most_labels=labels.MOST_LABELS,
        most_drawn=labels.MOST_DRAWN,
        wrong=WRONG,
        least_items=LEAST_ITEMS,
    )
    return page.lstrip()  # of the lines that only define parts of the page
