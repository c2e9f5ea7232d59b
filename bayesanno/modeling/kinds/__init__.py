"""The kinds of data: one file each, and one registry, which all other code asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bayesanno.modeling.kinds.annotations import AnnotationKind
from bayesanno.modeling.kinds.base import Kind
from bayesanno.modeling.kinds.counts import CountKind
from bayesanno.modeling.kinds.dimensions import DimensionsKind
from bayesanno.modeling.kinds.ratings import RatingKind

type Data = Any  # data of any kind

KINDS: dict[type, Kind] = {
    kind.data_class: kind for kind in (AnnotationKind(), CountKind(), DimensionsKind(), RatingKind())
}


def kind_of(of: Any) -> Kind:
    """Return the kind of data, or that of the data which a model takes."""
    return KINDS[getattr(of, "data_class", type(of))]


def refused_by(kind: Kind) -> tuple[str, ...]:
    """Return the options of reading that data of a kind do not take, those of other kinds among them."""
    others = [name for other in KINDS.values() for name in other.options if name not in kind.options]
    return (*dict.fromkeys(others), *kind.refused)


def outline_of(data: Any) -> SimpleNamespace:
    """Return the parts of data that `answers` and `design` use: numbers of annotators and labels, and classes."""
    used = ("n_annotators", "n_labels", "class_codes", "exchange")
    sizes = {name: getattr(data, name) for name in used if hasattr(data, name)}
    parts = {name: outline_of(part) for name, part in getattr(data, "by_dimension", {}).items()}
    return SimpleNamespace(**sizes, by_dimension=parts)
