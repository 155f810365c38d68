"""The statements that register partitions: bounded in size, one table each. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafka2hive.hive import text
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.partition_path import HIVE_DEFAULT_PARTITION

# One statement: Hive's parser takes seconds for megabytes, and the metastore writes a statement in one transaction.
_STATEMENT_CHARACTERS = 60_000
_STATEMENT_PARTITIONS = 200

# HiveServer2 refuses the name of the default partition in ADD PARTITION (error 10111) unless the session calls its
# own default partition otherwise; the metastore then stores the usual name, as if Hive's own dynamic insert had made the
# partition. Hive 4 shows that name to queries on a string column (`dt is null` finds nothing), Spark shows null.
_DEFAULT_NAME_KEY = "hive.exec.default.partition.name"
_ANOTHER_NAME = "__KAFKA2HIVE_UNUSED__"


@dataclass(frozen=True, slots=True)
class Batch:
    """Partitions of one table that fit one statement; `with_default` when each holds the default partition's name."""

    partitions: tuple[HivePartition, ...]
    with_default: bool

    def statements(self, if_not_exists: bool) -> tuple[str, ...]:
        """To be run in one session, in this order. Without `if_not_exists` success means that all of them are new."""
        head = f"ALTER TABLE {text.table_name(self.partitions[0].table)} ADD"
        add = " ".join([head + " IF NOT EXISTS" * if_not_exists, *map(_clause, self.partitions)])
        if not self.with_default:
            return (add,)
        return (
            f"SET {_DEFAULT_NAME_KEY}={_ANOTHER_NAME}",
            add,
            f"SET {_DEFAULT_NAME_KEY}={HIVE_DEFAULT_PARTITION}",
        )


def batches(partitions: Iterable[HivePartition]) -> Iterator[Batch]:
    """Every partition once, by table; those of unpartitioned tables (path '') left out."""
    batch: list[HivePartition] = []
    key: tuple[str, bool] | None = None
    size = 0
    for partition in sorted({partition for partition in partitions if partition.path}):
        its_key = (partition.table, text.has_default_value(partition.path))
        its_size = len(_clause(partition)) + 1
        full = len(batch) == _STATEMENT_PARTITIONS or size + its_size > _STATEMENT_CHARACTERS
        if batch and key is not None and (full or its_key != key):
            yield Batch(tuple(batch), key[1])
            batch, size = [], 0
        key = its_key
        size += its_size
        batch.append(partition)
    if batch and key is not None:
        yield Batch(tuple(batch), key[1])


def _clause(partition: HivePartition) -> str:
    return f"{text.partition_spec(partition.path)} LOCATION {text.literal(partition.location)}"
