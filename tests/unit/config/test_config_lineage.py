"""The map's lineage server; mistakes are reported with their lines, and its token is never shown."""

import json

import pytest

from kafka2hive.cli.render.validate import REDACTED, map_values
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.lineage.reporter import hive_namespace

MAP = """\
service: flights
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "hdfs://namenode:8020"}
lineage: {%s}
tables: [{table: air.flights, topics: [flights], columns: {carrier: string}}]
"""
URL = "url: http://lineage:5000"


def test_without_the_section_no_events_are_sent() -> None:
    assert load_text(MAP.replace("lineage: {%s}\n", ""), "m", {}).lineage is None


def test_the_token_comes_from_a_variable_and_is_never_shown() -> None:
    service = load_text(MAP % f'{URL}, token: "${{WORD}}"', "m", {"WORD": "word-4711"})
    assert service.lineage is not None and service.lineage.token == "word-4711"
    assert "word-4711" in service.secrets
    shown = json.dumps(map_values(service)["lineage"])
    assert "4711" not in repr(service) + shown and REDACTED in shown


def test_tables_are_named_by_the_metastore_by_hiveserver2_or_by_their_directory() -> None:
    hive = 'hive: {url: "hive://hs2"}\n'
    for text, wanted in (
        (MAP % f"{URL}, hive_namespace: hive://metastore:9083", "hive://metastore:9083"),
        (hive + MAP % URL, "hive://hs2:10000"),
        (MAP % URL, None),
    ):
        service = load_text(text, "m", {})
        assert service.lineage is not None
        assert hive_namespace(service, service.lineage) == wanted


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("url: lineage:5000", "url: expected http(s)://host:port[/path], without user, ? or # (did you mean http://lineage:5000?)"),
        ("url: 'http://u:p@lineage'", "url: expected http(s)://host:port[/path], without user, ? or #"),
        ("url: 'http://lineage/?a'", "url: expected http(s)://host:port[/path], without user, ? or #"),
        ("url: 'http://lineage:x'", "url: expected http(s)://host:port[/path], without user, ? or #"),
        ("url: 'ftp://lineage'", "url: expected http(s)://host:port[/path], without user, ? or #"),
        (f"{URL}, ca_file: /a.pem", "ca_file: is used only with https://"),
        (f"{URL}, token: 'a b'", "token: a token must be one word of ASCII characters"),
        (f"{URL}, hive_namespace: 'metastore:9083'", "hive_namespace: expected hive://host:port, without a path"),
        (f"{URL}, hive_namespace: 'hive://m:9083/db'", "hive_namespace: expected hive://host:port, without a path"),
        ("token: x", "url: is required"),
        (f"{URL}, name: x", "name: unknown key (did you mean namespace?)"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_line(keys: str, problem: str) -> None:
    with pytest.raises(MapInvalid) as caught:
        load_text(MAP % keys, "m", {})
    assert [found.render("m") for found in caught.value.problems] == [f"m:4: lineage.{problem}"]
