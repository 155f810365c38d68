"""A snapshot's text for the judges of a schedule, parsed without the product's codec (tests/oracle/ledger_text.py)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from tests.oracle.ledger_text import objects_of


class ToldFile(NamedTuple):
    """A `file` line; `kind` is `data` or `dead_letter`."""

    kind: str
    staged: str
    final: str
    hive_partition: HivePartition
    length: int
    rows: int
    task: int
    ranges: tuple[OffsetRange, ...]


class ToldGap(NamedTuple):
    """A `gap` line. `moved_to` is the topic in which the reading goes on in another cluster, "" for any other gap."""

    range: OffsetRange
    epoch: int
    moved_to: str


class ToldLoss(NamedTuple):
    """A `loss` line."""

    path: str
    remedy: str
    rows: int
    epoch: int


class ToldForgotten(NamedTuple):
    """A `forgotten` line."""

    partition: HivePartition
    epoch: int


class ToldColumn(NamedTuple):
    """An `added` line."""

    name: str
    type: str
    epoch: int


class ToldComparison(NamedTuple):
    """A `compared` line."""

    table: str
    location: str
    columns: str


class ToldOpen(NamedTuple):
    """An `open` line."""

    partition: HivePartition
    since: int
    files: int
    rows: int


class ToldCertificate(NamedTuple):
    """A `certificate` line."""

    partition: HivePartition
    since: int
    files: int
    rows: int
    through: str
    policy: str
    success_file: str


class ToldOrder(NamedTuple):
    """An `order` line."""

    id: str
    kind: str
    epoch: int
    result: str


class ToldReplay(NamedTuple):
    """A `replayed` line."""

    path: str
    task: int
    letters: int
    written: int
    filtered: int
    again: int


class ToldProgress(NamedTuple):
    """A `replaying` line."""

    order: str
    through: int
    files: int
    letters: int
    written: int
    filtered: int
    again: int


class ToldDropped(NamedTuple):
    """A `dropped` line."""

    partition: HivePartition
    epoch: int
    gone_since: str


class ToldEarly(NamedTuple):
    """An `early` line."""

    partition: HivePartition
    since: int
    closes: str
    files: int
    rows: int
    certified: int


class ToldUnit(NamedTuple):
    """A `unit` line."""

    partition: HivePartition
    task: int
    first: str
    last: str
    sources: int
    rows: int


class ToldMove(NamedTuple):
    """A `moved` line."""

    partition: HivePartition
    epoch: int
    late: int
    early: str
    right_since: str


class ToldRetirement(NamedTuple):
    """A `retired` line."""

    partition: HivePartition
    early: str
    through: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SnapshotText:
    """The lines of one snapshot. `checksum` is that of its bytes, `tracking` the epoch since which partitions are tracked.

    `paused` is the id of the order that paused the table, None if it is not paused.
    `through` is the time up to which all was read, "-" if unknown; `late_before_ms` is the bound of late or expired rows,
    `expired_before_ms` that of expired ones.
    """

    ledger_id: str
    service: str
    table: str
    generation: int
    owner: str
    epoch: int
    previous: str
    checksum: str
    location: str
    files: tuple[ToldFile, ...]
    positions: tuple[Position, ...]
    accounts: tuple[RangeAccounting, ...]
    gaps: tuple[ToldGap, ...]
    losses: tuple[ToldLoss, ...]
    unregistered: tuple[HivePartition, ...]
    registered: tuple[HivePartition, ...]
    withheld: tuple[HivePartition, ...]
    told: tuple[tuple[str, int], ...]
    windows: tuple[tuple[str, int, str, int, int, int, int, int, int], ...]
    lapsed: tuple[HivePartition, ...]
    forgotten: tuple[ToldForgotten, ...]
    added: tuple[ToldColumn, ...]
    compared: tuple[ToldComparison, ...]
    tracking: int | None
    open: tuple[ToldOpen, ...]
    certificates: tuple[ToldCertificate, ...]
    reopened: tuple[HivePartition, ...]
    orders: tuple[ToldOrder, ...]
    paused: str | None
    through: str
    late_before_ms: int | None
    expired_before_ms: int | None
    replayed: tuple[ToldReplay, ...]
    replaying: ToldProgress | None
    closed_through: str
    early: tuple[ToldEarly, ...]
    units: tuple[ToldUnit, ...]
    moved: tuple[ToldMove, ...]
    retired: tuple[ToldRetirement, ...]
    dropped: tuple[ToldDropped, ...]

    def position(self, topic_partition: TopicPartition) -> Position | None:
        """Return the position, None if the table has never read the topic partition."""
        return next((p for p in self.positions if p.topic_partition == topic_partition), None)


@lru_cache(256)
def read_snapshot(data: bytes) -> SnapshotText:
    """Parse a snapshot. Cached, because judges read a ledger's history again and again. Raises AssertionError, KeyError."""
    lines = objects_of(data)
    (header,) = lines["header"]
    tracking = [line["since"] for line in lines["tracking"]]
    paused = [line["order"] for line in lines["paused"]]
    return SnapshotText(
        ledger_id=header["ledger"],
        service=header["service"],
        table=header["table"],
        generation=header["generation"],
        owner=header["owner"],
        epoch=header["epoch"],
        previous=header["previous"],
        checksum=lines["checksum"][0]["of"],
        location=header["location"],
        files=tuple(map(_file, lines["file"])),
        positions=tuple(map(_position, lines["position"])),
        accounts=tuple(map(_account, lines["account"])),
        gaps=tuple(ToldGap(_range(line), line["epoch"], line.get("moved_to", "")) for line in lines["gap"]),
        losses=tuple(
            ToldLoss(line["path"], line["how"], line["rows"], line["epoch"]) for line in lines["loss"]
        ),
        unregistered=tuple(map(_partition, lines["unregistered"])),
        registered=tuple(map(_partition, lines["registered"])),
        withheld=tuple(map(_partition, lines["withheld"])),
        told=tuple((line["receiver"], line["through"]) for line in lines["told"]),
        windows=tuple(tuple(line.values()) for line in lines["window"]),
        lapsed=tuple(map(_partition, lines["lapsed"])),
        forgotten=tuple(ToldForgotten(_partition(line), line["epoch"]) for line in lines["forgotten"]),
        added=tuple(ToldColumn(line["column"], line["type"], line["epoch"]) for line in lines["added"]),
        compared=tuple(
            ToldComparison(line["table"], line["location"], line["columns"]) for line in lines["compared"]
        ),
        tracking=tracking[0] if tracking else None,
        open=tuple(
            ToldOpen(_partition(line), line["since"], line["files"], line["rows"]) for line in lines["open"]
        ),
        certificates=tuple(map(_certificate, lines["certificate"])),
        reopened=tuple(map(_partition, lines["reopened"])),
        orders=tuple(ToldOrder(o["id"], o["kind"], o["epoch"], o["result"]) for o in lines["order"]),
        paused=paused[0] if paused else None,
        through=next((line["through"] for line in lines["tracking"]), "-"),
        late_before_ms=_closed_before_ms(lines["bounds"]),
        expired_before_ms=next((line.get("expired_before_ms") for line in lines["bounds"]), None),
        dropped=tuple(
            ToldDropped(_partition(line), line["epoch"], line["gone_since"]) for line in lines["dropped"]
        ),
        replayed=tuple(
            ToldReplay(*(line[name] for name in ToldReplay._fields)) for line in lines["replayed"]
        ),
        replaying=next(
            (ToldProgress(*(line[name] for name in ToldProgress._fields)) for line in lines["replaying"]),
            None,
        ),
        closed_through=header.get("closed_through", ""),
        early=tuple(
            ToldEarly(_partition(line), *(line[name] for name in ToldEarly._fields[1:]))
            for line in lines["early"]
        ),
        units=tuple(map(_unit, lines["unit"])),
        moved=tuple(
            ToldMove(_partition(line), *({"right_since": "", **line}[name] for name in ToldMove._fields[1:]))
            for line in lines["moved"]
        ),
        retired=tuple(
            ToldRetirement(_partition(line), *(line[name] for name in ToldRetirement._fields[1:]))
            for line in lines["retired"]
        ),
    )


def _closed_before_ms(bounds: list[dict[str, Any]]) -> int | None:
    """Return up to which time periods are late or have expired."""
    ends = [end for line in bounds for end in (line["late_before_ms"], line.get("expired_before_ms"))]
    return max((end for end in ends if end is not None), default=None)


def _partition(line: dict[str, Any]) -> HivePartition:
    return HivePartition(line["table"], line["partition"], line["location"])


def _range(line: dict[str, Any]) -> OffsetRange:
    return OffsetRange(TopicPartition(line["topic"], line["number"]), line["start"], line["end"])


def _file(line: dict[str, Any]) -> ToldFile:
    ranges = tuple(
        OffsetRange(TopicPartition(topic, n), start, end) for topic, n, start, end in line["ranges"]
    )
    places = (line["kind"], line["staged"], line["final"], _partition(line))
    return ToldFile(*places, line["length"], line["rows"], line["task"], ranges)


def _position(line: dict[str, Any]) -> Position:
    topic_partition = TopicPartition(line["topic"], line["number"])
    return Position(topic_partition, line["start"], line["end"], line["topic_id"], line["leader_epoch"])


def _account(line: dict[str, Any]) -> RangeAccounting:
    account = OffsetAccounting(
        read=line["read"],
        written=line["written"],
        filtered=line["filtered"],
        tombstones=line["tombstones"],
        dead_lettered=line["dead_lettered"],
        absent=line["absent"],
        bytes=line["bytes"],
        more_rows=line.get("more_rows", 0),
        out_of_range=line.get("out_of_range", 0),
        late=line.get("late", 0),
    )
    return RangeAccounting(line["task"], _range(line), account)


def _unit(line: dict[str, Any]) -> ToldUnit:
    interval = (line["first"], line["last"])
    return ToldUnit(_partition(line), line["task"], *interval, line["sources"], line["rows"])


def _certificate(line: dict[str, Any]) -> ToldCertificate:
    counts = (line["since"], line["files"], line["rows"])
    said = (line["through"], line["policy"], line["success_file"])
    return ToldCertificate(_partition(line), *counts, *said)
