"""Values of Hive partitions as the metastore must be given them: it checks and normalises none.

HiveServer2 turns `hr=08` of an int into `hr=8`. The metastore would keep both beside each other, and queries would find only
the rows of `hr=8`.
"""

import re
from collections.abc import Sequence
from typing import Any

from kafka2hive.model.metastore import MetastoreRefused
from kafka2hive.model.paths.path import HIVE_DEFAULT_PARTITION, parse_partition_path, partition_path

_LARGEST = {"tinyint": 2**7 - 1, "smallint": 2**15 - 1, "int": 2**31 - 1, "bigint": 2**63 - 1}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TEXT = re.compile(r"string|(var)?char(\([0-9]+\))?")


def partition_values(table: str, keys: Sequence[Any], path: str) -> tuple[str, ...]:
    """Return the values of a partition's path in the form of HiveServer2. `keys` are the table's partition columns.

    Raises MetastoreRefused if the path does not have these columns, or a type cannot hold its value.
    """
    pairs = parse_partition_path(path)
    ours, theirs = [name.lower() for name, _ in pairs], [key.name.lower() for key in keys]
    if ours != theirs:
        raise MetastoreRefused(f"{table} is partitioned by ({', '.join(theirs)}), not by ({', '.join(ours)})")
    return tuple(
        _value(table, key.name, key.type.lower(), value) for key, (_, value) in zip(keys, pairs, strict=True)
    )


def partition_names(keys: Sequence[Any], values: Sequence[str]) -> tuple[str, ...]:
    """Return the names by which the metastore may know a partition: not every version escapes a closing brace."""
    names = (key.name.lower() for key in keys)
    known = ("" if value == HIVE_DEFAULT_PARTITION else value for value in values)
    name = partition_path(tuple(zip(names, known, strict=True)))
    return tuple(dict.fromkeys((name, name.replace("%7D", "}"))))


def _value(table: str, name: str, kind: str, value: str) -> str:
    if not value:
        return HIVE_DEFAULT_PARTITION
    if _TEXT.fullmatch(kind):
        return value
    if kind in _LARGEST and _INTEGER.fullmatch(value) and -_LARGEST[kind] - 1 <= int(value) <= _LARGEST[kind]:
        return str(int(value))
    if kind == "date" and _DATE.fullmatch(value):
        return value
    raise MetastoreRefused(f"{table}: partition column {name} of type {kind} cannot hold {value!r}")
