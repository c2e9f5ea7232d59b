"""The discrete latents of an item, which are summed out, and quantities derived from their posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bayesanno._core.lazy import pt

ITEM_TYPE = "item_type"  # the dimension of states that are item types instead of labels
NONE_OF_THESE = "(none of these)"  # the state of an item with a true label that nobody gave
DIFFICULTY = "difficulty_bin"  # the dimension of the bins of the posterior of a difficulty


class Latent(NamedTuple):
    """The discrete latent of an item, which is summed out.

    Attributes
    ----------
    dim : str
        The dimension of its states.
    states : tuple of str
        The names of its states.
    name : str
        The name of the latent among several; "" if there is only one.
    """

    dim: str
    states: tuple[str, ...]
    name: str = ""

    def data_of(self, data: Any) -> Any:
        """Return the table of annotations, or the counts, to which this latent belongs."""
        return data.by_dimension[self.name] if self.name else data


class Derived(NamedTuple):
    """A quantity derived in each draw: symbolic values with items or annotations as the first dimension."""

    dims: tuple[str, ...]
    values: pt.TensorVariable


@dataclass(frozen=True)
class LatentPosterior:
    """The log posterior (item, state) and the derived quantities per draw, by the name of the latent.

    Logs are used since probabilities near 1 round to 1, and the others underflow for items with many answers.
    """

    log_probability: Mapping[str, pt.TensorVariable]
    derived: Mapping[str, Mapping[str, Derived]]


def subtract_total(logp: pt.TensorVariable, total: pt.TensorVariable) -> pt.TensorVariable:
    """Return log p(state | answers) from log p(state, answers) (item, state) and its sum over states (item,).

    Impossible answers give -inf for all states.
    """
    possible = total > -math.inf
    return pt.switch(possible[:, None], logp - pt.switch(possible, total, 0.0)[:, None], -math.inf)
