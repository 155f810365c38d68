"""What a sink has really made visible: which ids, how often, and what cannot be read; knows no sink's code."""

import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.oracle.data_files import visible_files
from tests.oracle.tree import Tree


@dataclass(frozen=True, slots=True)
class SinkReading:
    """`lost`, `doubled`: ids of `range(sent)` that no row, or more than one row, has. `foreign`: rows of no such id."""

    files: int
    unreadable: int
    rows: int
    lost: int
    doubled: int
    foreign: int

    @property
    def exact(self) -> bool:
        """Every id once, and every file can be read."""
        return not (self.unreadable or self.lost or self.doubled or self.foreign)


def read_sink(tree: Tree, paths: Iterable[str], sent: int) -> SinkReading:
    """Read column `id` of Parquet files."""
    ids: Counter[int] = Counter()
    files = unreadable = 0
    for path in paths:
        files += 1
        try:
            ids += ids_in(tree, path)
        except (pa.ArrowException, OSError):
            unreadable += 1
    known = sum(1 for number in ids if 0 <= number < sent)
    return SinkReading(
        files=files,
        unreadable=unreadable,
        rows=ids.total(),
        lost=sent - known,
        doubled=sum(1 for count in ids.values() if count > 1),
        foreign=len(ids) - known,
    )


def ids_in(tree: Tree, path: str) -> Counter[int]:
    """Count the values of column `id` of a Parquet file."""
    return Counter(pq.read_table(io.BytesIO(tree.read(path)), columns=["id"])["id"].to_pylist())


def listed_by_hive(tree: Tree, location: str) -> list[str]:
    """Every file that Hive, Impala, Trino, DuckDB or `hdfs dfs -cat` reads from the directory."""
    return visible_files(tree, location)


def listed_by_spark(tree: Tree, location: str) -> list[str]:
    """The files that the metadata log of Spark's file sink names; only Spark itself reads a directory by it."""
    named = set()
    for path in tree.files(f"{location}/_spark_metadata"):
        if path.rpartition("/")[2].startswith("."):
            continue
        for line in tree.read(path).decode().splitlines()[1:]:
            named.add(unquote(json.loads(line)["path"]))
    return sorted(path if "://" in path else f"file://{path}" for path in named)
