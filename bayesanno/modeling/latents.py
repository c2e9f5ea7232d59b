"""The latents of an item, which are summed or integrated out, and quantities derived from their posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.lazy import pt
from bayesanno._core.messages import FitError

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
