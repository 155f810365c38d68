"""The rules of masks: which columns can have one, and where the plain value would still be."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from kafka2hive.config.keys.bucket_path import read_bucket_path
from kafka2hive.config.keys.columns import MetadataColumn, RecordPart
from kafka2hive.config.keys.source import BEFORE, array_path, keeps_before
from kafka2hive.config.rules.bucket import NoSuchField, event_field
from kafka2hive.config.rules.table_options import (
    DeclaredColumn,
    TableCheck,
    declared_columns,
    metadata_names,
)
from kafka2hive.config.yaml.problems import Path, Problems
from kafka2hive.config.yaml.shape import MapSections

_WHOLE_PARTS = {RecordPart.KEY: MetadataColumn.KEY, RecordPart.HEADER: MetadataColumn.HEADERS}
"""The metadata columns that hold a whole part of the record."""


def check_masks(sections: MapSections, tables: Sequence[TableCheck], problems: Problems) -> None:
    """Check the masks of all tables, and the sections of the map that only masks need."""
    masked = [check for check in tables if _masked_columns(check)]
    for check in masked:
        _check_table(check)
    for check in tables:
        _check_metadata(check)
    kinds = {column.mask.kind for check in masked for column in _masked_columns(check) if column.mask}
    keys = sections.mask_keys
    if keys is not None:
        if "hmac" in kinds and not keys:
            problems.add(
                ("mask_keys",), "is required by mask: hmac: mask_keys: [{file: /etc/kafka2hive/mask.key}]"
            )
        if keys and "hmac" not in kinds:
            problems.add(("mask_keys",), "is used only with mask: hmac")
        _check_key_files([key.file for key in keys], problems)
    letters = sections.dead_letters
    if letters is None:
        return
    if masked and letters.payload is None:
        name = masked[0].table.table
        message = (
            f"is required by the masks of {name}, because dead letters hold whole records: drop, hash, or keep"
            " (with all plain values)"
        )
        problems.add(("dead_letters", "payload"), message)
    if letters.payload is not None and not masked:
        problems.add(("dead_letters", "payload"), "is used only if a column has a mask")


def _check_key_files(names: list[str], problems: Problems) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            problems.add(("mask_keys", index, "file"), "the file is repeated")


def _masked_columns(check: TableCheck) -> list[DeclaredColumn]:
    return [column for column in declared_columns(check.before_sql().table) if column.mask is not None]


def _check_table(check: TableCheck) -> None:
    """Check the masks of a table's decoded columns."""
    before = check.before_sql()
    needed = {} if check.table.records else dict(_deciding_columns(check))
    parts = {kind for kind, _ in metadata_names(check.table.metadata)}
    columns = declared_columns(before.table)
    for column in _masked_columns(check):
        mask, path = column.mask, (*before.path("columns", column.place), "mask")
        assert mask is not None
        if mask.kind != "drop" and column.type.strip().lower() != "string":
            message = f"{mask.kind} is used only with a string, drop with every type; {column.name} is {column.type}"
            check.add(path, message)
        if mask.kind == "partial" and not (mask.first or mask.last):
            check.add((*path, "partial"), "needs first or last, or both; without them, write mask: drop")
        if use := needed.get(column.name.lower()):
            check.add(path, f"{use} needs the plain value of {column.name}: take another column, or no mask")
        if (kind := _WHOLE_PARTS.get(column.part)) in parts and kind is not None:
            check.add(path, f"the metadata column {kind.value} would hold the plain value of {column.name}")
        _check_other_columns(check, path, column, columns)
    if keeps_before(check.table.source) and _masked_columns(check):
        check.add(check.path("source"), f"{BEFORE} would hold the plain values of the columns with a mask")


def _check_metadata(check: TableCheck) -> None:
    kinds = [kind for kind, _ in metadata_names(check.table.metadata)]
    has_hmac = any(column.mask and column.mask.kind == "hmac" for column in _masked_columns(check))
    if MetadataColumn.MASK_KEY in kinds and not has_hmac:
        check.add(check.path("metadata"), "mask_key is used only if a column has mask: hmac")


def _deciding_columns(check: TableCheck) -> Iterator[tuple[str, str]]:
    """Yield the columns, in lower case, that decide where a row belongs, each with the key of the map that says so."""
    table = check.table
    if table.bucket.plugin is None:
        yield from ((name.lower(), "bucket") for name in read_bucket_path(table.bucket.path).fields)
    if table.bucket.field is not None:
        with suppress(NoSuchField):  # the rule of buckets reports it
            yield event_field(table.bucket.field, declared_columns(table)).column.lower(), "bucket"
    if table.latest is not None:
        yield table.latest.order.lower(), "latest"
        yield from ((name.lower(), "latest") for name in table.latest.key)


def _check_other_columns(
    check: TableCheck, path: Path, column: DeclaredColumn, columns: Sequence[DeclaredColumn]
) -> None:
    """Check that no column without a mask takes the same value, or an object or array around it."""
    of_value = (RecordPart.VALUE, RecordPart.MESSAGE)
    parts = of_value if column.part in of_value else (column.part,)
    plain = [other for other in columns if other.mask is None and other.part in parts]
    for other in plain if check.table.format != "csv" or column.part is not RecordPart.VALUE else ():
        if any(mine[: len(its)] == its for mine in _paths(check, column) for its in _paths(check, other)):
            check.add(
                path, f"column {other.name} has no mask, and would hold the plain value of {column.name}"
            )


def _paths(check: TableCheck, column: DeclaredColumn) -> list[tuple[str, ...]]:
    """Return the paths to a column's value, from the message on; none if one is malformed, which another rule reports."""
    try:
        before = array_path(check.table.rows) if column.part is RecordPart.VALUE else ()
        return [(*before, *keys) for keys in (column.keys, *column.full_leeway.others)]
    except ValueError:
        return []
