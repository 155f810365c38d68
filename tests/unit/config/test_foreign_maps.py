"""Checking a map from somebody else loads no code and shows no file or secret of the user who checks it."""

import json
from pathlib import Path

import pytest

from kafka2hive.cli.render.validate import map_values
from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid

FILE_TEXT = "root:x:0:0:only-mine-4711"
TABLE = "{table: a.b, topics: [t], columns: {c: string}}"


def map_of(kafka: str = "", table: str = TABLE) -> str:
    return (
        f'service: s\nkafka: {{bootstrap.servers: "h:1"{kafka}}}\nstorage: {{uri: "file:///x"}}\n'
        f"tables:\n  - {table}\n"
    )


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    path.write_text(FILE_TEXT)
    return path


@pytest.mark.parametrize("name", ["plugin.library.paths", "ssl.engine.location"])
def test_a_property_that_loads_code_is_refused_and_nothing_is_loaded(name: str, tmp_path: Path) -> None:
    library = tmp_path / "evil.so"
    library.write_text("no library: loading it is an error of its own")
    with pytest.raises(MapInvalid) as raised:
        load_text(map_of(f', {name}: "{library}"'), "m", {})
    assert "loads foreign code" in str(raised.value)


@pytest.mark.parametrize("name", ["client.id", "client.rack", "group.id", "sasl.password", "ssl.ca.pem"])
def test_no_file_that_a_property_names_is_shown(name: str, mine: Path) -> None:
    service: ServiceMap = load_text(map_of(f', {name}: "file:{mine}"'), "m", {})
    assert "4711" not in json.dumps(map_values(service))


@pytest.mark.parametrize(
    "table",
    [
        "{{table: a.b, topics: [t], format: avro, avro_schema: 'file:{mine}', columns: {{c: string}}}}",
        "{{table: a.b, topics: [t], format: protobuf, protobuf_schema: 'file:{mine}', columns: {{c: string}}}}",
        "{{table: a.b, topics: [t], columns: {{c: 'file:{mine}'}}}}",
        "{{table: a.b, topics: ['file:{mine}'], columns: {{c: string}}}}",
        "{{table: a.b, topics: [t], location: 'file:{mine}', columns: {{c: string}}}}",
    ],
)
def test_no_file_that_a_table_names_is_shown(table: str, mine: Path) -> None:
    text = map_of(table=table.format(mine=mine))
    try:
        message = json.dumps(map_values(load_text(text, "m", {})), default=str)
    except MapInvalid as error:
        message = str(error)
    assert "4711" not in message


def test_a_variable_is_part_of_a_value_and_never_read_as_yaml() -> None:
    hostile = "x}\nkafka: {bootstrap.servers: 'evil:1'}"
    service = load_text(map_of(', client.rack: "${V}"'), "m", {"V": hostile})
    kafka = dict(service.kafka.properties)
    assert kafka["client.rack"] == hostile and kafka["bootstrap.servers"] == "h:1"
