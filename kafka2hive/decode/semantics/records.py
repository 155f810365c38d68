"""Decode JSON records by the schemas of Kafka Connect that they carry, with one decoder for all that say the same of the columns.

Most records carry the same text of a schema, which is parsed once: records that begin with the same bytes up to their
payload, or that end with the same bytes from their schema on, have the same schema.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.contract.sources import Source, Spelling
from kafka2hive.decode.semantics.connect import Schema, source_by
from kafka2hive.decode.values.batch import Mask, Places, decoder_result, mask_of, refusals_of
from kafka2hive.plugins import Decoded, Decoder, Reason

PAYLOAD = "payload"
Verdict = TypeVar("Verdict", bound=Hashable)
"""What a schema says."""
Sources = tuple[Source, ...]
OpenSources = Callable[[Sequence[Source]], Decoder]
"""Returns the decoder that reads the columns from these sources."""

MOST_SCHEMAS = 1_000
"""Limit of schemas' texts in memory, and of decoders. At the limit all of them are dropped."""
_MOST_GROUPS = 8
"""The number of schemas that are compared with a whole batch at once; records of further schemas are looked at one by one."""
_SCHEMA_FIRST = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:')
_THEN_PAYLOAD = re.compile(rb',[ \t\r\n]*"payload"[ \t\r\n]*:')
_PAYLOAD_FIRST = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"payload"[ \t\r\n]*:')
_THEN_SCHEMA = re.compile(rb'.*(,[ \t\r\n]*"schema"[ \t\r\n]*:)', re.DOTALL)
_KEY = r'"schema"|\\u00[67]'
"""The key of a schema, or an escape with which it may be spelled."""


def with_record_schemas(
    schema: pa.Schema, sources: Sequence[Source], spelling: Spelling, open_sources: OpenSources
) -> Decoder:
    """Return a decoder that reads each record as its own schema says. If no column is below `$.payload`, no record's is read."""
    if not any(spelling(source.keys[0]) == PAYLOAD for source in sources if source.keys):
        return open_sources(sources)
    return RecordSchemasDecoder(schema, sources, spelling, open_sources)


class RecordSchemasDecoder:
    """Decodes JSON records, with and without a schema of Kafka Connect beside `payload`."""

    def __init__(
        self, schema: pa.Schema, sources: Sequence[Source], spelling: Spelling, open_sources: OpenSources
    ) -> None:
        self.schema = schema
        self._sources = tuple(sources)
        self._spelling = spelling
        self._open = open_sources
        self._plain = open_sources(sources)
        self._decoders: dict[Sources, Decoder] = {self._sources: self._plain}
        self._schemas = RecordSchemas(self._sources_by)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        groups = self._schemas.groups(values)
        if len(groups) == 1:
            return self._decoder(next(iter(groups))).decode(values)
        refusals: dict[int, Reason] = {}
        new_keys: dict[str, None] = {}
        batches, accepted = [], []
        for sources, places in groups.items():
            part = self._decoder(sources).decode(values.take(pa.array(places)))
            batches.append(part.rows)
            accepted.append(places[part.accepted.to_numpy()])
            refusals |= {int(places[place]): reason for place, reason in refusals_of(part).items()}
            new_keys |= dict.fromkeys(part.new_keys)
        rows, all_places = pa.concat_batches(batches), np.concatenate(accepted)
        order = np.argsort(all_places, kind="stable")
        result = decoder_result(rows.take(pa.array(order)), all_places[order], refusals)
        return replace(result, new_keys=tuple(new_keys))

    def _decoder(self, sources: Sources) -> Decoder:
        if sources not in self._decoders:
            if len(self._decoders) >= MOST_SCHEMAS:
                self._decoders = {self._sources: self._plain}
            self._decoders[sources] = self._open(sources)
        return self._decoders[sources]

    def _sources_by(self, schema: Schema | None) -> Sources:
        """Return the sources that a record's schema gives; those of the map if it has no schema."""
        if schema is None:
            return self._sources
        return tuple(
            source_by(schema, field.type, source, self._spelling)
            if source.keys and self._spelling(source.keys[0]) == PAYLOAD
            else source
            for field, source in zip(self.schema, self._sources, strict=True)
        )


class RecordSchemas(Generic[Verdict]):
    """Groups records by what their schemas say."""

    def __init__(self, judge: Callable[[Schema | None], Verdict]) -> None:
        """`judge` returns what a schema says, in a value that is equal for schemas that say the same; None: no schema."""
        self._judge = judge
        self._without = judge(None)
        self._by_text: dict[bytes, Verdict | None] = {}

    def groups(self, values: pa.BinaryArray) -> Mapping[Verdict, Places]:
        """Return the ascending places of all records by what their schemas say; for no records, one group."""
        groups: dict[Verdict, list[Places]] = {}
        is_open = np.ones(len(values), np.bool_)
        for number in range(_MOST_GROUPS):
            if not is_open.any():
                break
            message = values[int(np.argmax(is_open))].as_py()
            if (alike := self._alike(values, message)) is None:
                break
            verdict, same = alike
            if not number and same.all():
                return {verdict: np.arange(len(values))}
            same &= is_open
            groups.setdefault(verdict, []).append(np.flatnonzero(same))
            is_open &= ~same
        if not groups and not _may_hold_schema(values).any():
            return {self._without: np.arange(len(values))}
        for verdict, places in self._one_by_one(values, np.flatnonzero(is_open)):
            groups.setdefault(verdict, []).append(places)
        return {verdict: np.sort(np.concatenate(places)) for verdict, places in groups.items()}

    def _alike(self, values: pa.BinaryArray, message: bytes) -> tuple[Verdict, Mask] | None:
        """Return what a message's schema says, and the mask of the messages with the same text of a schema.

        None if the schema is not all that comes before the payload, or after it.
        """
        if (verdict := self._by_head(head := _head(message))) is not None:
            return verdict, mask_of(pc.starts_with(values, pattern=head))
        if (verdict := self._by_tail(tail := _tail(message))) is not None:
            first = mask_of(pc.match_substring_regex(values, "^" + _PAYLOAD_FIRST.pattern.decode()))
            return verdict, first & mask_of(pc.ends_with(values, pattern=tail))
        return None

    def _one_by_one(self, values: pa.BinaryArray, places: Places) -> Iterator[tuple[Verdict, Places]]:
        """Yield what the records' schemas say, with the places of the records."""
        if not len(places):
            return
        rest = values if len(places) == len(values) else values.take(pa.array(places))
        may_have = _may_hold_schema(rest)
        if not may_have.all():
            yield self._without, places[~may_have]
        by_verdict: dict[Verdict, list[int]] = {}
        for number in np.flatnonzero(may_have).tolist():
            message = rest[number].as_py()
            verdict = self._by_head(_head(message))
            if verdict is None:
                verdict = self._by_tail(_tail(message))
            if verdict is None:
                verdict = self._judged(_document(message))
            by_verdict.setdefault(verdict, []).append(int(places[number]))
        for verdict, of_verdict in by_verdict.items():
            yield verdict, np.array(of_verdict, np.int64)

    def _by_head(self, head: bytes) -> Verdict | None:
        """Return what the schema before a payload says; None if that is not a whole schema."""
        return self._remembered(head, head + b"null}") if head else None

    def _by_tail(self, tail: bytes) -> Verdict | None:
        """Return what the schema after a payload says; None if that is not a whole schema."""
        return self._remembered(tail, b'{"payload":null' + tail) if tail else None

    def _remembered(self, text: bytes, document_text: bytes) -> Verdict | None:
        if text not in self._by_text:
            if len(self._by_text) >= MOST_SCHEMAS:
                self._by_text.clear()
            document = _document(document_text)
            self._by_text[text] = None if document is None else self._judged(document)
        return self._by_text[text]

    def _judged(self, document: Mapping[str, Any] | None) -> Verdict:
        schema = None if document is None else document.get("schema")
        return self._judge(schema) if isinstance(schema, dict) else self._without


def _head(message: bytes) -> bytes:
    """Return what comes before the payload if the schema comes first, otherwise nothing."""
    if _SCHEMA_FIRST.match(message) is None or (mark := _THEN_PAYLOAD.search(message)) is None:
        return b""
    return message[: mark.end()]


def _tail(message: bytes) -> bytes:
    """Return the schema's key and all that follows if the payload comes first, otherwise nothing."""
    if _PAYLOAD_FIRST.match(message) is None or (mark := _THEN_SCHEMA.match(message)) is None:
        return b""
    return message[mark.start(1) :]


def _document(text: bytes) -> Mapping[str, Any] | None:
    """Return the members of a JSON object; None for any other text, which the decoder of the record refuses."""
    try:
        document = json.loads(text.decode(), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _may_hold_schema(values: pa.BinaryArray) -> Mask:
    """Return the mask of the messages in which a key may be `schema`."""
    if LIBRARY is None:
        return mask_of(pc.match_substring_regex(values, _KEY))
    return np.frombuffer(LIBRARY.may_hold_schema(values), dtype=np.bool_).copy()
