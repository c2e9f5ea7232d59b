"""Power-scaling: the effect of a stronger or weaker prior, or likelihood, without fitting again.

Raising the prior, or the likelihood, to the power alpha gives another posterior, represented by the same draws with
weights. The derivative of a posterior mean E[f] needs no weights. With L the log density that is scaled, it is

    d E[f] / d log2(alpha)  =  ln 2  Cov(f, L)                                                   at alpha = 1

so a prior of twice the strength moves the mean by about that much. The more parameters a model has, the more L varies
for every f, and the more uncertain the slopes are with few draws; tables give their errors. A sensitivity is a
distance, so chance alone keeps it above 0. The size of chance values is estimated from the same draws, shifted against
L to be unrelated to it. Some of a table's many rows are large by chance; the choice of reported rows keeps the share of
false ones low (Benjamini and Hochberg).

References
----------
N. Kallioinen, T. Paananen, P.-C. Bürkner and A. Vehtari (2024), Detecting and diagnosing prior and likelihood
sensitivity with power-scaling, Statistics and Computing 34, 57, doi:10.1007/s11222-023-10366-5.
Y. Benjamini and Y. Hochberg (1995), Controlling the false discovery rate: a practical and powerful approach to multiple
testing, Journal of the Royal Statistical Society B 57(1), 289-300, doi:10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import batched

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError, as_names
from bayesanno._core.running import quiet_logger
from bayesanno.analysis.parameters import require_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.criticism.sbc import gives_labels
from bayesanno.fits.view import FitView
from bayesanno.modeling.arguments import Discrete, require_latents
from bayesanno.modeling.posterior import compile_formula
from bayesanno.simulation.quantities import ACCURACY, CLASS_SHARE, ModelDraws, class_shares, describe_annotators

GROUPS = {"prior": "log_prior", "likelihood": "log_likelihood"}  # the scaled density, and its group in a fit
FLAT = 1e-9  # nats that a density may vary due to rounding
BY_BOTH, BY_PRIOR = "moved by prior and data", "moved by the prior, hardly by data"  # whose prior sensitivity counts
TOO_FEW_DRAWS = "too few draws to tell"
SHIFTS = 20  # least number of shifts of draws against the scaled density: so that a lone row can reach FALSE_SHARE
UNRELATED = 400  # least number of sensitivities of shifted draws: with few parameters there are more shifts
MOST_SHIFTED = 500  # parameters with shifted draws; of more, this many, evenly spaced
THRESHOLD = 0.05  # of a sensitivity, as in the paper
FALSE_SHARE = 0.05  # share of reported rows that may be due to chance


def power_scaling_table(
    fit: xr.DataTree | FitView,
    var_names: str | Sequence[str] | None = None,
    *,
    prior_var_names: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return how much the posterior of parameters and derived quantities depends on the prior and the likelihood.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit with draws.
    var_names : str or sequence of str, optional
        Variables of the fit; all by default. Models of labels also have `accuracy`, how often each annotator is right
        (unless the model has a variable of that name), and `class_share`, the share of the items in each class.
    prior_var_names : str or sequence of str, optional
        The parameters with priors to scale, all together. The default is those with a prior that depends on no other
        parameter: in a population model, the parameters of the population.

    Returns
    -------
    pandas.DataFrame
        One row per parameter: `parameter`, `mean`, `sd`, and

        * `prior` and `likelihood`: the sensitivities of Kallioinen et al. (2024), a distance between distribution
          functions per doubling;
        * `prior_noise` and `likelihood_noise`: the values below which 19 in 20 unrelated parameters would stay by
          chance, with this number of draws;
        * `prior_p_adjusted` and `likelihood_p_adjusted`: the share of unrelated parameters that reach this sensitivity,
          adjusted for the number of rows (Benjamini and Hochberg). Of the rows at 0.05 or less, about one in 20 may be
          due to chance;
        * `prior_slope` and `likelihood_slope`: how much a doubling of the strength moves the mean, each with its Monte
          Carlo standard error, `_mcse`;
        * `diagnosis`. A sensitivity counts if it is 0.05 or more, with an adjusted p of 0.05 or less. "moved by prior
          and data": both count. "moved by the prior, hardly by data": only the prior's counts. "too few draws to tell":
          the prior's is 0.05 or more, but does not count. Otherwise empty;
        * `draws_to_tell`, in those rows: about how many draws, in all chains, would tell. Chance values fall with the
          square root of the number of draws; with this many, a sensitivity of 0.05 counts.

    Raises
    ------
    FitError
        If the fit is a point estimate, has no log prior or log likelihood, or lacks a variable.

    Notes
    -----
    ArviZ's `psense_summary` calls the first "potential prior-data conflict" and the second "potential strong prior /
    weak likelihood". In models of annotators most parameters are of an annotator with few answers. Both a stronger
    prior and more such answers would move these, often in the same direction, and then they do not disagree. They
    disagree about a mean if `prior_slope` and `likelihood_slope` have different signs, each beyond its error.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.power_scaling_table(fit, ["competence"]).nlargest(3, "prior")  # doctest: +SKIP
    """
    view = require_draws(view_for_table(fit, from_draws=True), "power-scaling")
    priors, chosen = _scaled_priors(view, prior_var_names), _take_variables(view, var_names)
    scaled = _log_densities(view, priors)
    scaled_by = {group: view.tree[group].to_dataset() for group in GROUPS.values()}
    moves = [of for of in GROUPS if np.ptp(scaled[of]) > FLAT]  # scaling a constant has no effect

    def measure(draws: xr.Dataset) -> pd.DataFrame:
        return _measure_sensitivity(draws, scaled_by, priors, moves)

    with quiet_logger("arviz_stats", logging.ERROR):  # the table reports the same
        found = measure(chosen)
        unrelated = _measure_unrelated(chosen, measure)
    values = np.concatenate(_flatten(chosen), axis=2)  # (chain, draw, element)
    adjusted = {of: _adjust_p(found[of].to_numpy(), unrelated[of]) for of in GROUPS}
    table = found[list(GROUPS)].rename_axis("parameter").reset_index().astype({"parameter": "str"})
    table.insert(1, "mean", values.mean(axis=(0, 1)))
    table.insert(2, "sd", values.std(axis=(0, 1), ddof=1))
    table = table.assign(**{f"{of}_noise": np.quantile(unrelated[of], 0.95) for of in GROUPS})
    table = table.assign(**{f"{of}_p_adjusted": p for of, p in adjusted.items()})
    for of, log_density in scaled.items():
        table[f"{of}_slope"], table[f"{of}_slope_mcse"] = _slope(values, log_density)
    counts = {of: (table[of] >= THRESHOLD) & (adjusted[of] <= FALSE_SHARE) for of in GROUPS}
    conditions = [counts["prior"] & counts["likelihood"], counts["prior"], table["prior"] >= THRESHOLD]
    said = np.select(conditions, [BY_BOTH, BY_PRIOR, TOO_FEW_DRAWS], "")
    chance = np.quantile(unrelated["prior"], 1 - FALSE_SHARE * (table["prior"] >= THRESHOLD).mean())
    enough = math.ceil(scaled["prior"].size * (chance / THRESHOLD) ** 2)
    draws = pd.array(np.where(said == TOO_FEW_DRAWS, enough, None), dtype="Int64")
    return table.assign(diagnosis=pd.Series(said, dtype="str"), draws_to_tell=draws)


def label_power_scaling(
    fit: xr.DataTree | FitView, *, prior_var_names: str | Sequence[str] | None = None
) -> pd.DataFrame:
    """Return how much each item's label depends on the prior and on the likelihood.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model of labels, with draws.
    prior_var_names : str or sequence of str, optional
        As in `power_scaling_table`.

    Returns
    -------
    pandas.DataFrame
        One row per item: `item`, `label`, `probability`; `prior_slope` and `likelihood_slope`, how much a doubling of
        the strength moves that probability; `runner_up`, the second most probable label; and `doublings`, how many
        doublings of the prior (negative: halvings) would make the two equally probable if the change continued at that
        rate. Items with the fewest doublings come first. If several doublings are needed, the prior does not decide the
        label, and their exact number means little.

    Raises
    ------
    FitError
        If the fit is a point estimate, has no log prior or log likelihood, or gives no labels.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.criticism.label_power_scaling(fit).query("abs(doublings) < 1")  # doctest: +SKIP
    """
    view = require_draws(view_for_table(fit, from_draws=True), "power-scaling")
    require_latents(view.model, view.data, "labels", "label_power_scaling")
    found = view.model.latents(view.data)
    if len(found) > 1 or not isinstance(found[0], Discrete):
        raise FitError(f"power-scaling of labels needs a model with the label as its one latent, not {view.model.name}")
    scaled = _log_densities(view, _scaled_priors(view, prior_var_names))
    n = scaled["prior"].size
    centred = [math.log(2) * (values - values.mean()).reshape(-1) / (n - 1) for values in scaled.values()]
    weights = np.stack([np.full(n, 1 / n), *centred])  # (mean and slopes, sample)
    formula = compile_formula(view.model, view.data, view.posterior, view.known)
    probability, *slopes = formula.scale_states(weights)  # (item, state)
    rows = np.arange(len(probability))
    best, next_ = np.argsort(-probability, axis=1, kind="stable")[:, :2].T
    margin = probability[rows, best] - probability[rows, next_]
    closing = slopes[0][rows, next_] - slopes[0][rows, best]  # per doubling of the prior
    doublings = np.divide(margin, closing, out=np.full(margin.shape, np.inf), where=closing != 0)
    names = np.array(found[0].states, dtype=object)
    table = pd.DataFrame({"item": list(view.data.items), "label": names[best], "probability": probability[rows, best]})
    table["prior_slope"], table["likelihood_slope"] = slopes[0][rows, best], slopes[1][rows, best]
    table = table.assign(runner_up=names[next_], doublings=doublings)
    table = table.astype({"item": "str", "label": "str", "runner_up": "str"})
    return table.sort_values("doublings", key=np.abs, kind="stable", ignore_index=True)


def _slope(values: np.ndarray, log_density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how much a doubling moves the means of values (chain, draw, element), with the MCSE."""
    from arviz_stats.base import array_stats

    n, away = log_density.size, values - values.mean(axis=(0, 1))
    share = math.log(2) * n / (n - 1) * (log_density - log_density.mean())[..., None] * away
    return share.mean(axis=(0, 1)), np.nan_to_num(array_stats.mcse(share, chain_axis=0, draw_axis=1))


def _measure_sensitivity(
    draws: xr.Dataset, scaled_by: Mapping[str, xr.Dataset], priors: Sequence[str], moves: Sequence[str]
) -> pd.DataFrame:
    """Return the sensitivities of each element of draws, a column for each of `GROUPS`; 0 to constant densities."""
    from arviz_base import dataset_to_dataframe
    from arviz_stats import psense

    tree = xr.DataTree.from_dict({"posterior": draws, **scaled_by})
    none = xr.zeros_like(draws.isel(chain=0, draw=0, drop=True), dtype=float)
    parts = [
        psense(tree, group=of, group_var_names=list(priors) if of == "prior" else None) if of in moves else none
        for of in GROUPS
    ]
    joined = xr.concat(parts, dim="component").assign_coords(component=list(GROUPS))
    return dataset_to_dataframe(joined, sample_dims=["component"]).T


def _measure_unrelated(draws: xr.Dataset, measure: Callable[[xr.Dataset], pd.DataFrame]) -> dict[str, np.ndarray]:
    """Return sensitivities, (unrelated,) each, of the same draws shifted against the scaled densities.

    Each chain's draws are paired with the densities of another part of another chain, so only chance relates them.
    """
    values = np.concatenate(_flatten(draws), axis=2)  # (chain, draw, element)
    values = values[:, :, values.std(axis=(0, 1)) > 0]  # constants have no sensitivity
    n_chains, n_draws, n = values.shape
    if not n:
        return dict.fromkeys(GROUPS, np.zeros(1))
    values = values[:, :, np.unique(np.linspace(0, n - 1, MOST_SHIFTED).round().astype(int))]
    shifts = max(SHIFTS, -(-UNRELATED // values.shape[2]))
    steps = np.linspace(0, n_draws, shifts + 2)[1:-1].round().astype(int).clip(1, max(1, n_draws - 1))
    parts = []
    for some in batched(enumerate(steps), MOST_SHIFTED // values.shape[2]):  # calls are slow
        rolled = [np.roll(values, (1 + number % max(1, n_chains - 1), step), axis=(0, 1)) for number, step in some]
        unrelated = np.concatenate(rolled, axis=2)
        parts.append(measure(xr.Dataset({"unrelated": (("chain", "draw", "element"), unrelated)})))
    return {of: np.concatenate([part[of].to_numpy() for part in parts]) for of in GROUPS}


def _adjust_p(sensitivity: np.ndarray, unrelated: np.ndarray) -> np.ndarray:
    """Return p-values of sensitivities (row,) among unrelated ones, adjusted for the number of rows."""
    from scipy.stats import false_discovery_control

    as_far = len(unrelated) - np.searchsorted(np.sort(unrelated), sensitivity)  # (row,)
    p = np.where(np.isnan(sensitivity), 1.0, (1 + as_far) / (1 + len(unrelated)))
    return false_discovery_control(p)


def _log_densities(view: FitView, priors: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the scaled log densities of every draw: log prior and log likelihood, (chain, draw) each."""
    groups = {of: view.tree[group].to_dataset() for of, group in GROUPS.items()}
    groups["prior"] = groups["prior"][list(priors)]
    return {of: np.sum([part.sum(axis=2) for part in _flatten(data)], axis=0) for of, data in groups.items()}


def _flatten(draws: xr.Dataset) -> list[np.ndarray]:
    """Return the draws of each variable, (chain, draw, element)."""
    arrays = [draws[name].transpose("chain", "draw", ...).values for name in draws.data_vars]
    return [one.reshape(*one.shape[:2], -1) for one in arrays]


def _scaled_priors(view: FitView, prior_var_names: Sequence[str] | None) -> list[str]:
    """Return the variables with priors to scale: those given, or those with priors that have no other parameter."""
    for of, group in GROUPS.items():
        if group not in view.tree.children:
            how = ": compute_log_likelihood(fit) adds it" if of == "likelihood" else ""
            raise FitError(f"the fit has no group {group}, which power-scaling needs{how}")
    names = [str(name) for name in view.tree["log_prior"].data_vars]
    if prior_var_names is not None:
        chosen = list(as_names(prior_var_names))
        for name in chosen:
            if name not in names:
                raise FitError(f"the fit has no prior of {name!r}: it has those of {', '.join(names)}")
        return chosen
    from pytensor.graph.traversal import ancestors

    graph = view.model.build(view.data)
    free = set(graph.free_RVs)
    return [rv.name for rv in graph.free_RVs if not free & (set(ancestors([rv])) - {rv})]


def _take_variables(view: FitView, var_names: Sequence[str] | None) -> xr.Dataset:
    """Return the draws of variables, all by default: those of the fit, and derived ones in models of labels."""
    drawn = ModelDraws(view.model, view.data, view.posterior, view.known)
    follows: dict[str, Callable[[], xr.DataArray]] = {}
    if gives_labels(view.model, view.data):
        follows[ACCURACY] = lambda: describe_annotators(drawn)[ACCURACY]
        follows[CLASS_SHARE] = lambda: class_shares(drawn)
    names = list(dict.fromkeys([*map(str, drawn.draws.data_vars), *follows]))
    chosen = names if var_names is None else list(as_names(var_names))
    for name in chosen:
        if name not in names:
            raise FitError(f"the fit has no variable {name!r}: it has {', '.join(names)}")
    more = {name: follows[name]() for name in chosen if name not in drawn.draws}
    return drawn.draws.assign(more)[chosen]
