"""Raise the number of steps that TVM lets Z3 take for a proof. Loaded by `real_carver.py`; the port needs none of it.

Every analyzer of TVM's gives its solver ``rlimit`` 10,000 (``src/target/z3/z3_prover_on.cc``, ``Impl``), and what is
not proved in these steps counts as not proved. How far it comes in them is partly luck: TVM also fixes the
``random_seed``, and here there is another one. Only analyzers made in Python can be given more steps; those that TVM
makes for itself, as ``DetectIterMap`` does, cannot. TVM sets both by Z3's function ``Z3_params_set_uint``, which it
calls through its table of imported functions: here the entry of that table is exchanged for a function that passes
other numbers on. Needs a system whose libraries are 64-bit ELF files, such as Linux.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TVM_STEPS = 10_000
TVM_SEED, OTHER_SEED = 42, 0
SETTER = b"Z3_params_set_uint"

# From <dlfcn.h> and <elf.h>.
RTLD_DI_LINKMAP = 2
DT_PLTRELSZ, DT_STRTAB, DT_SYMTAB, DT_JMPREL = 2, 5, 6, 23


class Dynamic(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_int64), ("value", ctypes.c_uint64)]


class LinkMap(ctypes.Structure):
    _fields_ = [("base", ctypes.c_uint64), ("name", ctypes.c_char_p), ("dynamic", ctypes.POINTER(Dynamic))]


class Relocation(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("info", ctypes.c_uint64), ("addend", ctypes.c_int64)]


class Symbol(ctypes.Structure):
    _fields_ = [
        *[("name", ctypes.c_uint32), ("info", ctypes.c_uint8), ("other", ctypes.c_uint8)],
        *[("section", ctypes.c_uint16), ("value", ctypes.c_uint64), ("size", ctypes.c_uint64)],
    ]


Setter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
_kept: list[Any] = []  # what C calls must outlive the call that made it


def raise_budget(steps: int) -> None:
    """From now on, in this process, every solver of TVM's may take `steps` steps for a proof, and begins elsewhere."""
    import tilelang

    library = ctypes.CDLL(str(Path(tilelang.__file__).parent / "lib" / "libtvm_compiler.so"))
    original = Setter((SETTER.decode(), library))
    others = {TVM_STEPS: steps, TVM_SEED: OTHER_SEED}

    def set_uint(context: int, params: int, key: int, value: int) -> None:
        original(context, params, key, others.get(value, value))

    exchanged = Setter(set_uint)
    _kept.append(exchanged)
    addresses = [address for name, address in imported_functions(library) if name == SETTER]
    if not addresses:
        raise RuntimeError(f"{library._name} imports no {SETTER.decode()}")
    for address in addresses:
        ctypes.c_void_p.from_address(address).value = ctypes.cast(exchanged, ctypes.c_void_p).value


def imported_functions(library: ctypes.CDLL) -> Iterator[tuple[bytes, int]]:
    """Names of the functions that a library imports, each with the place in memory of its address."""
    link_map = ctypes.POINTER(LinkMap)()
    dlinfo = ctypes.CDLL(None).dlinfo
    dlinfo.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    if dlinfo(library._handle, RTLD_DI_LINKMAP, ctypes.byref(link_map)) != 0:
        raise RuntimeError(f"{library._name}: no link map")
    sections = {}
    for entry in link_map.contents.dynamic:
        if entry.tag == 0:
            break
        sections[entry.tag] = entry.value
    relocations = ctypes.cast(sections[DT_JMPREL], ctypes.POINTER(Relocation))
    symbols = ctypes.cast(sections[DT_SYMTAB], ctypes.POINTER(Symbol))
    for index in range(sections[DT_PLTRELSZ] // ctypes.sizeof(Relocation)):
        relocation = relocations[index]
        symbol = symbols[relocation.info >> 32]
        yield ctypes.string_at(sections[DT_STRTAB] + symbol.name), link_map.contents.base + relocation.offset
