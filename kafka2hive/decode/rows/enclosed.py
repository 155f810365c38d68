"""Decode messages that are an object around an array: each element of the array is a row.

One decoder reads the message's object: the columns around the array, and the array as a list of its elements' texts. Another
one reads the elements as messages of one row.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.contract.forms import ElementTexts
from kafka2hive.decode.contract.sources import Source, Spelling
from kafka2hive.decode.contract.spec import OpenDecoder
from kafka2hive.decode.rows.decoder import Elements, decode_elements
from kafka2hive.decode.semantics.connect import Schema
from kafka2hive.decode.semantics.records import PAYLOAD, RecordSchemas
from kafka2hive.decode.values.batch import Places, refusals_of
from kafka2hive.plugins import Decoded, Reason

_NULL = b"null"
"""The text of an element that is null, which the decoder of a row refuses."""


def _has_schema(schema: Schema | None) -> bool:
    return schema is not None


class EnclosedRowsDecoder:
    """Decodes messages of format JSON whose rows are the elements of an array within an object.

    Rejects with the reasons of the message's decoder, `json.array`, and see decode_elements.
    """

    def __init__(
        self,
        schema: pa.Schema,
        sources: Sequence[Source],
        array: tuple[str, ...],
        open_decoder: OpenDecoder,
        spelling: Spelling,
    ) -> None:
        """`array` is the path to the array. `open_decoder` opens decoders of one row. Raises ValueError; see check_columns."""
        self.schema = schema
        self._array = path_text(array)
        around = [(field, source) for field, source in zip(schema, sources, strict=True) if source.is_around]
        within = [
            (field, source) for field, source in zip(schema, sources, strict=True) if not source.is_around
        ]
        self._around = [field.name for field, _ in around]
        self._message_decoder = open_decoder(
            pa.schema([*(field for field, _ in around), (self._array, pa.list_(pa.string()))]),
            [
                *(source for _, source in around),
                Source(array, form=ElementTexts(any(s.leeway.non_finite != "refuse" for _, s in within))),
            ],
        )
        self._row_decoder = open_decoder(
            pa.schema([field for field, _ in within]), [source for _, source in within]
        )
        may_have_schemas = spelling(array[0]) == PAYLOAD
        self._schemas = RecordSchemas(_has_schema) if may_have_schemas else None

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        messages = self._message_decoder.decode(values)
        places = messages.accepted.to_numpy().astype(np.int64)
        lists = messages.rows.column(self._array)
        refusals = {**refusals_of(messages), **self._of_schemas(values)}
        for place in places[lists.is_null().to_numpy(zero_copy_only=False)].tolist():
            refusals.setdefault(place, Reason("json.array", f"the message has no array at {self._array}"))
        counts = np.zeros(len(values), np.int64)
        counts[places] = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        texts = pc.fill_null(lists.flatten().cast(pa.binary()), _NULL)
        decoded = decode_elements(self._row_decoder, Elements(texts, counts, refusals))
        return with_columns_around(
            decoded,
            self.schema,
            names=self._around,
            messages=messages.rows,
            places=places,
            size=len(values),
        )

    def _of_schemas(self, values: pa.BinaryArray) -> dict[int, Reason]:
        """Return the reasons against messages with a schema of Kafka Connect, which says what the elements mean."""
        if self._schemas is None:
            return {}
        reason = Reason(
            "json.semantic", f"the message has a schema, by which elements of {self._array} are not read"
        )
        places = self._schemas.groups(values).get(True)
        return {} if places is None else dict.fromkeys(places.tolist(), reason)


def with_columns_around(
    decoded: Decoded,
    schema: pa.Schema,
    names: Sequence[str],
    messages: pa.RecordBatch,
    places: Places,
    size: int,
) -> Decoded:
    """Return the rows of `schema` with the columns `names` of their messages.

    Message `places[i]` of `size` is row i of `messages`.
    """
    if not names:
        return decoded
    row_of = np.zeros(size, np.int64)
    row_of[places] = np.arange(len(places))
    order = pa.array(row_of[decoded.accepted.to_numpy()])
    columns = {name: messages.column(name).take(order) for name in names}
    columns |= zip(decoded.rows.schema.names, decoded.rows.columns, strict=True)
    rows = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    return replace(decoded, rows=rows)
