"""Rasterization plans: the order in which thread blocks walk the grid, for locality in the L2 cache.

The port of ``carver/roller/rasterization.py``. ``get_code`` gives the CUDA text that a kernel would include.
"""

from __future__ import annotations

from ..arch.errors import CarverError


# vendored: carver/roller/rasterization.py:4-16
class Rasterization:
    """A plan. ``panel_width_`` is the number of blocks side by side in one panel, None where there are no panels."""

    panel_width_: int | None = None

    # vendored: carver/roller/rasterization.py:7-8
    def __init__(self) -> None:
        pass

    # vendored: carver/roller/rasterization.py:10-11
    def get_code(self) -> list[str]:
        """Pieces of CUDA text. Raises NotImplementedError here: a plan must say its own."""
        raise NotImplementedCode(f"{type(self).__name__} has no code")

    # vendored: carver/roller/rasterization.py:13-16
    @property
    def panel_width(self) -> int:
        """The panel width. AssertionError where the plan has none."""
        if self.panel_width_ is None:
            raise NoPanels(f"{type(self).__name__} has no panel width")
        return self.panel_width_


# vendored: carver/roller/rasterization.py:19-27
class NoRasterization(Rasterization):
    """Blocks in the order of their indices."""

    # vendored: carver/roller/rasterization.py:20-21
    def __init__(self) -> None:
        super().__init__()

    # vendored: carver/roller/rasterization.py:23-24
    def __repr__(self) -> str:
        return "<NoRasterization>"

    # vendored: carver/roller/rasterization.py:26-27
    def get_code(self) -> list[str]:
        return []


# vendored: carver/roller/rasterization.py:30-47
class Rasterization2DRow(Rasterization):
    """Panels of ``panel_width`` rows, walked back and forth::

        _________
        _________|
       |_________
        __________|
    """

    # vendored: carver/roller/rasterization.py:39-41
    def __init__(self, panel_width: int = 4) -> None:
        super().__init__()
        self.panel_width_ = panel_width

    # vendored: carver/roller/rasterization.py:43-44
    def __repr__(self) -> str:
        return f"<Rasterization2DRow({self.panel_width_})>"

    # vendored: carver/roller/rasterization.py:46-47
    def get_code(self) -> list[str]:
        raise NotImplementedCode("carver has no code for Rasterization2DRow; use Rasterization2DColumn")


# vendored: carver/roller/rasterization.py:50-89
class Rasterization2DColumn(Rasterization):
    """Panels of ``panel_width`` columns, walked back and forth::

            _
         | | | |
         | | | |
         |_| |_|
    """

    # vendored: carver/roller/rasterization.py:59-61
    def __init__(self, panel_width: int = 4) -> None:
        super().__init__()
        self.panel_width_ = panel_width

    # vendored: carver/roller/rasterization.py:63-64
    def __repr__(self) -> str:
        return f"<Rasterization2DColumn({self.panel_width_})>"

    # vendored: carver/roller/rasterization.py:66-81
    def get_device_function(self) -> str:
        """The CUDA device function that maps a block's index to its place in the panels."""
        signature = "__device__ __inline__ dim3 rasterization2DColumn(const int panel_width)"
        body = panel_walk("panel_width", indent="    ")
        return f"\n{signature} {{\n{body}\n    dim3 blockIdx(bx, by, bz);\n    return blockIdx;\n}}\n    "

    # vendored: carver/roller/rasterization.py:83-89
    def get_code(self, panel_width: int | None = None) -> list[str]:
        """The device function and the line that calls it with ``panel_width`` (the plan's own if None)."""
        width = self.panel_width_ if panel_width is None else panel_width
        call = f"const dim3 blockIdx = rasterization2DColumn({width});\n"
        return [self.get_device_function(), call]


# ---- Additions: nothing vendored below -----------------------------------------------------------------------------


class NoPanels(CarverError, AssertionError):
    """A plan without panels was asked for their width."""


class NotImplementedCode(CarverError, NotImplementedError):
    """A plan that carver names but has no code for."""


def panel_walk(width: str, indent: str) -> str:
    """The CUDA lines that find a block's place (bx, by, bz) when the grid is walked in column panels of ``width``.

    Carver has this text twice, here and in ``utils.get_rasterization_code``; the spacing is the vendored one.
    """
    grid = "gridDim.x * gridDim.y"
    panel = f"({width} *gridDim.x)"
    # Blocks before this panel, in the three ways the vendored text spaces and brackets it.
    before = f"panelIdx * {width} *gridDim.x"
    before_spaced = f"panelIdx * {width} * gridDim.x"
    before_bracketed = f"panelIdx * {panel}"
    values = {
        "baseBlockIdx": "blockIdx.x + gridDim.x *blockIdx.y",
        "totalPanel": f"({grid} +{width} * gridDim.x - 1) / ({width} * gridDim.x)",
        "totalBlock": grid,
        "panelIdx": f"baseBlockIdx / {panel}",
        "strideLd": f"panelIdx + 1 < totalPanel ?{width} : (totalBlock - {before_bracketed}) / gridDim.x",
        "bx": (
            f"(panelIdx & 1) ? gridDim.x -(baseBlockIdx - {before_spaced}) /strideLd - 1"
            f" : (baseBlockIdx - {before}) / strideLd"
        ),
        "by": f"(baseBlockIdx - {before}) % strideLd + panelIdx * {width}",
        "bz": "blockIdx.z",
    }
    lines = [f"{indent}const auto {name} = {value};\n" for name, value in values.items()]
    return "".join(lines)
