"""The bucket of a table: which Hive partition a record belongs to, and when a partition is complete."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, Literal

from kafka2hive.config.keys.declaration import Bounds, DailyWindow, Duration, Key, Size
from kafka2hive.config.keys.source import PluginOptions
from kafka2hive.config.keys.units import MIB

BIGINT_UNIT: Final = "ms"


class BucketTime(Enum):
    """Which time buckets a record."""

    EVENT = "event"  # the column Bucketing.field
    RECORD = "record"  # the record's own timestamp
    PROCESSING = "processing"  # the epoch's planning time: one bucket per epoch


@dataclass(frozen=True, slots=True)
class Bucketing:
    """Which Hive partition a record belongs to.

    `path` is e.g. `dt=%Y-%m-%d/hr=%H/c={country}`. `field` is as the map has it; `config.build` replaces it by the column
    with the event time (a timestamp, a date, or a bigint of `unit`). If that column is a struct, `inner` gets the names of
    the fields that lead to the time.
    """

    path: Annotated[
        str,
        Key("Hive partition path, [more](#path). Empty: an unpartitioned table."),
    ] = "dt=%Y-%m-%d"
    time: Annotated[
        BucketTime,
        Key(
            "`event`: the column `field`. `record`: Kafka's record timestamp. `processing`: when the "
            "epoch was planned; it differs in a replay.",
            otherwise="`event` with a `field`, else `record`",
            derived=True,
        ),
    ] = BucketTime.EVENT
    field: Annotated[
        str | None,
        Key(
            "The column with the event time: a `timestamp`, a `date` or a `bigint`; or a field of a "
            "struct column, `props.at`; or a column's path, `$.props.at`."
        ),
    ] = None
    unit: Annotated[
        Literal["s", "ms", "us"],
        Key("Unit of a bigint field, counted from 1970 UTC.", otherwise="`ms`", derived=True),
    ] = BIGINT_UNIT
    zone: Annotated[
        str,
        Key(
            "Time zone of the bucket's date and hour.",
            written="zone",
            otherwise="the table's `zone`",
            derived=True,
        ),
    ] = "UTC"
    max_future_seconds: Annotated[
        Duration | None,
        Key(
            "How far a row's time may be ahead of its record's Kafka timestamp; a record with a row beyond it becomes a "
            "dead letter, [more](#bounds-of-event-time).",
            name="max_future",
            written="duration",
            otherwise="no bound",
        ),
    ] = None
    max_past_seconds: Annotated[
        Duration | None,
        Key(
            "The same for a row's time that is behind its record's Kafka timestamp.",
            name="max_past",
            written="duration",
            otherwise="no bound",
        ),
    ] = None
    plugin: Annotated[
        PluginOptions | None,
        Key(
            "Plug-in that computes the path's `{fields}` instead of columns, [more](#plugin).",
            example="{name: my_bucketer}",
        ),
    ] = None
    inner: tuple[str, ...] = ()

    @property
    def field_text(self) -> str:
        """The event time as `column.field.field`."""
        return ".".join((self.field or "", *self.inner))


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """How Hive partitions are compacted once they are complete."""

    target_bytes: Annotated[
        Size,
        Key(
            "Total size of the small files that are rewritten as one file, which is about as large.",
            name="target",
        ),
    ] = 256 * MIB
    share: Annotated[
        float,
        Key(
            "Share of Spark's cores that a run may take for this, at least one and never all; `0`: only the command compacts.",
            more="With a single core a run does not compact.",
            written="0 to 1",
            at_least=0,
            at_most=1,
        ),
    ] = 0.25
    at: Annotated[
        DailyWindow | None,
        Key(
            "When a run may begin to rewrite files, in the zone of the table's buckets, such as `01:00-06:00`.",
            more="The window may cross midnight. A rewrite that began before its end is finished.",
            written="string",
            otherwise="any time",
        ),
    ] = None
    keep_seconds: Annotated[
        Duration,
        Key(
            "How long the small files of a compacted partition stay, so that no query that reads them fails; at least `1d`.",
            otherwise="`2d`",
            name="keep",
        ),
    ] = 172_800.0


Retain = Annotated[
    Duration | None,
    Key(
        "How long partitions stay after the end of their period. Then they are dropped from Hive, and deleted a day later, "
        "[more](#retain).",
        written="duration",
        otherwise="forever",
    ),
]

SuccessFile = Annotated[
    str,
    Bounds(
        pattern=r"[_.][A-Za-z0-9._-]{1,99}",
        expected="expected a name that Hive does not see: _ or ., then letters, digits, ., _ and -",
    ),
]


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """When a Hive partition is complete, and how readers learn of it."""

    delay_seconds: Annotated[
        Duration,
        Key(
            "How long after a partition's end its records may still arrive in Kafka; late records cause "
            "another certificate at most that often.",
            name="delay",
        ),
    ] = 3600.0
    success_file: Annotated[
        SuccessFile | None,
        Key(
            "Name of the empty file that is created in a complete partition with its certificate; `null`: no file.",
            written="name, `null`",
        ),
    ] = "_SUCCESS"
    plugin: Annotated[
        PluginOptions | None,
        Key(
            "Plug-in that decides when a partition is complete, [more](#plugin): an entry point of "
            "`kafka2hive.completion_policies`, which receives `delay`.",
            example="{name: my_policy}",
        ),
    ] = None
