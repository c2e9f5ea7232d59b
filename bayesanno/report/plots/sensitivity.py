"""Figures of sensitivity: what other priors change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesanno.modeling.fields import as_typed
from bayesanno.report.plots.style import ACCENT, INK, PALE, height_for, name_rows, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesanno.criticism.sensitivity import Study


def plot_priors(study: Study) -> Figure:
    """Draw what each prior of a study changes, against the model's own.

    Parameters
    ----------
    study : Study
        As `bayesanno.sensitivity` gives it.

    Returns
    -------
    matplotlib.figure.Figure
        On the left how many items have another label; on the right, for models with a competence, how far an
        annotator's rank moves at the most. The model's own prior is at the bottom, with 0.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> grid = {"prevalence_prior": [1, 100]}
    >>> study = ba.sensitivity("mace", data, grid, method="em", random_seed=1, progressbar=False)
    >>> [axes.get_xlabel() for axes in ba.plot_priors(study).axes]
    ['items with another label', "largest move of an annotator's rank"]
    """
    table = study.priors
    columns = list(table.columns)
    fields = columns[1 : columns.index("labels_changed")]
    names = [", ".join(f"{field}={as_typed(row[field])}" for field in fields) for row in table.to_dict("records")]
    names[0] += " (own)"
    shown = {"labels_changed": "items with another label"}
    if "largest_rank_move" in table:
        shown["largest_rank_move"] = "largest move of an annotator's rank"
    size = (4.5 + 3 * len(shown), height_for(len(table)))
    figure, axes = new_figure(*size, columns=len(shown), sharey=True, squeeze=False)
    for one, (column, label) in zip(axes[0], shown.items(), strict=True):
        one.barh(range(len(table)), table[column], color=ACCENT, height=0.6)
        one.axvline(0, color=INK, linewidth=0.8)
        one.grid(axis="x", color=PALE, alpha=0.3)
        one.set_xlabel(label, fontsize=9)
        one.xaxis.get_major_locator().set_params(integer=True)
    name_rows(axes[0][0], names)
    axes[0][0].set_ylabel("prior", fontsize=9)
    axes[0][0].set_title("What another prior changes", fontsize=10, loc="left")
    return figure
