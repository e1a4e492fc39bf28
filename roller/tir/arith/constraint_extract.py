"""Splitting a condition into its conjuncts or disjuncts (stands in for TVM's ``src/arith/constraint_extract.cc``)."""

from __future__ import annotations

from ..expr import And, Or, PrimExpr


# tvm: src/arith/constraint_extract.cc (ExtractConstraints)
def extract_constraints(expr: PrimExpr, keep_composite_constraints: bool = True) -> list[PrimExpr]:
    """Everything known to hold when ``expr`` holds.

    A conjunction contributes itself (only with ``keep_composite_constraints``), then what its two sides contribute.
    """
    out: list[PrimExpr] = []

    def collect(part: PrimExpr) -> None:
        is_conjunction = type(part) is And
        if keep_composite_constraints or not is_conjunction:
            out.append(part)
        if is_conjunction:
            collect(part.a)
            collect(part.b)

    collect(expr)
    return out


# tvm: src/arith/constraint_extract.cc (ExtractComponents)
def extract_components(expr: PrimExpr) -> list[PrimExpr]:
    """The sides of a (nested) disjunction, from left to right; just ``[expr]`` for anything else."""
    out: list[PrimExpr] = []

    def collect(part: PrimExpr) -> None:
        if type(part) is Or:
            collect(part.a)
            collect(part.b)
        else:
            out.append(part)

    collect(expr)
    return out
