"""Small maps of services, written as a user would."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.services.jars import IS_OLD_HIVE

FLIGHT_COLUMNS = {
    **dict.fromkeys(("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay"), "bigint"),
    **dict.fromkeys(("arr_time", "sched_arr_time", "arr_delay"), "bigint"),
    **dict.fromkeys(("flight", "air_time", "distance", "hour", "minute"), "bigint"),
    **dict.fromkeys(("carrier", "tailnum", "origin", "dest"), "string"),
    "time_hour": "timestamp",
}
PLACE = {"topic": "k_topic", "partition": "k_partition", "offset": "k_offset"}
EVERY_MONTH = {"field": "time_hour", "path": "dt=%Y-%m"}


def flights_table(name: str, topic: str, **options: Any) -> dict[str, Any]:
    """A table of flights, bucketed by the month of their hour."""
    table = {
        "table": name,
        "topics": [topic],
        "start": "earliest",
        "columns": FLIGHT_COLUMNS,
        "metadata": PLACE,
        "bucket": EVERY_MONTH,
        "flush": {"interval": "1s"},
    }
    return {key: value for key, value in (table | options).items() if value is not None}


def raw_table(name: str, topic: str, **options: Any) -> dict[str, Any]:
    """A table of payloads as they are, bucketed by the month of Kafka's timestamp."""
    own = {"format": "raw", "columns": None, "bucket": {"path": "dt=%Y-%m"}}
    return flights_table(name, topic, **(own | options))


def write_map(
    folder: Path,
    service: str,
    kafka: str | Mapping[str, str],
    uri: str,
    tables: list[dict[str, Any]],
    **sections: Any,
) -> Path:
    """`<folder>/<service>.yaml`; ledgers at `<uri>/kafka2hive`, tables at `<uri>/warehouse/<db>.db/<table>`.

    `kafka` is the brokers' addresses, or the whole section.
    """
    document = {
        "service": service,
        "kafka": {"bootstrap.servers": kafka} if isinstance(kafka, str) else dict(kafka),
        "storage": {"uri": uri},
        "trigger": "500ms",
        "run_directory": str(folder / f"run-{service}"),
        **sections,
        "tables": [_readable(table) for table in tables] if IS_OLD_HIVE else tables,
    }
    path = folder / f"{service}.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _readable(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table with a writer whose files Hive before 4 reads: no codec zstd, no Parquet timestamps in INT64."""
    writer = table.get("writer", {})
    old = {
        "parquet": {"compression": "snappy", "timestamps": "int96"},
        "orc": {"compression": "snappy"},
    }.get(writer.get("format", "parquet"), {})
    return {**table, "writer": {**old, **writer}} if old else table


def location(uri: str, table: str) -> str:
    """Where a table lies when the map does not say."""
    database, _, name = table.partition(".")
    return f"{uri}/warehouse/{database}.db/{name}"


def ledger_root(uri: str) -> str:
    """Where ledgers lie when the map does not say."""
    return f"{uri}/kafka2hive"


def put_file(config: Path, path: str, content: bytes) -> None:
    """Write a file on the map's storage, as a user of it does."""
    from kafka2hive.config.load import load_map
    from kafka2hive.service.wiring import wire
    from kafka2hive.storage.port import write_file

    write_file(wire(load_map(str(config), {})).ports.files, path, content)
