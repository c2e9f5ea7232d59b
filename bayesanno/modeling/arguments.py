"""What a model's methods take and return: parameters, data for a formula and a process, and latents of items.

`p` are the parameters, and `prior` the fields as data of the graph. A formula (`state_logp`) takes symbolic `Answers`,
`Counts`, `Dimensions` or `Ratings`; a generative process (`generate`) takes the design of the same kind. An item of a
formula is a pattern of the data: items with the same answers appear once. A latent of an item is discrete and summed
out, or a number and integrated out; its posterior is averaged over draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.fields import Fields
from bayesanno._core.lazy import pm, pt
from bayesanno._core.messages import FitError
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


TRUE_CLASS = "true_class"  # the dimension of states that are labels
ITEM_TYPE = "item_type"  # the dimension of states that are item types
NONE_OF_THESE = "(none of these)"  # the state of an item with a true label that nobody gave
DIFFICULTY = "difficulty_bin"  # the dimension of the bins of the posterior of a difficulty

# The variables of the group `latent` of a fit, of each dimension or of the only table.
PROBABILITY = "probability"  # (item, state)
LOG_PROBABILITY = "log_probability"  # (item, state); precise even if the probability rounds to 1
PROBABILITY_MCSE = "probability_mcse"  # (item, state)
ENTROPY = "entropy"  # (item,), nats
MEAN, SD, QUANTILE = "mean", "sd", "quantile"  # (item,), (item,) and (item, level), of a number
LEVEL = "level"  # the dimension of the probabilities below quantiles
LEVELS = (np.arange(200) + 0.5) / 200
POINTS, LEAST_POINTS = 8_000, 4  # by which quantiles of a mixture are computed: in all, and of each draw
LABEL_PROBABILITY = "label_probability"  # (item, label), if the last state is that nobody gave the true label
HARD = "hard"  # (item,), P(the item is of the hard type)
CORRECT = "correct"  # (annotation,), P(the annotator is right), in models that infer it
DIFFICULTY_MEAN = "difficulty"  # (item,), the expected difficulty, if items have one


class Discrete(NamedTuple):
    """A latent of an item with finitely many states, which is summed out.

    Attributes
    ----------
    dim : str
        The dimension of its states: "true_class" if these are labels.
    states : tuple of str
        The names of its states.
    name : str
        The dimension of the data to which the latent belongs; "" if there is only one.
    """

    dim: str
    states: tuple[str, ...]
    name: str = ""

    @property
    def kind(self) -> str:
        """What the states are."""
        return "labels" if self.dim == TRUE_CLASS else "types"

    @property
    def varies(self) -> bool:
        """Whether there is more than one state."""
        return len(self.states) > 1

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """The variables of its posterior, averaged over draws, with their dimensions after that of items."""
        of_states = dict.fromkeys((PROBABILITY, LOG_PROBABILITY, PROBABILITY_MCSE), (self.dim,))
        return of_states | {ENTROPY: ()}

    @property
    def coords(self) -> dict[str, list[Any]]:
        """The names along these dimensions."""
        return {self.dim: list(self.states)}


class Continuous(NamedTuple):
    """A latent of an item that is a number, such as its true value, and is integrated out.

    Attributes
    ----------
    quantity : str
        What the number is, as in the names of variables.
    name : str
        The dimension of the data to which the latent belongs; "" if there is only one.
    """

    quantity: str
    name: str = ""

    @property
    def kind(self) -> str:
        """What the latent is to tables."""
        return "values"

    @property
    def varies(self) -> bool:
        """A number always does."""
        return True

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """The variables of its posterior, a mixture over draws, with their dimensions after that of items."""
        return {MEAN: (), SD: (), QUANTILE: (LEVEL,)}

    @property
    def coords(self) -> dict[str, list[Any]]:
        """The names along these dimensions."""
        return {LEVEL: LEVELS.tolist()}


type Latent = Discrete | Continuous

GIVEN = {  # what a model gives for items, in words, and the table that has it
    "labels": ("labels", "label_table"),
    "types": ("item types", "type_table"),
    "values": ("values", "value_table"),
    "none": ("nothing about items", "usage_table"),
}


def require_latents(model: Any, data: Any, what: str, who: str) -> None:
    """Raise a FitError unless a model gives what a function, `who`, asks for: "labels", "types" or "values"."""
    for kind in {latent.kind for latent in model.latents(data)} or {"none"}:
        if kind != what:
            gives, table = GIVEN[kind]
            raise FitError(f"{who} needs {GIVEN[what][0]}, and {model.name} gives {gives}: see {table}")


class Derived(NamedTuple):
    """A quantity derived in each draw: symbolic values with items or annotations as the first dimension."""

    dims: tuple[str, ...]
    values: pt.TensorVariable


class Number(NamedTuple):
    """The posterior of a number of each item in one draw.

    Attributes
    ----------
    mean, sd : TensorVariable, shape (item,)
    quantile : TensorVariable, shape (item, level)
        At the levels (item, level) that the argument of the formula has.
    """

    mean: pt.TensorVariable
    sd: pt.TensorVariable
    quantile: pt.TensorVariable


@dataclass(frozen=True)
class LatentPosterior:
    """The posterior of latents per draw, and the derived quantities, by the name of the latent.

    Attributes
    ----------
    total : TensorVariable, shape (item,)
        Log p(answers), as `item_logp` returns it.
    log_probability : mapping of str to TensorVariable, shape (item, state)
        Of discrete latents. Logs are used since probabilities near 1 round to 1, and the others underflow for items
        with many answers.
    derived : mapping of str to mapping of str to Derived
    numbers : mapping of str to Number
        Of continuous latents.
    """

    total: pt.TensorVariable
    log_probability: Mapping[str, pt.TensorVariable] = field(default_factory=dict)
    derived: Mapping[str, Mapping[str, Derived]] = field(default_factory=dict)
    numbers: Mapping[str, Number] = field(default_factory=dict)


def data_of_latent(data: Any, latent: Latent) -> Any:
    """Return the table of annotations, or the counts, to which a latent belongs."""
    return data.by_dimension[latent.name] if latent.name else data


def measure_entropy(probability: np.ndarray) -> np.ndarray:
    """Return the entropy of posteriors (item, label), in nats; shape (item,)."""
    from scipy.special import entr

    return entr(probability).sum(axis=1)


def spread_levels(n_samples: int) -> np.ndarray:
    """Return levels (sample, level) that fill (0, 1) evenly within each sample, and over all of them; not random."""
    n_levels = max(LEAST_POINTS, -(-POINTS // n_samples))
    first = (np.arange(n_samples) * (np.sqrt(5) - 1) / 2 + 0.5) % 1
    return (np.arange(n_levels) + first[:, None]) / n_levels


def average_numbers(
    mean: np.ndarray, sd: np.ndarray, quantile: np.ndarray, weight: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return mean, sd and quantiles of mixtures over draws, (item,) and (item, level).

    Parameters
    ----------
    mean, sd : array, shape (sample, item)
    quantile : array, shape (sample, item, level)
        The quantiles of each draw, at levels from `spread_levels`.
    weight : array, shape (sample, item), optional
        With mean 1; by default all draws have the same.
    """
    weight = np.ones_like(mean) if weight is None else weight
    centre = (weight * mean).mean(axis=0)
    spread = np.sqrt((weight * (sd**2 + (mean - centre) ** 2)).mean(axis=0))
    quantiles = np.empty((centre.size, LEVELS.size))
    for item in range(centre.size):
        order = np.argsort(quantile[:, item], axis=None)
        each = np.repeat(weight[:, item], quantile.shape[2])[order]
        below = (each.cumsum() - each / 2) / each.sum()
        quantiles[item] = np.interp(LEVELS, below, quantile[:, item].ravel()[order])
    return {MEAN: centre, SD: spread, QUANTILE: quantiles}


def interval_of(quantiles: np.ndarray, ci_prob: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals with equal tails, (item,), from quantiles at `LEVELS` (item, level)."""
    ends = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    found = np.array([np.interp(ends, LEVELS, each) for each in quantiles]).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def subtract_total(logp: pt.TensorVariable, total: pt.TensorVariable) -> pt.TensorVariable:
    """Return log p(state | answers) from log p(state, answers) (item, state) and its sum over states (item,).

    Impossible answers give -inf for all states.
    """
    possible = total > -math.inf
    return pt.switch(possible[:, None], logp - pt.switch(possible, total, 0.0)[:, None], -math.inf)
