"""Some records of each schema, and the rows that the files have of them, for the judge of `semantics`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys import Bucketing, BucketTime, Framing, TableSettings
from kafka2hive.config.keys.columns import Column, RecordPart
from kafka2hive.formats.contract.port import FileReader
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.verify.rows import OUTSIDE, PlaceColumns, Span
from kafka2hive.service.verify.semantics.framing import HEAD_HEADERS, whole_message
from kafka2hive.service.verify.semantics.judge import SchemaJudge, contradiction

OF_EACH_SCHEMA = 20
"""The number of records that are judged of each schema, in each piece of a unit."""
MOST_SCHEMAS = 500
_VALUE, _HEAD = "value of the record", "head of the record"
_BATCH_ROWS = 32_768


def table_of_values(table: TableSettings) -> TableSettings:
    """Return the table as one whose rows are its records' values and metadata."""
    header = HEAD_HEADERS.get(table.framing)
    heads = [] if header is None else [Column(_HEAD, "binary", (header,), part=RecordPart.HEADER)]
    return replace(
        table,
        format="raw",
        source="events",
        columns=(Column(_VALUE, "binary"), *heads),
        bucketing=Bucketing(path="", time=BucketTime.PROCESSING),
        schema_evolution="ignore",
    )


@dataclass(slots=True)
class RecordSample:
    """Some records of each schema, by where they are in Kafka: what their rows must have.

    A record that the judge cannot read has None.
    """

    judge: SchemaJudge
    place: PlaceColumns
    framing: Framing = "id4"
    rows: dict[tuple[TopicPartition, int], Mapping[str, Any] | None] = field(default_factory=dict)
    _counts: dict[bytes, int] = field(default_factory=dict)

    def take(self, rows: pa.RecordBatch, span: Span) -> None:
        """Take some of these records of `span`, which are rows of `table_of_values`."""
        places = span.places(self.place, rows).tolist()
        values = rows.column(_VALUE).to_pylist()
        heads = rows.column(_HEAD).to_pylist() if _HEAD in rows.schema.names else [None] * len(values)
        for at, head, value in zip(places, heads, values, strict=True):
            message = whole_message(self.framing, head, value or b"")
            key = self.judge.key(message)
            count = self._counts.get(key, 0) if key is not None else OF_EACH_SCHEMA
            if key is not None and count < OF_EACH_SCHEMA and (count or len(self._counts) < MOST_SCHEMAS):
                self._counts[key] = count + 1
                self.rows[span.at(at)] = self.judge.expected(message)

    def contradictions_in(self, reader: FileReader, span: Span) -> Iterator[tuple[str, str | None]]:
        """Yield where the records are that the file's rows contradict, each with what is wrong with its row.

        A record that cannot be read has None instead. Raises UNREADABLE.
        """
        expected = {span.place(*where): row for where, row in self.rows.items()}
        wanted = np.array(sorted(expected.keys() - {OUTSIDE}), np.int64)
        names = {name for row in expected.values() for name in row or ()}
        columns = [c for c in self.judge.columns if c.name in names and c.name in reader.schema.names]
        read = [*(column.name for column in columns), *self.place.names()]
        for batch in reader.batches(list(dict.fromkeys(read)), _BATCH_ROWS) if len(wanted) else ():
            at = span.places(self.place, batch)
            chosen = np.flatnonzero(np.isin(at, wanted))
            if not len(chosen):
                continue
            cells = {c.name: batch.column(c.name).take(pa.array(chosen)).cast(c.type) for c in columns}
            for number, place in enumerate(at[chosen].tolist()):
                topic_partition, offset = span.at(place)
                row = {name: column[number].as_py() for name, column in cells.items()}
                of_record = expected[place]
                wrong = None if of_record is None else contradiction(of_record, row)
                if wrong != "":
                    yield f"{topic_partition}@{offset}", wrong
