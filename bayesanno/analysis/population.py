"""The population of annotators: the typical annotator, the spread, the amount of pooling, and new annotators."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno._core.intervals import CiKind, choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError
from bayesanno.analysis.parameters import describe_draws, require_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView

SEED = 0  # for annotators drawn from the population: the same fit gives the same table
NEW_ANNOTATORS_PER_DRAW = 4


def population_table(
    fit: xr.DataTree | FitView, *, ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the posterior of the population of annotators, which describes both those in the fit and new ones.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model with a population of annotators, such as `hierarchical_dawid_skene`.
    ci_prob, ci_kind
        As in `summary`; the range over annotators always has equal tails.

    Returns
    -------
    pandas.DataFrame
        One row per class and response, with `true_class`, `response` and

        * `mean`, `sd`, `eti89_lb`, `eti89_ub`: the probability of that response by the typical annotator;
        * `annotators_eti89_lb`, `annotators_eti89_ub`: the range of this probability over 89% of annotators, including
          the uncertainty of the typical one;
        * `spread_mean`, `spread_eti89_lb`, `spread_eti89_ub`: the spread of log odds among equally able annotators;
        * `pooling`: how strongly annotators are pooled in that class. With more answers than this to items of the
          class, an annotator's accuracy depends more on their own answers than on those of others. It is the posterior
          median of 1 / (v p (1 - p)), with v = spread^2 + ability_spread^2 and p the accuracy of the typical annotator.

        The spread and `pooling` are the same in all rows of a class.

    Raises
    ------
    FitError
        If the model has no population of annotators, or the fit is a point estimate.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd_h")  # doctest: +SKIP
    >>> ba.population_table(fit).query("true_class == response")  # doctest: +SKIP
    """
    view = view_for_table(fit, from_draws=True)
    if not view.has_population:
        raise FitError(f"{view.model.name} has no population of annotators: fit hierarchical_dawid_skene")
    require_draws(view, "the population of annotators")
    data = view.named_data
    dims = ("chain", "draw", "true_class", "response")
    sampled = view.posterior[["population", "spread", "ability_spread"]].transpose(*dims)
    draws = {str(name): one.values.reshape(-1, *one.shape[2:]) for name, one in sampled.items()}
    rng = np.random.default_rng(SEED)
    drawn = view.model.draw_annotators(draws, NEW_ANNOTATORS_PER_DRAW, data.class_codes, rng)["confusion"]
    ci_prob = choose_prob(ci_prob)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    low, high = np.quantile(drawn, tails, axis=(0, 1))  # (true_class, response)
    right = draws["population"][:, np.arange(data.n_classes), data.class_codes]  # (draw, true_class)
    variance = draws["spread"] ** 2 + draws["ability_spread"][:, None] ** 2  # (draw, true_class)
    pooling = np.median(1 / (variance * right * (1 - right)), axis=0)  # (true_class,)

    row, column = np.divmod(np.arange(low.size), data.n_labels)
    names = {"true_class": np.array(data.classes, dtype=object)[row], "response": np.array(data.labels)[column]}
    described = describe_draws(sampled["population"], ci_prob, ci_kind)
    of_rates = {what: values[row, column] for what, values in described.items()}
    of_spread = describe_draws(sampled["spread"], ci_prob, ci_kind)
    of_annotators = zip(name_bounds("eti", ci_prob, "annotators"), (low, high), strict=True)
    return pd.DataFrame(names, dtype="str").assign(
        **of_rates,
        **{end: values[row, column] for end, values in of_annotators},
        **{f"spread_{what}": values[row] for what, values in of_spread.items() if what != "sd"},
        pooling=pooling[row],
    )


def add_new_annotators(
    model: Any, data: Any, posterior: xr.Dataset, rng: np.random.Generator, *, copies: int = 1
) -> xr.Dataset:
    """Return several copies of each posterior draw, with new annotators drawn from the population.

    The new annotators are those of the data that come after the annotators of the posterior. Quantities derived from
    annotators' parameters are left out.
    """
    n_known = posterior.sizes["annotator"]
    again = np.repeat(np.arange(posterior.sizes["draw"]), copies)
    repeated = posterior.isel(draw=again).assign_coords(draw=np.arange(again.size))
    ordered = {str(name): values.transpose("chain", "draw", ...) for name, values in repeated.data_vars.items()}
    draws = {name: values.values.reshape(-1, *values.shape[2:]) for name, values in ordered.items()}
    drawn = model.draw_annotators(draws, len(data.annotators) - n_known, data.class_codes, rng)
    of_annotators = [name for name, values in ordered.items() if "annotator" in values.dims]
    whole = {}
    for name, values in drawn.items():
        dims = tuple(ordered[name].dims)
        added = values.reshape(*ordered[name].shape[:2], *values.shape[1:])
        whole[name] = (dims, np.concatenate([ordered[name].values, added], axis=dims.index("annotator")))
    kept = repeated.drop_vars([*of_annotators, "annotator"])
    return kept.assign(whole).assign_coords(annotator=list(data.annotators))
