"""The JSON schema of the map, for editors: from the declared keys, committed as configs/kafka2hive.schema.json.

`python -m kafka2hive.config.json_schema > configs/kafka2hive.schema.json` writes it again.
"""

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterable
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from kafka2hive.config.keys.declaration import (
    Bounds,
    DeclaredKey,
    Form,
    Key,
    declared_keys,
    further_keys,
    marks,
)
from kafka2hive.config.keys.service import MapKeys

SCHEMA_FILE = "kafka2hive.schema.json"
MODELINE = f"# yaml-language-server: $schema=./{SCHEMA_FILE}"
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}

Schema = dict[str, Any]


def json_schema() -> Schema:
    """Draft 2020-12; what stands between keys (semantic checks) is not in it."""
    definitions: dict[str, Schema] = {}
    whole = _section(MapKeys, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kafka2hive map",
        "$defs": dict(sorted(definitions.items())),
        **whole,
    }


def _section(section: type, definitions: dict[str, Schema]) -> Schema:
    declared, further = declared_keys(section), further_keys(section)
    properties = {name: _property(key, definitions) for name, key in declared.items()}
    required = [name for name, key in declared.items() if key.is_required]
    others: object = False
    if further is not None:
        first = {"description": further.doc, **_of(further.first_type, definitions)}
        properties, required = {further.first: first, **properties}, [further.first, *required]
        others = _of(further.type, definitions)["additionalProperties"]
    return {
        "description": inspect.cleandoc(section.__doc__ or "").split("\n\n")[0],
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": others,
    }


def _property(key: DeclaredKey, definitions: dict[str, Schema]) -> Schema:
    schema = _of(key.type, definitions)
    if key.key.derived:
        schema = {"anyOf": [schema, {"type": "null"}]}
    if description := _description(key.key):
        schema = {"description": description, **schema}
    if isinstance(key.default, str | int | float | Enum) and not key.key.derived:
        schema["default"] = _written(key)
    return schema


def _description(key: Key) -> str:
    default = f"Default: {key.otherwise}." if key.otherwise else ""
    return " ".join(filter(None, (_without_links(key.doc), key.more, default)))


def _without_links(text: str) -> str:
    """An editor's user cannot follow them: those that only refer to another part of the page go, other words stay."""
    text = re.sub(r",? \[(?:below|above)\]\([^)]*\)| \[[A-Z][^]]*\]\([^)]*\)\.", "", text)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


def _written(key: DeclaredKey) -> object:
    """The default as the map would have it."""
    if isinstance(key.default, Enum):
        return key.default.value
    forms = marks(key.type, Form)
    return forms[0].write(key.default) if forms else key.default


def _of(hint: Any, definitions: dict[str, Schema]) -> Schema:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(hint, definitions)
    if origin in (Union, UnionType):
        return {"anyOf": [_of(part, definitions) for part in parts]}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _section(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin is Literal:
        return _choice(parts)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice(member.value for member in hint)
    if origin is dict:
        return _mapping(parts, definitions)
    if origin is tuple and get_origin(parts[0]) is tuple:
        return _mapping(get_args(parts[0]), definitions)
    if origin is tuple:
        return {"type": "array", "items": _of(parts[0], definitions)}
    return {"type": _NAMES[hint]}


def _annotated(hint: Any, definitions: dict[str, Schema]) -> Schema:
    forms = marks(hint, Form)
    if forms:
        return dict(forms[0].schema)
    schema = _of(get_args(hint)[0], definitions)
    for bounds in marks(hint, Bounds):
        length = "minItems" if "array" in json.dumps(schema) else "minLength"
        limits = {
            "exclusiveMinimum": bounds.above,
            "minimum": bounds.at_least,
            "maximum": bounds.at_most,
            length: bounds.shortest,
            "pattern": bounds.pattern or None,
        }
        schema |= {name: limit for name, limit in limits.items() if limit is not None}
    return schema


def _choice(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _mapping(types: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    schema = {"type": "object", "additionalProperties": _of(types[1], definitions)}
    names = _of(types[0], definitions)
    return {**schema, "propertyNames": {"enum": names["enum"]}} if "enum" in names else schema


def json_schema_text() -> str:
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(json_schema_text())
