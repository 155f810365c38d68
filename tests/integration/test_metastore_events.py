"""The events by which engines learn of partitions (docs/engines.md): a real metastore tells a listener each change.

Its own listener for them, DbNotificationListener, is not published for Hive 4; it is told by the same calls.
"""

from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import Column, MetastoreOptions
from kafka2hive.hive.direct.client import MetastoreClient
from kafka2hive.hive.direct.hive import DirectHive
from kafka2hive.hive.port import NewTable
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.files import HivePartition
from tests.services.hive_server import MetastoreServer
from tests.services.jars import HIVE, ROOT
from tests.services.own_jar import compile_java


class HeardMetastore(MetastoreServer):
    """A metastore with a listener that writes its events into a file."""

    def __init__(self, folder: Path) -> None:
        self._classes = folder / "classes"
        self.events = folder / "events"
        compile_java(HIVE, [ROOT / "tests/services/java/listener/EventLines.java"], self._classes)
        properties = {"hive.metastore.event.listeners": "EventLines"}
        site = {"fs.defaultFS": f"file://{folder}"}
        super().__init__(folder, site, properties, (f"-Devent.lines={self.events}",))

    @property
    def options(self) -> MetastoreOptions:
        """How to call it."""
        return MetastoreOptions((("127.0.0.1", self.metastore_port),), "me", "NONE", 120.0)

    def _more_classes(self) -> list[str]:
        return [*super()._more_classes(), str(self._classes)]


@pytest.mark.timeout(1200)
def test_engines_are_told_of_each_partition_that_is_added_moved_or_dropped(
    tmp_path: Path, unique: str
) -> None:
    place = f"file:{tmp_path}/{unique}/t"
    spec = TableSpec(f"{unique}.t", (Column("a", "int"),), (Column("dt", "string"),), place)
    days = [HivePartition(spec.table, f"dt={day}", f"{place}/dt={day}") for day in range(5)]
    moved = [replace(day, location=f"{day.location}_moved") for day in days]
    with HeardMetastore(tmp_path) as server, closing(DirectHive(MetastoreClient(server.options))) as hive:
        hive.tables.change(NewTable(spec, "ledger"))
        for _ in range(2):  # the second call adds nothing, and is told as such
            hive.add_partitions(days)
        assert dict(hive.set_locations(moved)) == dict.fromkeys(moved)
        assert dict(hive.drop_partitions(days)) == dict.fromkeys(days)
    lines = Counter(server.events.read_text().splitlines())
    assert lines == Counter(
        [
            *(f"ADD t {day} {place}/dt={day}" for day in range(5)),
            *(f"PRESENT t {day} {place}/dt={day}" for day in range(5)),
            *(f"ALTER t {day} {place}/dt={day}_moved" for day in range(5)),
            *(f"DROP t {day} {place}/dt={day}_moved" for day in range(5)),
        ]
    )
