"""Annotations as a long table of pandas, for `AnnotationData.to_frame`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd


def tabulate(data: Any) -> pd.DataFrame:
    """Return the annotations as a long table; see `AnnotationData.to_frame`."""
    names, seen = np.array(data.items, dtype=object)[data.item], np.array(data.labels, dtype=object)
    table: dict[str, Any] = {
        "item": names,
        "annotator": np.array(data.annotators, dtype=object)[data.annotator],
        "label": seen[data.shown_label],
    }
    if data.gold:
        other = data.other_side
        known = [data.gold.get(name, "") for name in names]
        table["gold"] = [
            other.get(label, label) if turned else label for label, turned in zip(known, data.swapped, strict=True)
        ]
    described = {
        name: np.array(column.names, dtype=object)[code] if column.levels else column.values[code]
        for code, columns in ((data.item, data.item_columns), (data.annotator, data.annotator_columns))
        for name, column in columns.items()
    }
    return pd.DataFrame(table, dtype="str").assign(**described | show_systems(data, data.item, data.swapped))


def name_winners(data: Any, labels: Iterable[str], items: Iterable[int]) -> list[str]:
    """Return labels of some items, by position, with the names of systems in place of sides."""
    systems = {side: data.item_columns[side].names for side in data.sides} if data.has_systems else {}
    return [systems[label][item] if label in systems else label for label, item in zip(labels, items, strict=True)]


def show_systems(data: Any, item: np.ndarray, swapped: np.ndarray) -> dict[str, np.ndarray]:
    """Return the systems by side, in the order of these items (row,) or the other one; nothing without systems."""
    if not data.has_systems:
        return {}
    pair = [np.array(data.item_columns[side].names, dtype=object)[item] for side in data.sides]
    return {side: np.where(swapped, pair[1 - at], pair[at]) for at, side in enumerate(data.sides)}
