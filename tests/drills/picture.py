"""A whole dump as bytes in memory: taken from HDFS, laid anywhere else under other addresses, and put back."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.tree import Tree

CHECKSUM = b"checksum sha256:"
_PREVIOUS = re.compile(rb'("previous":"sha256:)([0-9a-f]{64})')
Changes = Mapping[str, bytes | None]
"""Bytes by path below the dump's base; None: not there."""


@dataclass(frozen=True, slots=True)
class Picture:
    """`files` by path below `base`, the URI that all addresses in the snapshots begin with."""

    base: str
    files: Mapping[str, bytes]

    def under(self, base: str) -> "Picture":
        """The same dump at another place: the snapshots' addresses and checksums are rewritten, data are not.

        A snapshot names the checksum of the one before it, so the older ones come first.
        """
        files = dict(self.files)
        anew: dict[bytes, bytes] = {}
        for path in sorted(filter(is_snapshot, files), key=lambda path: path.rpartition("/")[2]):
            body = unsigned(files[path]).replace(self.base.encode(), base.encode())
            body = _PREVIOUS.sub(lambda found: found[1] + anew[found[2]], body)
            anew[_sum(files[path])] = _sum(signed(body))
            files[path] = signed(body)
        return Picture(base, files)

    def changed(self, changes: Changes) -> dict[str, bytes]:
        """All files with the changes made."""
        return {path: data for path, data in {**self.files, **changes}.items() if data is not None}


def picture_of(tree: Tree, base: str) -> Picture:
    """Read everything below `base`, but no beats."""
    paths = [path.removeprefix(f"{base}/") for path in tree.files(base)]
    return Picture(base, {path: tree.read(f"{base}/{path}") for path in paths if "/alive/" not in path})


def is_snapshot(path: str) -> bool:
    """Whether this path below a dump's base is that of a snapshot."""
    return path.startswith("kafka2hive/") and path.endswith((".final", ".pending"))


def _sum(data: bytes) -> bytes:
    """The checksum in the last line."""
    return data[data.rindex(CHECKSUM) + len(CHECKSUM) :].strip()


def unsigned(data: bytes) -> bytes:
    """A snapshot without its checksum line."""
    return data[: data.rindex(CHECKSUM)]


def signed(body: bytes) -> bytes:
    """A snapshot's lines with the right checksum under them."""
    return body + CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n"


class LocalDump:
    """A picture laid on local disk; reads and writes only what differs from what it last knew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[tuple[int, ...], bytes]] = {}

    def lay(self, wanted: Mapping[str, bytes]) -> None:
        """Make the folder hold exactly these files; directories that become empty go."""
        there = self.files()
        for path in there.keys() - wanted.keys():
            place = self.folder / path
            place.unlink()
            while not any((place := place.parent).iterdir()) and place != self.folder:
                place.rmdir()
        for path, data in wanted.items():
            if there.get(path) != data:
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / path).unlink(missing_ok=True)
                (self.folder / path).write_bytes(data)

    def files(self) -> dict[str, bytes]:
        """What lies there now. The program never changes a file in place: the same inode, length and time, the same bytes."""
        found: dict[str, tuple[tuple[int, ...], bytes]] = {}
        for directory, _, names in os.walk(self.folder):
            for name in names:
                place = os.path.join(directory, name)  # noqa: PTH118 - ten thousands of them
                status = os.stat(place)  # noqa: PTH116
                seen = (status.st_ino, status.st_size, status.st_mtime_ns)
                path = place.removeprefix(f"{self.folder}/")
                known = self._known.get(path)
                found[path] = known if known and known[0] == seen else (seen, Path(place).read_bytes())
        self._known = found
        return {path: data for path, (_, data) in found.items()}
