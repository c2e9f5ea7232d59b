"""A restricted Python, compiled by LLVM in about a second: functions of numbers and vectors.

Numba spends most of its time on what is open in Python: the types, lengths and exceptions of every operation. Here they
are known. A variable is a whole number (int64), a float64, a bool, or a vector; its type is that of its first value. A
function is translated for the types with which it is called.

    v = empty(n, float64)                   a new vector, freed after its last use; not in a loop
    v = vector(address, n, int32)           a vector in memory
    v[i], v[i] = x, len(v)                  an element, its assignment, the length; no index is checked
    f(v, v[a:b], x)                         a call; vectors that a function changes must not overlap with others
    at(v, i, loop), put(v, i, x, loop)      the same as v[i], in a loop: what it reads is in no vector that it writes
    take(v)                                 the address of a vector that the caller frees
    for, while, if, return, x if c else y   of the last, both values are computed
    + - * / // % ** < & | and or not min max abs, and the names of types, for conversions

Other names are functions in this language, functions of C, or `special.name`: those of SciPy.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import math
import re
import struct
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import FunctionType
from typing import Any, NamedTuple

from bayesanno.graph.library import LIBRARY
from bayesanno.graph.source import NotWrittenError

INTEGERS = {f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
KINDS = {"float64": "double", "float32": "float", "bool": "i8"} | INTEGERS  # of elements, and their types in memory
NUMBERS = ("i1", "i64", "double")  # the types of variables, from narrow to wide
INTRINSICS = {"exp", "log", "sqrt", "fabs", "pow", "floor", "ceil", "trunc", "rint"}
ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or"}
COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
OF_PYTHON = ("PyMem_RawMalloc", "PyMem_RawFree")  # they work without Python's lock, and tracemalloc counts them
C_LIBRARIES = {"darwin": None, "win32": "ucrtbase"}
MEMORY = """declare noalias ptr @PyMem_RawMalloc(i64) nounwind
declare void @PyMem_RawFree(ptr) nounwind"""

type Number = tuple[str, str]  # its name or literal, and its type


class Vector(NamedTuple):
    """A vector: where its address, its length and its memory are stored, and the kind of its elements."""

    address: str
    length: str
    kind: str
    owned: str = ""


@dataclass(frozen=True)
class CFunction:
    """A compiled function of whole numbers, which returns one: its address, and what owns its code."""

    address: int
    n_arguments: int
    owner: Any

    @cached_property
    def call(self) -> Callable[..., int]:
        """The function for Python."""
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * self.n_arguments)(self.address)
        function.owner = self.owner  # type: ignore[attr-defined]  # which lives as long as what can be called
        return function


def compile_text(text: str, functions: Mapping[str, Callable[..., Any]]) -> dict[str, CFunction]:
    """Compile functions of whole numbers, which are lengths and addresses.

    Parameters
    ----------
    text : str
        The functions, in the language of this module.
    functions : mapping of str to callable
        Functions in this language that they call.

    Raises
    ------
    NotWrittenError
        If something is not in the language.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    program = _Program(functions)
    definitions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    for node in definitions:
        program.add(node.name, node, ["i64"] * len(node.args.args), {"inf": math.inf, "nan": math.nan}, linkage="")
    for name, address in program.addresses.items():
        llvm.add_symbol(name, address)
    module = llvm.parse_assembly(program.text)
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_unrolling = False  # which takes a fifth of the time and gains a fiftieth
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return {
        node.name: CFunction(engine.get_function_address(node.name), len(node.args.args), engine)
        for node in definitions
    }


def free(address: int) -> None:
    """Free a vector that a function has left to its caller."""
    ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(address))


@cache
def _parse(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax of a function."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    return node


def _address_of(function: Any) -> int:
    """Return the address of a function of C."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _find_in_c(name: str) -> int:
    """Return the address of a function among those of C for floats."""
    try:
        return _address_of(getattr(ctypes.CDLL(C_LIBRARIES.get(sys.platform, "libm.so.6")), name))
    except (AttributeError, OSError):
        raise NotWrittenError(f"no function {name}") from None


@cache
def _find_in_scipy(name: str, n_arguments: int) -> int:
    """Return the address of a function of floats among those that SciPy publishes for Cython."""
    from scipy.special import cython_special

    signature = f"double ({'double, ' * n_arguments}int __pyx_skip_dispatch)".encode()
    read_name, read_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    read_name.argtypes, read_name.restype = [ctypes.py_object], ctypes.c_char_p
    read_pointer.argtypes, read_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    for key, capsule in cython_special.__pyx_capi__.items():
        if re.fullmatch(rf"(__pyx_fuse_\d+)?{name}", key) and read_name(capsule) == signature:
            return int(read_pointer(capsule, signature))
    raise NotWrittenError(f"no function {name} of {n_arguments} floats in SciPy")


class _Program:
    """The functions of a module of LLVM."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.functions = {**LIBRARY, **functions}
        self.made: dict[tuple[str, ...], tuple[str, str]] = {}  # name and types -> name and type of what is returned
        self.definitions: list[str] = []
        self.declarations = {"memory": MEMORY}
        self.addresses = {name: _address_of(getattr(ctypes.pythonapi, name)) for name in OF_PYTHON}
        self.scopes: dict[int, int] = {}  # of what each loop writes

    @property
    def text(self) -> str:
        """The module as LLVM reads it."""
        scopes = [f'!{n} = !{{!"loop {loop}", !0}}\n!{n + 1} = !{{!{n}}}' for loop, n in self.scopes.items()]
        return "\n".join([*self.declarations.values(), *self.definitions, '!0 = !{!"loops"}', *scopes])

    def add(
        self, name: str, node: ast.FunctionDef, types: Sequence[Any], constants: Mapping[str, Any], linkage: str
    ) -> str:
        """Translate a function; return the type of its result."""
        translated = _Function(self, node, types, constants, may_fail=not linkage)
        body = "\n".join(translated.lines)
        head = f'define {linkage} {translated.returns} @"{name}"({", ".join(translated.parameters)}) nounwind'
        self.definitions.append(f"{head} {{\n{body}\n}}")
        return translated.returns

    def function(self, name: str, types: Sequence[Any]) -> tuple[str, str]:
        """Return the name of a function in this language for these types of arguments, and that of its result."""
        key = (name, *(one.kind if isinstance(one, Vector) else one for one in types))
        if key not in self.made:
            function, own = self.functions[name], ".".join(key)
            self.made[key] = own, self.add(own, _parse(function), types, function.__globals__, linkage="internal")
        return self.made[key]

    def external(self, name: str, n_arguments: int) -> tuple[str, str]:
        """Return the name of a function of C, of floats, and what it takes in addition."""
        given = ", ".join(["double"] * n_arguments)
        more = name.startswith("special.")
        own = name.replace(".", "_")
        self.addresses[own] = _find_in_scipy(name.removeprefix("special."), n_arguments) if more else _find_in_c(name)
        if name in INTRINSICS:
            own = f"llvm.{name}.f64"
        kind = f"double @{own}({given}{', i32' if more else ''})"
        self.declarations[own] = f"declare {kind} nounwind willreturn memory(none)"
        return own, ", i32 0" if more else ""


class _Function:
    """The translation of a function for some types of arguments."""

    def __init__(
        self,
        program: _Program,
        node: ast.FunctionDef,
        types: Sequence[Any],
        constants: Mapping[str, Any],
        *,
        may_fail: bool,
    ) -> None:
        self.program, self.node, self.constants = program, node, constants
        self.may_fail = may_fail  # it returns 1 where there is no memory
        self.variables: dict[str, Number | Vector] = {}  # where a number is stored, and its type
        self.declared: list[str] = []
        self.owned: list[str] = []
        self.body: list[str] = []
        self.parameters: list[str] = []
        self.returns = "void"
        self.n_names = self.depth = 0
        for argument, of in zip(node.args.args, types, strict=True):
            name = f"%_{argument.arg}"
            if isinstance(of, Vector):
                self.parameters += [f"ptr noalias {name}", f"i64 {name}.n"]
                self.variables[argument.arg] = self.new_vector(name, f"{name}.n", of.kind)
            else:
                self.parameters.append(f"{of} {name}")
                self.assign(argument.arg, (name, of))
        last = {each.id: at for at, of in enumerate(node.body) for each in ast.walk(of) if isinstance(each, ast.Name)}
        for at, statement in enumerate(node.body):
            self.statement(statement)
            for name in [name for name, of in last.items() if of == at]:
                if isinstance(vector := self.variables.get(name), Vector) and vector.owned:
                    self.free(vector.owned)
        self.jump("out", "out")
        for owned in self.owned:
            self.free(owned)
        result = self.variables.get("return")
        self.put("ret void" if result is None else f"ret {self.returns} {self.load(self.returns, result[0])}")
        self.lines = ["entry:", *self.declared, *self.body]

    def fail(self, node: ast.AST) -> NotWrittenError:
        """Return the error of what is not in the language."""
        return NotWrittenError(f"not in the language of loops: {ast.unparse(node)} (in {self.node.name})")

    # ------------------------------------------------------------ instructions

    def put(self, line: str) -> None:
        """Write an instruction without a result."""
        self.body.append(f"  {line}")

    def let(self, instruction: str) -> str:
        """Write an instruction, and return the name of its result."""
        self.n_names += 1
        self.put(f"%t{self.n_names} = {instruction}")
        return f"%t{self.n_names}"

    def load(self, kind: str, place: str) -> str:
        """Read what is stored."""
        return self.let(f"load {kind}, ptr {place}")

    def label(self) -> str:
        """Return a new name for a block."""
        self.n_names += 1
        return f"b{self.n_names}"

    def jump(self, to: str, begin: str) -> None:
        """End a block, and begin another."""
        self.put(f"br label %{to}")
        self.body.append(f"{begin}:")

    def split(self, condition: Number, yes: str, no: str, begin: str) -> None:
        """End a block by a condition, and begin another."""
        self.put(f"br i1 {self.cast(condition, 'i1')}, label %{yes}, label %{no}")
        self.body.append(f"{begin}:")

    def declare(self, kind: str, value: str = "") -> str:
        """Return a place for a value on the stack."""
        self.n_names += 1
        self.declared.append(f"  %t{self.n_names} = alloca {kind}")
        if value:
            self.declared.append(f"  store {kind} {value}, ptr %t{self.n_names}")
        return f"%t{self.n_names}"

    # ------------------------------------------------------------ numbers

    def cast(self, value: Number, to: str, *, signed: bool = True) -> str:
        """Return a number as one of another type of LLVM."""
        name, of = value
        are_float = [kind in ("float", "double") for kind in (of, to)]
        if of == to:
            return name
        if to == "i1":
            return self.let(f"fcmp une {of} {name}, 0.0" if are_float[0] else f"icmp ne {of} {name}, 0")
        if all(are_float):
            how = "fpext" if to == "double" else "fptrunc"
        elif are_float[1]:
            how = "sitofp" if signed and of != "i1" else "uitofp"
        elif are_float[0]:
            how = "fptosi"
        elif int(of[1:]) > int(to[1:]):
            how = "trunc"
        else:
            how = "sext" if signed and of != "i1" else "zext"
        return self.let(f"{how} {of} {name} to {to}")

    def widest(self, *values: Number) -> tuple[list[str], str]:
        """Return numbers in the widest of their types, and this type."""
        kind = max((of for _, of in values), key=NUMBERS.index)
        return [self.cast(value, kind) for value in values], kind

    def to_memory(self, value: Number, kind: str) -> str:
        """Return a number as an element of some kind."""
        return self.cast((self.cast(value, "i1"), "i1") if kind == "bool" else value, KINDS[kind])

    def from_memory(self, element: str, kind: str) -> Number:
        """Return an element of some kind as a number."""
        to = "i1" if kind == "bool" else "double" if kind.startswith("float") else "i64"
        return self.cast((element, KINDS[kind]), to, signed=not kind.startswith("u")), to

    def assign(self, name: str, value: Number) -> None:
        """Store a number in a variable, which has the type of its first value."""
        if name not in self.variables:
            self.variables[name] = (self.declare(value[1]), value[1])
        place, kind = self.variables[name][:2]
        if isinstance(self.variables[name], Vector) or NUMBERS.index(value[1]) > NUMBERS.index(kind):
            raise NotWrittenError(f"{name} has two types (in {self.node.name})")
        self.put(f"store {kind} {self.cast(value, kind)}, ptr {place}")

    # ------------------------------------------------------------ vectors

    def new_vector(self, address: str, length: str, kind: str, owned: str = "") -> Vector:
        """Return a vector at an address."""
        vector = Vector(self.declare("ptr"), self.declare("i64"), kind, owned)
        self.put(f"store ptr {address}, ptr {vector.address}")
        self.put(f"store i64 {length}, ptr {vector.length}")
        return vector

    def vector(self, node: ast.expr) -> Vector:
        """Return a variable that is a vector."""
        found = self.variables.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(found, Vector):
            raise self.fail(node)
        return found

    def place(self, vector: Vector, index: ast.expr) -> str:
        """Return the address of an element."""
        at = self.cast(self.value(index), "i64")
        begin = self.load("ptr", vector.address)
        return self.let(f"getelementptr inbounds {KINDS[vector.kind]}, ptr {begin}, i64 {at}")

    def read(self, vector: Vector, index: ast.expr, mark: str = "") -> Number:
        """Return an element."""
        return self.from_memory(self.load(KINDS[vector.kind], self.place(vector, index) + mark), vector.kind)

    def write(self, vector: Vector, index: ast.expr, value: Number, mark: str = "") -> None:
        """Set an element."""
        place = self.place(vector, index)
        self.put(f"store {KINDS[vector.kind]} {self.to_memory(value, vector.kind)}, ptr {place}{mark}")

    def mark(self, kind: str, loop: ast.expr) -> str:
        """Return the mark of what is read or written in a loop, by its number; 0 is none."""
        number = ast.literal_eval(loop)
        scope = self.program.scopes.setdefault(number, 2 * len(self.program.scopes) + 1) if number else 0
        return f", !{kind} !{scope + 1}" if number else ""

    def make_vector(self, call: ast.Call, name: str) -> Vector:
        """Return a new vector, or one in memory."""
        length, kind = self.cast(self.value(call.args[-2]), "i64"), ast.unparse(call.args[-1])
        if kind not in KINDS or self.depth:
            raise self.fail(call)
        if name == "vector":
            address = self.let(f"inttoptr i64 {self.cast(self.value(call.args[0]), 'i64')} to ptr")
            return self.new_vector(address, length, kind)
        size = 8 if kind == "bool" else int(re.sub(r"\D", "", kind))
        address = self.let(f"call ptr @PyMem_RawMalloc(i64 {self.let(f'mul i64 {length}, {size // 8}')})")
        self.owned.append(self.declare("ptr", "null"))
        self.put(f"store volatile ptr {address}, ptr {self.owned[-1]}")  # or else it would be in a register
        if self.may_fail:
            none, more = self.label(), self.label()
            self.split((self.let(f"icmp eq ptr {address}, null"), "i1"), none, more, begin=none)
            self.statement(ast.Return(ast.Constant(1)))
            self.jump(more, more)
        return self.new_vector(address, length, kind, self.owned[-1])

    def free(self, owned: str) -> None:
        """Free a vector, if it is not yet freed."""
        self.put(f"call void @PyMem_RawFree(ptr {self.let(f'load volatile ptr, ptr {owned}')})")
        self.put(f"store volatile ptr null, ptr {owned}")

    # ------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Number:
        """Write an expression, and return its value."""
        match node:
            case ast.Constant(value=bool() as value):
                return str(value).lower(), "i1"
            case ast.Constant(value=int() as value):
                return str(value), "i64"
            case ast.Constant(value=float() as value):
                return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}", "double"
            case ast.Name(id=name) if name in self.variables and not isinstance(self.variables[name], Vector):
                place, kind = self.variables[name][:2]
                return self.load(kind, place), kind
            case ast.Name(id=name) if isinstance(self.constants.get(name), int | float):
                return self.value(ast.Constant(self.constants[name]))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self.value(ast.Constant(-number))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                (name, _), kind = self.widest(self.value(operand), ("0", "i64"))
                return self.let(f"fneg double {name}" if kind == "double" else f"sub {kind} 0, {name}"), kind
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.let(f"xor i1 {self.cast(self.value(operand), 'i1')}, true"), "i1"
            case ast.BinOp(left=left, op=operation, right=right):
                return self.arithmetic(node, type(operation), self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[operation], comparators=[right]):
                return self.compare(COMPARISONS[type(operation)], self.value(left), self.value(right))
            case ast.BoolOp(op=operation, values=values):
                return self.logic(isinstance(operation, ast.And), values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choose(self.cast(self.value(test), "i1"), self.value(body), self.value(orelse))
            case ast.Subscript(value=of, slice=index):
                return self.read(self.vector(of), index)
            case ast.Call():
                return self.call(node)
        raise self.fail(node)

    def arithmetic(self, node: ast.expr, operation: type, one: Number, other: Number) -> Number:
        """Return the result of an operation between two numbers."""
        if operation in (ast.Div, ast.Pow):
            a, b = self.cast(one, "double"), self.cast(other, "double")
            return (self.let(f"fdiv double {a}, {b}"), "double") if operation is ast.Div else self.of_c("pow", [a, b])
        (a, b), kind = self.widest(one, other)
        is_logic = operation in (ast.BitAnd, ast.BitOr)
        if kind == "i1" and not is_logic:
            a, b, kind = self.cast((a, kind), "i64"), self.cast((b, kind), "i64"), "i64"
        if operation in ARITHMETIC and not (is_logic and kind == "double"):
            return self.let(f"{'f' * (kind == 'double')}{ARITHMETIC[operation]} {kind} {a}, {b}"), kind
        if operation in (ast.FloorDiv, ast.Mod) and kind == "i64":
            return self.divide(a, b)[operation is ast.Mod], kind
        raise self.fail(node)

    def divide(self, a: str, b: str) -> tuple[str, str]:
        """Return the quotient of whole numbers, rounded down, and the rest; both are 0 if the divisor is."""
        is_none = self.let(f"icmp eq i64 {b}, 0")
        by = self.let(f"select i1 {is_none}, i64 1, i64 {b}")
        quotient, rest = self.let(f"sdiv i64 {a}, {by}"), self.let(f"srem i64 {a}, {by}")
        differ = self.let(f"icmp slt i64 {self.let(f'xor i64 {rest}, {by}')}, 0")
        is_above = self.let(f"and i1 {differ}, {self.let(f'icmp ne i64 {rest}, 0')}")
        below = self.let(f"sub i64 {quotient}, {self.cast((is_above, 'i1'), 'i64')}")
        left = self.let(f"add i64 {rest}, {self.let(f'select i1 {is_above}, i64 {by}, i64 0')}")
        return self.let(f"select i1 {is_none}, i64 0, i64 {below}"), left

    def compare(self, how: str, one: Number, other: Number) -> Number:
        """Return whether a comparison holds."""
        (a, b), kind = self.widest(one, other)
        if kind == "double":
            return self.let(f"fcmp {'u' if how == 'ne' else 'o'}{how} double {a}, {b}"), "i1"
        sign = "" if how in ("eq", "ne") else "u" if kind == "i1" else "s"
        return self.let(f"icmp {sign}{how} {kind} {a}, {b}"), "i1"

    def choose(self, condition: str, one: Number, other: Number) -> Number:
        """Return one of two numbers."""
        (a, b), kind = self.widest(one, other)
        return self.let(f"select i1 {condition}, {kind} {a}, {kind} {b}"), kind

    def logic(self, are_all: bool, values: Sequence[ast.expr]) -> Number:
        """Return whether all hold, or one; the next is computed only if it matters."""
        place, end = self.declare("i1"), self.label()
        for each in values:
            value, more = self.cast(self.value(each), "i1"), self.label()
            self.put(f"store i1 {value}, ptr {place}")
            self.split((value, "i1"), *((more, end) if are_all else (end, more)), begin=more)
        self.jump(end, end)
        return self.load("i1", place), "i1"

    def call(self, node: ast.Call) -> Number:
        """Write a call, and return its result."""
        name, given = ast.unparse(node.func), node.args
        if name == "len":
            return self.load("i64", self.vector(given[0]).length), "i64"
        if name == "at":
            return self.read(self.vector(given[0]), given[1], self.mark("noalias", given[2]))
        if name == "take":
            vector = self.vector(given[0])
            self.put(f"store volatile ptr null, ptr {vector.owned}")
            return self.let(f"ptrtoint ptr {self.load('ptr', vector.address)} to i64"), "i64"
        values = [self.argument(one) for one in given]
        if isinstance(helper := self.constants.get(name), FunctionType):
            self.program.functions.setdefault(name, helper)
        if name in self.program.functions:
            own, kind = self.program.function(name, [of for _, of in values])
            written = [f"{'ptr' if isinstance(of, Vector) else of} {value}" for value, of in values]
            call = f'call {kind} @"{own}"({", ".join(written)})'
            if kind == "void":
                self.put(call)
            return ("" if kind == "void" else self.let(call)), kind
        if any(isinstance(of, Vector) for _, of in values):
            raise self.fail(node)
        if name in KINDS:
            return self.from_memory(self.to_memory(values[0], name), name)
        if name in ("min", "max"):
            one, other = values
            return self.choose(self.compare("lt" if name == "min" else "gt", other, one)[0], other, one)
        if name == "abs" and values[0][1] == "i64":
            minus = self.let(f"sub i64 0, {values[0][0]}")
            return self.choose(self.compare("lt", values[0], ("0", "i64"))[0], (minus, "i64"), values[0])
        return self.of_c("fabs" if name == "abs" else name, [self.cast(one, "double") for one in values])

    def argument(self, node: ast.expr) -> tuple[str, Any]:
        """Return an argument of a call and its type: a number, or the address and the length of a vector."""
        match node:
            case ast.Name(id=name) if isinstance(vector := self.variables.get(name), Vector):
                return f"{self.load('ptr', vector.address)}, i64 {self.load('i64', vector.length)}", vector
            case ast.Subscript(value=of, slice=ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper)):
                begin, end = self.value(lower)[0], self.value(upper)[0]
                vector = self.vector(of)
                return f"{self.place(vector, lower)}, i64 {self.let(f'sub i64 {end}, {begin}')}", vector
        return self.value(node)

    def of_c(self, name: str, values: Sequence[str]) -> Number:
        """Write a call of a function of C, of floats."""
        own, more = self.program.external(name, len(values))
        return self.let(f"call double @{own}({', '.join(f'double {one}' for one in values)}{more})"), "double"

    # ------------------------------------------------------------ statements

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if all(
                isinstance(name, ast.Name) for name in names
            ):
                for name, value in zip(names, [self.value(value) for value in values], strict=True):
                    self.assign(ast.unparse(name), value)
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="empty" | "vector" as how)) as call
            ):
                self.variables[name] = self.make_vector(call, how)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.assign(name, self.value(value))
            case ast.Assign(targets=[ast.Subscript(value=of, slice=index)], value=value):
                self.write(self.vector(of), index, self.value(value))
            case ast.AugAssign(target=target, op=operation, value=value):
                self.statement(ast.Assign([target], ast.BinOp(target, operation, value)))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=ends), body=body):
                self.loop(name, [ast.Constant(0), *ends] if len(ends) == 1 else ends, body)
            case ast.While(test=test, body=body):
                again, inside, end = self.label(), self.label(), self.label()
                self.jump(again, again)
                self.split(self.value(test), inside, end, begin=inside)
                self.block(body, 1)
                self.jump(again, end)
            case ast.If(test=test, body=body, orelse=orelse):
                yes, no, end = self.label(), self.label(), self.label()
                self.split(self.value(test), yes, no, begin=yes)
                self.block(body)
                self.jump(end, no)
                self.block(orelse)
                self.jump(end, end)
            case ast.Return(value=value):
                if value is not None:
                    self.assign("return", self.value(value))
                    self.returns = self.variables["return"][1]
                self.jump("out", self.label())
            case ast.Expr(value=ast.Call(func=ast.Name(id="put"), args=[vector, index, value, loop])):
                self.write(self.vector(vector), index, self.value(value), self.mark("alias.scope", loop))
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.Expr(value=ast.Constant()):  # a docstring
                pass
            case _:
                raise self.fail(node)

    def block(self, body: Sequence[ast.stmt], depth: int = 0) -> None:
        """Write statements, perhaps those of a loop."""
        self.depth += depth
        for each in body:
            self.statement(each)
        self.depth -= depth

    def loop(self, name: str, ends: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """Write a loop over whole numbers."""
        begin, end = (self.cast(self.value(one), "i64") for one in ends[:2])
        step = ast.literal_eval(ends[2]) if len(ends) > 2 else 1
        test, inside, after = self.label(), self.label(), self.label()
        counter = self.declare("i64")  # not the variable, which a loop may change
        self.put(f"store i64 {begin}, ptr {counter}")
        self.jump(test, test)
        now = self.load("i64", counter)
        self.split((self.let(f"icmp slt i64 {now}, {end}"), "i1"), inside, after, begin=inside)
        self.assign(name, (now, "i64"))
        self.block(body, 1)
        self.put(f"store i64 {self.let(f'add nsw i64 {now}, {step}')}, ptr {counter}")
        self.jump(test, after)
