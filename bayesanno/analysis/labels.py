"""The table of labels: the posterior of each item's true label or type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.fits.parts import FitPart, concat_parts, parts_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pd, xr


def label_table(fit: xr.DataTree | FitView, *, coverage: float | None = None) -> pd.DataFrame:
    """Return the posterior of each item's true label, or of its type in models of item types.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    coverage : float, optional
        The share of items to keep, in (0, 1]: those with the lowest entropy. Adds the column `kept`.

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`, `label` (the most probable one), `probability` (of that label),
        `entropy` (nats), `n_annotations`, `p[<label>]` for each label, `gold` if any is known, `kept`. Models with item
        difficulties add `difficulty`, its posterior mean. Models that allow for items whose true label nobody gave add
        `p_none`; that probability is spread over the labels not given. For data with several dimensions, one row
        per dimension and item; `dimension` is the first column. Models of item types have `item_type` (the most
        probable one) in place of `label`, `p[<type>]` for each type, and `hard`, the probability that the item is of
        the hard type. For counts, the columns are `item`, `p[<type>]` for each type, `successes`, `trials`, `hard`,
        `kept`.

    Raises
    ------
    FitError
        If the coverage is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.label_table(fit, coverage=0.9).query("not kept")  # doctest: +SKIP
    """
    view = view_for_table(fit)
    return tabulate_labels(parts_of(view), coverage)


def tabulate_labels(parts: Sequence[FitPart], coverage: float | None = None) -> pd.DataFrame:
    """Return the label table of a posterior of states, for the items of a fit or new ones."""
    check_coverage(coverage)

    def tabulate(part: FitPart) -> pd.DataFrame:
        table = part.tabulate()
        if coverage is not None:
            kept = np.zeros(len(table), dtype=bool)
            kept[np.argsort(part.entropy, kind="stable")[: n_kept(len(table), coverage)]] = True
            table["kept"] = kept
        return table

    table = concat_parts(parts, tabulate)
    ending = [name for name in ("p_none", "gold", "kept") if name in table]  # after the labels of all dimensions
    return table[[name for name in table if name not in ending] + ending]


def check_coverage(coverage: float | None) -> None:
    """Raise a FitError if a coverage is given that is not a share of items."""
    if coverage is not None and not 0 < coverage <= 1:
        raise FitError(f"coverage is {coverage}: it must be above 0 and at most 1")


def n_kept(n_items: int, coverage: float) -> int:
    """Return how many items a coverage keeps: rounded to the nearest number, and at least one.

    Examples
    --------
    >>> from bayesanno.analysis.labels import n_kept
    >>> n_kept(800, 0.9)
    720
    """
    return max(1, round(coverage * n_items))
