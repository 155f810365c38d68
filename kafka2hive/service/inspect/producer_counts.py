"""The counts that producers send to a topic, and how they agree with a table's. Only reads.

A count is a JSON object (docs/counts.md). A later count of the same producer and window replaces its earlier one.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import orjson
import pyarrow as pa

from kafka2hive.config.keys import Bucketing, Column, MetadataColumn, TableSettings
from kafka2hive.kafka.port import Kafka, Watermark
from kafka2hive.model.errors import ConfigError, ExitCode, ServiceUnavailable
from kafka2hive.model.instant import NEVER, instant_seconds
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.paths.path import join
from kafka2hive.model.text import utc_text
from kafka2hive.model.window_counts import DAY_SECONDS, is_window_length
from kafka2hive.service.hive.schemas import task_settings
from kafka2hive.service.inspect.counts import ALL, CountRequest, TableCounts, table_counts
from kafka2hive.service.tables.ledgers import did_you_mean
from kafka2hive.service.topics.kafka_view import logs_of
from kafka2hive.service.wiring import Wiring
from kafka2hive.task.run import dry_run_ranges
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.destination import passing_sinks

MOST_EXAMPLES = 10
POLL_SECONDS = 5.0
_READER = "counts.of_producers"
"""The name of the table by which the counts of producers are read; nothing is written."""
_PLACE = (MetadataColumn.PARTITION, MetadataColumn.OFFSET, MetadataColumn.TIMESTAMP)


@dataclass(frozen=True, slots=True)
class ProducerCount:
    """One count: `producer` sent `records` to the topic (to partition `number`, ALL without one) in this window."""

    topic: str
    start: int
    seconds: int
    producer: str
    number: int
    records: int


class MalformedCount(ValueError):
    """A message is no count; the text says why."""


def parse_count(value: bytes) -> ProducerCount:
    """Return the count in a message. Raises MalformedCount."""
    try:
        content = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise MalformedCount("not JSON") from error
    if not isinstance(content, dict):
        raise MalformedCount("not a JSON object")
    count = ProducerCount(
        topic=_text(content, "topic"),
        start=instant_seconds(_text(content, "window")),
        seconds=_number(content, "seconds"),
        producer=_text(content, "producer"),
        number=ALL if content.get("partition") is None else _number(content, "partition"),
        records=_number(content, "records"),
    )
    if count.start == NEVER:
        raise MalformedCount("window is not a time such as 2026-11-21T08:00:00Z")
    if not is_window_length(count.seconds):
        raise MalformedCount(
            f"seconds is {count.seconds}, which is less than a minute or does not divide a day"
        )
    if count.start % count.seconds:
        raise MalformedCount(f"no window of {count.seconds} seconds begins at {utc_text(count.start)}")
    return count


def _text(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedCount(f"{name} is not a text" if name in content else f"{name} is missing")
    return value


def _number(content: Mapping[str, Any], name: str) -> int:
    value = content.get(name)
    if type(value) is not int or value < 0:
        raise MalformedCount(f"{name} is not a number from 0 on" if name in content else f"{name} is missing")
    return value


@dataclass(slots=True)
class ProducerCounts:
    """The newest counts of all producers for some topics and a time, and the messages that were no counts.

    `malformed` has the first of these, as place and reason.
    """

    topics: frozenset[str]
    request: CountRequest
    malformed_count: int = 0
    malformed: list[tuple[str, str]] = field(default_factory=list)
    _newest: dict[tuple[str, int, int, str, int], tuple[tuple[int, int, int], int]] = field(
        default_factory=dict
    )

    def take(self, place: TopicPartition, offset: int, time: int, value: bytes) -> None:
        """Take one message. Of several counts the one with the greatest timestamp wins, then that with the greatest offset."""
        try:
            count = parse_count(value)
        except MalformedCount as error:
            self.malformed_count += 1
            if len(self.malformed) < MOST_EXAMPLES:
                self.malformed.append((f"{place}@{offset}", str(error)))
            return
        if count.topic not in self.topics or not self.request.begin <= count.start < self.request.end:
            return
        key = (count.topic, count.start, count.seconds, count.producer, count.number)
        at = (time, offset, place.number)
        known = self._newest.get(key)
        if known is None or at > known[0]:
            self._newest[key] = at, count.records

    def sums(self) -> dict[tuple[str, int, int], int]:
        """Return the records of all producers by topic, start and length of the window."""
        sums: Counter[tuple[str, int, int]] = Counter()
        for (topic, start, seconds, _, _), (_, records) in self._newest.items():
            sums[topic, start, seconds] += records
        return dict(sums)


class CountVerdict(StrEnum):
    """How a window of a table agrees with the counts of producers."""

    AGREE = "agree"
    FEWER = "fewer"
    """The table has read all that Kafka holds, and fewer records than the producers sent."""
    MORE = "more"
    """The table has more records than the producers sent."""
    BEHIND = "behind"
    """The table has fewer, and has not read all that Kafka holds."""
    INCOMPLETE = "incomplete"
    """The table's counts of the window are not whole, or its windows do not fit into it."""
    UNTOLD = "untold"
    """No producer has counted this window of the table."""


_WRONG = (CountVerdict.FEWER, CountVerdict.MORE)


@dataclass(frozen=True, slots=True)
class ComparedWindow:
    """A window with the producers' records and the table's; `sent` is None if no producer has counted it."""

    topic: str
    start: str
    seconds: int
    sent: int | None
    read: int
    verdict: CountVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The windows of a table compared with the producers' counts in the topic `against`."""

    table: str
    against: str
    windows: tuple[ComparedWindow, ...]
    malformed_count: int = 0
    malformed: Sequence[tuple[str, str]] = ()
    without_window: int = 0
    """Records of the table that have no window, and may belong into one with too few."""

    @property
    def exit_code(self) -> ExitCode:
        """Return DONE if all windows agree, STOP if one never will or a message is no count, SET_ASIDE if one may agree later."""
        verdicts = {window.verdict for window in self.windows}
        if self.malformed_count or verdicts.intersection(_WRONG):
            return ExitCode.STOP
        return ExitCode.DONE if verdicts <= {CountVerdict.AGREE} else ExitCode.SET_ASIDE


def compare(counts: TableCounts, producers: ProducerCounts, against: str, *, lags: bool) -> Comparison:
    """Compare the windows; `lags`: Kafka may hold records of the table that it has not read. Pure."""
    own: dict[tuple[str, int, int], int] = {}
    for key, total in counts.windows.items():
        if key.start:
            own[key.topic, instant_seconds(key.start), key.seconds] = total.records
    by_day: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
    for each in own:  # no window crosses midnight
        by_day.setdefault((each[0], each[1] // DAY_SECONDS), []).append(each)
    told: set[tuple[str, int, int]] = set()
    windows = []
    for (topic, start, seconds), sent in producers.sums().items():
        of_day = by_day.get((topic, start // DAY_SECONDS), ())
        parts = {each for each in of_day if _overlap(each[1], each[2], start, seconds)}
        fits = all(start <= begin and begin + length <= start + seconds for _, begin, length in parts)
        told |= parts
        read = sum(own[each] for each in parts)
        whole = fits and counts.is_whole_from(start)
        windows.append(
            ComparedWindow(
                topic=topic,
                start=utc_text(start),
                seconds=seconds,
                sent=sent,
                read=read,
                verdict=_verdict(sent, read, whole=whole, lags=lags),
            )
        )
    windows += [
        ComparedWindow(
            topic=topic,
            start=utc_text(start),
            seconds=seconds,
            sent=None,
            read=own[topic, start, seconds],
            verdict=CountVerdict.UNTOLD,
        )
        for topic, start, seconds in own.keys() - told
    ]
    return Comparison(
        table=counts.table,
        against=against,
        windows=tuple(sorted(windows, key=lambda window: (window.topic, window.start, window.seconds))),
        malformed_count=producers.malformed_count,
        malformed=tuple(producers.malformed),
        without_window=sum(total.records for key, total in counts.windows.items() if not key.start),
    )


def _overlap(begin: int, length: int, start: int, seconds: int) -> bool:
    return begin < start + seconds and start < begin + length


def _verdict(sent: int, read: int, *, whole: bool, lags: bool) -> CountVerdict:
    if not whole:
        return CountVerdict.INCOMPLETE
    if sent == read:
        return CountVerdict.AGREE
    if read > sent:
        return CountVerdict.MORE
    return CountVerdict.BEHIND if lags else CountVerdict.FEWER


def compared_counts(
    wiring: Wiring, kafka: Kafka, table: str, request: CountRequest, against: str, wait_seconds: float = 0.0
) -> Comparison:
    """Compare a table's counts with those that producers have sent to the topic `against`.

    The counts of producers are read first, then Kafka's ends are asked for: what these producers sent is before the ends. If the
    table has not read up to them, its ledger is read again until `wait_seconds` are over. The whole topic is read; memory grows
    with the selected windows and their producers. Raises ConfigError, ServiceUnavailable, TableError, ManualActionRequired.
    """
    clock = wiring.ports.clock
    give_up = clock.monotonic() + wait_seconds
    counts = table_counts(wiring, table, replace(request, begin=math.inf))  # its topics; no history
    topics = {request.topic} if request.topic else {place.topic for place in counts.ends}
    producers = ProducerCounts(frozenset(topics), request)
    _read(wiring, kafka, against, producers)
    places = kafka.cluster().topic_partitions(sorted(topics))
    ends = kafka.high_watermarks(places)
    counts = table_counts(wiring, table, request)
    while (lags := _lags(counts, places, ends)) and clock.monotonic() < give_up:
        clock.sleep(min(POLL_SECONDS, max(0.0, give_up - clock.monotonic())))
        counts = table_counts(wiring, table, request)
    return compare(counts, producers, against, lags=lags)


def _lags(
    counts: TableCounts, places: Sequence[TopicPartition], ends: Mapping[TopicPartition, Watermark]
) -> bool:
    """Return whether Kafka holds offsets that the table has not read, or has not said up to where it holds some."""
    return any(place not in ends or counts.ends.get(place, 0) < ends[place].offset for place in places)


def _read(wiring: Wiring, kafka: Kafka, topic: str, producers: ProducerCounts) -> None:
    """Read the counts that Kafka holds now. Raises ConfigError (no such topic), ServiceUnavailable, TableError."""
    cluster = kafka.cluster()
    if topic not in cluster.topics:
        raise ConfigError(
            "usage.no_such_topic", f"Kafka has no topic {topic}", did_you_mean(topic, cluster.topics)
        )
    logs = logs_of(kafka, cluster, [topic])
    silent = [place for place in cluster.topic_partitions([topic]) if place not in logs.latest]
    if silent:
        raise ServiceUnavailable(
            "kafka.unavailable",
            f"Kafka does not say up to where it holds {', '.join(map(str, silent[:10]))}",
            "check that these topic partitions have a leader, then type the same `kafka2hive counts` command again",
        )
    ranges = (
        OffsetRange(place, earliest.offset, logs.latest[place].offset)
        for place, earliest in sorted(logs.earliest.items())
    )
    raw = TableSettings(
        table=_READER,
        format="raw",
        columns=(Column("value", "binary"),),
        metadata=tuple((kind, kind.value) for kind in _PLACE),
        bucketing=Bucketing(""),
        location=join(wiring.map.storage.warehouse, _READER),
    )

    def take(rows: pa.RecordBatch, _ids: BucketIds, _paths: Sequence[str]) -> None:
        number, offset, time = (rows.column(kind.value) for kind in _PLACE)
        micros = time.cast(pa.int64()).fill_null(-1).to_pylist()
        columns = (number.to_pylist(), offset.to_pylist(), micros, rows.column("value").to_pylist())
        for each in zip(*columns, strict=True):
            producers.take(TopicPartition(topic, each[0]), *each[1:])

    dry_run_ranges(
        table=_READER,
        ranges=tuple(each for each in ranges if len(each)),
        settings=task_settings(wiring.map, {_READER: raw}),
        files=wiring.ports.files,
        open_sink=passing_sinks(take),  # format raw makes no dead letters
    )
