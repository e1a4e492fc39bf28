"""Runs a command line in this process, for the tests of the commands."""

from __future__ import annotations

from typing import Any

import pytest
from carver.tools.cli import main


def command(capsys: pytest.CaptureFixture, *arguments: str) -> tuple[Any, str, str]:
    """Exit code, stdout, stderr."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:  # argparse
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err
