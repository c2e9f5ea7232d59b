"""Figures of Markov chains: their paths, and their ranks, of the parameters that mix worst."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from matplotlib.figure import Figure

from bayesanno.analysis.caution import view_for_table
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.report.plots import style
from bayesanno.report.plots.elements import Elements, choose_elements, take_elements

if TYPE_CHECKING:
    from arviz_plots import PlotCollection

MOST_PARAMETERS = 8
MOST_LETTERS = 32  # of a parameter's name
SLASH = "\u2215"  # in names of variables, for "/", which a tree does not allow there
WIDTH, ROW = 7.5, 1.4  # inches, of the figure and of a row


def plot_traces(
    fit: xr.DataTree | FitView,
    var_names: str | Sequence[str] | None = None,
    **options: Unpack[style.Panels],
) -> Figure:
    """Draw the draws of every chain, one after the other, and the densities, of the parameters that mix worst.

    Chains that mix look alike, and none of their paths drifts or sticks.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit with chains, such as one by NUTS.
    var_names : str or sequence of str, optional
        Variables, such as "prevalence", or single parameters as `summary` names them, such as "competence[ana]"; all
        variables by default. If that is more than 8 parameters, those 8 with the largest R-hat and the smallest
        effective sample size.
    figsize, title
        As in `plot_labels`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        As `arviz_plots.plot_trace_dist` draws it; draws that diverged are marked below.

    Raises
    ------
    FitError
        If the fit has no chains, or such a parameter is not in it.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.plot_traces(fit).savefig("traces.png")  # doctest: +SKIP
    """
    import arviz_plots

    chosen = _choose(fit, var_names)
    what = "Chains of the parameters that mix worst" if var_names is None else "Chains"
    widths = {"trace": {"width": 0.6}, "dist": {"width": 1.2}}
    figure = _draw(arviz_plots.plot_trace_dist, chosen, what, compact=False, visuals=widths)
    for axes in figure.axes:
        if axes.get_ylabel():
            axes.set_ylabel("value", fontsize=8)  # the label of the density names the parameter
        elif axes.get_xlabel():
            axes.set_ylabel("density", fontsize=8)
    return style.finish(figure, **options)


def plot_chain_ranks(
    fit: xr.DataTree | FitView,
    var_names: str | Sequence[str] | None = None,
    **options: Unpack[style.Panels],
) -> Figure:
    """Draw the distribution of the ranks of each chain's draws among all draws, of the parameters that mix worst.

    The ranks of chains that mix are uniform, and their lines stay near 0: a line shows how far the distribution of a
    chain's ranks is from the uniform one (T. Säilynoja, P.-C. Bürkner and A. Vehtari 2022, Statistics and
    Computing 32:32, doi:10.1007/s11222-022-10090-6). A panel has the p of ArviZ's test that all chains are uniform, and
    black dots where they are not if it is below 0.01.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit with two chains or more, such as one by NUTS.
    var_names : str or sequence of str, optional
        As in `plot_traces`.
    figsize, title
        As in `plot_labels`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        As `arviz_plots.plot_rank` draws it.

    Raises
    ------
    FitError
        If the fit has no chains, or one only, or such a parameter is not in it.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.plot_chain_ranks(fit).savefig("ranks.png")  # doctest: +SKIP
    """
    import arviz_plots

    chosen = _choose(fit, var_names)
    if chosen["posterior"].sizes["chain"] == 1:
        raise FitError("this fit has one chain, and ranks compare chains: fit with several (chains=4)")
    what = "Ranks of the chains, of the parameters that mix worst" if var_names is None else "Ranks of the chains"
    visuals = {"ecdf_lines": {"width": 1.0}, "remove_axis": False}
    figure = _draw(
        arviz_plots.plot_rank, chosen, what, columns=2, mark="not uniform (p below 0.01)", col_wrap=2, visuals=visuals
    )
    for axes in figure.axes:
        axes.set_xlabel("rank (a share of all draws)", fontsize=8)
        axes.set_ylabel("off uniform", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return style.finish(figure, **options)


def _choose(fit: xr.DataTree | FitView, var_names: str | Sequence[str] | None) -> xr.DataTree:
    """Return the draws of the chosen parameters, each a variable of its own, and which draws diverged."""
    view = view_for_table(fit)
    convergence = view.convergence
    if convergence is None:
        raise FitError(f"this fit by {view.tree.attrs['method']} has no chains: fit by nuts")
    elements = choose_elements(view.posterior, var_names)
    if len(elements) > MOST_PARAMETERS:
        elements = _find_worst(view.posterior, convergence, elements)
    draws = take_elements(elements, view.posterior, view.posterior)  # (chain, draw, parameter)
    coords = {dim: view.posterior[dim] for dim in ("chain", "draw")}
    names = [name.replace("/", SLASH) for name in elements]
    variables = {name: (("chain", "draw"), draws[:, :, place]) for place, name in enumerate(names)}
    groups = {"posterior": xr.Dataset(variables, coords=coords)}
    if "sample_stats" in view.tree.children and "diverging" in view.tree["sample_stats"]:
        groups["sample_stats"] = view.tree["sample_stats"].to_dataset()[["diverging"]]
    return xr.DataTree.from_dict(groups)


def _find_worst(posterior: xr.Dataset, convergence: xr.Dataset, elements: Elements) -> Elements:
    """Return the parameters that mix worst, by R-hat and by ESS in turn; one that never varies is not among them."""
    measured = convergence.sel(diagnostic=["r_hat", "ess_bulk"]).rename(diagnostic="draw").expand_dims("chain")
    values = take_elements(elements, measured, posterior)[0]  # (diagnostic, parameter)
    orders = [np.argsort(key, kind="stable") for key in (-values[0], values[1])]  # nan come last
    turns = [int(place) for pair in zip(*orders, strict=True) for place in pair]
    worst = [place for place in dict.fromkeys(turns) if np.isfinite(values[1, place])]
    names = list(elements)
    return {names[place]: elements[names[place]] for place in worst[:MOST_PARAMETERS]}


def _draw(
    plot: Callable[..., PlotCollection],
    chosen: xr.DataTree,
    title: str,
    *,
    columns: int = 1,
    mark: str = "",
    **options: Any,
) -> Figure:
    """Let ArviZ draw chains, with a title and a legend, and names as they are: no formulas, cut if they are long.

    The legend explains black dots by `mark`.

    ArviZ makes the figure by pyplot, which would show it once more and keep it: it is taken from there.
    """
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    draws = chosen["posterior"].to_dataset()
    size = (WIDTH, max(2.8, ROW * -(-len(draws) // columns) + 0.8))
    n = max(draws.sizes["chain"], 3)  # ArviZ asks for three
    colours = list(style.COLOURS[:n]) if n <= len(style.COLOURS) else style.shades(n + 1)  # the last shade is too pale
    made = {"figsize": size, "figsize_units": "inches", "FigureClass": style.ShownFigure}
    drawn = plot(chosen, backend="matplotlib", color=colours, figure_kwargs=made, **options)
    figure: Figure = drawn.viz["figure"].item()
    pyplot.close(figure)
    for text in figure.findobj(Text):
        text.set_parse_math(False)
        text.set_fontsize(min(text.get_fontsize(), 8))
        text.set_text(style.cut_name(text.get_text().replace(SLASH, "/"), MOST_LETTERS))
    figure.set_layout_engine("constrained")
    figure.suptitle(title, fontsize=10).set_gid(style.TITLE)
    labels = [f"chain {chain}" for chain in draws["chain"].values]
    handles = [Line2D([], [], color=colour) for colour, _ in zip(colours, labels, strict=False)]
    if mark:
        labels.append(mark)
        handles.append(Line2D([], [], color="black", marker="o", linestyle="", markersize=4))
    figure.legend(handles, labels, loc="outside lower center", ncols=8, fontsize=7, frameon=False)
    return figure
