"""Columns that take the value of a header by its name."""

from collections.abc import Sequence

import pyarrow as pa

from kafka2hive.config.values import Column
from kafka2hive.model.hive.types import parse_hive_type
from kafka2hive.pipeline.decode.changes import Changes
from kafka2hive.pipeline.decode.texts.column import TextColumn

Found = tuple[dict[str, pa.Array], dict[int, str]]
"""Columns by name, one value per record; and of each refused record its place and the reason."""


class HeaderColumns:
    """Of several headers of a name the last counts, as everywhere in Kafka; a record without one has NULL."""

    def __init__(self, columns: Sequence[Column], zone: str, changes: Changes | None = None) -> None:
        """`columns` are taken from headers. Raises ValueError for a type with parts."""
        self._columns = [
            (
                column.name,
                column.path[0],
                TextColumn(
                    _label(column), _type(column), zone, column.unit, "header", column.leeway, changes
                ),
            )
            for column in columns
        ]
        self._names = {header for _, header, _ in self._columns}

    def read(self, headers: Sequence[Sequence[tuple[str, bytes | None]] | None]) -> Found:
        """`headers`: of each record its names and values."""
        found: dict[str, list[bytes | None]] = {name: [None] * len(headers) for name in self._names}
        for place, pairs in enumerate(headers):
            for name, value in pairs or ():
                if name in found:
                    found[name][place] = value
        values = {name: pa.array(texts, pa.binary()) for name, texts in found.items()}
        columns: dict[str, pa.Array] = {}
        refused: dict[int, str] = {}
        for name, header, column in self._columns:
            columns[name], bad = column.read_bytes(values[header])
            refused = bad | refused  # the first column's reason stands
        return columns, refused


def _label(column: Column) -> str:
    return f"{column.name} (header {column.path[0]})"


def _type(column: Column) -> pa.DataType:
    return parse_hive_type(column.type)
