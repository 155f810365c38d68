"""`schemas` and the framings of other serializers in the map: what they need, and their contradictions."""

from pathlib import Path

import pytest

from kafka2hive.config.load import load_text
from tests.harness.cli_ledger import invoke
from tests.unit.config.test_config_registry import HEAD, SCHEMA, TABLE, URL, problems_of

GUID = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"


def table(keys: str) -> str:
    return TABLE.replace("format: avro", keys)


@pytest.mark.parametrize(
    ("framing", "key"),
    [
        ("single_object", "any name"),
        ("glue", GUID),
        ("azure", GUID.replace("-", "")),
        ("apicurio_global", "7"),
        ("apicurio_content", "7"),
        ("cloudera", "7"),
        ("cloudera", "7:2"),
        ("id4", "7"),
        ("id8", "7"),
        ("header", "7"),
        ("header", GUID),
    ],
)
def test_schemas_by_id_need_no_registry(framing: str, key: str) -> None:
    text = HEAD + table(f"format: avro, framing: {framing}, schemas: {{'{key}': '{SCHEMA}'}}")
    (rule,) = load_text(text, "m", {}).tables
    assert (rule.framing, rule.schemas) == (framing, ((key, SCHEMA),))


def test_a_schema_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "flight.avsc").write_text(SCHEMA + "\n")
    text = HEAD + table(
        f"format: avro, framing: single_object, schemas: {{a: 'file:{tmp_path}/flight.avsc'}}"
    )
    assert load_text(text, "m", {}).tables[0].schemas == (("a", SCHEMA),)


@pytest.mark.parametrize("framing", ["apicurio_global", "apicurio_content", "cloudera"])
def test_ids_that_a_registry_serves_need_no_schemas(framing: str) -> None:
    text = f"{HEAD}registry: {{{URL}}}\n{table(f'format: avro, framing: {framing}')}"
    assert load_text(text, "m", {}).tables[0].schemas == ()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("format: avro, framing: glue", "framing: glue needs schemas in the map: no registry is asked"),
        ("format: avro, framing: single_object", "single_object needs schemas in the map"),
        ("format: avro, framing: azure", "azure needs schemas in the map"),
        ("format: protobuf, framing: glue", "glue is used only with format avro or json_schema"),
        ("format: json_schema, framing: azure", "azure is used only with format avro; it is json_schema"),
        (f"format: json, schemas: {{'7': '{SCHEMA}'}}", "schemas: is used only with format avro"),
        (
            f"format: avro, avro_schema: '{SCHEMA}', schemas: {{'7': '{SCHEMA}'}}",
            "the table has avro_schema, the one of all records",
        ),
        (f"format: avro, schemas: {{a: '{SCHEMA}'}}", "is no id of framing: id4: expected the number"),
        (
            f"format: avro, framing: glue, schemas: {{'7': '{SCHEMA}'}}",
            "is no id of framing: glue: badly formed",
        ),
        ("format: avro, schemas: {'7': '{'}", "schemas.7: expected an Avro schema as JSON text"),
        (
            f"format: avro, framing: cloudera, key_format: avro, schemas: {{'7': '{SCHEMA}'}}",
            "cloudera is for values; keys in avro are not read with it",
        ),
        (
            f"format: avro, schemas: {{'7': '{SCHEMA}'}}, schema_evolution: add, subject: x",
            "is used only with schema_evolution add or stop",
        ),
    ],
)
def test_contradictions_are_reported(keys: str, message: str) -> None:
    columns = (
        "{carrier: string, k: {type: string, key: $.k}}" if "key_format" in keys else "{carrier: string}"
    )
    needs = any(f"format: {name}" in keys for name in ("protobuf", "avro,")) and "schemas" not in keys
    registry = f"registry: {{{URL}}}\n" if needs or "key_format" in keys else ""
    found = problems_of(HEAD + registry + table(keys).replace("{carrier: string}", columns))
    assert any(message in problem for problem in found), found


def test_a_registry_that_only_such_tables_could_use_is_reported() -> None:
    (problem,) = problems_of(
        f"{HEAD}registry: {{{URL}}}\n{table(f'''format: avro, schemas: {{'7': '{SCHEMA}'}}''')}"
    )
    assert "registry: no table uses it" in problem


def test_validate_finds_columns_that_no_schema_fills_and_schemas_with_one_fingerprint(tmp_path: Path) -> None:
    one = '{"type":"record","name":"F","fields":[{"name":"carrier","type":"string"}]}'
    two = one.replace("carrier", "tail")
    same = one.replace('"fields"', '"doc":"x","fields"')
    path = tmp_path / "map.yaml"
    keys = "format: avro, framing: single_object, schemas: {{a: '{}', b: '{}'}}"
    for first, second, columns, told in (
        (one, two, "{carrier: string, tail: string}", ""),
        (one, two, "{carrier: string, gate: string}", "the schema has no field $.gate"),
        (one, two, "{carrier: bigint, tail: string}", "string does not fill bigint"),
        (one, same, "{carrier: string}", "schemas.b and schemas.a have the same id"),
        (
            one,
            '{"type":"record","name":"G","fields":[{"name":"x","type":"y"}]}',
            "{carrier: string}",
            "type y",
        ),
    ):
        text = table(keys.format(first, second)).replace("{carrier: string}", columns)
        path.write_text(HEAD + text)
        result = invoke("validate", "-c", str(path))
        assert told in result.stderr if told else result.exit_code == 0, result.stderr
