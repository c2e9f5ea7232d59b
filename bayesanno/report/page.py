"""The report: one page on a fit. It needs no network, and its sections answer a reader's questions in turn.

The invariant: the template has the sentences. A function of `SHOWN` returns tables, figures and numbers that they are
about, or None where a fit has none.
"""

from __future__ import annotations

import json
from pathlib import Path

from bayesanno._core.fields import as_typed
from bayesanno._core.files import write_whole
from bayesanno._core.intervals import find_bounds
from bayesanno._core.messages import DataFileError, counted, enumerated, percent
from bayesanno.analysis.behaviour import behaviour_table
from bayesanno.analysis.labels import score
from bayesanno.analysis.recalibrate import about_recalibration, recalibration_table, view_before
from bayesanno.analysis.views import view_for_table
from bayesanno.criticism.calibration import calibration_scores
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.storage import require_fit
from bayesanno.fits.view import Fit, FitView, parts_of
from bayesanno.inference.diagnosis.findings import WRONG
from bayesanno.report.blocks import as_text, encode_picture, join_ends, large_table
from bayesanno.report.plots.agreement import describe_worth, plot_divergence, plot_usage
from bayesanno.report.plots.annotators import draw_annotators, plot_confusion
from bayesanno.report.plots.criticism import plot_calibration
from bayesanno.report.plots.types import plot_types
from bayesanno.report.sections import annotators, findings, labels, systems
from bayesanno.report.sections.findings import LEAST_ITEMS, find_all

SHOWN = (
    counted, enumerated, as_typed, as_text, encode_picture, join_ends, large_table, parts_of,
    labels.count_labels, labels.count_unsure, labels.compare_with_vote, labels.check_known, labels.find_hardest,
    labels.item_rows, labels.expect_progress,
    systems.rank_systems, systems.share_labels,
    annotators.list_at_chance, annotators.list_annotators, annotators.describe_typical, annotators.describe_pairs,
    behaviour_table, describe_worth, draw_annotators, plot_confusion, plot_divergence, plot_usage,
    findings.check_predictions, findings.scale_prior, calibration_scores, plot_calibration, plot_types, score,
    about_recalibration, find_bounds, recalibration_table, view_before,
    findings.list_modes, findings.list_cards,
)  # fmt: skip


def write_report(fit: Fit, path: str | Path, *, checks: bool = True, random_seed: int | None = None) -> Path:
    """Write a fit's report: one HTML page that holds all it shows, pictures and tables included.

    It opens with one verdict on the fit and the findings that it rests on. Then come the labels, beside the majority
    vote; the leaderboard, where items compare systems or have a column `system`; who is no better than chance; and what
    to do next. The sections after that show the systems, all items, the recalibration, if any, the annotators, what
    more answers would bring, what the model fails to predict, how much the prior mattered, whether the fit converged,
    and how it was made. Where the labels or the answers contradict the fit's probabilities, all that rests on these
    says so, or is left out.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        By any method.
    path : str or Path
        The file; one that exists is replaced, once the new one is whole.
    checks : bool
        Whether to simulate answers and compare them with the observed ones (`predictive_check`), to scale prior and
        likelihood (`power_scaling_table`), and to look ahead (`expected_progress`): some seconds; no
        use for a fit by EM.
    random_seed : int, optional
        The seed of the checks; by default the fit's own, so that the same fit has the same page.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno, or its data are incomplete.
    DataFileError
        If there is no folder to write to.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.write_report(fit, "crowd.html")  # doctest: +SKIP
    """
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise DataFileError(f"there is no folder {path.absolute().parent} to write {path.name} into")
    view = view_for_table(fit)
    require_fit(view.tree)
    seed = int(view.tree.attrs["random_seed"]) if random_seed is None else random_seed
    page = render(view, checks=checks, random_seed=seed)
    with write_whole(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8", newline="\n")
    return path


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
        wrong=WRONG,
        least_items=LEAST_ITEMS,
    )
    return page.lstrip()  # of the lines that only define parts of the page
