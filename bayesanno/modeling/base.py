"""The base class of all models: a frozen value with a model's options and priors that can build its graph.

Terms in code, documents and messages:

* a *model* is an `AnnotationModel`; the PyMC model that it builds is its *graph*; the models form the *zoo*;
* an *annotation* is one row of item, annotator and *label*; an item's *answers* are its annotations in a formula; in
  parameters, the dimension of given labels is `response`, and that of true labels (classes) is `true_class`;
* the *state* of an item is its discrete latent; what is *derived* from its posterior is computed per draw;
* a *design* lists who is asked about what; a *pattern* represents items with equal answers; a *chunk* is part of them;
* a *fixed parameter* is given to a model; a *control* is an item's known true label;
* `check...` raises an error or returns nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayesanno._core.fields import Fields, Positive
from bayesanno._core.lazy import pm, pt, xr
from bayesanno._core.messages import BayesannoError, DataError, ModelError, listed, spell
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind
from bayesanno.graph.functions import BY_NUMPY
from bayesanno.modeling.arguments import (
    LOG_CLASS,
    Derived,
    Discrete,
    FixedParameter,
    Latent,
    LatentPosterior,
    Parameters,
    Priors,
    subtract_total,
)
from bayesanno.modeling.chance import scale_accuracy
from bayesanno.modeling.class_prior import PREVALENCE, ClassPrior, class_prior_of, terms_of
from bayesanno.modeling.columns import Columns  # noqa: F401 -- terms are known by their names
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.kinds.base import CLASS_ROW, Arrays, Patterns
from bayesanno.modeling.likelihood import index_arrays, observe, patterns_of
from bayesanno.modeling.own_models import check_own_model, is_own, name_method
from bayesanno.modeling.pairs import Pairs  # noqa: F401


@dataclass(frozen=True, kw_only=True)
class AnnotationModel(Fields, ABC):
    """A model of annotation: options and priors are fields, and `build` makes the graph.

    A model is one frozen, keyword-only dataclass. It declares its parameters (`priors`), and supplies its formula once
    (`state_logp`), its generative process with explicit latents (`generate`), and starting values (`start`). All other
    methods have the answer of most models.

    Some names of variables have a meaning for the tables of all models: `accuracy` (annotator), how often an annotator
    is right; `severity` and `sd` (annotator), by how much annotators perceive grades too low, and the deviation of
    their noise, both in grades; and, among what is derived, `hard` (item), the probability that an item is hard, and
    `difficulty` (item), in log odds, 0 for the average item, with `difficulty_probability` (item, difficulty_bin), its
    posterior, and `expected_accuracy` (item), how often an annotator of the data is right on the item.

    Attributes
    ----------
    name : str
        The name for `fit` and `get_model`.
    state_dim : str
        The dimension of an item's discrete latent; `"true_class"` if the states are the classes.
    competence : str or None
        The variable over annotators in the annotator table, if there is one.
    data_class : type
        The class of data that the model takes.
    two_labels : bool
        Whether the model takes only two labels; the last is the positive one.
    takes_controls : bool
        Whether the model can use known true labels.
    takes_other_labels : bool
        Whether annotators may give labels that are not classes, such as "unsure".
    collapse_items : bool
        Whether items with equal answers share one term of the likelihood. False if items have their own parameters.
    annotator_parameters : tuple of str
        Further variables over annotators that the annotator table shows, the first of them also in the report.
    of_grades : bool
        Whether classes are grades, and annotators perceive them with a bias and noise: exact matches are no measure of
        a grader.

    Raises
    ------
    ModelError
        If a field has the wrong type or is out of range.
    """

    state_dim: ClassVar[str] = "true_class"
    competence: ClassVar[str | None] = None
    data_class: ClassVar[type[Any]] = AnnotationData
    two_labels: ClassVar[bool] = False
    takes_controls: ClassVar[bool] = True
    takes_other_labels: ClassVar[bool] = False
    collapse_items: ClassVar[bool] = True
    annotator_parameters: ClassVar[tuple[str, ...]] = ()
    of_grades: ClassVar[bool] = False

    def __str__(self) -> str:
        """Return the model with its fields, and the prior of each parameter as a formula, or why there is none."""
        from bayesanno.modeling.process import describe_priors

        try:
            lines = describe_priors(self)
        except BayesannoError as error:  # a model of one's own may be unfinished, or need data of its own
            lines = [f"(priors are not shown: {error})"]
        return "\n    ".join([repr(self), *lines])

    @abstractmethod
    def priors(self, data: Any, prior: Priors) -> None:
        """Declare the parameters as PyMC variables with dims. `prior.<field>` is that field as data of the graph.

        Fixed parameters are already in the graph, under their names.
        """

    def state_logp(self, answers: Any, p: Parameters) -> pt.TensorVariable:
        """Return log p(state, the item's answers | parameters), symbolic, of shape (item, state)."""
        raise NotImplementedError("there is none")  # abstract, except where item_logp is overridden

    @abstractmethod
    def generate(self, design: Any, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        """Return the generative process: random states of shape (item,) and labels of shape (annotation,)."""

    @abstractmethod
    def start(self, data: Any) -> dict[str, np.ndarray]:
        """Return parameter values near the majority vote, from which chains start (each with its own jitter)."""

    def states(self, data: Any) -> tuple[str, ...]:
        """Return the names of the states, by default the classes; none for a model of annotators alone."""
        return data.classes

    def coords(self, data: Any) -> dict[str, list[Any]]:
        """Return the named coordinates of the graph."""
        states = self.states(data)
        return data.coords(**({self.state_dim: states} if states else {}))

    def above_chance(self, posterior: xr.Dataset, data: Any) -> xr.DataArray | None:
        """Return how far annotators are above chance in each draw, (chain, draw, annotator); None without such a scale.

        1 is an annotator who is always right, 0 one whose answers do not depend on the item; below 0 they point the
        wrong way. By default the competence counts as an accuracy with even errors (see `bayesanno.modeling.chance`).
        `posterior` and `data` are those of one dimension.
        """
        if self.competence is None or self.of_grades:
            return None
        return scale_accuracy(posterior[self.competence], data.n_classes)

    def fixed_parameters(self, data: Any) -> dict[str, FixedParameter]:  # noqa: ARG002
        """Return the parameters that are given, or taken from the data; `build` registers them as data."""
        return {}

    @property
    def likelihood_of(self) -> str:
        """What the likelihoods of answers are: fits are compared only if they are of the same."""
        return "probabilities"

    def without_data(self) -> Self:
        """Return the model that simulates from priors alone, with no parameter taken from data."""
        return self

    def scale_parameters(self) -> tuple[str, ...]:
        """Return the names of parameters that are the scales of others, under these options.

        Where all that has a scale is equal, the density has its peak but no mass. So the search for modes keeps the
        scales, and modes have no masses before sampling. Scale parameters must be sampled on a log scale.
        """
        return ()

    def is_exchangeable(self, data: Any, *, by_likelihood: bool = False) -> bool:  # noqa: ARG002
        """Whether permuting the classes changes neither prior nor likelihood, or not the likelihood alone."""
        return False

    def index_arrays(self, data: Any, patterns: Patterns) -> Arrays:  # noqa: ARG002
        """Return arrays made from the data that the formula looks up, each with its kind of entries."""
        return {}

    def latents(self, data: Any) -> tuple[Latent, ...]:
        """Return the latents of an item: by default one with the model's states, or none if there are no states."""
        states = self.states(data)
        return (Discrete(self.state_dim, states),) if states else ()

    def constrain(
        self,
        logp: pt.TensorVariable,
        control: pt.TensorVariable,
        answers: Any,  # noqa: ARG002
        p: Parameters,  # noqa: ARG002
    ) -> pt.TensorVariable:
        """Add known classes (item,), -1 if unknown, to log p(state, answers); shape (item, state).

        By default the states are the classes, and those other than the known one are impossible.
        """
        known = control[:, None]
        return pt.switch((known < 0) | pt.eq(known, pt.arange(logp.shape[1])[None, :]), logp, -math.inf)

    def item_logp(self, answers: Any, p: Parameters) -> pt.TensorVariable:
        """Return log p(the item's answers | parameters) with the states summed out; symbolic, of shape (item,)."""
        from bayesanno.modeling.ops.sums import sum_out_states

        return sum_out_states(self._known_state_logp(answers, p))[0]

    def latent_posterior(self, answers: Any, p: Parameters) -> LatentPosterior:
        """Return the posterior of the states, and what is derived from it, given parameters; symbolic."""
        from bayesanno.modeling.ops.sums import sum_out_states

        logp = self._known_state_logp(answers, p)  # (item, state)
        total, probability = sum_out_states(logp)  # (item,), (item, state)
        return LatentPosterior(total, {"": subtract_total(logp, total)}, {"": self.derived(answers, probability, p)})

    def _known_state_logp(self, answers: Any, p: Parameters) -> pt.TensorVariable:
        """Return log p(state, answers) with the class prior and the controls: (item, state)."""
        logp, log_class = self.state_logp(answers, p), p.get(LOG_CLASS)
        if log_class is not None:  # the model's own formula has the prevalence
            logp = logp + (log_class - pt.log(p.prevalence))[answers.index[CLASS_ROW.role]]
        control = getattr(answers, "control", None)
        return logp if control is None else self.constrain(logp, control, answers, p)

    def derived(self, answers: Any, probability: pt.TensorVariable, p: Parameters) -> dict[str, Derived]:  # noqa: ARG002
        """Return further quantities per draw, from the state posterior (item, state)."""
        return {}

    def draw_annotators(
        self, draws: Mapping[str, np.ndarray], n: int, class_codes: np.ndarray, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw n new annotators for each draw (draw, ...) of the population that a model learns, if it learns one.

        The result has the parameters of annotators by name, (draw, annotator, ...).
        """
        raise NotImplementedError  # abstract, for models with a population

    def overrides(self, method: str) -> bool:
        """Whether the model has a method of its own in place of the default."""
        return getattr(type(self), method) is not getattr(AnnotationModel, method)

    def check(self, data: Any) -> None:
        """Raise a DataError if the model cannot be fitted to these data; `fit` calls this before long computations."""
        require_data(self, data)

    def findings(self, data: Any) -> Iterable[Finding]:  # noqa: ARG002
        """Return what cannot be learnt from these data, however long the chains are; `fit` says so before it begins."""
        return ()

    def findings_of_posterior(self, posterior: xr.Dataset) -> Iterable[Finding]:  # noqa: ARG002
        """Return what in a posterior (chain, draw, ...) keeps chains from mixing, or labels from being right."""
        return ()

    def build(self, data: Any) -> pm.Model:
        """Return the PyMC model of these annotations, with discrete latents summed out.

        Raises
        ------
        DataError
            If the data are not of the kind that the model takes.
        """
        require_data(self, data)
        arrays = index_arrays(self, data, patterns_of(self, data))
        with pm.Model(coords=self.coords(data)) as graph:
            for name, fixed in self.fixed_parameters(data).items():
                pm.Data(name, fixed.value, dims=fixed.dims)
            with name_method(self, "priors"):
                self._declare(data, arrays)
            name_dims(graph)
            if is_own(self):
                check_own_model(self, data, graph, arrays)
            observe(self, data, arrays)
        return graph

    def _declare(self, data: Any, arrays: Arrays) -> None:
        """Declare all parameters, starting with those of a class prior, which include the prevalence."""
        prior, of_class = Priors(self), class_prior_of(self)
        try:
            if of_class is not None:
                of_class.declare(data, prior.prevalence_prior, arrays)
            self.priors(data, prior)
        except KeyError as error:
            if "are unknown to the model" not in str(error):
                raise
            there = listed(list(pm.modelcontext(None).coords))
            raise ModelError(f"{self.name}: priors: {error.args[0]} There are {there}; add yours in coords") from None
        except ValueError as error:
            if of_class is None or "already exists" not in str(error):
                raise
            name = str(error).removeprefix("Variable name ").removesuffix(" already exists.")
            raise DataError(f"{name!r} is the name of a parameter of {self.name}: rename that column") from None


@dataclass(frozen=True, kw_only=True)
class ClassModel(AnnotationModel):
    """A model with true classes of items: with one common prevalence, or a class prior that depends on the item.

    Parameters
    ----------
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier, or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.
    """

    prevalence_prior: Positive = 3.0
    class_prior: Literal["learnt"] | ClassPrior = "learnt"

    def declare_prevalence(self, prior: Priors) -> pt.TensorVariable:
        """Declare `prevalence` in the graph of the context, unless a class prior has declared it."""
        graph = pm.modelcontext(None)
        if PREVALENCE in graph.named_vars:
            return graph[PREVALENCE]
        of_each = prior.prevalence_prior * np.ones(len(graph.coords["true_class"]))
        return pm.Dirichlet(PREVALENCE, of_each, dims="true_class")


def name_dims(graph: pm.Model) -> None:
    """Name the dims of parameters declared without dims as PyMC and ArviZ do: `<name>_dim_0`, ..."""
    for variable in (*graph.free_RVs, *graph.deterministics):
        if variable.ndim and variable.name not in graph.named_vars_to_dims:
            lengths = variable.shape.eval(mode=BY_NUMPY).tolist()
            coords = {f"{variable.name}_dim_{axis}": range(length) for axis, length in enumerate(lengths)}
            graph.add_coords(coords)
            graph.named_vars_to_dims[variable.name] = tuple(coords)


def require_data(model: AnnotationModel, data: Any) -> None:
    """Raise a DataError if the data are of another class, or have labels or controls that the model does not take."""
    require_kind(data, model.data_class, model.name)
    for term in terms_of(model):
        term.check(data)
    if not model.takes_other_labels and (unsure := getattr(data, "unsure", ())):
        raise DataError(
            f"{model.name} takes each label as a class, and {listed(unsure)} {'is' if len(unsure) == 1 else 'are'} "
            f"not one: leave those answers out with {spell('data.without_unsure()', '--drop-unsure')}, or fit model_b "
            "or mace"
        )
    if getattr(data, "has_both_orders", False) and not isinstance(model, ClassModel):
        pairs = f"class_prior=Pairs(first={data.sides[0]!r}, second={data.sides[1]!r})"
        raise DataError(
            f"{model.name} takes comparisons in one order, and these are in both: fit model_b or mace with "
            f"{spell(pairs, f'--pairs {data.sides[0]},{data.sides[1]}')}"
        )
    if model.two_labels and data.n_labels > 2:
        raise DataError(
            f"{model.name} takes two labels, not {data.n_labels}: {listed(data.labels)}; compare one of them with "
            f"all others: {spell('data.binarise(positive=...)', '--positive')}"
        )
    of_classes = model.state_dim == "true_class" or model.overrides("constrain")
    if getattr(data, "controls", None) and not (model.takes_controls and of_classes):
        raise DataError(f"controls are ignored by {model.name}: remove them")
