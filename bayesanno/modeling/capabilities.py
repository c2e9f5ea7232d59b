"""Features that only some models have, besides the four methods of all: a model inherits its capabilities.

The library checks the capabilities of a model, never its name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from bayesanno.ground.lazy import pt
from bayesanno.modeling.arguments import LOG_CLASS, Parameters
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.data_kinds import CLASS_ROW, Arrays, Patterns

ITEM_TYPE = "item_type"  # the dimension of states that are item types instead of labels


class Known(NamedTuple):
    """A parameter that is known before the fit: its value and its dimensions."""

    value: np.ndarray
    dims: tuple[str, ...]


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


class View(NamedTuple):
    """A further quantity per draw: symbolic values with items or annotations as the first dimension."""

    dims: tuple[str, ...]
    values: pt.TensorVariable


@dataclass(frozen=True)
class LatentPosterior:
    """The log posterior (item, state) and the views per draw, by the name of the latent.

    Logs are used since probabilities near 1 round to 1, and the others underflow for items with many answers.
    """

    log_probability: Mapping[str, pt.TensorVariable]
    views: Mapping[str, Mapping[str, View]]


NONE_OF_THESE = "(none of these)"


class HasKnownParameters(ABC):
    """A model with known parameters: taken from the data, or given."""

    @abstractmethod
    def known_parameters(self, data: Any) -> dict[str, Known]:
        """Return these parameters by name; `build` registers them as data."""

    def without_data(self) -> Self:
        """Return the model that simulates from priors alone, with nothing taken from data."""
        return self


class HasIndexArrays(ABC):
    """A model with a formula that looks up arrays made from the data."""

    @abstractmethod
    def index_arrays(self, data: Any, patterns: Patterns) -> Arrays:
        """Return these arrays, each with its kind of entries."""


class HasViews(ABC):
    """A model with further quantities besides its states."""

    @abstractmethod
    def views(self, answers: Any, probability: pt.TensorVariable, p: Parameters) -> dict[str, View]:
        """Return further quantities per draw, from the state posterior (item, state)."""


DIFFICULTY = "difficulty_bin"  # the dimension of the bins of the posterior of a difficulty


class ConstrainsStates(ABC):
    """A model with states other than the labels, which defines the meaning of a known true label."""

    @abstractmethod
    def constrain(
        self, logp: pt.TensorVariable, control: pt.TensorVariable, answers: Any, p: Parameters
    ) -> pt.TensorVariable:
        """Add known classes (item,), -1 if unknown, to log p(state, answers); shape (item, state)."""


class SeveralLatents(ABC):
    """A model with a likelihood that is not a plain sum over the states of one latent; it supplies both functions."""

    @abstractmethod
    def latents(self, data: Any) -> tuple[Latent, ...]:
        """Return the latents of an item."""

    @abstractmethod
    def item_logp(self, answers: Any, p: Parameters) -> pt.TensorVariable:
        """Return log p(the item's answers | parameters) with the latents summed out; symbolic, of shape (item,)."""

    @abstractmethod
    def latent_posterior(self, answers: Any, p: Parameters) -> LatentPosterior:
        """Return the posterior of the latents, and the views, given parameters; symbolic."""


class Relabels(ABC):
    """A model with classes that can be permuted under some of its priors, so that labels may switch."""

    @abstractmethod
    def is_exchangeable(self, data: Any) -> bool:
        """Whether permuting the classes does not change prior and likelihood."""


class HasScales(ABC):
    """A model that learns scale parameters of others, so that its density is highest if these are all equal."""

    @abstractmethod
    def scale_parameters(self) -> tuple[str, ...]:
        """Return the names of the scale parameters; none under options without these.

        Where all that has a scale is equal, the density has its peak but no mass. So the search for modes keeps the
        scales, and modes have no masses before sampling. Scale parameters must be sampled on a log scale.
        """


class HasPopulation(HasScales):
    """A model with confusion matrices drawn from a population of annotators, which also describes new annotators.

    The population has the parameters `population` (true_class, response), `spread` (true_class) and `ability_spread`
    (see `bayesanno.modeling.ops.variables`). From it are drawn `ability` (annotator), which is subtracted from all log
    odds of an annotator's wrong responses, and `confusion` (annotator, true_class, response).
    """

    def scale_parameters(self) -> tuple[str, ...]:
        """Return the names of the standard deviations of log odds and of abilities."""
        return ("spread", "ability_spread")

    def draw_annotators(
        self, draws: Mapping[str, np.ndarray], n: int, class_codes: np.ndarray, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw n new annotators for each draw (draw, ...) of the population: (draw, annotator, ...) by name."""
        from bayesanno.modeling.ops.variables import draw_rows

        centre = draws["population"][:, None].repeat(n, axis=1)  # (draw, annotator, true_class, response)
        ability = draws["ability_spread"][:, None] * rng.standard_normal(centre.shape[:2])  # (draw, annotator)
        confusion = draw_rows(centre, draws["spread"][:, None], class_codes, rng, shift=-ability[..., None])
        return {"ability": ability, "confusion": confusion}


OF_GRADING = ("severity", "sd")  # the parameters of annotators in models of grades


def known_parameters(model: Any, data: Any) -> dict[str, Known]:
    """Return the known parameters of a model."""
    return model.known_parameters(data) if isinstance(model, HasKnownParameters) else {}


def scale_parameters(model: Any) -> tuple[str, ...]:
    """Return the names of a model's scale parameters; none if it has none."""
    return model.scale_parameters() if isinstance(model, HasScales) else ()


def is_exchangeable(model: Any, data: Any) -> bool:
    """Whether permuting the classes does not change the prior and likelihood of a model."""
    return isinstance(model, Relabels) and not terms_of(model) and model.is_exchangeable(data)


def latents(model: Any, data: Any) -> tuple[Latent, ...]:
    """Return the discrete latents of an item in a model."""
    if isinstance(model, SeveralLatents):
        return model.latents(data)
    return (Latent(model.state_dim, model.states(data)),)


def item_logp(model: Any, answers: Any, p: Parameters) -> pt.TensorVariable:
    """Return log p(the item's answers | parameters) with the states summed out; symbolic, of shape (item,)."""
    from bayesanno.modeling.ops.sums import sum_out_states

    if isinstance(model, SeveralLatents):
        return model.item_logp(answers, p)
    return sum_out_states(_known_state_logp(model, answers, p))[0]


def latent_posterior(model: Any, answers: Any, p: Parameters) -> LatentPosterior:
    """Return the posterior of the states, and the views, given parameters; symbolic."""
    from bayesanno.modeling.ops.sums import sum_out_states

    if isinstance(model, SeveralLatents):
        return model.latent_posterior(answers, p)
    logp = _known_state_logp(model, answers, p)  # (item, state)
    total, probability = sum_out_states(logp)  # (item,), (item, state)
    views = model.views(answers, probability, p) if isinstance(model, HasViews) else {}
    return LatentPosterior({"": subtract_total(logp, total)}, {"": views})


def subtract_total(logp: pt.TensorVariable, total: pt.TensorVariable) -> pt.TensorVariable:
    """Return log p(state | answers) from log p(state, answers) (item, state) and its sum over states (item,).

    Impossible answers give -inf for all states.
    """
    possible = total > -math.inf
    return pt.switch(possible[:, None], logp - pt.switch(possible, total, 0.0)[:, None], -math.inf)


def _known_state_logp(model: Any, answers: Any, p: Parameters) -> pt.TensorVariable:
    logp = model.state_logp(answers, p)  # (item, state)
    log_class = p.get(LOG_CLASS)
    if log_class is not None:  # the model's own formula has the prevalence
        logp = logp + (log_class - pt.log(p.prevalence))[answers.index[CLASS_ROW.role]]
    control = getattr(answers, "control", None)
    if control is None:
        return logp
    if isinstance(model, ConstrainsStates):
        return model.constrain(logp, control, answers, p)
    known = control[:, None]  # -inf outside the state of the known class
    return pt.switch((known < 0) | pt.eq(known, pt.arange(logp.shape[1])[None, :]), logp, -math.inf)
