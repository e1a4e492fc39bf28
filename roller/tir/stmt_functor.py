"""Walks over expressions and statements, under the name of ``tvm.tirx.stmt_functor``; they are :mod:`.expr`'s."""

from .expr import post_order_visit, pre_order_visit, substitute

__all__ = ["post_order_visit", "pre_order_visit", "substitute"]
