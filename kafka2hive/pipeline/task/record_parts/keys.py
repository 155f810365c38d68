"""Columns that take values of a record's key, which is decoded as a value would be."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.values import Column, WireFormat
from kafka2hive.model.hive.types import parse_hive_type
from kafka2hive.pipeline.decode import DecoderSpec, Source, make_decoder
from kafka2hive.pipeline.decode.changes import Changes
from kafka2hive.pipeline.decode.texts.column import TextColumn
from kafka2hive.pipeline.decode.writers import WriterSchemas
from kafka2hive.pipeline.task.record_parts.headers import Found


class RawKeyColumns:
    """Each takes the whole key, a text."""

    def __init__(self, columns: Sequence[Column], zone: str, changes: Changes | None = None) -> None:
        self._columns = [
            (
                c.name,
                TextColumn(
                    f"{c.name} (the key)", parse_hive_type(c.type), zone, c.unit, "key", c.leeway, changes
                ),
            )
            for c in columns
        ]

    def read(self, keys: pa.BinaryArray) -> Found:
        columns: dict[str, pa.Array] = {}
        refused: dict[int, str] = {}
        for name, column in self._columns:
            columns[name], bad = column.read_bytes(keys)
            refused = bad | refused
        return columns, refused


class DecodedKeyColumns:
    """Each takes what its path leads to in the decoded key. A record without a key has NULL in all of them."""

    def __init__(
        self,
        format: str,
        columns: Sequence[Column],
        zone: str,
        writers: WriterSchemas | None,
        wire: WireFormat,
        changes: Changes | None = None,
    ) -> None:
        """Raises ValueError where the format cannot fill them."""
        self._schema = pa.schema([(column.name, parse_hive_type(column.type)) for column in columns])
        sources = [Source(column.path, column.unit, column.leeway) for column in columns]
        self._decoder = make_decoder(
            DecoderSpec(
                format, self._schema, zone, sources, writers=writers, wire=wire, changes=changes or Changes()
            )
        )

    def read(self, keys: pa.BinaryArray) -> Found:
        """Raises SchemaRegistryUnavailable, see AvroDecoder."""
        places = np.flatnonzero(keys.is_valid().to_numpy(zero_copy_only=False))
        decoded = self._decoder.decode(keys.drop_null() if keys.null_count else keys)
        rows = np.full(len(keys), -1)
        rows[places[decoded.accepted.to_numpy()]] = np.arange(len(decoded.rows))
        order = pa.array(rows, mask=rows < 0)
        columns = {name: decoded.rows.column(name).take(order) for name in self._schema.names}
        bad = places[decoded.rejected.to_numpy()].tolist()
        reasons = pc.binary_join_element_wise("key", decoded.reasons, ".").to_pylist()
        return columns, dict(zip(bad, reasons, strict=True))
