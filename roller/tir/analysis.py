"""What ``tvm.tirx.analysis`` says of expressions, as far as carver asks; the functions are :mod:`.expr`'s."""

from .expr import deep_equal as expr_deep_equal
from .expr import undefined_vars

__all__ = ["expr_deep_equal", "undefined_vars"]
