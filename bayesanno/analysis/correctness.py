"""The correctness patterns of model A: which annotators of an item are right, jointly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView, find_positions, part_of
from bayesanno.modeling.arguments import NONE_OF_THESE, PROBABILITY


def correctness_table(
    fit: xr.DataTree | FitView, items: str | Sequence[str] | None = None, *, dimension: str | None = None
) -> pd.DataFrame:
    """Return the posterior of each item's correctness pattern: which annotators are right (C) and which are not (I).

    Given the annotations, either everyone who gave a certain label is right and the others are wrong, or nobody is
    right. All other patterns are impossible. Table 8 of the supplement to Rzhetsky et al. (2009),
    doi:10.1371/journal.pcbi.1000391, is this table for three annotators. The first row of each item is its most
    probable pattern (eq. 6). The probabilities are the model's own, neither adjusted nor recalibrated.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model whose states are the given labels and "none of them", such as model A.
    items : str or sequence of str, optional
        The items to report; all by default.
    dimension : str, optional
        The dimension, for data with several dimensions.

    Returns
    -------
    pandas.DataFrame
        For each item, in order of decreasing probability: `item`, `pattern` (one letter per annotation), `label` (the
        true label under that pattern), `probability`, and `annotators` (in the order of the letters, separated by
        spaces).

    Raises
    ------
    FitError
        If the model has no correctness patterns, or an item or the dimension is not in the fit.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("table9")  # doctest: +SKIP
    >>> ba.analysis.correctness_table(fit, ["1"])[["pattern", "probability"]]  # doctest: +SKIP
    """
    view = view_for_table(fit, from_draws=True)
    part = part_of(view, dimension)
    data, probability = part.data, part.latent[PROBABILITY]
    states = [str(name) for name in probability[probability.dims[1]].values]
    if states[-1] != NONE_OF_THESE:
        raise FitError(f"{view.model.name} has no correctness patterns: fit model_a")
    chosen = range(data.n_items) if items is None else find_positions("item", items, data.items)
    rows = []
    for item in chosen:
        mine = np.flatnonzero(data.item == item)
        annotators = " ".join(data.annotators[code] for code in data.annotator[mine])
        of_item = [
            {
                "item": data.items[item],
                "pattern": "".join("C" if label == state else "I" for label in data.label[mine]),
                "label": states[state],
                "probability": float(probability.values[item, state]),
                "annotators": annotators,
            }
            for state in [*dict.fromkeys(data.label[mine].tolist()), len(states) - 1]
        ]
        rows += sorted(of_item, key=lambda row: -float(row["probability"]))
    return pd.DataFrame(rows)
