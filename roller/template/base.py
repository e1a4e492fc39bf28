"""What all templates have in common. The port of ``carver/template/base.py``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from ...arch import (
    TileDevice,
    auto_infer_current_arch,
    is_ampere_arch,
    is_cdna_arch,
    is_rdna_arch,
    is_volta_arch,
)
from ...arch.errors import CarverError, shown
from ..hint import Hint
from ..node import OutputNode
from ..tir.stmt import PrimFunc


# vendored: carver/template/base.py:17-190
@dataclass
class BaseTemplate(ABC):
    """A computation with parameters. Making one builds its function (or functions); ``recommend_hints`` searches.

    The device is the current one unless ``with_arch`` says otherwise.
    """

    _arch: TileDevice = field(default_factory=auto_infer_current_arch, init=False, repr=False)
    _func: PrimFunc | list[PrimFunc] | None = field(default=None, init=False, repr=False)
    # Only templates of several functions have them.
    _output_nodes: list[OutputNode] | None = field(default=None, init=False, repr=False)

    # vendored: carver/template/base.py:34-48
    @abstractmethod
    def get_hardware_aware_configs(self, arch: TileDevice = None, topk: int = 10) -> list[Hint]:
        """The best ``topk`` hints for the given device, best first."""

    # vendored: carver/template/base.py:50-61
    def with_arch(self, arch: TileDevice) -> BaseTemplate:
        """Set the device. Returns the template itself."""
        self._arch = arch
        return self

    # vendored: carver/template/base.py:63-70
    def has_arch(self) -> bool:
        """Whether there is a device."""
        return self._arch is not None

    # vendored: carver/template/base.py:72-79
    def is_volta_arch(self) -> bool:
        """Whether the device is of NVIDIA's Volta or Turing generation."""
        return self._asks_device(is_volta_arch)

    # vendored: carver/template/base.py:81-88
    def is_ampere_arch(self) -> bool:
        """Whether the device is of NVIDIA's Ampere generation."""
        return self._asks_device(is_ampere_arch)

    # vendored: carver/template/base.py:90-97
    def is_cdna_arch(self) -> bool:
        """Whether the device is one of AMD's for data centres."""
        return self._asks_device(is_cdna_arch)

    # vendored: carver/template/base.py:99-106
    def is_rdna_arch(self) -> bool:
        """Whether the device is one of AMD's for graphics."""
        return self._asks_device(is_rdna_arch)

    # vendored: carver/template/base.py:108-115
    def equivalent_function(self) -> PrimFunc | list[PrimFunc] | None:
        """The function, or functions, that the template stands for."""
        return self._func

    # vendored: carver/template/base.py:117-125
    def initialize_function(self) -> None:
        """Build the function. Every template must have its own: NotImplementedError here."""
        raise NoFunction(f"{type(self).__name__} does not say how to build its function")

    # vendored: carver/template/base.py:127-138
    def set_function(self, func: PrimFunc | list[PrimFunc]) -> BaseTemplate:
        """Set the function. Returns the template itself."""
        self._func = func
        return self

    # vendored: carver/template/base.py:140-151
    def set_output_nodes(self, output_nodes: list[OutputNode]) -> BaseTemplate:
        """Set the outputs of the graph. Returns the template itself."""
        self._output_nodes = output_nodes
        return self

    # vendored: carver/template/base.py:153-163
    def recommend_hints(self, topk: int = 10) -> list[Hint]:
        """The best ``topk`` hints for the template's device, best first."""
        return self.get_hardware_aware_configs(self._arch, topk)

    # vendored: carver/template/base.py:165-173
    @property
    def arch(self) -> TileDevice:
        """The device."""
        return self._arch

    # vendored: carver/template/base.py:175-183
    @property
    def output_nodes(self) -> list[OutputNode] | None:
        """The outputs of the graph."""
        return self._output_nodes

    # vendored: carver/template/base.py:185-190
    def __post_init__(self) -> None:
        self.initialize_function()

    # -- Addition to the class -----------------------------------------------------------------------------------------

    def _asks_device(self, question: Callable[[TileDevice], bool]) -> bool:
        return self._arch is not None and question(self._arch)


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class NoFunction(CarverError, NotImplementedError):
    """A template that cannot build its function."""


class BadParameter(CarverError, AssertionError):
    """A parameter that a template refuses."""


def check_positive_ints(**parameters: object) -> None:
    """BadParameter, naming it, for the first parameter that is not an int, or not positive."""
    for name, value in parameters.items():
        if not isinstance(value, int):
            raise BadParameter(f"{name} must be an integer, not {shown(value)}")
    for name, value in parameters.items():
        if value <= 0:
            raise BadParameter(f"{name} must be positive, not {value}")


def format_template(template: BaseTemplate, fields: dict) -> str:
    """``MatmulTemplate(M=1024, ...)``"""
    shown = [f"{name}={value!r}" for name, value in fields.items()]
    return f"{type(template).__name__}({', '.join(shown)})"
