"""`kafka2hive sample`: a map drafted from a topic's newest records, and tried on them. Writes nothing."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pyarrow as pa

from kafka2hive.config.librdkafka import is_sensitive
from kafka2hive.config.load import load_text
from kafka2hive.model.offsets import first_ranges
from kafka2hive.model.quantities import counted, duration, size
from kafka2hive.pipeline.decode import make_decoder
from kafka2hive.pipeline.task.rows import value_schema, value_sources
from kafka2hive.service.sample.advice import EventTime, event_times, personal_names, rate_of
from kafka2hive.service.sample.columns import Columns
from kafka2hive.service.sample.draft import STORAGE, Draft
from kafka2hive.service.sample.records import Sampled, read_newest
from kafka2hive.service.sample.shape import Shape
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.tables import routed_tables
from kafka2hive.service.shared.wiring import wire


def sample(topic: str, kafka: Mapping[str, str], records: int, environ: Mapping[str, str]) -> str:
    """The map's text. `kafka`: properties as a map has them, references unresolved.

    Raises ConfigError (a wrong property, no such topic), ServiceUnavailable, TableError (not readable).
    """
    wiring = wire(load_text(_reading_map(topic, kafka), "the Kafka properties given", environ))
    return drafted_map(topic, kafka, read_newest(wiring, wiring.kafka(), topic, records), environ)


def drafted_map(topic: str, kafka: Mapping[str, str], sampled: Sampled, environ: Mapping[str, str]) -> str:
    """See sample."""
    shown = {key: _without_secret(key, value) for key, value in kafka.items()}
    if not sampled.values:
        notes = (f"topic {topic} holds no record: nothing is known of it",)
        return Draft(topic=topic, kafka=shown, notes=notes).text()
    documents = _documents(sampled.values)
    objects = sum(document is not None for document in documents)
    if 2 * objects < len(documents):
        return Draft(topic=topic, kafka=shown, notes=_no_json(sampled, objects)).text()
    draft = _draft(topic, shown, sampled, documents)
    return _tried(draft, sampled, {**environ, **{_variable(key): "-" for key in kafka}}).text()


def _reading_map(topic: str, kafka: Mapping[str, str]) -> str:
    table = {
        "table": "sample.sample",
        "topics": [topic],
        "format": "raw",
        "bucket": {"path": ""},
        "metadata": {"partition": "number", "timestamp": "time"},
    }
    return json.dumps(
        {"service": "sample", "kafka": dict(kafka), "storage": {"uri": STORAGE}, "tables": [table]}
    )


def _without_secret(key: str, value: str) -> str:
    plain = is_sensitive(key) and "${" not in value and not value.startswith("file:")
    return f"${{{_variable(key)}}}" if plain else value


def _variable(key: str) -> str:
    return "KAFKA_" + key.upper().replace(".", "_")


def _documents(values: Sequence[bytes]) -> list[dict[str, Any] | None]:
    """None for what no columns could decode."""
    whole = make_decoder("json", pa.schema([(f"no key {uuid4().hex}", pa.bool_())]))
    documents: list[dict[str, Any] | None] = [None] * len(values)
    for place in whole.decode(pa.array(values, pa.binary())).accepted.to_pylist():
        with suppress(ValueError):  # a number of thousands of digits
            documents[place] = json.loads(values[place])
    return documents


def _no_json(sampled: Sampled, objects: int) -> tuple[str, ...]:
    total = len(sampled.values)
    framed = sum(value[:1] == b"\0" and len(value) > 5 for value in sampled.values)
    notes = [
        f"only {objects:,} of {counted(total, 'record')} are JSON objects: each value becomes one binary column"
    ]
    if 2 * framed > total:
        ids = Counter(int.from_bytes(value[1:5], "big") for value in sampled.values if value[:1] == b"\0")
        common = ", ".join(str(number) for number, _ in ids.most_common(3))
        notes.append(
            f"{framed:,} begin as a schema registry's wire format does (schema ids {common}): try format: avro and registry"
        )
    return tuple(notes)


def _draft(
    topic: str, kafka: Mapping[str, str], sampled: Sampled, documents: Sequence[dict[str, Any] | None]
) -> Draft:
    shape = Shape()
    for document in documents:
        if document is not None:
            shape.add(document)
    found = Columns(shape)
    there = [(one, time) for one, time in zip(documents, sampled.times_ms, strict=True) if one is not None]
    events = event_times(found.columns, [one for one, _ in there], [time for _, time in there])
    by_partition: dict[int, list[int]] = {}
    for number, time in zip(sampled.numbers, sampled.times_ms, strict=True):
        if time is not None:
            by_partition.setdefault(number, []).append(time)
    per_record = sum(map(len, sampled.values)) / len(sampled.values)
    rate = rate_of(list(by_partition.values()), per_record)
    notes = [*_event_notes(events), *found.notes]
    if rate is not None:
        files = math.ceil(3600 / rate.interval_seconds)
        notes.append(
            f"by their timestamps about {rate.records_per_second:,.1f} records and {size(rate.bytes_per_second)} of JSON a"
            f" second: a flush interval of {duration(rate.interval_seconds)} makes {counted(files, 'file')} an hour or more"
        )
    if personal := list(personal_names(found.columns)):
        notes.append(
            f"by their names personal data or secrets, leave out what is not needed: {', '.join(personal)}"
        )
    return Draft(
        topic=topic,
        kafka=kafka,
        columns=found.columns,
        event_time=events[0].column if events else None,
        interval_seconds=rate.interval_seconds if rate is not None else 60,
        notes=tuple(notes),
    )


def _event_notes(events: Sequence[EventTime]) -> list[str]:
    if not events:
        return ["no column can be the event time: buckets are by Kafka's own timestamps"]
    told = [f"{e.column.name} ({duration(e.seconds)} from Kafka's timestamp{_null(e)})" for e in events[:4]]
    more = f"; others: {', '.join(told[1:])}" if told[1:] else ""
    return [f"event time: {told[0]}{more}"]


def _null(event: EventTime) -> str:
    return f", {event.column.empty:.0%} null" if event.column.empty >= 0.005 else ""


def _tried(draft: Draft, sampled: Sampled, environ: Mapping[str, str]) -> Draft:
    """With a first note on how the sampled records decode."""
    wiring = wire(load_text(draft.text(), "the draft", environ))
    (table,) = routed_tables(wiring, [draft.topic])
    settings = Catalogue(wiring.map, None).resolve(table)
    decoder = make_decoder(settings.format, value_schema(settings), settings.zone, value_sources(settings))
    decoded = decoder.decode(pa.array(sampled.values, pa.binary()))
    rows = len(decoded.accepted)
    first = (
        f"drafted from {counted(len(sampled.values), 'record')} of topic {draft.topic}"
        f" ({counted(sampled.partitions, 'partition')}; {first_ranges(sampled.ranges)}): {rows:,} decode"
    )
    reasons = Counter(reason for reason in decoded.reasons.to_pylist()).most_common(5)
    letters = [f"{counted(count, 'dead letter')}: {reason}" for reason, count in reasons]
    return draft.with_notes((first, *letters))
