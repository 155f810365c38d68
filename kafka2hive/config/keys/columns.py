"""The columns of a table: their keys, their values, and metadata columns."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from kafka2hive.config.keys.column_rules import NO_RULES, ColumnRules, LiteralText, OnBreak
from kafka2hive.config.keys.declaration import Key, PropertyText
from kafka2hive.config.keys.leeway import (
    STRICT,
    Beyond,
    BooleanWords,
    DecimalText,
    Empty,
    EpochNumber,
    Fraction,
    Leeway,
    NonFinite,
    NumberMarks,
    OtherJson,
    Quoted,
    TimeOfDay,
    UnknownEnum,
    Whole,
)
from kafka2hive.config.keys.masks import Mask, MaskKeys


class RecordPart(Enum):
    """The part of a record that a column comes from."""

    VALUE = "value"
    KEY = "key"
    HEADER = "header"
    MESSAGE = "message"
    """The object around an array whose elements are the values (`rows: {array: ..}`)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the Hive table; `type` is Hive's text, e.g. `decimal(10,2)`.

    `path` holds the keys that lead to the value in the record's `part`; empty means the column's name in the value (if
    `is_whole`: the whole value), or the whole key. For a header it is the header's name.
    With a `unit` (`d`, `s`, `ms`, `us`, `ns`) the value is a number that counts from 1970 UTC.
    `mask`: what the column has instead of the value.
    """

    name: str
    type: str
    path: tuple[str, ...] = ()
    unit: str | None = None
    part: RecordPart = RecordPart.VALUE
    leeway: Leeway = STRICT
    is_whole: bool = False
    mask: Mask | None = None
    rules: ColumnRules = NO_RULES

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that lead to the value in the record's value; none if it is the whole value."""
        return () if self.is_whole else self.path or (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKeys:
    """A column with more keys than its type."""

    type: Annotated[str, Key("Type of the column.", written="Hive type")]
    path: Annotated[
        str | tuple[str, ...] | None,
        Key(
            "Where its value is in the record's value; of several paths, the [first with a "
            "value](decoding.md#leeway) is used. `$` is the whole value.",
            written="path, or several",
            otherwise="the name",
            name="from",
            shortest=1,
            example='["$.user.id", "$.uid"]',
        ),
    ] = None
    header: Annotated[
        str | None,
        Key("Instead of `from`: the name of a header, [more](#columns-of-headers-and-keys).", shortest=1),
    ] = None
    key: Annotated[
        str | None,
        Key(
            "Instead of `from`: where its value is in the record's key; `$` is the whole key.", written="path"
        ),
    ] = None
    message: Annotated[
        str | None,
        Key(
            "Instead of `from`, with `rows: {array: ..}`: where its value is "
            "[around the array](records.md#an-array-in-an-object), in the message's object.",
            written="path",
            example="$.account",
        ),
    ] = None
    unit: Annotated[
        Literal["d", "s", "ms", "us", "ns"] | None,
        Key(
            "For a `timestamp` or a `date`: the value is a whole number that counts from 1970 UTC in "
            "this unit (`d`: days of the calendar, in any zone)."
        ),
    ] = None
    fraction: Annotated[
        Fraction,
        Key(
            "For a `timestamp`: whether a value finer than a microsecond is a dead letter or is "
            "[truncated](decoding.md#leeway).",
            more="`truncate` cuts towards the past; such values are counted.",
        ),
    ] = "exact"
    decimals: Annotated[
        DecimalText,
        Key(
            "For a `decimal` in JSON: whether it is written as a string or [as bytes](decoding.md#leeway) by Kafka "
            "Connect's converter; for change logs `source` sets this.",
            more="`text`: a string or a number; `base64`: the bytes of Kafka Connect's converter, the scale "
            "is the column's.",
        ),
    ] = "text"
    unknown_enum: Annotated[
        UnknownEnum | None,
        Key(
            "For a `string` in Protobuf, what an enum number without a name [becomes](decoding.md#leeway). `refuse`: a dead "
            "letter; `name`: its digits; `null`: NULL.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    json: Annotated[
        OtherJson,
        Key(
            "For a `string`, what another value [becomes](decoding.md#any-json-value-as-text). "
            "`text`: its characters; `canonical`: with sorted keys.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    quoted: Annotated[
        Quoted,
        Key(
            "For a number, a boolean or a column with `unit`: whether the value [may be in quotes](decoding.md#leeway), or a "
            "string of Avro and Protobuf.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    empty: Annotated[
        Empty | None,
        Key(
            "For a column of another type than strings, what an empty string [becomes](decoding.md#leeway). "
            "`refuse`: a dead letter; `null`: NULL.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    whole: Annotated[
        Whole,
        Key(
            "For an integer or a column with `unit`: whether [numbers such as](decoding.md#leeway) `1.0` and `1e3` "
            "are accepted if they are whole.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    booleans: Annotated[
        Literal["refuse", "words"] | BooleanWords,
        Key(
            "For a `boolean`: [words](decoding.md#other-forms) for true and false. "
            "`words`: a fixed list; `{true: [..], false: [..]}`: your own.",
            more="Such values are counted.",
            written="`refuse`, `words`, or words",
            example='{true: ["Y"], false: ["N"]}',
        ),
    ] = "refuse"
    numbers: Annotated[
        NumberMarks | None,
        Key(
            "For a number: the [marks](decoding.md#other-forms) `thousands` and `decimal` of "
            "numbers in strings, such as `1.234,56`.",
            more="Such values are counted.",
            written="marks",
            example='{thousands: ".", decimal: ","}',
        ),
    ] = None
    non_finite: Annotated[
        NonFinite | None,
        Key(
            "For a `double` or `float`, what `NaN` and the infinities "
            "[become](decoding.md#other-forms). `refuse`: a dead letter; `null`: NULL; "
            "`keep`: the same value.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    beyond: Annotated[
        Beyond | None,
        Key(
            "For a `timestamp` or `date`, what `infinity` and years after 9999 "
            "[become](decoding.md#other-forms). `refuse`: a dead letter; "
            "`clamp`: the nearest time.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    time_pattern: Annotated[
        str | tuple[str, ...] | None,
        Key(
            "For a `timestamp` or a `date` in texts: their [pattern](decoding.md#patterns-of-times), or several in order; "
            "`iso` is ISO 8601, `array` is Jackson's `[2024,1,31]`.",
            written="pattern, or several",
            otherwise="ISO 8601",
            shortest=1,
            example='["dd/MM/yyyy HH:mm", iso]',
        ),
    ] = None
    pivot: Annotated[
        int | None,
        Key(
            "For a `time_pattern` with `yy`: the first of the hundred years that two digits stand for.",
            at_least=1,
            at_most=9900,
        ),
    ] = None
    time_of_day: Annotated[
        TimeOfDay,
        Key(
            "`drop`: a `date` takes a text with a [time of day](decoding.md#leeway). `midnight`: a `timestamp` takes a day. "
            "`refuse`: both are dead letters.",
            more="Such values are counted.",
        ),
    ] = "refuse"
    epoch: Annotated[
        EpochNumber,
        Key(
            "For a column with `unit`: whether its numbers are whole, or [may have a fraction](decoding.md#leeway), such as "
            "`1700000000.123`.",
        ),
    ] = "whole"
    default: Annotated[
        PropertyText | None,
        Key(
            "Value to use if the field is missing or null; such values are [counted](decoding.md#leeway).",
            written="string, number or boolean",
        ),
    ] = None
    mask: Annotated[
        Literal["hash", "hmac", "drop"] | MaskKeys | None,
        Key(
            "What the column has [instead of the value](#masks).",
            more="`hash`: SHA-256 of the text; `hmac`: the same with a secret key (`mask_keys`); `{partial: {last: 4}}`: "
            "its last characters; `drop`: NULL.",
            written="`hash`, `hmac`, `drop`, or [section](#masks)",
            example="{partial: {last: 4}}",
        ),
    ] = None
    required: Annotated[
        bool,
        Key("[Rule](#rules): every row has a value; without it, a missing field and a null are NULL."),
    ] = False
    least: Annotated[
        LiteralText | None,
        Key(
            "[Rule](#rules): the least value of a number, `decimal`, `date` or `timestamp`.",
            more="The value itself is allowed. Texts are ISO 8601; a timestamp is the wall clock of the table's zone.",
            written="value of the type",
            name="min",
        ),
    ] = None
    most: Annotated[
        LiteralText | None,
        Key(
            "[Rule](#rules): the greatest value of a number, `decimal`, `date` or `timestamp`.",
            more="The value itself is allowed.",
            written="value of the type",
            name="max",
        ),
    ] = None
    pattern: Annotated[
        str | None,
        Key(
            "[Rule](#rules): the regular expression of [RE2](https://github.com/google/re2/wiki/Syntax) that matches every "
            "whole `string`.",
            shortest=1,
        ),
    ] = None
    values: Annotated[
        tuple[LiteralText, ...],
        Key(
            "[Rule](#rules): the only values.",
            written="values of the type",
            example="[new, paid]",
        ),
    ] = ()
    on_break: Annotated[
        OnBreak | None,
        Key(
            "What becomes of a row that breaks a rule of the column.",
            more="`dead_letter`: its message becomes a dead letter; `count`: it is written and counted.",
            otherwise="the table's",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumnKeys(ColumnKeys):
    """A column in a list of columns."""

    name: Annotated[str, Key("In a list, the name of the column: letters, digits and `_`.")]


COORDINATES = "__kafka2hive"
"""The column with the position of each row's record: it passes through a SELECT, but is never written to files."""


class MetadataColumn(Enum):
    """Columns about the record itself; the map chooses their names in the table."""

    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    KEY = "key"
    HEADERS = "headers"
    ORDINAL = "ordinal"
    MASK_KEY = "mask_key"


METADATA_TYPES = {
    MetadataColumn.TOPIC: "string",
    MetadataColumn.PARTITION: "int",
    MetadataColumn.OFFSET: "bigint",
    MetadataColumn.TIMESTAMP: "timestamp",
    MetadataColumn.KEY: "binary",
    MetadataColumn.HEADERS: "array<struct<key:string,value:binary>>",
    MetadataColumn.ORDINAL: "int",
    MetadataColumn.MASK_KEY: "string",
}
"""The Hive types of metadata columns."""
