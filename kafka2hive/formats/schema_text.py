"""The columns of a file as one of its key-value pairs: as Arrow writes a schema, in base64."""

import base64
from collections.abc import Iterable, Iterator

import pyarrow as pa

SCHEMA_KEY = "kafka2hive.schema"


def schema_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize()).decode()


def schema_of(text: bytes) -> pa.Schema:
    """Raises UNREADABLE (formats/opened.py) for a damaged text, also where it is only a column's name."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
        list(_names(schema))  # Arrow decodes a name when it is asked for
    except ValueError as error:
        raise pa.ArrowInvalid(f"a damaged schema: {error}") from error
    return schema


def _names(fields: Iterable[pa.Field]) -> Iterator[str]:
    for field in fields:
        yield field.name
        yield from _names(field.type.field(number) for number in range(field.type.num_fields))
