"""How each operation between arrays is written as source text: most as a view or a loop, see `loops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from typing import Any

import numpy as np
from pytensor.graph import Constant
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar import ScalarOp
from pytensor.tensor import basic, elemwise, subtensor
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape

from bayesanno._core.private import LoopOp
from bayesanno.graph.source import Later, Length, NotWrittenError, View, bound, plus, row_major, times, within

type Writer = Any  # that of `loops`, which imports this module

REDUCTIONS = {
    "Add": ("0", "{0} + {1}"),
    "Mul": ("1", "{0} * {1}"),
    "AND": ("True", "{0} & {1}"),
    "OR": ("False", "{0} | {1}"),
    "Maximum": ("-inf", "{0} if {0} > {1} or {0} != {0} else {1}"),
    "Minimum": ("inf", "{0} if {0} < {1} or {0} != {0} else {1}"),
}
MOST = 2**63 - 1  # for whole numbers in place of inf


@singledispatch
def write(op: Any, node: Any, to: Writer) -> None:  # noqa: ARG001 -- those registered below use them
    """Write an operation.

    Raises
    ------
    NotWrittenError
        If it is not known here, or not in this form.
    """
    raise NotWrittenError(str(op))


@write.register(ScalarOp)
def _(op: Any, node: Any, to: Writer) -> None:
    numbers = [to.number(one) for one in node.inputs]
    to.set_number(node.outputs[0], to.scalar(op, node.outputs, numbers))


@write.register(elemwise.Elemwise)
def _(op: Any, node: Any, to: Writer) -> None:
    if len(node.outputs) > 1:
        raise NotWrittenError(str(op))
    (output,) = node.outputs
    if output.ndim == 0:
        write(op.scalar_op, node, to)
        return
    left = [of for of in node.inputs if of in to.later]
    for one in node.inputs:
        if one not in to.later:
            to.view(one)  # before the loop
    is_quick = output.dtype == "bool" and all(of.dtype == "bool" for of in left)
    later = Later(
        to.lengths_of_loop(node.inputs), partial(to.formula, node), output.dtype, partial(to.reads, node.inputs)
    )
    to.leave(output, later, is_quick=is_quick)


@write.register(elemwise.CAReduce)
def _(_: Any, node: Any, to: Writer) -> None:
    (given,), (output,) = node.inputs, node.outputs
    if output in to.known:
        return
    if given not in to.later:
        to.view(given)  # before the loop
    lengths, source = to.lengths(given), to.source
    if is_by_column(node):
        add = start_columns(node, lengths, to)
        with source.loop(lengths) as indices:
            add(indices, to.element(given, indices, {}))
        return
    first, formula = _reduction(node)
    n_kept = output.ndim
    found = source.empty(lengths[:n_kept], output.dtype) if n_kept else View("", source.name("s"))
    axes = to.merge(lengths, n_kept, to.reads([given]))
    with source.loop(axes[:n_kept]) as outer:
        total = source.name("t") if n_kept else found.begin
        source.put(f"{total} = {first}")
        with source.loop(axes[n_kept:]) as inner:
            source.put(f"{total} = {formula.format(total, to.element(given, [*outer, *inner], {}))}")
        if n_kept:
            source.write(found.vector, found.at(outer), total)
    to.known[output] = found


def is_by_column(node: Any) -> bool:
    """Whether a reduction goes through several numbers of its result in turn, as the sum of rows does."""
    return is_written(node) and _kept_axes(node) != list(range(node.outputs[0].ndim))


def start_columns(node: Any, lengths: Sequence[str], to: Writer) -> Callable[[Sequence[str], str], None]:
    """Write the start of such a reduction of an array; return what writes the next element in a loop."""
    first, formula = _reduction(node)
    kept = _kept_axes(node)
    (output,) = node.outputs
    found = to.known[output] = to.source.empty([lengths[axis] for axis in kept], output.dtype)
    to.copy(View("", first), found)

    def add(indices: Sequence[str], value: str) -> None:
        place = found.at([indices[axis] for axis in kept])
        to.source.write(found.vector, place, formula.format(f"at({found.vector}, {place}, 0)", value))

    return add


def is_written(node: Any) -> bool:
    """Whether a reduction is written here."""
    return type(node.op.scalar_op).__name__ in REDUCTIONS


def _reduction(node: Any) -> tuple[str, str]:
    """Return the reduction of nothing, and the next one from the last and a number."""
    if not is_written(node):
        raise NotWrittenError(str(node.op))
    first, formula = REDUCTIONS[type(node.op.scalar_op).__name__]
    if node.outputs[0].dtype.startswith("float"):
        return f"{first}.0" if first.isdigit() else first, formula
    return first.replace("inf", str(MOST)), formula


def _kept_axes(node: Any) -> list[int]:
    n_dims = node.inputs[0].ndim
    reduced = range(n_dims) if node.op.axis is None else [axis % n_dims for axis in node.op.axis]
    return [axis for axis in range(n_dims) if axis not in reduced]


@write.register(CumOp)
def _(op: Any, node: Any, to: Writer) -> None:
    if op.axis is None:
        raise NotWrittenError(str(op))
    (given,), (output,) = node.inputs, node.outputs
    view = to.view(given)
    found = to.source.empty(view.lengths, output.dtype)
    with to.source.loop(found.lengths) as indices:
        place, value = to.source.let(found.at(indices)), to.source.let(to.read(view, indices), "e")
        to.source.put(f"if {indices[op.axis]} > 0:")
        before = f"at({found.vector}, {place} - {found.strides[op.axis]}, 0)"
        to.source.put(f"    {value} = {before} {'+' if op.mode == 'add' else '*'} {value}")
        to.source.write(found.vector, place, value)
    to.known[output] = found


@write.register(Dot)
def _(_: Any, node: Any, to: Writer) -> None:
    one, other = (to.view(given) for given in node.inputs)
    (n_rows, n_terms), (same, n_columns) = one.lengths, other.lengths
    to.source.require(f"{n_terms} == {same}")
    found = to.source.empty([n_rows, n_columns], node.outputs[0].dtype)
    with to.source.loop(found.lengths) as (row, column):
        total = to.source.name("t")
        to.source.put(f"{total} = 0.0")
        with to.source.loop([n_terms]) as (term,):
            product = f"{to.read(one, [row, term])} * {to.read(other, [term, column])}"
            to.source.put(f"{total} = {total} + {product}")
        to.source.write(found.vector, found.at([row, column]), total)
    to.known[node.outputs[0]] = found


@write.register(LoopOp)
def _(op: Any, node: Any, to: Writer) -> None:
    shapes = [tuple(map(Length, to.lengths(one))) if one.ndim else Length(to.number(one)) for one in node.inputs]
    given = [to.vector(one) if one.ndim else to.number(one) for one in node.inputs]
    made = []
    for output, lengths in zip(node.outputs, op.lengths(*shapes), strict=True):
        known = zip(output.type.shape, lengths, strict=True)
        own = ["1" if of == 1 else to.source.let(length) for of, length in known]
        made.append(to.source.empty(own, output.dtype))
    to.source.call(op.loop, [*given, *(view.vector for view in made)])
    for output, view in zip(node.outputs, made, strict=True):
        to.set_view(output, view)


# ------------------------------------------------------------------------------------------ lengths and numbers


@write.register(SpecifyShape)
def _(_: Any, node: Any, to: Writer) -> None:
    (given, *of), (output,) = node.inputs, node.outputs
    view, lengths = to.view(given), []
    for length, known, one in zip(view.lengths, output.type.shape, of, strict=True):
        if hasattr(one.type, "dtype"):  # else it is not specified
            to.source.require(f"{length} == {to.number(one)}")
        lengths.append("1" if known == 1 else length)
    to.known[output] = View(view.vector, view.begin, tuple(lengths), view.strides)


@write.register(basic.TensorFromScalar)
@write.register(basic.ScalarFromTensor)
def _(_: Any, node: Any, to: Writer) -> None:
    to.known[node.outputs[0]] = to.view(node.inputs[0])


@write.register(CheckAndRaise)
def _(_: Any, node: Any, to: Writer) -> None:
    given, *conditions = node.inputs
    for condition in conditions:
        to.source.require(to.number(condition))
    if given in to.vectors:
        to.vectors[node.outputs[0]] = to.vectors[given]
    else:
        to.known[node.outputs[0]] = to.view(given)


@write.register(Shape_i)
def _(op: Any, node: Any, to: Writer) -> None:
    to.known[node.outputs[0]] = View("", to.lengths(node.inputs[0])[op.i])


@write.register(Shape)
def _(_: Any, node: Any, to: Writer) -> None:
    to.vectors[node.outputs[0]] = to.lengths(node.inputs[0])


@write.register(basic.MakeVector)
def _(_: Any, node: Any, to: Writer) -> None:
    to.vectors[node.outputs[0]] = tuple(to.number(one) for one in node.inputs)


@write.register(basic.ARange)
def _(_: Any, node: Any, to: Writer) -> None:
    begin, end, step = node.inputs
    (output,) = node.outputs
    if not _is_one(step) or not output.dtype.startswith("int"):
        raise NotWrittenError(str(node))
    first = to.number(begin)
    last = to.number(end)
    found = to.source.empty([last if first == "0" else to.source.let(f"max({last} - {first}, 0)")], output.dtype)
    with to.source.loop(found.lengths) as (index,):
        to.source.write(found.vector, index, plus(first, index))
    to.known[output] = found


# ------------------------------------------------------------------------------------------ axes


@write.register(elemwise.DimShuffle)
def _(op: Any, node: Any, to: Writer) -> None:
    (given,), (output,), axes = node.inputs, node.outputs, op.new_order
    if given in to.vectors and not axes:
        to.known[output] = View("", to.vectors[given][0])
        return
    view = to.view(given)
    lengths = ("1" if axis == "x" else view.lengths[axis] for axis in axes)
    strides = ("0" if axis == "x" else view.strides[axis] for axis in axes)
    to.set_view(output, View(view.vector, view.begin, tuple(lengths), tuple(strides)))


@write.register(Reshape)
def _(_: Any, node: Any, to: Writer) -> None:
    (given, of), (output,) = node.inputs, node.outputs
    view = to.contiguous(to.view(given), given.dtype)
    lengths = ["1" if known == 1 else each for known, each in zip(output.type.shape, to.numbers(of), strict=True)]
    for axis, length in enumerate(lengths):
        rest = times(*lengths[:axis], *lengths[axis + 1 :])
        left = view.size if rest == "1" else f"{view.size} // ({rest})"
        if length == "-1":
            lengths[axis] = to.source.let(left)
        elif of in to.known and length != "1":  # from data: it may be -1
            lengths[axis] = to.source.let(f"{length} if {length} >= 0 else {left}")
    to.known[output] = View(view.vector, view.begin, tuple(lengths), row_major(lengths))


@write.register(basic.Alloc)
def _(_: Any, node: Any, to: Writer) -> None:
    (given, *of), (output,) = node.inputs, node.outputs
    lengths = ("1" if known == 1 else to.number(one) for known, one in zip(output.type.shape, of, strict=True))
    view = to.view(given).stretch(output.ndim)
    strides = ("0" if own == "1" else stride for own, stride in zip(view.lengths, view.strides, strict=True))
    to.known[output] = View(view.vector, view.begin, tuple(lengths), tuple(strides))


@write.register(basic.Join)
def _(op: Any, node: Any, to: Writer) -> None:
    at, views = op.axis, [to.view(part) for part in node.inputs]
    lengths = list(views[0].lengths)
    lengths[at] = to.source.let(plus(*(view.lengths[at] for view in views)))
    whole = to.source.empty(lengths, node.outputs[0].dtype)
    begin = "0"
    for view in views:
        to.copy(view, View(whole.vector, times(begin, whole.strides[at]), view.lengths, whole.strides))
        begin = to.source.let(plus(begin, view.lengths[at]))
    to.known[node.outputs[0]] = whole


@write.register(basic.Split)
def _(op: Any, node: Any, to: Writer) -> None:
    given, of = node.inputs
    lengths, view = to.numbers(of), to.view(given)
    begin = "0"
    for output, length in zip(node.outputs, lengths, strict=True):
        own = list(view.lengths)
        own[op.axis] = "1" if output.type.shape[op.axis] == 1 else length
        place = plus(view.begin, times(begin, view.strides[op.axis])) if view.vector else view.begin
        to.known[output] = View(view.vector, place, tuple(own), view.strides)
        begin = to.source.let(plus(begin, length))


# ------------------------------------------------------------------------------------------ parts


@write.register(subtensor.Subtensor)
def _(op: Any, node: Any, to: Writer) -> None:
    (given, *of), (output,) = node.inputs, node.outputs
    indices = subtensor.indices_from_subtensor(of, op.idx_list)
    if given in to.vectors and all(isinstance(one, Constant) for one in of):
        part = np.array(to.vectors[given], dtype=object)[tuple(map(_constant, indices))]
        if isinstance(part, str):
            to.known[output] = View("", part)
        else:
            to.vectors[output] = tuple(part)
        return
    _refuse_steps(indices)
    to.set_view(output, _part_of(to, to.view(given), indices, output.type.shape))


@write.register(subtensor.IncSubtensor)
def _(op: Any, node: Any, to: Writer) -> None:
    given, value, *of = node.inputs
    indices = subtensor.indices_from_subtensor(of, op.idx_list)
    _refuse_steps(indices)
    new, whole = to.view(value), to.duplicate(given)
    part = _part_of(to, whole, indices, [None] * given.ndim)
    to.copy(new, part, "{1}" if op.set_instead_of_inc else "{0} + {1}")
    to.known[node.outputs[0]] = whole


def _part_of(to: Writer, view: View, indices: Sequence[Any], known: Sequence[int | None]) -> View:
    """Return the part of a view that slices and whole numbers take, with the known lengths of its axes."""
    begin, lengths, strides = view.begin, [], []
    whole = [slice(None)] * (len(view.lengths) - len(indices))
    for length, stride, index in zip(view.lengths, view.strides, [*indices, *whole], strict=True):
        if not isinstance(index, slice):
            first = to.source.let(within(to.number(index), length))
        elif (step := 1 if index.step is None else int(index.step.data)) != 1:
            first = "0" if step > 0 else f"({length} - 1)"
            count = length if step == -1 else to.source.let(f"({length} + {abs(step) - 1}) // {abs(step)}")
            lengths.append(count)
            strides.append(times(f"({step})", stride))
        else:
            start, stop = (None if end is None else to.number(end) for end in (index.start, index.stop))
            first = "0" if start in (None, "0") else to.source.let(bound(start, length))
            last = length if stop is None else to.source.let(bound(stop, length))
            count = last if first == "0" else to.source.let(f"max({last} - {first}, 0)")
            lengths.append("1" if known[len(lengths)] == 1 else count)
            strides.append(stride)
        if view.vector:
            begin = plus(begin, times(first, stride))
    return View(view.vector, begin, tuple(lengths), tuple(strides))


def _refuse_steps(indices: Sequence[Any]) -> None:
    """Refuse slices with steps that depend on data, or between ends."""
    for index in indices:
        if not isinstance(index, slice) or index.step is None or _is_one(index.step):
            continue
        if not isinstance(index.step, Constant) or index.start is not None or index.stop is not None:
            raise NotWrittenError("a slice with steps between ends, or steps from data")


def _is_one(variable: Any) -> bool:
    return isinstance(variable, Constant) and variable.data == 1


def _constant(index: Any) -> Any:
    """Return a slice or an index of constants as NumPy's."""
    if isinstance(index, slice):
        return slice(*(None if end is None else int(end.data) for end in (index.start, index.stop, index.step)))
    return int(index.data)


@write.register(subtensor.AdvancedSubtensor)
def _(op: Any, node: Any, to: Writer) -> None:
    given, *of = node.inputs
    view = to.view(given)
    lengths, axes, rows = _rows_of(to, view, of, op)

    def element(indices: Sequence[str], _: dict[Any, str]) -> str:
        return to.source.let(to.read(view, _place_of_rows(to, view, axes, rows, indices)), "e")

    to.leave(node.outputs[0], Later(tuple(lengths), element, given.dtype))


@write.register(subtensor.AdvancedIncSubtensor)
def _(op: Any, node: Any, to: Writer) -> None:
    given, value, *of = node.inputs
    lengths, axes, rows = _rows_of(to, to.view(given), of, op)
    new, whole = to.view(value), to.duplicate(given)
    with to.source.loop(lengths) as indices:
        place = to.source.let(whole.at(_place_of_rows(to, whole, axes, rows, indices)))
        added = to.read(new.stretch(len(indices)), indices)
        total = added if op.set_instead_of_inc else f"at({whole.vector}, {place}, 0) + {added}"
        to.source.write(whole.vector, place, total)
    to.known[node.outputs[0]] = whole


def _rows_of(to: Writer, view: View, of: Sequence[Any], op: Any) -> tuple[list[str], slice, list[View]]:
    """Return the lengths of what arrays of indices take from adjacent axes, these axes, and the arrays."""
    indices = subtensor.indices_from_subtensor(of, op.idx_list)
    axes = [axis for axis, index in enumerate(indices) if index != slice(None)]
    taken = [indices[axis] for axis in axes]
    if axes != list(range(axes[0], axes[-1] + 1)) or not all(hasattr(each, "ndim") for each in taken):
        raise NotWrittenError(str(op))
    if not all(each.dtype.startswith(("int", "uint")) and each.ndim == taken[0].ndim > 0 for each in taken):
        raise NotWrittenError(str(op))
    at = slice(axes[0], axes[-1] + 1)
    rows = [to.view(each) for each in taken]
    return [*view.lengths[: at.start], *to.lengths_of_loop(taken), *view.lengths[at.stop :]], at, rows


def _place_of_rows(to: Writer, view: View, axes: slice, rows: Sequence[View], indices: Sequence[str]) -> list[str]:
    """Return the indices in a view of what is at some indices in the result."""
    end = axes.start + len(rows[0].lengths)
    read = [to.source.let(to.read(row, indices[axes.start : end])) for row in rows]
    found = [to.source.let(within(*of)) for of in zip(read, view.lengths[axes], strict=True)]
    return [*indices[: axes.start], *found, *indices[end:]]
