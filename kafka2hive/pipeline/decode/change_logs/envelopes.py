"""The envelopes of change logs: where the row, the operation and the source's position stand in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.values import ChangeLog

PREFIXES: tuple[tuple[str, ...], ...] = ((), ("payload",))
"""The envelope is the record, or stands beside its schema (JSON converters with schemas.enable)."""

_LSN_DIGITS, _ROW_DIGITS = 20, 10


@dataclass(frozen=True, slots=True)
class Envelope:
    """`operations`: of each its letter and the image that is the row, None for one without. `images`: the first is needed.

    `position`: the envelope's values, as path and Hive type, from which `position_of` makes texts that sort as the source
    wrote them. `time_ms`: the change's time is so many milliseconds times its number.
    """

    operation: str
    operations: Mapping[str, tuple[str, str | None]]
    images: tuple[str, ...]
    time: str
    time_ms: int
    position: tuple[tuple[tuple[str, ...], str], ...]
    position_of: Callable[[Sequence[pa.Array]], pa.StringArray]


def _padded(number: pa.Array, digits: int, missing: str | None = None) -> pa.StringArray:
    text = number.cast(pa.string())
    return pc.utf8_lpad(text if missing is None else pc.fill_null(text, missing), digits, "0")


def _there(column: pa.Array) -> bool:
    return bool(column.null_count < len(column))


def _debezium_position(values: Sequence[pa.Array]) -> pa.StringArray:
    """PostgreSQL's lsn; MySQL's file, pos and row; SQL Server's LSNs; Oracle's scn: whichever the connector gives."""
    lsn, file, pos, row, commit_lsn, change_lsn, serial, scn = values
    given: list[
        pa.StringArray
    ] = []  # one of them as a rule: the texts of all would take longer than the decoder
    if _there(lsn):
        given.append(_padded(lsn, _LSN_DIGITS))
    if _there(file):
        numbers = _padded(pos, _LSN_DIGITS), _padded(row, _ROW_DIGITS, "0")
        given.append(pc.binary_join_element_wise(file, *numbers, ":"))
    if _there(commit_lsn):
        numbers = pc.fill_null(change_lsn, ""), _padded(serial, _ROW_DIGITS, "0")
        given.append(pc.binary_join_element_wise(commit_lsn, *numbers, ":"))
    if _there(scn):
        given.append(_padded(scn, _LSN_DIGITS))
    return pc.coalesce(*given) if given else pa.nulls(len(lsn), pa.string())


def _only(values: Sequence[pa.Array]) -> pa.StringArray:
    return values[0]


ENVELOPES = {
    ChangeLog.DEBEZIUM: Envelope(
        operation="op",
        operations={
            "c": ("c", "after"),
            "u": ("u", "after"),
            "r": ("r", "after"),
            "d": ("d", "before"),
            "t": ("t", None),
        },
        images=("after", "before"),
        time="ts_ms",
        time_ms=1,
        position=(
            (("source", "lsn"), "bigint"),
            (("source", "file"), "string"),
            (("source", "pos"), "bigint"),
            (("source", "row"), "bigint"),
            (("source", "commit_lsn"), "string"),
            (("source", "change_lsn"), "string"),
            (("source", "event_serial_no"), "decimal(20,0)"),  # a number, or the text of one
            (("source", "scn"), "string"),
        ),
        position_of=_debezium_position,
    ),
    ChangeLog.MAXWELL: Envelope(
        operation="type",
        operations={
            "insert": ("c", "data"),
            "update": ("u", "data"),
            "delete": ("d", "data"),
            "bootstrap-insert": ("r", "data"),
        },
        images=("data",),
        time="ts",
        time_ms=1_000,
        position=((("position",), "string"),),
        position_of=_only,
    ),
}
