"""Figures of parameters: their Markov chains, of those that mix worst, and their posterior over their prior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno.analysis.caution import view_for_table
from bayesanno.fits.view import Fit, FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import as_names, listed, name_elements, nearest
from bayesanno.report.plots import style
from bayesanno.simulation.quantities import draw_prior

if TYPE_CHECKING:
    from arviz_plots import PlotCollection

MOST_PARAMETERS = 8
MOST_LETTERS = 32  # of a parameter's name
SLASH = "\u2215"  # in names of variables, for "/", which a tree does not allow there
WIDTH, ROW = 7.5, 1.4  # inches, of the figure and of a row
MOST_DRAWS, LEAST_DRAWS = 1_000, 100
MOST_NUMBERS = 2_000_000  # that are drawn of all parameters together
MOST_OF_ONE = 8  # parameters that are drawn of a variable,
MOST_PANELS = 24  # and of all of them
COLUMNS = 4
BINS = 30
Elements = dict[str, tuple[str, int]]  # name -> its variable, and its place among the numbers of the variable


def plot_traces(fit: Fit, var_names: str | Sequence[str] | None = None, **options: Unpack[style.Panels]) -> Figure:
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


def plot_chain_ranks(fit: Fit, var_names: str | Sequence[str] | None = None, **options: Unpack[style.Panels]) -> Figure:
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


def _choose(fit: Fit, var_names: str | Sequence[str] | None) -> xr.DataTree:
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
    chains = draws["chain"].values
    keys = [
        Line2D([], [], color=colour, label=f"chain {chain}") for colour, chain in zip(colours, chains, strict=False)
    ]
    if mark:
        keys.append(Line2D([], [], color="black", marker="o", linestyle="", markersize=4, label=mark))
    figure.legend(handles=keys, loc="outside lower center", ncols=8, fontsize=7, frameon=False)
    return figure


def plot_prior_posterior(
    fit: Fit, var_names: str | Sequence[str] | None = None, **options: Unpack[style.Panels]
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


def choose_elements(posterior: xr.Dataset, asked: str | Sequence[str] | None) -> Elements:
    """Return the single parameters that variables or their own names ask for; all by default.

    Raises
    ------
    FitError
        If there is no such variable and no such parameter, or nothing is asked for.
    """
    variables = [str(name) for name in posterior.data_vars]
    wanted = variables if asked is None else as_names(asked)
    if not wanted:
        raise FitError(f"no variable is asked for: name some of {listed(variables)}")
    of: dict[str, Elements] = {name: _list_elements(name, posterior) for name in variables}
    found: Elements = {}
    for name in wanted:
        own = name if name in of else name.partition("[")[0]
        if own not in of or (name not in of and name not in of[own]):
            known = [*variables, *of.get(own, ())]
            raise FitError(f"variable {name!r} is not in this fit, which has {listed(variables)}{nearest(name, known)}")
        found |= of[name] if name in of else {name: of[own][name]}
    return found


def _list_elements(name: str, posterior: xr.Dataset) -> Elements:
    variable = posterior[name].transpose("chain", "draw", ...)
    names = name_elements(name, [variable[dim].values.tolist() for dim in variable.dims[2:]])
    return {element: (name, place) for place, element in enumerate(names)}


def take_elements(elements: Mapping[str, tuple[str, int]], draws: xr.Dataset, like: xr.Dataset) -> np.ndarray:
    """Return draws of single parameters, (chain, draw, parameter).

    Parameters
    ----------
    elements : mapping of name to tuple
        As `choose_elements` gives them.
    draws : xarray.Dataset
        Dims (chain, draw, ...).
    like : xarray.Dataset
        The posterior that the parameters were chosen from; its order of dimensions says where each is.
    """
    flat: dict[str, np.ndarray] = {}
    for name in {variable for variable, _ in elements.values()}:
        dims = [dim for dim in like[name].dims if dim not in ("chain", "draw")]
        values = draws[name].transpose("chain", "draw", *dims).values
        flat[name] = values.reshape(*values.shape[:2], -1)
    return np.stack([flat[name][:, :, place] for name, place in elements.values()], axis=-1)
