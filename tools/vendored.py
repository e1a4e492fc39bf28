"""Finding and reading TileLang's sources: an installed package, a checkout, a wheel. Nothing of it is imported.

A tree is known by the folder that holds ``carver/``; paths inside are given below ``tilelang/``, as in the marks of the
port (``carver/roller/node.py``). Files are read as text and never executed, and a wheel is read in memory, so that one
that lies about its sizes or its paths can do no harm.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import re
import sys
import tokenize
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..arch.errors import CarverError

VARIABLE = "CARVER_VENDOR"
PINNED_VERSION = "0.1.15"

# Files outside carver/ that the port has definitions of.
EXTRA_FILES = ("backend/target.py", "metal/target.py", "rocm/target.py")

MAX_FILE = 1 << 20  # bytes of one source file; the largest vendored one has 50 KiB
MAX_TOTAL = 16 << 20  # bytes of all source files of a tree
MAX_FILES = 2000  # source files of a tree; 0.1.15 has 31
MAX_MEMBERS = 200_000  # entries of a wheel
MAX_RECORD = 16 << 20  # bytes of a wheel's RECORD

ENCODINGS = ("utf-8", "utf-8-sig", "iso-8859-1", "ascii")  # some of the others Python knows are no text at all

FOUR_WAYS = (
    "no TileLang sources found: give --vendor PATH, set CARVER_VENDOR, keep a _vendor/tilelang* folder here or above, "
    "or install tilelang"
)


@dataclass
class Tree:
    """TileLang's sources as text."""

    where: str  # the folder or the wheel
    how: str  # which of the ways led there
    version: str | None  # None where nothing tells it
    wheel: str | None = None  # a digest over the wheel's own list of files and hashes
    files: dict[str, str] = field(default_factory=dict)  # path below tilelang/ -> text

    def label(self) -> str:
        """``TileLang 0.1.15 (PATH)``."""
        return f"TileLang {self.version or 'of unknown version'} ({printable(self.where)})"


def printable(text: str) -> str:
    """Text of a foreign file for a terminal: control characters, which could steer it, as question marks."""
    return "".join(char if char.isprintable() or char == "\t" else "?" for char in text)


def find_tree(path: str | None = None) -> Tree | None:
    """The sources by ``path``, else by CARVER_VENDOR, else ``_vendor/tilelang*`` upwards, else the installed package.

    None if none of the four leads anywhere. CarverError if one of the first two is given and does not.
    """
    if path is not None:
        return open_tree(path, "--vendor")
    named = os.environ.get(VARIABLE)
    if named:
        return open_tree(named, VARIABLE)
    for folder in (Path.cwd(), *Path.cwd().parents):
        found = _in_vendor_folder(folder / "_vendor")
        if found is not None:
            return open_tree(found, "_vendor")
    found = _installed()
    return None if found is None else open_tree(found, "installed")


def need_tree(path: str | None = None) -> Tree:
    """As `find_tree`, but CarverError with the four ways if there is none."""
    tree = find_tree(path)
    if tree is None:
        raise CarverError(FOUR_WAYS)
    return tree


def _in_vendor_folder(vendor: Path) -> Path | None:
    """The TileLang in a folder of vendored projects: the pinned version if there are several, else the last by name."""
    try:
        folders = sorted(entry for entry in vendor.glob("tilelang*") if entry.is_dir() and _package_folder(entry))
    except OSError:
        return None
    pinned = [entry for entry in folders if PINNED_VERSION in entry.name]
    chosen = pinned or folders
    return chosen[-1] if chosen else None


def _installed() -> Path | None:
    """The folder of an installed tilelang. Looking a top-level name up does not import it."""
    try:
        spec = importlib.util.find_spec("tilelang")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    for location in spec.submodule_search_locations:
        if _package_folder(Path(location)):
            return Path(location)
    return None


def open_tree(path: str | Path, how: str = "") -> Tree:
    """The sources in a folder (``tilelang/``, a checkout around it, ``carver/`` itself) or in a wheel."""
    path = Path(path).expanduser()
    try:
        if path.is_file():
            return _read_wheel(path, how)
        if not path.is_dir():
            raise CarverError(f"{_given_by(how)}{path}: no such folder or wheel")
        package = _package_folder(path)
        if package is None:
            raise CarverError(f"{_given_by(how)}{path}: holds no tilelang/carver")
        return _read_folder(package, how)
    except (OSError, ValueError) as error:
        if isinstance(error, CarverError):
            raise
        raise CarverError(f"{_given_by(how)}{path}: {getattr(error, 'strerror', None) or error}") from None


def _given_by(how: str) -> str:
    return f"{how}: " if how else ""


# ---------------------------------------------------------------------------------------------------------------------
# Folders


def _package_folder(path: Path) -> Path | None:
    """The folder that holds ``carver/``, for what people point at: it, one around it, or ``carver/`` itself."""
    for candidate in (path, path / "tilelang", path / "src" / "tilelang"):
        if (candidate / "carver" / "roller").is_dir():
            return candidate
    if path.name == "carver" and (path / "roller").is_dir():
        return path.resolve().parent
    return None


def _read_folder(package: Path, how: str) -> Tree:
    tree = Tree(str(package), how, _version_of_folder(package), _wheel_of_folder(package))
    names = []
    for folder, subfolders, files in os.walk(package / "carver"):  # does not follow links to folders
        subfolders[:] = sorted(name for name in subfolders if name != "__pycache__")
        names += [Path(folder, name) for name in sorted(files) if name.endswith(".py")]
    names += [package / name for name in EXTRA_FILES]
    budget = _Budget(tree.where)
    for name in names:
        if not name.is_file():
            continue
        with open(name, "rb") as file:
            data = file.read(MAX_FILE + 1)
        relative = name.relative_to(package).as_posix()
        budget.take(relative, len(data))
        tree.files[relative] = decode(data, f"{tree.where}/{relative}")
    return tree


def _version_of_folder(package: Path) -> str | None:
    for info in sorted(package.parent.glob("tilelang-*.dist-info")):
        return info.name.removeprefix("tilelang-").removesuffix(".dist-info")
    for folder in (package, package.parent):
        version = folder / "VERSION"
        if version.is_file():
            with open(version, encoding="utf-8", errors="replace") as file:
                return printable(file.readline(100).strip()) or None
    for part in reversed(package.resolve().parts):
        found = re.search(r"tilelang[-_]?v?([0-9]+(?:\.[0-9]+)+)", part)
        if found:
            return found.group(1)
    return None


def _wheel_of_folder(package: Path) -> str | None:
    for info in sorted(package.parent.glob("tilelang-*.dist-info")):
        record = info / "RECORD"
        if record.is_file():
            return wheel_digest(record.read_text(encoding="utf-8", errors="replace"))
    return None


def wheel_digest(record: str) -> str:
    """A digest of a wheel's own list of files and hashes (RECORD), less what an installer adds to it.

    The same for a wheel and for what is installed from it; recordings name it too (`real_carver.wheel_digest`).
    """
    lines = []
    for line in record.splitlines():
        if line.count(",") < 2:
            continue
        path, digest, _ = line.rsplit(",", 2)
        added = path.endswith(("INSTALLER", "REQUESTED", "direct_url.json"))
        if digest and not added and "__pycache__" not in path and not path.startswith(".."):
            lines.append(f"{path},{digest}")
    return "sha256:" + hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# Wheels


def _read_wheel(path: Path, how: str) -> Tree:
    try:
        with zipfile.ZipFile(path) as wheel:
            return _read_members(wheel, str(path), how)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise CarverError(f"{_given_by(how)}{path}: not a readable wheel: {printable(str(error))}") from None


def _read_members(wheel: zipfile.ZipFile, where: str, how: str) -> Tree:
    members = wheel.infolist()
    if len(members) > MAX_MEMBERS:
        raise CarverError(f"{where}: {len(members)} entries, more than any wheel of TileLang has ({MAX_MEMBERS})")
    tree = Tree(where, how, None)
    budget = _Budget(where)
    for member in members:
        name = member.filename
        parts = PurePosixPath(name).parts
        if ".." in parts or name.startswith("/") or "\\" in name:
            if name.endswith(".py"):
                raise CarverError(f"{where}: the entry {printable(name)!r} points out of the wheel")
            continue
        if len(parts) == 2 and re.fullmatch(r"tilelang-[^/]+\.dist-info", parts[0]):
            if parts[1] == "METADATA":
                tree.version = _version_of_metadata(_read_member(wheel, member, MAX_FILE, where))
            elif parts[1] == "RECORD":
                tree.wheel = wheel_digest(_read_member(wheel, member, MAX_RECORD, where).decode("utf-8", "replace"))
            continue
        below = PurePosixPath(*parts[1:]).as_posix() if parts and parts[0] == "tilelang" else ""
        if not (below.endswith(".py") and (below.startswith("carver/") or below in EXTRA_FILES)):
            continue
        if below in tree.files:
            raise CarverError(f"{where}: holds {printable(name)!r} twice")
        data = _read_member(wheel, member, MAX_FILE, where)
        budget.take(below, len(data))
        tree.files[below] = decode(data, f"{where}:{name}")
    if not any(name.startswith("carver/") for name in tree.files):
        raise CarverError(f"{where}: holds no tilelang/carver")
    return tree


def _read_member(wheel: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int, where: str) -> bytes:
    """What an entry holds. The size it claims is not believed: no more than the limit is ever unpacked."""
    if member.flag_bits & 1:
        raise CarverError(f"{where}: {printable(member.filename)!r} is encrypted")
    with wheel.open(member) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CarverError(f"{where}: {printable(member.filename)!r} is larger than {limit} bytes")
    return data


def _version_of_metadata(data: bytes) -> str | None:
    found = re.search(r"^Version: *(\S+)", data.decode("utf-8", "replace"), re.MULTILINE)
    return printable(found.group(1)) if found else None


class _Budget:
    """Refuses trees that are larger than any TileLang."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.total = 0
        self.files = 0

    def take(self, name: str, size: int) -> None:
        self.total += size
        self.files += 1
        if size > MAX_FILE:
            raise CarverError(f"{self.where}: {printable(name)!r} is larger than {MAX_FILE} bytes")
        if self.total > MAX_TOTAL or self.files > MAX_FILES:
            raise CarverError(f"{self.where}: more sources than any TileLang has")


def decode(data: bytes, where: str) -> str:
    """Source text with ``\\n`` between its lines, by its own declared encoding."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding not in ENCODINGS:
            raise LookupError(f"encoding {encoding}")
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise CarverError(f"{printable(where)}: not readable as text: {printable(str(error))}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def add_vendor_argument(parser) -> None:
    """``--vendor PATH``, for the commands that read the vendored sources."""
    parser.add_argument(
        "--vendor",
        metavar="PATH",
        help="TileLang's sources: its folder, a checkout or a wheel (default: $CARVER_VENDOR, _vendor/tilelang* here "
        "or above, an installed tilelang)",
    )


def warn_if_another_version(tree: Tree) -> None:
    """Line ranges and names are those of the pinned version; say so when the sources are another's."""
    if tree.version != PINNED_VERSION:
        print(f"carver: {tree.label()} is not the pinned {PINNED_VERSION}", file=sys.stderr)
