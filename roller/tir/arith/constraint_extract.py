"""Splitting a condition into its conjuncts or disjuncts (stands in for TVM's ``src/arith/constraint_extract.cc``)."""

from __future__ import annotations

from ..expr import And, Or, PrimExpr


# tvm: src/arith/constraint_extract.cc (ExtractConstraints)
def extract_constraints(expr: PrimExpr, keep_composite_constraints: bool = True) -> list[PrimExpr]:
    """Everything known to hold when ``expr`` holds.

    A conjunction contributes itself (only with ``keep_composite_constraints``), then what its two sides contribute.
    """
    if type(expr) is not And:
        return [expr]
    parts = [part for side in (expr.a, expr.b) for part in extract_constraints(side, keep_composite_constraints)]
    return [expr, *parts] if keep_composite_constraints else parts


# tvm: src/arith/constraint_extract.cc (ExtractComponents)
def extract_components(expr: PrimExpr) -> list[PrimExpr]:
    """The sides of a (nested) disjunction, from left to right; just ``[expr]`` for anything else."""
    if type(expr) is not Or:
        return [expr]
    return [*extract_components(expr.a), *extract_components(expr.b)]
