"""Read plain data as the declared keys of the map, and report every mistake at its place.

No value is converted silently and no unknown key is accepted. A malformed part is reported and left out, so that the rules
can check the rest.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from kafka2hive.config.keys.columns import NamedColumnKeys
from kafka2hive.config.keys.connections import HiveKeys, KerberosOptions, RegistryOptions, StorageOptions
from kafka2hive.config.keys.declaration import (
    UNSET,
    Bounds,
    DeclaredKey,
    Form,
    declared_keys,
    further_keys,
    key_names,
    marks,
)
from kafka2hive.config.keys.masks import MaskKeyFile
from kafka2hive.config.keys.news import NewsReceiver
from kafka2hive.config.keys.service import DeadLetterOptions, LineageOptions, MapKeys, SparkOptions
from kafka2hive.config.keys.source import ChangeLogKeys
from kafka2hive.config.keys.table import TableKeys, TableOptions
from kafka2hive.config.yaml.problems import Path, Problems, closest

FAULTY: Final[Any] = object()
"""Stands for a malformed value whose mistake has been reported."""

_DECISIVE = frozenset({"topics", "pattern", "columns", "format", "avro_schema", "protobuf_schema", "create"})
"""Keys of a table without which other checks would report false mistakes."""

_EXPECTED: dict[object, str] = {
    str: "expected a string; put it in quotes",
    bool: "expected true or false",
    int: "expected a whole number",
    float: "expected a number",
    list: "expected a list",
    dict: "expected keys with values",
}
_OTHER_NAMES = {
    **dict.fromkeys(("partition", "partitions", "partition_by", "partitioned_by", "partitioning"), "bucket"),
    **dict.fromkeys(("topic", "source_topic", "source_topics"), "topics"),
    **dict.fromkeys(("schema", "fields"), "columns"),
    **dict.fromkeys(("retention", "ttl", "expire"), "retain"),
    **dict.fromkeys(("compaction", "compactor"), "compact"),
    "compression": "writer",
}
"""Names that other tools give to keys of a table."""
_TYPE_ENDS_HERE = (
    "is the end of the type before it: within { } a comma begins the next key;"
    ' quote types that hold a comma, as in {price: "decimal(10,2)"}'
)


class MapShape:
    """Reads values by their declared types: `hint` is the type, `data` the map's data, `path` its place.

    `tables` holds the well-formed tables by their index in the map.
    """

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._examples: dict[Path, str] = {}
        self.tables: dict[int, TableKeys] = {}

    def fields(self, section: type, data: dict[Any, object], path: Path) -> dict[str, Any]:
        """Return all fields of the section with their defaults; FAULTY for a key that is malformed or missing."""
        declared, further = declared_keys(section), further_keys(section)
        fields: dict[str, Any] = {}
        for name, key in declared.items():
            if name in data and not (key.default is UNSET and data[name] is None):
                self._examples[(*path, name)] = key.key.example
                fields[key.field] = self._value(key.type, data[name], (*path, name))
            elif key.is_required:
                fields[key.field] = self._report_missing((*path, name))
            else:
                fields[key.field] = self._default(key, (*path, name))
        others = {name: value for name, value in data.items() if name not in declared}
        if further is None:
            for name in others:
                self._report_unknown(str(name), key_names(section), path)
        else:
            place = (*path, further.first)
            if further.first in others:
                first = self._value(further.first_type, others.pop(further.first), place)
            else:
                first = self._report_missing(place)
            pairs = self._value(further.type, others, path)
            is_faulty = first is FAULTY or pairs is FAULTY
            fields[further.field] = FAULTY if is_faulty else ((further.first, first), *pairs)
        return fields

    def _default(self, key: DeclaredKey, path: Path) -> Any:
        """Return the default; a section's default is the section without keys."""
        if dataclasses.is_dataclass(key.default):
            return self._section(type(key.default), {}, path)
        return key.default

    def _report_missing(self, path: Path) -> Any:
        self._problems.add(path, "is required" if path != ("tables",) else "is required: at least one table")
        return FAULTY

    def _section(self, section: type, data: object, path: Path) -> Any:
        """Return the section, FAULTY if a malformed key spoils it.

        In a table or a top-level section, a malformed key that no other check depends on is replaced by its default.
        """
        if not isinstance(data, dict):
            return self._report_unexpected(dict, path)
        if section is NamedColumnKeys and _is_name_and_type(data):
            ((name, kind),) = data.items()
            self._problems.add(
                path,
                f"a column in a list has the keys name and type: {{name: {name}, type: {kind}}};"
                f" without the list's dash it is {name}: {kind}",
            )
            return FAULTY
        fields = self.fields(section, data, path)
        if issubclass(section, TableOptions):
            fields["given"] = frozenset(
                name for name in fields if name in data and fields[name] is not FAULTY
            )
        is_top = len(path) == 1 or (path[0] == "tables" and len(path) == 2)
        for key in declared_keys(section).values():
            if fields[key.field] is FAULTY:
                if not is_top or key.is_required or key.field in _DECISIVE:
                    return FAULTY
                fields[key.field] = self._default(key, (*path, key.name))
        if FAULTY in fields.values():
            return FAULTY
        value = section(**fields)
        if isinstance(value, TableKeys):
            self.tables[int(path[1])] = value
        return value

    def _report_unknown(self, name: str, known: list[str], path: Path) -> None:
        if path[-2:-1] == ("columns",) and _is_end_of_type(name):
            self._problems.add((*path, name), _TYPE_ENDS_HERE)
            return
        other = _OTHER_NAMES.get(name.lower(), "")
        near = other if other in known else closest(name, known)
        message = "unknown key" if near else f"unknown key; expected one of {', '.join(known)}"
        self._problems.add((*path, name), message, near)

    def _value(self, hint: Any, data: object, path: Path) -> Any:
        origin, parts = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._annotated(hint, data, path)
        if origin in (Union, UnionType):
            return self._value(_member_for(parts, data), data, path)
        if hint is NoneType:
            return None
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self._section(hint, data, path)
        if origin is Literal:
            return self._choice(parts, data, path)
        if isinstance(hint, type) and issubclass(hint, Enum):
            value = self._choice([member.value for member in hint], data, path)
            return FAULTY if value is FAULTY else hint(value)
        if origin is dict:
            pairs = self._pairs(parts, data, path)
            return FAULTY if pairs is FAULTY else dict(pairs)
        if _is_pairs(hint):
            return self._pairs(get_args(parts[0]), data, path)
        if origin is tuple:
            return self._list(parts[0], data, path)
        return self._plain(hint, data, path)

    def _annotated(self, hint: Any, data: object, path: Path) -> Any:
        forms = marks(hint, Form)
        if forms:
            try:
                value = forms[0].read(data)
            except ValueError as error:
                self._problems.add(path, str(error))
                return FAULTY
        else:
            value = self._value(get_args(hint)[0], data, path)
        if value is FAULTY or value is None:
            return value
        for bounds in marks(hint, Bounds):
            if fault := bounds.fault(value):
                self._problems.add(path, fault)
                return FAULTY
        return value

    def _choice(self, options: Sequence[str], data: object, path: Path) -> Any:
        if data in options:
            return data
        near = closest(data, options) if isinstance(data, str) else ""
        if path[-1] == "format" and data in key_names(ChangeLogKeys):
            near = f"source: {data}"
        *others, last = options
        expected = f"{', '.join(others)} or {last}" if others else f"{last}, or keys with values"
        self._problems.add(path, f"expected {expected}", near)
        return FAULTY

    def _pairs(self, types: tuple[Any, ...], data: object, path: Path) -> Any:
        if not isinstance(data, dict):
            return self._report_unexpected(dict, path)
        pairs = [
            tuple(
                self._value(hint, part, (*path, key)) for hint, part in zip(types, (key, value), strict=True)
            )
            for key, value in data.items()
        ]
        return FAULTY if any(FAULTY in pair for pair in pairs) else tuple(pairs)

    def _list(self, item_type: Any, data: object, path: Path) -> Any:
        if not isinstance(data, list):
            return self._report_unexpected(list, path)
        items = tuple(self._value(item_type, item, (*path, index)) for index, item in enumerate(data))
        return FAULTY if FAULTY in items else items

    def _plain(self, hint: type, data: object, path: Path) -> Any:
        if hint is float and isinstance(data, int | float) and not isinstance(data, bool):
            return float(data)
        if isinstance(data, hint) and (hint is bool or not isinstance(data, bool)):
            return data
        return self._report_unexpected(hint, path, is_empty=data is None)

    def _report_unexpected(self, kind: type, path: Path, *, is_empty: bool = False) -> Any:
        if kind is str and path[-2:-1] == ("columns",) and _is_end_of_type(str(path[-1])):
            self._problems.add(path, _TYPE_ENDS_HERE)
        else:
            expected = "has no value" if kind is str and is_empty else _EXPECTED[kind]
            example = self._examples.get(path, "")
            self._problems.add(
                path, f"{expected}, for example {path[-1]}: {example}" if example else expected
            )
        return FAULTY


def _is_pairs(hint: Any) -> bool:
    """Return whether values of this type are a mapping in the map and pairs in the value."""
    return get_origin(hint) is tuple and get_origin(get_args(hint)[0]) is tuple


def _member_for(members: Sequence[Any], data: object) -> Any:
    """Return the first member of a union that has the form of the data (mapping, list, scalar), otherwise the first."""
    if data is None and NoneType in members:
        return NoneType
    members = [member for member in members if member is not NoneType]
    for member in members:
        origin = get_origin(member)
        is_mapping = origin is dict or dataclasses.is_dataclass(member)
        if is_mapping == isinstance(data, dict) and (origin is tuple) == isinstance(data, list):
            return member
    return members[0]


def _is_name_and_type(data: dict[Any, object]) -> bool:
    """Return whether the data of a column in a list has the form of one in a mapping, as in `- id: bigint`."""
    known = declared_keys(NamedColumnKeys)
    return (
        len(data) == 1
        and all(isinstance(each, str) for each in data.values())
        and not known.keys() & data.keys()
    )


def _is_end_of_type(key: str) -> bool:
    """Return whether the key closes more brackets than it opens, like `2)` of an unquoted `decimal(10,2)`."""
    return key.count(")") > key.count("(") or key.count(">") > key.count("<")


@dataclass(frozen=True, slots=True)
class MapSections:
    """The well-formed sections of a map; a malformed one is None, and a malformed table is not in `tables`.

    `tables` is keyed by the index in the map. `kafka` and `kafka_clusters` hold the data as written, because their names can
    be checked even if values are malformed. `has_hive`, `has_kerberos` and `has_registry` are also true for a malformed
    section. `keys` is the whole map, None if anything is malformed.
    """

    service: str | None
    kafka: dict[str, object]
    kafka_clusters: dict[str, dict[str, object]]
    storage: StorageOptions | None
    has_hive: bool
    hive: HiveKeys | None
    has_kerberos: bool
    kerberos: KerberosOptions | None
    has_registry: bool
    registry: RegistryOptions | None
    lineage: LineageOptions | None
    spark: SparkOptions | None
    dead_letters: DeadLetterOptions | None
    mask_keys: tuple[MaskKeyFile, ...] | None
    news: tuple[NewsReceiver, ...] | None
    defaults: TableOptions | None
    tables: dict[int, TableKeys]
    keys: MapKeys | None


def read_map(data: object, problems: Problems) -> MapSections | None:
    """Read the map and add every mistake of its shape to `problems`. None if the data is not a mapping."""
    if not isinstance(data, dict):
        problems.add((), "expected keys with values: service, kafka, storage, tables")
        return None
    shape = MapShape(problems)
    fields = shape.fields(MapKeys, data, ())
    sections = {name: None if value is FAULTY else value for name, value in fields.items()}
    service, kafka, clusters = data.get("service"), data.get("kafka"), data.get("kafka_clusters")
    return MapSections(
        service=service if isinstance(service, str) else None,
        kafka=kafka if isinstance(kafka, dict) else {},
        kafka_clusters={name: options for name, options in clusters.items() if isinstance(options, dict)}
        if isinstance(clusters, dict)
        else {},
        storage=sections["storage"],
        has_hive=data.get("hive") is not None,
        hive=sections["hive"],
        has_kerberos=data.get("kerberos") is not None,
        kerberos=sections["kerberos"],
        has_registry=data.get("registry") is not None,
        registry=sections["registry"],
        lineage=sections["lineage"],
        spark=sections["spark"],
        dead_letters=sections["dead_letters"],
        mask_keys=sections["mask_keys"],
        news=sections["news"],
        defaults=sections["defaults"],
        tables=shape.tables,
        keys=None if FAULTY in fields.values() else MapKeys(**fields),
    )
