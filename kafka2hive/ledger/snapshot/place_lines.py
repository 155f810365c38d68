"""The kinds of lines about early places, units and moves: rules K1 to K5 of docs/protocol.md."""

from kafka2hive.ledger.snapshot.line import Field, Life, Line, partition_fields
from kafka2hive.model.snapshot import CompactionUnit, EarlyPartition, MovedPartition

EARLY = Line(
    "early",
    EarlyPartition,
    *partition_fields("partition."),
    Field("since"),
    Field("closes"),
    Field("files"),
    Field("rows"),
    Field("certified"),
    attribute="early",
    life=Life.STATE,
    since=6,
    doc="a Hive partition at its early place: the data files there, since which epoch, and the end of its period",
    note="""`certified` is the epoch whose certificate counts all of its files, 0 if none does: only then it may move.
`closes` is by the time zone of the map that began it.
`early` = `early` before + the data files of this epoch at early places - those given up now (`loss`) - those of `unit`.""",
)

UNIT = Line(
    "unit",
    CompactionUnit,
    *partition_fields("partition."),
    *(Field(name) for name in ("task", "first", "last", "sources", "rows")),
    attribute="units",
    life=Life.EPOCH,
    since=6,
    doc="early files that this epoch has written again, as the `compacted` files of the same task",
    note="The sources are the partition's early files from `first` to `last`, ordered by (epoch, task, uuid).",
)

MOVED = Line(
    "moved",
    MovedPartition,
    *partition_fields("partition."),
    Field("early"),
    Field("epoch"),
    Field("late"),
    attribute="moved",
    life=Life.STATE,
    since=6,
    doc="a Hive partition that compaction moved to its home, and its early place, where the early files still are",
    note="""`late` is the newest epoch with data at its home since then, 0 if there is none.
A line without such data ends when 1,000 newer partitions have moved; if data come later, the line begins again.""",
)
