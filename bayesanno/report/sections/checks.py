"""How good is the model? What it fails to predict, how calibrated it is, with true labels or without, and its prior."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.wording import counted, enumerated
from bayesanno.analysis.labels import score
from bayesanno.analysis.recalibrate import about_recalibration, recalibration_table
from bayesanno.analysis.recalibrated import view_before
from bayesanno.criticism.calibration import calibration_scores
from bayesanno.criticism.power_scaling import THRESHOLD, power_scaling_table
from bayesanno.criticism.predictive import PredictiveCheck
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import parts_of
from bayesanno.fits.view import FitView
from bayesanno.inference.diagnosis.findings import WRONG
from bayesanno.modeling.findings import threshold_of
from bayesanno.report.blocks import Heading, PageBlock, Text, draw, small_table
from bayesanno.report.plots.criticism import plot_calibration
from bayesanno.report.plots.style import WORDS
from bayesanno.report.plots.types import plot_types
from bayesanno.report.sections.findings import Findings, p_values

SMALL = threshold_of("statistic-off")  # p-values below it are reported
MOST_ROWS = 10  # parameters that are listed
MOST_CHECKED = 12  # statistics, and values of them, that are listed
# Largest variable that is scaled besides competence: the more elements, the more are sensitive by chance.
MOST_OF_ONE = 20
SENSITIVITY = ["parameter", "mean", "sd", "prior", "likelihood", "prior_slope", "diagnosis"]


def check_model(found: Findings, *, checks: bool, random_seed: int) -> Iterator[PageBlock]:
    """Show what a model predicts of the observed answers and of gold, and how much it depends on its prior."""
    view = found.view
    if isinstance(view.named_data, AnnotationTotals):
        yield Text("The fit holds no answers to compare with: compare models on a part of the data, in memory.")
        return
    if any(part.is_of_types and part.votes is None for part in parts_of(view)):
        yield draw(plot_types(view), "Observed counts, and counts that the types of items predict.")
    if view.yields == "point":
        yield Text("A point estimate has no uncertainty, so it was not compared with the answers.")
    elif found.check is not None:
        yield from _show_predictions(found, found.check)
    else:
        yield Text("The predictions were not compared with the answers; bayesanno report does this.")
    if score(view):
        yield from _show_calibration(view, random_seed)
    if checks and view.yields == "mcmc" and {"log_prior", "log_likelihood"} <= set(view.tree.children):
        yield from _show_prior(view)


def _show_predictions(found: Findings, check: PredictiveCheck) -> Iterator[PageBlock]:
    p = p_values(check)
    small = [f"{name} (p = {one:.3f})" for name, one in p.items() if one < SMALL]
    how = f"Of {counted(len(p), 'statistic')} of simulated answers, "
    if small:
        chance = 1 - (1 - SMALL) ** len(p)
        how += f"{len(small)} differ from the observed ones with p below {SMALL}: {enumerated(small)}. "
        how += f"By chance alone, this happens in up to {chance:.0%} of fits of a correct model."
    else:
        how += f"none differs from the observed ones with p below {SMALL}."
    if (found.is_misfit or found.has(*WRONG)) and not found.has("statistic-off"):
        how += " These statistics cannot see the problems listed at the top of the page."
    yield Heading("Does it predict the observed answers?")
    yield Text(how)
    said = "Statistics as a whole (of several values: how far they are from what is predicted), then single values"
    yield small_table(_list_predictions(check), caption=f"{said}; those with the smallest p come first")


def _list_predictions(check: PredictiveCheck) -> pd.DataFrame:
    """Return what was observed and predicted of the statistics as a whole, and of the values with the smallest p."""
    every = check.table
    low, high, interval = find_bounds(every)
    by = [name for name in ("dimension", "statistic") if name in every]
    alone = every.groupby(by)["of"].transform("size") == 1  # a statistic of one number
    whole: pd.Series = every["statistic"].map(WORDS) + np.where(alone, "", ": distance")
    table = every[by].assign(
        of=every["of"].where(every["level"] == "each", whole),
        observed=every["observed"],
        predicted=every["mean"],
        **{interval: [f"{ends[0]:.4g} to {ends[1]:.4g}" for ends in every[[low, high]].to_numpy()]},
        p=every["p"].round(3),
    )
    return table.iloc[np.lexsort((every["p"], every["level"] == "each"))[:MOST_CHECKED]]


def _show_calibration(view: FitView, random_seed: int) -> Iterator[PageBlock]:
    yield Heading("Are labels right as often as their probabilities say?")
    yield draw(plot_calibration(view), "Share of labels that are right (vertical), by their probability.")
    if view.has_severity and view.data.labels_are_ordered:
        said = "Share of true grades that are at most a grade (vertical), by the probability of that, for all grades."
        yield draw(plot_calibration(view, cumulative=True), said)
    yield small_table(calibration_scores(view, random_seed=random_seed))


def _show_prior(view: FitView) -> Iterator[PageBlock]:
    yield Heading("How much did the prior matter?")
    few = [str(name) for name, values in view.posterior.items() if values[0, 0].size <= MOST_OF_ONE]
    competence = [view.model.competence] if view.model.competence is not None else []
    table = power_scaling_table(view, list(dict.fromkeys([*competence, *few])))
    moving = table[table["diagnosis"].str.startswith("potential")]
    moved = f"{len(moving):,} of {counted(len(table), 'parameter')} would move noticeably with a stronger prior"
    how = f"power-scaling: a sensitivity above {THRESHOLD} and beyond chance, Kallioinen et al. 2024"
    yield Text(f"{moved} ({how}).")
    if len(moving):
        yield small_table(moving.nlargest(MOST_ROWS, "prior")[SENSITIVITY], caption="The most sensitive parameters")


def show_recalibration(view: FitView) -> Iterator[PageBlock]:
    """Show what was learnt from true labels: in words, in a table, and how right labels are before and after."""
    if not view.is_recalibrated:
        return
    table = recalibration_table(view)
    for dimension, about in about_recalibration(view).items():
        if dimension:
            yield Heading(dimension)
        own = table if not dimension else table[table["dimension"] == dimension].drop(columns="dimension")
        yield from _show_one(about, own)
    said = "Share of known items whose label is right (vertical), by its probability."
    yield draw(plot_calibration({"before": view_before(view), "recalibrated": view}), said)


def _show_one(about: dict[str, Any], table: pd.DataFrame) -> Iterator[PageBlock]:
    temperature, n = about["temperature"], counted(about["n_known"], "item")
    lower, upper, interval = find_bounds(temperature)
    low, high = temperature[lower], temperature[upper]
    between = f"between {low:.3g} and {high:.3g} ({interval})"
    if low <= 1 <= high:
        said = f"Labels may have been calibrated already: the temperature is {between}, and 1 changes nothing"
    else:
        how = "overconfident" if low > 1 else "underconfident"
        said = f"Labels were {how}: their log odds were divided by a temperature {between}"
    yield Text(f"{said}. It was estimated from the true labels of {n}, which the fit had not used.")
    scores = {
        "before recalibration": about["log_score_before"],
        "recalibrated, each item without its own true label": about["log_score"],
        "by the frequencies of labels among the other known items": about["log_score_shares"],
    }
    yield small_table(pd.DataFrame(scores.items(), columns=["mean log score of the true labels", "nats"]))
    yield small_table(table)
