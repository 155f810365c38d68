"""`--once`: dump the records that Kafka holds at the first look, and try a few times for records that had to be left out."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kafka2hive.kafka.positions import Logs
from kafka2hive.kafka.problems import no_answer, open_transaction, unknown_topics, vanished_topics
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.text import counted
from kafka2hive.service.run.open_transactions import OpenTransactions, held_back
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.topics.kafka_view import KafkaOffsets
from kafka2hive.service.wiring import Wiring

TRIES = 3
ASK_AGAIN_SECONDS = 5.0
ASK_TRANSACTION_SECONDS = 1.0


def without_waits_for_permissions(wiring: Wiring) -> Wiring:
    """Return the wiring whose ledger steps fail at the first lack of permission; a service waits for an operator instead."""
    policy = replace(wiring.ports.retry_policy, denied_attempts=1)
    return replace(wiring, ports=replace(wiring.ports, retry_policy=policy))


class OnceTarget:
    """The offsets up to which a `--once` run dumps.

    `ends` has the high watermark of each log at the first look that returned it. At the end, the run waits up to
    `transaction_wait` seconds for records behind open transactions.
    """

    def __init__(self, transaction_wait: float, transactions: OpenTransactions) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.missing = MissingOffsets()
        self._held = HeldTargets(transaction_wait, transactions)

    def note(self, tables: Collection[Table], kafka_offsets: KafkaOffsets) -> None:
        """Note a look at Kafka: the ends of logs that it shows for the first time, missing offsets, and held-back offsets."""
        ends = {tp: watermark.offset for tp, watermark in kafka_offsets.logs.high.items()}
        self.ends = ends | self.ends
        self.missing.note(tables, kafka_offsets)
        self._held.note(
            [t for t in tables if (state := t.last_state) is None or state.paused is None],
            kafka_offsets.logs,
            self.ends,
        )

    def is_behind(self, table: Table) -> bool:
        """Return whether the table has not been dumped up to the known `ends`."""
        state = table.last_state
        positions = {} if state is None else {p.topic_partition: p.end for p in state.positions}
        of_table = (tp for tp in self.ends if tp.topic in table.topics)
        return any(positions.get(tp, 0) < self.ends[tp] for tp in of_table)

    def next_try(self, tables: Collection[Table], round_began: float, now: float) -> float | None:
        """Return when to try again (monotonic seconds); None if all is dumped or was tried often enough.

        A wait that was over when the round began does not count, because the table was tried in this round. A table that lacks
        a permission is not tried again: nobody grants it within seconds.
        """
        waiting = [
            aside.until
            for table in tables
            if (aside := table.aside) is not None
            and not aside.needs_manual_action
            and aside.times < TRIES
            and aside.error.code != "storage.denied"
            and aside.until > round_began
        ]
        asks = (self.missing.ask_again_at(now), self._held.ask_again_at(now))
        return min(waiting + [at for at in asks if at is not None], default=None)

    def left_out(self, tables: Collection[Table], now_ms: int) -> dict[str, TableError]:
        """Return an error for each table that was not dumped completely. `now_ms` is the wall clock.

        The causes are topic partitions without an answer, topics that do not exist or vanished during the run, records behind
        open transactions, and paused tables.
        """
        unknown = {t.name: vanished_topics(t.name, t.vanished) for t in tables if t.vanished}
        unknown |= {t.name: unknown_topics(t.name, t.in_map.missing) for t in tables if t.in_map.missing}
        paused = {t.name: error for t in tables if (error := _paused_error(t)) is not None}
        return paused | self._held.errors(now_ms) | self.missing.errors() | unknown


class MissingOffsets:
    """Topic partitions for which the last look returned no offsets, by table; at most TRIES looks are made for them."""

    def __init__(self) -> None:
        self._failed_tries = 0
        self._missing: dict[str, tuple[TopicPartition, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._missing)

    def note(self, tables: Collection[Table], kafka_offsets: KafkaOffsets) -> None:
        """Note the topic partitions that Kafka lists without returning offsets (no leader, or no answer in time)."""
        self._missing = {
            t.name: tps for t in tables if (tps := _without_offsets(t, kafka_offsets.of(t.name)))
        }

    def ask_again_at(self, now: float) -> float | None:
        """Return when to look again, on the clock of `now`; None if all is known or was asked TRIES times.

        Each call counts as a failed try, so it must be called only if nothing else is due.
        """
        if not self._missing:
            return None
        self._failed_tries += 1
        return now + ASK_AGAIN_SECONDS if self._failed_tries < TRIES else None

    def errors(self) -> dict[str, TableError]:
        return {table: no_answer(table, tps) for table, tps in self._missing.items()}


class HeldTargets:
    """Topic partitions whose target lies behind an open transaction, by table, as of the last look."""

    def __init__(self, seconds: float, transactions: OpenTransactions) -> None:
        self._seconds = seconds
        self._transactions = transactions
        self._until: float | None = None
        self._held: dict[str, dict[TopicPartition, tuple[int, int]]] = {}

    def note(self, tables: Collection[Table], logs: Logs, ends: Mapping[TopicPartition, int]) -> None:
        """Note which topic partitions cannot reach their `ends` yet."""
        self._held = {}
        for table in tables:
            for tp in logs.cluster.topic_partitions(table.topics):
                if held_back(logs, tp) and logs.latest[tp].offset < ends.get(tp, 0):
                    offsets = logs.latest[tp].offset, ends[tp]
                    self._held.setdefault(table.name, {})[tp] = offsets

    def ask_again_at(self, now: float) -> float | None:
        """Return when to look again, on the clock of `now`; None if nothing is held back or the wait is over.

        The first call begins the wait, so it must be called only if nothing else is due.
        """
        if not self._held:
            return None
        if self._until is None:
            self._until = now + self._seconds
        return now + ASK_TRANSACTION_SECONDS if now < self._until else None

    def errors(self, now_ms: int) -> dict[str, TableError]:
        errors = {}
        for table, held in self._held.items():
            tp = min(held)
            since_ms = self._transactions.since_ms(tp)
            seconds = 0 if since_ms is None else max(now_ms - since_ms, 0) / 1000
            errors[table] = open_transaction(table, tp, held[tp], seconds)
        return errors


def _paused_error(table: Table) -> TableError | None:
    """Return the error of a paused table with waiting records, None for any other table."""
    state = table.last_state
    if state is None or state.paused is None or not table.lag:
        return None
    return TableError(
        "table.paused",
        f"{table.name} has been paused since {state.paused.since} by {state.paused.by}:"
        f" {counted(table.lag, 'record')} are not dumped",
        f"`kafka2hive resume --table {table.name} -c MAP` resumes it",
    )


def _without_offsets(table: Table, logs: Logs) -> tuple[TopicPartition, ...]:
    of_table = logs.cluster.topic_partitions(table.topics)
    return tuple(tp for tp in of_table if not (tp in logs.earliest and tp in logs.latest and tp in logs.high))
