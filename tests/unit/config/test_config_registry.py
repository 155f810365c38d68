"""The map's registry and Avro options; contradictions are reported with their lines."""

import json
from pathlib import Path

import pytest

from kafka2hive.cli.render.validate import REDACTED, map_values
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid

HEAD = """\
service: flights
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "hdfs://namenode:8020"}
hive: {url: "hive://127.0.0.1:10000"}
"""
TABLE = "tables:\n  - {table: air.flights, topics: [flights], columns: {carrier: string}, format: avro}\n"
PROTO = TABLE.replace("format: avro", "format: protobuf, protobuf_schema: '%s'")
PLAIN = TABLE.replace("format: avro", "format: avro, avro_schema: '%s'")
SCHEMA = '{"type": "record", "name": "F", "fields": []}'
URL = "url: http://registry:8081"


def problems_of(text: str, **environ: str) -> list[str]:
    with pytest.raises(MapInvalid) as caught:
        load_text(text, "m", environ)
    return [problem.render("m") for problem in caught.value.problems]


def test_a_registry_has_its_addresses_and_defaults() -> None:
    url = "url: 'http://one:8081/, http://two:8081/apis/ccompat/v7'"
    registry = load_text(f"{HEAD}registry: {{{url}}}\n{TABLE}", "m", {}).registry
    assert registry is not None
    assert registry.urls == ("http://one:8081", "http://two:8081/apis/ccompat/v7")
    assert (registry.username, registry.token, registry.ca_file, registry.timeout_seconds) == (
        None,
        None,
        None,
        10.0,
    )


def test_secrets_of_the_registry_come_from_variables_and_files_and_are_never_shown(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("token-4711\n")
    for keys, wanted in (
        ('username: etl, password: "${WORD}"', ("etl", "word-4711", None)),
        (f"token: 'file:{tmp_path}/token'", (None, None, "token-4711")),
    ):
        service = load_text(f"{HEAD}registry: {{{URL}, {keys}}}\n{TABLE}", "m", {"WORD": "word-4711"})
        assert service.registry is not None
        assert (service.registry.username, service.registry.password, service.registry.token) == wanted
        assert "4711" not in repr(service) + json.dumps(map_values(service))
        assert REDACTED in json.dumps(map_values(service)["registry"])


def test_a_schema_is_in_the_map_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "flight.avsc").write_text(SCHEMA + "\n")
    for text in (SCHEMA, f"file:{tmp_path}/flight.avsc"):
        table = load_text(HEAD + PLAIN % text, "m", {}).tables[0]
        assert (table.format, table.avro_schema) == ("avro", SCHEMA)
    missing = problems_of(HEAD + PLAIN % f"file:{tmp_path}/no.avsc")
    assert missing == [
        "m:6: tables[0].avro_schema: cannot read the file that this value names: No such file or directory"
    ]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("url: registry:8081", "registry.url: expected http(s)://host:port[/path], several addresses of one registry "
         "separated by commas (did you mean http://registry:8081?)"),
        ("url: 'http://a:8081,'", "registry.url: expected http(s)://host:port[/path]"),
        ("url: 'http://a:x'", "registry.url: expected http(s)://host:port[/path]"),
        ("url: 'ftp://a:8081'", "registry.url: expected http(s)://host:port[/path]"),
        (f"url: 'http://{64 * 'a'}:8081'", "registry.url: expected http(s)://host:port[/path]"),
        ("url: 'http://a b:8081'", "registry.url: expected http(s)://host:port[/path]"),
        ("url: 'http://[::x]:8081'", "registry.url: expected http(s)://host:port[/path]"),
        ("url: 'http://u:p@a:8081'", "registry.url: the URL must not have user or password"),
        ("url: 'http://a:8081/?x'", "registry.url: a registry's URL must not have ? or #"),
        ("url: 'http://a:8081,https://b:8081'", "registry.url: all addresses must begin with http://, or all with https://"),
        (f"{URL}, username: etl", "registry.username: needs registry.password"),
        (f"{URL}, password: x", "registry.password: needs registry.username"),
        (f"{URL}, username: 'a:b', password: x", "registry.username: a user name of basic authentication must not have a colon"),
        (f"{URL}, token: t, username: u, password: p", "registry.token: excludes username and password"),
        (f'{URL}, token: "t\\nx"', "registry.token: a token must be one word of ASCII characters"),
        (f"{URL}, ca_file: /a.pem", "registry.ca_file: is used only with https://"),
        ("url: 'https://a', key_file: /a.pem", "registry.key_file: is used only with certificate_file"),
        (f"{URL}, timeout: 3", "registry.timeout: expected a duration with its unit"),
        (f"{URL}, user: x", "registry.user: unknown key (did you mean username?)"),
        ("token: t", "registry.url: is required"),
    ],
)  # fmt: skip
def test_a_wrong_registry_is_reported_with_its_line(keys: str, problem: str) -> None:
    (message,) = problems_of(f"{HEAD}registry: {{{keys}}}\n{TABLE}")
    assert message.startswith(f"m:5: {problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TABLE, "m:6: tables[0].format: format avro needs a registry section"),
        (f"defaults: {{format: avro}}\n{TABLE.replace(', format: avro', '')}", "m:5: defaults.format: format avro needs"),
        (PLAIN % "{", "m:6: tables[0].avro_schema: expected an Avro schema as JSON text, or file:/path of one"),
        (PLAIN % '"long"', "m:6: tables[0].avro_schema: expected the schema of a record"),
        (PLAIN % '{"type": "record"}', "m:6: tables[0].avro_schema: the schema of the record has no list of fields"),
        (TABLE.replace("format: avro", "avro_schema: {type: record}"), "m:6: tables[0].avro_schema: expected a string"),
        (PLAIN.replace("format: avro", "format: raw") % SCHEMA, "m:6: tables[0].avro_schema: only format avro has this key"),
        (PLAIN.replace("format: avro, ", "") % SCHEMA, "m:6: tables[0].avro_schema: only format avro has this key"),
        (f"defaults: {{avro_schema: '{SCHEMA}'}}\n{TABLE.replace(', format: avro', '')}",
         "m:5: defaults.avro_schema: only format avro has this key; the table's format is json"),
        (f"registry: {{{URL}}}\n{TABLE.replace('avro', 'json')}", "m:5: registry: no table uses it: no table has format"),
        (f"registry: {{{URL}}}\n{PLAIN % SCHEMA}", "m:5: registry: no table uses it: all tables with format avro have"),
        (PROTO % "syntax", "m:6: tables[0].protobuf_schema: expected a Protobuf schema as text, or file:/path of one"),
        (TABLE.replace("avro", "protobuf"), "m:6: tables[0].format: format protobuf needs a registry section"),
        (f"registry: {{{URL}}}\n{PROTO % 'message M {}'}", "m:5: registry: no table uses it: all tables with format protobuf"),
        (PROTO.replace("format: protobuf", "format: raw") % "message", "m:6: tables[0].protobuf_schema: only format protobuf"),
        (TABLE.replace("avro", "json, protobuf_message: a.M"), "m:6: tables[0].protobuf_message: is used only with"),
        (f"registry: {{{URL}}}\n{TABLE.replace('{carrier: string}', '{carrier: {type: string, from: x}}')}",
         "m:7: tables[0].columns.carrier.from: a path is $"),
    ],
)  # fmt: skip
def test_contradictions_between_registry_and_tables_are_reported_with_their_lines(
    text: str, problem: str
) -> None:
    problems = problems_of(HEAD + text)
    assert any(line.startswith(problem) for line in problems), problems


def test_a_table_may_turn_off_the_schema_or_the_format_of_the_defaults() -> None:
    head = f"{HEAD}registry: {{{URL}}}\ndefaults: {{format: avro, avro_schema: '{SCHEMA}'}}\n"
    tables = (
        "tables:\n  - {table: a.b, topics: [b], columns: {x: int}, avro_schema: null}\n"
        "  - {table: a.c, topics: [c], columns: {x: int}, format: json}\n"
    )
    first, second = load_text(head + tables, "m", {}).tables
    assert (first.format, first.avro_schema, second.format) == ("avro", None, "json")


@pytest.mark.parametrize(
    ("keys", "good"),
    [
        ("schema_evolution: add, ignored_fields: [ssn], subject: x", True),
        ("schema_evolution: stop, ignored_fields: [ssn]", True),
        ("ignored_fields: [ssn]", False),
        ("subject: x", False),
        (f"schema_evolution: add, subject: x, avro_schema: '{SCHEMA}'", False),
        ("schema_evolution: add, subject: x, format: json", False),
    ],
)
def test_ignored_fields_and_subjects_need_records_that_name_schemas(keys: str, good: bool) -> None:
    table = TABLE.replace("format: avro", keys if "format" in keys else f"format: avro, {keys}")
    second = "  - {table: air.other, topics: [other], columns: {a: string}, format: avro}\n"
    text = f"{HEAD}registry: {{{URL}}}\n{table}{second}"
    if good:
        assert load_text(text, "m", {}).tables[0].schema_evolution != "ignore"
    else:
        assert "is used only with schema_evolution add or stop" in problems_of(text)[0]


def test_the_framing_applies_to_values_and_keys() -> None:
    more = "format: protobuf, framing: header, protobuf_indexes: unsigned"
    (table,) = load_text(f"{HEAD}registry: {{{URL}}}\n{TABLE.replace('format: avro', more)}", "m", {}).tables
    assert (table.wire_format.framing, table.wire_format.indexes) == ("header", "unsigned")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("format: json, framing: id8", "framing: is used only with avro, protobuf or json_schema"),
        (
            f"format: avro, framing: id8, avro_schema: '{SCHEMA}'",
            "framing: is used only with avro, protobuf or",
        ),
        ("format: avro, protobuf_indexes: unsigned", "protobuf_indexes: is used only with protobuf records"),
        ("format: avro, framing: glue", "framing: glue needs schemas in the map"),
    ],
)
def test_a_framing_without_records_that_name_their_schema_is_a_mistake(table: str, message: str) -> None:
    registry = "" if "json" in table or "avro_schema" in table else f"registry: {{{URL}}}\n"
    found = problems_of(f"{HEAD}{registry}{TABLE.replace('format: avro', table)}")
    assert any(message in problem for problem in found), found
