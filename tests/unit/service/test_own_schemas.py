"""`validate` compares the map's own schemas with its columns: every wrong field and type is reported at its line."""

import json
from pathlib import Path

import pytest

from tests.harness.cli_ledger import NOBODY, invoke

AVRO = json.dumps(
    {
        "type": "record",
        "name": "F",
        "fields": [
            {"name": "carrier", "type": "string"},
            {"name": "flight", "type": ["null", "long"]},
            {
                "name": "spot",
                "type": {"type": "record", "name": "S", "fields": [{"name": "gate", "type": "int"}]},
            },
            {"name": "odd", "type": ["string", "long"]},
        ],
    }
)
PROTO = (
    'syntax = "proto3"; message F { string carrier = 1; int64 flight = 2; Spot spot = 3; map<string, int32> odd = 4; }'
    " message Spot { int32 gate = 1; }"
)
GOOD = """
      carrier: string
      number: {type: "decimal(19,0)", from: $.flight}
      gate: {type: bigint, from: $.spot.gate}
      spot: struct<gate:int>
      tenant: {type: string, header: tenant}
"""
WRONG = """
      carier: string
      flight: string
      gate: {type: int, from: $.spot.gat}
      carrier: string
      spot: {type: bigint}
"""


def validated(folder: Path, format: str, schema: str, columns: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    (folder / "schema").write_text(schema)
    path = folder / "map.yaml"
    message = "\n    protobuf_message: F" if format == "protobuf" else ""
    path.write_text(
        f'service: s\nkafka: {{bootstrap.servers: "{NOBODY}"}}\nstorage: {{uri: "{folder.as_uri()}"}}\ntables:\n'
        f"  - table: air.flights\n    topics: [t]\n    format: {format}\n    {format}_schema: file:{folder}/schema"
        f"{message}\n    columns:{columns}"
    )
    result = invoke("validate", "-c", str(path))
    return result.exit_code, result.stderr


@pytest.mark.parametrize(("format", "schema"), [("avro", AVRO), ("protobuf", PROTO)])
def test_columns_that_the_schema_fills_are_fine(tmp_path: Path, format: str, schema: str) -> None:
    assert validated(tmp_path, format, schema, GOOD)[0] == 0


@pytest.mark.parametrize(("format", "schema"), [("avro", AVRO), ("protobuf", PROTO)])
def test_every_wrong_field_and_type_is_told_at_its_line(tmp_path: Path, format: str, schema: str) -> None:
    code, told = validated(tmp_path, format, schema, WRONG)
    assert code == 78 and "4 mistakes" in told
    first = 10 if format == "avro" else 11
    for line, column, message in (
        (first, "carier", "the schema has no field $.carier, it has carrier"),
        (first + 1, "flight", "does not fill string"),
        (first + 2, "gate", "the schema has no field $.spot.gat, it has gate"),
        (first + 4, "spot", "does not fill bigint"),
    ):
        (said,) = [
            text for text in told.splitlines() if f"map.yaml:{line}: tables[0].columns.{column}: " in text
        ]
        assert message in said


def test_columns_in_a_list_are_told_by_their_place(tmp_path: Path) -> None:
    columns = "\n      - {name: carrier, type: string}\n      - {name: nope, type: int}\n"
    assert (
        "map.yaml:11: tables[0].columns[1]: the schema has no field $.nope"
        in validated(tmp_path, "avro", AVRO, columns)[1]
    )


@pytest.mark.parametrize(
    ("format", "schema", "why"),
    [
        ("avro", AVRO.replace('"int"', '"whole"'), "whole"),
        ("protobuf", PROTO.replace("int32 gate", "whole gate"), "whole"),
        ("protobuf", PROTO.replace("message F", "message G"), "the schema has no message F"),
    ],
)
def test_a_schema_that_is_none_is_told_at_its_line(
    tmp_path: Path, format: str, schema: str, why: str
) -> None:
    code, told = validated(tmp_path, format, schema, GOOD)
    assert code == 78 and why in told and f"map.yaml:8: tables[0].{format}_schema: " in told
