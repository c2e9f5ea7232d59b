"""How good is the model? What it fails to predict, how calibrated it is, and how much its prior mattered."""

from __future__ import annotations

from bayesanno.analysis.accuracy import score
from bayesanno.analysis.parts import parts_of
from bayesanno.criticism.calibration import calibration_scores
from bayesanno.criticism.power_scaling import THRESHOLD, power_scaling_table
from bayesanno.criticism.predictive import predictive_check
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.view import FitView
from bayesanno.ground.wording import counted, enumerated
from bayesanno.report.blocks import Block, Heading, Text, draw, table_of
from bayesanno.report.plots.criticism import plot_calibration, plot_predictive_check
from bayesanno.report.plots.prior import plot_prior_posterior
from bayesanno.report.plots.types import plot_types

SMALL = 0.05  # p-values below this are reported
REPLICATES = 200  # tables that are simulated: enough to see a p-value below that
MOST_ROWS = 10  # parameters that are listed
# Largest variable that is scaled besides competence: the more elements, the more are sensitive by chance.
MOST_OF_ONE = 20
SENSITIVITY = ["parameter", "mean", "sd", "prior", "likelihood", "prior_slope", "diagnosis"]


def check_model(view: FitView, *, checks: bool, random_seed: int) -> list[Block]:
    """Return what a model says of the answers that were seen, of gold, and of its own prior."""
    if isinstance(view.named_data, AnnotationTotals):
        return [Text("The fit holds no answers to compare with: compare models on a part of the data, in memory.")]
    blocks: list[Block] = []
    if any(part.is_of_types and part.votes is None for part in parts_of(view)):
        said = "Observed counts, and counts that the types of items predict."
        blocks.append(draw(plot_types(view), said))
    if view.yields == "point":
        blocks.append(Text("A point has no uncertainty, and is not compared with the answers."))
    elif checks:
        blocks += _predict(view, random_seed)
    else:
        blocks.append(Text("Its predictions were not compared with the answers: bayesanno report does that."))
    if score(view):
        blocks += _calibrate(view, random_seed)
    if checks and view.yields == "mcmc" and {"log_prior", "log_likelihood"} <= set(view.tree.children):
        blocks += _scale(view)
    return blocks


def _predict(view: FitView, random_seed: int) -> list[Block]:
    check = predictive_check(view, replicates=REPLICATES, random_seed=random_seed)
    whole = check.table[check.table["of"] == ""]
    names = whole["statistic"] if "dimension" not in whole else whole["dimension"] + ": " + whole["statistic"]
    failed = [f"{name} (p = {p:.3f})" for name, p in zip(names, whole["p"], strict=True) if p < SMALL]
    verdict = f"It does not predict {enumerated(failed)}" if failed else "It predicts every statistic that was tried"
    how = "answers simulated from the posterior, against the observed ones"
    return [
        Heading("Does it predict the observed answers?"),
        Text(f"{verdict}: {how}, in {counted(len(whole), 'statistic')}."),
        draw(
            plot_predictive_check(check),
            "Points are observed values, bars the middle 94% of predicted values.",
            alt=f"Predictive checks: {how}",
        ),
    ]


def _calibrate(view: FitView, random_seed: int) -> list[Block]:
    said = "Share of labels that are right (vertical), by their probability."
    blocks: list[Block] = [
        Heading("Are labels right as often as their probabilities say?"),
        draw(plot_calibration(view), said),
    ]
    if view.model.has_severity and view.data.labels_are_ordered:
        said = "Share of true grades that are at most a grade (vertical), by the probability of that, for all grades."
        blocks.append(draw(plot_calibration(view, cumulative=True), said))
    return [*blocks, table_of(calibration_scores(view, random_seed=random_seed))]


def _scale(view: FitView) -> list[Block]:
    said = "Prior (pale) and posterior of some parameters; those that moved most come first."
    blocks: list[Block] = [
        Heading("How much did the prior matter?"),
        draw(plot_prior_posterior(view), said),
    ]
    few = [str(name) for name, values in view.posterior.items() if values[0, 0].size <= MOST_OF_ONE]
    competence = view.model.competence
    names = [competence, *few] if competence is not None and competence not in few else few
    table = power_scaling_table(view, names)
    moving = table[table["diagnosis"].str.startswith("potential")]
    moved = f"Of {counted(len(table), 'parameter')}, {len(moving):,} would move noticeably with a stronger prior"
    how = f"power-scaling: a sensitivity above {THRESHOLD} and beyond chance, Kallioinen et al. 2024"
    blocks.append(Text(f"{moved} ({how})."))
    if len(moving):
        blocks.append(table_of(moving.nlargest(MOST_ROWS, "prior")[SENSITIVITY], caption="Those that move most"))
    return blocks
