"""Which news follow from a table's snapshots, with ids that never change: rules N1 to N3 of docs/protocol.md. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby
from typing import Any

from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import NO_SNAPSHOT, REBUILT, Snapshot


class NewsKind(Enum):
    LOST = "lost"
    REOPENED = "reopened"
    REPLAYED = "replayed"
    COMPACTED = "compacted"
    COMPLETE = "complete"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One thing that happened to a table in `epoch`, at the time `at` (ISO-8601 UTC) by the clock of the epoch's owner.

    `subject` tells the news of one kind and epoch apart: the path of a Hive partition, or the number of a task. `facts` are what
    the line of the snapshot says of it.
    """

    kind: NewsKind
    ledger_id: str
    table: str
    epoch: int
    at: str
    subject: str = ""
    partition: HivePartition | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id by which a receiver drops doubles: the same for every owner and every try (N2)."""
        return f"{self.ledger_id}/{self.epoch}/{self.kind.value}/{self.subject}"


def news_of(snapshot: Snapshot, unwritten: Collection[HivePartition] = ()) -> tuple[News, ...]:
    """Return the news of one epoch, in the order in which they are told (N1, N3).

    `unwritten` are partitions whose certificates of this snapshot were never in place.
    """
    news = {each.id: each for each in _news(snapshot, frozenset(unwritten))}
    return tuple(news.values())


def news_of_history(after: int, snapshots: Sequence[Snapshot]) -> list[tuple[News, ...]]:
    """Return the news of each epoch of `snapshots` except the last, which only says what became of the certificates before it.

    `snapshots` are final and ordered; their epochs are above `after`. Epochs that lack are told as lost (N5).
    """
    news: list[tuple[News, ...]] = []
    for index, snapshot in enumerate(snapshots):
        if snapshot.epoch > after + 1:
            news.append((_lost(snapshot, snapshot.epoch - 1, first=after + 1),))
        if index + 1 < len(snapshots):
            news.append(news_of(snapshot, snapshots[index + 1].reopened))
        after = snapshot.epoch
    return news


def _news(snapshot: Snapshot, unwritten: frozenset[HivePartition]) -> Iterator[News]:
    """Yield what is withdrawn before what is complete, because a snapshot may do both to one partition."""
    if snapshot.owner == REBUILT and snapshot.previous == NO_SNAPSHOT:
        yield _lost(snapshot, snapshot.epoch, first=0)
    for partition in snapshot.reopened:
        yield _of_partition(snapshot, NewsKind.REOPENED, partition)
    for each in snapshot.replayed:
        account = each.account
        yield _of(
            snapshot,
            NewsKind.REPLAYED,
            str(each.task),
            path=each.path,
            letters=account.read,
            rows=account.rows,
            again=account.dead_lettered,
            partitions=sorted({f.hive_partition.path for f in snapshot.files if f.task == each.task}),
        )
    for partition, units in groupby(snapshot.units, key=lambda unit: unit.partition):
        yield _of_partition(snapshot, NewsKind.COMPACTED, partition, rows=sum(unit.rows for unit in units))
    for entry in snapshot.certificates:
        if entry.partition not in unwritten:
            facts = {"since": entry.since, "files": entry.files, "rows": entry.rows, "through": entry.through}
            yield _of_partition(snapshot, NewsKind.COMPLETE, entry.partition, **facts, policy=entry.policy)
    for line in snapshot.dropped:
        if line.epoch == snapshot.epoch:
            yield _of_partition(snapshot, NewsKind.DROPPED, line.partition)


def _lost(snapshot: Snapshot, epoch: int, first: int) -> News:
    """Return the news that nothing is known of the epochs from `first` to `epoch`; it counts as news of the last of them."""
    return News(
        kind=NewsKind.LOST,
        ledger_id=snapshot.ledger_id,
        table=snapshot.table,
        epoch=epoch,
        at=snapshot.written_at,
        facts={"first": first, "last": epoch},
    )


def _of_partition(snapshot: Snapshot, kind: NewsKind, partition: HivePartition, **facts: Any) -> News:
    return _of(snapshot, kind, partition.path, partition, **facts)


def _of(
    snapshot: Snapshot, kind: NewsKind, subject: str, partition: HivePartition | None = None, **facts: Any
) -> News:
    return News(
        kind=kind,
        ledger_id=snapshot.ledger_id,
        table=snapshot.table,
        epoch=snapshot.epoch,
        at=snapshot.written_at,
        subject=subject,
        partition=partition,
        facts=facts,
    )
