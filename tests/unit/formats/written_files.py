"""Make files of any format in memory, from tables and by whole tasks, and rows with values near the edges."""

import datetime
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.files import encoding_of
from kafka2hive.plan.contract import TableManifest
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import run_task_of
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    table_settings,
)

PLAIN = pa.schema(
    [
        ("n", pa.int64()),
        ("text", pa.string()),
        ("at", pa.timestamp("us")),
        ("day", pa.date32()),
        ("price", pa.decimal128(38, 10)),
        ("raw", pa.binary()),
        ("flag", pa.bool_()),
        ("ratio", pa.float32()),
        ("double", pa.float64()),
    ]
)
FLOATS = [0.5, -0.0, 1.401298464324817e-45, 3.4028234663852886e38]
DOUBLES = [0.1, -0.0, float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, 1e300, 1e21, 2.0**53]


def plain_row(number: int, time: datetime.datetime, text: str) -> dict[str, Any]:
    """Return a row with values for PLAIN."""
    return {
        "n": number * 7_919 - 2**40,
        "text": text,
        "at": time,
        "day": time.date(),
        "price": Decimal(f"{number}12345678901234.0123456789"),
        "raw": bytes([number % 256]) * (number % 5),
        "flag": number % 2 == 0,
        "ratio": FLOATS[number % len(FLOATS)],
        "double": DOUBLES[number % len(DOUBLES)],
    }


def table_of(count: int, row: Callable[[int], dict[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([row(number) for number in range(count)], schema=schema)


def written(groups: Sequence[pa.Table], options: WriterOptions, **metadata: str) -> bytes:
    """Return a file with a row group for each table."""
    sink = pa.BufferOutputStream()
    file = encoding_of(options).open(sink, groups[0])
    for group in groups:
        file.write(group)
    assert file.end(metadata) == sum(map(len, groups))
    return bytes(sink.getvalue())


def tail_of(data: bytes) -> Callable[[int], bytes]:
    return lambda count: data[-count:]


def run_task(
    options: WriterOptions, columns: Iterable[tuple[str, str]], values: list[bytes]
) -> tuple[MemoryFiles, TableManifest]:
    """Run a task that reads these records as JSON, and check that its table did not fail."""
    log = FakeLog(dict(enumerate(values)), len(values))
    settings = table_settings("db.t", "json", columns, writer=options)
    manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, 0, len(values))])
    assert manifest.failure is None, manifest.failure
    return files, manifest
