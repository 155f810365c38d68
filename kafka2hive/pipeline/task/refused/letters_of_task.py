"""The dead letters of one table's share of a task: rows of one bucket, and the most frequent reasons."""

from collections.abc import Sequence

import numpy as np

from kafka2hive.config.dead_letters import dead_letter_path
from kafka2hive.pipeline.task.chunk import Chunk, Positions
from kafka2hive.pipeline.task.refused.dead_letters import DEAD_LETTER_SCHEMA, dead_letters
from kafka2hive.pipeline.task.refused.refusals import Refusals
from kafka2hive.pipeline.task.sink import OpenSink
from kafka2hive.pipeline.task.write.destination import Destination
from kafka2hive.pipeline.task.write.row_sources import RowSources
from kafka2hive.pipeline.values import Refusal, TableTask


class LettersOfTask:
    """`add` what was refused; `sink` is finished, asked for its files, or abandoned by the caller."""

    def __init__(self, task: TableTask, destination: Destination, open_sink: OpenSink) -> None:
        self.sink = open_sink(destination, DEAD_LETTER_SCHEMA)
        self._epoch = task.epoch
        self._paths = (dead_letter_path(task.table, task.planned_at_ms),)
        self._sources = RowSources(task.ranges)
        self._refusals = Refusals()

    def add(self, chunk: Chunk, positions: Positions, reasons: Sequence[str]) -> None:
        """The messages at `positions`, with a reason for each."""
        self._refusals.add(chunk, positions, reasons)
        letters = dead_letters(chunk, positions, reasons, self._epoch)
        bucket = np.zeros(len(letters), np.int32)
        self.sink.add(letters, bucket, self._paths, self._sources.of_rows(chunk, positions))

    def refusals(self) -> tuple[Refusal, ...]:
        return self._refusals.most_frequent()
