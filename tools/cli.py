"""The command line, ``carver COMMAND ...``.

Each command is a module of this package with ``add_arguments(parser)`` and ``run(args)``, which gives the exit code.
A command's module is imported only when it is asked for: the others may need more than it does.

Exit codes: 0 done, 1 the answer is "no" (a drift, a difference, no hint), 2 the input is wrong or the output cannot be
written, 3 a fault of this program, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import importlib
import itertools
import os
import sys
from collections.abc import Sequence

from ..arch.errors import CarverError, one_line, shown
from .display import wrapped

# Set to anything but 0, a fault of the port itself ends with its traceback (the same variable as in roller/utils.py).
STRICT_VARIABLE = "CARVER_STRICT"

WIDEST_PROSE = 118

_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

# command -> (module, what it does in one line)
COMMANDS: dict[str, tuple[str, str]] = {
    "recommend": ("recommend", "tile configurations for a computation, best first"),
    "trace": ("trace", "what the search did: each tile visited, rejected or ranked, and why"),
    "step": ("step", "walk a search in the terminal, event by event"),
    "explain": ("explain", "the whole arithmetic behind one tile, visited or not"),
    "audit": ("audit", "whether the search found the best tile of all that it could have visited"),
    "cost-model": ("cost_model", "a closed-form cost model of a GEMM, and where carver's own differs"),
    "space": ("space", "whether a tuning space is worth searching, its legal configurations, ranked"),
    "devices": ("devices", "the devices known by name, and their figures"),
    "record": ("record", "record what the real carver answers (needs tilelang)"),
    "check": ("check", "replay recordings on the port and report every difference"),
    "fuzz": ("fuzz", "compare random programs, graphs and expressions with the real carver (needs tilelang)"),
    "bench": ("bench", "how much faster than the real carver (needs tilelang)"),
    "porting": ("porting", "which vendored definition is ported where, and whether the marks are true"),
    "compare": ("compare", "the vendored source and the port side by side, function by function"),
    "drift": ("drift", "what another version of TileLang changed in carver, and which port it concerns"),
}


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Paragraphs are wrapped to the terminal, up to the width they are written in; indented lines stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for is_prose, group in itertools.groupby(text.splitlines(), _is_prose):
            lines += wrapped(" ".join(group), min(width, WIDEST_PROSE)) if is_prose else group
        return "\n".join(indent + line for line in lines)


def _is_prose(line: str) -> bool:
    return line[:1].strip() != ""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("formatter_class", HelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)

    def error(self, message: str):
        # What was typed stands in it, whatever it was.
        _tell(f"{self.prog}: {one_line(message)} (see {self.prog} --help)")
        raise SystemExit(2)

    def _print_message(self, message: str, file=None):
        # argparse's own keeps silent where the help cannot be written.
        print(message, end="", file=file or sys.stderr)

    def _check_value(self, action: argparse.Action, value):
        if action.choices is not None and value not in action.choices:
            name = str(action.metavar or action.dest).lower()
            self.error(unknown(name, str(value), [str(choice) for choice in action.choices]))


def usage() -> str:
    """What ``carver --help`` prints."""
    width = max(map(len, COMMANDS))
    lines = ["usage: carver COMMAND ...", "", "Tile configurations for tensor kernels, as TileLang 0.1.15's carver", ""]
    lines += [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    lines += ["", "carver COMMAND --help tells more. An example:"]
    lines += ["  carver recommend matmul --M 8192 --N 8192 --K 8192 --arch a100"]
    return "\n".join(lines)


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """One line for a name that is not known, with the nearest ones."""
    near = difflib.get_close_matches(name[:40], known, n=3)
    more = f" and {len(known) - 20} more" if len(known) > 20 else ""
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; known are {', '.join(known[:20])}{more}"
    return f"unknown {kind} {shown(name)}{hint}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # print() would take stdout in its place
    if sys.stdout is None:
        return _complain("standard output is closed")
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that cannot show a letter gets its number; an error would take the whole answer away.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except CarverError as error:
        return _complain(str(error))
    except BrokenPipeError:
        _drop_output()  # the reader went away (| head)
        return 0
    except OSError as error:
        # Files that are named are looked after where they are opened: this is mostly about the output.
        _drop_output()
        where = error.filename or ("cannot write the output" if error.errno in _OUTPUT_ERRORS else "the system says")
        return _complain(f"{where}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except Exception as error:
        # In a debugger a fault is its business, and BdbQuit is how one leaves it.
        is_debugged = sys.gettrace() is not None or type(error).__name__ == "BdbQuit"
        if is_debugged or os.environ.get(STRICT_VARIABLE, "0") not in ("", "0"):
            raise
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return _complain(f"this should not happen ({what}); with {STRICT_VARIABLE}=1 it says where", 3)


def _complain(message: str, code: int = 2) -> int:
    """Say it in one line on stderr, if there is one; gives the exit code."""
    _tell(f"carver: {one_line(message)}")
    return code


def _tell(line: str) -> None:
    with contextlib.suppress(OSError):  # nowhere to say it: the exit code does
        print(line, file=sys.stderr)


def _drop_output() -> None:
    """Point stdout elsewhere, or Python complains when it flushes what is left at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(f"carver-port {version('carver-port')}, a port of TileLang 0.1.15's carver")
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        raise CarverError(unknown("command", name, list(COMMANDS)))
    module_name, text = COMMANDS[name]
    module = importlib.import_module(f".{module_name}", __package__)
    parser = Parser(prog=f"carver {name}", description=(module.__doc__ or text).strip())
    module.add_arguments(parser)
    return module.run(parser.parse_args(rest))


if __name__ == "__main__":
    sys.exit(main())
