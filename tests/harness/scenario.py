"""What a test of the whole program is made of: the tables of one service, the load into their topics, the oracle.

scenario = Scenario(tmp_path, unique, kafka.bootstrap, on_hdfs(hdfs, unique), [flights_in(table, topic)])
with Stream(kafka.bootstrap, {topic: 4}, some_flights(seed), 200) as load, Running(scenario.config) as run:
    ...                                        the faults: a drill's own
    stored = scenario.end(run, load)
scenario.assert_exactly_once(stored)
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hdfs_native import Client

from tests.harness.program import Finished, command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, raw_table, write_map
from tests.oracle.exact import (
    Acknowledged,
    Content,
    assert_exactly,
    assert_same_bytes,
    assert_settled,
    ends_of,
    flight,
)
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree, LocalTree, Tree

if TYPE_CHECKING:
    from tests.services.hdfs import Hdfs
    from tests.services.hdfs_ha import HdfsHa

Ends = Mapping[tuple[str, int], int]
"""The next offset by topic partition."""


class Run(Protocol):
    """A run under way, watched by itself or by a supervisor."""

    def wait_until(
        self, ready: Callable[[], bool], what: str, seconds: float = ..., pause: float = ...
    ) -> None: ...

    def terminate(self) -> int: ...

    def tail(self) -> str: ...


class Load(Protocol):
    """Records that keep coming."""

    def end(self) -> Acknowledged: ...


@dataclass(frozen=True, slots=True)
class Storage:
    """Where ledgers and tables lie, with what the product is told of it; `tree` reads them without the product."""

    uri: str
    tree: Tree
    properties: Mapping[str, str] = field(default_factory=dict)


def on_disk(folder: Path) -> Storage:
    """Below a local directory."""
    return Storage(f"file://{folder}/disk", LocalTree())


def on_hdfs(hdfs: "Hdfs", name: str, url: str | None = None) -> Storage:
    """`/name`; `url`: of a proxy before the NameNode."""
    url = url or hdfs.namenode_url
    return Storage(f"{url}/{name}", HdfsTree(Client(url, hdfs.client_properties)))


def on_pair(hdfs: "HdfsHa", name: str) -> Storage:
    """`/name` of two NameNodes."""
    return Storage(f"{hdfs.namenode_url}/{name}", HdfsTree(hdfs.client()), hdfs.site_properties)


@dataclass(frozen=True, slots=True)
class DumpedTable:
    """`entry` is its part of the map; `content` is what a payload becomes, None: the payload itself, byte by byte."""

    entry: dict[str, Any]
    content: Content | None

    @property
    def name(self) -> str:
        return str(self.entry["table"])

    def own(self, acknowledged: Acknowledged) -> Acknowledged:
        """The records of its topics."""
        return {place: value for place, value in acknowledged.items() if place[0] in self.entry["topics"]}


def flights_in(table: str, topic: str, content: Content = flight, **options: Any) -> DumpedTable:
    """A table of flights, by month unless `options` and `content` say otherwise."""
    return DumpedTable(flights_table(table, topic, **options), content)


def payloads_in(table: str, topic: str, **options: Any) -> DumpedTable:
    """A table of payloads as they are."""
    return DumpedTable(raw_table(table, topic, **options), None)


class Scenario:
    """One service of these tables; `sections` are further ones of its map. `bootstrap`: the brokers, or the section `kafka`."""

    def __init__(
        self,
        folder: Path,
        service: str,
        bootstrap: str | Mapping[str, str],
        storage: Storage,
        tables: Sequence[DumpedTable],
        **sections: Any,
    ) -> None:
        self.uri, self.tree = storage.uri, storage.tree
        self.tables = {table.name: table for table in tables}
        self.ledgers = {name: LedgerText(self.tree, ledger_root(self.uri), name) for name in self.tables}
        self._folder, self._service, self._bootstrap = folder, service, bootstrap
        self._storage = {"uri": storage.uri, "properties": dict(storage.properties)}
        self.config = self.write_map(**sections)

    def write_map(self, **sections: Any) -> Path:
        """The map anew, with other sections."""
        entries = [table.entry for table in self.tables.values()]
        own = {"storage": self._storage, **sections}
        return write_map(self._folder, self._service, self._bootstrap, self.uri, entries, **own)

    def location(self, table: str) -> str:
        """Where its files lie."""
        return location(self.uri, table)

    def ledgers_of(self, *tables: str) -> list[LedgerText]:
        """Of these tables, or of all."""
        return [self.ledgers[name] for name in tables or self.tables]

    def wait_until_at(self, run: Run, ends: Ends, *tables: str, seconds: float = 900) -> None:
        """Until the newest snapshots of these tables (or of all that read one of these topics) stand exactly there."""
        wanted = {
            name: {place: end for place, end in ends.items() if place[0] in table.entry["topics"]}
            for name, table in self.tables.items()
            if not tables or name in tables
        }
        ledgers = [(self.ledgers[name], own) for name, own in wanted.items() if own]
        run.wait_until(
            lambda: all(ledger.ends() == own for ledger, own in ledgers),
            f"at {dict(ends)}",
            seconds,
            0.2,
        )

    def wait_until_moved(self, run: Run, seconds: float = 900) -> None:
        """Until the newest snapshot of each table stands further than now."""
        before = [(ledger, ledger.ends()) for ledger in self.ledgers_of()]
        run.wait_until(lambda: all(ledger.ends() != ends for ledger, ends in before), "on", seconds, 0.05)

    def wait_for_positions(self, run: Run, *tables: str, seconds: float = 900) -> None:
        """Until each of these tables (or of all) is owned and has read: an epoch may be another's alone."""
        ledgers = self.ledgers_of(*tables)
        run.wait_until(lambda: all(ledger.ends() for ledger in ledgers), "with positions", seconds, 0.2)

    def end(self, run: Run, load: Load) -> Acknowledged:
        """No more load; wait until all of it is read, then SIGTERM. Gives what the brokers acknowledged."""
        stored = load.end()
        self.wait_until_at(run, ends_of(stored))
        assert run.terminate() == 143, run.tail()
        return stored

    def run_once(self) -> Finished:
        """`run --once`, which must reach the end."""
        done = run_once(self.config)
        assert done.code == 0, done.log[-3000:]
        return done

    def recover(self, *arguments: str) -> Finished:
        """`recover`, which must succeed."""
        return _successful("recover", self.config, *arguments)

    def verify(self, *arguments: str) -> Finished:
        """`verify`, which must find nothing."""
        return _successful("verify", self.config, *arguments)

    def assert_exactly_once(
        self, acknowledged: Acknowledged, *tables: str, ends: Ends | None = None
    ) -> dict[str, Counter[str]]:
        """Each record of their topics is one row of these tables, or of all; nothing is pending, staged or unnamed.

        `ends`: where the ledgers stand when that is not right behind the last record. Gives rows by bucket of each table
        that is decoded.
        """
        rows = {}
        for name in tables or self.tables:
            table, place = self.tables[name], self.location(name)
            mine = table.own(acknowledged)
            assert_settled(self.tree, ledger_root(self.uri), name, place, ends or ends_of(mine))
            if table.content is None:
                assert_same_bytes(self.tree, place, mine)
            else:
                rows[name] = assert_exactly(self.tree, place, mine, table.content)
        return rows


def _successful(name: str, config: Path, *arguments: str) -> Finished:
    done = command(name, config, *arguments)
    assert done.code == 0, done.out + done.log[-3000:]
    return done
