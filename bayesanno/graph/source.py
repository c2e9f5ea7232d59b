"""The source text of a function of numbers and vectors: statements, loops, and arrays as views of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class NotWrittenError(Exception):
    """An operation is not written as loops or views: the graph is compiled in another way."""


class Length(str):
    """The source of a length, with which lengths can be computed."""

    __slots__ = ()

    def __add__(self, number: Any) -> Length:
        return Length(plus(self, str(number)))

    def __sub__(self, number: Any) -> Length:
        return Length(f"({self} - {number})")


class View(NamedTuple):
    """An array in the source: elements of a vector; without a vector, the same number everywhere.

    Attributes
    ----------
    vector : str
        The name of the vector, or nothing.
    begin : str
        The index of the first element; without a vector, the number.
    lengths, strides : tuple of str
        The length of each axis, "1" if it is known to be 1, and the step between its elements.
    """

    vector: str
    begin: str
    lengths: tuple[str, ...] = ()
    strides: tuple[str, ...] = ()

    def at(self, indices: Sequence[str]) -> str:
        """Return the place in the vector of an element."""
        steps = zip(indices, self.strides, self.lengths, strict=True)
        return plus(self.begin, *(times(index, stride) for index, stride, length in steps if length != "1"))

    @property
    def size(self) -> str:
        """The number of elements."""
        return times(*self.lengths)

    def stretch(self, n_dims: int) -> View:
        """Return the view with new axes in front."""
        new = n_dims - len(self.lengths)
        return View(self.vector, self.begin, ("1",) * new + self.lengths, ("0",) * new + self.strides)

    def follows(self, axis: int, following: int) -> bool:
        """Whether two axes, with none but of length 1 between them, can be seen as one."""
        are_one = [self.lengths[each] == "1" for each in (axis, following)]
        step = times(self.lengths[following], self.strides[following])
        return all(are_one) or (not any(are_one) and self.strides[axis] == step)

    @property
    def is_row_major(self) -> bool:
        """Whether elements follow each other."""
        own = zip(self.lengths, self.strides, row_major(self.lengths), strict=True)
        return bool(self.vector) and all(length == "1" or stride == of for length, stride, of in own)


def times(*factors: str) -> str:
    """Return a product of whole numbers."""
    left = [factor for factor in factors if factor != "1"]
    return "0" if "0" in left else " * ".join(left) or "1"


def plus(*terms: str) -> str:
    """Return a sum of whole numbers."""
    return " + ".join(term for term in terms if term != "0") or "0"


def row_major(lengths: Sequence[str]) -> tuple[str, ...]:
    """Return the strides of an array with its elements one after another."""
    return tuple(times(*lengths[axis + 1 :]) for axis in range(len(lengths)))


class Later(NamedTuple):
    """An array that the loops of its readers compute.

    Attributes
    ----------
    lengths : tuple of str
    element : callable
        (indices, the elements known in the loop) -> the name of an element.
    dtype : str
    reads : callable, optional
        () -> the arrays of which an element is read from the place of the element, or None.
    """

    lengths: tuple[str, ...]
    element: Callable[[Sequence[str], dict[Any, str]], str]
    dtype: str
    reads: Callable[[], list[View] | None] = lambda: None


@dataclass
class Source:
    """The source of a function, statement by statement, in the language of `compiler`.

    Attributes
    ----------
    lines : list of str
    functions : dict of str to callable
        The functions in this language that the statements call.
    """

    lines: list[str] = field(default_factory=list)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    depth: int = 1
    n_names: int = 0
    n_loops: int = 0
    in_loop: int = 0  # its number

    def put(self, line: str) -> None:
        """Add a statement."""
        self.lines.append("    " * self.depth + line)

    def name(self, prefix: str) -> str:
        """Return a new name."""
        self.n_names += 1
        return f"{prefix}{self.n_names}"

    def let(self, expression: str, prefix: str = "n") -> str:
        """Return a name for the value of an expression; a name or a number is its own."""
        if expression.isalnum():
            return expression
        name = self.name(prefix)
        self.put(f"{name} = {expression}")
        return name

    def require(self, condition: str) -> None:
        """Write that the function fails without a condition."""
        self.put(f"if not ({condition}):")
        self.put("    return 2")

    @contextmanager
    def loop(self, lengths: Sequence[str]) -> Iterator[list[str]]:
        """Write a loop over each axis, and return the indices."""
        depth, outer, indices = self.depth, self.in_loop, []
        if not outer:
            self.n_loops += 1
            self.in_loop = self.n_loops
        for length in lengths:
            indices.append("0" if length == "1" else self.name("i"))
            if length != "1":
                self.put(f"for {indices[-1]} in range({length}):")
                self.depth += 1
        yield indices
        self.depth, self.in_loop = depth, outer

    def empty(self, lengths: Sequence[str], dtype: str) -> View:
        """Write a new array."""
        size = self.let(times(*lengths))
        vector = self.name("v")
        self.put(f"{vector} = empty({size}, {dtype})")
        return View(vector, "0", tuple(lengths), row_major(lengths))

    def write(self, vector: str, place: Any, value: str) -> None:
        """Write a number into a vector."""
        self.put(f"put({vector}, {place}, {value}, {self.in_loop})")

    def call(self, function: Callable[..., Any], arguments: Sequence[str]) -> None:
        """Write a call of a function in this language."""
        name = function.__qualname__.replace(".", "_")
        while self.functions.setdefault(name, function) is not function:
            name += "_"
        self.put(f"{name}({', '.join(arguments)})")


def within(index: str, length: str) -> str:
    """Return an index that may count from the end, as one from the beginning."""
    return index if index.isdigit() else f"{index} + {length} if {index} < 0 else {index}"


def bound(end: str, length: str) -> str:
    """Return the end of a slice, which may count from the end of an axis, and lie outside it."""
    return f"min(max({within(end, length)}, 0), {length})"


def literal(number: Any) -> str:
    """Return a number as source text."""
    text = repr(np.asarray(number).item())
    return f"({text})" if text.startswith("-") and text != "-1" else text
