"""Decode messages of Avro and Protobuf with an array whose elements are rows.

One decoder reads the message: the columns around the array, and the array as a list of its elements' bytes. Another one reads
these bytes, after the head of their message, by the type of the elements in the schema that the head names.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import WireFormat
from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.contract.forms import ElementTexts
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import DecoderSpec, MakeDecoder
from kafka2hive.decode.framing.frames import Head
from kafka2hive.decode.rows.decoder import Elements, decode_elements
from kafka2hive.decode.rows.enclosed import with_columns_around
from kafka2hive.decode.values.batch import Places, refusals_of
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.plugins import Decoded, Reason

HeadsOf = Callable[[pa.BinaryArray, WireFormat], Iterator[tuple[Head, Places]]]
"""Yields each distinct head and the places of its messages."""


class SchemaArraysDecoder:
    """Decodes such messages. Rejects with the reasons of the message's decoder, `avro.array` or `protobuf.array`, and see
    decode_elements.
    """

    def __init__(self, spec: DecoderSpec, make: MakeDecoder, heads_of: HeadsOf) -> None:
        """`make` makes decoders of one row. Raises ValueError; see check_columns."""
        self.schema = schema = spec.schema
        self._format, self._wire, self._heads_of = spec.format, spec.wire, heads_of
        self._has_heads = not isinstance(spec.writers, WriterSchema)
        self._array = path_text(spec.array)
        columns = list(zip(schema, spec.source_of_each(), strict=True))
        around = [(field, source) for field, source in columns if source.is_around]
        within = [(field, source) for field, source in columns if not source.is_around]
        self._around = [field.name for field, _ in around]
        one = replace(spec, rows="one", array=())
        self._message_decoder = make(
            one.of_columns(
                pa.schema([*(field for field, _ in around), (self._array, pa.list_(pa.binary()))]),
                [*(source for _, source in around), Source(spec.array, form=ElementTexts())],
            )
        )
        of_elements = replace(one, element_of=spec.array, check=None)
        self._row_decoder = make(
            of_elements.of_columns(
                pa.schema([field for field, _ in within]), [source for _, source in within]
            )
        )

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        messages = self._message_decoder.decode(values)
        places = messages.accepted.to_numpy().astype(np.int64)
        lists = messages.rows.column(self._array)
        refusals = refusals_of(messages)
        for place in places[lists.is_null().to_numpy(zero_copy_only=False)].tolist():
            reason = Reason(f"{self._format}.array", f"the message has no array at {self._array}")
            refusals.setdefault(place, reason)
        counts = np.zeros(len(values), np.int64)
        counts[places] = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        elements = lists.flatten()
        if self._has_heads:
            heads = self._heads(values).take(pa.array(np.repeat(np.arange(len(values)), counts)))
            elements = pc.binary_join_element_wise(heads, elements, b"")
        decoded = decode_elements(self._row_decoder, Elements(elements, counts, refusals))
        return with_columns_around(
            decoded,
            self.schema,
            names=self._around,
            messages=messages.rows,
            places=places,
            size=len(values),
        )

    def _heads(self, values: pa.BinaryArray) -> pa.BinaryArray:
        """Return the bytes before the content of each message."""
        parts, order = [pa.array([], pa.binary())], [np.empty(0, np.int64)]
        for head, places in self._heads_of(values, self._wire):
            parts.append(pc.binary_slice(values.take(pa.array(places)), 0, head.length))
            order.append(np.asarray(places, np.int64))
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(order))))
