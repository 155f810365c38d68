"""What `kafka2hive size` adds up for some services, for docs/sizing.md."""

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.service.sizing.model import RecordKind, TableLoad, cost_of

_AUTO = Flush(max_interval_seconds=600.0)
_SMALL = 20.0
"""Records a second of a table that `flush: auto` lets wait for ten minutes."""


def _load(records: float, tables: int, kind: RecordKind, flush: Flush | None = None) -> TableLoad:
    return TableLoad("t", records, kind.usual_bytes, kind, flush or Flush(), tables=tables)


def _with_small_tables(records: float, large: int, small: int) -> list[TableLoad]:
    """`records` a second of Avro, of which the small tables get a few each."""
    busy = _load((records - small * _SMALL) / large, large, RecordKind.SCHEMA, _AUTO)
    return [busy, _load(_SMALL, small, RecordKind.SCHEMA, _AUTO)]


_SERVICES = {
    "10 tables, 50,000 records/s of JSON, every 60 s": [_load(5_000, 10, RecordKind.JSON)],
    "500 tables, 200,000 records/s of Avro, every 60 s": [_load(400, 500, RecordKind.SCHEMA)],
    "the same, 450 of them small, `flush: auto`": _with_small_tables(200_000, 50, 450),
    "5,000 tables, 1,000,000 records/s of Avro, every 60 s": [_load(200, 5_000, RecordKind.SCHEMA)],
    "the same, 4,900 of them small, `flush: auto`": _with_small_tables(1_000_000, 100, 4_900),
    "100 tables, 40,000,000 records/s of JSON (1 PB a day)": [_load(400_000, 100, RecordKind.JSON)],
}


def sums() -> str:
    """Return a row for each service."""
    rows = []
    for service, loads in _SERVICES.items():
        cost = cost_of(loads, Limits(), trigger_seconds=10.0)
        rows.append(
            f"| {service} | {cost.busy_cores:.2f} | {cost.cores} | {cost.memory / 1e9:.1f} GB"
            f" | {cost.namenode_calls_per_second:,.0f} a second | {cost.files_per_day:,.0f} | {cost.services} |"
        )
    head = "| service | busy cores | cores | memory | NameNode calls | files a day | services |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *rows, ""])
