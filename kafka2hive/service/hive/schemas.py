"""The tables that a map requires in Hive: resolve them to settings for tasks, compare, create and alter them in Hive."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS, DEAD_LETTER_PARTITIONS, DEAD_LETTER_PATH
from kafka2hive.config.keys import Column, ServiceMap, TableRule, TableSettings
from kafka2hive.config.keys.columns import METADATA_TYPES, MetadataColumn
from kafka2hive.config.keys.source import ChangeLog, change_log_of
from kafka2hive.config.mask_keys import read_mask_keys
from kafka2hive.hive.check import alterations, check_table, check_types
from kafka2hive.hive.description import TableDescription, TableKind
from kafka2hive.hive.latest_view import LatestView, marked_columns
from kafka2hive.hive.port import AlteredColumns, Hive, NewTable, NewView, TableChange, Tables
from kafka2hive.hive.tables import (
    TableSpec,
    compared_table,
    partition_columns,
    select_of,
    view_fingerprint,
    view_name,
)
from kafka2hive.model.errors import ConfigError, TableError
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable, StatementFailed
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.plugins import HiveStorage
from kafka2hive.service.hive.schema_columns import effective_columns
from kafka2hive.service.tables.ledgers import known_states, ledger_tables
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.routes import routed_by_ledgers
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Denied, FileSystem, StorageError

log = logging.getLogger(__name__)

STALL_SECONDS = 300.0

_TRIES = 3
"""The tries of a set of changes: the database and the table may each fail once, because another process creates them."""

_AWAY_SECONDS = 20.0
_AWAY_TIMES = 5.0
"""After an outage, requests pause for this many times the duration of the failure, and at least for _AWAY_SECONDS."""

Result = TypeVar("Result")


class Schemas(Protocol):
    """The source of tables' settings: the map and Hive (see Catalogue)."""

    def resolve(self, table: MapTable) -> TableSettings:
        """Return the table's settings for tasks. Raises TableError, ServiceUnavailable (Hive is unreachable)."""
        ...

    def remember_ledger(self, name: str, ledger_id: str) -> None:
        """Note the ledger that feeds a table; if the table is created in Hive, its properties name it."""
        ...

    def doubt(self, name: str) -> None:
        """Let this table be compared with Hive's again before its next use, because Hive has refused a request about it."""
        ...

    def forget(self, name: str) -> None:
        """Forget a table that a reload has removed or changed; `resolve` makes it known again."""
        ...


@dataclass(frozen=True, slots=True)
class TableChanges:
    """The changes after which Hive's table would match the map, and their HiveQL.

    `new_directory` is that of a table that Hive lacks.
    """

    changes: tuple[TableChange, ...]
    statements: tuple[str, ...]
    new_directory: str | None = None


@dataclass(frozen=True, slots=True)
class _Expected:
    """A table that the map requires in Hive, and whether kafka2hive may `create` it or `alter` it by adding columns."""

    spec: TableSpec
    create: bool
    alter: bool


class Catalogue:
    """The tables that a map requires in Hive. Without Hive (`metastore` is None), every table needs columns in the map.

    `files` is for those who create tables: a directory that HiveServer2 creates may belong to HiveServer2's user, and then
    the service cannot move a file into it. So the directory of a new table, which the dead-letter table lacks until its
    first file, is created before the table.
    """

    def __init__(
        self, service_map: ServiceMap, metastore: Hive | None, files: FileSystem | None = None
    ) -> None:
        self._map = service_map
        self._metastore = metastore
        self._files = files
        self._expected = {
            service_map.dead_letters.table: _Expected(
                _dead_letter_spec(service_map), create=True, alter=False
            )
        }
        self._left: set[str] = set()
        self._ledgers: dict[str, str] = {}
        self._ensured: set[str] = set()
        self._created: dict[str, str] = {}
        self._outage = HiveOutage()

    def resolve(self, table: MapTable) -> TableSettings:
        """Return the table's settings for tasks, and note the Hive table that they require.

        Raises TableError, ServiceUnavailable (the columns are in Hive, which does not answer).
        """
        rule = table.rule
        effective = effective_columns(rule, rule.columns or self._columns_in_hive(table), table.added)
        columns = effective.columns
        metadata = tuple(Column(name, METADATA_TYPES[kind]) for kind, name in rule.metadata)
        path, comment = rule.bucketing.path, f"dumped by {self._map.service}"
        partitions = partition_columns(path)
        spec = TableSpec(
            table=table.name,
            columns=columns + metadata,
            partition_columns=partitions,
            location=table.location,
            comment=comment,
            bucket_path=path,
            format=rule.writer.format,
            text=rule.writer.text,
            storage=_storage_of(rule),
            latest=_latest_of(rule, columns),
        )
        self._left.discard(table.name)
        self._expected[table.name] = _Expected(spec, rule.create, rule.schema_evolution == "add")
        return rule.settings(columns, effective.added)

    def ensure(self, name: str) -> None:
        """Make Hive's table match the map, once per run. A name that was not resolved is ignored. The registrar calls it.

        Raises MetastoreUnavailable, TableError.
        """
        if name in self._ensured or self._metastore is None or name not in self._expected:
            return
        self.conform(self._metastore.tables, name)

    def doubt(self, name: str) -> None:
        self._ensured.discard(name)
        self._created.pop(name, None)

    def forget(self, name: str) -> None:
        self._left.add(name)  # a comparison under way in another thread must not make it known again
        self.doubt(name)
        self._ledgers.pop(name, None)

    def spec(self, name: str) -> ComparedTable:
        """Return the table that the map requires, as a snapshot records it, with the time of creation that Hive last gave."""
        return replace(compared_table(self.expected(name)), created=self._created.get(name, ""))

    @property
    def compared(self) -> Collection[str]:
        """The tables that have matched Hive's in this run."""
        return tuple(self._created)

    def compare(self, tables: Tables, name: str) -> TableDescription | TableChanges:
        """Return Hive's table if it matches the map, otherwise the changes that a run would make. TableChanges nothing in Hive.

        Raises MetastoreUnavailable, TableError (the table does not match, is missing and may not be created, or Hive
        refuses the query).
        """
        expected = self._expected[name]
        spec = expected.spec
        try:
            description = tables.describe(name)
        except MetastoreRefused as error:
            raise _refusal(name, error) from error
        if description is None:
            if not expected.create:
                raise TableError(
                    "hive.no_table",
                    f"{name} does not exist in Hive, and the map does not let kafka2hive create it",
                    "create the table, or set create: true in the map",
                )
            created = NewTable(spec, self._ledgers.get(name, "-"))
            return _changes(tables, created, *_views(spec), new_directory=spec.location)
        if expected.alter and (altered := alterations(spec, description)):
            return _changes(tables, AlteredColumns(spec, description, altered), *_views(spec))
        check_table(spec, description)
        if not self._has_view(tables, spec):
            return _changes(tables, *_views(spec))
        if name not in self._left:
            self._ensured.add(name)
            self._created[name] = description.created
        return description

    def _has_view(self, tables: Tables, spec: TableSpec) -> bool:
        """Return whether Hive has the view that the map wants; true if the map wants none. Raises as `compare` does."""
        if spec.latest is None:
            return True
        name = view_name(spec.table)
        try:
            view = tables.describe(name)
        except MetastoreRefused as error:
            raise _refusal(name, error) from error
        if view is not None and view.kind is not TableKind.VIEW:
            raise TableError(
                "hive.not_a_view",
                f"{name}, the view of {spec.table}'s newest states, is a {view.kind.value} in Hive",
                "rename that table in Hive, or remove `latest` from the map",
            )
        return view is not None and view.latest == view_fingerprint(select_of(spec))

    def conform(self, tables: Tables, name: str) -> TableDescription:
        """Create or alter Hive's table so that it matches the map, if the map allows that, and return the table.

        A crash may leave some of the changes done; the next call compares again and sends the rest. If several processes
        create a database or table at the same time, only one succeeds despite IF NOT EXISTS; so after a failed change the
        table is compared again, up to _TRIES times. Raises what `compare` raises, also if a change is refused or fails.
        """
        compared = self.compare(tables, name)
        for more_tries in reversed(range(_TRIES)):
            if isinstance(compared, TableDescription):
                return compared
            self._make_directory(name, compared.new_directory)
            try:
                for change in compared.changes:
                    for statement in tables.change(change):
                        log.info("Hive table %s: %s", name, statement)
            except (MetastoreRefused, StatementFailed) as error:
                if not more_tries:
                    raise _refusal(name, error) from error
                log.info(
                    "Hive table %s: a change failed, perhaps because another process made it first; comparing again: %s",
                    name,
                    error,
                )
                compared = self.compare(tables, name)
            else:
                compared = self.compare(tables, name)
                break
        if isinstance(compared, TableChanges):
            raise MetastoreUnavailable(
                f"{name} in Hive still differs from the map, although Hive accepted the changes"
            )
        return compared

    def _make_directory(self, name: str, path: str | None) -> None:
        if self._files is None or path is None:
            return
        try:
            self._files.mkdirs(path)
        except StorageError as error:
            message = f"{name}: its directory {path} must exist before its table in Hive: {error}"
            if isinstance(error, Denied):
                remedy = error.remedy or "grant the user of the service read, write and execute there"
                raise TableError("storage.denied", message, remedy) from error
            raise TableError(
                "storage.unavailable", message, error.remedy or "is the NameNode up, and is there room?"
            ) from error

    def is_resolved(self, name: str) -> bool:
        """Return whether `resolve` has succeeded for the table; the dead-letter table needs no call."""
        return name in self._expected

    def expected(self, name: str) -> TableSpec:
        """Return the table that the map requires in Hive. `resolve` must have been called, except for the dead-letter table."""
        return self._expected[name].spec

    def remember_ledger(self, name: str, ledger_id: str) -> None:
        self._ledgers[name] = ledger_id

    def _columns_in_hive(self, table: MapTable) -> tuple[Column, ...]:
        metastore = self._metastore
        if metastore is None:
            raise TableError(
                "hive.no_schema",
                f"{table.name} has no columns in the map, and the map has no hive section to read them from",
                "add columns to the map",
            )
        try:
            description = self._outage.ask(lambda: metastore.tables.describe(table.name))
        except MetastoreUnavailable as error:
            raise error.to_error(f"the schema of {table.name}: {error}") from error
        except MetastoreRefused as error:
            raise TableError("hive.refused", f"the schema of {table.name}: {error}") from error
        if description is None:
            raise TableError(
                "hive.no_table",
                f"{table.name} does not exist in Hive and has no columns in the map",
                "add columns to the map, or create the table",
            )
        taken = {name.lower() for _, name in table.rule.metadata}
        columns = tuple(column for column in description.columns if column.name.lower() not in taken)
        check_types(table.name, columns)
        return columns


class MapTables:
    """The map's tables for a command that decodes records without a run, each resolved on demand.

    Hive is asked only about tables whose columns are not in the map.
    """

    def __init__(self, wiring: Wiring, metastore: Hive | None) -> None:
        self._wiring = wiring
        self.catalogue = Catalogue(wiring.map, metastore, wiring.ports.files)

    def settings(self, name: str) -> TaskSettings:
        """Return a task's settings with this table. Raises ConfigError (not in the map), TableError, ServiceUnavailable."""
        table = self.by_name.get(name)
        if table is None:
            raise ConfigError(
                "refetch.no_rule",
                f"{name} is not in the map, so its columns are unknown",
                "use the map with which the table was written",
            )
        settings = replace(self.catalogue.resolve(table), schema_evolution="ignore")
        return task_settings(self._wiring.map, {name: settings})

    @cached_property
    def by_name(self) -> dict[str, MapTable]:
        """The map's tables by name, with the topics in their ledgers' positions."""
        wiring = self._wiring
        states = known_states(wiring, ledger_tables(wiring))
        added = {state.table: state.added for state in states}
        return {
            name: MapTable(routed.rule, wiring.paths(name), routed.topics, added=added.get(name, ()))
            for name, routed in routed_by_ledgers(wiring, states).items()
        }


def task_settings(service_map: ServiceMap, tables: dict[str, TableSettings]) -> TaskSettings:
    """Return the settings for tasks. `tables` is not copied, so a table that is added later reaches the next epoch's tasks.

    Raises ConfigError (the key of a mask).
    """
    return TaskSettings(
        kafka=service_map.kafka.properties,
        storage=service_map.storage,
        tables=tables,
        dead_letter_table=service_map.dead_letters.table,
        dead_letter_location=service_map.dead_letters.location,
        dead_letter_timestamps=service_map.dead_letters.timestamps,
        file_bytes=service_map.limits.file_bytes,
        open_files=service_map.limits.open_files,
        memory_bytes=service_map.limits.task_memory_bytes,
        dead_letter_payload=service_map.dead_letters.payload or "keep",
        mask_keys=read_mask_keys(service_map),
        registry=service_map.registry,
        stall_seconds=STALL_SECONDS,
        clusters=tuple((name, options.properties) for name, options in service_map.kafka_clusters),
    )


def _refusal(name: str, error: MetastoreRefused | StatementFailed) -> TableError:
    return TableError("hive.refused", f"{name}: {error}", "do what Hive's message asks for")


def _changes(tables: Tables, *changes: TableChange, new_directory: str | None = None) -> TableChanges:
    """Return the changes with their HiveQL. Raises MetastoreUnavailable."""
    statements = tuple(statement for change in changes for statement in tables.statements(change))
    return TableChanges(changes, statements, new_directory)


def _views(spec: TableSpec) -> tuple[NewView, ...]:
    return () if spec.latest is None else (NewView(spec),)


def _storage_of(rule: TableRule) -> HiveStorage | None:
    if rule.writer.plugin is None:
        return None
    # imported here, because it loads the plug-in's package
    from kafka2hive.formats.plugin import storage_of

    return storage_of(rule.writer.plugin)


def _latest_of(rule: TableRule, columns: Sequence[Column]) -> LatestView | None:
    """Return the view of the newest states that the map wants; the map's check has made sure that it has the metadata."""
    if rule.latest is None:
        return None
    metadata = dict(rule.metadata)
    several = change_log_of(rule.source) is ChangeLog.CANAL
    return LatestView(
        key=rule.latest.key,
        order=rule.latest.order,
        partition=metadata[MetadataColumn.PARTITION],
        offset=metadata[MetadataColumn.OFFSET],
        ordinal=metadata[MetadataColumn.ORDINAL] if several else None,
        marked=marked_columns(columns, rule.latest.key, rule.latest.order),
    )


def _dead_letter_spec(service_map: ServiceMap) -> TableSpec:
    dead = service_map.dead_letters
    comment = f"records {service_map.service} could not decode or bucket"
    columns = DEAD_LETTER_COLUMNS, DEAD_LETTER_PARTITIONS
    return TableSpec(dead.table, *columns, dead.location, comment, DEAD_LETTER_PATH)


class HiveOutage:
    """Sends one request at a time, and pauses after an outage, so that a hung server costs one time limit, not one per table."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._until = 0.0
        self._why = MetastoreUnavailable()

    def ask(self, question: Callable[[], Result]) -> Result:
        """Return the response. Raises MetastoreUnavailable; during a pause at once, with the text of the last outage."""
        with self._lock:
            began = self._now()
            if began < self._until:
                raise type(self._why)(str(self._why))
            try:
                return question()
            except MetastoreUnavailable as error:
                ended = self._now()
                self._until = ended + max(_AWAY_SECONDS, _AWAY_TIMES * (ended - began))
                self._why = error
                raise
