"""The words of Hive's types, and what to say to somebody who writes another one."""

import difflib

SIMPLE = {
    "bigint": "int64",
    "int": "int32",
    "smallint": "int16",
    "tinyint": "int8",
    "double": "float64",
    "float": "float32",
    "boolean": "bool",
    "string": "string",
    "binary": "binary",
    "date": "date32",
}
ALIASES = {"integer": "int", "dec": "decimal", "numeric": "decimal"}
_MEANT = {
    "bigint": ("long", "int64"),
    "decimal(20,0)": ("uint64",),
    "int": ("int32",),
    "smallint": ("short", "int16"),
    "tinyint": ("byte", "int8"),
    "float": ("real", "float32"),
    "double": ("float64", "number"),
    "boolean": ("bool",),
    "string": ("str", "text", "json", "uuid"),
    "binary": ("bytes", "blob"),
    "timestamp": ("datetime", "timestamptz"),
    "array<...>": ("list",),
    "struct<...>": ("object", "row"),
    "map<string,...>": ("dict",),
}
_NEARBY = {word: meant for meant, words in _MEANT.items() for word in words}
_UNSUPPORTED = (
    "uniontype",
    "interval",
    "interval_year_month",
    "interval_day_time",
    "timestamplocaltz",
    "void",
)
_WORDS = [*SIMPLE, "timestamp", "decimal", "varchar", "char", "array", "map", "struct"]


def advice(word: str) -> tuple[str, str]:
    """What is wrong with a word that is no type of Hive's, and what to write instead."""
    if not word:
        return "a type is missing", "for example bigint, string or decimal(10,2)"
    if word.lower() in _UNSUPPORTED:
        return f"{word.lower()} is not supported", "declare the column as string"
    near = _NEARBY.get(word.lower()) or next(iter(difflib.get_close_matches(word.lower(), _WORDS, 1)), "")
    return f"unknown type {word!r}", f"did you mean {near}?" if near else f"types are {', '.join(_WORDS)}"
