"""The metadata in a data file's footer, from which a lost ledger can be rebuilt (docs/protocol.md).

Footers of an unknown version are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, TopicPartition

FORMAT_VERSION = "2"
_PREFIX = "kafka2hive."
_FIRST_COUNTS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The attempt that wrote a file.

    `table` is the table whose ledger commits the file. `ranges` are the task's ranges without empty ones. `attempt` (32 hex
    digits) identifies one run of the task, `planned_at_ms` one plan of the epoch. If `replay` is true, the attempt decoded
    the letters of a dead-letter file instead of records from Kafka, and its accounts count only these letters.
    """

    kind: FileKind
    ledger_id: str
    table: str
    generation: int
    epoch: int
    task: int
    attempt: str
    planned_at_ms: int
    ranges: tuple[OffsetRange, ...]
    replay: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer(Origin):
    """The footer of a data file; `partition` is where the file belongs once it is final.

    `accounts` has one account per range in the files that the attempt closed after it had read all its records. There is at
    least one such file, of any kind. In the other files `accounts` is None.
    """

    rows: int
    partition: HivePartition
    accounts: tuple[OffsetAccounting, ...] | None = None

    def metadata(self) -> dict[str, str]:
        """Return the footer as key-value metadata; `parse` is the inverse."""
        ranges = [[r.topic_partition.topic, r.topic_partition.number, r.start, r.end] for r in self.ranges]
        pairs = {
            "format_version": FORMAT_VERSION,
            "kind": self.kind.value,
            "ledger_id": self.ledger_id,
            "table": self.table,
            "generation": str(self.generation),
            "epoch": str(self.epoch),
            "task": str(self.task),
            "attempt": self.attempt,
            "planned_at_ms": str(self.planned_at_ms),
            "ranges": orjson.dumps(ranges).decode(),
            "rows": str(self.rows),
            "hive_table": self.partition.table,
            "hive_partition": self.partition.path,
            "location": self.partition.location,
        }
        if self.accounts is not None:
            pairs["accounts"] = orjson.dumps([_counts(account) for account in self.accounts]).decode()
        if self.replay:
            pairs["replay"] = "1"
        return {_PREFIX + key: value for key, value in pairs.items()}

    @staticmethod
    def parse(metadata: Mapping[bytes, bytes]) -> "Footer | None":
        """Return the footer; None if it is not from kafka2hive, has another version, or is inconsistent."""
        pairs = {
            key.decode(errors="replace").removeprefix(_PREFIX): value.decode(errors="replace")
            for key, value in metadata.items()
            if key.startswith(_PREFIX.encode())
        }
        if pairs.get("format_version") != FORMAT_VERSION:
            return None
        try:
            return _parse(pairs)
        except (KeyError, ValueError, TypeError):
            return None


def _counts(account: OffsetAccounting) -> tuple[int, ...]:
    """Return the counts without trailing zeros beyond the seven that every version of this program expects."""
    counts = account.counts()
    known = max(at for at, count in enumerate(counts, 1) if count or at <= _FIRST_COUNTS)
    return counts[:known]


def _parse(pairs: Mapping[str, str]) -> Footer:
    ranges = tuple(
        OffsetRange(TopicPartition(str(topic), int(number)), int(start), int(end))
        for topic, number, start, end in orjson.loads(pairs["ranges"])
    )
    accounts = None
    if "accounts" in pairs:
        accounts = tuple(OffsetAccounting(*map(int, values)) for values in orjson.loads(pairs["accounts"]))
        if len(accounts) != len(ranges):
            raise ValueError("accounts and ranges differ in number")
    return Footer(
        kind=FileKind(pairs["kind"]),
        ledger_id=pairs["ledger_id"],
        table=pairs["table"],
        generation=int(pairs["generation"]),
        epoch=int(pairs["epoch"]),
        task=int(pairs["task"]),
        attempt=pairs["attempt"],
        planned_at_ms=int(pairs["planned_at_ms"]),
        ranges=ranges,
        replay="replay" in pairs,
        rows=int(pairs["rows"]),
        partition=HivePartition(pairs["hive_table"], pairs["hive_partition"], pairs["location"]),
        accounts=accounts,
    )
