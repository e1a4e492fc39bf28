"""The project's base class for mistakes in what a user handed in, the errors of the device models, and how messages
show values."""

from __future__ import annotations


class CarverError(ValueError):
    """A wrong input: a misspelt device, an attribute out of range, an unreadable file.

    Its text is one clear sentence: what is wrong, the value, and what is allowed. The command line prints it and ends
    with status 2, without a traceback. It is a ValueError because that is what such mistakes raise in the real carver.
    """

    def __str__(self) -> str:
        # Values are quoted in it, and may be anything: whatever they are, it stays one line that a terminal can show.
        return one_line(" ".join(map(str, self.args)))


class NoDeviceError(CarverError, RuntimeError):
    """A figure had to come from the device of this machine, and there is none. The real carver raises RuntimeError."""


class MissingFigureError(CarverError, AttributeError):
    """A device model was built from an architecture name alone, and a figure that the name does not fix was read.

    It is an AttributeError as well, so that `hasattr` and `getattr` with a default treat the figure as absent.
    """


class NotADevice(CarverError, AttributeError):
    """Something else than a device was asked for its figures."""

    def __init__(self, arch: object) -> None:
        super().__init__(f"arch must be a device, such as CUDA(...) or get_arch(...), not {shown(arch)}")


class NoInstructions(CarverError, NotImplementedError):
    """A device of a kind whose tensor instructions carver does not know was asked for them."""


def shown(value: object, limit: int = 60) -> str:
    """A wrong value as a message shows it: its repr on one line, cut after so many characters.

    It may be anything, so it may be long, hold control characters, or have a repr that fails.
    """
    try:
        text = repr(value if not isinstance(value, str) else value[: limit + 1])
    except Exception:
        text = f"<{type(value).__name__}>"
    return one_line(text, limit)


def one_line(text: str, limit: int = 1000) -> str:
    """The text on one line, its end cut off: what is not printable, such as a terminal's commands, is escaped."""
    cut = text[:limit]
    safe = "".join(c if c.isprintable() else " " if c in "\r\n\t" else repr(c)[1:-1] for c in cut)
    return safe if len(text) <= limit else safe + "..."


__all__ = ["CarverError", "NoDeviceError", "MissingFigureError", "NoInstructions", "NotADevice", "one_line", "shown"]
