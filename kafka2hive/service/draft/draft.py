"""`kafka2hive sample` drafts a map from topics' newest records, and tests it by decoding them. It writes nothing."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys.librdkafka import is_sensitive
from kafka2hive.config.keys.source import Compression, Encoding, Framing
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.decode import Changes, make_decoder
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.hive.description import TableDescription
from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import ConfigError, TableError
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from kafka2hive.model.offsets import OffsetRange, first_ranges
from kafka2hive.model.progress import Advance, Progress
from kafka2hive.model.text import counted
from kafka2hive.plugins import Decoded
from kafka2hive.service.draft.advice import EventTime, Rate, advice_on, event_keys, event_times, rate_of
from kafka2hive.service.draft.framed_records import Headers
from kafka2hive.service.draft.hive_columns import with_table
from kafka2hive.service.draft.map_text import STORAGE, Draft, DraftColumn, map_of
from kafka2hive.service.draft.personal import personal_notes
from kafka2hive.service.draft.proposed_rules import with_rules
from kafka2hive.service.draft.recognition import recognise
from kafka2hive.service.draft.transport import compression_of, contents_of, encoding_of, guessed_encodings
from kafka2hive.service.hive.schemas import Catalogue, task_settings
from kafka2hive.service.inspect.preview import ranges_of
from kafka2hive.service.tables.ledgers import did_you_mean
from kafka2hive.service.topics.kafka_view import logs_of
from kafka2hive.service.topics.routes import routed_tables
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.task.rows import value_spec
from kafka2hive.task.run import dry_run_ranges
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.destination import passing_sinks
from kafka2hive.task.writer_schemas import process_schemas


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What to draft: a table for each of `topics`, and for each topic whose whole name `pattern` matches.

    `kafka` has properties as in a map, with unresolved references; `kafka_seconds` limits calls for metadata. `records` is
    the number of newest records to read per topic. `registry`, `hive` and `storage` are URLs; `table` may contain {topic}.
    With `rules`, the draft proposes rules for the columns.
    """

    topics: Sequence[str]
    kafka: Mapping[str, str]
    records: int
    kafka_seconds: float
    pattern: str | None = None
    registry: str | None = None
    hive: str | None = None
    storage: str | None = None
    table: str = "kafka.{topic}"
    rules: bool = False


@dataclass(slots=True)
class TopicSample:
    """The sampled records: the value, headers, partition number and timestamp of each except the tombstones.

    `partitions` is how many partitions the topic has. A timestamp is in milliseconds, None if the record has none.
    """

    ranges: tuple[OffsetRange, ...]
    partitions: int
    tombstones: int = 0
    values: list[bytes] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list, kw_only=True)
    numbers: list[int] = field(default_factory=list)
    times_ms: list[int | None] = field(default_factory=list)

    def take(self, rows: pa.RecordBatch, _ids: BucketIds, _paths: Sequence[str]) -> None:
        """Add the records of these rows."""
        self.values += rows.column("value").to_pylist()
        self.numbers += rows.column("number").to_pylist()
        self.headers += [
            {one["key"]: one["value"] for one in headers or () if one["value"] is not None}
            for headers in rows.column("headers").to_pylist()
        ]
        micros = rows.column("time").cast(pa.int64()).to_pylist()
        self.times_ms += [None if m is None else m // 1000 for m in micros]

    def contents(
        self, compression: Compression, encoding: Encoding, framing: Framing = "id4"
    ) -> "tuple[TopicSample, list[str]]":
        """Return the sample with the contents of those values that have one, and notes on this."""
        keys = [f"compression: {compression}"] if compression != "none" else []
        keys += [f"encoding: {encoding}"] if encoding != "utf-8" else []
        if not keys and framing != "glue":
            return self, []
        contents = contents_of(self.values, compression, encoding, framing)
        places = contents.places.tolist()
        notes = [f"the values' first bytes suggest {' and '.join(keys)}"] if keys else []
        reasons = Counter(contents.refusals.values()).most_common(3)
        notes += [f"{counted(count, 'dead letter')}: {reason}" for reason, count in reasons]
        return replace(
            self,
            values=contents.values.to_pylist(),
            headers=[self.headers[place] for place in places] if self.headers else [],
            numbers=[self.numbers[place] for place in places],
            times_ms=[self.times_ms[place] for place in places],
        ), notes


def sample(request: DraftRequest, environ: Mapping[str, str], progress: Progress | None = None) -> str:
    """Return the text of a map with one table for each topic.

    A topic that cannot be drafted is left out with a note, if there are others.
    Raises ConfigError (a wrong property, no such topic), ServiceUnavailable, TableError (the only topic, or all of them,
    cannot be read, or the registry refuses).
    """
    first = Draft(
        topic=request.topics[0] if request.topics else "any",
        kafka=request.kafka,
        registry=request.registry,
        hive=request.hive,
        storage=request.storage,
        table=request.table,
        proposes_rules=request.rules,
    )
    progress = progress or Progress()
    topics = _topics(request, first, environ)
    if len(topics) == 1:
        with progress.work(f"read the newest records of {topics[0]}"):
            return _draft_topic(replace(first, topic=topics[0]), request, environ).text()
    with progress.work("read the newest records", topics=len(topics)) as advance:
        return _draft_topics(topics=topics, first=first, request=request, environ=environ, advance=advance)


def _draft_topics(
    topics: Sequence[str], first: Draft, request: DraftRequest, environ: Mapping[str, str], advance: Advance
) -> str:
    """Return the text of a map of those topics that can be drafted. Raises TableError if none can."""
    drafts: list[Draft] = []
    failures: list[tuple[str, TableError]] = []
    empty: list[Draft] = []
    for topic in topics:
        try:
            draft = _draft_topic(replace(first, topic=topic), request, environ)
        except TableError as error:
            failures.append((topic, error))
            continue
        finally:
            advance(topics=1)
        if draft.is_empty:
            empty.append(draft)
        else:
            drafts.append(draft)
    if not drafts and failures:
        raise failures[0][1]
    notes = [f"topic {topic} is left out: {error.message}" for topic, error in failures]
    if not drafts:
        return replace(empty[0], notes=("none of the topics holds a record",)).text()
    notes += [f"topic {draft.topic} is left out: it holds no record" for draft in empty]
    return map_of(drafts, [*notes, *alike_topics(drafts)])


def draft_table(
    draft: Draft,
    sample: TopicSample,
    writers: WriterSchemas | None,
    environ: Mapping[str, str],
    table: TableDescription | None,
) -> Draft:
    """Return `draft` with the format, columns and notes that the sampled records suggest.

    `table` is Hive's description of the table, or None if it does not exist; its columns take precedence.
    """
    properties = {key: _without_secret(key, value) for key, value in draft.kafka.items()}
    draft = replace(draft, kafka=properties)
    if not sample.values:
        draft = replace(draft, notes=(f"topic {draft.topic} holds no record, so its columns are unknown",))
        return draft if table is None else with_table(replace(draft, format="json"), table)
    compression = compression_of(sample.values)
    sample, notes = sample.contents(compression, "utf-8")
    encoding = encoding_of(sample.values)
    guesses = guessed_encodings(sample.values) if encoding == "utf-8" else ()
    if len(guesses) == 1:
        (encoding,) = guesses
    text, text_notes = sample.contents("none", encoding)
    recognition = recognise(text.values, writers, text.headers)
    if recognition.format in ("json", "csv") and recognition.framing == "id4":
        sample, notes = text, [*notes, *text_notes, *_guess_notes(guesses)]
    else:
        encoding = "utf-8"
        recognition = recognise(sample.values, writers, sample.headers)
        sample, framing_notes = sample.contents("none", "utf-8", recognition.framing)
        notes = [*notes, *framing_notes, *(_guess_notes(guesses) if len(guesses) > 1 else ())]
    draft = replace(
        draft,
        compression=compression,
        encoding=encoding,
        format=recognition.format,
        source=recognition.source,
        columns=recognition.columns,
        registry=draft.registry if recognition.format in ("avro", "protobuf") else None,
        csv=recognition.csv,
        rows=recognition.rows,
        framing=recognition.framing,
        decimals=recognition.decimals,
        options=recognition.options,
    )
    if table is not None and recognition.columns:
        draft = with_table(draft, table)
    decoded = _decode(draft, sample, writers, {**environ, **{_variable(key): "-" for key in properties}})
    draft = replace(draft, columns=tuple(_with_empty(column, decoded.rows) for column in draft.columns))
    if draft.proposes_rules:
        draft = with_rules(draft, decoded.rows)
    notes = [*_outcome(draft, sample, decoded), *notes, *draft.notes, *recognition.notes]
    if draft.hive and table is None:
        notes.append(f"Hive has no table {draft.table_name}: a run creates it")
    if recognition.columns:
        events, rate = _events(draft, sample, decoded), _rate(sample)
        event = event_keys(draft, events, decoded.rows)
        notes += [*advice_on(draft, event, events, rate), *personal_notes(draft.columns, decoded.rows)]
        interval = 60 if rate is None else rate.interval_seconds
        draft = replace(draft, event=event, interval_seconds=interval)
    return replace(draft, notes=tuple(notes))


def _guess_notes(guesses: Sequence[Encoding]) -> list[str]:
    if not guesses:
        return []
    if len(guesses) == 1:
        return [
            f"values are not UTF-8, and {guesses[0]} is a guess: look at letters beyond ASCII in `kafka2hive preview`"
        ]
    return [f"values are not UTF-8: set encoding, their bytes fit {', '.join(guesses)}"]


def read_newest(wiring: Wiring, kafka: Kafka, topic: str, records: int) -> TopicSample:
    """Read about `records` of the newest records; the map must have a raw table of the topic with the metadata of `_reading_map`.

    Raises ConfigError (no such topic), ServiceUnavailable, TableError (not readable).
    """
    cluster = kafka.cluster()
    if topic not in cluster.topics:
        raise ConfigError(
            "usage.no_such_topic", f"Kafka has no topic {topic}", did_you_mean(topic, cluster.topics)
        )
    ranges = ranges_of(logs_of(kafka, cluster, [topic]), [topic], records, None)
    sample = TopicSample(ranges, len(cluster.topics[topic].partitions))
    table = routed_tables(wiring, [topic])[0]
    settings = task_settings(wiring.map, {table.name: Catalogue(wiring.map, None).resolve(table)})
    outcome = dry_run_ranges(
        table=table.name,
        ranges=ranges,
        settings=settings,
        files=wiring.ports.files,
        open_sink=passing_sinks(sample.take),  # format raw makes no dead letters
    )
    sample.tombstones = outcome.tombstones
    return sample


def _wire_options(text: str, name: str, environ: Mapping[str, str]) -> Wiring:
    """Wire a map that is made of the command's options. Raises ConfigError that says so."""
    try:
        return wire(load_text(text, name, environ))
    except MapInvalid as error:
        raise ConfigError(error.code, error.message, "correct the options of `kafka2hive sample`") from error


def _topics(request: DraftRequest, draft: Draft, environ: Mapping[str, str]) -> list[str]:
    """Return the topics that are named, then those that match the pattern, sorted."""
    if request.pattern is None:
        return list(dict.fromkeys(request.topics))
    wiring = _wire_options(_reading_map(draft), "the command line", environ)
    pattern = re.compile(request.pattern)
    matches = sorted(
        t
        for t in wiring.kafka(request.kafka_seconds, shared_timeout=True).cluster().topics
        if pattern.fullmatch(t) and not t.startswith("__")
    )
    if not matches and not request.topics:
        advice = "a pattern matches whole names: 'orders-.*'"
        raise ConfigError("usage.no_such_topic", f"Kafka has no topic that {request.pattern} matches", advice)
    return list(dict.fromkeys([*request.topics, *matches]))


def _draft_topic(draft: Draft, request: DraftRequest, environ: Mapping[str, str]) -> Draft:
    wiring = _wire_options(_reading_map(draft), "the command line", environ)
    options, root = wiring.map.registry, wiring.map.storage.ledger_root
    writers = process_schemas(options, wiring.ports.files, root, keeps=False) if options is not None else None
    topic_sample = read_newest(
        wiring, wiring.kafka(request.kafka_seconds, shared_timeout=True), draft.topic, request.records
    )
    table = _table_in_hive(wiring, draft) if draft.hive else None
    return draft_table(draft=draft, sample=topic_sample, writers=writers, environ=environ, table=table)


def _table_in_hive(wiring: Wiring, draft: Draft) -> TableDescription | None:
    """Return Hive's description of the table, or None if Hive has no such table."""
    metastore = wiring.hive()
    assert metastore is not None
    try:
        return metastore.tables.describe(draft.table_name)
    except MetastoreUnavailable as error:
        raise error.to_error(f"the schema of {draft.table_name}: {error}") from error
    except MetastoreRefused as error:
        raise TableError("hive.refused", f"the schema of {draft.table_name}: {error}") from error
    finally:
        metastore.close()


def alike_topics(drafts: Sequence[Draft]) -> list[str]:
    """Return a note for each group of topics that one table could read."""
    topics: dict[object, list[str]] = {}
    for draft in drafts:
        if not draft.columns or draft.format == "raw":
            continue  # of raw values nothing is known
        shape = frozenset((column.name, column.type, column.keys, column.unit) for column in draft.columns)
        key = (draft.format, draft.source, draft.rows, draft.compression, draft.encoding, shape)
        topics.setdefault(key, []).append(draft.topic)
    return [
        f"topics {', '.join(alike)} have the same columns: one table can read them all, by topics or a pattern"
        for alike in topics.values()
        if len(alike) > 1
    ]


def _reading_map(draft: Draft) -> str:
    """Return the text of the map by which the sampled records are read: the raw values of one topic."""
    table = {
        "table": "sample.sample",
        "topics": [draft.topic],
        "format": "raw",
        "bucket": {"path": ""},
        "metadata": {"partition": "number", "timestamp": "time", "headers": "headers"},
    }
    registry = {"registry": {"url": draft.registry}} if draft.registry else {}
    hive = {"hive": {"url": draft.hive}} if draft.hive else {}
    # a map must not name a registry that no table uses
    user = (
        [{"table": "sample.avro", "topics": [draft.topic], "format": "avro", "columns": {"a": "int"}}]
        if registry
        else []
    )
    service = {
        "service": "sample",
        "kafka": dict(draft.kafka),
        "storage": {"uri": STORAGE},
        **registry,
        **hive,
    }
    return json.dumps({**service, "tables": [table, *user]})


def _without_secret(key: str, value: str) -> str:
    plain = is_sensitive(key) and "${" not in value and not value.startswith("file:")
    return f"${{{_variable(key)}}}" if plain else value


def _variable(key: str) -> str:
    return "KAFKA_" + key.upper().replace(".", "_")


def _decode(
    draft: Draft, sample: TopicSample, writers: WriterSchemas | None, environ: Mapping[str, str]
) -> Decoded:
    """Load the drafted map and decode the sampled records by it."""
    wiring = _wire_options(draft.text(), "the draft", environ)
    (table,) = routed_tables(wiring, [draft.topic])
    settings = Catalogue(wiring.map, None).resolve(table)
    decoder = make_decoder(value_spec(settings, writers, Changes()))
    return decoder.decode(pa.array(sample.values, pa.binary()))


def _with_empty(column: DraftColumn, rows: pa.RecordBatch) -> DraftColumn:
    return replace(column, empty=rows.column(column.name).null_count / max(1, len(rows)))


def _outcome(draft: Draft, sample: TopicSample, decoded: Decoded) -> list[str]:
    """Return notes on how many records decode, and why the others are dead letters."""
    messages = len(decoded.accepted.unique())
    rows = f" to {counted(len(decoded.accepted), 'row')}" if len(decoded.accepted) > messages else ""
    first = (
        f"drafted from {counted(len(sample.values), 'record')} of topic {draft.topic}"
        f" ({counted(sample.partitions, 'partition')}; {first_ranges(sample.ranges)}):"
        f" {messages:,} decode{rows}"
    )
    empty = 0 if decoded.without_rows is None else len(decoded.without_rows)
    skipped = (
        [
            f"{counted(empty, 'record')} without a row, skipped: headers, empty arrays, or marks of the change log"
        ]
        if empty
        else []
    )
    reasons = Counter(decoded.reasons).most_common(5)
    return [first, *skipped, *(f"{counted(count, 'dead letter')}: {reason}" for reason, count in reasons)]


def _events(draft: Draft, sample: TopicSample, decoded: Decoded) -> list[EventTime]:
    times = pa.array(sample.times_ms, pa.int64()).take(decoded.accepted)
    return event_times(draft.columns, decoded.rows, times)


def _rate(sample: TopicSample) -> Rate | None:
    numbers = np.array(sample.numbers)
    times = np.array([-1 if time is None else time for time in sample.times_ms])
    by_partition = [times[(numbers == number) & (times >= 0)].tolist() for number in np.unique(numbers)]
    return rate_of(by_partition, sum(map(len, sample.values)) / len(sample.values))
