"""Figures of what the data have changed: the posterior of parameters over their prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno.analysis.caution import view_for_table
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import xr
from bayesanno.report.plots import style
from bayesanno.report.plots.elements import Elements, choose_elements, take_elements
from bayesanno.simulation.quantities import draw_prior

MOST_DRAWS, LEAST_DRAWS = 1_000, 100
MOST_NUMBERS = 2_000_000  # that are drawn of all parameters together
MOST_OF_ONE = 8  # parameters that are drawn of a variable,
MOST_PANELS = 24  # and of all of them
COLUMNS = 4
BINS = 30


def plot_prior_posterior(
    fit: xr.DataTree | FitView,
    var_names: str | Sequence[str] | None = None,
    **options: Unpack[style.Panels],
) -> Figure:
    """Draw the posterior of parameters over their prior: what the data have changed.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit that holds its data: the prior of some models depends on them.
    var_names : str or sequence of str, optional
        Variables, such as "prevalence", or single parameters as `summary` names them, such as "competence[ana]". By
        default the variables without an annotator or item dimension, and the competence of annotators.
    figsize, title
        As in `plot_labels`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each parameter; a variable with more than 8 has the 8 whose mean is farthest from that of the prior,
        in standard deviations of the prior, the farthest first. Densities of draws are histograms, each drawn to the
        same height. A fit that is one point, such as one by EM, has a line in place of the posterior. The draws from
        the prior are the same in every call.

    Raises
    ------
    FitError
        If there is no such parameter, or the fit holds no data.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="vb", random_seed=1, progressbar=False)
    >>> ba.plot_prior_posterior(fit, "accuracy").axes[0].get_ylabel()
    'density'
    """
    view = view_for_table(fit)
    elements = choose_elements(view.posterior, _choose_variables(view) if var_names is None else var_names)
    after = take_elements(elements, view.posterior, view.posterior).reshape(-1, len(elements))  # (sample, parameter)
    before = _draw_before(view, elements)  # (draw, parameter)
    chosen = _keep_moved(elements, before, after)

    columns = min(COLUMNS, len(chosen))
    figure, panels = style.new_grid(len(chosen), columns, (2.1, 1.5))
    names = list(elements)
    for number, (axes, place) in enumerate(zip(panels, chosen, strict=True)):
        _draw_both(axes, before[:, place], after[:, place])
        axes.set_title(style.cut_name(names[place], 26), fontsize=8, loc="left", parse_math=False)
        axes.set_ylabel("density" if number % columns == 0 else "", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.set_yticks([])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize=7, frameon=False)
    figure.supxlabel("value of the parameter", fontsize=9)
    figure.suptitle("Prior and posterior of the parameters", fontsize=10).set_gid(style.TITLE)
    return style.finish(figure, **options)


def _choose_variables(view: FitView) -> list[str]:
    """Return the variables without annotators and items, and the competence; all variables if there are none."""
    own = {"annotator", "item"}
    shared = [str(name) for name, variable in view.posterior.data_vars.items() if not own & set(variable.dims)]
    competence = [view.model.competence] if view.model.competence else []
    return [*shared, *competence] or [str(name) for name in view.posterior.data_vars]


def _draw_before(view: FitView, elements: Elements) -> np.ndarray:
    """Draw single parameters from the prior, (draw, parameter); the fewer times, the more numbers there are."""
    size = sum(variable.isel(chain=0, draw=0).size for variable in view.posterior.data_vars.values())
    n = int(np.clip(MOST_NUMBERS // size, LEAST_DRAWS, MOST_DRAWS))
    variables = sorted({name for name, _ in elements.values()})
    drawn = draw_prior(view.model, view.data, n, np.random.default_rng(0), names=variables)
    return take_elements(elements, drawn, view.posterior)[0]


def _keep_moved(elements: Elements, before: np.ndarray, after: np.ndarray) -> list[int]:
    """Return which parameters to draw: of variables with many those that moved farthest, in units of the prior."""
    spread = before.std(axis=0)
    far = np.abs(after.mean(axis=0) - before.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    variable = np.array([name for name, _ in elements.values()])
    chosen: list[int] = []
    for name in dict.fromkeys(variable.tolist()):
        own = np.flatnonzero(variable == name)
        if own.size > MOST_OF_ONE:
            own = own[np.argsort(-far[own], kind="stable")[:MOST_OF_ONE]]
        chosen += own.tolist()
    return chosen[:MOST_PANELS]


def _draw_both(axes: Axes, before: np.ndarray, after: np.ndarray) -> None:
    """Draw two histograms whose highest bars are 1, or a line for a posterior that is one point."""
    n, edges = np.histogram(before, bins=BINS)
    axes.stairs(n / n.max(), edges, color=style.PALE, alpha=0.5, fill=True, label="prior")
    if after.size == 1:
        axes.axvline(after[0], color=style.ACCENT, linewidth=1.8, label="posterior (a point)")
    else:
        n, edges = np.histogram(after, bins=BINS)
        axes.stairs(n / n.max(), edges, color=style.ACCENT, linewidth=1.4, label="posterior")
    axes.set_ylim(0, 1.05)
