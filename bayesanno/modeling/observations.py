"""The data as a model's formula sees them: symbolic, equal items given once; and as its generative process sees them.

A formula (`state_logp`) takes `Answers`, `Counts` or `Dimensions`; a generative process (`generate`) takes the design
of the same kind. What an item is in a formula, is a pattern of the data: items with the same answers appear once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayesanno.ground.lazy import pt

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class Answers:
    """The annotations as `state_logp` sees them.

    Attributes
    ----------
    annotator, item, response : TensorVariable of int, shape (annotation,)
        Who annotated which item, and how.
    n_items : TensorVariable of int
        Number of items.
    n_annotators, n_classes, n_responses : int
        Number of annotators, of true classes, and of labels that annotators can give.
    names_class : array of bool, shape (true_class, response)
        Whether a response names a class.
    control : TensorVariable of int, shape (item,), or None
        The known true class of each item, -1 where there is none.
    index : mapping of name to TensorVariable
        The model's own `index_arrays`.
    """

    annotator: TensorVariable
    item: TensorVariable
    n_items: TensorVariable
    all_responses: TensorVariable  # of every annotation of the table,
    kept: TensorVariable  # and which of those are the annotations here
    n_annotators: int
    n_responses: int
    names_class: np.ndarray
    control: TensorVariable | None = None
    index: Mapping[str, TensorVariable] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        """Number of true classes."""
        return int(self.names_class.shape[0])

    @property
    def response(self) -> TensorVariable:
        """How each annotation labels its item; shape (annotation,)."""
        return self.all_responses[self.kept]

    def sum_over_annotations(self, table: TensorVariable) -> TensorVariable:
        """Add up a table of (annotator, response, state) over each item's annotations: shape (item, state)."""
        from bayesanno.modeling.ops.sums import sum_by_item

        return sum_by_item(table, self.annotator, self.all_responses, self.kept, self.item, self.n_items)

    def sum_by_item(self, values: TensorVariable) -> TensorVariable:
        """Add up values (annotation, state), where a table by annotator will not do: shape (item, state)."""
        return pt.zeros((self.n_items, values.shape[1]))[self.item].inc(values)


@dataclass(frozen=True)
class Design:
    """Who is asked about what, as `generate` sees it.

    Attributes
    ----------
    annotator, item : TensorVariable of int, shape (annotation,)
        Who annotates which item.
    n_items : TensorVariable of int
        Number of items.
    class_response : array of int, shape (true_class,)
        The response that names each class.
    control : TensorVariable of int, shape (item,), or None
        The known true class of each item, -1 where there is none.
    """

    annotator: TensorVariable
    item: TensorVariable
    n_items: TensorVariable
    class_response: np.ndarray
    control: TensorVariable | None = None

    def with_controls(self, state: TensorVariable) -> TensorVariable:
        """Put the known states in place of random ones; shape (item,)."""
        return state if self.control is None else pt.switch(self.control >= 0, self.control, state)


@dataclass(frozen=True)
class Counts:
    """Positive answers out of all answers, as `state_logp` sees them.

    Attributes
    ----------
    successes, trials : TensorVariable of int, shape (item,)
        Positive answers, and all answers.
    n_items : TensorVariable of int
        Number of items.
    index : mapping of name to TensorVariable
        The model's own `index_arrays`.
    """

    successes: TensorVariable
    trials: TensorVariable
    n_items: TensorVariable
    index: Mapping[str, TensorVariable] = field(default_factory=dict)


@dataclass(frozen=True)
class CountDesign:
    """How many answers each item gets, as `generate` sees it.

    Attributes
    ----------
    trials : TensorVariable of int, shape (item,)
        All answers.
    n_items : TensorVariable of int
        Number of items.
    """

    trials: TensorVariable
    n_items: TensorVariable


@dataclass(frozen=True)
class Dimensions:
    """The annotations of several dimensions of the same items, as `item_logp` sees them.

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
    n_items: TensorVariable
    n_annotators: int


@dataclass(frozen=True)
class DimensionsDesign:
    """Who is asked about which dimension of which item, as `generate` sees it.

    Attributes
    ----------
    by_dimension : mapping of dimension to Design
        The design of each dimension, over the same items and annotators.
    n_items : TensorVariable of int
        Number of items.
    """

    by_dimension: Mapping[str, Design]
    n_items: TensorVariable
