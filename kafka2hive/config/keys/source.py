"""What a table reads: where it begins in its topics, how records are encoded, and change logs."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

from kafka2hive.config.keys.declaration import Bounds, Key, Properties
from kafka2hive.config.keys.json_path import parse_json_path

OPERATION = "__op"
TIME = "__ts_ms"
POSITION = "__source_position"
CHANGE_COLUMNS = {OPERATION: "string", TIME: "bigint", POSITION: "string"}
"""The columns that a table of changes has in addition to those of the database's row, with their Hive types."""
BEFORE = "__before"
"""The column with the row before the change, a struct; only if the map asks for it."""

UNAVAILABLE = "__unavailable"
UNAVAILABLE_TYPE = "array<string>"
"""The column with the names of the columns whose values the connector did not know, and its Hive type; only if the map asks."""
DEFAULT_PLACEHOLDER = "__debezium_unavailable_value"
_HEX = "hex:"
_METADATA_VERSION = re.compile(r"(0|[1-9][0-9]*):(0|[1-9][0-9]*)")

Framing = Literal[
    "id4",
    "id8",
    "header",
    "single_object",
    "glue",
    "azure",
    "apicurio_global",
    "apicurio_content",
    "cloudera",
]
ProtobufIndexes = Literal["zigzag", "unsigned"]
Compression = Literal["none", "gzip", "zlib", "deflate", "zstd", "lz4", "snappy"]
Encoding = Literal[
    "utf-8",
    "utf-8-bom",
    "utf-16",
    "utf-16le",
    "utf-16be",
    "iso-8859-1",
    "iso-8859-2",
    "iso-8859-5",
    "iso-8859-7",
    "iso-8859-9",
    "iso-8859-15",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "koi8-r",
    "gbk",
    "gb18030",
    "big5",
    "shift_jis",
    "windows-31j",
    "euc-jp",
    "euc-kr",
]


class StartKind(Enum):
    """Where a table begins in a topic that it never read."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """A start policy: TIMESTAMP has `timestamp_ms` (since 1970), OFFSETS has `offsets` (topic, number, offset)."""

    kind: StartKind
    timestamp_ms: int | None = None
    offsets: tuple[tuple[str, int, int], ...] = ()

    @property
    def text(self) -> str:
        """The ledger's text: `latest`, `timestamp 1358380800000`, `offsets flights:0=12 flights:1=9`."""
        offsets = [f"{topic}:{number}={offset}" for topic, number, offset in self.offsets]
        timestamp = [] if self.timestamp_ms is None else [str(self.timestamp_ms)]
        return " ".join([self.kind.value, *timestamp, *sorted(offsets)])


@dataclass(frozen=True, slots=True)
class Start:
    """A first position other than earliest or latest: exactly one of the keys."""

    timestamp: Annotated[
        str | None,
        Key("Begin at the first record at or after this ISO 8601 time with a zone, `2013-01-01T00:00:00Z`."),
    ] = None
    offsets: Annotated[
        dict[str, dict[int, Annotated[int, Bounds(at_least=0)]]] | None,
        Key(
            "These offsets, one for every topic partition of the table; a missing one, or one outside the log, "
            "is a STOP.",
            written="topic: {number: offset}",
            example="{clicks: {0: 42}}",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayRows:
    """A message is an object, and the elements of an array in it are rows."""

    array: Annotated[
        str,
        Key(
            "Where the array is in the message's object; columns with `message` take values beside it.",
            written="path",
            example="$.Records",
        ),
    ]


Rows = Literal["one", "lines", "array"] | ArrayRows


def rows_form(rows: Rows) -> Literal["one", "lines", "array"]:
    """Return how a message holds rows; the array may be within an object, see array_path."""
    return "array" if isinstance(rows, ArrayRows) else rows


def array_path(rows: Rows) -> tuple[str, ...]:
    """Return the keys that lead to the array in the message's object; empty if there is no such object."""
    return parse_json_path(rows.array) if isinstance(rows, ArrayRows) else ()


@dataclass(frozen=True, slots=True)
class WireFormat:
    """Where records name their schema, and how Protobuf's message indexes are written."""

    framing: Framing = "id4"
    indexes: ProtobufIndexes = "zigzag"


def declared_id(framing: Framing, text: str) -> int | str | None:
    """Return the id that messages have of a schema with this key in the map's `schemas`.

    None if the framing computes it from the schema. Raises ValueError for a key that is no such id.
    """
    if framing == "single_object":
        return None
    if framing in ("glue", "azure"):
        return str(UUID(text))
    if framing == "cloudera" and _METADATA_VERSION.fullmatch(text):
        return text
    if text.isascii() and text.isdecimal():
        return int(text)
    if framing == "header":
        return str(UUID(text))
    raise ValueError("expected the number of a schema" + (", or METADATA:VERSION" * (framing == "cloudera")))


class Tombstones(Enum):
    """What becomes of records with a null value. They are counted in both cases."""

    SKIP = "skip"
    WRITE = "write"  # as a row of nulls with its metadata columns; needs a bucket that does not come from the value


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOptions:
    """A plug-in and its options."""

    name: Annotated[
        str,
        Key(
            "Name of the entry point in `kafka2hive.decoders`; within `bucket` in `.bucketers`, "
            "within `writer` in `.writers`, within `completion` in `.completion_policies`.",
            shortest=1,
        ),
    ]
    options: Annotated[
        Properties,
        Key("Options that are passed to the plug-in.", written="mapping of strings", example="{color: blue}"),
    ] = ()


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """The form of CSV lines, by default as in RFC 4180."""

    delimiter: Annotated[
        str,
        Key(
            'Character between two fields, or several; a tab is `"\\t"`, Hive\'s default `"\\u0001"`.',
            written="characters",
        ),
    ] = ","
    quote: Annotated[
        str,
        Key(
            "Character around a field, which may then contain delimiters and line breaks. Empty: no quotes.",
            written="character",
        ),
    ] = '"'
    escape: Annotated[
        str | None,
        Key(
            "Character before one that is taken literally. Without it, a quote within quotes is doubled.",
            written="character",
        ),
    ] = None
    null_text: Annotated[
        str,
        Key(
            "An unquoted field with this text is NULL. By default that is an empty field; a quoted "
            "empty field is the empty string."
        ),
    ] = ""
    nulls: Annotated[
        tuple[str, ...],
        Key(
            "Several texts, instead of `null_text`: an unquoted field with one of them is NULL.",
            written="list of strings",
            example='["", "NULL"]',
        ),
    ] = ()
    trim: Annotated[bool, Key("Remove blanks and tabs around fields, outside quotes.")] = False
    header: Annotated[
        tuple[str, ...],
        Key(
            "Fields of a header line, in order: a record that holds exactly these fields is not a row.",
            written="list of strings",
            example="[id, name]",
        ),
    ] = ()
    booleans: Annotated[
        Literal["words", "digits"],
        Key("What a `boolean` accepts: `true` and `false`; with `digits` also `1` and `0`."),
    ] = "words"

    @property
    def null_texts(self) -> tuple[str, ...]:
        """The texts of NULL."""
        return self.nulls or (self.null_text,)


class ChangeLog(Enum):
    """The producer of the envelopes."""

    DEBEZIUM = "debezium"
    MAXWELL = "maxwell"
    CANAL = "canal"


@dataclass(frozen=True, slots=True)
class DebeziumKeys:
    """Debezium's envelope is unpacked."""

    before: Annotated[
        bool,
        Key(
            "Keep the row before the change as `__before`. With it, columns cannot have `from`, `unit` or "
            "[leeway](decoding.md#leeway)."
        ),
    ] = False
    decimals: Annotated[
        Literal["text", "base64"] | None,
        Key(
            "With JSON: how decimals are written, see below.",
            more="`text`: as a string or number (`decimal.handling.mode` string, double); `base64`: as bytes "
            "(precise), the scale is the column's. Without a schema, a string that may be both is a dead "
            "letter.",
            otherwise="as each record's schema says",
        ),
    ] = None
    form: Annotated[
        Literal["envelope", "flat"],
        Key(
            "`flat`: rows that the connector's transformation `ExtractNewRecordState` has unwrapped, "
            "[more](#flat-rows-of-debezium).",
            more="Their fields `__op` and `__deleted` say what each change is.",
        ),
    ] = "envelope"
    position: Annotated[
        bool,
        Key(
            "With `form: flat`: every record has its position in the database's log (`add.fields`), "
            "[more](#flat-rows-of-debezium).",
            more="One without it is a dead letter. Without this key `__source_position` is NULL, and `latest` goes by offsets.",
        ),
    ] = False
    unavailable: Annotated[
        Literal["dead_letter", "mark"],
        Key(
            "What a record becomes if the database did not log one of its values, "
            "[more](#values-that-are-not-there).",
            more="`mark`: a row with NULL, and the column's name in `__unavailable`.",
        ),
    ] = "dead_letter"
    placeholder: Annotated[
        str | None,
        Key(
            "The connector's `unavailable.value.placeholder`, if it is set; with `hex:` as there. "
            "Debezium's default is always known, too.",
            shortest=1,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class MaxwellKeys:
    """Maxwell's envelope is unpacked."""


@dataclass(frozen=True, slots=True)
class CanalKeys:
    """Canal's flat messages are unpacked."""

    binary: Annotated[
        Literal["refuse", "latin1"],
        Key(
            "`latin1`: columns of `binary` take BLOBs, which Canal writes as text in ISO-8859-1, [more](#canal).",
            more="`refuse`: the map has no columns of `binary`.",
        ),
    ] = "refuse"
    position: Annotated[
        bool,
        Key(
            "Every message has TiCDC's `_tidb.commitTs`, which becomes `__source_position`, [more](#canal).",
            more="A message without it is a dead letter. Without this key `__source_position` is NULL.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class ChangeLogKeys:
    """A change log whose envelope is unpacked: exactly one of the keys."""

    debezium: Annotated[
        DebeziumKeys | None,
        Key("Envelopes of Debezium, with and without their schema.", example="{decimals: text}"),
    ] = None
    maxwell: Annotated[MaxwellKeys | None, Key("Envelopes of Maxwell's daemon.", example="{}")] = None
    canal: Annotated[
        CanalKeys | None, Key("Flat messages of Canal (`canal.mq.flatMessage`).", example="{}")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestOptions:
    """How a view finds the newest state of each row of a database's table."""

    key: Annotated[
        tuple[Annotated[str, Bounds(shortest=1)], ...],
        Key("Columns that identify a row of the database: its primary key.", shortest=1, example="[id]"),
    ]
    order: Annotated[
        str,
        Key("Column whose greatest value marks a row's newest change; ties go to the greater offset."),
    ] = POSITION


SourceKind = Literal["events", "binlog", "debezium", "maxwell", "canal"] | ChangeLogKeys


def change_log_of(source: SourceKind) -> ChangeLog | None:
    """Return the producer whose envelopes are unpacked, None if records are not unpacked."""
    match source:
        case ChangeLogKeys(debezium=DebeziumKeys()) | "debezium":
            return ChangeLog.DEBEZIUM
        case ChangeLogKeys(maxwell=MaxwellKeys()) | "maxwell":
            return ChangeLog.MAXWELL
        case ChangeLogKeys(canal=CanalKeys()) | "canal":
            return ChangeLog.CANAL
        case _:
            return None


def keeps_before(source: SourceKind) -> bool:
    """Return whether the table has the column BEFORE."""
    return isinstance(source, ChangeLogKeys) and source.debezium is not None and source.debezium.before


@dataclass(frozen=True, slots=True)
class FlatRows:
    """Debezium's rows without an envelope. `has_position`: every record has its position in the database's log."""

    has_position: bool


def canal_keys(source: SourceKind) -> CanalKeys:
    """Return the options of Canal's messages; the defaults if the map has none."""
    return source.canal if isinstance(source, ChangeLogKeys) and source.canal is not None else CanalKeys()


def flat_rows(source: SourceKind) -> FlatRows | None:
    """Return the form of Debezium's rows if a transformation has unwrapped them, otherwise None."""
    if not isinstance(source, ChangeLogKeys) or source.debezium is None or source.debezium.form != "flat":
        return None
    return FlatRows(source.debezium.position)


def marks_unavailable(source: SourceKind) -> bool:
    """Return whether the table has the column UNAVAILABLE."""
    if not isinstance(source, ChangeLogKeys) or source.debezium is None:
        return False
    return source.debezium.unavailable == "mark"


def placeholder_of(source: SourceKind) -> str | None:
    """Return the placeholder that the map names for values that are not there."""
    if not isinstance(source, ChangeLogKeys) or source.debezium is None:
        return None
    return source.debezium.placeholder


def placeholder_bytes(text: str) -> bytes:
    """Return the bytes that the connector's property means. Raises ValueError if they are not written in hexadecimal."""
    return bytes.fromhex(text.removeprefix(_HEX)) if text.startswith(_HEX) else text.encode()


def decimal_encoding(source: SourceKind) -> Literal["text", "base64"] | None:
    """Return the encoding of Debezium's decimals in JSON, None if the map leaves it to the records' schemas."""
    if not isinstance(source, ChangeLogKeys) or source.debezium is None:
        return None
    return source.debezium.decimals
