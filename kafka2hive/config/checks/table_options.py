"""What a table's options come to, with the map's defaults and the options' own: shared by the checks and by build."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka2hive.config import schema
from kafka2hive.config.json_path import parse_json_path

GROUP = re.compile(r"\{([^{}]*)\}")
"""`{1}` or `{name}` in a table's name, `{db}` or `{table}` in its location."""
METADATA_PREFIX = "kafka_"


def with_defaults(table: schema.Table, defaults: schema.TableOptions) -> schema.Table:
    """The table with every option it does not name taken from `defaults`, key by key."""
    missing = [name for name in schema.TableOptions.model_fields if name not in table.model_fields_set]
    return table.model_copy(update={name: getattr(defaults, name) for name in missing})


def metadata_names(setting: list[Any] | dict[Any, str]) -> list[tuple[str, str]]:
    """`(kind, column name)` of either way to write metadata."""
    if isinstance(setting, dict):
        return list(setting.items())
    return [(kind, METADATA_PREFIX + kind) for kind in setting]


def bucket_time(bucket: schema.Bucket) -> str:
    """`event`, `record` or `processing`."""
    return bucket.time or ("event" if bucket.field is not None else "record")


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A column in any of the forms of the map; `place` is its key or number below `columns`."""

    place: str | int
    name: str
    type: str
    path: str | None = None
    unit: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The way to its value; its name where the map says none. ValueError where that is no path."""
        return (self.name,) if self.path is None else parse_json_path(self.path)


def declared_columns(table: schema.Table) -> list[DeclaredColumn]:
    """The declared columns; a raw table without any has `value binary`."""
    if isinstance(table.columns, list):
        return [
            DeclaredColumn(number, column.name, column.type, column.path, column.unit)
            for number, column in enumerate(table.columns)
        ]
    columns = [
        DeclaredColumn(name, name, column)
        if isinstance(column, str)
        else DeclaredColumn(name, name, column.type, column.path, column.unit)
        for name, column in table.columns.items()
    ]
    return columns or ([DeclaredColumn("value", "value", "binary")] if table.format == "raw" else [])


def columns_of(table: schema.Table) -> dict[str, str]:
    """The declared columns' types by name."""
    return {column.name: column.type for column in declared_columns(table)}


def epoch_milliseconds(text: str) -> int:
    """Milliseconds since 1970 of ISO 8601 with a zone. ValueError otherwise."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("the zone is missing")
    return round(moment.timestamp() * 1000)
