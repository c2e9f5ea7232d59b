"""The report: one page on a fit. It needs no network, and its sections answer a reader's questions in turn."""

from __future__ import annotations

from pathlib import Path

from bayesanno._core.errors import DataFileError
from bayesanno._core.files import write_whole
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.storage import require_fit
from bayesanno.fits.view import Fit, FitView
from bayesanno.report.blocks import Section
from bayesanno.report.sections.annotators import show_annotators, show_dependence
from bayesanno.report.sections.checks import check_model, show_recalibration
from bayesanno.report.sections.findings import find_all
from bayesanno.report.sections.fitting import describe_origin, judge_chains
from bayesanno.report.sections.labels import ask_of_items, show_items, show_progress
from bayesanno.report.sections.ranking import show_ranking, show_systems
from bayesanno.report.sections.summary import summarise


def write_report(fit: Fit, path: str | Path, *, checks: bool = True, random_seed: int | None = None) -> Path:
    """Write a fit's report: one HTML page that holds all it shows, pictures and tables included.

    It opens with one verdict on the fit, the labels, the model beside the majority vote, the best and the worst
    annotators, and what to do next. Then it shows the ranking, where items compare systems; the labels of each system,
    where items have a column `system`; the items that need another look; the recalibration, if any; the annotators;
    what more answers would bring; what the model fails to predict, and how much the prior mattered; whether the fit
    converged; and how it was made. Where the labels or the answers contradict the fit's probabilities, all that rests
    on these says so, or is left out.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        By any method.
    path : str or Path
        The file; one that exists is replaced, once the new one is whole.
    checks : bool
        Whether to simulate answers and compare them with the observed ones (`predictive_check`), to scale prior and
        likelihood (`power_scaling_table`), and to look ahead (`expected_progress`, `stopping_table`): some seconds; no
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
    from jinja2 import Environment, PackageLoader, StrictUndefined

    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise DataFileError(f"there is no folder {path.absolute().parent} to write {path.name} into")
    view = view_for_table(fit)
    require_fit(view.tree)
    seed = int(view.tree.attrs["random_seed"]) if random_seed is None else random_seed
    environment = Environment(
        loader=PackageLoader("bayesanno.report"),
        autoescape=True,  # every value; tojson writes < as \u003c as well
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("report.html").render(
        title=f"{view.model.name}: {view.named_data.describe()}",
        subtitle=f"fitted by {view.tree.attrs['method']}, seed {view.tree.attrs['random_seed']}",
        sections=list_sections(view, checks=checks, random_seed=seed),
        footer="Written by bayesanno. The numbers are those of the tables in the same folder, rounded.",
    )
    with write_whole(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8", newline="\n")
    return path


def list_sections(view: FitView, *, checks: bool, random_seed: int) -> list[Section]:
    """Return the sections of a fit's report, in reading order; a question without an answer is left out."""
    found = find_all(view, checks=checks, random_seed=random_seed)
    asked = [
        ("summary", "What is the result, and what next?", summarise(found)),
        ("ranking", "Which system is best?", show_ranking(found)),
        ("systems", "How do the systems compare?", show_systems(found, random_seed=random_seed)),
        ("labels", ask_of_items(view), show_items(found)),
        ("recalibration", "What did recalibration change?", show_recalibration(view)),
        ("annotators", "Who are the annotators?", show_annotators(found)),
        ("dependence", "Do annotators err together?", show_dependence(found)),
        ("progress", "What would more answers bring?", show_progress(found, random_seed=random_seed) if checks else ()),
        ("model", "How good is the model?", check_model(found, checks=checks, random_seed=random_seed)),
        ("convergence", "Did the fit converge?", judge_chains(found)),
        ("made", "How was it made?", describe_origin(view)),
    ]
    return [Section(name, question, shown) for name, question, blocks in asked if (shown := list(blocks))]
