"""Prediction: labels of new items by the annotators of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesanno.analysis.labels import tabulate_labels
from bayesanno.analysis.parts import recode, split_data
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import DataError, FitError
from bayesanno.modeling.posterior import recover

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from bayesanno.fits.view import FitView


def predict_labels(fit: xarray.DataTree | FitView, new_data: Any) -> pd.DataFrame:
    """Return the posterior of the true labels, or the types, of new items.

    The parameters keep their posterior: the new data do not update them.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    new_data : AnnotationData, CountData or MultiAnnotationData
        New items, as data of the class that the fit was made from. Of annotations: a subset of the fit's annotators,
        and labels among the fit's. Of several dimensions: all of the fit's, whose labels follow from all of them.

    Returns
    -------
    pandas.DataFrame
        As `label_table`.

    Raises
    ------
    DataError
        If the data are of another class than the fit's; an annotator, a label or a dimension is not among those of the
        fit; or the model cannot take the new items.
    FitError
        If items have parameters of their own in the model.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.predict_labels(fit, ba.read_annotations("new_answers.csv"))  # doctest: +SKIP
    """
    view = view_of(fit)
    if type(new_data) is not type(view.data):
        known, given = (type(data).__name__ for data in (view.data, new_data))
        raise DataError(f"this fit of {view.model.name} is of {known}: predict from {known}, not from {given}")
    if not view.model.collapse_items:
        raise FitError(
            f"items have parameters of their own in {view.model.name}, and new items have none yet: fit again with them"
        )
    recoded = recode(view.data, new_data, view.model)
    recovered = recover(view.model, recoded, view.posterior, view.known, with_log_likelihood=False)
    return tabulate_labels(split_data(recoded, recovered.latent))
