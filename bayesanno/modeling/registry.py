"""The zoo: models found through the entry-point group `bayesanno.models`, which other packages can join.

The library never imports a model by name; this is the only door.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from bayesanno.ground.errors import ModelError
from bayesanno.modeling.base import AnnotationModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

GROUP = "bayesanno.models"


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def model_class(name: str) -> type[AnnotationModel]:
    """Return the class of a zoo model.

    Raises
    ------
    ModelError
        If the zoo has no such model (the nearest is suggested), or it is not an AnnotationModel.

    Examples
    --------
    >>> from bayesanno.modeling.registry import model_class
    >>> model_class("mace").state_dim
    'true_class'
    """
    entries = _entries()
    if name not in entries:
        close = get_close_matches(name, entries, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the zoo has {', '.join(entries)}"
        raise ModelError(f"there is no model {name!r}: {hint}")
    found = entries[name].load()
    if not (isinstance(found, type) and issubclass(found, AnnotationModel)):
        raise ModelError(f"the entry point {name!r} ({entries[name].value}) is not an AnnotationModel")
    return found


def get_model(model: str | AnnotationModel, fields: Mapping[str, Any] | None = None) -> AnnotationModel:
    """Return a model: by its name and fields, or the instance itself.

    Parameters
    ----------
    model : str or AnnotationModel
        A name in the zoo, or an instance.
    fields : mapping, optional
        Fields to set, as values or as text (`"0.5:0.5"`).

    Raises
    ------
    ModelError
        If the model or a field is unknown, or a value is out of its range.

    Examples
    --------
    >>> from bayesanno import get_model
    >>> get_model("mace", {"competence_prior": "1:1"}).competence_prior
    (1.0, 1.0)
    """
    if isinstance(model, AnnotationModel):
        return model.from_fields(model.to_fields() | dict(fields)) if fields else model
    return model_class(model).from_fields(fields or {})


def describe_models() -> list[dict[str, str]]:
    """Return name, model card's first line, and fields with their defaults, of each model of the zoo."""
    rows = []
    for name in _entries():
        found = model_class(name)
        fields = ", ".join(f"{field}={_as_typed(value)}" for field, value in found.default_fields().items())
        rows.append({"name": name, "model": found.describe(), "fields": fields})
    return rows


def list_models() -> pd.DataFrame:
    """Return the zoo as a table: `name`, `model` (what it says), `fields` with their defaults.

    Examples
    --------
    >>> from bayesanno import list_models
    >>> "mace" in set(list_models()["name"])
    True
    """
    import pandas as pd

    return pd.DataFrame(describe_models())


def _as_typed(value: Any) -> str:
    if isinstance(value, tuple):
        return ":".join(map(_as_typed, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
