"""Hive's partitions against the map, before they get files: a partition keeps the description that it was registered with."""

import threading
from collections.abc import Collection, Sequence

from kafka2hive.hive.check import check_partition
from kafka2hive.hive.port import Tables
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.errors import TableError
from kafka2hive.model.metastore import MetastoreRefused

DESCRIBED_AT_ONCE = 20
"""The most partitions that one call describes: about a second of Hive's time."""


def compare_partitions(tables: Tables, spec: TableSpec, paths: Collection[str]) -> frozenset[str]:
    """Compare the partitions at `paths` with the map, and return those that Hive lacks; it registers them like the table.

    If there are more than DESCRIBED_AT_ONCE, Hive only lists its partitions, and those that it has need further calls.
    Raises MetastoreUnavailable, TableError.
    """
    try:
        if len(paths) > DESCRIBED_AT_ONCE:
            known = {_key(path) for path in tables.partition_paths(spec.table)}
            return frozenset(path for path in paths if _key(path) not in known)
        return _described(tables, spec, sorted(paths))
    except MetastoreRefused as error:
        message = f"{spec.table}: its partitions cannot be compared with the map: {error}"
        raise TableError("hive.refused", message, "do what Hive's message asks for") from error


def slices(paths: Sequence[str]) -> list[Sequence[str]]:
    """Return the paths in parts that one call describes."""
    return [paths[start : start + DESCRIBED_AT_ONCE] for start in range(0, len(paths), DESCRIBED_AT_ONCE)]


def slices_to_compare(tables: Tables, spec: TableSpec, paths: Collection[str]) -> list[Sequence[str]]:
    """Return the paths in parts that one call describes; without those that Hive does not list, if there are many."""
    missing = compare_partitions(tables, spec, paths) if len(paths) > DESCRIBED_AT_ONCE else frozenset[str]()
    return slices(sorted(set(paths) - missing))


def _described(tables: Tables, spec: TableSpec, paths: Sequence[str]) -> frozenset[str]:
    missing, errors = set[str](), list[TableError]()
    for path in paths:
        description = tables.describe_partition(spec.table, path)
        if description is None:
            missing.add(path)
            continue
        try:
            check_partition(spec, path, description)
        except TableError as error:
            errors.append(error)
    if errors:
        first, others = errors[0], len(errors) - 1
        more = f" (and {others} more of its partitions)" if others else ""
        raise TableError(first.code, f"{first.message}{more}", first.remedy)
    return frozenset(missing)


def _key(path: str) -> str:
    """Return a text that is equal for all spellings of a partition: Hive drops the zeros before a number."""
    levels = (level.partition("=") for level in path.split("/"))
    return "/".join(
        f"{name.lower()}={value.lstrip('0') if value.isdigit() else value}" for name, _, value in levels
    )


class ComparedPartitions:
    """The partitions that a run has compared, at most `limit`: those not used for the longest time are forgotten first."""

    def __init__(self, limit: int = 50_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], None] = {}

    def unknown(self, table: str, paths: Collection[str]) -> list[str]:
        """Return the paths that must be compared."""
        with self._lock:
            keys = [(table, path) for path in sorted(paths)]
            self._known.update({key: self._known.pop(key) for key in keys if key in self._known})
            return [path for table, path in keys if (table, path) not in self._known]

    def add(self, table: str, paths: Collection[str]) -> None:
        with self._lock:
            self._known.update(dict.fromkeys((table, path) for path in paths))
            while len(self._known) > self._limit:
                del self._known[next(iter(self._known))]

    def forget(self, table: str) -> None:
        """Let all partitions of a table be compared again."""
        with self._lock:
            self._known = {key: None for key in self._known if key[0] != table}
