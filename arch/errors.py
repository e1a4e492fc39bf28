"""The project's base class for mistakes in what a user handed in, and the two errors of the device models."""

from __future__ import annotations


class CarverError(ValueError):
    """A wrong input: a misspelt device, an attribute out of range, an unreadable file.

    Its text is one clear sentence: what is wrong, the value, and what is allowed. The command line prints it and ends
    with status 2, without a traceback. It is a ValueError because that is what such mistakes raise in the real carver.
    """


class NoDeviceError(CarverError, RuntimeError):
    """A figure had to come from the device of this machine, and there is none. The real carver raises RuntimeError."""


class MissingFigureError(CarverError, AttributeError):
    """A device model was built from an architecture name alone, and a figure that the name does not fix was read.

    It is an AttributeError as well, so that `hasattr` and `getattr` with a default treat the figure as absent.
    """


__all__ = ["CarverError", "NoDeviceError", "MissingFigureError"]
