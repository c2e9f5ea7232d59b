"""What every entry of the zoo is: a frozen value that holds a model's options and priors, and can build its graph.

The invariant: an instance is valid (each field has its declared type and lies in its range), hashable, and equal to
what its JSON form gives back. `fit` stores that form, so that a fit alone suffices to rebuild its model.
"""

from __future__ import annotations

import math
import types
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.errors import DataError, ModelError
from bayesanno.ground.wording import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pymc as pm
    import xarray
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.modeling.data_kinds import Patterns
    from bayesanno.modeling.observations import Answers


@dataclass(frozen=True)
class Range:
    """The open interval a number must lie in; `math.inf` and `-math.inf` leave a side free."""

    low: float
    high: float

    def __str__(self) -> str:
        if math.isinf(self.high):
            return "a number" if math.isinf(self.low) else f"a number > {self.low:g}"
        return f"a number between {self.low:g} and {self.high:g} (exclusive)"


Positive = Annotated[float, Range(0, math.inf)]
Fraction = Annotated[float, Range(0, 1)]


@dataclass(frozen=True, kw_only=True)
class AnnotationModel(ABC):
    """A model of annotation: its options and priors as fields, its graph by `build`.

    A subclass is one frozen, keyword-only dataclass. It supplies the model's formula once (`state_logp`), its
    generative story with the latents explicit (`generate`), and a place to start from (`start`); `build` declares the
    parameters and hands all of it to `bayesanno.modeling.likelihood.observe`.

    Attributes
    ----------
    name : str
        The name in the zoo.
    state_dim : str
        The dimension of an item's discrete latent, `"true_class"` where the states are the labels.
    competence : str or None
        The variable over annotators that the annotator table reports, if there is one.
    data_class : type
        The class of data that it is a model of.
    two_labels : bool
        Whether it takes two labels only, of which the last is the positive one.
    takes_controls : bool
        Whether a known true label tells it anything.

    Raises
    ------
    ModelError
        If a field has the wrong type or lies outside its range.
    """

    name: ClassVar[str]
    state_dim: ClassVar[str]
    competence: ClassVar[str | None] = None
    data_class: ClassVar[type] = AnnotationData
    two_labels: ClassVar[bool] = False
    takes_controls: ClassVar[bool] = True

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self), include_extras=True)
        for field in fields(self):
            value = convert(getattr(self, field.name), hints[field.name], f"{self.name}: {field.name}")
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_fields(cls, settings: Mapping[str, Any]) -> Self:
        """Build from a mapping of fields, whose values may be text (`"0.5:0.5"`, as typed on a command line) or JSON.

        Raises
        ------
        ModelError
            If a name is no field of this model (the nearest is suggested), or a value does not fit.
        """
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known) or 'none'}"
                raise ModelError(f"{cls.name} has no field {name!r}: {hint}")
        return cls(**settings)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as plain values that JSON can hold; `from_fields` gives the model back."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def default_fields(cls) -> dict[str, Any]:
        """Return each field's default."""
        return {field.name: field.default for field in fields(cls) if field.default is not MISSING}

    def check(self, data: Any) -> None:
        """Raise a DataError unless this model can be fitted to these data; `fit` asks before anything takes time."""
        require_data(self, data)

    def caveats(self, data: Any) -> list[str]:  # noqa: ARG002
        """Return, in plain words, what this model cannot learn from these data, however long one samples."""
        return []

    def remarks(self, data: Any, posterior: xarray.Dataset) -> list[str]:  # noqa: ARG002
        """Return, in plain words, what in a posterior keeps chains from mixing, and what to do; empty if nothing."""
        return []

    @abstractmethod
    def build(self, data: Any) -> pm.Model:
        """Return the PyMC model of these annotations, its discrete latents summed out."""

    def state_logp(self, answers: Any, *args: Any, **parameters: Any) -> TensorVariable:
        """Return log p(state, the item's answers | parameters), symbolic, of shape (item, state).

        A model whose likelihood is no plain sum over states supplies `item_logp` and `readings` instead.
        """
        raise NotImplementedError

    def item_logp(self, answers: Any, **parameters: Any) -> TensorVariable:
        """Return log p(the item's answers | parameters), the state summed out; symbolic, of shape (item,)."""
        from bayesanno.modeling.ops.sum_out_states import sum_out_states

        return sum_out_states(self._known_state_logp(answers, parameters))[0]

    def readings(self, answers: Any, **parameters: Any) -> dict[str, tuple[tuple[str, ...], TensorVariable]]:
        """Return all that can be read off per draw: name -> (dims, values), symbolic.

        Names that begin with `probability` are posteriors of states: their MCSE and entropy are computed too. The first
        dimension is "item" or that of annotations.
        """
        from bayesanno.modeling.ops.sum_out_states import sum_out_states

        probability = sum_out_states(self._known_state_logp(answers, parameters))[1]  # (item, state)
        found = {"probability": (("item", self.state_dim), probability)}
        return found | self.views(answers, probability, **parameters)

    def _known_state_logp(self, answers: Any, parameters: Mapping[str, Any]) -> TensorVariable:
        logp = self.state_logp(answers, **parameters)  # (item, state)
        control = getattr(answers, "control", None)
        return logp if control is None else self.constrain(logp, answers, **parameters)

    def constrain(self, logp: TensorVariable, answers: Answers, *args: Any, **parameters: Any) -> TensorVariable:  # noqa: ARG002
        """Take the states of controlled items as known: -inf outside the true label's state; shape (item, state)."""
        from bayesanno.ground.lazy import pt

        known = answers.control[:, None]  # type: ignore[index]  # only called where there are controls
        return pt.switch((known < 0) | pt.eq(known, pt.arange(logp.shape[1])[None, :]), logp, -math.inf)

    @abstractmethod
    def generate(self, design: Any, *args: Any, **parameters: Any) -> tuple[TensorVariable, TensorVariable]:
        """Tell the generative story: random states of shape (item,) and answers of shape (annotation,)."""

    @abstractmethod
    def start(self, data: Any) -> dict[str, np.ndarray]:
        """Return parameter values near the majority vote, where chains start (each with a jitter of its own)."""

    def views(
        self,
        answers: Any,  # noqa: ARG002
        probability: TensorVariable,  # noqa: ARG002
        *args: Any,  # noqa: ARG002
        **parameters: Any,  # noqa: ARG002
    ) -> dict[str, tuple[tuple[str, ...], TensorVariable]]:
        """Return what else can be read off, per draw, from the state posterior: name -> (dims, values), symbolic.

        The first dimension is "item" or "annotation"; `probability` has shape (item, state).
        """
        return {}

    def view_coords(self, data: Any) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the coordinates of dimensions that views have beside items and states."""
        return {}

    def states(self, data: Any) -> tuple[str, ...]:
        """Return the names of the states."""
        labels: tuple[str, ...] = data.labels
        return labels

    def state_dims(self, data: Any) -> dict[str, tuple[str, ...]]:
        """Return the dimensions of the latents, with the names of their states."""
        return {self.state_dim: self.states(data)}

    def index_arrays(self, data: Any, patterns: Patterns) -> dict[str, np.ndarray]:  # noqa: ARG002
        """Return arrays of indices that the formula needs beside the data, named as in `bayesanno.modeling.data_kinds`."""
        return {}

    def fixed(self, data: Any) -> dict[str, np.ndarray]:  # noqa: ARG002
        """Return parameters that are taken from the data beforehand; `build` registers them as data."""
        return {}

    def parameter_names(self, data: Any) -> tuple[str, ...]:  # noqa: ARG002
        """Return the names under which the formula takes its parameters, fixed ones included."""
        import inspect

        return tuple(inspect.signature(self.state_logp).parameters)[1:]

    def storyteller(self) -> AnnotationModel:
        """Return the model that tells this one's story from priors alone, with nothing taken from data."""
        return self

    def is_exchangeable(self, data: Any) -> bool:  # noqa: ARG002
        """Tell whether permuting the classes leaves prior and likelihood as they are."""
        return False

    @classmethod
    def describe(cls) -> str:
        """Return the first line of the model card."""
        import sys

        card = sys.modules[cls.__module__].__doc__ or ""
        return card.strip().split("\n")[0]


def hyper(name: str, value: Any, dims: str | tuple[str, ...] | None = None) -> TensorVariable:
    """Register a hyperparameter, or a fixed parameter, as data: a study of many compiles the model once."""
    import numpy as np

    from bayesanno.ground.lazy import pm

    return pm.Data(name, np.asarray(value, dtype=float), dims=dims)


def convert(value: Any, hint: Any, what: str) -> Any:
    """Return `value` as the type `hint` says, from text or JSON or Python, or raise a ModelError that names `what`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        number, bounds = arguments[0], arguments[1]
        converted = convert(value, number, what)
        if not bounds.low < converted < bounds.high:
            raise ModelError(f"{what} is {value}: it must be {bounds}")
        return converted
    if origin is Literal:
        if value not in arguments:
            raise ModelError(f"{what} is {value!r}: it must be one of {', '.join(map(repr, arguments))}")
        return value
    if origin is tuple:
        parts = value.split(":") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or (arguments[-1] is not ... and len(parts) != len(arguments)):
            size = "some" if arguments[-1] is ... else str(len(arguments))
            raise ModelError(
                f"{what} is {value!r}: it must be {size} numbers (on the command line {_example(arguments)})"
            )
        kinds = [arguments[0]] * len(parts) if arguments[-1] is ... else arguments
        return tuple(convert(part, kind, what) for part, kind in zip(parts, kinds, strict=True))
    if origin in (Union, types.UnionType):
        return _convert_union(value, arguments, what)
    if hint is bool:
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
    elif hint is str:
        return str(value)
    elif hint in (int, float) and not isinstance(value, bool):
        try:
            converted = hint(value)
        except (TypeError, ValueError):
            converted = math.nan
        if not math.isnan(converted) and (hint is float or converted == float(value)):
            return converted
    raise ModelError(f"{what} is {value!r}: it must be {'a number' if hint is float else 'of type ' + hint.__name__}")


def _convert_union(value: Any, kinds: tuple[Any, ...], what: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    for kind in kinds:
        if kind is not type(None):
            try:
                return convert(value, kind, what)
            except ModelError as error:
                problem = error
    raise problem


def _example(kinds: tuple[Any, ...]) -> str:
    return ":".join(["0.5"] * (2 if kinds[-1] is ... else len(kinds)))


WHAT_DATA = {
    "AnnotationData": "who said what of which item",
    "CountData": "how many of an item's answers were positive; from annotations: CountData.from_annotations",
    "MultiAnnotationData": "who said what of which item in each of several dimensions",
}


def require_data(model: AnnotationModel, data: object) -> None:
    """Raise a DataError unless the data are of the model's class, and have the labels and controls that it takes."""
    if not isinstance(data, model.data_class):
        needed = model.data_class.__name__
        raise DataError(f"{model.name} needs {needed} ({WHAT_DATA[needed]}), not {type(data).__name__}")
    if not isinstance(data, AnnotationData):
        return
    if model.two_labels and data.n_labels > 2:
        raise DataError(
            f"{model.name} takes two labels, not {data.n_labels}: {listed(data.labels)}; set one of them against all "
            "others: data.binarise(positive=...) (--positive)"
        )
    if not model.takes_controls and data.controls:
        raise DataError(f"{model.name} knows no true labels, so that controls tell it nothing: leave them out")
