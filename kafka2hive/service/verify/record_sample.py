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
_KEY, _HEADER = "key of the record", "header of the record: "
_BATCH_ROWS = 32_768


def table_of_values(table: TableSettings, judge: SchemaJudge | None = None) -> TableSettings:
    """Return the table as one whose rows are its records' values and metadata, and the keys and headers that the judge wants."""
    header = HEAD_HEADERS.get(table.framing)
    heads = [] if header is None else [Column(_HEAD, "binary", (header,), part=RecordPart.HEADER)]
    if judge is not None:
        heads += [Column(_HEADER + n, "binary", (n,), part=RecordPart.HEADER) for n in judge.headers]
        heads += [Column(_KEY, "binary", part=RecordPart.KEY)] if judge.wants_keys else []
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
        names = rows.schema.names
        keys = rows.column(_KEY).to_pylist() if _KEY in names else [None] * len(values)
        by_header = {
            n: rows.column(_HEADER + n).to_pylist() for n in self.judge.headers if _HEADER + n in names
        }
        for number, (at, head, value) in enumerate(zip(places, heads, values, strict=True)):
            message = whole_message(self.framing, head, value or b"")
            key = self.judge.key(message)
            count = self._counts.get(key, 0) if key is not None else OF_EACH_SCHEMA
            if key is not None and count < OF_EACH_SCHEMA and (count or len(self._counts) < MOST_SCHEMAS):
                self._counts[key] = count + 1
                headers = {name: texts[number] for name, texts in by_header.items()}
                self.rows[span.at(at)] = self.judge.expected(message, keys[number], headers)

    def contradictions_in(self, reader: FileReader, span: Span) -> Iterator[tuple[str, str | None]]:
        """Yield where the records are that the file's rows contradict, each with what is wrong with its row.

        A record that cannot be read has None instead. Raises UNREADABLE.
        """
        expected = {span.place(*where): row for where, row in self.rows.items()}
        wanted = np.array(sorted(expected.keys() - {OUTSIDE}), np.int64)
        names = {name for row in expected.values() for name in row or ()}
        types = {n: t for n, t in self.judge.types.items() if n in names and n in reader.schema.names}
        read = [*types, *self.place.names()]
        for batch in reader.batches(list(dict.fromkeys(read)), _BATCH_ROWS) if len(wanted) else ():
            at = span.places(self.place, batch)
            chosen = np.flatnonzero(np.isin(at, wanted))
            if not len(chosen):
                continue
            cells = {n: batch.column(n).take(pa.array(chosen)).cast(t) for n, t in types.items()}
            for number, place in enumerate(at[chosen].tolist()):
                topic_partition, offset = span.at(place)
                row = {name: column[number].as_py() for name, column in cells.items()}
                of_record = expected[place]
                wrong = None if of_record is None else contradiction(of_record, row)
                if wrong != "":
                    yield f"{topic_partition}@{offset}", wrong
