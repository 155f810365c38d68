"""Spark's stages around a shuffle, drawn by seeds: attempts die, are repeated, and read less.

The rows of an attempt may be fetched before or after it is repeated. The real ends send, receive and count; each row of one
attempt of each task is committed once.
"""

import itertools
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import AccountingMismatch
from kafka2hive.plan.contract import TableFailure, TableManifest
from kafka2hive.sql.shuffle import first_ranges_of, shuffled_manifests, whole_plan
from kafka2hive.task.part import only_part
from kafka2hive.task.sql.coordinates import COORDINATES
from kafka2hive.task.sql.shares import RecordsRead, RowsReceived, RowsWritten
from kafka2hive.task.sql.shuffle import ReceivedRows, SentRows
from kafka2hive.task.watchdog import Watchdog
from tests.harness.fake_consumer import FakeConsumer, FakeLog, Key
from tests.harness.one_task import outcome_of
from tests.harness.task_files import MemoryFiles, environment_of, read_rows, task_settings
from tests.unit.task.sql.test_sql_shuffle import ALL, SHARES, halves
from tests.unit.task.sql.test_sql_task import Records, table_of

STAGES = 60
TABLE = replace(table_of(), shuffle="bucket")
WHOLE = whole_plan(SHARES)


def log_of(count: int) -> FakeLog:
    """Return a log of six days, so that both parts get some rows."""
    return FakeLog({at: b'{"n":%d,"day":"2013-01-0%d"}' % (at, 1 + at % 6) for at in range(count)}, count)


LOGS = {("t", 0): log_of(100), ("t", 1): log_of(50), ("t", 2): log_of(7)}


@dataclass(frozen=True, slots=True)
class Sent:
    """One attempt of a sender: its batches, and its report, None if it died before its end."""

    batches: list[pa.RecordBatch]
    told: tuple[RecordsRead, RowsWritten] | None

    @property
    def offsets(self) -> Counter[int]:
        return Counter(at for batch in self.batches for at in batch.column("pos").to_pylist())


class Stage:
    """One job as Spark may run it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.files = MemoryFiles()
        self.settings = task_settings("", TABLE)
        self.count: Counter[str] = Counter()
        self.attempts = [self._attempts(number) for number in range(len(SHARES))]
        self.is_plain = all(len(attempts) == 1 for attempts in self.attempts)
        self.received = [self._received(part) for part in range(len(SHARES))]

    def _attempts(self, number: int) -> list[Sent]:
        """The last one ends; earlier ones may end, too, and their output be lost later."""
        found: list[Sent] = []
        for attempt in range(self.random.choice((1, 1, 2, 3))):
            ends = attempt == 0 or self.random.random() < 0.6
            found.insert(0, self._sent(number, 10 * SHARES[number].index + attempt, ends))
        self.count["repeated"] += len(found) > 1
        return found

    def _sent(self, number: int, attempt: int, ends: bool) -> Sent:
        share, first = SHARES[number], first_ranges_of(SHARES)[number]
        logs = self._compacted() if attempt % 10 and self.random.random() < 0.5 else dict(LOGS)
        with Watchdog(240.0) as watchdog, ExitStack() as stack:
            records = Records(share, self.settings, self.files, FakeConsumer(logs), watchdog, WHOLE)
            environment = environment_of(self.settings, self.files, FakeConsumer(logs), watchdog)
            stack.enter_context(closing(environment))
            part = only_part(share, self.settings, WHOLE)
            sending = SentRows(attempt, part, environment, first=first, parts=len(SHARES), together=10**6)
            stack.enter_context(closing(sending))
            batches = [sending.send(half) for batch in records.batches() for half in halves(batch)]
            if not ends:
                self.count["died"] += 1
                return Sent(batches[:1], None)
            return Sent(batches, (RecordsRead(attempt, records.manifest), sending.finish()))

    def _compacted(self) -> dict[Key, FakeLog]:
        self.count["read less"] += 1
        gone = set(self.random.sample(range(100), 10))
        return {
            key: replace(log, records={at: value for at, value in log.records.items() if at not in gone})
            for key, log in LOGS.items()
        }

    def _received(self, part: int) -> RowsReceived:
        """Fetched from the last attempt that ended, or from an earlier one before its output was lost."""
        batches: list[pa.RecordBatch] = []
        for attempts in self.attempts:
            ended = [sent for sent in attempts if sent.told is not None]
            sent = ended[-1] if self.random.random() < 0.7 else self.random.choice(ended)
            batches += sent.batches
        mine = [b.filter(pc.equal(b.column(COORDINATES).field("part"), part)) for b in batches]
        if self.random.random() < 0.1:
            self.count["a receiver failed"] += 1
            self.is_plain = False
            return RowsReceived(part=part, failure=TableFailure("storage.denied", "no"))
        for _ in range(self.random.choice((1, 1, 2))):  # the first one's files are orphans
            with Watchdog(240.0) as watchdog:
                environment = environment_of(self.settings, self.files, FakeConsumer({}), watchdog)
                receiving = ReceivedRows(part, only_part(WHOLE, self.settings), environment)
                with closing(environment), closing(receiving):
                    for batch in mine:
                        receiving.take(batch)
                    told = receiving.finish()
        return told

    def manifests(self) -> list[TableManifest]:
        """Spark counts the rows of the attempts that ended last."""
        told = [sent.told for attempts in self.attempts for sent in attempts if sent.told is not None]
        last = {written.task: (read, written) for read, written in told}
        into = sum(a.account.written for read, _ in last.values() for a in read.manifest.accounts)
        out = sum(sum(written.rows) for _, written in last.values())
        order = self.random.sample(told, len(told))  # as messages of tasks come in
        read, written = [read for read, _ in order], [written for _, written in order]
        return shuffled_manifests("db.t", SHARES, read, written, self.received, into, out)

    def judge(self, manifests: list[TableManifest]) -> None:
        """Committed is what one attempt of each task has sent, and the accounts say just that."""
        rows = Counter(row["pos"] for manifest in manifests for row in read_rows(self.files, manifest))
        outcome = outcome_of(*manifests, planned=ALL)
        assert outcome.total.written == rows.total()
        ended = [[sent for sent in attempts if sent.told is not None] for attempts in self.attempts]
        choices = [sum((sent.offsets for sent in choice), Counter()) for choice in itertools.product(*ended)]
        assert rows in choices, "rows of several attempts of one task, or not all of one"


def play(seed: int) -> Counter[str]:
    stage = Stage(seed)
    try:
        manifests = stage.manifests()
    except (AccountingMismatch, TableError):
        assert not stage.is_plain, "nothing went wrong, yet nothing is committed"
        stage.count["refused"] += 1
        return stage.count
    if any(manifest.failure for manifest in manifests):
        stage.count["failed"] += 1
        return stage.count
    stage.judge(manifests)
    stage.count["committed"] += 1
    stage.count["committed after a repetition"] += not stage.is_plain
    return stage.count


def test_whatever_attempts_spark_makes_each_row_is_committed_once_or_nothing_is() -> None:
    happened: Counter[str] = Counter()
    for seed in range(STAGES):
        happened += play(seed)
    cases = ("repeated", "died", "read less", "a receiver failed", "refused", "failed", "committed")
    assert not [case for case in (*cases, "committed after a repetition") if not happened[case]], happened


@pytest.mark.parametrize("seed", [0])
def test_a_seed_gives_the_same_stage_every_time(seed: int) -> None:
    assert play(seed) == play(seed)
