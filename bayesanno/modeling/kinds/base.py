"""A kind of data as one record: all that depends on whether data are annotations, counts or several dimensions.

A kind is found by the class of the data, or by that which a model takes (`bayesanno.modeling.kinds.kind_of`), never by
a name. Its file has the arrays of a graph, how data are stored in a fit, the statistics of the check, what a design
lacks, simulated answers, what a prior says of answers, the columns of a table of items, and how a file is read. All
other code asks the record.

Each array declares the kind of its entries (`Axis`), so that it can be cut to a chunk of patterns. Its key is its role
and, if there are several, its dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bayesanno._core.lazy import pd, pt, xr
from bayesanno._core.messages import DataError, counted
from bayesanno.data.patterns import Layout, Links
from bayesanno.modeling.findings import Finding, check, find

# ------------------------------------------------------------------------------------------------ arrays of a graph


class Axis(Enum):
    """The kind of entries of an array."""

    DATA = "anything else: it is never cut"
    PATTERN = "a pattern of equal items"
    ROW = "items with equal values for a class prior"
    KEPT = "an annotation of the first item of a pattern"


class ArrayName(NamedTuple):
    """The role of an array, and its dimension; "" if there is only one."""

    role: str
    dimension: str = ""

    @property
    def name(self) -> str:
        """The name of the array's data container in a graph."""
        return f"{self.role}__{self.dimension}" if self.dimension else self.role


@dataclass(frozen=True)
class IndexArray:
    """An array for a formula or a generative process."""

    values: np.ndarray
    axis: Axis = Axis.DATA


Arrays = dict[ArrayName, IndexArray]
ITEM_PATTERN, PATTERN_ITEM = ArrayName("item_pattern"), ArrayName("pattern_item")
CONTROL = ArrayName("control")
CLASS_ROW, ROW_OF_ITEM = ArrayName("class_row"), ArrayName("class_row_of_item")
ITEM_WEIGHT = ArrayName("item_weight")
LEVEL_OF_DRAW = ArrayName("level_of_draw")  # (item, level): where the quantiles of numbers are, in one draw


@dataclass(frozen=True)
class Patterns:
    """The equal items of data, and the way back from patterns to items or annotations.

    Attributes
    ----------
    layouts : mapping of dimension to Layout
        The layout of each table of annotations; a single one is under "".
    first : array of int, shape (pattern,)
        The first item of each pattern.
    of_item : array of int, shape (item,)
        The pattern of each item.
    class_rows : Arrays
        The arrays of a class prior, with one row for items with equal values; empty without a class prior.
    """

    layouts: Mapping[str, Layout]
    first: np.ndarray
    of_item: np.ndarray
    class_rows: Arrays = field(default_factory=dict)

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return int(self.first.size)

    def expand_to_items(self, dim: str, dimension: str = "") -> np.ndarray:
        """Return for each item, or annotation of a dimension, the position of the equal one among the patterns'."""
        return self.of_item if dim == "item" else self.layouts[dimension].source

    def rows(self, dim: str, chunk: slice, dimension: str = "") -> np.ndarray:
        """Return the pattern of each item, or annotation, of a chunk of patterns, numbered from the chunk's first."""
        of = np.arange(self.n_patterns) if dim == "item" else self.layouts[dimension].kept_pattern
        begin, end = np.searchsorted(of, [chunk.start, chunk.stop])
        return of[begin:end] - chunk.start

    @property
    def arrays(self) -> Arrays:
        """The arrays that lead from items to patterns and back."""
        return {ITEM_PATTERN: IndexArray(self.of_item), PATTERN_ITEM: IndexArray(self.first, Axis.PATTERN)}


def slice_patterns(arrays: Mapping[ArrayName, IndexArray], chunk: slice) -> dict[ArrayName, np.ndarray]:
    """Cut a chunk of patterns out of arrays, renumbered from zero; arrays without patterns stay whole."""
    within = {}  # the annotations of the chunk, in each dimension
    for key, array in arrays.items():
        if key.role == "kept_pattern":
            within[key.dimension] = slice(*np.searchsorted(array.values, [chunk.start, chunk.stop]))
    renumbered = {}
    where: dict[Axis, Any] = {Axis.DATA: slice(None), Axis.PATTERN: chunk}
    if CLASS_ROW in arrays:
        where[Axis.ROW], renumbered[CLASS_ROW] = np.unique(arrays[CLASS_ROW].values[chunk], return_inverse=True)
    parts = {}
    for key, array in arrays.items():
        part = array.values[within[key.dimension] if array.axis is Axis.KEPT else where[array.axis]]
        parts[key] = renumbered.get(key, part - (chunk.start if key.role == "kept_pattern" else 0))
    return parts


# -------------------------------------------------------------------------------------------- statistics of answers


@dataclass(frozen=True)
class Statistic:
    """One or several numbers computed from the answers to a design.

    For a fixed design, a statistic is a function of the answers alone, and is defined for all answers.

    Attributes
    ----------
    of : tuple of str
        The label, annotator or pair of each number; ("",) for a single number about all data.
    measure : callable
        A function of the answers, as the data have them, that returns the numbers, (of,).
    by_largest : bool, optional
        Whether the number that is most above its predictions says how far all are from them, and not their mean square.
    about : tuple of tuple of str, optional
        The annotators of each number, if a finding is to name those of the largest.
    """

    of: tuple[str, ...]
    measure: Callable[[np.ndarray], np.ndarray]
    by_largest: bool = False
    about: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class AnswerTable:
    """One table of answers: its part of a design's answers, and its statistics.

    Attributes
    ----------
    data
    answers : array
        The observed answers.
    statistics : mapping of name to callable
        Functions from the data to a statistic; they raise a DataError if it is undefined for such data.
    votes : str
        The name of the statistic that counts items by their votes,
    n_bins : int
        and in how many bins it does so for each label.
    own : slice
        The positions of its answers among all answers of the design.
    dimension : str
        The dimension; empty if there is only one table.
    rules : mapping of name to str
        The rules of findings of single statistics that are off, where another remedy than another model is known.
    """

    data: Any
    answers: np.ndarray
    statistics: Mapping[str, Callable[[Any], Statistic]]
    votes: str
    n_bins: int
    own: slice = slice(None)
    dimension: str = ""
    rules: Mapping[str, str] = field(default_factory=dict)


def measure_distance(
    observed: np.ndarray, replicated: np.ndarray, *, by_largest: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the joint distance from the mean over all, of the observed numbers (1,) and of replicates (replicate,).

    Means and standard deviations include the observed numbers, so that all are treated alike.
    """
    every = np.vstack([observed, replicated])
    spread = every.std(axis=0)
    varies = spread > 0
    away = (every - every.mean(axis=0))[:, varies] / spread[varies]
    if not varies.any():
        return every[:1, 0], every[1:, 0]
    far = away.max(axis=1) if by_largest else (away**2).mean(axis=1)
    return far[:1], far[1:]


type Measure = Callable[[np.ndarray, np.ndarray], float]  # of states (item,) and answers


def measure_by(statistic: Statistic) -> Measure:
    """Return a measure of the answers alone from a statistic that is a single number."""
    return lambda _, answers: float(statistic.measure(answers).item())


def find_in_links(links: Links, data: Any) -> list[Finding]:
    """Return why competence cannot be learnt, from the links between annotators."""
    active = np.flatnonzero(data.by_annotator)
    few = check("design-few-annotators", active.size, n=counted(active.size, "annotator"))
    leaders, members = np.unique(links.leader[active], return_counts=True)
    smallest = [] if few else [data.annotators[leaders[np.argmin(members)]]]
    apart = [] if few else check("design-groups-apart", leaders.size, smallest)
    return [*([] if links.checks else [find("design-one-answer")]), *few, *apart]


def require_one_column(model: Any, options: Any) -> None:
    """Raise a DataError if there are several label columns."""
    if len(options.label) > 1:
        raise DataError(
            f"{model.name} reads one label column, not {len(options.label)}: name one, or use model_a_multi"
        )


# -------------------------------------------------------------------------------------------------------- the record


class Kind(ABC):
    """All that depends on the kind of data; a subclass is one file beside this one, and one line of the registry.

    Attributes
    ----------
    data_class : type
        The class of the data.
    observed, values, dim : str, ArrayName, str
        The name of the observed variable of a graph, the array that it observes, and its dimension.
    reads : str
        What the command line reads for a model of such data, for messages;
    refused : tuple of str
        and the options of reading that these data do not take.
    options : mapping of str to tuple
        Options of reading that only these data take: what stands for the value, and the help.
    size : tuple of str, str, int
        The number on which priors may depend: its symbol in formulas, what it counts, and how many there are in the
        smallest data.
    """

    data_class: ClassVar[type[Any]]
    observed: ClassVar[str]
    values: ClassVar[ArrayName]
    dim: ClassVar[str]
    reads: ClassVar[str]
    refused: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[Mapping[str, tuple[str, str]]] = {}
    size: ClassVar[tuple[str, str, int]] = ("K", "labels", 2)

    # ---- the graph of a model

    @abstractmethod
    def find_patterns(self, data: Any, *, collapse: bool = True) -> Patterns:
        """Find the items that are equal; without `collapse` all are treated as different."""

    @abstractmethod
    def arrays(self, data: Any, patterns: Patterns) -> Arrays:
        """Return the arrays for formula and generative process, including the observed values."""

    @abstractmethod
    def answers(self, data: Any, given: Mapping[ArrayName, pt.TensorVariable]) -> Any:
        """Return the argument of a formula; only names and sizes of the data are used."""

    @abstractmethod
    def design(self, data: Any, given: Mapping[ArrayName, pt.TensorVariable]) -> Any:
        """Return the argument of a generative process; only names and sizes of the data are used."""

    # ---- a fit

    @abstractmethod
    def to_groups(self, data: Any) -> dict[str, xr.Dataset]:
        """Return data as the groups `observed_data` and `constant_data` of a fit, and further ones."""

    @abstractmethod
    def from_groups(self, groups: Mapping[str, xr.Dataset]) -> Any:
        """Return the data that `to_groups` has stored; a KeyError says what is missing."""

    @abstractmethod
    def tables(self, data: Any) -> list[AnswerTable]:
        """Return the tables of answers in data, with their statistics."""

    def take_items(self, data: Any, n_answers: int, rng: np.random.Generator) -> Any:  # noqa: ARG002
        """Return the data of randomly drawn items with about so many answers, or all if there are fewer."""
        return data

    def find_in_design(self, data: Any) -> list[Finding]:  # noqa: ARG002
        """Return why competence cannot be learnt from this design; empty without problems."""
        return []

    @abstractmethod
    def recode(self, known: Any, new: Any, model: Any) -> Any:
        """Return new data with the codes of a fit's, so that its draws apply to them.

        Raises
        ------
        DataError
            If a name is not among those of the fit, or the model cannot take the new items.
        """

    @abstractmethod
    def tabulate_items(self, part: Any) -> pd.DataFrame:
        """Return a table with one row per item of a part of a fit: the posterior of its states, and its answers."""

    def item_statistic(self, data: Any) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        """Return one number of each item, for leave-one-out PIT: its name, and a function of the answers.

        Raises
        ------
        DataError
            If items have no such number.
        """
        raise DataError(f"items of {type(data).__name__} have no one number")

    # ---- simulated answers

    @abstractmethod
    def put_answers(self, design: Any, model: Any, state: np.ndarray, answers: np.ndarray) -> Any:
        """Return a design with simulated answers, and true labels if the states are labels."""

    @abstractmethod
    def make_design(self, **asked: Any) -> Any:
        """Return a design with placeholders for answers.

        `asked` are `dimensions`, the names of several, and the arguments of `bayesanno.make_design`.
        """

    @abstractmethod
    def make_smallest(self, more: int = 0) -> Any:
        """Return data as small as a model can be fitted to: three annotators, three items and two labels.

        With `more`, the number that `size` names is so much larger.
        """

    def without_truth(self, design: Any) -> Any:
        """Return a design without known true labels."""
        return design

    @abstractmethod
    def find_measures(self, table: AnswerTable, states: tuple[str, ...] | None) -> dict[str, Measure]:
        """Return the numbers that a study of priors measures in answers; `states` are names of labels, if they are."""

    # ---- files

    @abstractmethod
    def read_any(self, source: Any) -> Any:
        """Read a file, or another source, without options."""

    @abstractmethod
    def read(self, model: Any, source: Any, options: Any) -> tuple[Any, str]:
        """Read the data for a model by the options of the command line, and describe them in one line."""
