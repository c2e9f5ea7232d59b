"""Prediction: labels of new items by the annotators of a fit.

The answers to a new item inform both its label and the parameters. Bayes' rule accounts for both: the posterior of the
fit is updated by that item, without fitting again (`bayesanno.modeling.posterior`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, PredictionWarning, warn
from bayesanno._core.validate import check_seed
from bayesanno.analysis.labels import tabulate_labels
from bayesanno.analysis.population import add_new_annotators
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import ADJUSTMENT, RECALIBRATION, FitView, split_data
from bayesanno.inference.diagnosis.thresholds import MIN_ESS
from bayesanno.inference.tempering import temper_parts
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.posterior import recover

COPIES = 4  # copies of each draw of the population, each with its own annotators
MIN_SHARE = 0.1  # share of effective draws above which a small number is due to the fit, not to the weights


def predict_labels(fit: xr.DataTree | FitView, new_data: Any, *, random_seed: int | None = None) -> pd.DataFrame:
    """Return the posterior of the true labels, or the types, of new items.

    Each item is predicted from the fit's data and its own answers, as if it had been part of the fit. Draws of the
    parameters are weighted by the likelihood of the item's answers,

        p(label | data, answers)  =  sum_s w_s p(label | answers, draw s),   w_s ~ p(answers | draw s).

    Items are predicted one by one. To learn from several new items together, fit again with all of them. An item of the
    fit's own data, given here, counts as another item with the same answers.

    The weights are at most 1, so they need no Pareto smoothing (PSIS), which is for heavy tails. If few draws carry the
    weight, the answers are improbable under the fit, or very numerous.

    Labels of new items are adjusted and recalibrated in the same way as those of the fit's own items, if the fit was.

    A model with a population of annotators, such as `hierarchical_dawid_skene`, accepts new annotators. Each draw of
    the population gives four draws of such an annotator, and all of them are weighted. In `ess_weights` the four count
    as one draw with the sum of their weights.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    new_data : data of the kind that the model takes
        New items, as data of the same class as the fit's. Annotators must be among the fit's (unless the model has a
        population), and so must labels. All dimensions of the fit are required, since labels depend on all of them.
    random_seed : int, optional
        For the draws of new annotators; nothing else is random.

    Returns
    -------
    pandas.DataFrame
        The columns of `label_table`, then `ess_weights`: the effective number of draws behind an item's prediction,
        1 / sum_s w_s^2 (Kong 1992), at most the number of draws of the fit.

    Raises
    ------
    DataError
        If the data are of another class than the fit's; a label, a dimension or (unless the model has a population) an
        annotator is not among those of the fit; the model cannot take the new items; or no draw can explain an item's
        answers.
    FitError
        If items have their own parameters in the model.

    Warns
    -----
    PredictionWarning
        If an item has fewer than 400 effective draws after weighting, and fewer than a tenth of all draws.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.predict_labels(fit, ba.read_annotations("new_answers.csv"))  # doctest: +SKIP
    """
    view = view_for_table(fit, from_draws=True)
    if type(new_data) is not type(view.data):
        known, given = (type(data).__name__ for data in (view.data, new_data))
        raise DataError(f"this fit of {view.model.name} is of {known}: predict from {known}, not from {given}")
    if view.has_item_parameters:
        raise FitError(
            f"items have their own parameters in {view.model.name}, which new items lack: fit again with the new items"
        )
    check_seed(random_seed)
    recoded = kind_of(view.model).recode(view.data, new_data, view.model)
    posterior, copies = view.posterior, 1
    if view.has_population and recoded.annotators != view.data.annotators:
        posterior = add_new_annotators(
            view.model, recoded, posterior, np.random.default_rng(random_seed), copies=COPIES
        )
        copies = COPIES
    found = recover(
        view.model, recoded, posterior, view.known, with_log_likelihood=False, weigh_draws=True, copies=copies
    )
    _check_weights(recoded.items, found.ess_weights, view.posterior.sizes["chain"] * view.posterior.sizes["draw"])
    table = tabulate_labels(temper_parts(view, split_data(recoded, found.latents), ADJUSTMENT, RECALIBRATION))
    table["ess_weights"] = table["item"].map(dict(zip(recoded.items, found.ess_weights, strict=True)))
    return table


def _check_weights(items: Sequence[str], ess: np.ndarray, n_draws: int) -> None:
    """Refuse items with answers of probability 0 in all draws, and warn of items that few draws support."""
    impossible = np.flatnonzero(ess == 0)
    if impossible.size:
        raise DataError(
            f"item {items[impossible[0]]!r} has answers of probability 0 under every draw of this fit: leave it out, "
            "or fit again with it"
        )
    enough = min(MIN_ESS, MIN_SHARE * n_draws)
    few = np.flatnonzero(ess < enough)
    if few.size:
        worst = few[ess[few].argmin()]
        others = f" (and of {few.size - 1} more)" if few.size > 1 else ""
        warn(
            f"the prediction of item {items[worst]!r}{others} rests on few draws: ess_weights is {ess[worst]:.1f} of "
            f"{n_draws} draws (should be at least {enough:.0f}); its answers are improbable under this fit, or "
            "very numerous: fit again with them",
            PredictionWarning,
        )
