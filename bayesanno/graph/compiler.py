"""A restricted Python, compiled by LLVM in about a second: functions of numbers and vectors.

Numba spends most of its time on what may be left open in Python: the types, lengths and exceptions of every operation.
Here nothing is left open. A variable is a whole number (int64), a float64, a bool, or a vector; its type is that of its
first value. A function is translated for the types with which it is called.

    v = empty(n, float64)                   a new vector, freed when the function returns; not in a loop
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
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from bayesanno.graph.library import LIBRARY
from bayesanno.graph.source import NotWrittenError

KINDS = {"float64": "double", "float32": "float", "bool": "i8"}
KINDS |= {f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}  # of elements
NUMBERS = ("i1", "i64", "double")  # the types of variables, from narrow to wide
INTRINSICS = {"exp", "log", "sqrt", "fabs", "pow", "floor", "ceil", "trunc", "rint"}
ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}

MEMORY = """declare noalias ptr @PyMem_RawMalloc(i64) nounwind
declare void @PyMem_RawFree(ptr) nounwind"""  # of Python: also without its lock, and counted by tracemalloc

type Number = tuple[str, str]  # its name or literal, and its type


class Vector(NamedTuple):
    """A vector: where its address and its length are stored, the kind of its elements, and where it is owned."""

    address: str
    length: str
    kind: str
    owner: str = ""


class Compiled:
    """Compiled functions of whole numbers.

    Parameters
    ----------
    text : str
        Functions in the language of this module, of whole numbers, which are lengths and addresses.
    functions : mapping of str to callable
        Functions in this language that they call.

    Raises
    ------
    NotWrittenError
        If something is not in the language.
    """

    def __init__(self, text: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        import llvmlite.binding as llvm

        program = _Program(functions)
        definitions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        for node in definitions:
            program.add(
                node.name, node, ["i64"] * len(node.args.args), {"inf": math.inf, "nan": math.nan}, is_public=True
            )
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
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
        self._engine = llvm.create_mcjit_compiler(module, machine)  # it owns the machine code
        self._engine.finalize_object()
        self._n_arguments = {node.name: len(node.args.args) for node in definitions}

    def function(self, name: str) -> CFunction:
        """Return a function, as a pointer and for Python."""
        return CFunction(self._engine.get_function_address(name), self._n_arguments[name], self)


@dataclass(frozen=True)
class CFunction:
    """A compiled function of whole numbers, which returns one: its address, and what owns its code."""

    address: int
    n_arguments: int
    owner: Any

    @cached_property
    def call(self) -> Callable[..., int]:
        """The function for Python."""
        return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * self.n_arguments)(self.address)


class _Program:
    """The functions of a module of LLVM."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.functions = {**LIBRARY, **functions}
        self.made: dict[tuple[Any, ...], tuple[str, str]] = {}  # name and types -> name and type of what is returned
        self.definitions: list[str] = []
        self.declarations = {"memory": MEMORY}
        self.addresses = {name: address_of_python(name) for name in ("PyMem_RawMalloc", "PyMem_RawFree")}
        self.scopes: dict[int, int] = {}  # of what each loop writes

    @property
    def text(self) -> str:
        """The module as LLVM reads it."""
        scopes = [f'!{n} = !{{!"loop {loop}", !0}}\n!{n + 1} = !{{!{n}}}' for loop, n in self.scopes.items()]
        return "\n".join([*self.declarations.values(), *self.definitions, '!0 = !{!"loops"}', *scopes])

    def scope(self, loop: int) -> str:
        """Return the name of the scope of what a loop writes."""
        return f"!{self.scopes.setdefault(loop, 2 * len(self.scopes) + 1) + 1}"

    def add(
        self,
        name: str,
        node: ast.FunctionDef,
        types: Sequence[Any],
        constants: Mapping[str, Any],
        *,
        is_public: bool = False,
    ) -> str:
        """Translate a function; return the type of its result."""
        translated = _Function(self, node, types, constants, may_fail=is_public)
        parameters, kind = ", ".join(translated.parameters), translated.returns
        linkage = "" if is_public else "internal "
        body = "\n".join(translated.lines)
        self.definitions.append(f'define {linkage}{kind} @"{name}"({parameters}) nounwind {{\n{body}\n}}')
        return kind

    def function(self, name: str, types: Sequence[Any]) -> tuple[str, str]:
        """Return the name of a function in this language for these types of arguments, and that of its result."""
        kinds = [one.kind if isinstance(one, Vector) else one for one in types]
        key = (name, *kinds)
        if key not in self.made:
            own = ".".join(key)
            function = self.functions[name]
            self.made[key] = own, self.add(own, _parse(function), types, function.__globals__)
        return self.made[key]

    def external(self, name: str, n_arguments: int) -> tuple[str, str]:
        """Return the name of a function of C, of floats, and what it takes in addition."""
        import llvmlite.binding as llvm

        more = ""
        if name.startswith("special."):
            own = name.replace(".", "_")
            self.addresses[own] = _address_in_scipy(name.removeprefix("special."), n_arguments)
            more = ", i32"
        elif llvm.address_of_symbol(name) is None:
            raise NotWrittenError(f"no function {name}")
        else:
            own = f"llvm.{name}.f64" if name in INTRINSICS else name
        self.declarations[own] = (
            f"declare double @{own}({', '.join(['double'] * n_arguments)}{more}) nounwind willreturn memory(none)"
        )
        return own, more and f"{more} 0"


def address_of_python(name: str) -> int:
    """Return the address of a function of Python's."""
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)


def free(address: int) -> None:
    """Free a vector that a compiled function did not."""
    ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(address))


@cache
def _parse(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax of a function."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    return node


def _address_in_scipy(name: str, n_arguments: int) -> int:
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
        self.program, self.node, self.constants, self.may_fail = program, node, constants, may_fail
        self.variables: dict[str, Number | Vector] = {}  # where a number is stored, and its type
        self.declared: list[str] = []
        self.owned: list[str] = []
        self.body: list[str] = []
        self.returned = ""  # where the result is stored
        self.returns = "void"
        self.n_names = self.depth = 0
        self.parameters = []
        for argument, of in zip(node.args.args, types, strict=True):
            name = f"%_{argument.arg}"
            if isinstance(of, Vector):
                self.parameters += [f"ptr noalias {name}", f"i64 {name}.n"]
                self.variables[argument.arg] = self.new_vector((name, "ptr"), (f"{name}.n", "i64"), of.kind)
            else:
                self.parameters.append(f"{of} {name}")
                self.assign(argument.arg, (name, of))
        names = {each.id: at for at, of in enumerate(node.body) for each in ast.walk(of) if isinstance(each, ast.Name)}
        for at, statement in enumerate(node.body):
            self.statement(statement)
            for name in [name for name, last in names.items() if last == at]:
                if isinstance(vector := self.variables.get(name), Vector) and vector.owner:
                    self.free(vector.owner)
        self.jump("out", "out")
        for owner in self.owned:
            self.free(owner)
        result = f"{self.returns} {self.let(f'load {self.returns}, ptr {self.returned}')}" if self.returned else "void"
        self.put(f"ret {result}")
        self.lines = ["entry:", *self.declared, *self.body]

    # ------------------------------------------------------------ text

    def fail(self, node: ast.AST) -> NotWrittenError:
        """Return the error of what is not in the language."""
        return NotWrittenError(f"not in the language of loops: {ast.unparse(node)} (in {self.node.name})")

    def new_name(self) -> str:
        self.n_names += 1
        return f"%t{self.n_names}"

    def put(self, line: str) -> None:
        """Write an instruction without a result."""
        self.body.append(f"  {line}")

    def let(self, instruction: str) -> str:
        """Write an instruction, and return the name of its result."""
        name = self.new_name()
        self.put(f"{name} = {instruction}")
        return name

    def label(self) -> str:
        return f"b{self.new_name()[2:]}"

    def block(self, label: str) -> None:
        """Begin a block."""
        self.body.append(f"{label}:")

    def jump(self, to: str, begin: str) -> None:
        """End a block, and begin another."""
        self.put(f"br label %{to}")
        self.block(begin)

    def split(self, condition: Number, yes: str, no: str) -> None:
        """End a block by a condition, and begin the one where it holds."""
        self.put(f"br i1 {self.cast(condition, 'i1')}, label %{yes}, label %{no}")
        self.block(yes)

    def declare(self, kind: str, value: str = "") -> str:
        """Return a place for a value on the stack."""
        place = self.new_name()
        self.declared.append(f"  {place} = alloca {kind}")
        if value:
            self.declared.append(f"  store {kind} {value}, ptr {place}")
        return place

    # ------------------------------------------------------------ numbers

    def cast(self, value: Number, to: str) -> str:
        """Return a number as one of another type."""
        name, of = value
        if of == to:
            return name
        if to == "i1":
            comparison = "fcmp une double {}, 0.0" if of == "double" else "icmp ne i64 {}, 0"
            return self.let(comparison.format(name))
        if to == "double":
            return self.let(f"{'uitofp' if of == 'i1' else 'sitofp'} {of} {name} to double")
        if of == "double":
            return self.let(f"fptosi double {name} to i64")
        return self.let(f"zext i1 {name} to i64")

    def widest(self, *values: Number) -> tuple[list[str], str]:
        """Return numbers in the widest of their types, and this type."""
        kind = max((of for _, of in values), key=NUMBERS.index)
        return [self.cast(value, kind) for value in values], kind

    def convert(self, value: Number, kind: str) -> str:
        """Return a number as an element of some kind."""
        own = KINDS[kind]
        if kind == "bool":
            return self.let(f"zext i1 {self.cast(value, 'i1')} to i8")
        if kind.startswith("float"):
            number = self.cast(value, "double")
            return number if own == "double" else self.let(f"fptrunc double {number} to float")
        number = self.cast(value, "i64")
        return number if own == "i64" else self.let(f"trunc i64 {number} to {own}")

    def number(self, element: str, kind: str) -> Number:
        """Return an element of some kind as a number."""
        own = KINDS[kind]
        if kind == "bool":
            return self.let(f"icmp ne i8 {element}, 0"), "i1"
        if own in NUMBERS:
            return element, own
        if own == "float":
            return self.let(f"fpext float {element} to double"), "double"
        return self.let(f"{'zext' if kind.startswith('u') else 'sext'} {own} {element} to i64"), "i64"

    def assign(self, name: str, value: Number) -> None:
        """Store a number in a variable, which has the type of its first value."""
        if name not in self.variables:
            self.variables[name] = (self.declare(value[1]), value[1])
        place, kind = self.variables[name][:2]
        if isinstance(self.variables[name], Vector) or NUMBERS.index(value[1]) > NUMBERS.index(kind):
            raise NotWrittenError(f"{name} has two types (in {self.node.name})")
        self.put(f"store {kind} {self.cast(value, kind)}, ptr {place}")

    # ------------------------------------------------------------ vectors

    def new_vector(self, address: Number, length: Number, kind: str, owner: str = "") -> Vector:
        """Return a vector at an address."""
        vector = Vector(self.declare("ptr"), self.declare("i64"), kind, owner)
        self.put(f"store ptr {address[0]}, ptr {vector.address}")
        self.put(f"store i64 {length[0]}, ptr {vector.length}")
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
        begin = self.let(f"load ptr, ptr {vector.address}")
        return self.let(f"getelementptr inbounds {KINDS[vector.kind]}, ptr {begin}, i64 {at}")

    def read(self, vector: Vector, index: ast.expr, mark: str = "") -> Number:
        """Return an element."""
        place = self.place(vector, index)
        return self.number(self.let(f"load {KINDS[vector.kind]}, ptr {place}{mark}"), vector.kind)

    def write(self, vector: Vector, index: ast.expr, value: Number, mark: str = "") -> None:
        """Set an element."""
        place = self.place(vector, index)
        self.put(f"store {KINDS[vector.kind]} {self.convert(value, vector.kind)}, ptr {place}{mark}")

    def mark(self, kind: str, loop: ast.expr) -> str:
        """Return the mark of what is read or written in a loop; 0 is none."""
        number = ast.literal_eval(loop)
        return f", !{kind} {self.program.scope(number)}" if number else ""

    def make_vector(self, call: ast.Call, name: str) -> Vector:
        """Return a new vector, or one in memory."""
        length, kind = (self.cast(self.value(call.args[-2]), "i64"), "i64"), ast.unparse(call.args[-1])
        if kind not in KINDS or self.depth:
            raise self.fail(call)
        if name == "vector":
            address = self.let(f"inttoptr i64 {self.cast(self.value(call.args[0]), 'i64')} to ptr")
            return self.new_vector((address, "ptr"), length, kind)
        size = 8 if kind == "bool" else int(re.sub(r"\D", "", kind))
        bytes_of = self.let(f"mul i64 {self.let(f'add i64 {length[0]}, 1')}, {size // 8}")
        address = self.let(f"call ptr @PyMem_RawMalloc(i64 {bytes_of})")
        owner = self.declare("ptr", "null")
        self.owned.append(owner)
        self.put(f"store volatile ptr {address}, ptr {owner}")
        if self.may_fail:
            none, more = self.label(), self.label()
            self.split((self.let(f"icmp eq ptr {address}, null"), "i1"), none, more)
            self.result(("1", "i64"))
            self.jump("out", more)
        return self.new_vector((address, "ptr"), length, kind, owner)

    def free(self, owner: str) -> None:
        """Free a vector, if it is not yet freed."""
        self.put(f"call void @PyMem_RawFree(ptr {self.let(f'load volatile ptr, ptr {owner}')})")
        self.put(f"store volatile ptr null, ptr {owner}")

    # ------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Number:
        """Write an expression, and return its value."""
        match node:
            case ast.Constant(value=bool() as value):
                return str(value).lower(), "i1"
            case ast.Constant(value=int() as value):
                return str(value), "i64"
            case ast.Constant(value=float() as value):
                return _literal(value), "double"
            case ast.Name(id=name) if name in self.variables and not isinstance(self.variables[name], Vector):
                place, kind = self.variables[name][:2]
                return self.let(f"load {kind}, ptr {place}"), kind
            case ast.Name(id=name) if isinstance(self.constants.get(name), int | float):
                return self.value(ast.Constant(self.constants[name]))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return (_literal(-value), "double") if isinstance(value, float) else (str(-value), "i64")
            case ast.UnaryOp(op=ast.USub()):
                value = self.value(node.operand)
                if value[1] == "double":
                    return self.let(f"fneg double {value[0]}"), "double"
                return self.let(f"sub i64 0, {self.cast(value, 'i64')}"), "i64"
            case ast.UnaryOp(op=ast.Not()):
                return self.let(f"xor i1 {self.cast(self.value(node.operand), 'i1')}, true"), "i1"
            case ast.BinOp():
                return self.arithmetic(node, type(node.op), self.value(node.left), self.value(node.right))
            case ast.Compare(left=left, ops=[operation], comparators=[right]):
                return self.compare(COMPARISONS[type(operation)], self.value(left), self.value(right))
            case ast.BoolOp():
                return self.logic(node)
            case ast.IfExp():
                test = self.cast(self.value(node.test), "i1")
                (one, other), kind = self.widest(self.value(node.body), self.value(node.orelse))
                return self.let(f"select i1 {test}, {kind} {one}, {kind} {other}"), kind
            case ast.Subscript():
                return self.read(self.vector(node.value), node.slice)
            case ast.Call():
                return self.call(node)
        raise self.fail(node)

    def arithmetic(self, node: ast.expr, operation: type, one: Number, other: Number) -> Number:
        """Return the result of an operation between two numbers."""
        (a, b), kind = self.widest(one, other)
        if operation in (ast.BitAnd, ast.BitOr):
            if kind == "double":
                raise self.fail(node)
            return self.let(f"{'and' if operation is ast.BitAnd else 'or'} {kind} {a}, {b}"), kind
        if operation in (ast.Div, ast.Pow):
            a, b = self.cast(one, "double"), self.cast(other, "double")
            if operation is ast.Div:
                return self.let(f"fdiv double {a}, {b}"), "double"
            return self.of_floats("pow", [a, b])
        if kind == "i1":
            a, b, kind = self.cast((a, kind), "i64"), self.cast((b, kind), "i64"), "i64"
        if operation in ARITHMETIC:
            return self.let(f"{'f' * (kind == 'double')}{ARITHMETIC[operation]} {kind} {a}, {b}"), kind
        if operation not in (ast.FloorDiv, ast.Mod) or kind == "double":
            raise self.fail(node)
        return self.divide(a, b)[operation is ast.Mod], "i64"

    def divide(self, a: str, b: str) -> tuple[str, str]:
        """Return the quotient of whole numbers, rounded down, and the rest; both are 0 if the divisor is."""
        is_none = self.let(f"icmp eq i64 {b}, 0")
        by = self.let(f"select i1 {is_none}, i64 1, i64 {b}")
        quotient, rest = self.let(f"sdiv i64 {a}, {by}"), self.let(f"srem i64 {a}, {by}")
        differ = self.let(f"icmp slt i64 {self.let(f'xor i64 {rest}, {by}')}, 0")
        is_above = self.let(f"and i1 {differ}, {self.let(f'icmp ne i64 {rest}, 0')}")
        below = self.let(f"sub i64 {quotient}, {self.let(f'zext i1 {is_above} to i64')}")
        left = self.let(f"add i64 {rest}, {self.let(f'select i1 {is_above}, i64 {by}, i64 0')}")
        return self.let(f"select i1 {is_none}, i64 0, i64 {below}"), left

    def compare(self, how: str, one: Number, other: Number) -> Number:
        """Return whether a comparison holds."""
        (a, b), kind = self.widest(one, other)
        if kind == "double":
            return self.let(f"fcmp {'u' if how == 'ne' else 'o'}{how} double {a}, {b}"), "i1"
        sign = "" if how in ("eq", "ne") else "u" if kind == "i1" else "s"
        return self.let(f"icmp {sign}{how} {kind} {a}, {b}"), "i1"

    def logic(self, node: ast.BoolOp) -> Number:
        """Return whether all hold, or one; the next is computed only if it matters."""
        place, end = self.declare("i1"), self.label()
        for each in node.values:
            value = self.cast(self.value(each), "i1")
            self.put(f"store i1 {value}, ptr {place}")
            more = self.label()
            ways = (more, end) if isinstance(node.op, ast.And) else (end, more)
            self.put(f"br i1 {value}, label %{ways[0]}, label %{ways[1]}")
            self.block(more)
        self.jump(end, end)
        return self.let(f"load i1, ptr {place}"), "i1"

    def call(self, node: ast.Call) -> Number:
        """Write a call, and return its result."""
        name, given = ast.unparse(node.func), node.args
        if name == "len":
            return self.let(f"load i64, ptr {self.vector(given[0]).length}"), "i64"
        if name == "at":
            return self.read(self.vector(given[0]), given[1], self.mark("noalias", given[2]))
        if name == "take":
            vector = self.vector(given[0])
            self.put(f"store volatile ptr null, ptr {vector.owner}")
            return self.let(f"ptrtoint ptr {self.let(f'load ptr, ptr {vector.address}')} to i64"), "i64"
        values = [self.argument(one) for one in given]
        if name in self.program.functions:
            return self.call_own(name, values)
        if any(isinstance(of, Vector) for _, of in values):
            raise self.fail(node)
        if name in KINDS:
            return self.number(self.convert(values[0], name), name)
        if name in ("min", "max"):
            test = self.compare("lt" if name == "min" else "gt", values[1], values[0])[0]
            (one, other), kind = self.widest(values[1], values[0])
            return self.let(f"select i1 {test}, {kind} {one}, {kind} {other}"), kind
        if name == "abs" and values[0][1] == "i64":
            number, minus = values[0][0], self.let(f"sub i64 0, {values[0][0]}")
            return self.let(f"select i1 {self.let(f'icmp slt i64 {number}, 0')}, i64 {minus}, i64 {number}"), "i64"
        return self.of_floats("fabs" if name == "abs" else name, [self.cast(one, "double") for one in values])

    def argument(self, node: ast.expr) -> tuple[str, Any]:
        """Return an argument of a call: a number, or the address and length of a vector, and its type."""
        match node:
            case ast.Name(id=name) if isinstance(self.variables.get(name), Vector):
                vector = self.vector(node)
                address, length = self.let(f"load ptr, ptr {vector.address}"), f"load i64, ptr {vector.length}"
                return f"{address}, i64 {self.let(length)}", vector
            case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper)):
                vector = self.vector(node.value)
                begin, end = self.value(lower), self.value(upper)
                address = self.place(vector, lower)
                return f"{address}, i64 {self.let(f'sub i64 {end[0]}, {begin[0]}')}", vector
        return self.value(node)

    def call_own(self, name: str, values: Sequence[tuple[str, Any]]) -> Number:
        """Write a call of a function in this language."""
        own, kind = self.program.function(name, [of for _, of in values])
        given = ", ".join(f"{'ptr' if isinstance(of, Vector) else of} {value}" for value, of in values)
        if kind == "void":
            self.put(f'call void @"{own}"({given})')
            return "", kind
        return self.let(f'call {kind} @"{own}"({given})'), kind

    def of_floats(self, name: str, values: Sequence[str]) -> Number:
        """Write a call of a function of C."""
        own, more = self.program.external(name, len(values))
        return self.let(f"call double @{own}({', '.join(f'double {one}' for one in values)}{more})"), "double"

    # ------------------------------------------------------------ statements

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                computed = [self.value(value) for value in values]
                for name, value in zip(names, computed, strict=True):
                    self.assign(ast.unparse(name), value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="empty" | "vector" as how))):
                self.variables[name] = self.make_vector(node.value, how)
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.assign(name, self.value(node.value))
            case ast.Assign(targets=[ast.Subscript(value=of, slice=index)]):
                self.write(self.vector(of), index, self.value(node.value))
            case ast.AugAssign(target=target):
                self.statement(ast.Assign([target], ast.BinOp(target, node.op, node.value)))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=ends)):
                self.loop(node, name, [ast.Constant(0), *ends] if len(ends) == 1 else ends)
            case ast.While():
                test, body, end = self.label(), self.label(), self.label()
                self.jump(test, test)
                self.split(self.value(node.test), body, end)
                self.inside(node.body)
                self.jump(test, end)
            case ast.If():
                yes, no, end = self.label(), self.label(), self.label()
                self.split(self.value(node.test), yes, no)
                for each in node.body:
                    self.statement(each)
                self.jump(end, no)
                for each in node.orelse:
                    self.statement(each)
                self.jump(end, end)
            case ast.Return():
                if node.value is not None:
                    self.result(self.value(node.value))
                self.jump("out", self.label())
            case ast.Expr(value=ast.Call(func=ast.Name(id="put"), args=[vector, index, value, loop])):
                self.write(self.vector(vector), index, self.value(value), self.mark("alias.scope", loop))
            case ast.Expr(value=ast.Call()):
                self.call(node.value)
            case ast.Expr(value=ast.Constant()):  # a docstring
                pass
            case _:
                raise self.fail(node)

    def inside(self, body: Sequence[ast.stmt]) -> None:
        """Write the statements of a loop."""
        self.depth += 1
        for each in body:
            self.statement(each)
        self.depth -= 1

    def loop(self, node: ast.For, name: str, ends: Sequence[ast.expr]) -> None:
        """Write a loop over whole numbers."""
        begin, end = (self.cast(self.value(one), "i64") for one in ends[:2])
        step = ast.literal_eval(ends[2]) if len(ends) > 2 else 1
        test, body, after = self.label(), self.label(), self.label()
        self.assign(name, (begin, "i64"))
        counter = self.declare("i64")  # not the variable, which a loop may change
        self.put(f"store i64 {begin}, ptr {counter}")
        self.jump(test, test)
        now = self.let(f"load i64, ptr {counter}")
        self.split((self.let(f"icmp slt i64 {now}, {end}"), "i1"), body, after)
        self.assign(name, (now, "i64"))
        self.inside(node.body)
        self.put(f"store i64 {self.let(f'add nsw i64 {now}, {step}')}, ptr {counter}")
        self.jump(test, after)

    def result(self, value: Number) -> None:
        """Store what the function returns."""
        if not self.returned:
            self.returns = value[1]
            self.returned = self.declare(self.returns)
        if NUMBERS.index(value[1]) > NUMBERS.index(self.returns):
            raise NotWrittenError(f"{self.node.name} returns two types")
        self.put(f"store {self.returns} {self.cast(value, self.returns)}, ptr {self.returned}")


def _literal(number: float) -> str:
    """Return a float as LLVM reads it."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
