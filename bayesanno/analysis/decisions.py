"""Decisions: labels with the lowest expected cost, and draws of labels for further computations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, listed, option
from bayesanno._core.validate import check_seed
from bayesanno.analysis.grades import find_loss
from bayesanno.analysis.recalibrate import draw_labels
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView, part_of, require_states


def decide_labels(
    fit: xr.DataTree | FitView,
    cost: pd.DataFrame | Mapping[str, Mapping[str, float]] | str,
    *,
    order: str | Sequence[str] | None = None,
    dimension: str | None = None,
) -> pd.DataFrame:
    """Return the label with the lowest expected cost for each item.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    cost : DataFrame or mapping of mappings, or {"absolute", "squared"}
        `cost.loc[truth, decision]` (or `cost[truth][decision]`): the cost of a decision, given the true label. The rows
        are the labels of the fit; columns may name further decisions, such as "ask an expert". For ordered labels,
        "absolute" and "squared" take the distance between the decision's grade and the true one, or its square, by the
        grades of `grade_table`. The decision is then the median label, or the label nearest to the expected grade.
    order : str or sequence of str, optional
        For "absolute" and "squared": the labels from the lowest to the highest, unless their order is already declared.
    dimension : str, optional
        The dimension, for data with several dimensions.

    Returns
    -------
    pandas.DataFrame
        One row per item: `item`, `label` (the cheapest decision), `expected_cost`, and `cost[<decision>]` for each
        decision.

    Raises
    ------
    DataError
        If a row is missing or unknown, a cost is not a finite number, the loss is unknown, or the labels have no known
        order.
    FitError
        If the dimension is not in the fit, the fit has several dimensions and none is named, or grades are needed and
        the model gives item types instead of labels.

    Examples
    --------
    >>> import bayesanno as ba
    >>> labels = ["billing", "delivery", "other", "quality"]
    >>> cost = {truth: {said: float(said != truth) for said in labels} | {"ask": 0.2} for truth in labels}
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.decide_labels(fit, cost)["label"].value_counts()  # doctest: +SKIP
    """
    view = view_for_table(fit)
    part = part_of(view, dimension)
    if isinstance(cost, str):
        cost = find_loss(view, part, cost, order)
    elif order is not None:
        raise DataError("order applies only to the losses 'absolute' and 'squared': leave it out with a cost matrix")
    costs, probability = read_costs(cost, part.states), part.posterior
    expected = probability.values @ costs.to_numpy()  # (item, decision)
    decisions = list(costs.columns)
    return pd.DataFrame(
        {
            "item": pd.Series([str(name) for name in probability["item"].values], dtype="str"),
            "label": pd.Series([decisions[code] for code in expected.argmin(axis=1)], dtype="str"),
            "expected_cost": expected.min(axis=1),
            **{f"cost[{decision}]": expected[:, code] for code, decision in enumerate(decisions)},
        }
    )


def read_costs(cost: pd.DataFrame | Mapping[str, Mapping[str, float]], states: Sequence[str]) -> pd.DataFrame:
    """Return costs as numbers: a row for each true label, in the given order, and a column for each decision.

    Raises
    ------
    DataError
        If a row is missing or unknown, or a cost is not a finite number.
    """
    matrix = cost if isinstance(cost, pd.DataFrame) else pd.DataFrame(dict(cost)).T
    rows = [str(name) for name in matrix.index]
    wrong = sorted(set(states) ^ set(rows))
    if wrong:
        raise DataError(f"the cost matrix must have one row per label ({', '.join(states)}): see {wrong[0]!r}")
    named = matrix.set_axis(rows, axis=0).set_axis([str(name) for name in matrix.columns], axis=1)
    costs = named.loc[list(states)].astype(float)
    if not np.isfinite(costs.to_numpy()).all():
        raise DataError("the cost matrix must hold finite numbers: a cost is missing or infinite")
    return costs


def sample_labels(
    fit: xr.DataTree | FitView, *, dimension: str | None = None, random_seed: int | None = None
) -> xr.DataArray:
    """Draw the true label, or the type, of every item once per posterior draw, for computations of your own.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    dimension : str, optional
        The dimension, for data with several dimensions; labels are drawn from its own posterior.
    random_seed : int, optional

    Returns
    -------
    xarray.DataArray
        The indices of classes or types, with dims (chain, draw, item). In models that allow for items whose true label
        nobody gave, such an item has the index after the last class, if labels are the model's own;
        otherwise each draw is a class. If labels were adjusted, each draw uses one correlation of errors, and in a
        recalibrated fit one temperature and its shifts.

    Raises
    ------
    FitError
        If the dimension is not in the fit, or the fit has several dimensions and none is named.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> drawn = ba.sample_labels(fit, random_seed=1)  # doctest: +SKIP
    >>> (drawn.sel(item="ticket001") == drawn.sel(item="ticket002")).mean()  # P(same label)  # doctest: +SKIP
    """
    check_seed(random_seed)
    view = view_for_table(fit, from_draws=True)
    dimensions = [part.dimension for part in require_states(view, "sample_labels") if part.dimension]
    if dimensions and dimension is None:
        raise FitError(
            "labels of several dimensions cannot be drawn together, since their joint posterior does not factor: name "
            f"one of {listed(dimensions)} ({option('dimension')})"
        )
    part = part_of(view, dimension)
    return draw_labels(view, part, np.random.default_rng(random_seed))
