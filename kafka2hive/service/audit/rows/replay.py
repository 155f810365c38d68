"""Rows of a task that reads Kafka's records once more (pipeline/task/replay.py), reduced for a comparison."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS
from kafka2hive.model.files import FileKind
from kafka2hive.pipeline.task.bucketer import BucketIds
from kafka2hive.pipeline.task.sink import PassingSink, RowSink
from kafka2hive.pipeline.task.write.destination import Destination
from kafka2hive.service.audit.rows.rows import Numbers, Paths, PlaceColumns, Rows, Span, hashes_of

LETTERS = -2  # the bucket of every dead letter: a partition by the day of planning is not promised
LETTER_PLACE = PlaceColumns("offset", "topic", "partition")
LETTER_COLUMNS = tuple(c.name for c in DEAD_LETTER_COLUMNS if c.name not in ("detail", "epoch"))
"""What a dead letter has of its record; its detail and epoch are the dump's own."""


def letter_columns() -> dict[str, str]:
    """Shared names of the columns of dead letters: a letter never equals a row."""
    return {f"dead letter {name}": name for name in LETTER_COLUMNS}


class Replay:
    """Where replayed rows go: `data` with places when `place` is given, `letters` always with places."""

    def __init__(
        self, span: Span, columns: Mapping[str, str], place: PlaceColumns | None, paths: Paths
    ) -> None:
        """`columns`: those to compare, own names by shared names (see hashes_of)."""
        self.data = Rows()
        self.letters = Rows()
        self._span = span
        self._columns = columns
        self._place = place
        self._paths = paths

    def open_sink(self, destination: Destination, schema: pa.Schema) -> RowSink:
        if destination.kind is FileKind.DATA:
            return PassingSink(lambda rows, ids, paths: self._data(rows, ids, paths))
        return PassingSink(lambda rows, _ids, _paths: self._letters(rows))

    def _data(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        places = self._span.places(self._place, rows) if self._place else None
        numbers: Numbers = np.array([self._paths.number(path) for path in paths], np.int32)
        self.data.add(places, hashes_of(rows, self._columns), numbers[ids])

    def _letters(self, rows: pa.RecordBatch) -> None:
        places = self._span.places(LETTER_PLACE, rows)
        self.letters.add(places, hashes_of(rows, letter_columns()), np.full(len(rows), LETTERS, np.int32))
