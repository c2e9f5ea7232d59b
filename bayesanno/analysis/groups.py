"""Groups of items or annotators, as given by a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd


def read_groups(groups: Any, what: str, *, where: str = "groups") -> pd.Series[str]:
    """Return the group of each item or annotator (`what`), by name.

    Raises
    ------
    DataError
        If the groups are not a mapping, Series or table, or a member has two groups. The message calls them `where`.
    """
    if isinstance(groups, pd.DataFrame):
        lacking = [column for column in (what, "group") if column not in groups]
        if lacking:
            raise DataError(f"{where} has no column {lacking[0]!r}: a table of groups has {what} and group")
        groups = groups.drop_duplicates([what, "group"]).set_index(what)["group"]
    if not isinstance(groups, Mapping | pd.Series):
        raise DataError(f"{where} is {type(groups).__name__}: give the group of each {what} by name, as in a dict")
    named = pd.Series(groups, dtype=object).dropna()
    named.index = named.index.map(str)
    twice = named.index[named.index.duplicated()]
    if len(twice):
        raise DataError(f"{where}: {what} {twice[0]!r} has two groups: give one group per {what}")
    return named.map(str)
