"""The project's base class for mistakes in what a user handed in."""

from __future__ import annotations


class CarverError(ValueError):
    """A wrong input: a misspelt device, an attribute out of range, an unreadable file.

    Its text is one clear sentence: what is wrong, the value, and what is allowed. The command line prints it and ends
    with status 2, without a traceback. It is a ValueError because that is what such mistakes raise in the real carver.
    """


__all__ = ["CarverError"]
