"""A draft for a table that exists in Hive: its columns, partitions, location and file format. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from kafka2hive.config.keys import Column, MetadataColumn
from kafka2hive.config.keys.source import CHANGE_COLUMNS, UNAVAILABLE
from kafka2hive.hive.description import TableDescription
from kafka2hive.hive.stored_as import STORED_AS, format_difference
from kafka2hive.service.draft.columns import ANY_JSON
from kafka2hive.service.draft.map_text import Draft, DraftColumn

_TIMES = ("timestamp", "date")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_HOURS = frozenset(("hr", "hour", "h", "part_hour"))


def with_table(draft: Draft, table: TableDescription) -> Draft:
    """Return the draft with what Hive's description says, and notes on what it leaves open."""
    notes = list(draft.notes)
    drafted_names = {column.name.lower() for column in draft.columns}
    metadata = [
        kind.value
        for column in table.columns
        for kind in MetadataColumn
        if column.name == f"kafka_{kind.value}" and column.name not in drafted_names
    ]
    added = {f"kafka_{kind}" for kind in metadata} | set(
        (*CHANGE_COLUMNS, UNAVAILABLE) if draft.source != "events" else ()
    )
    columns = _columns(draft, [column for column in table.columns if column.name not in added], notes)
    digits = any(
        column.type.lower() == "boolean" and drafted.type == "bigint"
        for column, drafted in zip(columns, draft.columns, strict=False)
    )
    path = _path([column.name for column in table.partition_columns], notes)
    format = next(
        (name for name, stored in STORED_AS.items() if format_difference(stored, table) is None), None
    )
    if format is None:
        notes.append(f"Hive reads the table's files by {table.input_format}, which kafka2hive cannot write")
    return replace(
        draft,
        columns=columns,
        csv=replace(draft.csv, booleans="digits" if draft.format == "csv" and digits else "words"),
        metadata=tuple(metadata),
        path=path,
        location=_with_slashes(table.location),
        storage=draft.storage or _authority(table.location),
        file_format=format or "parquet",
        notes=(f"columns, partitions and location are those of {draft.table_name} in Hive", *notes),
    )


def _with_slashes(location: str | None) -> str | None:
    """Replace Hive's `file:/path` by `file:///path`."""
    return None if location is None else re.sub(r"^file:/(?=[^/])", "file:///", location)


def _authority(location: str | None) -> str | None:
    parts = urlsplit(location or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else None


def _columns(draft: Draft, hive_columns: Sequence[Column], notes: list[str]) -> tuple[DraftColumn, ...]:
    if draft.format == "csv":
        if len(draft.columns) != len(hive_columns):
            notes.append(
                f"the records have {len(draft.columns)} fields, Hive's table {len(hive_columns)} columns"
            )
        drafts = {column.name: drafted for column, drafted in zip(hive_columns, draft.columns, strict=False)}
        keys: dict[str, tuple[str, ...]] = {name: (name,) for name in drafts}
    else:
        by_name = {column.name.lower(): column for column in draft.columns}
        drafts = {c.name: by_name[c.name.lower()] for c in hive_columns if c.name.lower() in by_name}
        keys = {name: drafted.keys for name, drafted in drafts.items()}
    is_json = draft.format in ("json", "json_schema") and draft.source != "canal"
    columns = [
        DraftColumn(
            name=column.name,
            type=column.type,
            keys=keys.get(column.name, (column.name,)),
            unit=_unit(column, drafts.get(column.name)),
            leeway=_leeway(column, drafts.get(column.name)) if is_json else (),
            is_around=column.name in drafts and drafts[column.name].is_around,
        )
        for column in hive_columns
    ]
    if texts := [column.name for column in columns if ANY_JSON in column.leeway]:
        notes.append(
            f"{', '.join(texts)}: records have other values than strings, which json: text keeps as their text"
        )
    if missing := [column.name for column in hive_columns if column.name not in drafts]:
        notes.append(f"no record has a value for {', '.join(missing)}: set from, header or key of each")
    used = {drafted.name for drafted in drafts.values()}
    if extra := [column.name for column in draft.columns if column.name not in used]:
        notes.append(f"Hive's table has no column for {', '.join(extra)} of the records")
    return tuple(columns)


def _unit(column: Column, drafted: DraftColumn | None) -> str | None:
    """Return the unit of numbers that fill a column of dates or times: they count from 1970, regardless of their name."""
    kind = column.type.lower()
    if drafted is None or kind not in _TIMES or (drafted.counts == "d" and kind != "date"):
        return None
    return drafted.unit or drafted.counts


def _leeway(column: Column, drafted: DraftColumn | None) -> tuple[str, ...]:
    """Return the keys by which a column takes what the records have."""
    if drafted is None:
        return ()
    kind = column.type.lower()
    if kind == "string":
        is_text = drafted.unit is None and drafted.type in ("string", "date", "timestamp")
        return () if is_text and ANY_JSON not in drafted.leeway else (ANY_JSON,)
    is_same = kind == drafted.type or (kind in _WHOLE and drafted.type == "bigint")
    return drafted.leeway if is_same else ()


def _path(names: Sequence[str], notes: list[str]) -> str:
    """Return `bucket.path` for partition columns of these names; a note says if it is a guess."""
    if not names:
        return ""
    day, *hours = names
    if not hours:
        return f"{day}=%Y-%m-%d"
    if len(hours) == 1 and hours[0].lower() in _HOURS:
        return f"{day}=%Y-%m-%d/{hours[0]}=%H"
    notes.append(
        f"what the partition columns {', '.join(names)} hold is not known: bucket.path has a day in each, correct it"
    )
    return "/".join(f"{name}=%Y-%m-%d" for name in names)
