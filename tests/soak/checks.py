"""The oracle of a soak: what each chapter added to the tables is what Kafka got in it, and nothing older has changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.drills.supervised import Supervised
from tests.harness.scenario import Scenario
from tests.oracle.data_files import visible_files
from tests.oracle.exact import Acknowledged, Inexact, assert_exactly, assert_same_bytes, ends_of
from tests.oracle.tree import Tree
from tests.services.hive_server import HiveServer


@dataclass(frozen=True, slots=True)
class Newer:
    """A tree without the files that an earlier check has read. They must be there, with the same length.

    Each directory is listed once, so that what is compared is what the next check need not read.
    """

    tree: Tree
    known: Mapping[str, int]
    _listed: dict[str, dict[str, int]] = field(default_factory=dict)

    def files(self, directory: str) -> dict[str, int]:
        if directory not in self._listed:
            self._listed[directory] = self._list(directory)
        return self._listed[directory]

    def _list(self, directory: str) -> dict[str, int]:
        found = self.tree.files(directory)
        mine = {path: length for path, length in self.known.items() if path.startswith(f"{directory}/")}
        changed = [path for path, length in mine.items() if found.get(path) != length]
        if changed:
            raise Inexact(f"gone or changed since the last check: {changed[:5]}")
        return {path: length for path, length in found.items() if path not in mine}

    def directories(self, directory: str) -> list[str]:
        return self.tree.directories(directory)

    def read(self, path: str) -> bytes:
        return self.tree.read(path)

    def rename(self, source: str, target: str) -> None:
        raise NotImplementedError

    def delete(self, path: str) -> None:
        raise NotImplementedError


@dataclass(slots=True)
class Checks:
    """`by_files`: tables whose files never change. `by_hive`: those that are compacted, which Hive counts."""

    scenario: Scenario
    hive: HiveServer
    by_files: tuple[str, ...]
    by_hive: tuple[str, ...]
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    records: int = 0
    _known: dict[str, int] = field(default_factory=dict)

    def check(self, service: Supervised, stored: Acknowledged) -> None:
        """Wait until everything that Kafka got since the last check is dumped and registered, and compare it."""
        self.ends |= ends_of(stored)
        self.records += len(stored)
        self.scenario.wait_until_at(service, self.ends)
        service.wait_until(self._is_registered, "registered in Hive", 900, 1)
        for name in self.by_files:
            table, place = self.scenario.tables[name], self.scenario.location(name)
            newer = Newer(self.scenario.tree, self._known)
            if table.content is None:
                assert_same_bytes(newer, place, stored)
            else:
                assert_exactly(newer, place, stored, table.content)
            files = newer.files(place)
            self._known |= {path: files[path] for path in visible_files(newer, place)}
        for name in (*self.by_files, *self.by_hive):
            self._count(name)

    def _count(self, table: str) -> None:
        counted = self.hive.query(f"select count(*), count(distinct k_partition, k_offset) from {table}")
        if counted != [(self.records, self.records)]:
            raise Inexact(f"Hive counts {counted} in {table}, Kafka got {self.records}")

    def _is_registered(self) -> bool:
        ledgers = self.scenario.ledgers_of()
        return all(
            not ledger.newest()["unregistered"] and ledger.pending_epoch() is None for ledger in ledgers
        )
