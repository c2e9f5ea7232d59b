"""Which kind of data a function or a model takes, and where other things become such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

WHAT: Mapping[type, str] = {
    AnnotationData: "who labelled which item how",
    CountData: "how many of an item's answers were positive; from annotations: CountData.from_annotations",
    MultiAnnotationData: "who labelled which item how in each of several dimensions",
}
READERS: Mapping[type, str] = {
    AnnotationData: "read_annotations",
    CountData: "read_counts",
    MultiAnnotationData: "read_multi_annotations",
}


def require_kind(data: Any, kind: type, who: str) -> None:
    """Raise a DataError unless the data are of the kind that someone, a function or a model, needs.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.data.required import require_kind
    >>> require_kind([1, 0], AnnotationData, "usage_table")
    Traceback (most recent call last):
    bayesanno.ground.errors.DataError: usage_table needs AnnotationData (who labelled which item how), not list: ...
    """
    if isinstance(data, kind):
        return
    what = f" ({WHAT[kind]})" if kind in WHAT else ""
    hint = f": bayesanno.{READERS[kind]} makes it of a table" if kind in READERS and type(data) not in READERS else ""
    raise DataError(f"{who} needs {kind.__name__}{what}, not {type(data).__name__}{hint}")
