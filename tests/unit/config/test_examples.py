"""Errors of the map show an example for the very key: each list and mapping has one, and each is right."""

import dataclasses
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest

from kafka2hive.config.keys.declaration import DeclaredKey, Form, declared_keys, marks
from kafka2hive.config.keys.service import MapKeys
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.document import read_document
from kafka2hive.config.yaml.problems import MapInvalid, Problems
from kafka2hive.config.yaml.shape import MapShape

SMALL = """
service: web
kafka: {bootstrap.servers: "broker:9092"}
storage: {uri: "hdfs://namenode:8020"}
tables:
  - table: web.clicks
    topics: [clicks]
    columns: {id: bigint}
"""


def parts_of(hint: Any) -> Iterator[Any]:
    """The lists, mappings and sections that a key's value may be."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from () if marks(hint, Form) else parts_of(parts[0])
    elif origin in (Union, UnionType):
        for part in parts:
            yield from parts_of(part)
    elif origin in (tuple, dict) or (isinstance(hint, type) and dataclasses.is_dataclass(hint)):
        yield hint


def all_keys(section: type, seen: set[type]) -> Iterator[tuple[type, DeclaredKey]]:
    """All keys whose values are lists or mappings, each with its section."""
    if section in seen:
        return
    seen.add(section)
    for key in declared_keys(section).values():
        parts = list(parts_of(key.type))
        if parts:
            yield section, key
        for part in parts:
            for inner in (part, *get_args(part)):
                if isinstance(inner, type) and dataclasses.is_dataclass(inner):
                    yield from all_keys(inner, seen)


KEYS = list(all_keys(MapKeys, set()))


@pytest.mark.parametrize(
    ("section", "key"), KEYS, ids=[f"{section.__name__}.{key.name}" for section, key in KEYS]
)
def test_a_list_or_mapping_has_an_example_that_is_read_without_a_mistake(
    section: type, key: DeclaredKey
) -> None:
    assert key.key.example, f"add an example to the key {key.name}"
    problems = Problems()
    data = read_document(f"{key.name}: {key.key.example}", problems)
    assert isinstance(data, dict)
    MapShape(problems).fields(section, data, ())
    assert [each for each in problems.all() if not each.message.startswith("is required")] == []


def problems_of(text: str) -> str:
    with pytest.raises(MapInvalid) as error:
        load_text(text, "map.yaml", {})
    return error.value.message


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("    topics: clicks", "tables[0].topics: expected a list, for example topics: [clicks, views]"),
        ("    bucket: at", "expected keys with values, for example bucket: {field: created_at"),
        ("    completion: true", "expected keys with values, for example completion: {delay: 1h}"),
        (
            "    columns:\n      - id: bigint",
            "{name: id, type: bigint}; without the list's dash it is id: bigint",
        ),
        ("    partitioned_by: [dt]", "partitioned_by: unknown key (did you mean bucket?)"),
        ("    partition: dt", "partition: unknown key (did you mean bucket?)"),
        ("    format: debezium", "(did you mean source: debezium?)"),
        ("kafka: {bootstrap.servers: a, sasl.mechanism: PLIAN}", "(did you mean PLAIN?)"),
        ("kafka: {bootstrap.servers: a, broker.address.family: v5}", "expected any, v4, v6"),
        ("kafka: {bootstrap.servers: a, socket.timeout.ms: 1}", "expected a number from 10 to 300000"),
        ("kafka: {bootstrap.servers: a, socket.keepalive.enable: maybe}", "expected true or false"),
        ('storage: {uri: "s3a://bucket/x"}', "by an atomic rename, which s3a:// does not have"),
    ],
)
def test_a_common_mistake_is_answered_with_what_to_write(line: str, shown: str) -> None:
    key = line.split(":")[0]
    lines = [each for each in SMALL.splitlines() if not each.startswith(f"{key}:")]
    text = "\n".join([*lines, line] if line.startswith(" ") else [line, *lines])
    assert shown in problems_of(
        text.replace("    columns: {id: bigint}\n", "") if key.strip() == "columns" else text
    )
