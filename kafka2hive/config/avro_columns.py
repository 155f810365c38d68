"""Columns that Hive does not read from Avro files as they were written. Tried on HiveServer2 4.0.1."""

import re
from collections.abc import Iterator

_WORD = re.compile(r"(`[^`]+`|[^\s<>(),:`]+)\s*(:?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAP = re.compile(r"\bmap\s*<\s*([a-z]+)", re.IGNORECASE)
_OTHERS = {
    "tinyint": "Hive's Avro tables make it int, declare it so",
    "smallint": "Hive's Avro tables make it int, declare it so",
    "char": "Hive reads it only from files that say its length, declare it as string",
    "varchar": "Hive reads it only from files that say its length, declare it as string",
}


def not_in_avro(name: str, kind: str) -> Iterator[str]:
    """Why a column with this type of Hive's, which is one, is not possible."""
    fields = [word.strip("`") for word, colon in _WORD.findall(kind) if colon]
    for own in [name, *fields]:
        if not _NAME.fullmatch(own):
            yield f"{own} is no name for Avro: letters, digits and _, and no digit first"
    for own in fields:
        if own != own.lower():
            yield f"{own} in {name} has capital letters: Hive reads such fields of structs as NULL"
    for word in dict.fromkeys(type_words(kind)):
        if word in _OTHERS:
            yield f"{name} is of type {kind}: {_OTHERS[word]}"
    if any(key.lower() != "string" for key in _MAP.findall(kind)):
        yield f"{name} is of type {kind}: Avro's maps have keys of type string"


def type_words(kind: str) -> list[str]:
    """Without the names of fields."""
    return [word.lower() for word, colon in _WORD.findall(kind) if not colon]
