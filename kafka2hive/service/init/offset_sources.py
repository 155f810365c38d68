"""Positions that another tool left: a consumer group, a Spark checkpoint, Kafka Connect's files, a CSV file.

Every offset is the next one to read. This module only reads.
"""

import csv
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kafka2hive.config.rules.service import filesystem_of
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.text import counted
from kafka2hive.service.tables.ledgers import no_answer_about
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileStatus, StorageError, children, files_below

CSV_HEADER = ("topic", "partition", "offset")

_CONNECT_FILE = re.compile(
    r"(?P<topic>[A-Za-z0-9._-]+)\+(?P<number>\d+)\+(?P<start>\d+)\+(?P<end>\d+)(?:\.[A-Za-z0-9.]+)?"
)


class SourceKind(StrEnum):
    GROUP = "group"
    SPARK = "spark"
    CONNECT = "connect"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class OffsetSource:
    """A source of positions. `batch` selects a batch of a Spark checkpoint; None selects the newest."""

    kind: SourceKind
    place: str
    batch: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}" + ("" if self.batch is None else f"#{self.batch}")

    @staticmethod
    def parse(text: str) -> "OffsetSource":
        """Return the source that `text` names, such as `spark:CHECKPOINT#3`. Raises ConfigError (`usage.offset_source`)."""
        kind, _, place = text.partition(":")
        batch = None
        if kind == SourceKind.SPARK and (match := re.fullmatch(r"(.+)#(\d+)", place)):
            place, batch = match[1], int(match[2])
        if kind not in list(SourceKind) or not place:
            raise ConfigError(
                "usage.offset_source",
                f"not a source of offsets: {text!r}",
                f"write KIND:PLACE; the kinds are {', '.join(SourceKind)}",
            )
        return OffsetSource(SourceKind(kind), place.rstrip("/") if kind != SourceKind.GROUP else place, batch)


@dataclass(frozen=True, slots=True)
class ForeignOffsets:
    """The positions of a source. `rest_is_unread` says that the other tool never read topic partitions without a position."""

    source: OffsetSource
    offsets: Mapping[TopicPartition, int]
    rest_is_unread: bool


@dataclass(frozen=True, slots=True, order=True)
class PlacedOffset:
    """A position and the ends of its log, `[earliest, latest)`; None if Kafka does not report them."""

    topic_partition: TopicPartition
    offset: int
    earliest: int | None = None
    latest: int | None = None

    @property
    def waiting(self) -> int | None:
        """Number of offsets between the position and the end of the log."""
        return None if self.latest is None else max(self.latest - self.offset, 0)


def read_offsets(
    source: OffsetSource, wiring: Wiring, kafka: Kafka, topic_partitions: Collection[TopicPartition]
) -> ForeignOffsets:
    """Return the positions in a source. For a consumer group, only `topic_partitions` are requested.

    Raises ConfigError (`offsets.*`: the source does not exist or contradicts itself), ServiceUnavailable.
    """
    try:
        match source.kind:
            case SourceKind.GROUP:
                committed = kafka.group_offsets(source.place, topic_partitions)
                if not committed:
                    message = f"consumer group {source.place} has committed no offset of the map's topics"
                    raise ConfigError("offsets.none", message, "correct the group's name")
                return ForeignOffsets(source, committed, rest_is_unread=False)
            case SourceKind.SPARK:
                return ForeignOffsets(source, _spark_offsets(wiring, source), rest_is_unread=True)
            case SourceKind.CONNECT:
                return ForeignOffsets(source, _connect_offsets(wiring, source), rest_is_unread=True)
            case SourceKind.CSV:
                return ForeignOffsets(source, _csv_offsets(source), rest_is_unread=False)
    except StorageError as error:
        raise no_answer_about(str(source), error) from error


def place_offsets(
    foreign: ForeignOffsets, logs: Logs, topic_partitions: Collection[TopicPartition]
) -> tuple[PlacedOffset, ...]:
    """Return a position for each topic partition, within its log.

    Raises ConfigError: `offsets.missing` (the source lacks a position) or `offsets.outside` (a position is outside its log);
    ServiceUnavailable (Kafka does not report the ends of a log).
    """
    placed = []
    for tp in sorted(topic_partitions):
        if tp not in logs.earliest or tp not in logs.latest:
            message = f"Kafka does not report the ends of the log of {tp}"
            raise ServiceUnavailable(
                "kafka.unavailable",
                message,
                "check that this topic partition has a leader, then type the same `kafka2hive init` command again",
            )
        earliest, latest = logs.earliest[tp].offset, logs.latest[tp].offset
        offset = foreign.offsets.get(tp, earliest if foreign.rest_is_unread else None)
        if offset is None:
            raise ConfigError(
                "offsets.missing",
                f"{foreign.source} has no position for {tp}",
                "write the known positions to a file with `kafka2hive offsets export --from SOURCE -c MAP`, add the missing"
                " lines, and use csv:FILE",
            )
        if not earliest <= offset <= latest:
            why = (
                f"Kafka has deleted {counted(earliest - offset, 'offset')} from there on"
                if offset < earliest
                else "the topic was recreated or its log was truncated"
            )
            raise ConfigError(
                "offsets.outside",
                f"{foreign.source} has position {tp}@{offset}, but the log holds [{earliest}, {latest}): {why}",
                "decide where to begin, write the offset to a CSV file (topic,partition,offset), and use csv:FILE",
            )
        placed.append(PlacedOffset(tp, offset, earliest, latest))
    return tuple(placed)


def _spark_offsets(wiring: Wiring, source: OffsetSource) -> dict[TopicPartition, int]:
    """Return the offsets in `offsets/N` of a Structured Streaming checkpoint; N is the newest batch with a file `commits/N`.

    Raises ConfigError if there is a newer batch, because its rows may or may not be in the old table.
    """
    checkpoint = _on_storage(wiring, source.place)
    planned = _batches(wiring, join(checkpoint, "offsets"))
    done = _batches(wiring, join(checkpoint, "commits"))
    if not planned or not done:
        missing = "offsets" if not planned else "commits"
        message = f"{source.place} is not the checkpoint of a streaming query that has finished a batch: {missing}/ has no file"
        raise ConfigError(
            "offsets.none", message, "name the query's checkpointLocation, on the map's storage"
        )
    batch = max(done) if source.batch is None else source.batch
    if batch not in planned:
        batches = f"{min(planned)} to {max(planned)}"
        raise ConfigError("offsets.none", f"{source.place} has no batch {batch}", f"it has batches {batches}")
    newest = max(planned)
    if source.batch is None and newest > batch:
        raise ConfigError(
            "offsets.unfinished",
            f"{source.place}: batch {newest} has begun and is not committed: its rows may or may not be in the old table",
            f"let the query finish the batch; or look into the old table and choose: spark:{source.place}#{batch} if none of"
            f" the rows of batch {newest} is there, spark:{source.place}#{newest} if all are",
        )
    path = join(checkpoint, "offsets", str(batch))
    offsets: dict[TopicPartition, int] = {}
    for value in _json_values(wiring.ports.files.read(path).decode("utf-8", "replace")):
        for topic, numbers in value.items():
            if isinstance(numbers, dict) and all(str(n).isdigit() for n in numbers):
                offsets.update({TopicPartition(topic, int(n)): int(offset) for n, offset in numbers.items()})
    if not offsets:
        raise ConfigError(
            "offsets.none", f"{path} has no Kafka offsets", "name the checkpoint of the Kafka query"
        )
    return offsets


def _on_storage(wiring: Wiring, place: str) -> str:
    """Return the full path on the map's storage. Raises ConfigError (`offsets.storage`)."""
    root = filesystem_of(wiring.map.storage.uri)
    if place.startswith("/"):
        return root + place
    if place.startswith(f"{root}/"):
        return place
    message = f"{place} is not on the map's storage {root}"
    raise ConfigError(
        "offsets.storage",
        message,
        "copy the files there; or write the offsets to a CSV file, and use csv:FILE",
    )


def _batches(wiring: Wiring, directory: str) -> set[int]:
    listed = children(wiring.ports.files, directory)
    return {int(child.name) for child in listed if child.name.isdigit() and not child.is_directory}


def _json_values(text: str) -> Iterator[dict[str, object]]:
    """Yield the JSON object in each line of a checkpoint file, and its inner objects (newer versions have one per source)."""
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
            yield from (inner for inner in map(_object, value.values()) if inner is not None)


def _object(value: object) -> dict[str, object] | None:
    """Return `value` if it is a JSON object, the object if `value` is the text of one; otherwise None."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _connect_offsets(wiring: Wiring, source: OffsetSource) -> dict[TopicPartition, int]:
    """Return the offsets in the names of Kafka Connect's files, `topic+partition+first+last`.

    The directory `+tmp` is skipped, because it has unfinished files.
    """

    def enters(directory: FileStatus) -> bool:
        return directory.name != "+tmp" and not directory.name.startswith((".", "_"))

    offsets: dict[TopicPartition, int] = {}
    place = _on_storage(wiring, source.place)
    for file in files_below(wiring.ports.files, wiring.ports.concurrency, [place], enters):
        if (match := _CONNECT_FILE.fullmatch(base_name(file.path))) is not None:
            tp = TopicPartition(match["topic"], int(match["number"]))
            offsets[tp] = max(offsets.get(tp, 0), int(match["end"]) + 1)
    if not offsets:
        message = f"no file below {source.place} is named topic+partition+first+last"
        raise ConfigError(
            "offsets.none", message, "name the connector's topics.dir, or the directory of one table"
        )
    return offsets


def _csv_offsets(source: OffsetSource) -> dict[TopicPartition, int]:
    """Return the offsets in a local file with lines `topic,partition,offset`; a header line is allowed."""
    offsets: dict[TopicPartition, int] = {}
    try:
        with Path(source.place).open(encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), 1):
                if not row or (number == 1 and row == list(CSV_HEADER)):
                    continue
                if len(row) != len(CSV_HEADER) or not (row[1].isdigit() and row[2].isdigit()):
                    raise ConfigError(
                        "offsets.csv",
                        f"{source.place} line {number}: {','.join(row)!r} is not topic,partition,offset",
                        "correct the line",
                    )
                tp = TopicPartition(row[0], int(row[1]))
                if tp in offsets:
                    raise ConfigError(
                        "offsets.csv", f"{source.place} line {number}: {tp} is listed twice", "remove one"
                    )
                offsets[tp] = int(row[2])
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "offsets.csv", f"{source.place}: {error}", "name a file that can be read"
        ) from error
    if not offsets:
        raise ConfigError(
            "offsets.none", f"{source.place} has no lines", "write topic,partition,offset lines"
        )
    return offsets
