"""The difference between the map that a run has and another text of it: what a reload would change, and what needs a restart.

The decision for each key is declared with the key (`Key.change`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from kafka2hive.config.keys import ServiceMap, TableRule
from kafka2hive.config.keys.columns import Column
from kafka2hive.config.keys.declaration import IN_PLACE, DeclaredKey, declared_keys, further_keys
from kafka2hive.config.keys.service import MapKeys
from kafka2hive.config.keys.table import TableKeys
from kafka2hive.config.yaml.document import read_document
from kafka2hive.config.yaml.problems import MapProblem, Path, Problems, path_in_map

_OTHER_NAMES = {"bucketing": "bucket"}
"""Fields of a rule that are not named after their keys."""


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """An entry of `tables` with other values; `keys` are their paths within the entry, such as `flush.interval`."""

    table: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MapDifference:
    """The difference of two maps. `added` and `removed` are entries of `tables` by their `table`.

    `keys` are other keys that a reload carries out; `restart` has those that need a restart, each with its line in the new map
    and the reason.
    """

    added: tuple[str, ...] = ()
    changed: tuple[ChangedTable, ...] = ()
    removed: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    restart: tuple[MapProblem, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.changed or self.removed or self.keys or self.restart)


def difference(running: ServiceMap, new: ServiceMap, text: str) -> MapDifference:
    """Return the difference of `new`, whose text is `text`, from the map that runs. Values are never in it."""
    before, after = _by_name(running.tables), _by_name(new.tables)
    changed = ((name, _changed_keys(before[name], rule)) for name, rule in after.items() if name in before)
    keys, problems = [], Problems()
    read_document(text, problems)
    for path, reason in _changed_settings(running, new):
        if reason == IN_PLACE:
            keys.append(path_in_map(path))
        else:
            problems.add(path, f"needs a restart: {reason}")
    return MapDifference(
        added=tuple(rule.table for name, rule in after.items() if name not in before),
        changed=tuple(ChangedTable(name[0], keys) for name, keys in changed if keys),
        removed=tuple(rule.table for name, rule in before.items() if name not in after),
        keys=tuple(keys),
        restart=problems.all(),
    )


def decisions() -> Mapping[Path, str]:
    """Return for each key of the map but those below `tables` and `defaults` what a reload does with it (see Key.change).

    A section appears if its keys have one decision, otherwise its keys appear. Raises ValueError: a key has none, or two.
    """
    return {path: reason for key in declared_keys(MapKeys).values() for path, reason in _decisions(key, ())}


def _decisions(key: DeclaredKey, parents: Path) -> Iterator[tuple[Path, str]]:
    path = (*parents, key.name)
    below = [] if key.name in ("tables", "defaults") else list(_keys_of(key.default).values())
    if key.key.change is not None:
        if any(each.key.change is not None for each in below):
            raise ValueError(f"{path_in_map(path)} has a decision, and so has a key below it")
        yield path, key.key.change
        return
    if not below:
        raise ValueError(f"{path_in_map(path)} has no decision about a reload: give its Key a `change`")
    for each in below:
        yield from _decisions(each, path)


def _keys_of(section: Any) -> Mapping[str, DeclaredKey]:
    """Return the keys of a section's value by their names; none if the value is not a section."""
    return _declared(type(section)) if is_dataclass(section) else {}


def _declared(section: type) -> Mapping[str, DeclaredKey]:
    return declared_keys(section)


def _by_name(rules: Iterable[TableRule]) -> dict[tuple[str, int], TableRule]:
    """Return the rules by their tables; several patterns may make tables of one name, and are told apart by their order."""
    seen: Counter[str] = Counter()
    named = {}
    for rule in rules:
        named[rule.table, seen[rule.table]] = rule
        seen[rule.table] += 1
    return named


def _changed_keys(before: TableRule, after: TableRule) -> tuple[str, ...]:
    """Return the keys of a table whose values differ; `table` itself is the same."""
    names = {key.field: key.name for key in declared_keys(TableKeys).values()} | _OTHER_NAMES
    changed = [
        path_in_map((names[each.name], *rest))
        for each in fields(TableRule)
        if each.compare
        for rest in _differing(getattr(before, each.name), getattr(after, each.name))
    ]
    return tuple(dict.fromkeys(changed))


def _differing(before: object, after: object) -> Iterator[Path]:
    """Return the paths, below a value, at which two values differ; the empty path if the value has no keys of its own."""
    if before == after:
        return
    if _is_columns(before) and _is_columns(after):
        yield from _differing_columns(before, after)
        return
    keys = _keys_of(after) if type(before) is type(after) else {}
    below: list[Path] = [
        (key.name, *rest)
        for key in keys.values()
        for rest in _differing(getattr(before, key.field), getattr(after, key.field))
    ]
    yield from below or [()]


def _is_columns(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(each, Column) for each in value)


def _differing_columns(before: Any, after: Any) -> Iterator[Path]:
    earlier, later = ({column.name: column for column in columns} for columns in (before, after))
    names = [name for name in {**earlier, **later} if earlier.get(name) != later.get(name)]
    below: list[Path] = [(name,) for name in names]
    yield from below or [()]  # only their order differs


def _changed_settings(running: ServiceMap, new: ServiceMap) -> Iterator[tuple[Path, str]]:
    """Return the paths of the other keys whose values differ, each with the decision of the key."""
    for key in declared_keys(MapKeys).values():
        if key.name in ("tables", "defaults"):
            continue
        before, after = getattr(running, key.field), getattr(new, key.field)
        for rest in _differing_settings(before, after):
            yield (key.name, *rest), _decision(key, after, rest)


def _differing_settings(before: object, after: object) -> Iterator[Path]:
    """As `_differing`, and with the names of properties."""
    paths = list(_differing(before, after))
    kind: Any = type(after)
    further = further_keys(kind) if is_dataclass(kind) and type(before) is kind else None
    if further is not None:
        earlier, later = (dict(getattr(section, further.field)) for section in (before, after))
        names = [name for name in {**earlier, **later} if earlier.get(name) != later.get(name)]
        paths = [path for path in paths if path] + [(name,) for name in names]
    yield from paths


def _decision(key: DeclaredKey, section: object, rest: Path) -> str:
    if key.key.change is not None:
        return key.key.change
    reason = _keys_of(section)[str(rest[0])].key.change
    assert reason is not None  # a test asks for all decisions
    return reason
