"""Ratings from a table: numbers on a scale, which annotators gave to items."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from bayesanno._core.messages import DataError, nearest
from bayesanno.data.ratings import RatingData
from bayesanno.io.beside import add_columns, open_beside, read_known
from bayesanno.io.names import name_of
from bayesanno.io.read import read_long
from bayesanno.io.sources import Source

log = logging.getLogger(__name__)  # reports the columns that were read


def read_ratings(
    source: Source,
    format: str = "auto",  # noqa: A002 -- the name of the command line's option
    *,
    scale: tuple[float, float] | None = None,
    gold_file: str | os.PathLike[str] | None = None,
    controls: Mapping[str, float] | str | os.PathLike[str] | None = None,
    items: Source | None = None,
    annotators: Source | None = None,
    **options: Any,
) -> RatingData:
    """Read ratings on a scale: `read_table`, whose labels are numbers, and then `RatingData.from_frame`.

    Parameters
    ----------
    source, format
        As for `read_table`.
    scale : tuple of two floats, optional
        The ends of the scale; by default the lowest and the highest rating.
    gold_file : path, optional
        Known true values for evaluation, in a file with columns item and gold (or label).
    controls : mapping of item to number, or path, optional
        Known true values that enter the likelihood; a file has columns item and label.
    items, annotators : path or DataFrame, optional
        Tables with a row for each item, or annotator, as for `read_annotations`.
    **options
        Those of `read_table` and of its shapes; `label` is the column of ratings.

    Returns
    -------
    RatingData
        Items and annotators by first appearance.

    Raises
    ------
    DataFileError
        If a file is missing or cannot be opened or fetched.
    DataError
        As for `read_table` and `RatingData.from_frame`.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.ratings import read_ratings
    >>> table = pd.DataFrame({"item": ["s1", "s2"], "ada": [70, 62.5], "bo": [35.5, None]})
    >>> read_ratings(table, columns=["ada", "bo"], scale=(0, 100))
    RatingData: 3 ratings of 2 items by 2 annotators, from 35.5 to 70 on a scale from 0 to 100
    """
    table = read_long(source, {"format": format, **options}, are_numbers=True)
    attrs = table.attrs
    for role, known in (("gold", gold_file), ("control", controls)):
        if known is not None:
            names, roles = list(filter(None, table["item"].unique())), ("gold", "label")
            found: Mapping[str, Any] = (
                known
                if isinstance(known, Mapping)
                else read_known(known, roles if role == "gold" else roles[::-1], names, None, options, ())
            )
            if odd := next((item for item in found if item not in names), None):
                raise DataError(f"{role}: item {odd!r} is not among the items{nearest(odd, names)}")
            table = table.assign(**{role: table["item"].map({item: str(of) for item, of in found.items()}).fillna("")})
            table.attrs |= attrs
    for of, extra in (("item", items), ("annotator", annotators)):
        if extra is not None:
            table = add_columns(table, open_beside(extra, options, of), of)
    if attrs.get("read_as"):
        log.info("%s: %s", name_of(table), attrs["read_as"])
    try:
        return RatingData.from_frame(table, scale=scale)
    except DataError as error:
        message, name = str(error), name_of(table)
        raise DataError(message if message.startswith(name) else f"{name}: {message}") from None
