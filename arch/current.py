"""The device that carver takes for the current one, for templates that infer it when they are built.

No vendored counterpart: the real carver knows only the device of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .arch_base import TileDevice
from .errors import CarverError

ENV_VARIABLE = "CARVER_ARCH"

_current: ContextVar[TileDevice | None] = ContextVar("carver_current_arch", default=None)


@contextmanager
def current_arch(arch: TileDevice | str) -> Iterator[TileDevice]:
    """Within this context `auto_infer_current_arch()` returns `arch`, a device or what `get_arch` makes one of.

    Contexts nest, and each ends where its block does, by an exception too. Threads and asyncio tasks have their own.
    """
    from . import get_arch

    device = arch if isinstance(arch, TileDevice) else get_arch(arch)
    token = _current.set(device)
    try:
        yield device
    finally:
        _current.reset(token)


def chosen_arch() -> TileDevice | None:
    """The device of the innermost `current_arch`, else that of CARVER_ARCH; None where neither is set.

    Raises CarverError, naming the variable, where CARVER_ARCH is no device.
    """
    device = _current.get()
    name = os.environ.get(ENV_VARIABLE)
    if device is not None or not name:
        return device
    from . import get_arch

    try:
        return get_arch(name)
    except CarverError as err:
        raise type(err)(f"the variable {ENV_VARIABLE} is no device: {err}") from err


__all__ = ["current_arch"]
