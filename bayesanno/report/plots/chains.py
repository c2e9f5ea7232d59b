"""Figures of Markov chains: their paths, and their ranks, of the parameters that mix worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.report.plots.elements import choose_elements, take_elements
from bayesanno.report.plots.style import cut_name, shades

if TYPE_CHECKING:
    from collections.abc import Sequence

    import arviz_plots
    import xarray

    from bayesanno.fits.view import FitView
    from bayesanno.report.plots.elements import Elements

MOST_PARAMETERS = 8
MOST_LETTERS = 32  # of a parameter's name
SIZE = (7.5, 1.5)  # inches: the width, and the height of a row


def plot_traces(
    fit: xarray.DataTree | FitView, var_names: str | Sequence[str] | None = None
) -> arviz_plots.PlotCollection:
    """Draw the draws of every chain, one after the other, and the densities, of the parameters that mix worst.

    Chains that mix look alike, and none of their paths drifts or sticks.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Of chains, as NUTS gives it.
    var_names : str or sequence of str, optional
        Variables, such as "prevalence", or single parameters as `summary` names them, such as "competence[ana]"; all
        variables by default. If that is more than 8 parameters, those 8 with the largest R-hat and the smallest
        effective sample size.

    Returns
    -------
    arviz_plots.PlotCollection
        As `arviz_plots.plot_trace_dist` gives it; draws that diverged are marked below. `savefig` writes it.

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
    n_chains = chosen["posterior"].sizes["chain"]
    drawn = arviz_plots.plot_trace_dist(
        chosen,
        compact=False,
        backend="matplotlib",
        color=shades(max(n_chains + 1, 3)),
        figure_kwargs=_size_for(chosen, 2),
    )
    return _finish(drawn, "Chains of the parameters that mix worst" if var_names is None else "Chains")


def plot_chain_ranks(
    fit: xarray.DataTree | FitView, var_names: str | Sequence[str] | None = None
) -> arviz_plots.PlotCollection:
    """Draw how the ranks of each chain's draws among all draws are spread, of the parameters that mix worst.

    Of chains that mix the ranks are uniform: the difference between their distribution and the uniform one stays inside
    the band. T. Säilynoja, P.-C. Bürkner and A. Vehtari (2022), Graphical test for discrete uniformity and its
    applications in goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32,
    doi:10.1007/s11222-022-10090-6.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Of two chains or more, as NUTS gives it.
    var_names : str or sequence of str, optional
        As in `plot_traces`.

    Returns
    -------
    arviz_plots.PlotCollection
        As `arviz_plots.plot_rank` gives it. `savefig` writes it.

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
    n_chains = chosen["posterior"].sizes["chain"]
    if n_chains == 1:
        raise FitError("this fit has one chain, and ranks compare chains: fit with several (chains=4)")
    drawn = arviz_plots.plot_rank(
        chosen, backend="matplotlib", color=shades(n_chains + 1), col_wrap=2, figure_kwargs=_size_for(chosen, 1)
    )
    return _finish(drawn, "Ranks of the chains that mix worst" if var_names is None else "Ranks of the chains")


def _choose(fit: xarray.DataTree | FitView, var_names: str | Sequence[str] | None) -> xarray.DataTree:
    """Return the draws of parameters that are asked for, each a variable of its own, and which of them diverged."""
    view = view_for_table(fit)
    convergence = view.convergence
    if convergence is None:
        raise FitError(f"this fit by {view.tree.attrs['method']} has no chains: fit by nuts")
    elements = choose_elements(view.posterior, var_names)
    if len(elements) > MOST_PARAMETERS:
        elements = _find_worst(view.posterior, convergence, elements)
    draws = take_elements(elements, view.posterior, view.posterior)  # (chain, draw, parameter)
    coords = {dim: view.posterior[dim] for dim in ("chain", "draw")}
    variables = {name: (("chain", "draw"), draws[:, :, place]) for place, name in enumerate(elements)}
    groups = {"posterior": xr.Dataset(variables, coords=coords)}
    if "sample_stats" in view.tree.children and "diverging" in view.tree["sample_stats"]:
        groups["sample_stats"] = view.tree["sample_stats"].to_dataset()[["diverging"]]
    chosen: xarray.DataTree = xr.DataTree.from_dict(groups)
    return chosen


def _find_worst(posterior: xarray.Dataset, convergence: xarray.Dataset, elements: Elements) -> Elements:
    """Return the parameters that mix worst, by R-hat and by ESS in turn; what never varies is none of them."""
    measured = convergence.sel(diagnostic=["r_hat", "ess_bulk"]).rename(diagnostic="draw").expand_dims("chain")
    values = take_elements(elements, measured, posterior)[0]  # (diagnostic, parameter)
    orders = [np.argsort(key, kind="stable") for key in (-values[0], values[1])]  # nan come last
    turns = [int(place) for pair in zip(*orders, strict=True) for place in pair]
    worst = [place for place in dict.fromkeys(turns) if np.isfinite(values[1, place])]
    names = list(elements)
    return {names[place]: elements[names[place]] for place in worst[:MOST_PARAMETERS]}


def _size_for(chosen: xarray.DataTree, columns: int) -> dict[str, Any]:
    n = len(chosen["posterior"].data_vars)
    rows = n if columns == 2 else -(-n // 2)
    return {"figsize": (SIZE[0], max(2.6, SIZE[1] * rows + 0.6)), "figsize_units": "inches"}


def _finish(drawn: arviz_plots.PlotCollection, title: str) -> arviz_plots.PlotCollection:
    """Give a figure of ArviZ a title, and take its names as they are: no formulas, and cut if they are long."""
    from matplotlib.text import Text

    figure = drawn.viz["figure"].item()
    for text in figure.findobj(Text):
        text.set_parse_math(False)
        text.set_fontsize(min(text.get_fontsize(), 8))
        if len(text.get_text()) > MOST_LETTERS:
            text.set_text(cut_name(text.get_text(), MOST_LETTERS))
    figure.suptitle(title, fontsize=10)
    return drawn
