"""The value that a `bucket.field` names: a column, a field within a struct column, or what a JSON path leads to."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.config.checks.table_options import DeclaredColumn
from kafka2hive.config.grammars.json_path import parse_json_path
from kafka2hive.config.problems import closest
from kafka2hive.config.values.columns import RecordPart
from kafka2hive.model.errors import ConfigError


@dataclass(frozen=True, slots=True)
class EventField:
    """`inner` leads from the column, a struct, to the value; `type` is Hive's text of it, None where it is not known."""

    column: str
    inner: tuple[str, ...] = ()
    type: str | None = None


class NoSuchField(ValueError):
    """`near`: what may have been meant."""

    def __init__(self, message: str, near: str = "") -> None:
        super().__init__(message)
        self.near = near


def event_field(field: str, columns: Sequence[DeclaredColumn]) -> EventField:
    """`at`, `props.at` or `$.props.at`. `columns` empty: they are Hive's, and nothing is known of them.

    Raises NoSuchField.
    """
    if field.startswith("$"):
        return _by_path(field, columns)
    name, *inner = field.split(".")
    if not columns:
        return EventField(name, tuple(inner))
    known = {column.name: column for column in columns}
    if name not in known:
        raise NoSuchField(f"{field} is no column of the table", closest(field, known))
    return _within(known[name], tuple(inner), field)


def _by_path(field: str, columns: Sequence[DeclaredColumn]) -> EventField:
    try:
        keys = parse_json_path(field)
    except ValueError as error:
        raise NoSuchField(str(error)) from error
    if not columns:
        raise NoSuchField("a path needs columns in the map; these come from Hive: name one of them")
    found: list[EventField] = []
    of_value = [column for column in columns if column.part is RecordPart.VALUE]
    for column in of_value:
        try:
            taken = column.keys
            if keys[: len(taken)] == taken:
                found.append(_within(column, keys[len(taken) :], field))
        except ValueError:
            continue  # a path that is none is told where it stands; a struct without that field is not meant
    if found:  # several columns may take one value
        return next((one for one in found if one.type in ("timestamp", "date", "bigint")), found[0])
    raise NoSuchField(
        f"no column takes {field}: add one, {{type: timestamp, from: {field!r}, unit: ms}}",
        closest(field, [column.path for column in of_value if column.path]),
    )


def _within(column: DeclaredColumn, inner: tuple[str, ...], field: str) -> EventField:
    if not inner:
        return EventField(column.name, (), column.type.strip())
    import pyarrow as pa

    from kafka2hive.model.hive.types import hive_type_of, parse_hive_type

    try:
        dtype = parse_hive_type(column.type)
    except ConfigError:
        return EventField(column.name, inner)
    for name in inner:
        fields = [child.name for child in dtype] if pa.types.is_struct(dtype) else []
        if name not in fields:
            what = (
                f"{column.name} has no field {name}"
                if fields
                else f"{column.name} is {column.type}, no struct"
            )
            raise NoSuchField(f"{field}: {what}", closest(name, fields))
        dtype = dtype.field(name).type
    return EventField(column.name, inner, hive_type_of(dtype))
