"""What a table's options come to, with the map's defaults and the options' own: shared by the checks and by build."""

import re
from datetime import datetime
from typing import Any

from kafka2hive.config import schema

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


def columns_of(table: schema.Table) -> dict[str, str]:
    """The declared columns; a raw table without any has `value binary`."""
    return table.columns or ({"value": "binary"} if table.format == "raw" else {})


def epoch_milliseconds(text: str) -> int:
    """Milliseconds since 1970 of ISO 8601 with a zone. ValueError otherwise."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("the zone is missing")
    return round(moment.timestamp() * 1000)
