"""The kinds of lines about early places, units and moves: rules K1 to K8 of docs/protocol.md."""

from kafka2hive.ledger.snapshot.line import Field, Life, Line, partition_fields
from kafka2hive.model.snapshot import CompactionUnit, EarlyPartition, MovedPartition, RetiredPartition

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
    Field("right_since", since=7),
    attribute="moved",
    life=Life.STATE,
    since=6,
    doc="a Hive partition that compaction moved to its home, and its early place, where the early files still are",
    note="""`late` is the newest epoch with data at its home since then, 0 if there is none.
`right_since` is since when no look has met Hive's location at the early place (format 7).
The line has it only if that is known; it is dropped if somebody puts the location back, or if data come.""",
)

RETIRED = Line(
    "retired",
    RetiredPartition,
    *partition_fields("partition."),
    Field("early"),
    Field("through"),
    Field("epoch"),
    attribute="retired",
    life=Life.STATE,
    since=7,
    doc="a moved Hive partition whose early files, of epochs up to `through`, may be deleted since `epoch`",
    note="It replaces the `moved` line, and ends when a listing of the early place has met no such file any more.",
)
