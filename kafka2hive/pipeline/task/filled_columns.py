"""Which columns the records of a task filled, and which JSON keys they had that no column takes: for the warning about typos."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import orjson
import pyarrow as pa

from kafka2hive.config.grammars.json_path import path_text
from kafka2hive.config.values import TableSettings
from kafka2hive.config.values.change_log import BEFORE, CHANGE_COLUMNS, change_log_of
from kafka2hive.pipeline.decode.sources import SourceTree, as_it_stands, in_small_letters, source_tree
from kafka2hive.pipeline.task.rows import all_sources, value_columns
from kafka2hive.pipeline.values import ColumnsSeen

MOST_MESSAGES = 20
MOST_KEYS = 100
LONGEST_MESSAGE = 64 * 1024
LONGEST_KEY = 128
NO_DEFAULTS: Mapping[str, int] = MappingProxyType({})


class FilledColumns:
    """Costs a look at each column's count of nulls until it is filled, and a few messages' keys where one is not."""

    def __init__(self, table: TableSettings) -> None:
        self._spelling = in_small_letters if table.any_case else as_it_stands
        self._wanted = source_tree(all_sources(table), self._spelling)
        is_log = change_log_of(table.source) is not None
        own = (
            column.name
            for column in value_columns(table)
            if not is_log or column.name not in (*CHANGE_COLUMNS, BEFORE)
        )
        self._empty = list(own) if table.format != "raw" else []
        self._has_keys = table.format == "json" and not is_log
        self._rows = 0
        self._looked_at = 0
        self._unmapped: dict[str, None] = {}

    def note(
        self, rows: pa.RecordBatch, messages: pa.BinaryArray, defaults: Mapping[str, int] = NO_DEFAULTS
    ) -> None:
        """`messages` is what `rows` were decoded from, refused ones among them. `defaults`: how many of the values are the
        column's default, which a misspelled column has in every row.
        """
        self._rows += len(rows)
        self._empty = [
            name for name in self._empty if rows.column(name).null_count + defaults.get(name, 0) >= len(rows)
        ]
        if self._empty and self._has_keys and self._looked_at < MOST_MESSAGES:
            for message in messages.slice(0, MOST_MESSAGES - self._looked_at).to_pylist():
                self._looked_at += 1
                self._look_at(message)

    def _look_at(self, message: bytes) -> None:
        if len(message) > LONGEST_MESSAGE:
            return
        try:
            document = orjson.loads(message)
        except orjson.JSONDecodeError:
            return
        self._compare(document, self._wanted, ())

    def _compare(self, value: Any, wanted: SourceTree, path: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            return
        for key, inner in value.items():
            known = wanted.inner.get(self._spelling(key))
            if known is not None:
                if known.inner:
                    self._compare(inner, known, (*path, key))
            elif len(self._unmapped) < MOST_KEYS and len(key) <= LONGEST_KEY:
                self._unmapped[path_text((*path, key))] = None

    def seen(self) -> ColumnsSeen:
        return ColumnsSeen(self._rows, tuple(self._empty), tuple(self._unmapped) if self._empty else ())
