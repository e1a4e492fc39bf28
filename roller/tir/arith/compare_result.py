"""What is known of two integers that were compared (stands in for ``CompareResult`` of TVM's ``arith/analyzer.h``)."""

from __future__ import annotations


# tvm: include/tvm/arith/analyzer.h (CompareResult)
class CompareResult:
    """Sets of the three possible outcomes equal (1), less (2) and greater (4), as plain ints: ``&`` combines them."""

    INCONSISTENT = kInconsistent = 0
    EQ = kEQ = 1
    LT = kLT = 2
    LE = kLE = 3
    GT = kGT = 4
    GE = kGE = 5
    NE = kNE = 6
    UNKNOWN = kUnknown = 7
