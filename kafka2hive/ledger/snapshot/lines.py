"""The kinds of lines in a snapshot, each declared once.

The encoder, the parser, the draft, the audit and the table in docs/protocol.md (`scripts/pages`) use these declarations.
"""

from kafka2hive.ledger.snapshot.line import Field, Life, Line, partition_fields
from kafka2hive.ledger.snapshot.place_lines import DROPPED, EARLY, MOVED, RETIRED, UNIT
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import Position, RangeAccounting
from kafka2hive.model.snapshot import (
    AcceptedGap,
    AcceptedLoss,
    AddedColumn,
    Certificate,
    ComparedTable,
    EventBounds,
    ForgottenRegistration,
    NewsProgress,
    OpenPartition,
    Pause,
    RecordedOrder,
    ReplayedFile,
    RunningReplay,
    Snapshot,
    Tracking,
)
from kafka2hive.model.window_counts import WindowCount

_RANGE = (
    Field("topic", "range.topic_partition.topic"),
    Field("number", "range.topic_partition.number"),
    Field("start", "range.start"),
    Field("end", "range.end"),
)
_COUNTS = ("read", "written", "filtered", "tombstones", "dead_lettered", "absent", "bytes")
_DECIDED = (Field("at", "accepted_at"), Field("epoch"))

HEADER = Line(
    "header",
    Snapshot,
    Field("ledger", "ledger_id"),
    Field("service"),
    Field("table"),
    Field("generation"),
    Field("owner"),
    Field("epoch"),
    Field("written_at"),
    Field("previous"),
    Field("cluster", "cluster_id"),
    Field("location"),
    Field("start"),
    Field("newest_ms"),
    Field("closed_through", since=6),
    attribute="",
    life=Life.EPOCH,
    is_single=True,
    doc="the table, ledger, owner and epoch of the snapshot",
    note="""The first member is `format`, the oldest format whose readers understand this snapshot.
`previous` is the checksum of the snapshot before this one, `-` in a ledger's first.
`written_at` is for people; a decision uses it only as the `opened_at` of an `open` line, which is a copy of it.
`cluster` is Kafka's cluster id, `location` the table's directory, `start` the policy that chose the first positions.
`newest_ms` is the newest record timestamp that ever became visible, null before the first.
`closed_through` (since format 6) is the latest end of a period that compaction ever moved; it is missing before the first move.""",
)

FILE = Line(
    "file",
    DataFile,
    Field("kind"),
    Field("staged"),
    Field("final"),
    *partition_fields("hive_partition."),
    Field("length"),
    Field("rows"),
    Field("checksum"),
    Field("task"),
    Field("ranges"),
    attribute="files",
    life=Life.EPOCH,
    doc="a file that this epoch makes visible",
    note="""`kind` is `data`, `dead_letter` or `compacted` (rows copied from early files); `staged` and `final` are full paths.
`checksum` is the CRC-32 of the whole file, computed while it was written.
`ranges` are all ranges of the task; the file's records may come from any of them.""",
)

POSITION = Line(
    "position",
    Position,
    Field("topic", "topic_partition.topic"),
    Field("topic_id"),
    Field("number", "topic_partition.number"),
    Field("start"),
    Field("end"),
    Field("leader_epoch"),
    attribute="positions",
    life=Life.STATE,
    doc="the position of the table in a topic partition",
    note="""**All** topic partitions that the table ever read are listed, also vanished ones, except those that a `gap` with `moved_to` ends.
This epoch took `[start, end)`.
`topic` begins with the name of the cluster and `/` if that is one of the map's `kafka_clusters`, here and in footers.
`topic_id` is `-` if the broker provides none; `leader_epoch` is the leader epoch of the last record read, -1 if unknown.""",
)

ACCOUNT = Line(
    "account",
    RangeAccounting,
    Field("task"),
    *_RANGE,
    *(Field(name, f"account.{name}") for name in _COUNTS),
    Field("more_rows", "account.more_rows", since=3),
    Field("out_of_range", "account.out_of_range", since=6),
    Field("late", "account.late", since=6),
    attribute="accounts",
    life=Life.EPOCH,
    doc="the counts of one range in one task; [where the counts come from](#where-an-accounts-numbers-come-from)",
    note="""`end - start = read + absent`; `read = written + filtered + tombstones + dead_lettered`; all counts are 0 or more.
These count records (messages), while files count rows: the data files hold `written + more_rows` rows, the dead-letter files `dead_lettered`.
`more_rows` counts the rows beyond the first of each written record.
The line has `more_rows` only if it is not 0; the snapshot then has format 3, so that a program that does not know it stops.
A record with a bad row is a dead letter; a record without rows is `filtered`.
`out_of_range` and `late` (if not 0) are the parts of `dead_lettered` that the epoch's `bounds` refuse; `late` includes expired ones.""",
)

GAP = Line(
    "gap",
    AcceptedGap,
    *_RANGE,
    Field("how", "reason"),
    *_DECIDED,
    Field("moved_to", since=12),
    attribute="gaps",
    life=Life.CUMULATIVE,
    doc="offsets that an operator declared lost before they were read, or a topic partition that [another cluster](#a-table-that-goes-on-in-another-cluster) replaces",
    note="""`moved_to` (format 12), if it is there, is the topic in which the reading goes on, in the topic partition of the same number.
The range is then empty: `start` and `end` are where the old topic partition was read up to, which has no `position` from this epoch on.""",
)

LOSS = Line(
    "loss",
    AcceptedLoss,
    Field("path"),
    Field("rows"),
    Field("how", "remedy"),
    *_DECIDED,
    attribute="losses",
    life=Life.CUMULATIVE,
    doc="a committed file that an operator gave up (`how` is `accept-loss`) or refetched (`refetch`)",
)

UNREGISTERED = Line(
    "unregistered",
    HivePartition,
    *partition_fields(""),
    attribute="unregistered",
    life=Life.STATE,
    doc="a pending registration: a Hive partition that may hold data, and whose registration Hive has not confirmed",
    note="""The partitions of the dead-letter table are included.
An empty path stands for an unpartitioned table that Hive has not confirmed.""",
)

REGISTERED = Line(
    "registered",
    HivePartition,
    *partition_fields(""),
    attribute="registered",
    life=Life.EPOCH,
    doc="a pending registration of the snapshot before this one that Hive has confirmed since",
    note="So `unregistered` = `unregistered` before + partitions that are `withheld` no more - `registered` - `dropped` of this"
    " epoch + partitions of the files + `lapsed` - `forgotten` - `withheld`; `verify` checks it.",
)

WITHHELD = Line(
    "withheld",
    HivePartition,
    *partition_fields(""),
    attribute="withheld",
    life=Life.STATE,
    since=10,
    doc="a Hive partition with data that Hive must not have before it has a certificate (`register: complete`)",
    note="""Its registration is pending from the moment when its certificate is in place ([G1 to G5](#registration-when-complete)).
The line is still in the snapshot that has the certificate, and ends with the next snapshot that does not have it as `reopened`.""",
)

LAPSED = Line(
    "lapsed",
    HivePartition,
    *partition_fields(""),
    attribute="lapsed",
    life=Life.EPOCH,
    since=9,
    doc="a Hive partition with files of this ledger whose registration Hive has lost, because its table was dropped and created"
    " again",
    note="Its registration is pending again. The `compared` line of the same snapshot has the new `created`.",
)

COMPARED = Line(
    "compared",
    ComparedTable,
    Field("table"),
    Field("location"),
    Field("format"),
    Field("columns"),
    Field("partition_columns"),
    Field("created", since=9, may_be_ignored=True),
    attribute="compared",
    life=Life.STATE,
    doc="a Hive table that matched the map, as the map described it then",
    note="""One line for the table itself, one for the dead-letter table; without a line, the table was never compared.
If the map's description has changed since, the table counts as never compared.
`created` is when Hive's table was created, as Hive writes it; programs that know formats up to 8 ignore it and leave it out.
Another time means that the table [was created again](#a-table-that-was-created-again-in-hive).""",
)

FORGOTTEN = Line(
    "forgotten",
    ForgottenRegistration,
    *partition_fields("partition."),
    Field("reason"),
    Field("by", "accepted_by"),
    *_DECIDED,
    attribute="forgotten",
    life=Life.CUMULATIVE,
    doc="a Hive partition with data that Hive refuses (`reason`) and an operator gave up (`recover --forget-registration`)",
    note="The partition never becomes a pending registration again.",
)

ADDED = Line(
    "added",
    AddedColumn,
    Field("column", "name"),
    Field("type"),
    Field("schema"),
    Field("at", "added_at"),
    Field("epoch"),
    attribute="added",
    life=Life.CUMULATIVE,
    since=2,
    doc="a column that the table has in addition to the map's (`schema_evolution: add`), and the schema that has the field",
    note="""If a name has several lines, the last one wins.
A snapshot without files adds a column and is `.final` before Hive's table is altered, which precedes any file with the column.
So after a crash in between, the next start knows the column and alters Hive's table.
Versions without added columns read all other snapshots, and stop at these.""",
)

TRACKING = Line(
    "tracking",
    Tracking,
    Field("since"),
    Field("through"),
    attribute="tracking",
    life=Life.STATE,
    since=4,
    is_single=True,
    doc="completeness is tracked `since` this epoch; everything that Kafka held at the time `through` is committed (`-` unknown)",
    note="Only for tables with `completion`.",
)

OPEN = Line(
    "open",
    OpenPartition,
    *partition_fields("partition."),
    Field("since"),
    Field("opened_at"),
    Field("files"),
    Field("rows"),
    attribute="open",
    life=Life.STATE,
    since=4,
    doc="a Hive partition with data files that no certificate counts: their number, the epoch of the first and when it was written",
    note="""`open` = `open` before + data files of this epoch + compacted files of a repair + `reopened` - files of `certificate` - files given up now (`loss`); `verify` checks it.
A partition is identified by its path: files at an earlier location of the table (`--accept-location`) count with the newer ones.""",
)

CERTIFICATE = Line(
    "certificate",
    Certificate,
    *partition_fields("partition."),
    Field("since"),
    Field("files"),
    Field("rows"),
    Field("through"),
    Field("policy"),
    Field("success_file"),
    attribute="certificates",
    life=Life.EPOCH,
    since=4,
    doc="a Hive partition that became complete in this epoch: counts as in `open`, the policy that decided, the success file",
)

REOPENED = Line(
    "reopened",
    HivePartition,
    *partition_fields(""),
    attribute="reopened",
    life=Life.EPOCH,
    since=5,
    doc="a Hive partition that is open again: the certificate of the snapshot before was not written, or a repair withdraws all of them",
    note="""All certificates of the partition are withdrawn if one of them counts a file that this epoch's `loss` lines name, and that no snapshot
has withdrawn before; otherwise only that of the snapshot before.""",
)

ORDER = Line(
    "order",
    RecordedOrder,
    Field("id"),
    Field("kind"),
    Field("by", "given_by"),
    Field("given", "given_at"),
    Field("at", "done_at"),
    Field("epoch"),
    Field("result"),
    attribute="orders",
    life=Life.STATE,
    since=6,
    doc="an [order](#a-live-service-takes-orders) of an operator that the table's owner has done or refused; the last 100",
    note="""`by` and `given` say who gave the order and when; `at` is when this epoch answered it.
`result` is `done`, followed by the counts of a replay or a compaction; or the error that ended the order.""",
)

PAUSED = Line(
    "paused",
    Pause,
    Field("since"),
    Field("by"),
    Field("order"),
    Field("epoch"),
    attribute="paused",
    life=Life.STATE,
    since=6,
    is_single=True,
    doc="the table is paused: no records are planned for it until an order resumes it",
    note="The epoch after a snapshot with this line reads no records.",
)

BOUNDS = Line(
    "bounds",
    EventBounds,
    Field("planned_ms"),
    Field("max_future_ms"),
    Field("max_past_ms"),
    Field("late_before_ms"),
    Field("expired_before_ms", since=8),
    attribute="bounds",
    life=Life.STATE,
    since=6,
    is_single=True,
    doc="the [bounds of event time](#bounds-of-event-time-and-late-rows) of the newest epoch with records",
    note="""Only for tables with `bucket.max_future`, `bucket.max_past`, `late: dead_letter` or `retain`; null stands for a bound that is not set.
`planned_ms` is when the epoch was planned.
`late_before_ms` never goes back while it is set, and is at most the `through` of the snapshot before; `verify` checks both.
`expired_before_ms` (format 8) never goes back and is never unset; `verify` checks it. It is missing if nothing has expired.""",
)

REPLAYED = Line(
    "replayed",
    ReplayedFile,
    Field("path"),
    Field("task"),
    Field("letters", "account.read"),
    Field("written", "account.written"),
    Field("more_rows", "account.more_rows"),
    Field("filtered", "account.filtered"),
    Field("tombstones", "account.tombstones"),
    Field("again", "account.dead_lettered"),
    attribute="replayed",
    life=Life.EPOCH,
    since=6,
    doc="a dead-letter file of an earlier epoch that this epoch's files of `task` replace (`dead-letters replay`)",
    note="""`letters = written + filtered + tombstones + again`, as in an account; `letters` is the number of letters in the file.
The data files of `task` hold `written + more_rows` rows, its dead-letter files `again`; `verify` checks it.
The file is hidden after the promote ([R11](#replay)).""",
)

REPLAYING = Line(
    "replaying",
    RunningReplay,
    Field("order"),
    Field("through"),
    Field("files"),
    Field("letters", "account.read"),
    Field("written", "account.written"),
    Field("more_rows", "account.more_rows"),
    Field("filtered", "account.filtered"),
    Field("tombstones", "account.tombstones"),
    Field("again", "account.dead_lettered"),
    attribute="replaying",
    life=Life.STATE,
    since=6,
    is_single=True,
    doc="an [order](#a-live-service-takes-orders) to replay the letters of epochs up to `through` is under way",
    note="""The counts are the sums of the `replayed` lines that the order has caused.
The epoch that records the order as done or refused leaves the line out.""",
)

TOLD = Line(
    "told",
    NewsProgress,
    Field("receiver"),
    Field("through"),
    attribute="told",
    life=Life.STATE,
    since=11,
    doc="a receiver of [news](#news) has taken all news of the epochs up to `through`",
    note="""One line for each receiver that the map names for the table; `through` is at most the epoch before this one, and never goes back.
The line ends when the map does not name the receiver any more.""",
)

WINDOW = Line(
    "window",
    WindowCount,
    Field("topic", "topic_partition.topic"),
    Field("number", "topic_partition.number"),
    Field("start"),
    Field("seconds"),
    Field("records"),
    Field("dead_lettered"),
    Field("bytes"),
    Field("first"),
    Field("last"),
    attribute="windows",
    life=Life.EPOCH,
    since=12,
    doc="the counts of one range's records whose Kafka timestamp is in one window of time ([counts](#counts-by-time))",
    note="""Only for tables with `counts`. The line belongs to the account whose range has its offsets.
`start` is when the window begins, a multiple of its `seconds` since 1970; it is empty for records without a window.
`first` and `last` are the least and the greatest offset of the records.
The `records`, `dead_lettered` and `bytes` of a range's lines add up to its account's `read`, `dead_lettered` and `bytes`; `verify` checks it.""",
)

LINES = (
    FILE,
    HEADER,
    POSITION,
    ACCOUNT,
    GAP,
    LOSS,
    UNREGISTERED,
    REGISTERED,
    WITHHELD,
    LAPSED,
    COMPARED,
    FORGOTTEN,
    ADDED,
    TRACKING,
    OPEN,
    CERTIFICATE,
    REOPENED,
    ORDER,
    PAUSED,
    BOUNDS,
    REPLAYED,
    REPLAYING,
    EARLY,
    UNIT,
    MOVED,
    RETIRED,
    DROPPED,
    TOLD,
    WINDOW,
)
"""All kinds of lines, in the order of the text. A snapshot has exactly one header; it may lack lines of any other kind."""

FORMAT = max(max(line.since, *(f.since for f in line.later_fields), 1) for line in LINES)
"""The newest format. A snapshot has the oldest format that suffices, so that older programs read most snapshots.

Older programs must refuse snapshots of newer formats: they would miscount rows, or forget which partitions are open.
"""
