"""Tuning spaces in files: JSON as TileLang's autotuner takes it, read strictly, and configurations written for tuners.

A file holds either one object of lists, ``{"block_M": [64, 128], ...}``, or a list of configurations,
``[{"block_M": 64, ...}, ...]``. Beside the five parameters, of which the threads may be called ``thread_num``, the keys
of `CARRIED` are allowed. They are carried along untouched: no rule and neither model looks at them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..arch.errors import CarverError, shown
from .options import LARGEST
from .recording import Malformed, is_plain, need, parse_line, write_atomically
from .space_rules import PARAMETERS, Listed, Product

MAX_BYTES = 32 << 20
# What TileLang's own kernels call the threads.
THREADS_KEYS = ("threads", "thread_num")
# Other keys in the configurations of TileLang's examples and benchmarks. pass_configs is the tuner's own.
CARRIED = ("enable_rasteration", "enable_rasterization", "k_pack", "panel_size", "pass_configs", "policy")

ALLOWED = (*PARAMETERS[:-1], *THREADS_KEYS, *CARRIED)


# ---------------------------------------------------------------------------------------------------------------------
# Reading


Lists = dict[str, tuple[int, ...]]
"""The values of each parameter, by its name."""


def read_space(path: str, given: Lists, default: Lists) -> tuple[Product | Listed, list[str]]:
    """The space of a file, and notes on what was left out of it because it repeats.

    What an object of lists leaves out is taken from ``given``, else from ``default``. CarverError, one line, for a file
    that is no space, and for a parameter both in the file and in ``given``.
    """
    data = _read_bytes(path)
    try:
        content = parse_line(data.decode("utf-8"))
        if type(content) is dict:
            return _product(content, given, default)
        need(type(content) is list, "neither an object of lists nor a list of configurations")
        if given:
            raise Malformed(f"has whole configurations: {_flags(given)} cannot be added")
        return _listed(content)
    except UnicodeDecodeError:
        raise CarverError(f"{path}: not UTF-8 text") from None
    except Malformed as error:
        raise CarverError(f"{path}: {error}") from None


def _read_bytes(path: str) -> bytes:
    try:
        # A pipe that nobody writes to would be waited for without end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise CarverError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > MAX_BYTES:
        raise CarverError(f"{path}: more than {MAX_BYTES >> 20} MB, too much for a space: give it as lists")
    return data


def _flags(given: Iterable[str]) -> str:
    return ", ".join("--" + name.lower().replace("_", "-") for name in given)


def _check_keys(keys: Iterable[str], where: str) -> str:
    """The key of the threads among the keys, which must all be known."""
    for key in keys:
        if key not in ALLOWED:
            raise Malformed(f"{where}unknown key {shown(key, 40)}; allowed are {', '.join(ALLOWED)}")
    named = [key for key in THREADS_KEYS if key in keys]
    need(len(named) < 2, f"{where}both {' and '.join(THREADS_KEYS)}")
    return named[0] if named else THREADS_KEYS[0]


def _check_value(name: str, value: Any) -> int:
    """A whole number of sane size, or Malformed. Whether it is legal is another matter."""
    if type(value) is not int:
        raise Malformed(f"{name}: {shown(value)} is not a whole number")
    if not -LARGEST <= value <= LARGEST:
        raise Malformed(f"{name}: {shown(value)} is too large: at most {LARGEST} (2**40)")
    return value


def once(name: str, values: Iterable[Any], notes: list[str]) -> tuple[Any, ...]:
    """The values without repetitions, which are noted."""
    values = list(values)
    # True equals 1 in Python; as JSON they differ.
    different = {json.dumps(value, sort_keys=True): value for value in values}
    if len(different) < len(values):
        notes.append(f"{name} repeats values: {len(values) - len(different)} of {len(values)} left out")
    return tuple(different.values())


def _product(content: dict, given: Lists, default: Lists) -> tuple[Product, list[str]]:
    need(content != {}, "an object without a parameter")
    threads_key = _check_keys(content, "")
    notes: list[str] = []
    found: dict[str, tuple] = {}
    carried: dict[str, tuple] = {}
    for key, values in content.items():
        need(type(values) is list, f"{key} is not a list")
        need(values != [], f"{key} is an empty list")
        if key in CARRIED:
            need(all(map(is_plain, values)), f"{key} holds a value of no sane size")
            carried[key] = once(key, values, notes)
        else:
            name = "threads" if key == threads_key else key
            found[name] = once(key, [_check_value(key, value) for value in values], notes)
    twice = [name for name in PARAMETERS if name in found and name in given]
    need(not twice, f"has {', '.join(twice)}: leave {_flags(twice)} out")
    lists = {name: found.get(name) or given.get(name) or default[name] for name in PARAMETERS}
    return Product(lists, carried, threads_key), notes


def _listed(content: list) -> tuple[Listed, list[str]]:
    need(content != [], "an empty list of configurations")
    need(type(content[0]) is dict, "configuration 1 is not an object")
    threads_key = _check_keys(content[0], "configuration 1: ")
    for number, config in enumerate(content, 1):
        _check_config(config, threads_key, f"configuration {number}")
    notes: list[str] = []
    return Listed(list(once("the file", content, notes)), threads_key), notes


def _check_config(config: Any, threads_key: str, where: str) -> None:
    need(type(config) is dict, f"{where} is not an object")
    _check_keys(config, f"{where}: ")
    for name in (*PARAMETERS[:-1], threads_key):
        need(name in config, f"{where} lacks {name}")
        _check_value(f"{where}: {name}", config[name])
    for key, value in config.items():
        need(key not in CARRIED or is_plain(value), f"{where}: {key} is of no sane size")


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def triton_configs(configs: Iterable[dict], threads_key: str, warp_size: int) -> tuple[list[dict], int]:
    """Configurations as keyword arguments of ``triton.Config``, and how many were left out.

    Left out is what Triton refuses: numbers of warps, and extents of blocks, that are no powers of two. Configurations
    that differ in what only TileLang knows become one.
    """
    written: dict[str, dict] = {}
    left_out = 0
    for config in configs:
        num_warps, over = divmod(config[threads_key], warp_size)
        blocks = {f"BLOCK_{axis}": config[f"block_{axis}"] for axis in "MNK"}
        if over or not all(map(_is_power_of_two, [num_warps, *blocks.values()])):
            left_out += 1
            continue
        one = {"kwargs": blocks, "num_stages": config["num_stages"], "num_warps": num_warps}
        written.setdefault(json.dumps(one), one)
    return list(written.values()), left_out


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def write_configs(path: str, configs: Iterable[dict], replace: bool) -> None:
    """Write a JSON list, a configuration a line, whole or not at all.

    CarverError where it cannot be written, and where there is a file already, unless ``replace``.
    """
    lines = ",\n".join(json.dumps(config, allow_nan=False) for config in configs)
    write_atomically(Path(path), f"[\n{lines}\n]\n".encode(), replace)
