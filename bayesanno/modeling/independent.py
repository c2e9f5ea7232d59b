"""Models with annotations independent given the class: two tables of probabilities determine everything.

The tables are p(class) and p(response | annotator, class). From them follow the likelihood, the generative process, the
E-step, the expected counts of EM and variational Bayes, the starting values of chains, and accuracies. They are written
once, with operators that PyTensor and NumPy share.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.lazy import pm, pt
from bayesanno.data.labelled import Labelled
from bayesanno.modeling.arguments import Answers, Design, Parameters, Priors
from bayesanno.modeling.base import ClassModel
from bayesanno.modeling.class_prior import PREVALENCE, terms_of
from bayesanno.modeling.expectation import Expected, Logs, Shares, Votes, in_proportion, votes_of
from bayesanno.modeling.kinds.base import PATTERN_ITEM
from bayesanno.modeling.ops.variables import beta_by_probit

LEAST_COUNT = 0.5  # added to each expected count of a start at least, so that none is at the edge


class PairedShares(Parameters):
    """Parameters as shares: a probability is stored with its complement, along the last axis."""

    def prob_and_complement(self, name: str) -> tuple[Any, Any]:
        """Return a probability and its complement."""
        pair = self[name]
        return pair[..., 0], pair[..., 1]


class IndependentAnswers(ClassModel):
    """A model with annotations independent given the class."""

    @abstractmethod
    def tables(self, p: Parameters, is_class: np.ndarray) -> tuple[Any, Any]:
        """Return p(class) and p(response | annotator, class), with operators that PyTensor and NumPy share.

        Parameters
        ----------
        p : Parameters
            Variables of the graph, or arrays. `p.prob_and_complement(name)` is a probability and its complement.
        is_class : array of bool, shape (response, true_class)
            Whether a response names a class.

        Returns
        -------
        class_prob
            Shape (true_class,), or (item, true_class) if the class prior depends on the item. Such a model has
            `collapse_items = False`, and its own `generate`.
        response_prob
            Shape (annotator, response, true_class); the first dimension is 1 if all annotators are alike.
        """

    @override
    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        """Return log p(class) + sum of log p(response | annotator, class) over all answers: (item, true_class)."""
        class_prob, response_prob = self.tables(p, answers.names_class.T)
        if class_prob.ndim == 2:
            class_prob = class_prob[answers.index[PATTERN_ITEM.role]]
        log_response = pt.log(response_prob)
        if log_response.type.shape[0] == 1:
            log_response = np.ones((answers.n_annotators, 1, 1)) * log_response
        return pt.log(class_prob) + answers.sum_over_annotations(log_response)

    @override
    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        """Draw the class of each item, and each answer from the row of its annotator and class."""
        response_prob = self.tables(p, design.names_class.T)[1]
        who = 0 * design.annotator if response_prob.type.shape[0] == 1 else design.annotator
        true_class = design.draw_classes(p)  # (item,)
        return true_class, pm.Categorical.dist(response_prob[who, :, design.show(true_class)])  # (annotation,)

    def declare_accuracy(self, data: Labelled, p: Mapping[str, pt.TensorVariable]) -> None:
        """Declare `accuracy` as a deterministic of the graph, from parameters by name."""
        pm.Deterministic("accuracy", self.accuracy_of(Parameters(p), data.names_class.T), dims="annotator")

    def accuracy_of(self, p: Parameters, is_class: np.ndarray) -> Any:
        """Return how often annotators are right, (annotator,): sum_k p(class k) p(response k | annotator, class k)."""
        class_prob, response_prob = self.tables(p, is_class)
        if class_prob.ndim == 2:  # of each item
            class_prob = class_prob.mean(axis=0)
        return (class_prob * (response_prob * is_class).sum(axis=1)).sum(axis=-1)


@dataclass(frozen=True)
class DirichletParam:
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
class BetaParam:
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
    """A model that EM and variational Bayes can fit: each parameter has a Dirichlet or a Beta prior.

    A Beta is a Dirichlet of two shares: the probability and its complement. So updates use only expected counts and the
    prior's concentrations. E-steps of variational Bayes use shares that add up to less than 1. So the tables treat each
    share as a separate number, never as 1 minus the others, and are linear in each.

    Attributes
    ----------
    own_smoothing : float
        The default smoothing of each count in EM for the likelihood, times the number of labels.
    """

    own_smoothing: ClassVar[float] = 0.0

    @abstractmethod
    def parameters(self, prior: Any, is_class: np.ndarray) -> dict[str, DirichletParam | BetaParam]:
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
        if derives_accuracy({name: record.dims for name, record in records.items()}):
            self.declare_accuracy(data, declared)

    @override
    def start(self, data: Any) -> dict[str, np.ndarray]:
        """Return parameter values near the majority vote of these data."""
        return self.start_from(votes_of(data), data)

    def start_from(self, votes: Votes, data: Labelled) -> dict[str, np.ndarray]:
        """Return parameter values near the majority vote: two M-steps from its sums over items."""
        prior, records = self.concentrations(data), self.parameters(self, data.names_class.T)
        expected = Expected(votes.shares[data.class_codes], votes.answers[:, :, data.class_codes], log_likelihood=0.0)
        shares = {name: in_proportion(of) for name, of in prior.items()}
        for _ in range(2):
            counts = self.expected_counts(shares, expected, data.names_class)
            shares = {name: in_proportion(of + np.maximum(prior[name], LEAST_COUNT)) for name, of in counts.items()}
        return {name: of[..., 0] if isinstance(records[name], BetaParam) else of for name, of in shares.items()}

    def concentrations(self, data: Labelled) -> dict[str, np.ndarray]:
        """Return the prior of each parameter as concentrations, with the shape of its shares."""
        lengths = {"annotator": data.n_annotators, "response": data.n_labels, "true_class": data.n_classes}
        records = self.parameters(self, data.names_class.T)
        return {name: one.concentrations(*(lengths[dim] for dim in one.dims)) for name, one in records.items()}

    def log_probabilities(self, shares: Shares, names_class: np.ndarray) -> Logs:
        """Return the logs of p(class) and p(response | annotator, class), for parameters as shares."""
        class_prob, response_prob = self.tables(PairedShares(shares), names_class.T)
        with np.errstate(divide="ignore"):
            return np.log(class_prob), np.log(response_prob)

    def expected_counts(self, shares: Shares, expected: Expected, names_class: np.ndarray) -> dict[str, np.ndarray]:
        """Return the expected counts for each parameter, to which its shares are proportional.

        The count of a share is the share times the derivative of the log likelihood with respect to it. Since a table
        is linear in each share, this is the sum of E[answers] (table - table without the share) / table, and the same
        for the classes. A share enters a table only at the same annotator, response and class, so all shares of a
        parameter, or all on one side of its pairs, are omitted at once.
        """
        is_class = names_class.T
        tables = self.tables(PairedShares(shares), is_class)
        numbers = ((expected.classes, ("true_class",)), (expected.answers, ("annotator", "response", "true_class")))

        def count(without: np.ndarray, name: str, dims: tuple[str, ...]) -> np.ndarray:
            counts = np.zeros(without.shape[: len(dims)])
            left = self.tables(PairedShares({**shares, name: without}), is_class)
            for whole, rest, (number, of_table) in zip(tables, left, numbers, strict=True):
                if not rest.any():  # the parameter is in all of the table
                    counts += _sum_to(dims, number, of_table)
                elif (lacking := whole - rest).any():
                    np.divide(lacking, whole, out=lacking, where=whole > 0)
                    counts += _sum_to(dims, lacking * number, of_table)
            return counts

        counts = {}
        for name, record in self.parameters(self, is_class).items():
            if isinstance(record, DirichletParam):
                counts[name] = count(np.zeros_like(shares[name]), name, record.dims)
            else:  # a side of the pairs is left out at a time
                sides = [count(shares[name] * kept, name, record.dims) for kept in ([0.0, 1.0], [1.0, 0.0])]
                counts[name] = np.stack(sides, axis=-1)
        return counts


def derives_accuracy(dims: Mapping[str, Sequence[str]]) -> bool:
    """Whether `accuracy` is derived from the tables, given the dimensions of parameters: annotators must differ."""
    return "accuracy" not in dims and any("annotator" in of for of in dims.values())


def _sum_to(dims: tuple[str, ...], table: np.ndarray, of_table: tuple[str, ...]) -> np.ndarray:
    """Sum a table with dimensions `of_table` over those that are not in `dims`, and order the others like `dims`."""
    summed = table.sum(axis=tuple(axis for axis, dim in enumerate(of_table) if dim not in dims))
    left = [dim for dim in of_table if dim in dims]
    return summed.transpose([left.index(dim) for dim in dims])
