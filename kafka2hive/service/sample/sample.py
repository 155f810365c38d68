"""`kafka2hive sample`: a map drafted from a topic's newest records, and tried on them. Writes nothing."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka2hive.config.librdkafka import is_sensitive
from kafka2hive.config.load import load_text
from kafka2hive.config.values.change_log import TIME, change_log_of, has_base64_decimals
from kafka2hive.model.offsets import first_ranges
from kafka2hive.model.quantities import counted, duration, size
from kafka2hive.pipeline.decode import make_decoder
from kafka2hive.pipeline.decode.protocol import Decoded
from kafka2hive.pipeline.decode.writers import WriterSchemas
from kafka2hive.pipeline.task.rows import value_schema, value_sources
from kafka2hive.pipeline.task.writer_schemas import process_schemas
from kafka2hive.service.sample.advice import EventTime, Rate, event_times, personal_names, rate_of
from kafka2hive.service.sample.draft import STORAGE, Draft, DraftColumn, key_text
from kafka2hive.service.sample.recognised import recognised
from kafka2hive.service.sample.records import Sampled, read_newest
from kafka2hive.service.shared.hive_schemas import Catalogue
from kafka2hive.service.shared.tables import routed_tables
from kafka2hive.service.shared.wiring import wire


def sample(
    topic: str, kafka: Mapping[str, str], registry: str | None, records: int, environ: Mapping[str, str]
) -> str:
    """The map's text. `kafka`: properties as a map has them, references unresolved; `registry`: its URL.

    Raises ConfigError (a wrong property, no such topic), ServiceUnavailable, TableError (not readable; the registry).
    """
    draft = Draft(topic=topic, kafka=kafka, registry=registry)
    wiring = wire(load_text(_reading_map(draft), "the options given", environ))
    options, root = wiring.map.registry, wiring.map.storage.ledger_root
    writers = process_schemas(options, wiring.ports.files, root, keeps=False) if options is not None else None
    sampled = read_newest(wiring, wiring.kafka(), topic, records)
    return drafted_map(draft, sampled, writers, environ)


def drafted_map(
    draft: Draft, sampled: Sampled, writers: WriterSchemas | None, environ: Mapping[str, str]
) -> str:
    """See sample; `draft` has no columns yet."""
    shown = {key: _without_secret(key, value) for key, value in draft.kafka.items()}
    draft = replace(draft, kafka=shown)
    if not sampled.values:
        return replace(draft, notes=(f"topic {draft.topic} holds no record: nothing is known of it",)).text()
    found = recognised(sampled.values, writers)
    used = draft.registry if found.format in ("avro", "protobuf") else None
    draft = replace(
        draft,
        format=found.format,
        source=found.source,
        columns=found.columns,
        registry=used,
        delimiter=found.delimiter,
        rows=found.rows,
        decimals=found.decimals,
    )
    decoded = _decoded(draft, sampled, writers, {**environ, **{_variable(key): "-" for key in shown}})
    draft = replace(draft, columns=tuple(_with_empty(column, decoded.rows) for column in draft.columns))
    notes = [*_outcome(draft, sampled, decoded), *found.notes]
    if found.columns:
        events, rate = _events(draft, sampled, decoded), _rate(sampled)
        notes += [*_advice(draft, events, rate)]
        interval = 60 if rate is None else rate.interval_seconds
        draft = replace(draft, event=_event_keys(draft, events), interval_seconds=interval)
    return replace(draft, notes=tuple(notes)).text()


def _reading_map(draft: Draft) -> str:
    table = {
        "table": "sample.sample",
        "topics": [draft.topic],
        "format": "raw",
        "bucket": {"path": ""},
        "metadata": {"partition": "number", "timestamp": "time"},
    }
    registry = {"registry": {"url": draft.registry}} if draft.registry else {}
    # the checks refuse a registry that no table uses
    more = (
        [{"table": "sample.avro", "topics": [draft.topic], "format": "avro", "columns": {"a": "int"}}]
        if registry
        else []
    )
    service = {"service": "sample", "kafka": dict(draft.kafka), "storage": {"uri": STORAGE}, **registry}
    return json.dumps({**service, "tables": [table, *more]})


def _without_secret(key: str, value: str) -> str:
    plain = is_sensitive(key) and "${" not in value and not value.startswith("file:")
    return f"${{{_variable(key)}}}" if plain else value


def _variable(key: str) -> str:
    return "KAFKA_" + key.upper().replace(".", "_")


def _decoded(
    draft: Draft, sampled: Sampled, writers: WriterSchemas | None, environ: Mapping[str, str]
) -> Decoded:
    """The sampled records by the draft, as the map's own checks and decoder have it."""
    wiring = wire(load_text(draft.text(), "the draft", environ))
    (table,) = routed_tables(wiring, [draft.topic])
    settings = Catalogue(wiring.map, None).resolve(table)
    decoder = make_decoder(
        settings.format,
        value_schema(settings),
        settings.zone,
        value_sources(settings),
        writers=writers,
        change_log=change_log_of(settings.source),
        base64_decimals=has_base64_decimals(settings.source),
        csv=settings.csv,
        rows=settings.rows,
    )
    return decoder.decode(pa.array(sampled.values, pa.binary()))


def _with_empty(column: DraftColumn, rows: pa.RecordBatch) -> DraftColumn:
    return replace(column, empty=rows.column(column.name).null_count / max(1, len(rows)))


def _outcome(draft: Draft, sampled: Sampled, decoded: Decoded) -> list[str]:
    messages = len(decoded.accepted.unique())
    rows = f" to {counted(len(decoded.accepted), 'row')}" if len(decoded.accepted) > messages else ""
    first = (
        f"drafted from {counted(len(sampled.values), 'record')} of topic {draft.topic}"
        f" ({counted(sampled.partitions, 'partition')}; {first_ranges(sampled.ranges)}):"
        f" {messages:,} decode{rows}"
    )
    reasons = Counter(decoded.reasons.to_pylist()).most_common(5)
    return [first, *(f"{counted(count, 'dead letter')}: {reason}" for reason, count in reasons)]


def _events(draft: Draft, sampled: Sampled, decoded: Decoded) -> list[EventTime]:
    times = pa.array(sampled.times_ms, pa.int64()).take(decoded.accepted)
    return event_times(draft.columns, decoded.rows, times)


def _event_keys(draft: Draft, events: Sequence[EventTime]) -> str:
    """A change is bucketed by its own time."""
    if draft.source != "events":
        return f"field: {TIME}, unit: ms"
    return f"field: {key_text(events[0].column.name)}" if events else ""


def _rate(sampled: Sampled) -> Rate | None:
    numbers = np.array(sampled.numbers)
    times = np.array([-1 if time is None else time for time in sampled.times_ms])
    by_partition = [times[(numbers == number) & (times >= 0)].tolist() for number in np.unique(numbers)]
    return rate_of(by_partition, sum(map(len, sampled.values)) / len(sampled.values))


def _advice(draft: Draft, events: Sequence[EventTime], rate: Rate | None) -> list[str]:
    notes = []
    told = [f"{e.column.name} ({duration(e.seconds)} from Kafka's timestamp{_null(e)})" for e in events[:4]]
    if draft.source != "events":
        notes.append(f"changes of {draft.source}: buckets are by {TIME}, when each was captured")
    elif told:
        notes.append(f"event time: {told[0]}" + (f"; others: {', '.join(told[1:])}" if told[1:] else ""))
    else:
        notes.append("no column can be the event time: buckets are by Kafka's own timestamps")
    if rate is not None:
        files = math.ceil(3600 / rate.interval_seconds)
        notes.append(
            f"by their timestamps about {rate.records_per_second:,.1f} records and {size(rate.bytes_per_second)} a second:"
            f" a flush interval of {duration(rate.interval_seconds)} makes {counted(files, 'file')} an hour or more"
        )
    if personal := ", ".join(personal_names(draft.columns)):
        notes.append(f"by their names personal data or secrets, leave out what is not needed: {personal}")
    return notes


def _null(event: EventTime) -> str:
    return f", {event.column.empty:.0%} null" if event.column.empty >= 0.005 else ""
