"""Class priors that depend on the item; the annotators' part of a model does not change.

In a model with a common prevalence, p(class k) = pi_k for every item. With a class prior,

    p(class k of item i)  =  softmax_k( sum over terms of eta_ik ),

where each term is one reason why items differ: the two systems that an item compares (`bayesanno.modeling.pairs`),
columns of the items, or the probabilities of a classifier (`bayesanno.modeling.columns`). The shares of classes without
effects are `base_rate` (true_class) ~ Dirichlet(prevalence_prior), unless a term determines them. So without effects
this is the model with a common prevalence. `prevalence` (true_class) is a deterministic, the mean over the items of the
data.

The invariant: a model's formula is written with `prevalence`, as if it were common. p(class) is replaced only where
states are summed out and where classes are drawn; see `LOG_CLASS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesanno._core.fields import Fields, UnfitError
from bayesanno._core.lazy import pm, pt, xr
from bayesanno._core.messages import DataError, ModelError, listed, nearest, spell
from bayesanno.data.columns import Column
from bayesanno.graph.functions import stack_samples
from bayesanno.modeling.arguments import LOG_CLASS, Parameters, Priors
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.kinds.base import CLASS_ROW, ROW_OF_ITEM, ArrayName, Arrays, Axis, IndexArray

BASE_RATE, PREVALENCE = "base_rate", "prevalence"
ROW_SHARE = ArrayName("class_row_share")
LEAST_SHARE = 1e-300  # of a class among the items: its log is finite
OF_COLUMN = "class_column"  # the role of a term's arrays; their names are the dimension of the key


@dataclass(frozen=True, kw_only=True)
class Term(Fields, ABC):
    """A reason why the class depends on the item: a frozen value with its priors as fields.

    Attributes
    ----------
    has_shares : bool
        Whether the term determines the shares of the classes if all effects are 0.
    """

    has_shares: ClassVar[bool] = False

    def __add__(self, other: Term | ClassPrior) -> ClassPrior:
        """Return the class prior with both terms."""
        return ClassPrior((self,)) + other

    @classmethod
    def kinds(cls) -> dict[str, type[Term]]:
        """Return all kinds of terms by class name."""
        return {kind.__name__: kind for kind in cls.__subclasses__()}

    @abstractmethod
    def check(self, data: Any) -> None:
        """Raise a DataError if the items lack columns that the term needs."""

    def check_design(self, data: Any) -> None:
        """Raise a DataError if the items as a whole do not identify the parameters of the term."""

    def findings(self, data: Any) -> Iterable[Finding]:  # noqa: ARG002
        """Return what the term cannot learn from these data."""
        return ()

    def take(self, data: Any) -> Any:
        """Return the data as they are fitted with this term."""
        return data

    def weights(self, data: Any) -> np.ndarray | None:  # noqa: ARG002
        """Return the weight of each item in the likelihood, (item,); None if all count once."""
        return None

    @abstractmethod
    def columns(self, data: Any) -> dict[str, np.ndarray]:
        """Return the values of items that the term uses, by name: (item, ...)."""

    def coords(self, data: Any) -> dict[str, list[str]]:  # noqa: ARG002
        """Return the coordinates of the parameters, if they have names."""
        return {}

    @abstractmethod
    def declare(self, data: Any, prior: Priors) -> None:
        """Declare the parameters as PyMC variables with dims."""

    @abstractmethod
    def log_weights(self, data: Any, p: Parameters, columns: Mapping[str, Any]) -> Any:
        """Return eta for rows of `columns`, (row, true_class), with operators that PyTensor and NumPy share."""

    @abstractmethod
    def start(self, data: Any) -> dict[str, np.ndarray]:
        """Return starting values of chains: the parameters without effects."""


@dataclass(frozen=True)
class ClassPrior:
    """Terms that are added on the log-odds scale.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.Pairs(first="left", second="right") + ba.Columns("length")
    Pairs(first='left', second='right', strength_prior=1.0, ...) + Columns(formula='length', ...)
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        """Check that each kind of term occurs only once."""
        kinds = [type(term).__name__ for term in self.terms]
        twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
        if twice:
            raise ModelError(f"class_prior: there are two {twice}: give one, with all that it has to know")

    def __add__(self, other: Term | ClassPrior) -> ClassPrior:
        """Return the class prior with the terms of both."""
        return ClassPrior(self.terms + (other.terms if isinstance(other, ClassPrior) else (other,)))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def to_fields(self) -> list[dict[str, Any]]:
        """Return the terms as values for JSON."""
        return [{"term": type(term).__name__, **term.to_fields()} for term in self.terms]

    @classmethod
    def convert(cls, value: Any) -> Self:
        """Return a class prior from a class prior, a term, or the result of `to_fields`."""
        if isinstance(value, cls):
            return value
        if isinstance(value, Term):
            return cls((value,))
        kinds = Term.kinds()
        if isinstance(value, list) and all(isinstance(one, dict) and one.get("term") in kinds for one in value):
            given = [dict(one) for one in value]
            return cls(tuple(kinds[one.pop("term")].from_fields(one) for one in given))
        raise UnfitError(f"is {value!r}: it must be {cls.wanted()}")

    @staticmethod
    def wanted() -> str:
        """Return the valid class priors in words."""
        return f"{', '.join(f'{kind}(...)' for kind in sorted(Term.kinds()))}, or a sum of these"

    @property
    def has_shares(self) -> bool:
        """Whether a term determines the shares of the classes if all effects are 0."""
        return any(term.has_shares for term in self.terms)

    def start(self, data: Any) -> dict[str, np.ndarray]:
        """Return starting values of chains."""
        shares = {} if self.has_shares else {BASE_RATE: np.full(data.n_classes, 1 / data.n_classes)}
        return {name: value for term in self.terms for name, value in term.start(data).items()} | shares

    def log_classes(self, data: Any, p: Parameters, columns: Mapping[str, Any]) -> Any:
        """Return log p(class) for rows of columns: (row, true_class), in PyTensor or NumPy."""
        eta: Any = 0.0
        for term in self.terms:
            of = f"{term.name}:"
            own = {name.removeprefix(of): values for name, values in columns.items() if name.startswith(of)}
            eta = eta + term.log_weights(data, p, own)
        if not self.has_shares:
            eta = eta + np.log(p[BASE_RATE])
        if isinstance(eta, np.ndarray):
            from scipy.special import log_softmax

            return log_softmax(eta, axis=1)
        return eta - pt.logsumexp(eta, axis=1, keepdims=True)

    def declare(self, data: Any, concentration: pt.TensorVariable, arrays: Arrays) -> None:
        """Declare all parameters, and the resulting prevalence, in the graph of the context."""
        graph = pm.modelcontext(None)
        for term in self.terms:
            graph.add_coords(term.coords(data))
        if not self.has_shares:
            pm.Dirichlet(BASE_RATE, concentration * np.ones(data.n_classes), dims="true_class")
        for term in self.terms:
            term.declare(data, Priors(term))
        rows = {key: pm.Data(key.name, array.values) for key, array in arrays.items() if array.axis is Axis.ROW}
        p = Parameters({variable.name: variable for variable in graph.unobserved_RVs})
        log_class = self.log_classes(data, p, columns_of(rows))
        prevalence = (pt.exp(log_class) * rows[ROW_SHARE][:, None]).sum(axis=0)
        pm.Deterministic(PREVALENCE, pt.maximum(prevalence, LEAST_SHARE), dims="true_class")


@dataclass(frozen=True)
class ItemRows:
    """Distinct items in terms of the values that a class prior uses.

    Attributes
    ----------
    arrays : Arrays
        The values of each row, and the share of items that it represents.
    of_item : array of int, shape (item,)
    """

    arrays: Arrays
    of_item: np.ndarray

    def for_patterns(self, first: np.ndarray) -> Arrays:
        """Return the arrays for formula and generative process, given the first item of each pattern."""
        of_patterns = IndexArray(self.of_item[first], Axis.PATTERN)
        return self.arrays | {CLASS_ROW: of_patterns, ROW_OF_ITEM: IndexArray(self.of_item)}


def class_prior_of(model: Any) -> ClassPrior | None:
    """Return a model's class prior; None if all items share one prevalence."""
    found = getattr(model, "class_prior", None)
    return found if isinstance(found, ClassPrior) else None


def terms_of(model: Any) -> tuple[Term, ...]:
    """Return the terms of a model's class prior; none if all items share one prevalence."""
    prior = class_prior_of(model)
    return () if prior is None else prior.terms


def find_rows(prior: ClassPrior, data: Any) -> ItemRows:
    """Find the distinct items in terms of the values that a class prior uses."""
    columns = {
        f"{term.name}:{name}": values for term in prior.terms for name, values in term.columns(data).items()
    }  # two terms may read one column, each in its own way
    flat = [np.zeros((data.n_items, 1)), *(values.reshape(data.n_items, -1) for values in columns.values())]
    _, first, of_item = np.unique(np.concatenate(flat, axis=1), axis=0, return_index=True, return_inverse=True)
    of_item = of_item.ravel()
    arrays = {ArrayName(OF_COLUMN, name): IndexArray(values[first], Axis.ROW) for name, values in columns.items()}
    share = np.bincount(of_item, minlength=first.size) / data.n_items
    return ItemRows(arrays | {ROW_SHARE: IndexArray(share, Axis.ROW)}, of_item)


def weights_of(model: Any, data: Any) -> np.ndarray | None:
    """Return the weight of each item in the likelihood, (item,); None if all count once."""
    return next((found for term in terms_of(model) if (found := term.weights(data)) is not None), None)


def start_of(model: Any, data: Any) -> dict[str, Any]:
    """Return starting values of chains: near the majority vote, and without effects in a class prior."""
    values, prior = dict(model.start(data)), class_prior_of(model)
    if prior is not None:
        values = {name: value for name, value in values.items() if name != PREVALENCE} | prior.start(data)
    return values


def columns_of(given: Mapping[ArrayName, Any]) -> dict[str, Any]:
    """Return the values of the rows, by name, from all arrays of a graph."""
    return {key.dimension: values for key, values in given.items() if key.role == OF_COLUMN}


def with_log_class(model: Any, data: Any, values: Mapping[str, Any], given: Mapping[ArrayName, Any]) -> dict[str, Any]:
    """Return parameters by name and, with a class prior, log p(class) of the given rows."""
    prior = class_prior_of(model)
    if prior is None:
        return dict(values)
    return dict(values) | {LOG_CLASS: prior.log_classes(data, Parameters(values), columns_of(given))}


def without_items(model: Any) -> Any:
    """Return the model in which all items have the prevalence in the draws, for items without columns."""
    return model if class_prior_of(model) is None else replace(model, class_prior="learnt")


def log_classes_of_items(model: Any, data: Any, draws: xr.Dataset) -> Iterator[np.ndarray] | None:
    """Return log p(class) of every item, (item, true_class), draw by draw; None if all share one prevalence."""
    prior = class_prior_of(model)
    if prior is None:
        return None
    rows, flat = find_rows(prior, data), stack_samples(draws)
    columns = columns_of({key: array.values for key, array in rows.arrays.items()})
    samples = (
        {name: array[at] for name, array in flat.items()} for at in range(draws.sizes["chain"] * draws.sizes["draw"])
    )
    return (prior.log_classes(data, Parameters(one), columns)[rows.of_item] for one in samples)


def column_of(data: Any, name: str, who: str, of: str = "item") -> Column:
    """Return a column of the items, or of the annotators, that a term needs.

    Raises
    ------
    DataError
        If there is no such column, or one of them has no value in it.
    """
    columns = getattr(data, f"{of}_columns")
    if name not in columns:
        there_are = f"their columns are {listed(tuple(columns))}" if columns else "they have no columns"
        raise DataError(
            f"{who} needs the column {name!r} of the {of}s, and {there_are}: give it with "
            f"{spell(f'{of}s=... where data are read, or with {of}_columns=... where they are made', f'--{of}s')}"
            f"{nearest(name, columns)}"
        )
    column: Column = columns[name]
    if column.is_missing.any():
        one = getattr(data, f"{of}s")[int(np.flatnonzero(column.is_missing)[0])]
        raise DataError(f"{who}: {of} {one!r} has no {name!r}: fill it in, or leave the {of} out")
    return column
