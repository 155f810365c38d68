"""Columns for change records of Canal: their values are texts, and each record names the types that MySQL has. Pure."""

import re
from collections.abc import Iterable
from typing import Any

from kafka2hive.service.sample.columns import Names
from kafka2hive.service.sample.draft import DraftColumn

_TYPE = re.compile(r"(\w+)(?:\(([^)]*)\))?(.*)")
_TYPES = {
    "tinyint": "int",
    "smallint": "int",
    "mediumint": "int",
    "int": "bigint",
    "integer": "bigint",
    "bigint": "bigint",
    "year": "int",
    "float": "double",
    "double": "double",
    "date": "date",
    "datetime": "timestamp",
    "timestamp": "timestamp",
}
"""As wide as the unsigned ones; whatever is not here is a text."""


def is_canal(document: dict[str, Any]) -> bool:
    known = {"database", "table", "type", "data", "mysqlType"} <= document.keys()
    return known and isinstance(document["data"], list | None)


def canal_columns(documents: Iterable[dict[str, Any]]) -> tuple[tuple[DraftColumn, ...], list[str]]:
    """A column for each of the table's own, in the order of the first record that names it, and notes."""
    types: dict[str, str] = {}
    notes: list[str] = []
    for document in documents:
        if isinstance(named := document["mysqlType"], dict):
            for name, written in named.items():
                if name:
                    types.setdefault(name, _hive_type(str(written)))
    names = Names(notes)
    return tuple(DraftColumn(names.name((name,)), kind, (name,)) for name, kind in types.items()), notes


def _hive_type(written: str) -> str:
    matched = _TYPE.match(written.strip().lower())
    if matched is None:
        return "string"
    name, size, more = matched.groups()
    if name in ("decimal", "numeric"):
        precision, _, scale = (size or "10,0").partition(",")
        digits, fraction = (int(n) if n.isdecimal() and len(n) < 4 else 99 for n in (precision, scale or "0"))
        return f"decimal({digits},{fraction})" if 0 < digits <= 38 and fraction <= digits else "string"
    if name == "bigint" and "unsigned" in more:
        return "decimal(20,0)"
    return _TYPES.get(name, "string")
