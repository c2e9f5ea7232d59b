"""Arguments of a model's methods: parameters and priors by name, and the data for a formula and a process.

`p` are the parameters, and `prior` the fields as data of the graph. A formula (`state_logp`) takes symbolic `Answers`,
`Counts` or `Dimensions`; a generative process (`generate`) takes the design of the same kind. An item of a formula is a
pattern of the data: items with the same answers appear once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.fields import Fields
from bayesanno._core.lazy import pm, pt
from bayesanno.graph.flat import as_size

LOG_CLASS = "log_class"  # log p(class) of distinct items, (row, true_class), among the parameters


class FixedParameter(NamedTuple):
    """A parameter that is known before the fit: its value and its dimensions."""

    value: np.ndarray
    dims: tuple[str, ...]


class Parameters:
    """A model's parameters by their declared names: `p.prevalence`, `p["frequency_focus"]`.

    Known parameters are included.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copying and the like look up names that no parameter has
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise AttributeError(f"no parameter {name!r} was declared: there are {', '.join(self._values)}")
        return self._values[name]

    def prob_and_complement(self, name: str) -> tuple[Any, Any]:
        """Return a probability and its complement."""
        return self[name], 1 - self[name]

    def get(self, name: str) -> Any | None:
        """Return a parameter, or None if this variant of the model does not have it."""
        return self[name] if name in self._values else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)


class Priors:
    """The fields of a model as data containers of the graph under construction, each made at its first use.

    So a study of a hundred priors compiles once.
    """

    def __init__(self, model: Fields) -> None:
        self._model = model
        self._containers: dict[str, pt.TensorVariable] = {}

    def __getattr__(self, field: str) -> pt.TensorVariable:
        if field.startswith("__"):
            raise AttributeError(field)
        if field not in self._containers:
            value = getattr(self._model, field)
            if value is None or isinstance(value, str | bool):
                raise AttributeError(f"{field} is an option, not a number: ask for self.{field}")
            self._containers[field] = pm.Data(field, np.asarray(value, dtype=float))
        return self._containers[field]


@dataclass(frozen=True)
class Orders:
    """The order in which annotators saw the two sides of comparisons; see `bayesanno.data.orders`.

    Attributes
    ----------
    swapped : TensorVariable of int, shape (annotation,)
        1 where the order was not that of the item.
    responses, classes : array of int, shape (response,) and (true_class,)
        Their positions after the two sides are exchanged.
    """

    swapped: pt.TensorVariable
    responses: np.ndarray
    classes: np.ndarray

    def turn(self, codes: pt.TensorVariable, exchange: np.ndarray) -> pt.TensorVariable:
        """Exchange the sides of responses or classes (annotation,) where the other order was shown."""
        return pt.switch(self.swapped, pt.as_tensor(exchange)[codes], codes)


@dataclass(frozen=True)
class Answers:
    """The annotations, as an argument of `state_logp`.

    Attributes
    ----------
    annotator, item, response : TensorVariable of int, shape (annotation,)
        The annotator, item and given label of each annotation.
    n_items : TensorVariable of int
        Number of items.
    n_annotators, n_classes, n_responses : int
        Number of annotators, of true classes, and of labels that annotators can give.
    names_class : array of bool, shape (true_class, response)
        Whether a response names a class.
    control : TensorVariable of int, shape (item,), or None
        The known true class of each item, -1 if unknown.
    index : mapping of name to TensorVariable
        The model's own `index_arrays`.
    orders : Orders or None
        Where comparisons were shown in both orders.
    """

    annotator: pt.TensorVariable
    item: pt.TensorVariable
    n_items: pt.TensorVariable
    all_responses: pt.TensorVariable  # of every annotation of the table,
    kept: pt.TensorVariable  # and which of those are the annotations here
    n_annotators: int
    n_responses: int
    names_class: np.ndarray
    control: pt.TensorVariable | None = None
    index: Mapping[str, pt.TensorVariable] = field(default_factory=dict)
    orders: Orders | None = None

    @property
    def n_classes(self) -> int:
        """Number of true classes."""
        return as_size(self.names_class.shape[0])

    @property
    def response(self) -> pt.TensorVariable:
        """The label of each annotation; shape (annotation,)."""
        return self.all_responses[self.kept]

    @property
    def shown_response(self) -> pt.TensorVariable:
        """The label of each annotation, of the sides in the order that was shown; shape (annotation,)."""
        return self.response if self.orders is None else self.orders.turn(self.response, self.orders.responses)

    def look_up(self, values: pt.TensorVariable) -> pt.TensorVariable:
        """Return what is known of each annotation of the data, (annotation,), for the annotations here."""
        return values[self.kept]

    def sum_over_annotations(self, table: pt.TensorVariable) -> pt.TensorVariable:
        """Add up a table of (annotator, response, class, ...) over each item's annotations: shape (item, state).

        The states are the classes and all further dimensions.
        """
        from bayesanno.modeling.ops.sums import add_rows

        if table.ndim < len(("annotator", "response", "state")):
            raise ValueError(f"sum_over_annotations takes (annotator, response, state), not {table.ndim} dimensions")
        who = self.annotator
        if self.orders is not None:  # as many viewers again
            table = pt.concatenate([table, table[:, self.orders.responses][:, :, self.orders.classes]])
            who = who + self.n_annotators * self.orders.swapped
        cell = who * self.n_responses + self.response  # (annotation,), of annotator and response
        by_state = pt.join_dims(table, start_axis=2) if table.ndim > 3 else table
        return add_rows(pt.join_dims(by_state, 0, 2), cell, self.item, self.n_items)

    def sum_by_item(self, values: pt.TensorVariable) -> pt.TensorVariable:
        """Add up values (annotation, state) that do not form a table by annotator: shape (item, state)."""
        if values.ndim != len(("annotation", "state")):
            raise ValueError(f"sum_by_item takes values (annotation, state), not {values.ndim} dimensions")
        return pt.zeros((self.n_items, values.shape[1]))[self.item].inc(values)


@dataclass(frozen=True)
class Design:
    """The design (who is asked about what), as an argument of `generate`.

    Attributes
    ----------
    annotator, item : TensorVariable of int, shape (annotation,)
        The annotator and the item of each annotation.
    n_items : TensorVariable of int
        Number of items.
    names_class : array of bool, shape (true_class, response)
        Whether a response names a class.
    control : TensorVariable of int, shape (item,), or None
        The known true class of each item, -1 where there is none.
    orders : Orders or None
        Where comparisons are shown in both orders.
    """

    annotator: pt.TensorVariable
    item: pt.TensorVariable
    n_items: pt.TensorVariable
    names_class: np.ndarray
    control: pt.TensorVariable | None = None
    class_row: pt.TensorVariable | None = None  # of each item, where a class prior depends on it
    orders: Orders | None = None

    @property
    def n_classes(self) -> int:
        """Number of true classes."""
        return as_size(self.names_class.shape[0])

    @property
    def class_response(self) -> np.ndarray:
        """The response that names each class; shape (true_class,)."""
        return self.names_class.argmax(axis=1)

    def look_up(self, values: pt.TensorVariable) -> pt.TensorVariable:
        """Return what is known of each annotation of the data, (annotation,), as `Answers.look_up` does."""
        return values

    def show(self, state: pt.TensorVariable) -> pt.TensorVariable:
        """Return the class of each annotation's item, of the sides as shown: (annotation,), from classes (item,)."""
        shown = state[self.item]
        return shown if self.orders is None else self.orders.turn(shown, self.orders.classes)

    def with_controls(self, state: pt.TensorVariable) -> pt.TensorVariable:
        """Replace random states by the known ones; shape (item,)."""
        return state if self.control is None else pt.switch(self.control >= 0, self.control, state)

    def draw_classes(self, p: Parameters) -> pt.TensorVariable:
        """Return random true classes (item,), except for known ones.

        The probabilities come from the model's class prior or `prevalence`; without these they are equal.
        """
        if (log_class := p.get(LOG_CLASS)) is not None:
            return self.with_controls(pm.Categorical.dist(logit_p=log_class[self.class_row]))
        prevalence = p.prevalence if "prevalence" in p else pt.as_tensor(np.ones(self.n_classes) / self.n_classes)
        return self.with_controls(pm.Categorical.dist(prevalence, shape=(self.n_items,)))


@dataclass(frozen=True)
class Counts:
    """Positive answers out of all answers, as an argument of `state_logp`.

    Attributes
    ----------
    successes, trials : TensorVariable of int, shape (item,)
        The numbers of positive answers and of all answers.
    n_items : TensorVariable of int
        Number of items.
    index : mapping of name to TensorVariable
        The model's own `index_arrays`.
    """

    successes: pt.TensorVariable
    trials: pt.TensorVariable
    n_items: pt.TensorVariable
    index: Mapping[str, pt.TensorVariable] = field(default_factory=dict)


@dataclass(frozen=True)
class CountDesign:
    """The number of answers to each item, as an argument of `generate`.

    Attributes
    ----------
    trials : TensorVariable of int, shape (item,)
        All answers.
    n_items : TensorVariable of int
        Number of items.
    """

    trials: pt.TensorVariable
    n_items: pt.TensorVariable


@dataclass(frozen=True)
class Dimensions:
    """The annotations of several dimensions of the same items, as an argument of `item_logp`.

    Attributes
    ----------
    by_dimension : mapping of dimension to Answers
        The answers of each dimension, over the same items and annotators.
    n_items : TensorVariable of int
        Number of items.
    n_annotators : int
        Number of annotators.
    """

    by_dimension: Mapping[str, Answers]
    n_items: pt.TensorVariable
    n_annotators: int


@dataclass(frozen=True)
class DimensionsDesign:
    """The design (who is asked about which dimension of which item), as an argument of `generate`.

    Attributes
    ----------
    by_dimension : mapping of dimension to Design
        The design of each dimension, over the same items and annotators.
    n_items : TensorVariable of int
        Number of items.
    """

    by_dimension: Mapping[str, Design]
    n_items: pt.TensorVariable


@dataclass(frozen=True)
class Ratings:
    """Ratings on a scale, as an argument of `item_logp`.

    Attributes
    ----------
    annotator, item : TensorVariable of int, shape (annotation,)
        The annotator and the item of each rating.
    value : TensorVariable, shape (annotation,)
        The ratings.
    n_items : TensorVariable of int
        Number of items.
    known : TensorVariable, shape (item,)
        The known true value of each item, inf if unknown (PyMC's data cannot be nan).
    level : TensorVariable, shape (item, level), or None
        Where the quantiles of the posterior are asked for.
    """

    annotator: pt.TensorVariable
    item: pt.TensorVariable
    value: pt.TensorVariable
    n_items: pt.TensorVariable
    known: pt.TensorVariable
    level: Any = None

    def sum_by_item(self, values: pt.TensorVariable) -> pt.TensorVariable:
        """Add up values (annotation,) over each item's ratings: shape (item,)."""
        return pt.zeros(self.n_items)[self.item].inc(values)


@dataclass(frozen=True)
class RatingDesign:
    """The design (who is asked about what), as an argument of `generate`.

    Attributes
    ----------
    annotator, item : TensorVariable of int, shape (annotation,)
        The annotator and the item of each rating.
    n_items : TensorVariable of int
        Number of items.
    known : TensorVariable, shape (item,)
        The known true value of each item, inf if unknown (PyMC's data cannot be nan).
    """

    annotator: pt.TensorVariable
    item: pt.TensorVariable
    n_items: pt.TensorVariable
    known: pt.TensorVariable
