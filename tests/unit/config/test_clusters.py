"""The map's `kafka_clusters`, and the tables that name one."""

from kafka2hive.cli.render.validate import map_values
from kafka2hive.config.load import load_text
from kafka2hive.config.route import route
from tests.harness.map_text import HEAD, problems_of

EAST = "kafka_clusters:\n  east: {bootstrap.servers: 'e:9092', sasl.password: 's3cr3t'}\n"
TABLES = """\
tables:
  - {table: a.west, topics: [orders], columns: {a: int}}
  - {table: a.east, kafka: east, topics: [orders], start: {offsets: {orders: {0: 5}}}, columns: {a: int}}
"""


def test_topics_are_named_with_their_cluster_and_secrets_are_hidden() -> None:
    loaded = load_text(HEAD + EAST + TABLES, "map.yaml", {})
    west, east = loaded.tables
    assert west.topics == ("orders",) and east.topics == ("east/orders",)
    assert east.start.offsets == (("east/orders", 0, 5),)
    assert loaded.clusters["east"].group == loaded.kafka.group == "kafka2hive-flights"
    assert "s3cr3t" in loaded.secrets
    assert "s3cr3t" not in str(map_values(loaded)) + repr(loaded)


def test_a_pattern_matches_topics_of_its_cluster_only() -> None:
    tables = "tables:\n  - {table: 'a.{1}', kafka: east, pattern: 'shop_(.*)', columns: {a: int}}\n"
    rules = load_text(HEAD + EAST + tables, "map.yaml", {}).tables
    routed = route(rules, ["shop_a", "east/shop_b", "west/shop_c"]).tables
    assert {name: table.topics for name, table in routed.items()} == {"a.b": ("east/shop_b",)}


def test_an_unknown_cluster_is_refused_at_its_table() -> None:
    (problem,) = problems_of(
        HEAD + EAST + TABLES + "  - {table: a.b, kafka: eats, topics: [b], columns: {a: int}}\n"
    )
    assert "tables[2].kafka" in problem and "no cluster eats" in problem and "east" in problem


def test_a_cluster_without_tables_is_refused() -> None:
    (problem,) = problems_of(HEAD + EAST + TABLES.replace("kafka: east, ", ""))
    assert "kafka_clusters.east" in problem and "no table reads this cluster" in problem


def test_two_kerberos_principals_are_refused() -> None:
    gssapi = "security.protocol: SASL_PLAINTEXT, sasl.mechanism: GSSAPI, sasl.kerberos.keytab: /k"
    head = HEAD.replace("kafka: {", f"kafka: {{{gssapi}, sasl.kerberos.principal: a@R, ")
    clusters = (
        f"kafka_clusters:\n  east: {{bootstrap.servers: 'e:9092', {gssapi}, sasl.kerberos.principal: b@R}}\n"
    )
    assert any("share a ticket cache" in problem for problem in problems_of(head + clusters + TABLES))
    same = clusters.replace("b@R", "a@R")
    assert not any("share a ticket cache" in p for p in problems_of(head + same + TABLES + "x: 1\n"))
