"""What Hive must hold for a run: the tables' schemas, the tables themselves, the dead-letter table."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS, DEAD_LETTER_PARTITIONS, DEAD_LETTER_PATH
from kafka2hive.config.keys import Column, ServiceMap, TableRule, TableSettings
from kafka2hive.config.keys.columns import METADATA_TYPES
from kafka2hive.hive.check import alter_statements, alterations, check_table
from kafka2hive.hive.description import TableDescription
from kafka2hive.hive.tables import TableSpec, compared_table, create_statements, describe, partition_columns
from kafka2hive.model.errors import TableError
from kafka2hive.model.metastore import Hive, MetastoreRefused, MetastoreUnavailable, Session, StatementFailed
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.plugins import HiveStorage
from kafka2hive.service.tables.schema_columns import effective_columns
from kafka2hive.service.tables.table_state import MapTable

log = logging.getLogger(__name__)

_TRIES = 3
"""One for the database, one for the table, and one that succeeds."""

_AWAY_SECONDS = 20.0
_AWAY_TIMES = 5.0
"""After an outage, Hive is left alone for this many times as long as the failure took."""

Result = TypeVar("Result")


class Schemas(Protocol):
    """What the map and Hive say of tables (Catalogue)."""

    def resolve(self, table: MapTable) -> TableSettings:
        """Raises TableError, ServiceUnavailable (the schema is Hive's and Hive is away)."""
        ...

    def remember_ledger(self, name: str, ledger_id: str) -> None:
        """The ledger that feeds a table, to be written into the properties of a table that is made."""
        ...

    def doubt(self, name: str) -> None:
        """Hive has refused something of this table: it is asked for again."""
        ...


@dataclass(frozen=True, slots=True)
class ToSend:
    """Hive's table is not the map's yet, and would be after these statements."""

    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the map says of a table in Hive. `create`: a missing one may be made; `alter`: columns may be added."""

    spec: TableSpec
    create: bool
    alter: bool


class Catalogue:
    """`metastore` None: the map names no Hive; then every table needs columns in the map."""

    def __init__(self, service_map: ServiceMap, metastore: Hive | None) -> None:
        self._map = service_map
        self._metastore = metastore
        self._expected = {
            service_map.dead_letters.table: _Expected(
                _dead_letter_spec(service_map), create=True, alter=False
            )
        }
        self._ledgers: dict[str, str] = {}
        self._ensured: set[str] = set()
        self._outage = HiveOutage()

    def resolve(self, table: MapTable) -> TableSettings:
        """What tasks must know of the table. Raises TableError, ServiceUnavailable (the schema is Hive's and Hive is away)."""
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
        )
        self._expected[table.name] = _Expected(spec, rule.create, rule.schema_evolution == "add")
        return rule.resolved(columns, effective.added)

    def ensure(self, name: str) -> None:
        """The table is in Hive and is the one the map describes; asked once a run. For the registrar.

        Raises MetastoreUnavailable, TableError. A name the map does not know is left as it is.
        """
        if name in self._ensured or self._metastore is None or name not in self._expected:
            return
        self.conform(self._metastore.session, name)

    def doubt(self, name: str) -> None:
        self._ensured.discard(name)

    def spec(self, name: str) -> ComparedTable:
        """What the table must be in Hive, as a ledger keeps it. The table is resolved, or that of the dead letters."""
        return compared_table(self.expected(name))

    def compare(self, session: Session, name: str) -> TableDescription | ToSend:
        """Hive's table where it is the map's, else what a run would send. Nothing is sent.

        Raises MetastoreUnavailable, TableError (another table; missing, and not to be made; a question refused).
        """
        expected = self._expected[name]
        spec = expected.spec
        try:
            found = describe(session, name)
        except MetastoreRefused as error:
            raise _refused(name, error) from error
        if found is None:
            if not expected.create:
                raise TableError(
                    "hive.no_table",
                    f"{name} is not in Hive, and the map does not let kafka2hive create it",
                    "create it, or set create: true",
                )
            return ToSend(create_statements(spec, self._ledgers.get(name, "-")))
        if expected.alter and (statements := alter_statements(spec, alterations(spec, found))):
            return ToSend(statements)
        check_table(spec, found)
        self._ensured.add(name)
        return found

    def conform(self, session: Session, name: str) -> TableDescription:
        """Hive's table, which is the map's afterwards: made or altered where it must be, and where the map allows it.

        What was sent twice, or half of it, is mended by the next comparison. Of several who make one database or table at
        once Hive fails all but one, in spite of IF NOT EXISTS: after a failed statement the comparison decides, a few
        times. Raises as `compare`; a statement refused, or failed, too.
        """
        compared = self.compare(session, name)
        for left in reversed(range(_TRIES)):
            if isinstance(compared, TableDescription):
                return compared
            try:
                for statement in compared.statements:
                    session.run(statement)
                    log.info("Hive table %s: %s", name, statement)
            except (MetastoreRefused, StatementFailed) as error:
                if not left and isinstance(error, MetastoreRefused):
                    raise _refused(name, error) from error
                if not left:
                    raise
                log.info("Hive table %s: compared again, another may have made it: %s", name, error)
                compared = self.compare(session, name)
            else:
                compared = self.compare(session, name)
                break
        if isinstance(compared, ToSend):
            raise MetastoreUnavailable(f"{name} in Hive is not as it was made a moment ago")
        return compared

    def expected(self, name: str) -> TableSpec:
        """What the table must be in Hive. The table is resolved, or that of the dead letters."""
        return self._expected[name].spec

    def remember_ledger(self, name: str, ledger_id: str) -> None:
        self._ledgers[name] = ledger_id

    def _columns_in_hive(self, table: MapTable) -> tuple[Column, ...]:
        metastore = self._metastore
        if metastore is None:
            raise TableError(
                "hive.no_schema",
                f"{table.name} has no columns in the map, and the map names no Hive",
                "add columns",
            )
        try:
            found = self._outage.ask(lambda: describe(metastore.session, table.name))
        except MetastoreUnavailable as error:
            raise error.to_error(f"the schema of {table.name}: {error}") from error
        except MetastoreRefused as error:
            raise TableError("hive.refused", f"the schema of {table.name}: {error}") from error
        if found is None:
            raise TableError(
                "hive.no_table",
                f"{table.name} is not in Hive and has no columns in the map",
                "add columns, or create it",
            )
        taken = {name.lower() for _, name in table.rule.metadata}
        return tuple(column for column in found.columns if column.name.lower() not in taken)


def _refused(name: str, error: MetastoreRefused) -> TableError:
    return TableError("hive.refused", f"{name}: {error}", "as Hive says")


def _storage_of(rule: TableRule) -> HiveStorage | None:
    if rule.writer.plugin is None:
        return None
    # code of a package: loaded where a table is written by it
    from kafka2hive.formats.plugin import storage_of

    return storage_of(rule.writer.plugin)


def _dead_letter_spec(service_map: ServiceMap) -> TableSpec:
    dead = service_map.dead_letters
    comment = f"records {service_map.service} could not decode or bucket"
    columns = DEAD_LETTER_COLUMNS, DEAD_LETTER_PARTITIONS
    return TableSpec(dead.table, *columns, dead.location, comment, DEAD_LETTER_PATH)


class HiveOutage:
    """Send one request at a time, and none for a while after an outage.

    So a server that hangs costs one time limit, and not one for each table.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._until = 0.0
        self._why = MetastoreUnavailable()

    def ask(self, question: Callable[[], Result]) -> Result:
        """Return the response. Raises MetastoreUnavailable, during the pause at once and with the reason of the last outage."""
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
