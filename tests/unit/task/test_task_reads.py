"""A task reads what Kafka's client delivered, range by range: a mistake of the fetch commits nothing."""

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest
from confluent_kafka import TopicPartition as Assignment

from kafka2hive.config.keys import MetadataColumn
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import AccountingMismatch, OffsetAccounting, OffsetRange
from kafka2hive.plan.contract import TableManifest
from kafka2hive.service.tables.manifests import Outcome
from kafka2hive.task.fetch import fetch as real
from kafka2hive.task.fetch.delivery_count import FetchBug
from kafka2hive.task.fetch.fetch import Fetch
from kafka2hive.task.fetch.reader import RangeReader
from kafka2hive.task.fetch.records import DeliveryRun, MessageBatch
from tests.harness.fake_consumer import FakeConsumer, FakeLog, Key, log_of
from tests.harness.one_task import outcome_of, run_on
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    read_rows,
    table_settings,
    task_settings,
)
from tests.mutants.fetch import BROKEN_FETCHES
from tests.mutants.text_mutant import TextMutant
from tests.mutants.text_runner import patched

PLACE = (
    (MetadataColumn.TOPIC, "topic"),
    (MetadataColumn.PARTITION, "partition"),
    (MetadataColumn.OFFSET, "offset"),
)
WITH_HOLES = tuple(n for n in range(60) if n not in (0, 5, 17, 18, 19, 48))

LOGS = {
    ("t", 0): log_of(*WITH_HOLES),  # records behind the range
    ("t", 1): log_of(*range(36), end=40),  # nothing but the end of the log behind the last record
    ("t", 2): log_of(*range(30)),  # ends with the range
    ("t", 3): log_of(*range(20), grows_at=12),  # its end is reported early
    ("u", 0): log_of(end=9),  # compacted away altogether
    ("u", 1): log_of(*range(30)),  # one range behind another, in two waves
}
RANGES = (
    offsets("t", 0, 0, 50),
    offsets("t", 1, 10, 40),
    offsets("t", 2, 3, 30),
    offsets("t", 3, 0, 20),
    offsets("u", 0, 2, 9),
    offsets("u", 1, 4, 11),
    offsets("u", 1, 11, 30),
    offsets("u", 2, 7, 7),
)
ABSENT = dict(zip(RANGES, (6, 4, 0, 0, 7, 0, 0, 0), strict=True))


def read_by(
    consumer: FakeConsumer, ranges: Sequence[OffsetRange] = RANGES, fetch: type[Fetch] = Fetch
) -> tuple[TableManifest, MemoryFiles]:
    settings = task_settings("", table_settings("db.t", metadata=PLACE), stall_seconds=2.0)
    manifest, files = run_on(consumer, settings, ranges, open_fetch=fetch)
    return pickle.loads(pickle.dumps(manifest)), files


def judged(manifest: TableManifest, ranges: Sequence[OffsetRange] = RANGES) -> Outcome:
    return outcome_of(manifest, planned=ranges, share=0.0)


def places(ranges: Sequence[OffsetRange]) -> list[tuple[str, int, int]]:
    """Return the offsets with records in these ranges."""
    return sorted(
        (topic, number, offset)
        for r in ranges
        for topic, number in [(r.topic_partition.topic, r.topic_partition.number)]
        for offset in range(r.start, r.end)
        if (topic, number) in LOGS and offset in LOGS[topic, number].records
    )


def mistaken(mutant: TextMutant) -> ModuleType:
    """Return the fetch with one mistake; its events are those that a task knows."""
    module = ModuleType(mutant.module)
    exec(compile(patched(mutant), mutant.module, "exec"), vars(module))
    vars(module).update({name: getattr(real, name) for name in ("TableRead", "TableUnreadable")})
    return module


@pytest.mark.parametrize("at_once", [1, 7, 1_000])
def test_every_record_of_every_range_is_read_once_and_what_is_absent_was_counted(at_once: int) -> None:
    manifest, files = read_by(FakeConsumer(LOGS, at_once))
    assert manifest.failure is None, manifest.failure
    rows = read_rows(files, manifest)
    assert sorted((row["topic"], row["partition"], row["offset"]) for row in rows) == places(RANGES)
    assert {a.range: a.account.absent for a in manifest.accounts} == ABSENT
    assert judged(manifest).total.absent == sum(ABSENT.values())
    assert {d.range: d.absent for d in manifest.delivered} == {r: n for r, n in ABSENT.items() if len(r)}


class Releases(FakeConsumer):
    def __init__(self, logs: Mapping[Key, FakeLog]) -> None:
        super().__init__(logs)
        self.released: list[set[Key]] = []

    def incremental_unassign(self, assignments: list[Assignment]) -> None:
        self.released.append({(one.topic, one.partition) for one in assignments})
        super().incremental_unassign(assignments)


def test_ranges_that_end_in_one_delivery_are_given_back_in_one_call() -> None:
    consumer = Releases({(name, number): log_of(*range(30)) for name in "tu" for number in (0, 1)})
    short = [offsets("t", 1, 0, 5), offsets("u", 0, 3, 6), offsets("u", 1, 0, 9)]
    manifest, _ = read_by(consumer, [offsets("t", 0, 0, 30), *short])
    assert manifest.failure is None
    assert consumer.released == [{("t", 1), ("u", 0), ("u", 1)}]


class Counts(FakeConsumer):
    def __init__(self, logs: Mapping[Key, FakeLog]) -> None:
        super().__init__(logs)
        self.counts: Counter[Key] = Counter()

    def handed(self, key: Key, messages: list[Any]) -> list[Any]:
        self.counts[key] += len(messages)
        return super().handed(key, messages)


def test_the_rest_of_a_dropped_table_is_not_read() -> None:
    consumer = Counts({(name, 0): log_of(*range(900)) for name in "tu"})
    ranges = {"short": [offsets("t", 0, 0, 20)], "dropped": [offsets("u", 0, 0, 900)]}
    reader = RangeReader(consumer, ranges, 5, lambda: None)
    for event in reader:
        assert event.table == "short"
        reader.drop("dropped")
    assert consumer.counts["t", 0] >= 20
    assert consumer.counts["u", 0] < 100


@pytest.mark.parametrize("mutant", BROKEN_FETCHES, ids=lambda mutant: mutant.name)
def test_a_broken_fetch_commits_nothing(mutant: TextMutant) -> None:
    """Whichever number is wrong, the client's own count differs."""
    broken = mistaken(mutant).Fetch
    for at_once in (1, 7, 1_000):
        try:
            manifest, _ = read_by(FakeConsumer(LOGS, at_once), fetch=broken)
            judged(manifest)
        except (FetchBug, AccountingMismatch, TableError):
            return
    raise AssertionError("committed")


class Spoiled(FakeConsumer):
    """A client that once returns something wrong."""

    def __init__(self, how: str) -> None:
        super().__init__(LOGS)
        self._how = how

    def handed(self, key: Key, messages: list[Any]) -> list[Any]:
        if key != ("t", 0) or not messages or messages[0].error() is not None:
            return messages
        how, self._how = self._how, ""
        match how:
            case "twice":
                return [*messages, messages[-1]]
            case "again":
                self._next[key] = messages[0].offset()
                return messages
            case "backwards":
                return messages[::-1]
            case "before":
                return [FakeLog({0: b""}, 1).message(key, 0), *messages]
            case "foreign":
                return [*messages, log_of(3).message(("other", 0), 3)]
            case "unwanted":
                return [*messages, log_of(3).message(("t", 9), 3)]
            case _:
                return messages


@pytest.mark.parametrize("how", ["twice", "again", "backwards", "before", "foreign", "unwanted"])
def test_a_record_that_the_client_was_not_asked_for_ends_the_attempt(how: str) -> None:
    ranges = (offsets("t", 0, 1, 50), offsets("t", 2, 3, 30))
    with pytest.raises(FetchBug, match=r"(t-0@|other-0|t-9)"):
        read_by(Spoiled(how), ranges)


class OtherColumns(MessageBatch):
    """A batch whose records differ from what was delivered, as a mistake in the code that makes columns would have it."""

    def __init__(self, messages: list[Any], how: str) -> None:
        super().__init__(messages)
        self._how = how

    def runs(self) -> list[DeliveryRun]:
        runs = super().runs()
        if not runs or ("t", 0) not in {run.key for run in runs}:
            return runs
        first = next(at for at, run in enumerate(runs) if run.key == ("t", 0))
        records = runs[first].records
        match self._how:
            case "lost":
                records = records.slice(0, len(records) - 1)
            case "twice":
                records = records.joined([records])
            case "of another":
                runs[first] = DeliveryRun(("t", 1), records)
                return runs
            case "no run":
                return runs[:first] + runs[first + 1 :]
        runs[first] = DeliveryRun(("t", 0), records)
        return runs


class MistakenColumns(FakeConsumer):
    """A client that makes such a batch of its second delivery."""

    def __init__(self, how: str) -> None:
        super().__init__(LOGS)
        self._how = how
        self._calls = 0

    def consume(self, count: int, seconds: float) -> MessageBatch:
        self._calls += 1
        return (
            OtherColumns(self.given(count), self._how)
            if self._calls == 2
            else super().consume(count, seconds)
        )


@pytest.mark.parametrize("how", ["lost", "twice", "of another", "no run", "right"])
def test_columns_that_differ_from_what_was_delivered_commit_nothing(how: str) -> None:
    """The count of deliveries is made in another place than the records."""
    try:
        manifest, _ = read_by(MistakenColumns(how))
        judged(manifest)
    except (FetchBug, AccountingMismatch, TableError):
        assert how != "right"
    else:
        assert how == "right"


class Elsewhere(FakeConsumer):
    """A client that reports another position than that of its last delivery."""

    def position(self, assignments: list[Assignment]) -> list[Assignment]:
        return [Assignment(a.topic, a.partition, 20) for a in assignments]


class AssignedElsewhere(FakeConsumer):
    """A client that began after the first requested offset."""

    def assign(self, assignments: list[Assignment]) -> None:
        super().assign([Assignment(a.topic, a.partition, a.offset + 2) for a in assignments])


@pytest.mark.parametrize("client", [Elsewhere, AssignedElsewhere])
def test_a_client_that_was_elsewhere_fails_the_table_and_closes_no_file(client: type[FakeConsumer]) -> None:
    manifest, files = read_by(client(LOGS), (offsets("t", 0, 0, 50),))
    assert manifest.failure is not None
    assert manifest.failure.code == "task.account_mismatch"
    assert "t-0@[0, 50): the client" in manifest.failure.message
    assert [path for path in files.content if path.endswith(".pending")] == []
    with pytest.raises(TableError):
        judged(manifest)


def test_an_end_of_the_log_that_was_reported_before_does_not_count_backwards() -> None:
    class Late(FakeConsumer):
        def handed(self, key: Key, messages: list[Any]) -> list[Any]:
            if messages and messages[0].error() is None and messages[0].offset() > 20:
                early = FakeConsumer({key: log_of(end=3)})
                early.assign([Assignment(*key, 0)])
                messages += early.given(1)
            return messages

    manifest, _ = read_by(Late(LOGS), (offsets("t", 2, 0, 30),))
    assert judged(manifest, (offsets("t", 2, 0, 30),)).total == OffsetAccounting(30, 30, bytes=50)
