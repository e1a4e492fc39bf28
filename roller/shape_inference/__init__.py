"""Region propagation: which part of every buffer a tile of the output touches."""

from .tir import get_analyzer_by_tir

__all__ = ["get_analyzer_by_tir"]
