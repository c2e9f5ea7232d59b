"""Writing the report of a fit; the page, and matplotlib for its figures, are imported when one is written."""

from __future__ import annotations

from pathlib import Path

from bayesanno._core.files import write_whole
from bayesanno._core.messages import DataFileError
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.storage import require_fit
from bayesanno.fits.view import Fit


def write_report(fit: Fit, path: str | Path, *, checks: bool = True, random_seed: int | None = None) -> Path:
    """Write a fit's report: one HTML page that holds all it shows, pictures and tables included.

    It opens with one verdict on the fit and the findings that it rests on. Then come the labels, beside the majority
    vote; the leaderboard, where items compare systems or have a column `system`; who is no better than chance; and what
    to do next. The sections after that show the systems, the most doubtful items and all items, the recalibration, if
    any, the annotators, what more answers would bring, what the model fails to predict, how much the prior mattered,
    whether the fit converged, and how it was made. Where the labels or the answers contradict the fit's probabilities,
    all that rests on these says so, or is left out.

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
    from bayesanno.report.page import render

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
