"""The snapshot codec: what it writes it reads; what is damaged is refused, by the checksum or by what it says."""

import dataclasses
import hashlib
import random
import types
import typing
from collections import Counter
from functools import cache
from typing import Any

from kafka2hive.ledger.snapshot.codec import SnapshotDamaged, decode, encode
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from kafka2hive.model.snapshot import (
    AcceptedGap,
    AcceptedLoss,
    AddedColumn,
    ComparedTable,
    ForgottenRegistration,
    NewsProgress,
    Snapshot,
)
from kafka2hive.model.window_counts import WindowCount
from tests.fuzz.finding import Finding
from tests.fuzz.mutate import damaged

MUTATIONS = 60
"""Damaged forms of one snapshot in one example."""
_CHECKSUM = b"checksum sha256:"
_WORDS = (
    "a",
    "air.flights",
    "flüge ost",
    "\u2028",
    "\t",
    '"',
    "\\",
    "\n",
    "",
    "-",
    "\x00",
    "\U0001f600",
    "0",
)


def fuzz_snapshots(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    snapshot = any_snapshot(dice)
    data = encode(snapshot)
    count["snapshots"] += 1
    if decode(data) != snapshot:
        raise Finding(f"comes back otherwise: {snapshot!r}")
    for _ in range(MUTATIONS):
        changed = damaged(dice, data, (data,))
        if changed != data:
            count["damaged snapshots"] += 1
            _must_refuse(changed)
        count["forged snapshots"] += 1
        if _reads_right(_sealed(damaged(dice, data[: data.rindex(_CHECKSUM)]))):
            count["forged snapshots that are read"] += 1
    _reads_right(dice.randbytes(dice.randrange(300)))
    _reads_right(_sealed(dice.randbytes(dice.randrange(300)) + b"\n"))


def _must_refuse(data: bytes) -> None:
    try:
        decode(data)
    except SnapshotDamaged:
        return
    raise Finding(f"damage is not noticed: {data!r}")


def _reads_right(data: bytes) -> bool:
    """Refused, or a snapshot whose values are of their types and that survives another round."""
    try:
        snapshot = decode(data)
    except SnapshotDamaged:
        return False
    check_types(snapshot, Snapshot)
    if decode(encode(snapshot)) != snapshot:
        raise Finding(f"comes back otherwise: {snapshot!r}")
    return True


def _sealed(body: bytes) -> bytes:
    return body + _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n"


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def check_types(value: Any, kind: Any) -> None:
    """Raises Finding when a value, or one in it, is not of its declared type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        if not any(type(value) is argument for argument in arguments):
            raise Finding(f"{value!r} is not {kind}")
    elif origin is tuple:
        if not isinstance(value, tuple):
            raise Finding(f"{value!r} is not {kind}")
        for item in value:
            check_types(item, arguments[0])
    elif dataclasses.is_dataclass(kind):
        if type(value) is not kind:
            raise Finding(f"{value!r} is not {kind}")
        for field in dataclasses.fields(kind):
            if not field.name.startswith("_"):
                check_types(getattr(value, field.name), _hints(kind)[field.name])  # type: ignore[arg-type]
    elif type(value) is not kind:
        raise Finding(f"{value!r} is not {kind}")


def any_snapshot(dice: random.Random) -> Snapshot:
    """Any snapshot the model can hold, sense or not."""

    def word() -> str:
        return "".join(dice.choice(_WORDS) for _ in range(dice.randrange(4)))

    def path() -> str:
        return word().replace("\n", "n").replace("\t", "t")

    def number() -> int:
        return dice.choice((0, 1, 7, 10**9, 2**53 + 1, 2**63 - 1))

    def partition() -> HivePartition:
        return HivePartition(word(), word(), word())

    def span() -> OffsetRange:
        start = number()
        return OffsetRange(TopicPartition(word(), number()), start, min(start + number(), 2**63 - 1))

    def some(make: Any) -> tuple[Any, ...]:
        return tuple(make() for _ in range(dice.choice((0, 1, 2, 5))))

    return Snapshot(
        ledger_id=word(),
        service=word(),
        table=word(),
        generation=number(),
        owner=word(),
        epoch=number(),
        written_at=word(),
        previous=word(),
        cluster_id=word(),
        location=word(),
        start=word(),
        newest_ms=dice.choice((None, number())),
        files=some(
            lambda: DataFile(
                kind=dice.choice(tuple(FileKind)),
                staged=path(),
                final=path() + "x",
                hive_partition=partition(),
                length=number(),
                rows=number(),
                checksum=word(),
                task=number(),
                ranges=some(span),
            )
        ),
        positions=some(
            lambda: Position(TopicPartition(word(), number()), number(), number(), word(), number() - 1)
        ),
        accounts=some(
            lambda: RangeAccounting(number(), span(), OffsetAccounting(*(number() for _ in range(8))))
        ),
        gaps=some(lambda: AcceptedGap(range=span(), reason=word(), accepted_at=word(), epoch=number())),
        losses=some(
            lambda: AcceptedLoss(
                path=word(), remedy=word(), rows=number(), accepted_at=word(), epoch=number()
            )
        ),
        unregistered=some(partition),
        registered=some(partition),
        compared=some(
            lambda: ComparedTable(
                table=word(),
                location=word(),
                format=word(),
                columns=word(),
                partition_columns=word(),
                created=word(),
            )
        ),
        lapsed=some(partition),
        forgotten=some(
            lambda: ForgottenRegistration(
                partition=partition(), reason=word(), accepted_by=word(), accepted_at=word(), epoch=number()
            )
        ),
        added=some(
            lambda: AddedColumn(name=word(), type=word(), schema=word(), added_at=word(), epoch=number())
        ),
        withheld=some(partition),
        told=some(lambda: NewsProgress(word(), number())),
        windows=some(
            lambda: WindowCount(
                topic_partition=TopicPartition(word(), number()),
                start=word(),
                seconds=number(),
                records=number(),
                dead_lettered=number(),
                bytes=number(),
                first=number(),
                last=number(),
            )
        ),
    )
