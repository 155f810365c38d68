"""The kinds of lines about early places, units, moves and dropped partitions: rules K1 to K8 and E2 to E4 of docs/protocol.md."""

from kafka2hive.ledger.snapshot.line import Field, Life, Line, partition_fields
from kafka2hive.model.snapshot import (
    CompactionUnit,
    DroppedPartition,
    EarlyPartition,
    MovedPartition,
    RetiredPartition,
)

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
    doc="a Hive partition at its early place: its data files there, the epoch of the first, and the end of its period",
    note="""`certified` is the epoch whose certificate counts all files of the partition, 0 without such a certificate.
`closes` is computed in the time zone of the map at the partition's first epoch.
`early` = `early` before + data files of this epoch at early places - files given up now (`loss`) - files of `unit`.""",
)

UNIT = Line(
    "unit",
    CompactionUnit,
    *partition_fields("partition."),
    *(Field(name) for name in ("task", "first", "last", "sources", "rows")),
    attribute="units",
    life=Life.EPOCH,
    since=6,
    doc="early files whose rows this epoch has copied into the `compacted` files of the same task",
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
    note="""`late` is the newest epoch with data at the home since the move, 0 without such data.
`right_since` (format 7) is the time since which no look has found Hive's location at the early place.
It is missing before the first look, after somebody put the location back, and after new data.""",
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
    note="It replaces the `moved` line, and ends when a listing of the early place shows that all these files are deleted.",
)

DROPPED = Line(
    "dropped",
    DroppedPartition,
    *partition_fields("partition."),
    Field("epoch"),
    Field("gone_since"),
    attribute="dropped",
    life=Life.STATE,
    since=8,
    doc="an expired Hive partition whose files, of epochs up to `epoch`, are deleted once Hive does not have it",
    note="""`gone_since` is the time since which no look has found the partition in Hive; it is empty before that.
If the map has no `hive` section, it is the time of the drop.
The line ends when a listing of the partition's places shows that all these files are deleted.
No later epoch has files for a partition with this line.""",
)
