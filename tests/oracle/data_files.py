"""The rows that readers of a table see, from its files; and whether anything lies where nothing should."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.oracle.tree import Tree

_MARKER = "_kafka2hive_owner"
_CERTIFICATE, _SUCCESS = "_kafka2hive_complete-", "_SUCCESS"


@dataclass(frozen=True, slots=True)
class VisibleRow:
    """`values` by column name; `partition` the Hive partition's path below the table."""

    path: str
    partition: str
    values: dict[str, Any]


def assert_only_finished_files(tree: Tree, location: str) -> list[str]:
    """Every file below the table is `.final` and lies in a Hive partition, staging is empty. Gives the data files."""
    found = []
    for path in sorted(tree.files(location)):
        below = path.removeprefix(location + "/")
        if below == _MARKER:
            continue
        assert not below.startswith(("_tmp/", "_", ".")), f"left in staging, or stray: {path}"
        name = below.rpartition("/")[2]
        if name == _SUCCESS or name.startswith(_CERTIFICATE):
            continue
        assert path.endswith(".parquet.final"), f"not finished: {path}"
        found.append(path)
    return found


def visible_files(tree: Tree, location: str) -> list[str]:
    """What Hive reads: nothing below a name that begins with `_` or a dot."""
    return [
        path
        for path in sorted(tree.files(location))
        if not any(part[0] in "_." for part in path.removeprefix(location + "/").split("/"))
    ]


def visible_rows(tree: Tree, location: str) -> Iterator[VisibleRow]:
    """Every row, file by file, in no particular order."""
    for path in visible_files(tree, location):
        partition = path.removeprefix(location + "/").rpartition("/")[0]
        for batch in pq.ParquetFile(io.BytesIO(tree.read(path))).iter_batches(20_000):
            for values in batch.to_pylist():
                yield VisibleRow(path, partition, values)


def whole_table(tree: Tree, location: str, order: list[str]) -> pa.Table:
    """All rows with their Hive partition in column `partition_path`, sorted by the columns `order`."""
    tables = []
    for path in visible_files(tree, location):
        table = pq.read_table(io.BytesIO(tree.read(path)))
        partition = path.removeprefix(location + "/").rpartition("/")[0]
        tables.append(table.append_column("partition_path", pa.array([partition] * len(table), pa.string())))
    return pa.concat_tables(tables).sort_by([(name, "ascending") for name in order]).combine_chunks()


def partition_values(partition: str) -> dict[str, str]:
    """`dt=2013-01/x=a%3Ab` -> {"dt": "2013-01", "x": "a:b"}."""
    return {
        name: unquote(value) for name, _, value in (level.partition("=") for level in partition.split("/"))
    }
