"""The two namespaces that a model file reads: `p`, its parameters, and `prior`, its fields as data of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.lazy import pm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytensor.tensor.variable import TensorVariable

    from bayesanno.modeling.fields import Fields


class Parameters:
    """A model's parameters by the names they were declared with: `p.prevalence`, `p["frequency_focus"]`.

    Parameters that the model has beforehand are among them. `used` says which were asked for.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copying and the like ask for what no parameter is called
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise AttributeError(f"no parameter {name!r} was declared: there are {', '.join(self._values)}")
        self.used.add(name)
        return self._values[name]

    def get(self, name: str) -> Any | None:
        """Return a parameter, or None where this variant of the model has none of that name."""
        return self[name] if name in self._values else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)


class Priors:
    """The fields of a model as data containers of the graph that is being built, each made when it is first asked for.

    So that a study of a hundred priors compiles once.
    """

    def __init__(self, model: Fields) -> None:
        self._model = model
        self._containers: dict[str, TensorVariable] = {}

    def __getattr__(self, field: str) -> TensorVariable:
        if field.startswith("__"):
            raise AttributeError(field)
        if field not in self._containers:
            value = getattr(self._model, field)
            if value is None or isinstance(value, str | bool):
                raise AttributeError(f"{field} is an option, not a number: ask for self.{field}")
            self._containers[field] = pm.Data(field, np.asarray(value, dtype=float))
        return self._containers[field]
