"""A pack: an archive with Python, kafka2hive and its packages, which Spark sends to nodes that have neither.

Its first member describes it. `bin/python` in it is a script that refuses a node with another CPU or an older C library,
and finds the libraries of the pack.
"""

import errno
import gzip
import hashlib
import importlib.util
import io
import json
import marshal
import os
import platform
import re
import tarfile
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from kafka2hive import __version__
from kafka2hive.model.errors import ConfigError
from kafka2hive.submit.pack_contents import INTERPRETER, PACKAGES, PackedFile, pack_files

SUFFIXES = (".tar.gz", ".tgz")
DESCRIPTION = "kafka2hive-pack.json"
START = "bin/python"
_BLOCK_BYTES = 4 << 20
_LEVEL = 1
_TIME = 315_619_200  # the second day that a zip can hold: the driver puts kafka2hive's modules into one
_GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)")
_PYTHON_PATH_FILE = f"{PACKAGES}/kafka2hive_pack.pth"
# a child process must not see the pack's libraries, unless it is the pack's Python
_AT_START = (
    "import os, sys; sys.executable = os.path.join(sys.prefix, 'bin', 'python');"
    " os.environ.update(LD_LIBRARY_PATH=os.environ.pop('KAFKA2HIVE_LIBRARY_PATH', ''));"
    " os.environ['LD_LIBRARY_PATH'] or os.environ.pop('LD_LIBRARY_PATH')\n"
)
_SCRIPT = """#!/bin/sh
# The Python of a pack of kafka2hive: for {cpu} with glibc {glibc} or later.
here=$(dirname "$(readlink -f "$0")")
cpu=$(uname -m)
if [ "$cpu" != {cpu} ]; then
  echo "[{other_cpu}] this pack is for {cpu}, and $(uname -n) has $cpu" >&2
  echo "  what to do: run kafka2hive pack on a machine with $cpu" >&2
  exit 78
fi
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null)
glibc=${{glibc#* }}
if [ -n "$glibc" ] && [ "$(printf '%s\\n' {glibc} "$glibc" | sort -V | head -n 1)" != {glibc} ]; then
  echo "[{old_glibc}] this pack needs glibc {glibc} or later, and $(uname -n) has $glibc" >&2
  echo "  what to do: run kafka2hive pack on a machine with glibc $glibc or earlier" >&2
  exit 78
fi
export KAFKA2HIVE_LIBRARY_PATH="$LD_LIBRARY_PATH"
export LD_LIBRARY_PATH="$here/../lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
exec "$here/{interpreter}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Pack:
    """The description of a pack: the versions and the CPU that it is for. Equal contents give equal digests."""

    kafka2hive: str
    python: str
    cpu: str
    glibc: str
    spark: str
    digest: str
    format: int = 1

    @property
    def name(self) -> str:
        """A file name with the digest, so that a changed pack has another name."""
        series = "".join(self.python.split(".")[:2])
        return f"kafka2hive-{self.kafka2hive}-py{series}-{self.cpu}-{self.digest}{SUFFIXES[0]}"


@dataclass(frozen=True, slots=True)
class PackResult:
    """A pack that was made: its file, and the number and bytes of the files in it."""

    file: Path
    pack: Pack
    files: int
    content_bytes: int


def make_pack(out: Path, contents: Iterable[PackedFile] | None = None) -> PackResult:
    """Write the pack to `out`, or into the directory `out` under its own name. A crash leaves only a `.part` file.

    Raises ConfigError: `pack.exists`, `pack.name`, `pack.no_room`, `pack.unwritable`, and as `pack_files`.
    """
    if not out.is_dir():
        if not out.name.endswith(SUFFIXES):
            raise ConfigError(
                "pack.name",
                f"Spark unpacks .tar.gz and .tgz, not {out.name}",
                f"name it {out.with_suffix('.tar.gz')}",
            )
        _refuse_existing(out)
    files = list(pack_files() if contents is None else contents)
    pack = _describe(files)
    if out.is_dir():
        out = out / pack.name
        _refuse_existing(out)
    part = out.with_name(f"{out.name}.part")
    try:
        try:
            with part.open("wb") as target:
                content_bytes = _write(target, pack, files)
                target.flush()
                os.fsync(target.fileno())
            os.link(part, out)  # unlike a rename it never replaces a file
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise _exists(out) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = f"there is no space for {out}: about 150 MB are needed"
            raise ConfigError("pack.no_room", message, "free space, or name another directory") from error
        message = f"{error.filename or out} cannot be written or read: {error.strerror}"
        raise ConfigError(
            "pack.unwritable", message, "correct its permissions, or name another file"
        ) from error
    return PackResult(out, pack, len(files), content_bytes)


def read_pack(file: Path) -> Pack:
    """Return the description of a pack. Raises ConfigError (`pack.unreadable`)."""
    try:
        with tarfile.open(file, "r:gz") as archive:
            first = archive.next()
            member = archive.extractfile(first) if first is not None and first.name == DESCRIPTION else None
            if member is None:
                raise _unreadable(file, "it is not a pack of kafka2hive")
            return Pack(**json.loads(member.read()))
    except (OSError, EOFError, tarfile.TarError, ValueError, TypeError) as error:
        raise _unreadable(file, getattr(error, "strerror", None) or str(error)) from error


def _unreadable(file: Path, reason: str) -> ConfigError:
    return ConfigError(
        "pack.unreadable", f"{file} cannot be used: {reason}", "`kafka2hive pack OUT.tar.gz` makes one"
    )


def _refuse_existing(out: Path) -> None:
    if out.exists():
        raise _exists(out)


def _exists(out: Path) -> ConfigError:
    return ConfigError("pack.exists", f"{out} exists already", "remove it, or choose another name")


def _describe(files: Iterable[PackedFile]) -> Pack:
    """Hash all contents, and find the newest glibc that one of the binaries needs."""
    digest, glibc = hashlib.sha256(platform.python_version().encode()), (2, 17)
    for file in files:
        content = file.source.read_bytes()
        digest.update(f"{file.name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
        if content.startswith(b"\x7fELF"):
            glibc = max(
                glibc, *((int(major), int(minor)) for major, minor in _GLIBC.findall(content)), (0, 0)
            )
    return Pack(
        kafka2hive=__version__,
        python=platform.python_version(),
        cpu=platform.machine(),
        glibc=".".join(map(str, glibc)),
        spark=version("pyspark"),
        digest=digest.hexdigest()[:12],
    )


def _write(target: BinaryIO, pack: Pack, files: Iterable[PackedFile]) -> int:
    """Write the archive and return the bytes of its contents."""
    script = _SCRIPT.format(
        cpu=pack.cpu,
        glibc=pack.glibc,
        interpreter=Path(INTERPRETER).name,
        other_cpu="pack.cpu",
        old_glibc="pack.glibc",
    )
    total = 0
    with (
        _Gzip(target) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, text, mode in (
            (DESCRIPTION, json.dumps(asdict(pack), indent=2) + "\n", 0o644),
            (START, script, 0o755),
            (_PYTHON_PATH_FILE, _AT_START, 0o644),
        ):
            _add(archive, name, text.encode(), mode)
        for file in files:
            content = file.source.read_bytes()
            total += len(content)
            _add(archive, file.name, content, 0o755 if os.access(file.source, os.X_OK) else 0o644)
            if file.source.suffix == ".py" and (code := bytecode(file.source, content)) is not None:
                name = importlib.util.cache_from_source(file.name, optimization="")
                _add(archive, name, code, 0o644)
    return total


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(content), mode, _TIME
    archive.addfile(member, io.BytesIO(content))


def bytecode(source: Path, content: bytes) -> bytes | None:
    """Return the module's bytecode in a form that Python never compares with the source; None if it does not compile.

    Nodes may be unable to write it, and would compile all modules at each start. The present bytecode is used if it is valid.
    """
    magic = importlib.util.MAGIC_NUMBER
    code = b""
    try:
        present = Path(importlib.util.cache_from_source(str(source))).read_bytes()
        status = source.stat()
        stamp = (int(status.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + len(content).to_bytes(4, "little")
        if present[:16] == magic + bytes(4) + stamp:
            code = present[16:]
    except (OSError, NotImplementedError):
        pass  # there is none
    if not code:
        try:
            code = marshal.dumps(compile(content, source.name, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            return None
    return magic + (1).to_bytes(4, "little") + importlib.util.source_hash(content) + code


class _Gzip(io.RawIOBase):
    """Compresses blocks in threads, each to a gzip member; members one after the other are one gzip file."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self._threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        self._most = 2 * len(os.sched_getaffinity(0))
        self._waiting: deque[Future[bytes]] = deque()
        self._block = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        self._block += data
        if len(self._block) >= _BLOCK_BYTES:
            self._compress()
        return len(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._threads:
            if kind is None:
                self._compress()
                while self._waiting:
                    self._target.write(self._waiting.popleft().result())

    def _compress(self) -> None:
        block, self._block = bytes(self._block), bytearray()
        self._waiting.append(self._threads.submit(gzip.compress, block, _LEVEL, mtime=0))
        while len(self._waiting) > self._most:
            self._target.write(self._waiting.popleft().result())
