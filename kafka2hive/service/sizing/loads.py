"""The loads of a map's tables, from the rates that a person expects."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.config.keys import ServiceMap, TableRule
from kafka2hive.config.keys.source import change_log_of
from kafka2hive.model.errors import ConfigError
from kafka2hive.service.sizing.model import RecordKind, TableLoad

_EXPECTED = re.compile(
    r"(?P<table>.+)=(?P<records>\d+(\.\d+)?)(,(?P<bytes>[1-9]\d*))?(x(?P<tables>[1-9]\d*))?"
)


@dataclass(frozen=True, slots=True)
class ExpectedLoad:
    """Records a second of each of `tables` tables of one entry of the map; None for bytes: as the kind of records usually has."""

    table: str
    records: float
    record_bytes: int | None = None
    tables: int = 1

    @classmethod
    def parse(cls, text: str) -> "ExpectedLoad":
        """Parse `air.flights=50000`, `air.flights=50000,300` or `raw.{1}=20,80x450`. Raises ConfigError (`usage.load`)."""
        found = _EXPECTED.fullmatch(text)
        if found is None:
            raise ConfigError(
                "usage.load",
                f"{text!r} is no load of a table",
                "write TABLE=RECORDS_A_SECOND, if known with the bytes of a record, and for a pattern with the number of its"
                " tables: air.flights=50000,300 or 'raw.{1}=20,80x450'",
            )
        length = found["bytes"]
        return cls(
            found["table"],
            float(found["records"]),
            (length and int(length)) or None,
            int(found["tables"] or 1),
        )


def loads_of(service_map: ServiceMap, rate: float, expected: Sequence[ExpectedLoad]) -> tuple[TableLoad, ...]:
    """Return the load of each table of the map. Tables without an expected load share `rate`, records a second, evenly.

    Raises ConfigError (`usage.load`) if the map has no such table, or one is named twice.
    """
    by_table = {load.table: load for load in expected}
    names = [rule.table for rule in service_map.tables]
    for load in expected:
        if load.table not in names:
            raise ConfigError(
                "usage.load", f"the map has no table {load.table}", f"the map has {', '.join(names)}"
            )
    if len(by_table) < len(expected):
        raise ConfigError("usage.load", "a table is named twice", "name each table once")
    others = sum(name not in by_table for name in names)
    return tuple(
        _load(rule, by_table.get(rule.table) or ExpectedLoad(rule.table, rate / others))
        for rule in service_map.tables
    )


def _load(rule: TableRule, expected: ExpectedLoad) -> TableLoad:
    kind = _kind(rule)
    return TableLoad(
        name=rule.table,
        records=expected.records,
        record_bytes=expected.record_bytes or kind.usual_bytes,
        kind=kind,
        flush=rule.flush,
        tables=expected.tables,
    )


def _kind(rule: TableRule) -> RecordKind:
    if rule.compression != "none":
        return RecordKind.COMPRESSED
    if rule.format in ("avro", "protobuf"):
        return RecordKind.SCHEMA
    return RecordKind.JSON if change_log_of(rule.source) is None else RecordKind.CHANGES
