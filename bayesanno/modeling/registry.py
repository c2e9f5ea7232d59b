"""The zoo: models found through the entry-point group `bayesanno.models`, which other packages can join.

The library imports models only here. A model may have an alias: `dawid_skene` is `model_b`. A model defined elsewhere,
such as in a notebook, is not in the list of models. It is found by its name if its class is defined or imported, so
that its fits can be read.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bayesanno._core.fields import as_typed
from bayesanno._core.lazy import pd
from bayesanno._core.messages import ModelError, closest
from bayesanno.modeling.base import AnnotationModel

GROUP = "bayesanno.models"


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def model_class(name: str) -> type[AnnotationModel]:
    """Return the class of a model in the zoo, or of one defined or imported in this process.

    Raises
    ------
    ModelError
        If the model is unknown (the nearest name is suggested), or is not an AnnotationModel.

    Examples
    --------
    >>> from bayesanno.modeling.registry import model_class
    >>> model_class("mace").state_dim
    'true_class'
    """
    points = _entry_points()
    if name not in points:
        own = [model for model in _defined_models() if vars(model).get("name") == name]
        if own:
            return own[-1]  # the last definition, since a notebook cell may run several times
        close = closest(name, points)
        hint = f"did you mean {close!r}?" if close else f"the zoo has {', '.join(points)}"
        raise ModelError(f"there is no model {name!r}: {hint}")
    found = points[name].load()
    if not (isinstance(found, type) and issubclass(found, AnnotationModel)):
        raise ModelError(f"the entry point {name!r} ({points[name].value}) is not an AnnotationModel")
    return found


def _defined_models() -> Iterator[type[AnnotationModel]]:
    """Yield the model classes that exist in this process, in the order of definition."""
    waiting = AnnotationModel.__subclasses__()
    while waiting:
        model = waiting.pop(0)
        if not inspect.isabstract(model):
            yield model
        waiting += model.__subclasses__()


def get_model(model: str | AnnotationModel, fields: Mapping[str, Any] | None = None) -> AnnotationModel:
    """Return a model from its name and fields, or the given instance.

    Parameters
    ----------
    model : str or AnnotationModel
        The name of a model in the zoo or of one defined in this process, or an instance.
    fields : mapping, optional
        Fields to set, as values or as text (`"0.5:0.5"`).

    Raises
    ------
    ModelError
        If the model or a field is unknown, or a value is out of range.

    Examples
    --------
    >>> from bayesanno import get_model
    >>> get_model("mace", {"competence_prior": "1:1"}).competence_prior
    (1.0, 1.0)
    """
    if fields is not None and not isinstance(fields, Mapping):
        raise ModelError(f"fields are {type(fields).__name__}: give a mapping, as in {{'prevalence_prior': 2}}")
    if isinstance(model, type) and issubclass(model, AnnotationModel):
        raise ModelError(f"{model.__name__} is a class: give a model, {model.__name__}(), or its name, {model.name!r}")
    if isinstance(model, AnnotationModel):
        _check_name(model)
        return model.from_fields(model.to_fields() | dict(fields)) if fields else model
    if not isinstance(model, str):
        raise ModelError(f"a model is needed, by its name or as an instance, not {type(model).__name__}")
    return model_class(model).from_fields(fields or {})


def _check_name(model: AnnotationModel) -> None:
    """Raise a ModelError if a model has no name, or that of another model, by which its fits are read."""
    own, name = type(model).__name__, getattr(model, "name", "")
    if not name:
        raise ModelError(f'{own} has no name: add name: ClassVar[str] = "..."')
    if name in _entry_points() and type(model) is not model_class(name):
        raise ModelError(f"{own} has the name of {model_class(name).__name__}, {name!r}: give it one of its own")


def list_model_classes() -> dict[str, type[AnnotationModel]]:
    """Return the classes of the models in the zoo by name, without aliases.

    Examples
    --------
    >>> from bayesanno.modeling.registry import list_model_classes
    >>> "mace" in list_model_classes()
    True
    """
    found = {name: model_class(name) for name in _entry_points()}
    return {name: model for name, model in found.items() if model.name == name}


def describe_models() -> list[dict[str, str]]:
    """Return name, aliases, first line of the model card, and fields with defaults, for each model in the zoo."""
    aliases: dict[str, list[str]] = {}
    for name in _entry_points():
        aliases.setdefault(model_class(name).name, []).append(name)
    rows = []
    for name, names in aliases.items():
        found = model_class(name)
        fields = ", ".join(f"{field}={as_typed(value)}" for field, value in found.default_fields().items())
        also = ", ".join(other for other in names if other != name)
        rows.append({"name": name, "aliases": also, "model": _first_line(found), "fields": fields})
    return sorted(rows, key=lambda row: row["name"])


def list_models() -> pd.DataFrame:
    """Return the zoo as a table: `name`, `aliases`, `model` (first line of the model card), `fields` with defaults.

    Examples
    --------
    >>> from bayesanno import list_models
    >>> "mace" in set(list_models()["name"])
    True
    """
    return pd.DataFrame(describe_models())


def _first_line(model: type[AnnotationModel]) -> str:
    """Return the first line of the model card."""
    card = sys.modules[model.__module__].__doc__ or ""
    return card.strip().split("\n")[0]
