"""Observations of a task's records: the columns that stay empty, and the JSON keys that the columns do not take.

FilledColumns serves the warning about misspelled columns, UnmappedFieldsOfTask the report of unmapped fields.
"""

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.keys.json_path import path_text
from kafka2hive.config.keys.source import BEFORE, CHANGE_COLUMNS, UNAVAILABLE, array_path, change_log_of
from kafka2hive.decode.contract.sources import SourceTree, exact_spelling, lower_case_spelling, source_tree
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.plan.contract import ColumnsSeen, UnmappedField, UnmappedFields
from kafka2hive.plugins import Decoded
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.rows import all_sources, value_columns

MOST_MESSAGES = 20
MOST_KEYS = 100
LONGEST_MESSAGE = 64 * 1024
LONGEST_KEY = 128
NO_DEFAULTS: Mapping[str, int] = MappingProxyType({})

MOST_FIELDS = 100
LONGEST_NAME = 128
SAMPLE = 100
LEAST_SAMPLE = 20
"""An eighth of a batch's messages, evenly spaced, is parsed, but at least LEAST_SAMPLE and at most SAMPLE of them. This takes
less than 1 % of a task's time."""

Shape = tuple[str, ...]
"""The keys of an object, in their order."""

_MOST_SHAPES = 1_000
_MOST_CANDIDATES = 50


class FilledColumns:
    """Tracks the columns that are still empty in all decoded rows.

    While a column is empty, each batch costs a null count per empty column, and a few messages are parsed for their keys.
    """

    def __init__(self, table: TableSettings) -> None:
        self._spelling = lower_case_spelling if table.any_case else exact_spelling
        self._mapped = source_tree(all_sources(table), self._spelling)
        is_log = change_log_of(table.source) is not None
        fillable = (
            column.name
            for column in value_columns(table)
            if not is_log or column.name not in (*CHANGE_COLUMNS, BEFORE, UNAVAILABLE)
        )
        self._empty = list(fillable) if table.format != "raw" else []
        is_within = bool(array_path(table.rows))
        self._has_keys = table.format == "json" and not is_log and not is_within
        self._rows = 0
        self._looked_at = 0
        self._unmapped: dict[str, None] = {}

    def note(
        self, rows: pa.RecordBatch, messages: pa.BinaryArray, defaults: Mapping[str, int] = NO_DEFAULTS
    ) -> None:
        """Note a batch: `rows` were decoded from `messages`, which also holds the rejected messages.

        `defaults` counts, by column, the values that are the column's default; a misspelled column has its default in every row.
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
        self._compare(document, self._mapped, ())

    def _compare(self, value: Any, mapped: SourceTree, path: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            return
        for key, inner in value.items():
            known = mapped.inner.get(self._spelling(key))
            if known is not None:
                if known.inner:
                    self._compare(inner, known, (*path, key))
            elif len(self._unmapped) < MOST_KEYS and len(key) <= LONGEST_KEY:
                self._unmapped[path_text((*path, key))] = None

    def seen(self) -> ColumnsSeen:
        """Return the columns that are empty in all rows so far and, if there are any, the JSON keys that no column takes."""
        return ColumnsSeen(self._rows, tuple(self._empty), tuple(self._unmapped) if self._empty else ())


class UnmappedFieldsOfTask:
    """Counts the top-level fields that the columns do not take, for tables whose messages are JSON objects."""

    def __init__(self, table: TableSettings) -> None:
        self._spelling = lower_case_spelling if table.any_case else exact_spelling
        tree = source_tree(all_sources(table), self._spelling)
        self._mapped = frozenset(tree.inner)
        one_row = table.format == "json" and not table.may_hold_several
        self._has_fields = one_row and change_log_of(table.source) is None and not tree.columns
        self._by_shape: dict[Shape, tuple[str, ...]] = {}
        self._looked_at = 0
        self._records: Counter[str] = Counter()
        self._examples: dict[str, tuple[TopicPartition, int]] = {}

    def note(self, messages: pa.BinaryArray, decoded: Decoded, chunk: Chunk, chosen: Indices | None) -> None:
        """Note a decoded batch: `messages` are the chunk's messages at the indices `chosen` (None: all)."""
        if not self._has_fields or not len(decoded.accepted):
            return
        accepted = decoded.accepted.to_numpy()
        sample = accepted[_spaced(len(accepted))]
        shapes = list(map(_shape, messages.take(pa.array(sample)).to_pylist()))
        firsts = dict(zip(reversed(shapes), reversed(sample.tolist()), strict=True))
        for shape, records in Counter(shapes).items():
            if shape is not None:
                index = firsts[shape]
                self._count(shape, records, chunk, index if chosen is None else chosen[index])
        for name in decoded.new_keys:
            if name[:LONGEST_NAME] not in self._records:
                self._search(name=name, messages=messages, accepted=accepted, chunk=chunk, chosen=chosen)

    def fields(self) -> UnmappedFields:
        """Return the fields so far, each with one record as an example."""
        fields = (
            UnmappedField(name=name, records=records, topic_partition=place, offset=offset)
            for name, records in self._records.items()
            for place, offset in [self._examples[name]]
        )
        return UnmappedFields(self._looked_at, tuple(fields))

    def _unmapped(self, shape: Shape) -> tuple[str, ...]:
        names = self._by_shape.get(shape)
        if names is None:
            names = tuple(key[:LONGEST_NAME] for key in shape if self._spelling(key) not in self._mapped)
            if len(self._by_shape) < _MOST_SHAPES:
                self._by_shape[shape] = names
        return names

    def _count(self, shape: Shape, records: int, chunk: Chunk, index: int) -> None:
        """Count `records` records with this shape; the record at `index` of the chunk is an example."""
        self._looked_at += records
        for name in self._unmapped(shape):
            if name not in self._examples:
                if len(self._examples) == MOST_FIELDS:
                    continue
                self._examples[name] = chunk.address(index)
            self._records[name] += records

    def _search(
        self,
        name: str,
        messages: pa.BinaryArray,
        accepted: Indices,
        chunk: Chunk,
        chosen: Indices | None,
    ) -> None:
        """Count the first message with a name that the sample lacks; called once for each name that the decoder reports."""
        key = rf'"{re.escape(name.encode()).decode()}"[ \t\r\n]*:'  # the decoder reports only keys without escapes
        holds = pc.match_substring_regex(messages, key).to_numpy(zero_copy_only=False)
        for index in accepted[holds[accepted]][:_MOST_CANDIDATES].tolist():
            shape = _shape(messages[index].as_py())
            if shape is not None and name in shape:
                self._count(shape, 1, chunk, index if chosen is None else chosen[index])
                return


def _spaced(count: int) -> Indices:
    """Return evenly spaced indices for the sample of `count` messages, including the first and the last index."""
    size = min(count, max(LEAST_SAMPLE, min(SAMPLE, count // 8)))
    return np.arange(size) * (count - 1) // max(1, size - 1)


def _shape(message: bytes) -> Shape | None:
    """Return the message's keys; None if it is too long to parse or orjson rejects it."""
    if len(message) > LONGEST_MESSAGE:
        return None
    try:
        document = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    return tuple(document) if isinstance(document, dict) else ()
