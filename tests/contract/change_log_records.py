"""Records of change logs as their tools document them, written by hand (no database was captured); keys no column takes stay.

Debezium's documentation of its connectors for PostgreSQL, MySQL, SQL Server and Oracle ("data change events"), and Maxwell's
of its "data format". Each with the row, the letter of its operation, its time and its position.
"""

from dataclasses import dataclass
from typing import Any

from kafka2hive.config.keys import ChangeLog

ROW = {"id": 1004, "name": "Anne", "total": "12.50", "day": 15_706}
BEFORE = {"id": 1004, "name": None, "total": "1.00", "day": 15_706}
SAME = (1004, "Anne", "12.50", "2013-01-01")
WAS = (1004, None, "1.00", "2013-01-01")
NOTHING = (None, None, None, None)

_POSTGRES = {
    "version": "3.0.0.Final",
    "connector": "postgresql",
    "name": "shop",
    "ts_ms": 1_559_033_904_863,
    "snapshot": "false",
    "db": "postgres",
    "sequence": '["24023119","24023128"]',
    "schema": "public",
    "table": "customers",
    "txId": 555,
    "lsn": 24_023_128,
    "xmin": None,
}
_MYSQL = {
    "version": "3.0.0.Final",
    "connector": "mysql",
    "name": "shop",
    "ts_ms": 1_465_581_029_100,
    "snapshot": "false",
    "db": "inventory",
    "table": "customers",
    "server_id": 223_344,
    "gtid": None,
    "file": "mysql-bin.000003",
    "pos": 484,
    "row": 0,
    "thread": 7,
    "query": None,
}
_SQLSERVER = {
    "version": "3.0.0.Final",
    "connector": "sqlserver",
    "name": "shop",
    "ts_ms": 1_559_729_995_937,
    "snapshot": "false",
    "db": "testDB",
    "schema": "dbo",
    "table": "customers",
    "change_lsn": "00000027:00000ac0:0002",
    "commit_lsn": "00000027:00000ac0:0007",
    "event_serial_no": "1",
}
_ORACLE = {
    "version": "3.0.0.Final",
    "name": "shop",
    "ts_ms": 1_520_085_811_000,
    "txId": "6.28.807",
    "scn": "2122185",
    "commit_scn": "2122185",
    "rs_id": "001234.00012345.0124",
    "ssn": 1,
    "snapshot": "false",
}
_SCHEMA = {
    "type": "struct",
    "optional": False,
    "name": "shop.Envelope",
    "fields": [{"type": "string", "field": "op"}],
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """`row`: id, name, total, day as text."""

    name: str
    log: ChangeLog
    record: dict[str, Any]
    row: tuple[Any, ...]
    operation: str
    time_ms: int
    position: str | None


def debezium(
    op: str, before: Any, after: Any, source: dict[str, Any], ts_ms: int = 1_559_033_904_961
) -> dict[str, Any]:
    more = {
        "ts_us": ts_ms * 1000,
        "ts_ns": ts_ms * 1_000_000,
        "transaction": {"id": "555:24023128", "total_order": 1},
    }
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": ts_ms, **more}


def _debezium(name: str, row: Any, position: str | None, *change: Any) -> Recorded:
    record = debezium(*change)
    return Recorded(name, ChangeLog.DEBEZIUM, record, row, record["op"], record["ts_ms"], position)


def _maxwell(name: str, kind: str, operation: str, position: str | None, **more: Any) -> Recorded:
    head = {
        "database": "shop",
        "table": "customers",
        "type": kind,
        "ts": 1_449_786_310,
        "xid": 940_752,
        "commit": True,
    }
    record = {**head, **({"position": position} if position else {}), **more}
    return Recorded(name, ChangeLog.MAXWELL, record, SAME, operation, 1_449_786_310_000, position)


_LSN = "00000000000024023128"
_IN_FILE = "mysql-bin.000003:00000000000000000484:0000000000"
RECORDS = [
    _debezium("postgres create", SAME, _LSN, "c", None, ROW, _POSTGRES),
    _debezium("postgres snapshot", SAME, _LSN, "r", None, ROW, {**_POSTGRES, "snapshot": "true"}),
    _debezium("postgres update", SAME, _LSN, "u", BEFORE, ROW, _POSTGRES),
    _debezium("the row before an update is nobody's", SAME, _LSN, "u", {"id": "x"}, ROW, _POSTGRES),
    _debezium("postgres delete", WAS, _LSN, "d", BEFORE, None, _POSTGRES),
    _debezium("postgres delete, its row not logged", NOTHING, _LSN, "d", None, None, _POSTGRES),
    _debezium("postgres truncate", NOTHING, _LSN, "t", None, None, _POSTGRES),
    _debezium("mysql create", SAME, _IN_FILE, "c", None, ROW, _MYSQL),
    _debezium("mysql delete", WAS, _IN_FILE, "d", BEFORE, None, _MYSQL),
    _debezium(
        "sqlserver update",
        SAME,
        "00000027:00000ac0:0007:00000027:00000ac0:0002:0000000001",
        *("u", BEFORE, ROW, _SQLSERVER),
    ),
    _debezium("oracle create", SAME, "00000000000002122185", "c", None, ROW, _ORACLE),
    _debezium("a source without a position", SAME, None, "c", None, ROW, {"connector": "other"}),
    _debezium("a row of nulls", NOTHING, "00000000000024023128", "c", None, dict.fromkeys(ROW), _POSTGRES),
    _debezium("a row of other keys", NOTHING, "00000000000024023128", "u", BEFORE, {"x": 1}, _POSTGRES),
    _debezium("an empty row", NOTHING, None, "c", None, {}, {}),
    _maxwell("maxwell insert", "insert", "c", "mysql-bin.000003:484", data=ROW),
    _maxwell("maxwell update", "update", "u", None, data=ROW, old={"name": None}),
    _maxwell("maxwell delete", "delete", "d", None, data=ROW),
    _maxwell("maxwell bootstrap", "bootstrap-insert", "r", None, data=ROW),
]

# (name, log, record, code of the dead letter)
REFUSED: list[tuple[str, ChangeLog, Any, str]] = [
    ("an unknown operation", ChangeLog.DEBEZIUM, debezium("x", None, ROW, _POSTGRES), "change_log.op"),
    ("a row without envelope", ChangeLog.DEBEZIUM, ROW, "change_log.op"),
    ("a row of the key of a heartbeat and more", ChangeLog.DEBEZIUM, {"ts_ms": 1, "id": 2}, "change_log.op"),
    ("a row with a status and an id", ChangeLog.DEBEZIUM, {"status": "OPEN", "id": "1"}, "change_log.op"),
    (
        "a row of more than a transaction",
        ChangeLog.DEBEZIUM,
        {"status": "END", "id": "1", "total": "1.00"},
        "change_log.op",
    ),
    (
        "an update without its row",
        ChangeLog.DEBEZIUM,
        debezium("u", BEFORE, None, _POSTGRES),
        "change_log.row",
    ),
    ("an image that is no object", ChangeLog.DEBEZIUM, debezium("c", None, 5, _POSTGRES), "json.type"),
    ("a wrong value", ChangeLog.DEBEZIUM, debezium("c", None, {"id": "x"}, _POSTGRES), "json.type"),
    ("a wrong value before", ChangeLog.DEBEZIUM, debezium("d", {"id": "x"}, None, _POSTGRES), "json.type"),
    ("maxwell's unknown type", ChangeLog.MAXWELL, {"type": "table-check", "ts": 1}, "change_log.op"),
    (
        "a mark of maxwell with a row",
        ChangeLog.MAXWELL,
        {"type": "bootstrap-start", "ts": 1, "data": ROW},
        "change_log.op",
    ),
    ("maxwell without data", ChangeLog.MAXWELL, {"type": "insert", "ts": 1}, "change_log.row"),
    ("a time beyond all", ChangeLog.MAXWELL, {"type": "insert", "ts": 2**62, "data": ROW}, "change_log.time"),
]

_SCHEMA_CHANGE = {
    "source": _MYSQL,
    "ts_ms": 1_465_581_029_100,
    "databaseName": "inventory",
    "schemaName": None,
    "tableChanges": [],
}
_MAXWELL_DDL = {"database": "shop", "table": "customers", "ts": 1_477_053_217_000, "def": {"columns": []}}

# (name, log, record, kind of the mark)
MARKS: list[tuple[str, ChangeLog, Any, str]] = [
    ("a heartbeat", ChangeLog.DEBEZIUM, {"ts_ms": 1_559_033_904_863}, "heartbeat"),
    ("a heartbeat with finer times", ChangeLog.DEBEZIUM, {"ts_ms": 1, "ts_us": 1_000}, "heartbeat"),
    ("a message", ChangeLog.DEBEZIUM, debezium("m", None, None, _POSTGRES) | {"message": {}}, "message"),
    ("an old begin", ChangeLog.DEBEZIUM, {"status": "BEGIN", "id": "571:53195829"}, "transaction"),
    (
        "an end",
        ChangeLog.DEBEZIUM,
        {
            "status": "END",
            "id": "571:53195829",
            "ts_ms": 1_486_500_577_691,
            "event_count": 2,
            "data_collections": [{"data_collection": "s1.a", "event_count": 2}],
        },
        "transaction",
    ),
    (
        "a change of the schema",
        ChangeLog.DEBEZIUM,
        _SCHEMA_CHANGE | {"ddl": "ALTER TABLE c ADD x INT"},
        "schema_change",
    ),
    ("a dropped table", ChangeLog.DEBEZIUM, _SCHEMA_CHANGE | {"ddl": "DROP TABLE `c`"}, "removal"),
    (
        "maxwell's start of a bootstrap",
        ChangeLog.MAXWELL,
        {"type": "bootstrap-start", "ts": 1, "data": {}},
        "bootstrap",
    ),
    (
        "maxwell's end of a bootstrap",
        ChangeLog.MAXWELL,
        {"type": "bootstrap-complete", "ts": 1, "data": {}},
        "bootstrap",
    ),
    ("maxwell's heartbeat", ChangeLog.MAXWELL, {"type": "heartbeat", "ts": 1, "data": {}}, "heartbeat"),
    (
        "maxwell's alter",
        ChangeLog.MAXWELL,
        _MAXWELL_DDL | {"type": "table-alter", "sql": "alter table customers add x int"},
        "schema_change",
    ),
    (
        "maxwell's partitions",
        ChangeLog.MAXWELL,
        _MAXWELL_DDL | {"type": "table-alter", "sql": "ALTER TABLE c\nTRUNCATE PARTITION p0"},
        "removal",
    ),
    (
        "maxwell's drop",
        ChangeLog.MAXWELL,
        _MAXWELL_DDL | {"type": "table-drop", "sql": "drop table customers"},
        "removal",
    ),
]


def with_schema(record: Any) -> dict[str, Any]:
    """As JSON converters write it by default."""
    return {"schema": _SCHEMA, "payload": record}
