"""The source of a table: events, or a change log whose envelopes are kept or unpacked."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from kafka2hive.config.keys.declaration import Bounds, Key

OPERATION = "__op"
TIME = "__ts_ms"
POSITION = "__source_position"
CHANGE_COLUMNS = {OPERATION: "string", TIME: "bigint", POSITION: "string"}
"""The columns that a table of changes has in addition to those of the row, with their Hive types."""
BEFORE = "__before"
"""The row before the change, a struct; only if the map asks for it."""


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
            "Keep the row before the change as `__before`; the columns can have neither `from` nor "
            "`unit` nor [leeway](decoding.md#leeway) then."
        ),
    ] = False
    decimals: Annotated[
        Literal["text", "base64"] | None,
        Key(
            "With JSON: how decimals are written, see below.",
            more="`text`: as text or number (`decimal.handling.mode` string, double); `base64`: as bytes "
            "(precise), the scale is the column's. Without a schema a text that may be both is a dead "
            "letter.",
            otherwise="as each record's schema says",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class MaxwellKeys:
    """Maxwell's envelope is unpacked."""


@dataclass(frozen=True, slots=True)
class CanalKeys:
    """Canal's flat messages are unpacked."""


@dataclass(frozen=True, slots=True)
class ChangeLogKeys:
    """A change log whose envelope is unpacked: exactly one of the keys."""

    debezium: Annotated[DebeziumKeys | None, Key("Envelopes of Debezium, with and without their schema.")] = (
        None
    )
    maxwell: Annotated[MaxwellKeys | None, Key("Envelopes of Maxwell's daemon.")] = None
    canal: Annotated[CanalKeys | None, Key("Flat messages of Canal (`canal.mq.flatMessage`).")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestOptions:
    """How a view finds the newest state of each row of a database's table."""

    key: Annotated[
        tuple[Annotated[str, Bounds(shortest=1)], ...],
        Key("Columns that identify a row of the database: its primary key.", shortest=1),
    ]
    order: Annotated[
        str,
        Key("Column whose greatest value is a row's newest change; equal ones are ordered by the offset."),
    ] = POSITION


SourceKind = Literal["events", "binlog", "debezium", "maxwell", "canal"] | ChangeLogKeys


def change_log_of(source: SourceKind) -> ChangeLog | None:
    """Return whose envelopes are unpacked, None if records are not unpacked."""
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
    return isinstance(source, ChangeLogKeys) and source.debezium is not None and source.debezium.before


def decimal_encoding(source: SourceKind) -> Literal["text", "base64"] | None:
    """Return the encoding of Debezium's decimals in JSON, None if the map leaves it to the records' schemas."""
    if not isinstance(source, ChangeLogKeys) or source.debezium is None:
        return None
    return source.debezium.decimals
