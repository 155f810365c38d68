"""A ledger as an operator reads it with `hdfs dfs -cat`; written from the protocol's text, not from the product's code."""

import hashlib
import json
import time
from itertools import pairwise
from typing import Any

from tests.oracle.tree import Tree

_TAGS = (
    "file",
    "header",
    "position",
    "account",
    "gap",
    "loss",
    "unregistered",
    "registered",
    "withheld",
    "lapsed",
    "compared",
    "forgotten",
    "added",
    "tracking",
    "open",
    "certificate",
    "reopened",
    "order",
    "paused",
    "bounds",
    "replayed",
    "replaying",
    "early",
    "unit",
    "moved",
    "retired",
    "dropped",
    "told",
    "window",
)
_TRIES = 20
Snapshot = dict[str, list[dict[str, Any]]]
"""The objects of a snapshot by their tag."""


class LedgerText:
    """The ledger of one table below a ledger root."""

    def __init__(self, tree: Tree, root: str, table: str) -> None:
        self._tree = tree
        self._place = f"{root}/kafka_partition_offsets/{table}"
        self._archive = f"{root}/archive/{table}"

    def exists(self) -> bool:
        """Some start has made it."""
        return bool(self._tree.directories(self._place))

    def generation(self) -> int:
        """How often the table was taken over."""
        return int(self.directory().rpartition("/")[2].split(".")[0].removeprefix("g"))

    def directory(self) -> str:
        """The only generation directory."""
        (name,) = self._tree.directories(self._place)
        return f"{self._place}/{name}"

    def names(self) -> list[str]:
        """Names of the files in it."""
        return sorted(path.rpartition("/")[2] for path in self._tree.files(self.directory()))

    def unfinished(self) -> list[str]:
        """Everything that is not the snapshot of a finished epoch."""
        return [name for name in self.names() if not name.endswith(".final")]

    def pending_epoch(self) -> int | None:
        """The epoch that is committed and not finished, if there is one; also while a run works or takes over."""
        for _ in range(_TRIES):
            names = self.names()
            finished = [_epoch(name) for name in names if name.endswith(".final")]
            if not finished:
                continue  # taken over between the two listings
            waiting = [_epoch(name) for name in names if name.endswith(".pending")]
            return next((epoch for epoch in waiting if epoch > max(finished)), None)
        raise AssertionError(f"{self._place} changes too fast to be read")

    def newest(self) -> Snapshot:
        """The newest snapshot, finished or pending; also while a run finishes it."""
        for _ in range(_TRIES):
            directory = self.directory()
            names = [path.rpartition("/")[2] for path in self._tree.files(directory)]
            decided = [name for name in names if name.endswith((".final", ".pending"))]
            if not decided:
                continue  # taken over between the two listings
            try:
                return self.read(f"{directory}/{max(decided, key=_epoch)}")
            except FileNotFoundError:
                continue  # renamed between the listing and the read
        raise AssertionError(f"{self._place} changes too fast to be read")

    def ends(self) -> dict[tuple[str, int], int]:
        """The next offset of every topic partition, by the newest snapshot; none before the first start."""
        if not self.exists():
            return {}
        return {(p["topic"], p["number"]): p["end"] for p in self.newest()["position"]}

    def history(self) -> list[Snapshot]:
        """Every finished snapshot from the first, archived ones too; without hole, each naming the one before it.

        Also while a run moves some of them to the archive.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._whole_history()
            except (AssertionError, FileNotFoundError):
                time.sleep(0.05)  # moved between the listings, or between a listing and the read
        return self._whole_history()

    def _whole_history(self) -> list[Snapshot]:
        paths = [
            *(path for path in self._tree.files(self._archive) if path.endswith(".final")),
            *(path for path in self._tree.files(self.directory()) if path.endswith(".final")),
        ]
        by_epoch = {_epoch(path.rpartition("/")[2]): path for path in paths}
        assert sorted(by_epoch) == list(range(len(by_epoch))) and len(by_epoch) == len(paths)
        snapshots = [self.read(by_epoch[epoch]) for epoch in sorted(by_epoch)]
        for before, after in pairwise(snapshots):
            assert after["header"][0]["previous"] == before["checksum"][0]["of"]
        return snapshots

    def read(self, path: str) -> Snapshot:
        """The objects of one snapshot; its checksum and first line are right."""
        return objects_of(self._tree.read(path))


def objects_of(data: bytes) -> Snapshot:
    """The objects of a snapshot's text. Raises AssertionError: its checksum or its first line is wrong."""
    body, _, checksum = data.removesuffix(b"\n").rpartition(b"\n")
    whole = hashlib.sha256(body + b"\n").hexdigest()
    assert checksum.decode() == f"checksum sha256:{whole}"
    first, *lines = body.decode().split("\n")
    found: Snapshot = {tag: [] for tag in _TAGS}
    found["checksum"] = [{"of": f"sha256:{whole}"}]
    for line in lines:
        tag, _, value = line.partition(" ")
        found[tag].append(json.loads(value))
    assert first.split("\t") == ([file["final"] for file in found["file"]] or ["-"])
    return found


def _epoch(name: str) -> int:
    return int(name.split(".")[0].removeprefix("e"))
