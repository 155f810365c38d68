"""The JSON schema of the map, generated from the declared keys for editors: configs/kafka2hive.schema.json.

`scripts/pages` writes `configs/kafka2hive.schema.json`.
"""

import dataclasses
import inspect
import json
import re
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
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}

Schema = dict[str, Any]


def json_schema() -> Schema:
    """Return the schema, draft 2020-12. It does not express the rules between keys (config/rules)."""
    definitions: dict[str, Schema] = {}
    root = _section(MapKeys, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kafka2hive map",
        "$defs": dict(sorted(definitions.items())),
        **root,
    }


def _section(section: type, definitions: dict[str, Schema]) -> Schema:
    declared, further = declared_keys(section), further_keys(section)
    properties = {name: _property(key, definitions) for name, key in declared.items()}
    required = [name for name, key in declared.items() if key.is_required]
    others: object = False
    if further is not None:
        first = {"description": further.doc, **_type(further.first_type, definitions)}
        properties, required = {further.first: first, **properties}, [further.first, *required]
        others = _type(further.type, definitions)["additionalProperties"]
    return {
        "description": inspect.cleandoc(section.__doc__ or "").split("\n\n")[0],
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": others,
    }


def _property(key: DeclaredKey, definitions: dict[str, Schema]) -> Schema:
    schema = _type(key.type, definitions)
    if key.key.derived:
        schema = {"anyOf": [schema, {"type": "null"}]}
    if description := _description(key.key):
        schema = {"description": description, **schema}
    if isinstance(key.default, str | int | float | Enum) and not key.key.derived:
        schema["default"] = _default(key)
    return schema


def _description(key: Key) -> str:
    default = f"Default: {key.otherwise}." if key.otherwise else ""
    return " ".join(filter(None, (_without_links(key.doc), key.more, default)))


def _without_links(text: str) -> str:
    """Return the text without links, which an editor does not follow; references to other parts of the page are removed."""
    text = re.sub(r",? \[more\]\([^)]*\)| \[[A-Z][^]]*\]\([^)]*\)\.", "", text)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


def _default(key: DeclaredKey) -> object:
    """Return the default as it is written in a map."""
    if isinstance(key.default, Enum):
        return key.default.value
    forms = marks(key.type, Form)
    return forms[0].write(key.default) if forms else key.default


def _type(hint: Any, definitions: dict[str, Schema]) -> Schema:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(hint, definitions)
    if origin in (Union, UnionType):
        return {"anyOf": [_type(part, definitions) for part in parts]}
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
        return {"type": "array", "items": _type(parts[0], definitions)}
    return {"type": _JSON_TYPES[hint]}


def _annotated(hint: Any, definitions: dict[str, Schema]) -> Schema:
    forms = marks(hint, Form)
    if forms:
        return dict(forms[0].schema)
    schema = _type(get_args(hint)[0], definitions)
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
    schema = {"type": "object", "additionalProperties": _type(types[1], definitions)}
    names = _type(types[0], definitions)
    return {**schema, "propertyNames": {"enum": names["enum"]}} if "enum" in names else schema


def json_schema_text() -> str:
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
