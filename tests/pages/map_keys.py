"""The keys of the map for the pages that explain them: one table for each section."""

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from kafka2hive.config.difference import decisions
from kafka2hive.config.keys.bucketing import Bucketing, CompactOptions, CompletionOptions
from kafka2hive.config.keys.columns import NamedColumnKeys
from kafka2hive.config.keys.connections import (
    HiveKeys,
    KafkaOptions,
    KerberosOptions,
    RegistryOptions,
    StorageOptions,
)
from kafka2hive.config.keys.counts import CountOptions
from kafka2hive.config.keys.declaration import (
    IN_PLACE,
    DeclaredKey,
    Duration,
    Form,
    Properties,
    Size,
    declared_keys,
    further_keys,
    marks,
)
from kafka2hive.config.keys.masks import MaskKeyFile, PartialMask
from kafka2hive.config.keys.news import NewsReceiver
from kafka2hive.config.keys.objective import Objective
from kafka2hive.config.keys.service import (
    DeadLetterOptions,
    Limits,
    LineageOptions,
    MapKeys,
    Metrics,
    SparkOptions,
)
from kafka2hive.config.keys.source import (
    ArrayRows,
    CanalKeys,
    ChangeLogKeys,
    CsvOptions,
    DebeziumKeys,
    LatestOptions,
    PluginOptions,
    Start,
)
from kafka2hive.config.keys.table import TableKeys, TableOptions
from kafka2hive.config.keys.writer import Flush, TextOptions, WriterOptions
from kafka2hive.config.yaml.problems import path_in_map

_WORDS = {str: "string", bool: "boolean", int: "number", float: "number"}
_FORMS = {Size: "size", Duration: "duration"}

SECTIONS: dict[str, tuple[type, type | None]] = {
    "service": (MapKeys, None),
    "kafka": (KafkaOptions, None),
    "storage": (StorageOptions, None),
    "hive": (HiveKeys, None),
    "kerberos": (KerberosOptions, None),
    "registry": (RegistryOptions, None),
    "spark": (SparkOptions, None),
    "limits": (Limits, None),
    "dead_letters": (DeadLetterOptions, None),
    "metrics": (Metrics, None),
    "lineage": (LineageOptions, None),
    "news": (NewsReceiver, None),
    "table": (TableKeys, TableOptions),
    "column": (NamedColumnKeys, None),
    "partial": (PartialMask, None),
    "mask_keys": (MaskKeyFile, None),
    "table options": (TableOptions, None),
    "csv": (CsvOptions, None),
    "change log": (ChangeLogKeys, None),
    "debezium": (DebeziumKeys, None),
    "canal": (CanalKeys, None),
    "latest": (LatestOptions, None),
    "array rows": (ArrayRows, None),
    "plugin": (PluginOptions, None),
    "start": (Start, None),
    "bucket": (Bucketing, None),
    "writer": (WriterOptions, None),
    "text": (TextOptions, None),
    "flush": (Flush, None),
    "objective": (Objective, None),
    "completion": (CompletionOptions, None),
    "counts": (CountOptions, None),
    "compact": (CompactOptions, None),
}
"""By the names of their parts in the pages: the values of a section, and those whose keys another table has."""


def key_tables() -> dict[str, Callable[[], str]]:
    """The parts of the pages by their names."""

    def part(section: type, elsewhere: type | None) -> Callable[[], str]:
        return lambda: key_table(section, elsewhere)

    keys = {f"keys of {name}": part(*sections) for name, sections in SECTIONS.items()}
    return keys | {"reload of keys": reload_table}


def reload_table() -> str:
    """What a reload of the map does with each key that is not below `tables` or `defaults`."""
    rows = [
        f"| `{path_in_map(path)}` | {'reload' if reason == IN_PLACE else 'restart'} | {reason} |"
        for path, reason in sorted(decisions().items(), key=lambda decision: decision[1] != IN_PLACE)
    ]
    return "\n".join(["| key | takes effect by | reason |", "|---|---|---|", *rows, ""]).replace(
        "|  |", "| |"
    )


def key_table(section: type, elsewhere: type | None = None) -> str:
    """A row for each key: the required ones first, then in the order of their declaration."""
    keys = [key for key in declared_keys(section).values() if key.name not in _names(elsewhere)]
    rows = [_row(key) for key in sorted(keys, key=lambda key: not key.is_required)]
    if further := further_keys(section):
        rows = [
            f"| `{further.first}` | text | required | {further.doc} |",
            *rows,
            f"| any other | text, number, boolean | | {further.others} |",
        ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def _names(section: type | None) -> Iterable[str]:
    return () if section is None else declared_keys(section)


def _row(key: DeclaredKey) -> str:
    cells = (
        f"`{key.name}`",
        key.key.written or _type(key.type),
        key.key.otherwise or _default(key),
        _meaning(key),
    )
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def _meaning(key: DeclaredKey) -> str:
    return key.key.doc or inspect.cleandoc(_section(key.type).__doc__ or "").split("\n\n")[0].replace(
        "\n", " "
    )


def _section(hint: Any) -> type:
    """The class of a key that is a section."""
    found = _plain(hint)
    assert isinstance(found, type)
    return found


def _plain(hint: Any) -> Any:
    """Without what is annotated, and without None."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        return _plain(kinds[0]) if len(kinds) == 1 else hint
    return hint


def _type(hint: Any) -> str:
    for form, word in _FORMS.items():
        if set(marks(form, Form)) & set(marks(hint, Form)):
            return word
    plain = _plain(hint)
    if get_origin(plain) is Literal:
        return _choice(get_args(plain))
    if isinstance(plain, type) and issubclass(plain, Enum):
        return _choice(member.value for member in plain)
    if dataclasses.is_dataclass(plain):
        return "section"
    if plain == Properties:
        return "keys with values"
    if get_origin(plain) is tuple:
        return "list"
    return _WORDS[plain]


def _choice(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _default(key: DeclaredKey) -> str:
    if key.default is MISSING:
        return "required"
    if key.key.derived:
        raise ValueError(f"{key.name}: say what holds `otherwise`")
    if key.default is None or key.default == ():
        return "none"
    if dataclasses.is_dataclass(key.default):
        return ""
    if isinstance(key.default, Enum):
        return f"`{key.default.value}`"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    forms = marks(key.type, Form)
    text = str(forms[0].write(key.default) if forms else key.default)
    return f"`{text}`" if text else '`""`'
