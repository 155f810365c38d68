"""Debezium's positions in the databases' logs, as strings that sort in the order of the changes."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

_LSN_DIGITS, _ROW_DIGITS = 20, 10

POSITION_FIELDS = {
    "lsn": "bigint",
    "file": "string",
    "pos": "bigint",
    "row": "bigint",
    "commit_lsn": "string",
    "change_lsn": "string",
    "event_serial_no": "decimal(20,0)",  # a number, or a number as text
    "scn": "string",
    "commit_ts": "bigint",
}
"""The fields of the envelope's `source` that make a position, with their Hive types."""


def debezium_position(values: Sequence[pa.Array]) -> pa.StringArray:
    """Return PostgreSQL's lsn, MySQL's file, pos and row, SQL Server's LSNs, Oracle's scn or TiDB's commit_ts.

    `values`: POSITION_FIELDS. TiCDC writes an empty file beside commit_ts.
    """
    lsn, file, pos, row, commit_lsn, change_lsn, serial, scn, commit_ts = values
    # a batch is usually of one database; strings for all of them would take longer than decoding
    positions: list[pa.StringArray] = []
    if _has_values(commit_ts):
        positions.append(padded(commit_ts))
    if _has_values(lsn):
        positions.append(padded(lsn))
    if _has_values(file):
        numbers = padded(pos), padded(row, _ROW_DIGITS, "0")
        positions.append(pc.binary_join_element_wise(file, *numbers, ":"))
    if _has_values(commit_lsn):
        numbers = pc.fill_null(change_lsn, ""), padded(serial, _ROW_DIGITS, "0")
        positions.append(pc.binary_join_element_wise(commit_lsn, *numbers, ":"))
    if _has_values(scn):
        positions.append(padded(scn))
    return pc.coalesce(*positions) if positions else pa.nulls(len(lsn), pa.string())


def padded(number: pa.Array, digits: int = _LSN_DIGITS, missing: str | None = None) -> pa.StringArray:
    """Return the numbers as strings of so many digits, so that they sort as numbers; `missing` instead of null."""
    text = number.cast(pa.string())
    return pc.utf8_lpad(text if missing is None else pc.fill_null(text, missing), digits, "0")


def _has_values(column: pa.Array) -> bool:
    return bool(column.null_count < len(column))
