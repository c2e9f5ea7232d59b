"""A graph as the source text of one function of plain loops.

PyTensor gives Numba a function for each operation, down to the length of an axis: some three hundred for a model. Each
is typed, lowered and optimised alone and in all that call it, which takes half a minute. Here the operations between
arrays become loops over numbers in one function. An array is a view of a vector, so that new axes, slices, transposed
and reshaped arrays need no code.

An elementwise operation with one reader, in a loop over the same axes, is computed in that loop and not stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from pytensor.graph import Constant
from pytensor.scalar import ScalarOp
from pytensor.tensor import elemwise
from pytensor.tensor.shape import Shape, Shape_i

from bayesanno._core.private import io_toposort
from bayesanno.graph.operations import is_by_column, is_written, start_columns, write
from bayesanno.graph.source import Later, NotWrittenError, Source, View, literal, plus, row_major, times

OPERATORS = {"Add": " + ", "Mul": " * ", "Sub": " - ", "TrueDiv": " / ", "IntDiv": " // ", "Mod": " % "}
OPERATORS |= {"Pow": " ** ", "AND": " & ", "OR": " | ", "EQ": " == ", "NEQ": " != "}
OPERATORS |= {"LT": " < ", "GT": " > ", "LE": " <= ", "GE": " >= "}
FORMULAS = {"Neg": "-{0}", "Sqr": "{0} * {0}", "Reciprocal": "1.0 / {0}", "Switch": "{1} if {0} else {2}"}
NAMED = ("Sigmoid", "Softplus", "Log1mexp", "Sign", "IsInf", "Abs", "Erf", "Erfc")  # the last by C, which is quicker
FORMULAS |= {name: f"{name.lower()}({{0}})" for name in NAMED}
FORMULAS |= {"Identity": "{0}", "Second": "{1}", "IsNan": "{0} != {0}"}
FORMULAS |= {"Maximum": "{0} if {0} > {1} or {0} != {0} else {1}", "Minimum": "{0} if {0} < {1} or {0} != {0} else {1}"}
FORMULAS |= {"Clip": "{1} if {0} < {1} else {2} if {0} > {2} else {0}"}
C_NAMES = {"around": "rint"}  # of NumPy's functions, where the name differs by more than "arc"


class Writer:
    """The statements that compute a graph.

    Parameters
    ----------
    source : Source
    given : mapping of TensorVariable to View
        The inputs.
    outputs : sequence of TensorVariable
    """

    def __init__(self, source: Source, given: Mapping[Any, View], outputs: Sequence[Any]) -> None:
        self.source, self.known = source, dict(given)
        self.vectors: dict[Any, tuple[str, ...]] = {}  # short vectors of whole numbers, such as shapes
        self.later: dict[Any, Later] = {}
        self.same: dict[str, str] = {}  # lengths that were found to be another
        nodes = list(io_toposort(list(given), list(outputs)))
        reads = [(one, node) for node in nodes if not isinstance(node.op, Shape | Shape_i) for one in set(node.inputs)]
        self.n_reads = Counter([one for one, _ in reads] + list(outputs))
        self.readers: dict[Any, list[Any]] = {}
        for one, node in reads:
            self.readers.setdefault(one, []).append(node)
        for node in nodes:
            write(node.op, node, self)

    # ------------------------------------------------------------ values

    def view(self, variable: Any) -> View:
        """Return a variable as an array."""
        if variable in self.known:
            return self.known[variable]
        if variable in self.later:
            self.known[variable] = self.compute(self.later.pop(variable))
        elif variable in self.vectors:
            self.known[variable] = self.store([View("", each) for each in self.vectors[variable]], variable.dtype)
        elif np.size(variable.data) == 1:
            number = literal(np.asarray(variable.data).item())
            self.known[variable] = View("", number, ("1",) * variable.ndim, ("0",) * variable.ndim)
        else:
            value = np.asarray(variable.data)
            numbers = self.store([View("", literal(each)) for each in value.ravel().tolist()], variable.dtype)
            lengths = tuple(map(str, value.shape))
            self.known[variable] = View(numbers.vector, "0", lengths, row_major(lengths))
        return self.known[variable]

    def store(self, numbers: Sequence[View], dtype: str) -> View:
        """Write numbers one after another."""
        found = self.source.empty([str(len(numbers))], dtype)
        for at, number in enumerate(numbers):
            self.source.write(found.vector, at, self.read(number))
        return found

    def read(self, view: View, indices: Sequence[str] = ()) -> str:
        """Return an element."""
        return f"at({view.vector}, {view.at(indices)}, {self.source.in_loop})" if view.vector else view.begin

    def number(self, variable: Any) -> str:
        """Return the name of a scalar, or its literal."""
        if isinstance(variable, Constant):
            return literal(np.asarray(variable.data).item())
        return self.view(variable).begin

    def set_number(self, variable: Any, expression: str) -> None:
        """Name the value of an expression, which is that of a scalar."""
        self.known[variable] = View("", self.source.let(expression, "s"))

    def set_view(self, variable: Any, view: View) -> None:
        """Set the view of a variable; a single number is read."""
        if view.vector and not view.lengths:
            self.set_number(variable, self.read(view))
        else:
            self.known[variable] = view

    def numbers(self, variable: Any) -> tuple[str, ...]:
        """Return the elements of a short vector."""
        if variable in self.vectors:
            return self.vectors[variable]
        if isinstance(variable, Constant):
            return tuple(literal(each) for each in np.asarray(variable.data).tolist())
        if (length := variable.type.shape[0]) is None:
            raise NotWrittenError(f"a vector of an unknown length: {variable}")
        view = self.view(variable)
        self.vectors[variable] = tuple(self.source.let(self.read(view, [str(at)]), "n") for at in range(length))
        return self.vectors[variable]

    def lengths(self, variable: Any) -> tuple[str, ...]:
        """Return the length of each axis."""
        if variable in self.vectors:
            return (str(len(self.vectors[variable])),)
        if variable in self.later:
            return self.later[variable].lengths
        return self.view(variable).lengths

    def lengths_of_loop(self, inputs: Sequence[Any]) -> tuple[str, ...]:
        """Return the length of each axis of arrays that are broadcast."""
        found = []
        for axis in zip(*(self.lengths(one) for one in inputs), strict=True):
            length, *others = dict.fromkeys(self.canonical(one) for one in axis if one != "1") or ("1",)
            for other in others:
                self.source.require(f"{other} == {length}")
                self.same[other] = length
            found.append(length)
        return tuple(found)

    def canonical(self, length: str) -> str:
        """Return the one name of lengths that are equal."""
        while length in self.same:
            length = self.same[length]
        return length

    def merge(self, lengths: Sequence[str], n_kept: int, views: Sequence[View] | None) -> list[str]:
        """Return the lengths of a loop over arrays, in which axes are one where their elements follow each other.

        Kept axes are not joined with the others. None of `views` is of arrays that are not read in this order.
        """
        merged = list(lengths)
        for one, following in pairwise(axis for axis, length in enumerate(lengths) if length != "1"):
            is_kept = one < n_kept <= following
            if views is not None and not is_kept and all(view.follows(one, following) for view in views):
                merged[following] = times(merged[one], merged[following])
                merged[one] = "1"
        return [self.source.let(length) for length in merged]

    def reads(self, variables: Sequence[Any]) -> list[View] | None:
        """Return the arrays of which elements are read where elements of variables are, or None if others are."""
        found: list[View] = []
        for one in variables:
            views = self.later[one].reads() if one in self.later else [self.view(one)]
            if views is None:
                return None
            found += views
        return found

    def element(self, variable: Any, indices: Sequence[str], known: dict[Any, str]) -> str:
        """Return an element in a loop; what was left for this loop is computed."""
        if variable not in known:
            if variable in self.later:
                known[variable] = self.later[variable].element(indices, known)
            else:
                known[variable] = self.source.let(self.read(self.view(variable), indices), "e")
        return known[variable]

    def formula(self, node: Any, indices: Sequence[str], known: dict[Any, str]) -> str:
        """Return an element of the output of an elementwise operation."""
        each = [self.element(one, indices, known) for one in node.inputs]
        return self.source.let(self.scalar(node.op.scalar_op, node.outputs, each), "e")

    def scalar(self, op: ScalarOp, outputs: Sequence[Any], each: Sequence[str]) -> str:
        """Return the expression of an operation between numbers."""
        name, dtype = type(op).__name__, outputs[0].type.dtype
        if name == "Cast":
            return f"{each[0]} != 0" if dtype == "bool" else f"{dtype}({each[0]})"
        if name == "Invert" and dtype == "bool":
            return f"not {each[0]}"
        if hasattr(op, "fgraph"):
            inner = dict(zip(op.fgraph.inputs, each, strict=True))
            for node in op.fgraph.toposort():
                values = [inner[one] if one in inner else literal(one.data) for one in node.inputs]
                inner[node.outputs[0]] = self.source.let(self.scalar(node.op, node.outputs, values), "e")
            return inner[op.fgraph.outputs[0]]
        if name == "Pow" and not dtype.startswith("float"):
            raise NotWrittenError("powers of whole numbers")
        found = self.formula_of(op, name, each)
        is_exact = dtype in ("float64", "int64") or (dtype == "bool" and name not in ("Add", "Mul", "Sqr"))
        return found if is_exact else f"{dtype}({found})"

    def formula_of(self, op: ScalarOp, name: str, each: Sequence[str]) -> str:
        """Return the expression of an operation that has one, or that calls a function of C or SciPy."""
        if name in OPERATORS:
            return OPERATORS[name].join(each)
        if name in FORMULAS:
            return FORMULAS[name].format(*each)
        function = (getattr(op, "nfunc_spec", None) or ("",))[0]
        if not function:
            raise NotWrittenError(str(op))
        if "." not in function:
            function = C_NAMES.get(function, function.replace("arc", "a"))
        return f"{function.removeprefix('scipy.')}({', '.join(each)})"

    # ------------------------------------------------------------ loops

    def leave(self, variable: Any, later: Later, *, is_quick: bool = False) -> None:
        """Leave an array to the loop of its only reader, or of each if it is quicker to compute than to read."""
        n_reads = self.n_reads[variable]
        are_loops = all(_reads_in_loop(variable, reader) for reader in self.readers.get(variable, ()))
        if n_reads == 0 or (are_loops and (n_reads == 1 or is_quick)):
            self.later[variable] = later
        else:
            by_column = [one for one in self.readers.get(variable, ()) if _is_sum_by_column(one)]
            add = [start_columns(one, later.lengths, self) for one in by_column]
            self.known[variable] = self.compute(later, add)

    def compute(self, later: Later, also: Sequence[Callable[[Sequence[str], str], None]] = ()) -> View:
        """Write the loop that computes an array, and what else is written of each element."""
        if set(later.lengths) <= {"1"} and not also:
            number = self.source.let(later.element(["0"] * len(later.lengths), {}), "e")
            return View("", number, later.lengths, ("0",) * len(later.lengths))
        found = self.source.empty(later.lengths, later.dtype)
        with self.source.loop(found.lengths if also else self.merge(found.lengths, 0, later.reads())) as indices:
            value = self.source.let(later.element(indices, {}), "e")
            self.source.write(found.vector, found.at(indices), value)
            for add in also:
                add(indices, value)
        return found

    def copy_out(self, variable: Any, vector: str, begin: str) -> None:
        """Write the elements of a variable one after another into a vector."""
        lengths = self.lengths(variable)
        to = View(vector, begin, lengths, row_major(lengths))
        with self.source.loop(self.merge(lengths, 0, self.reads([variable]))) as indices:
            self.source.write(vector, to.at(indices), self.element(variable, indices, {}))

    def copy(self, view: View, to: View, formula: str = "{1}") -> None:
        """Write a loop that changes a view, given one that is broadcast to it."""
        with self.source.loop(self.merge(to.lengths, 0, [view.stretch(len(to.lengths)), to])) as indices:
            place = to.at(indices)
            value = formula.format(f"at({to.vector}, {place}, 0)", self.read(view.stretch(len(indices)), indices))
            self.source.write(to.vector, place, value)

    def duplicate(self, variable: Any) -> View:
        """Write a copy of an array."""
        view = self.view(variable)
        found = self.source.empty(view.lengths, variable.dtype)
        self.copy(view, found)
        return found

    def contiguous(self, view: View, dtype: str) -> View:
        """Return a view with its elements one after another."""
        if view.is_row_major:
            return view
        found = self.source.empty(view.lengths, dtype)
        self.copy(view, found)
        return found

    def vector(self, variable: Any) -> str:
        """Return the elements of a variable, one after another, for a function that takes a vector."""
        view = self.contiguous(self.view(variable), variable.dtype)
        begin = self.source.let(view.begin)
        return f"{view.vector}[{begin}:{plus(begin, view.size)}]"


def _is_sum_by_column(reader: Any) -> bool:
    return isinstance(reader.op, elemwise.CAReduce) and is_by_column(reader)


def _reads_in_loop(variable: Any, reader: Any) -> bool:
    """Whether the reader of a variable reads each element once, in its loop."""
    if isinstance(reader.op, elemwise.CAReduce):
        return is_written(reader)
    if not isinstance(reader.op, elemwise.Elemwise):
        return False
    read = reader.outputs[0].type.shape
    return all((own == 1) == (of == 1) for own, of in zip(variable.type.shape, read, strict=True))
