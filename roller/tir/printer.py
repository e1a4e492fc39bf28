"""A function as TVMScript writes it.

Stands in for ``src/tirx/script/printer`` and the expression part of ``src/script/printer/doc_printer``: for functions
made by create_prim_func the text is TVM's own. The name of a variable or buffer holds while the statement that defines
it is being written, so the same name comes back in the next loop nest, and a clash gets ``_1``, ``_2``, ...
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence

from .expr import (
    EQ,
    FOLD,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOpExpr,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    ProducerLoad,
    Range,
    Reduce,
    Select,
    SizeVar,
    StringImm,
    Sub,
    TirError,
    Var,
    add,
    children,
    deep_equal,
    is_one,
    is_zero,
    undefined_vars,
)
from .stmt import (
    Bind,
    Buffer,
    BufferRegion,
    BufferStore,
    For,
    IfThenElse,
    PrimFunc,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
)

# How tightly Python's operators bind; what is no operator binds most tightly.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _ATOM = range(7)
_OPERATORS = {
    Add: ("+", _SUM),
    Sub: ("-", _SUM),
    Mul: ("*", _PRODUCT),
    FloorDiv: ("//", _PRODUCT),
    FloorMod: ("%", _PRODUCT),
    LT: ("<", _COMPARE),
    LE: ("<=", _COMPARE),
    EQ: ("==", _COMPARE),
    NE: ("!=", _COMPARE),
    GT: (">", _COMPARE),
    GE: (">=", _COMPARE),
    And: ("and", _AND),
    Or: ("or", _OR),
}
_FUNCTIONS = {Mod: "truncmod", Min: "min", Max: "max"}
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_")
# Calls that say their dtype, before the arguments.
_DTYPE_FIRST = ("tirx.reinterpret", "tirx.call_extern", "tirx.call_pure_extern")
_INDENT = "    "

# A piece of text, and how tightly its outermost operator binds.
_Doc = tuple[str, int]


class _Frame:
    """A scope: the statements written in it so far, and the names that end with it."""

    def __init__(self, node):
        self.node = node
        self.stmts: list[str] = []
        self.defined: list = []


class _Printer:
    def __init__(self):
        self.frames: list[_Frame] = []
        self.names: dict[object, str] = {}
        # T, I and R stand for the modules of tirx, ir and relax, cls for the module of the function.
        self.taken: set[str] = {"T", "I", "R", "cls"}

    # -- scopes and names ------------------------------------------------------------------------------------------

    def enter(self, node) -> _Frame:
        frame = _Frame(node)
        self.frames.append(frame)
        return frame

    def leave(self) -> None:
        for defined in self.frames.pop().defined:
            self.taken.discard(self.names.pop(defined))

    # tvm: src/script/printer/utils.h (GenerateUniqueName)
    def define(self, node, hint: str, frame: _Frame | None = None) -> str:
        if node in self.names:
            return self.names[node]
        # Byte by byte: a letter of another script becomes several underscores.
        hint = "".join(chr(c) if chr(c) in _NAME_CHARACTERS else "_" for c in _bytes(hint))
        name, count = hint, 0
        while name in self.taken:
            count += 1
            name = f"{hint}_{count}"
        self.taken.add(name)
        self.names[node] = name
        (frame or self.frames[-1]).defined.append(node)
        return name

    def define_var(self, var: Var) -> str:
        return self.define(var, var.name or "v")

    def define_buffer(self, buffer: Buffer) -> str:
        return self.define(buffer, buffer.name or "buffer")

    def creation(self, var: Var) -> str:
        return f"T.{var.dtype}({'is_size_var=True' if isinstance(var, SizeVar) else ''})"

    def var(self, var: Var) -> str:
        if var not in self.names:
            # A variable that nothing defines: it is declared in the innermost scope that has all its uses.
            frame = self.lowest_frame(lambda node: _count_uses(node, var))
            self.define(var, var.name or "v", frame)
            frame.stmts.append(f"{self.names[var]} = {self.creation(var)}")
        return self.names[var]

    # tvm: src/tirx/script/printer/utils.h (FindLowestVarDef)
    def lowest_frame(self, count_uses: Callable[..., int]) -> _Frame:
        total = count_uses(self.frames[0].node)
        for frame in reversed(self.frames):
            if count_uses(frame.node) == total:
                return frame
        return self.frames[0]

    # -- expressions -----------------------------------------------------------------------------------------------

    def expr(self, expr) -> str:
        return self.doc(expr)[0]

    def child(self, expr, outer: int, conservative: bool = False) -> str:
        text, precedence = self.doc(expr)
        return f"({text})" if precedence < outer or (conservative and precedence == outer) else text

    def doc(self, expr) -> _Doc:
        kind = type(expr)
        if isinstance(expr, Var):
            return self.var(expr), _ATOM
        if kind is IntImm:
            return _int_imm(expr), _ATOM
        if kind is FloatImm:
            return f"T.{expr.dtype}({_float(expr.value)})", _ATOM
        if kind in _OPERATORS:
            return self.binary(expr)
        if kind is Not:
            if type(expr.a) is StringImm:
                return f"T.Not({self.expr(expr.a)})", _ATOM
            return f"not {self.child(expr.a, _NOT)}", _NOT
        if kind is Div:
            return self.division(expr)
        return self.call_like(expr), _ATOM

    def binary(self, expr: BinaryOpExpr) -> _Doc:
        symbol, precedence = _OPERATORS[type(expr)]
        if FOLD[type(expr)](expr.a, expr.b) is not None:
            # Python's operator would fold this node away.
            return f"T.{type(expr).__name__}({self.expr(expr.a)}, {self.expr(expr.b)})", _ATOM
        return f"{self.child(expr.a, precedence)} {symbol} {self.child(expr.b, precedence, True)}", precedence

    def division(self, expr: Div) -> _Doc:
        integers = all("int" in operand.dtype for operand in (expr.a, expr.b))
        if integers or FOLD[Div](expr.a, expr.b) is not None:
            return f"T.Div({self.expr(expr.a)}, {self.expr(expr.b)})", _ATOM
        return f"{self.child(expr.a, _PRODUCT)} / {self.child(expr.b, _PRODUCT, True)}", _PRODUCT

    def call_like(self, expr) -> str:
        """What is written as a call or an index."""
        kind = type(expr)
        if kind in _FUNCTIONS:
            return f"T.{_FUNCTIONS[kind]}({self.expr(expr.a)}, {self.expr(expr.b)})"
        if kind is BufferLoad:
            return self.index(self.buffer(expr.buffer), [self.expr(index) for index in expr.indices])
        if kind is ProducerLoad:
            return self.index(expr.producer.name, [self.expr(index) for index in expr.indices])
        if kind is Cast:
            return f'T.Cast("{expr.dtype}", {self.expr(expr.value)})'
        if kind is Select:
            return f"T.Select({', '.join(map(self.expr, (expr.condition, expr.true_value, expr.false_value)))})"
        if kind is Call:
            args = [f'"{expr.dtype}"'] if expr.op in _DTYPE_FIRST else []
            return f"T.{expr.op.split('.', 1)[-1]}({', '.join(args + [self.expr(arg) for arg in expr.args])})"
        if kind is StringImm:
            return _quoted(expr.value)
        if kind is Let:
            where = f"{{{self.var(expr.var)}: {self.expr(expr.value)}}}"
            return f"T.Let({self.expr(expr.body)}, where={where})"
        if kind is Reduce:
            return self.reduce(expr)
        raise TirError(f"cannot write a {kind.__name__}")

    def reduce(self, expr: Reduce) -> str:
        reducer = self.reducer(expr.combiner)
        source = ", ".join(map(self.expr, expr.source))
        init = ", ".join(map(self.expr, expr.init))
        axis = ", ".join(f"T.iter_var({self.var(a.var)}, {self.range(a.dom)}, \"CommReduce\", \"\")" for a in expr.axis)
        condition = self.expr(expr.condition)
        return (
            f"T.reduce({reducer}, source=[{source}], init=[{init}], axis=[{axis}], "
            f"condition={condition}, value_index={expr.value_index})"
        )

    def reducer(self, combiner) -> str:
        self.enter(combiner)
        parameters = ", ".join([self.define_var(v) for v in combiner.lhs] + [self.define_var(v) for v in combiner.rhs])
        results = ", ".join(map(self.expr, combiner.result))
        self.leave()
        body = results if len(combiner.result) == 1 else f"({results})"
        return f"T.comm_reducer(lambda {parameters}: {body}, [{', '.join(map(self.expr, combiner.identity_element))}])"

    def range(self, r: Range) -> str:
        return f"T.Range({self.expr(r.min)}, {self.expr(add(r.extent, r.min))})"

    def index(self, prefix: str, indices: Sequence[str]) -> str:
        return f"{prefix}[{', '.join(indices) or '()'}]"

    # -- buffers ---------------------------------------------------------------------------------------------------

    def buffer(self, buffer: Buffer) -> str:
        if buffer not in self.names:
            # Neither an argument nor allocated: a function that inlining has left broken. Declared as variables are.
            frame = self.lowest_frame(lambda node: _count_accesses(node, buffer))
            self.define(buffer, buffer.name or "buffer", frame)
            frame.stmts.append(f"{self.names[buffer]} = {self.declaration(buffer, 'Buffer')}")
        return self.names[buffer]

    def shape(self, buffer: Buffer) -> str:
        """The shape as a tuple; the variables that first occur here are declared before."""
        new_vars: list[Var] = []
        extents = []
        for extent in buffer.shape:
            if isinstance(extent, Var) and extent not in self.names:
                self.define_var(extent)
                new_vars.append(extent)
            extents.append(self.expr(extent))
        if new_vars:
            names = ", ".join(self.names[var] for var in new_vars)
            values = ", ".join(map(self.creation, new_vars))
            self.frames[-1].stmts.append(f"{names} = {values}")
        return _tuple(extents)

    def declaration(self, buffer: Buffer, method: str, args: Sequence[str] = (), data: str | None = None) -> str:
        parts = [*args, self.shape(buffer)]
        if buffer.dtype != "float32":
            parts.append(f'"{buffer.dtype}"')
        if data is not None:
            parts.append(f"data={data}")
        if buffer.scope() != "global":
            parts.append(f'scope="{buffer.scope()}"')
        return f"T.{method}({', '.join(parts)})"

    def region(self, access: BufferRegion) -> str:
        buffer = self.buffer(access.buffer)
        slices = []
        for r in access.region:
            low = self.expr(r.min)
            slices.append(low if is_one(r.extent) else f"{low}:{self.expr(add(r.min, r.extent))}")
        return self.index(buffer, slices)

    # -- statements ------------------------------------------------------------------------------------------------

    def body(self, stmt: Stmt) -> None:
        """Write a statement into the innermost scope."""
        for part in stmt.seq if isinstance(stmt, SeqStmt) else (stmt,):
            text = self.stmt(part)
            self.frames[-1].stmts.append(text)

    def stmt(self, stmt: Stmt) -> str:
        if isinstance(stmt, BufferStore):
            # The buffer's name comes first, then the value's, then the indices': that is how TVM meets variables.
            target = self.buffer(stmt.buffer)
            value = self.expr(stmt.value)
            return f"{self.index(target, [self.expr(index) for index in stmt.indices])} = {value}"
        if isinstance(stmt, Bind):
            value = self.expr(stmt.value)
            return f"{self.define_var(stmt.var)}: T.{stmt.var.dtype} = {value}"
        if isinstance(stmt, For):
            return self.loop(stmt)
        if isinstance(stmt, SBlockRealize):
            return self.block(stmt.block, stmt)
        if isinstance(stmt, SBlock):
            return self.block(stmt, None)
        if isinstance(stmt, IfThenElse):
            return self.branch(stmt)
        raise TirError(f"cannot write a {type(stmt).__name__}")

    def branch(self, stmt: IfThenElse) -> str:
        text = f"if {self.expr(stmt.condition)}:\n{self.scope(stmt.then_case)}"
        if stmt.else_case is not None:
            text += f"\nelse:\n{self.scope(stmt.else_case)}"
        return text

    def scope(self, stmt: Stmt) -> str:
        frame = self.enter(stmt)
        self.body(stmt)
        self.leave()
        return _indented(frame.stmts)

    # tvm: src/tirx/script/printer/for_loop.cc
    def loop(self, loop: For) -> str:
        grid: list[For] = []
        inner = loop
        while isinstance(inner, For) and inner.kind == "serial" and is_zero(inner.min):
            if any(variable is outer.loop_var for variable in undefined_vars(inner.extent) for outer in grid):
                break
            grid.append(inner)
            inner = inner.body
        frame = self.enter(loop)
        if len(grid) > 1:
            names = ", ".join(self.define_var(level.loop_var) for level in grid)
            head = f"for {names} in T.grid({', '.join(self.expr(level.extent) for level in grid)}):"
            self.body(grid[-1].body)
        else:
            name = self.define_var(loop.loop_var)
            bounds = [] if is_zero(loop.min) else [self.expr(loop.min)]
            bounds.append(self.expr(loop.extent if is_zero(loop.min) else add(loop.min, loop.extent)))
            function = "range" if loop.kind == "serial" else f"T.{loop.kind}"
            head = f"for {name} in {function}({', '.join(bounds)}):"
            self.body(loop.body)
        self.leave()
        return f"{head}\n{_indented(frame.stmts)}"

    # tvm: src/tirx/script/printer/block.cc
    def block(self, block: SBlock, realize: SBlockRealize | None) -> str:
        frame = self.enter(block)
        self.block_iters(block, realize)
        if realize is not None and not is_one(realize.predicate):
            frame.stmts.append(f"T.where({self.expr(realize.predicate)})")
        # The regions may declare a variable, so they are written before their line is.
        reads = ", ".join(map(self.region, block.reads))
        frame.stmts.append(f"T.reads({reads})")
        writes = ", ".join(map(self.region, block.writes))
        frame.stmts.append(f"T.writes({writes})")
        if block.annotations:
            frame.stmts.append(f"T.sblock_attr({self.value(block.annotations)})")
        self.allocations(block)
        if block.init is not None:
            frame.stmts.append(f"with T.init():\n{self.scope(block.init)}")
        self.body(block.body)
        self.leave()
        extra = "" if realize is not None else ", no_realize=True"
        return f'with T.sblock({_quoted(block.name_hint)}{extra}):\n{_indented(frame.stmts)}'

    def allocations(self, block: SBlock) -> None:
        for buffer in block.alloc_buffers:
            name = self.define_buffer(buffer)
            declaration = self.declaration(buffer, "sblock_alloc_buffer")
            self.frames[-1].stmts.append(f"{name} = {declaration}")

    def block_iters(self, block: SBlock, realize: SBlockRealize | None) -> None:
        """The iterators; a run of them that just repeat loops is written in one line."""
        loops = self.loops_around()
        run: list[int] = []

        def flush() -> None:
            if len(run) > 1:
                iter_vars = [block.iter_vars[i] for i in run]
                names = ", ".join(self.define_var(iter_var.var) for iter_var in iter_vars)
                kinds = "".join("S" if iter_var.iter_type == IterVar.DataPar else "R" for iter_var in iter_vars)
                values = ", ".join(self.expr(realize.iter_values[i]) for i in run)
                self.frames[-1].stmts.append(f'{names} = T.axis.remap("{kinds}", [{values}])')
            else:
                for i in run:
                    self.single_iter(block.iter_vars[i], realize and realize.iter_values[i])
            run.clear()

        for i, iter_var in enumerate(block.iter_vars):
            if realize is not None and _repeats_loop(iter_var, realize.iter_values[i], loops):
                run.append(i)
            else:
                flush()
                self.single_iter(iter_var, realize and realize.iter_values[i])
        flush()

    def single_iter(self, iter_var: IterVar, value: PrimExpr | None) -> None:
        kinds = {IterVar.DataPar: "spatial", IterVar.CommReduce: "reduce", IterVar.Ordered: "scan"}
        low, extent = iter_var.dom.min, iter_var.dom.extent
        dom = self.expr(extent) if is_zero(low) else f"({self.expr(low)}, {self.expr(add(low, extent))})"
        binding = "" if value is None else f", {self.expr(value)}"
        kind = kinds.get(iter_var.iter_type, "opaque")
        self.frames[-1].stmts.append(f"{self.define_var(iter_var.var)} = T.axis.{kind}({dom}{binding})")

    def loops_around(self) -> dict[Var, For]:
        loops: dict[Var, For] = {}
        for frame in self.frames:
            loop = frame.node
            while isinstance(loop, For):
                loops.setdefault(loop.loop_var, loop)
                loop = loop.body
        return loops

    def value(self, value) -> str:
        """The value of an attribute."""
        if isinstance(value, dict):
            return "{" + ", ".join(f"{_quoted(key)}: {self.value(value[key])}" for key in sorted(value)) + "}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, Buffer):
            return self.buffer(value)
        if isinstance(value, str):
            return _quoted(value)
        if isinstance(value, float):
            return _float(value)
        return self.expr(value) if isinstance(value, PrimExpr) else str(value)

    # tvm: src/tirx/script/printer/function.cc
    def function(self, func: PrimFunc) -> str:
        frame = self.enter(func)
        arguments, inlined = self.parameters(func)
        name = func.attrs.get("global_symbol", "main")
        attrs = {key: value for key, value in func.attrs.items() if key != "global_symbol"}
        if attrs:
            frame.stmts.append(f"T.func_attr({self.value(attrs)})")
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is not None and buffer not in inlined:
                self.match_buffer(param, buffer)
        self.function_body(func.body)
        self.leave()
        decorator = "@T.prim_func" if "global_symbol" in func.attrs else "@T.prim_func(private=True)"
        head = f"{decorator}\ndef {name}({', '.join(arguments)}):"
        return f"# from tvm.script import tirx as T\n\n{head}\n{_indented(frame.stmts)}"

    def parameters(self, func: PrimFunc) -> tuple[list[str], set[Buffer]]:
        """The function's arguments, and the buffers that are written as arguments."""
        uses = list(func.buffer_map.values())
        arguments: list[str] = []
        inlined: set[Buffer] = set()
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is not None and uses.count(buffer) == 1 and _is_simple(buffer):
                name = self.define_buffer(buffer)
                arguments.append(f'{name}: T.Buffer({self.shape(buffer)}, "{buffer.dtype}")')
                inlined.add(buffer)
            else:
                arguments.append(f"{self.define_var(param)}: T.{param.dtype}")
        return arguments, inlined

    def match_buffer(self, param: Var, buffer: Buffer) -> None:
        data = f"{self.names[buffer]}.data" if buffer in self.names else None
        name = self.define_buffer(buffer)
        declaration = self.declaration(buffer, "match_buffer", [self.names[param]], data)
        self.frames[-1].stmts.append(f"{name} = {declaration}")

    def function_body(self, body: Stmt) -> None:
        root = body.block if isinstance(body, SBlockRealize) and not body.iter_values else None
        if root is None or root.annotations or root.reads or root.writes or root.init is not None:
            self.body(body)
            return
        self.frames[-1].stmts.append('# with T.sblock("root"):')
        self.allocations(root)
        self.body(root.body)


class _ExpressionPrinter(_Printer):
    """An expression by itself: what it uses has a name, but no declaration."""

    def __init__(self):
        super().__init__()
        self.enter(None)

    def var(self, var: Var) -> str:
        return self.define_var(var)

    def buffer(self, buffer: Buffer) -> str:
        return self.define_buffer(buffer)

    def call_like(self, expr) -> str:
        own = type(expr).__repr__
        # The iterator expressions of arith say themselves what they are.
        return super().call_like(expr) if own is PrimExpr.__repr__ else own(expr)


def _count_uses(node, var: Var) -> int:
    """How often a variable occurs in a statement, an expression or a function."""
    if isinstance(node, Var):
        return int(node is var)
    if isinstance(node, PrimFunc):
        return _count_uses(node.body, var)
    if isinstance(node, CommReducer):
        return sum(_count_uses(result, var) for result in node.result)
    return sum(_count_uses(part, var) for part in children(node))


def _count_accesses(node, buffer: Buffer) -> int:
    """How often a buffer is named in a statement, an expression or a function."""
    if isinstance(node, PrimFunc):
        return _count_accesses(node.body, buffer)
    count = int(getattr(node, "buffer", None) is buffer)
    if isinstance(node, SBlock):
        count += sum(access.buffer is buffer for access in (*node.reads, *node.writes))
    return count + sum(_count_accesses(part, buffer) for part in children(node))


def _is_simple(buffer: Buffer) -> bool:
    return buffer.scope() == "global" and not any(undefined_vars(extent) for extent in buffer.shape)


def _repeats_loop(iter_var: IterVar, value: PrimExpr, loops: dict[Var, For]) -> bool:
    """Whether an iterator is a loop's variable, with the loop's own domain."""
    if iter_var.iter_type not in (IterVar.DataPar, IterVar.CommReduce):
        return False
    loop = loops.get(value) if isinstance(value, Var) else None
    if loop is None:
        return False
    return deep_equal(loop.min, iter_var.dom.min) and deep_equal(loop.extent, iter_var.dom.extent)


def _int_imm(expr: IntImm) -> str:
    if expr.dtype == "int32":
        return str(expr.value)
    return f"T.{expr.dtype}({bool(expr.value) if expr.dtype == 'bool' else expr.value})"


def _float(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return f'"{value}"'
    return f"{value:.1f}" if value == round(value) else f"{value:.17g}"


def _tuple(parts: Sequence[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# tvm: src/support/str_escape.h (StrEscape)
def _quoted(text: str) -> str:
    """The text as a literal: all but ASCII's printable characters escaped, byte by byte."""
    if text.isalnum() and text.isascii():
        return f'"{text}"'
    escaped = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\t"): "\\t", ord("\r"): "\\r", ord("\n"): "\\n"}
    parts = [escaped.get(c) or (chr(c) if 32 <= c < 127 else f"\\x{c:02X}") for c in _bytes(text)]
    return f'"{"".join(parts)}"'


def _indented(stmts: Sequence[str]) -> str:
    lines = [line for stmt in stmts for line in stmt.split("\n")]
    return "\n".join(_INDENT + line for line in lines) or f"{_INDENT}pass"


def expression(expr: PrimExpr | BufferRegion) -> str:
    """An expression or a region in TVMScript's style, as ``print(expr)`` shows it."""
    printer = _ExpressionPrinter()
    return printer.region(expr) if isinstance(expr, BufferRegion) else printer.expr(expr)


def mapping(parameters: Sequence[Var], values: Sequence[PrimExpr]) -> str:
    """An index map in TVMScript's style."""
    printer = _ExpressionPrinter()
    names = [printer.define_var(parameter) for parameter in parameters]
    return f"T.index_map(lambda {', '.join(names)}: {_tuple([printer.expr(value) for value in values])})"


def script(func: PrimFunc) -> str:
    """The function in TVMScript's style, as ``print(func)`` shows it."""
    return _Printer().function(func)
