"""Questions about the names of TVM that people's programs use: te, tirx, arith, functions, modules and schedules.

Probes as in api_probes, which runs them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from api_probes import Side, answer, probe


def _range(side: Side):
    """tvm.ir.Range."""
    return importlib.import_module("tvm.ir").Range if side.is_real else side.tirx.Range


@probe
def analyzer(side: Side):
    te, tirx, arith = side.te, side.tirx, side.arith
    Range = _range(side)
    x, y, n = te.var("x"), te.var("y"), te.size_var("n")
    Bound, Modular = arith.ConstIntBound, arith.ModularSet

    def fresh():
        return arith.Analyzer()

    def bound_after(*calls):
        ana = fresh()
        for call in calls:
            call(ana)
        return ana.const_int_bound(x), ana.modular_set(x)

    def scoped(constraint):
        ana = fresh()
        with ana.constraint_scope(constraint=constraint):
            inside = ana.const_int_bound(x), ana.simplify(x < 10), ana.can_prove(x < 11)
        return inside, ana.const_int_bound(x)

    def cloned():
        ana = fresh()
        ana.bind(x, Range(0, 8))
        other = ana.clone()
        ana.bind(y, Range(0, 2))
        return other.const_int_bound(x), other.const_int_bound(y)

    def is_bound():
        ana = fresh()
        before = ana.const_int_bound_is_bound(x)
        ana.bind(x, Range(0, 2))
        return before, ana.const_int_bound_is_bound(x), ana.const_int_bound_is_bound(var=y)

    return {
        "bound of a variable": lambda: fresh().const_int_bound(expr=x),
        "bound of a size": lambda: fresh().const_int_bound(n),
        "bound of an int": lambda: fresh().const_int_bound(3),
        "bound of a float": lambda: fresh().const_int_bound(te.var("f", "float32")),
        "bound of ==": lambda: fresh().const_int_bound(x == y),
        "modular set": lambda: fresh().modular_set(expr=x * 4 + 3),
        "modular set of an int": lambda: fresh().modular_set(7),
        "simplify": lambda: fresh().simplify(expr=(x * 4 + y) // 4 - x, steps=1),
        "simplify 0 steps": lambda: fresh().simplify(x + x, 0),
        "simplify an int": lambda: fresh().simplify(5),
        "simplify ==": lambda: fresh().simplify(x == x),
        "rewrite": lambda: fresh().rewrite_simplify(expr=x + 0 + y * 1),
        "rewrite an axis": lambda: fresh().rewrite_simplify(te.reduce_axis((0, 4))),
        "canonical": lambda: fresh().canonical_simplify(expr=x * 3 + x),
        "bind a range": lambda: bound_after(lambda ana: ana.bind(var=x, expr=Range(0, 8))),
        "bind an expression": lambda: bound_after(lambda ana: ana.bind(x, y + 1)),
        "bind an int": lambda: bound_after(lambda ana: ana.bind(x, 5)),
        "bind an axis": lambda: fresh().bind(te.reduce_axis((0, 4)), Range(0, 4)),
        "bind twice": lambda: bound_after(*[lambda ana: ana.bind(x, Range(0, 8))] * 2),
        "bind another": lambda: bound_after(lambda ana: ana.bind(x, Range(0, 8)), lambda ana: ana.bind(x, Range(0, 9))),
        "bind over": lambda: bound_after(
            lambda ana: ana.bind(x, Range(0, 8)), lambda ana: ana.bind(x, Range(0, 9), allow_override=True)
        ),
        "update": lambda: bound_after(lambda ana: ana.update(var=x, info=Bound(2, 9), override=True)),
        "update twice": lambda: bound_after(*[lambda ana, high=high: ana.update(x, Bound(2, high)) for high in (9, 8)]),
        "update by a modular set": lambda: fresh().update(x, Modular(4, 1)),
        "update by an int": lambda: fresh().update(x, 5),
        "prove": lambda: fresh().can_prove(expr=n >= 0, strength=arith.ProofStrength.DEFAULT),
        "prove not": lambda: fresh().can_prove(x < y),
        "prove ==": lambda: fresh().can_prove(x == x),
        "prove a bool": lambda: (fresh().can_prove(True), fresh().can_prove(1), fresh().can_prove(0)),
        "prove equal": lambda: (fresh().can_prove_equal(lhs=x + 1, rhs=1 + x), fresh().can_prove_equal(3, 3)),
        "strengths": lambda: [(strength.name, int(strength)) for strength in arith.ProofStrength],
        "scope": lambda: scoped(tirx.all(x < 5, x >= 0)),
        "clone": cloned,
        "is bound": is_bound,
        "infinities": lambda: (Bound.POS_INF, Bound.NEG_INF),
        "bound's fields": lambda: (Bound(min_value=1, max_value=2).min_value, repr(Bound(1, 2)), Bound(3, 1)),
        "bound of a float end": lambda: Bound(0, 2.5),
        "bound of an expression": lambda: Bound(0, tirx.IntImm("int32", 3)),
        "bound beyond": lambda: Bound(0, 2**63),
        "modular set's fields": lambda: (Modular(coeff=4, base=7), repr(Modular(4, 1))),
    }


@probe
def integer_sets(side: Side):
    te, tirx, arith = side.te, side.tirx, side.arith
    Range = _range(side)
    x, y, n = te.var("x"), te.var("y"), te.size_var("n")
    level = arith.iter_affine_map.IterMapLevel
    domains = {x: Range(0, 4), y: Range(0, 4)}
    low, high = arith.int_set.neg_inf(), arith.int_set.pos_inf()

    def detected(*args, **kwargs):
        found = arith.detect_iter_map(*args, **kwargs)
        return len(found.indices), len(found.errors), found.padding_predicate

    return {
        "interval": lambda: str(arith.IntervalSet(min_value=x, max_value=3)),
        "interval's fields": lambda: (arith.IntervalSet(1, 3).min_value, arith.IntervalSet(1, 3).max_value),
        "interval is": lambda: (arith.IntervalSet(1, 3).is_nothing(), arith.IntervalSet(low, high).is_everything()),
        "single point": lambda: str(arith.IntSet.single_point(x)),
        "vector": lambda: str(arith.IntSet.vector(x)),
        "infinities": lambda: (str(low), str(high)),
        "int_set": lambda: str(arith.Analyzer().int_set(expr=x + 1, dom_map={x: arith.IntervalSet(0, 3)})),
        "int_set without": lambda: str(arith.Analyzer().int_set(x + 1, {})),
        "int_set unbounded": lambda: str(arith.Analyzer().int_set(x, {x: arith.IntervalSet(low, high)})),
        "lower": lambda: [str(s) for s in arith.estimate_region_lower_bound([Range(x, x + 2)], {x: Range(0, 8)}, True)],
        "strict": lambda: [
            str(s) for s in arith.estimate_region_strict_bound([Range(x, x + 2)], {x: Range(0, 8)}, True)
        ],
        "upper": lambda: [
            str(s)
            for s in arith.estimate_region_upper_bound(
                region=[Range(x, x + 2)], var_dom={x: Range(0, 8)}, predicate=x < 4
            )
        ],
        "detect": lambda: detected(indices=[x, y], input_iters=domains, predicate=True, check_level=level.Bijective),
        "detect by text": lambda: detected([x, y], domains, check_level="bijective"),
        "detect fails": lambda: detected([x + y], domains),
        "detect at no level": lambda: detected([x], domains, check_level="nothing"),
        "levels": lambda: [(one.name, int(one)) for one in level],
        "level of a text": lambda: level.from_str("SURJECTIVE"),
        "inverse": lambda: [
            str(value)
            for _, value in sorted(
                arith.inverse_affine_iter_map(arith.detect_iter_map([x * 4 + y], domains).indices, [n]).items(),
                key=lambda pair: pair[0].name,
            )
        ],
        "simplify a map": lambda: list(arith.iter_map_simplify([x // 2 * 2 + x % 2], domains)),
        "normal form": lambda: arith.normalize_iter_map_to_expr(arith.normalize_to_iter_sum(x * 2, domains)),
        "divide": lambda: len(arith.subspace_divide([x * 4 + y], domains, [y])),
        "range": lambda: (Range(10), Range(2, 10), Range(0, n), Range.from_min_extent(2, 10), Range(n, n + 4)),
        "range's text": lambda: (str(Range(2, 10)), repr(te.reduce_axis((0, 4)).dom)),
        "range of int64": lambda: (Range(tirx.IntImm("int64", 4)), Range(0, tirx.IntImm("int64", 4))),
    }


@probe
def functions_and_schedules(side: Side):
    te, tirx = side.te, side.tirx
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
    func = te.create_prim_func([A, B])
    buffer = list(func.buffer_map.values())[0]
    module = side.IRModule({"main": func})
    sch = side.Schedule(module)

    def attrs(made):
        return sorted((str(key), value) for key, value in made.attrs.items())

    def visited(visit, node):
        seen: list[str] = []
        visit(node, lambda part: seen.append(type(part).__name__) or True)
        return seen

    def names(blocks):
        return [str(sch.get(block).name_hint) for block in blocks]

    x = te.var("x")
    block = sch.get(sch.get_sblock("B"))
    loop = sch.get(sch.get_loops("B")[0])
    return {
        "with_attr": lambda: attrs(func.with_attr(attr_key_or_dict="x", attr_value=3)),
        "with_attr of a dict": lambda: attrs(func.with_attr({"x": 1, "y": "z"})),
        "with_attrs": lambda: attrs(func.with_attrs({"x": 1})),
        "without_attr": lambda: attrs(func.without_attr(attr_key="global_symbol").without_attr("nothing")),
        "attrs stay": lambda: attrs(func),
        "buffer": lambda: (str(buffer), buffer.scope(), str(buffer.dtype), buffer.same_as(buffer), buffer == buffer),
        "offset": lambda: [str(e) for e in buffer.offset_of([x, 2])],
        "decl_buffer": lambda: [
            (made.name, [int(extent) for extent in made.shape], str(made.dtype), made.scope())
            for made in (
                tirx.decl_buffer((4, 8)),
                tirx.decl_buffer(4, "float16", "C"),
                tirx.decl_buffer([2], scope="shared"),
            )
        ],
        "module": lambda: ([v.name_hint for v in module.get_global_vars()], "main" in module, "other" in module),
        "module's functions": lambda: [(name.name_hint, type(f).__name__) for name, f in module.functions.items()],
        "module's variable": lambda: module[module.get_global_var("main")].script().splitlines(),
        "module has not": lambda: module["other"],
        "module has no variable": lambda: module.get_global_var("other"),
        "module of a function": lambda: [v.name_hint for v in side.IRModule.from_expr(func).get_global_vars()],
        "no functions": lambda: len(side.IRModule().get_global_vars()),
        "children": lambda: names(sch.get_child_blocks(sch.get_sblock("root"))),
        "children of a loop": lambda: names(sch.get_child_blocks(sch.get_loops("B")[0])),
        "loops": lambda: [
            (str(sch.get(wide).loop_var), int(sch.get(wide).extent))
            for wide in sch.get_loops(block=sch.get_sblock("B"))
        ],
        "loops of root": lambda: len(sch.get_loops("root")),
        "outputs": lambda: names(sch.get_output_blocks(scope_block="root")),
        "producers": lambda: (names(sch.get_producers("B")), names(sch.get_consumers("B"))),
        "no such block": lambda: sch.get_sblock(name="nothing"),
        "producers of root": lambda: sch.get_producers("root"),
        "names differ": lambda: sch.get_sblock("B") == sch.get_sblock("B"),
        "get": lambda: str(sch.get(rand_var_or_sref=sch.get_sblock("B", func_name="main")).name_hint),
        "block": lambda: (
            len(block.iter_vars),
            len(block.reads),
            len(block.writes),
            block.init,
            type(block.body).__name__,
        ),
        "loop": lambda: (str(loop.loop_var), int(loop.min), int(loop.extent), type(loop.body).__name__),
        "iterator": lambda: [(str(i.var), str(i.dom), int(i.iter_type), i.thread_tag) for i in block.iter_vars],
        "kinds": lambda: [
            int(getattr(tirx.IterVar, name)) for name in ("DataPar", "ThreadIndex", "CommReduce", "Ordered", "Unrolled")
        ],
        "text": lambda: (str(block.reads[0]), str(block.body.value), repr(block.writes[0])),
        "walk down": lambda: visited(tirx.stmt_functor.pre_order_visit, x + 1),
        "walk up": lambda: visited(tirx.stmt_functor.post_order_visit, block.body),
        "substitute": lambda: tirx.stmt_functor.substitute(x + 1, {x: tirx.IntImm("int32", 3)}),
        "undefined": lambda: [str(v) for v in tirx.analysis.undefined_vars(x + 1, [])],
        "equal": lambda: tirx.analysis.expr_deep_equal(x + 1, x + 1),
        "classes": lambda: (
            isinstance(x + 1, tirx.expr.BinaryOpExpr),
            isinstance(tirx.IntImm("int32", 1), tirx.expr.ConstExpr),
            isinstance(x, tirx.expr.ConstExpr),
            isinstance(x, tirx.PrimExpr),
        ),
        "modules": lambda: (
            tirx.expr.Add is tirx.Add,
            tirx.op.exp is tirx.exp,
            tirx.stmt.BufferStore is tirx.BufferStore,
            tirx.function.PrimFunc is tirx.PrimFunc,
            tirx.buffer.Buffer is tirx.Buffer,
            te.tensor.Tensor is te.Tensor,
            te.operation.compute is te.compute,
            te.tag.tag_scope is te.tag_scope,
        ),
    }


@probe
def index_maps(side: Side):
    IndexMap = side.tirx.IndexMap

    def made(function, **options):
        return IndexMap.from_func(function, **({"index_dtype": "int32"} | options))

    split = made(lambda i: [i // 4, i % 4])
    return {
        "text": lambda: (str(made(lambda i, j: [j, i])), repr(split)),
        "fields": lambda: (list(split.initial_indices), list(split.final_indices), split.inverse_index_map),
        "default dtype": lambda: IndexMap.from_func(lambda i: [i + 1]),
        "one result": lambda: made(lambda i: i * 2),
        "tuple": lambda: made(lambda i, j: (j, i)),
        "varargs": lambda: made(lambda *i: [i[1], i[0]], ndim=2),
        "varargs without": lambda: made(lambda *i: [i[1], i[0]]),
        "keyword": lambda: made(lambda i, *, k: [k, i]),
        "inverse": lambda: split.inverse([16]),
        "inverse fails": lambda: split.inverse([14]),
        "non surjective": lambda: [str(part) for part in split.non_surjective_inverse(shape=[14])],
        "map": lambda: [str(e) for e in split.map_indices(indices=[5])],
        "map of many": lambda: split.map_indices([1, 2]),
        "shape": lambda: [int(e) for e in split.map_shape(shape=[16])],
        "equivalent": lambda: (
            split.is_equivalent_to(made(lambda k: [k // 4, k % 4])),
            split.is_equivalent_to(made(lambda k: [k % 4, k // 4])),
        ),
    }


@probe
def expressions(side: Side):
    te, tirx = side.te, side.tirx
    x, y = te.var("x"), te.var("y")
    wide, f, b = te.var("l", "int64"), te.var("f", "float32"), te.var("b", "bool")
    imm, fimm = tirx.IntImm, tirx.FloatImm
    three = imm("int32", 3)
    texts = {
        "add -1": lambda: tirx.Add(x, imm("int32", -1)),
        "mul -1": lambda: -x,
        "floordiv of -5": lambda: tirx.FloorDiv(imm("int32", -5), x),
        "float": lambda: [
            fimm("float32", 0.1),
            fimm("float16", -2.0),
            fimm("float64", 1e300),
            fimm("float32", float("inf")),
        ],
        "ints": lambda: [imm("int8", -3), imm("bool", 1), imm("int64", 2**40)],
        "text": lambda: tirx.StringImm("a\"b'c"),
        "brackets": lambda: [x - (x + y), x - y - y, (x + y) * y, x * y % y, x * (x % y)],
        "divisions": lambda: [tirx.Div(x, y), tirx.Mod(x, y), tirx.Div(f, f), x // y],
        "logic": lambda: [tirx.And(tirx.Or(b, b), b), tirx.Not(tirx.LT(x, y)), tirx.EQ(tirx.LT(x, y), b)],
        "calls": lambda: [te.exp(f), te.if_then_else(cond=b, t=x, f=y), tirx.Select(b, x, y), x >> 2, x & y, ~x],
        "casts": lambda: [tirx.Cast("int64", x), x.astype("float16"), wide + x, tirx.reinterpret("int32", f)],
        "let": lambda: tirx.Let(x, y, x + y),
        "two of a name": lambda: te.var("i") + te.var("i"),
        "odd names": lambda: [te.var("i.x"), te.var(""), te.var("T"), te.var("R"), te.var("cls"), te.var("a b")],
        "reduce": lambda: te.sum(te.placeholder((4,), name="A")(x), axis=te.reduce_axis((0, 4), name="k")),
        "limits": lambda: [te.max_value("int32"), te.min_value("float16"), te.min_value("uint8")],
    }
    found: dict[str, Any] = dict(texts)
    return found | {
        "truth": lambda: (bool(x == x), bool(x == te.var("x")), x in [te.var("x"), x], x.same_as(x), bool(x != x)),
        "no truth": lambda: bool(x < 1),
        "constants": lambda: (int(three), float(fimm("float32", 2.5)), bool(three == 3), [three] == [3], 3 in [three]),
        "constant's hash": lambda: hash(three) == hash(imm("int32", 3)),
        "constant's arithmetic": lambda: [three + 2, three * 2, three // 2, three % 2, three < 4, -three, 2 - three],
        "constant's division": lambda: three / 2,
        "constant and float": lambda: three + 2.5,
        "minimum": lambda: (min(three, 4), min(4, three)),
        "too large": lambda: imm("int8", 200),
        "fields": lambda: (
            x.name,
            str(x.dtype),
            three.value,
            (x + y).a.name,
            (x + y).b.name,
            str(x.astype("int64").dtype),
        ),
        "key": lambda: {x: 1}[x],
        "refused": lambda: tirx.Add(x, wide),
        "And of ints": lambda: tirx.And(x, y),
        "Not of an int": lambda: tirx.Not(x),
        "Cast to nothing": lambda: tirx.Cast("nothing", x),
        "Let of another dtype": lambda: tirx.Let(x, f, x),
        "variable 3": lambda: te.var(3),
        "ceildiv": lambda: [tirx.ceildiv(x, 3), tirx.ceildiv(lhs=te.var("u", "uint8"), rhs=imm("uint8", 3))],
        "rounding": lambda: [
            te.floor(fimm("float16", -0.0)),
            te.ceil(fimm("float32", -0.5)),
            te.round(fimm("float32", 2.5)),
        ],
        "dtype": lambda: _dtype_answers(side),
    }


def _dtype_answers(side: Side) -> list:
    DataType = importlib.import_module("tvm").DataType if side.is_real else side.tirx.DataType
    made = [DataType(name) for name in ("float16", "int", "bool", "handle", "float8_e4m3", "uint8", "bfloat16", "void")]
    made += [DataType(name) for name in ("float6_e3m2fn", "float4_e2m1fn", "int4")]
    return [(str(d), repr(d), d.bits, d.itemsize, d.type_code, d == str(d), hash(d) == hash(str(d))) for d in made]


@probe
def tensors(side: Side):
    te = side.te
    A = te.placeholder((4, 8), name="A", dtype="float16")
    B = te.compute((4, 8), lambda i, j: A[i, j] * A[i, j], name="B", tag="t", attrs={"a": 1})

    def described(tensor):
        return (
            str(tensor.name),
            [str(extent) for extent in tensor.shape],
            str(tensor.dtype),
            tensor.ndim,
            tensor.value_index,
        )

    calls: dict[str, Callable] = {
        "placeholder": lambda: described(te.placeholder(shape=(4,), dtype="int8", name="q")),
        "placeholder's defaults": lambda: described(te.placeholder((4,))),
        "placeholder of an int": lambda: described(te.placeholder(4)),
        "placeholder of nothing": lambda: described(te.placeholder(())),
        "placeholder of no dtype": lambda: te.placeholder((4,), dtype="nothing"),
        "compute": lambda: described(B),
        "compute's defaults": lambda: described(te.compute((4,), lambda i: A[i, 0])),
        "compute of an int": lambda: te.compute(4, lambda i: A[i, 0]),
        "compute of many indices": lambda: te.compute((4,), lambda i, j: A[i, j]),
        "compute of few indices": lambda: described(te.compute((4, 5), lambda i: A[i, 0])),
        "compute of *": lambda: [str(i.var) for i in te.compute((4, 8), lambda *i: A(*i)).op.axis],
        "compute of two": lambda: [described(t) for t in te.compute((4,), lambda i: (A[i, 0], A[i, 1]))],
        "compute of a reduction and more": lambda: te.compute(
            (4,), lambda i: te.sum(A[i, 0], axis=te.reduce_axis((0, 4))) + te.const(1, "float16")
        ),
        "operation": lambda: (
            str(B.op.name),
            str(B.op.tag),
            len(B.op.input_tensors),
            B.op.num_outputs,
            B.op.output(0) == B,
        ),
        "axes": lambda: ([str(i.var) for i in B.op.axis], len(B.op.reduce_axis), [str(value) for value in B.op.body]),
        "classes": lambda: (
            isinstance(A, te.Tensor),
            isinstance(A.op, te.PlaceholderOp),
            isinstance(B.op, te.ComputeOp),
            isinstance(A[0, 0], te.TensorSlice),
        ),
        "equal": lambda: (A == A, A == B, A != B, hash(A) == hash(A)),
        "slice": lambda: (str(A[1, 2].dtype), A[1][2].indices, str(A(1, 2))),
        "few indices": lambda: A(1),
        "axis": lambda: [
            (str(a.var), str(a.var.dtype), int(a.dom.min), int(a.dom.extent), int(a.iter_type), str(a.thread_tag))
            for a in (te.reduce_axis((0, 4)), te.reduce_axis(dom=(2, 10), name="k"), te.reduce_axis((0, 2**40)))
        ],
        "axis of an int": lambda: te.reduce_axis(4),
        "thread axis": lambda: [
            str(te.thread_axis("threadIdx.x").var),
            str(te.thread_axis((0, 4), "vthread", "v").var),
        ],
        "variables": lambda: [te.var(), te.var("x", "int64"), te.size_var(), te.size_var(name="s", dtype="int64")],
        "constants": lambda: [te.const(3), te.const(2.5, "float16"), te.const(value=3, dtype="int8"), te.const(2.5)],
        "constant too large": lambda: te.const(300, "int8"),
        "whole tensors": lambda: [described(t) for t in (A + A, A * te.const(2, "float16"), -A, A.astype("int8"))],
        "function of one": lambda: te.create_prim_func(B).script().splitlines(),
        "function": lambda: te.create_prim_func(ops=[A, B], index_dtype_override="int64").script().splitlines(),
    }
    return {name: {"json": answer(call)} for name, call in calls.items()}


@probe
def tvm_names(side: Side):
    """Names of te, tirx and arith that programs use."""
    te_names = "Tensor TensorSlice PlaceholderOp ComputeOp abs acos acosh add all any asin asinh atan atanh ceil"
    te_names += " comm_reducer compute const cos cosh create_prim_func div erf exp extern floor floordiv floormod fmod"
    te_names += (
        " if_then_else indexdiv indexmod isfinite isinf isnan log log10 log2 logaddexp max max_value min min_value"
    )
    te_names += " multiply nearbyint placeholder popcount power reduce_axis round rsqrt scan sigmoid sin sinh size_var"
    te_names += " sqrt subtract sum tag_scope tan tanh thread_axis trace trunc truncdiv truncmod var"
    tirx_names = (
        "Add And Buffer BufferLoad BufferRegion BufferStore Call Cast CommReducer Div EQ FloatImm FloorDiv FloorMod"
    )
    tirx_names += " For GE GT IfThenElse IndexMap IntImm IterVar LE LT Let Max Min Mod Mul NE Not Or PrimExpr PrimFunc"
    tirx_names += (
        " ProducerLoad Reduce SBlock SBlockRealize Select SeqStmt SizeVar Stmt StringImm Sub Var abs add all any"
    )
    tirx_names += " bitwise_and bitwise_not bitwise_or bitwise_xor ceildiv clz const convert decl_buffer exp floordiv"
    tirx_names += " floormod if_then_else likely max_value min_value power reinterpret shift_left shift_right truncdiv"
    arith_names = (
        "Analyzer ConstIntBound IntSet IntervalSet IterMark IterSplitExpr IterSumExpr ModularSet ProofStrength"
    )
    arith_names += (
        " detect_iter_map inverse_affine_iter_map iter_map_simplify normalize_iter_map_to_expr iter_affine_map"
    )
    arith_names += (
        " normalize_to_iter_sum subspace_divide estimate_region_lower_bound estimate_region_upper_bound int_set"
    )
    lists = {"te": te_names, "tirx": tirx_names, "arith": arith_names}
    return {
        f"{module}.{name}": {"json": answer(lambda: callable(getattr(getattr(side, module), name)))}
        for module, names in lists.items()
        for name in names.split()
    }
