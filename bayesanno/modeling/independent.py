"""Models with annotations independent given the class: two tables of probabilities determine everything.

The law of such a model is p(class) and p(answer | annotator, class). It determines the likelihood, the E-step, the
expected counts of EM and variational Bayes, and accuracies. It is written once, with operators that PyTensor and NumPy
share. `generate` is independent of it, so that the contract of the zoo can compare the two.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno.data.labelled import Labelled
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.arguments import Answers, Parameters, Priors
from bayesanno.modeling.base import ClassModel
from bayesanno.modeling.class_prior import PREVALENCE, terms_of
from bayesanno.modeling.data_kinds import PATTERN_ITEM
from bayesanno.modeling.expectation import Expected, Logs, Shares, Votes, votes_of
from bayesanno.modeling.ops.variables import beta_by_probit


class PairedShares(Parameters):
    """Parameters as shares: a probability is stored with its complement, along the last axis."""

    def both(self, name: str) -> tuple[Any, Any]:
        """Return a probability and its complement."""
        pair = self[name]
        return pair[..., 0], pair[..., 1]


class IndependentAnswers(ClassModel):
    """A model with annotations independent given the class.

    Attributes
    ----------
    derives_accuracy : bool
        Whether `accuracy` (annotator), how often an annotator is right, is a deterministic computed from the law.
    """

    derives_accuracy: ClassVar[bool] = False

    @abstractmethod
    def law(self, p: Parameters, is_class: np.ndarray) -> tuple[Any, Any]:
        """Return p(class) and p(answer | annotator, class), with operators that PyTensor and NumPy share.

        Parameters
        ----------
        p : Parameters
            Variables of the graph, or arrays. `p.both(name)` is a probability and its complement.
        is_class : array of bool, shape (response, true_class)
            Whether a response names a class.

        Returns
        -------
        of_class
            Shape (true_class,), or (item, true_class) if the class prior depends on the item. Such a model has
            `collapse_items = False`.
        of_answer
            Shape (annotator, response, true_class); the first dimension is 1 if all annotators are alike.
        """

    @abstractmethod
    def start_from(self, votes: Votes, data: Labelled) -> dict[str, np.ndarray]:
        """Return parameter values near the majority vote, from its sums over items."""

    @override
    def start(self, data: Any) -> dict[str, np.ndarray]:
        """Return parameter values near the majority vote of these data."""
        return self.start_from(votes_of(data), data)

    @override
    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        """Return log p(class) + sum of log p(answer | annotator, class) over the item's answers: (item, true_class)."""
        of_class, of_answer = self.law(p, answers.names_class.T)
        if of_class.ndim == 2:
            of_class = of_class[answers.index[PATTERN_ITEM.role]]
        log_answer = pt.log(of_answer)
        if log_answer.type.shape[0] == 1:
            log_answer = np.ones((answers.n_annotators, 1, 1)) * log_answer
        return pt.log(of_class) + answers.sum_over_annotations(log_answer)

    def declare_accuracy(self, data: Labelled, p: Mapping[str, pt.TensorVariable]) -> None:
        """Declare `accuracy` as a deterministic of the graph, from parameters by name."""
        pm.Deterministic("accuracy", self.accuracy_of(Parameters(p), data.names_class.T), dims="annotator")

    def accuracy_of(self, p: Parameters, is_class: np.ndarray) -> Any:
        """Return how often annotators are right, (annotator,): sum_k p(class k) p(answer k | annotator, class k)."""
        of_class, of_answer = self.law(p, is_class)
        if of_class.ndim == 2:  # of each item
            of_class = of_class.mean(axis=0)
        return (of_class * (of_answer * is_class).sum(axis=1)).sum(axis=-1)


@dataclass(frozen=True)
class Share:
    """A parameter with shares of a whole along its last dimension, and a Dirichlet prior.

    Attributes
    ----------
    concentration : float, array or TensorVariable
        One value for all shares, or an array with the shape of the last dimensions.
    dims : tuple of str
    """

    concentration: Any
    dims: tuple[str, ...]

    def declare(self, name: str) -> pt.TensorVariable:
        """Declare the parameter in the graph whose context this is."""
        concentration = self.concentration
        if np.ndim(concentration) == 0:
            concentration = concentration * np.ones(len(pm.modelcontext(None).coords[self.dims[-1]]))
        return pm.Dirichlet(name, concentration, dims=self.dims)

    def concentrations(self, *shape: int) -> np.ndarray:
        """Return the concentrations of the shares of a parameter of this shape."""
        return np.broadcast_to(np.asarray(self.concentration, dtype=float), shape).copy()


@dataclass(frozen=True)
class Probability:
    """A parameter with probabilities, each with a Beta prior and sampled on the probit scale.

    Attributes
    ----------
    prior : pair of floats, or TensorVariable of shape (2,)
        The two concentrations of the Beta prior.
    dims : tuple of str
    """

    prior: Any
    dims: tuple[str, ...]

    def declare(self, name: str) -> pt.TensorVariable:
        """Declare the parameter in the graph whose context this is."""
        return beta_by_probit(name, self.prior, dims=self.dims)

    def concentrations(self, *shape: int) -> np.ndarray:
        """Return the concentrations of probabilities of this shape and of their complements, (..., 2)."""
        return np.broadcast_to(np.asarray(self.prior, dtype=float), (*shape, 2)).copy()


class ConjugateModel(IndependentAnswers):
    """A model with a law that EM and variational Bayes can fit: each parameter has a Dirichlet or a Beta prior.

    A Beta is a Dirichlet of two shares: the probability and its complement. So updates use only expected counts and the
    prior's concentrations. E-steps of variational Bayes use shares that add up to less than 1. So the law treats each
    share as a separate number, never as 1 minus the others, and is linear in each.

    Attributes
    ----------
    own_smoothing : float
        The default smoothing of each count in EM for the likelihood, times the number of labels.
    """

    own_smoothing: ClassVar[float] = 0.0

    @abstractmethod
    def parameters(self, prior: Any, is_class: np.ndarray) -> dict[str, Share | Probability]:
        """Return the parameters by name, with their priors and dimensions.

        `prior` has the model's fields, as numbers (the model itself) or as data of the graph under construction.
        `is_class` (response, true_class) is whether a response names a class.
        """

    def without_updates(self) -> str:
        """Return the option, if any, that EM and variational Bayes cannot fit."""
        kinds = " + ".join(f"{type(term).__name__}(...)" for term in terms_of(self))
        return f"class_prior={kinds}" if kinds else ""

    @override
    def priors(self, data: Any, prior: Priors) -> None:
        """Declare the parameters."""
        records = self.parameters(prior, data.names_class.T)
        there = pm.modelcontext(None).named_vars
        declared = {
            name: there[name] if name == PREVALENCE and name in there else record.declare(name)  # of a class prior
            for name, record in records.items()
        }
        if self.derives_accuracy:
            self.declare_accuracy(data, declared)

    def concentrations(self, data: Labelled) -> dict[str, np.ndarray]:
        """Return the prior of each parameter as concentrations, with the shape of its shares."""
        lengths = {"annotator": data.n_annotators, "response": data.n_labels, "true_class": data.n_classes}
        records = self.parameters(self, data.names_class.T)
        return {name: one.concentrations(*(lengths[dim] for dim in one.dims)) for name, one in records.items()}

    def log_probabilities(self, shares: Shares, names_class: np.ndarray) -> Logs:
        """Return the logs of p(class) and p(answer | annotator, class), for parameters as shares."""
        of_class, of_answer = self.law(PairedShares(shares), names_class.T)
        with np.errstate(divide="ignore"):
            return np.log(of_class), np.log(of_answer)

    def expected_counts(self, shares: Shares, expected: Expected, names_class: np.ndarray) -> dict[str, np.ndarray]:
        """Return the expected counts for each parameter, to which its shares are proportional.

        The count of a share is the share times the derivative of the log likelihood with respect to it. Since the law
        is linear in each share, this is the sum of E[answers] (law - law without the share) / law, and the same for the
        classes. A share enters the law only at the same annotator, response and class, so all shares of a parameter, or
        all on one side of its pairs, are omitted at once.
        """
        is_class = names_class.T
        law = self.law(PairedShares(shares), is_class)
        tables = ((expected.classes, ("true_class",)), (expected.answers, ("annotator", "response", "true_class")))

        def count(without: np.ndarray, name: str, dims: tuple[str, ...]) -> np.ndarray:
            counts = np.zeros(without.shape[: len(dims)])
            left = self.law(PairedShares({**shares, name: without}), is_class)
            for whole, rest, (number, of_table) in zip(law, left, tables, strict=True):
                if not rest.any():  # the parameter is in all of the table
                    counts += _sum_to(dims, number, of_table)
                elif (lacking := whole - rest).any():
                    np.divide(lacking, whole, out=lacking, where=whole > 0)
                    counts += _sum_to(dims, lacking * number, of_table)
            return counts

        counts = {}
        for name, record in self.parameters(self, is_class).items():
            if isinstance(record, Share):
                counts[name] = count(np.zeros_like(shares[name]), name, record.dims)
            else:  # a side of the pairs is left out at a time
                sides = [count(shares[name] * kept, name, record.dims) for kept in ([0.0, 1.0], [1.0, 0.0])]
                counts[name] = np.stack(sides, axis=-1)
        return counts


def _sum_to(dims: tuple[str, ...], table: np.ndarray, of_table: tuple[str, ...]) -> np.ndarray:
    """Sum a table with dimensions `of_table` over those that are not in `dims`, and order the others like `dims`."""
    summed = table.sum(axis=tuple(axis for axis, dim in enumerate(of_table) if dim not in dims))
    left = [dim for dim in of_table if dim in dims]
    return summed.transpose([left.index(dim) for dim in dims])
