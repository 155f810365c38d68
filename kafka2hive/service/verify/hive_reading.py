"""The audit of how Hive reads a table's files: its description of the table, and of each partition with files. It only reads.

A file is judged by how it was written: the ledger records how the map described the table when its snapshot was committed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafka2hive.hive.check import check_partition
from kafka2hive.hive.port import Tables
from kafka2hive.hive.tables import TableSpec, spec_as_compared
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.verify.hive_partitions import Locations
from kafka2hive.service.verify.result import Finding

_CODE = "verify.reading"
_Expected = dict[tuple[str, str], tuple[TableSpec, ...]]


@dataclass(frozen=True, slots=True)
class HiveReading:
    """How Hive reads the map's `tables`, as `in_hive` describes them."""

    tables: MapTables
    in_hive: Tables

    def audit_tables(self, finals: Sequence[Snapshot]) -> list[Finding]:
        """Compare the tables of the files with the map. Raises MetastoreUnavailable, ServiceUnavailable."""
        findings = []
        for name in sorted({file.hive_partition.table for snapshot in finals for file in snapshot.files}):
            try:
                if self._resolve(name):
                    self.tables.catalogue.compare(self.in_hive, name)
            except TableError as error:
                findings.append(Finding(_CODE, name, error.message.removeprefix(f"{name}: ")))
        return findings

    def partitions(self, finals: Sequence[Snapshot], locations: Locations) -> "DescribedPartitions":
        """Return the partitions' locations, each compared with its files when it is looked up."""
        return DescribedPartitions(locations, self.in_hive, self._expected(finals))

    def _expected(self, finals: Sequence[Snapshot]) -> _Expected:
        """Return how the files of each partition were written, by its table and path."""
        expected: _Expected = {}
        for snapshot in finals:
            records = {record.table: record for record in snapshot.compared}
            specs = {
                name: spec
                for name, record in records.items()
                if self.tables.catalogue.is_resolved(name)
                and (spec := spec_as_compared(self.tables.catalogue.expected(name), record)) is not None
            }
            for file in snapshot.files:
                spec = specs.get(file.hive_partition.table)
                known = expected.get(file.hive_partition.name, ())
                if spec is not None and spec not in known:
                    expected[file.hive_partition.name] = (*known, spec)
        return expected

    def _resolve(self, name: str) -> bool:
        """Return whether the map has the table, whose description is then known. Raises TableError, ServiceUnavailable."""
        if not self.tables.catalogue.is_resolved(name) and name in self.tables.by_name:
            self.tables.catalogue.resolve(self.tables.by_name[name])
        return self.tables.catalogue.is_resolved(name)


@dataclass(frozen=True, slots=True)
class DescribedPartitions:
    """Looks partitions up by their descriptions, so that each is asked for once. `findings` are about those looked up."""

    _locations: Locations
    _in_hive: Tables
    _expected: Mapping[tuple[str, str], tuple[TableSpec, ...]]
    findings: list[Finding] = field(default_factory=list)

    def location(self, partition: HivePartition) -> str | None:
        """Return the partition's location in Hive, None if it is not registered. Raises as Metastore's."""
        specs = self._expected.get(partition.name, ())
        if not specs:
            return self._locations.location(partition)
        description = self._in_hive.describe_partition(partition.table, partition.path)
        if description is None:
            return None
        for spec in specs:
            try:
                check_partition(spec, partition.path, description)
            except TableError as error:
                finding = Finding(_CODE, " ".join(partition.name), error.message)
                if finding not in self.findings:
                    self.findings.append(finding)
        return description.location
