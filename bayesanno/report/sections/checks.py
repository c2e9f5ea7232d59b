"""How good is the model? What it fails to predict, how calibrated it is, and how much its prior mattered."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.analysis.accuracy import score
from bayesanno.criticism.calibration import calibration_scores
from bayesanno.criticism.power_scaling import THRESHOLD, power_scaling_table
from bayesanno.criticism.predictive import predictive_check
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.parts import parts_of
from bayesanno.fits.view import FitView
from bayesanno.ground.wording import counted, enumerated
from bayesanno.report.blocks import Heading, PageBlock, Text, draw, small_table
from bayesanno.report.plots.criticism import plot_calibration, plot_predictive_check
from bayesanno.report.plots.prior import plot_prior_posterior
from bayesanno.report.plots.types import plot_types

SMALL = 0.05  # p-values below this are reported
REPLICATES = 200  # tables that are simulated: enough to see a p-value below that
MOST_ROWS = 10  # parameters that are listed
# Largest variable that is scaled besides competence: the more elements, the more are sensitive by chance.
MOST_OF_ONE = 20
SENSITIVITY = ["parameter", "mean", "sd", "prior", "likelihood", "prior_slope", "diagnosis"]


def check_model(view: FitView, *, checks: bool, random_seed: int) -> Iterator[PageBlock]:
    """Show what a model predicts of the observed answers and of gold, and how much it depends on its prior."""
    if isinstance(view.named_data, AnnotationTotals):
        yield Text("The fit holds no answers to compare with: compare models on a part of the data, in memory.")
        return
    if any(part.is_of_types and part.votes is None for part in parts_of(view)):
        yield draw(plot_types(view), "Observed counts, and counts that the types of items predict.")
    if view.yields == "point":
        yield Text("A point has no uncertainty, and is not compared with the answers.")
    elif checks:
        yield from _show_predictions(view, random_seed)
    else:
        yield Text("Its predictions were not compared with the answers: bayesanno report does that.")
    if score(view):
        yield from _show_calibration(view, random_seed)
    if checks and view.yields == "mcmc" and {"log_prior", "log_likelihood"} <= set(view.tree.children):
        yield from _show_prior(view)


def _show_predictions(view: FitView, random_seed: int) -> Iterator[PageBlock]:
    check = predictive_check(view, replicates=REPLICATES, random_seed=random_seed)
    whole = check.table[check.table["of"] == ""]
    names = whole["statistic"] if "dimension" not in whole else whole["dimension"] + ": " + whole["statistic"]
    failed = [f"{name} (p = {p:.3f})" for name, p in zip(names, whole["p"], strict=True) if p < SMALL]
    verdict = f"It does not predict {enumerated(failed)}" if failed else "It predicts every statistic that was tried"
    how = "answers simulated from the posterior, against the observed ones"
    yield Heading("Does it predict the observed answers?")
    yield Text(f"{verdict}: {how}, in {counted(len(whole), 'statistic')}.")
    said = "Points are observed values, bars the middle 94% of predicted values."
    yield draw(plot_predictive_check(check), said, alt=f"Predictive checks: {how}")


def _show_calibration(view: FitView, random_seed: int) -> Iterator[PageBlock]:
    yield Heading("Are labels right as often as their probabilities say?")
    yield draw(plot_calibration(view), "Share of labels that are right (vertical), by their probability.")
    if view.model.has_severity and view.data.labels_are_ordered:
        said = "Share of true grades that are at most a grade (vertical), by the probability of that, for all grades."
        yield draw(plot_calibration(view, cumulative=True), said)
    yield small_table(calibration_scores(view, random_seed=random_seed))


def _show_prior(view: FitView) -> Iterator[PageBlock]:
    yield Heading("How much did the prior matter?")
    said = "Prior (pale) and posterior of some parameters; those that moved most come first."
    yield draw(plot_prior_posterior(view), said)
    few = [str(name) for name, values in view.posterior.items() if values[0, 0].size <= MOST_OF_ONE]
    competence = [view.model.competence] if view.model.competence is not None else []
    table = power_scaling_table(view, list(dict.fromkeys([*competence, *few])))
    moving = table[table["diagnosis"].str.startswith("potential")]
    moved = f"{len(moving):,} of {counted(len(table), 'parameter')} would move noticeably with a stronger prior"
    how = f"power-scaling: a sensitivity above {THRESHOLD} and beyond chance, Kallioinen et al. 2024"
    yield Text(f"{moved} ({how}).")
    if len(moving):
        yield small_table(moving.nlargest(MOST_ROWS, "prior")[SENSITIVITY], caption="Those that move most")
