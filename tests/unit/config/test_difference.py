"""What a reload would change: the difference of two maps by table and key, and the decision for each key."""

from kafka2hive.config.difference import ChangedTable, MapDifference, decisions, difference
from kafka2hive.config.json_schema import json_schema
from kafka2hive.config.load import load_text

HEAD = """\
service: demo
kafka: {bootstrap.servers: "127.0.0.1:9092", sasl.password: secret}
storage: {uri: "file:///w"}
"""
TABLES = """\
defaults: {format: raw}
tables:
  - {table: air.a, topics: [a]}
  - {table: air.b, topics: [b], flush: {interval: 1m}}
"""


def differs(before: str, after: str) -> MapDifference:
    return difference(load_text(before, "m.yaml", {}), load_text(after, "m.yaml", {}), after)


def test_equal_values_differ_in_nothing_wherever_they_stand() -> None:
    moved = "# a comment\n" + HEAD.replace("file:///w", "file:///w/") + TABLES
    assert differs(HEAD + TABLES, moved).is_empty


def test_added_changed_and_removed_tables_are_told_apart() -> None:
    after = TABLES.replace("table: air.a, topics: [a]", "table: air.c, topics: [a]")
    after = after.replace("interval: 1m", "interval: 2m, bytes: 1MiB")
    assert differs(HEAD + TABLES, HEAD + after) == MapDifference(
        added=("air.c",),
        changed=(ChangedTable("air.b", ("flush.interval", "flush.bytes", "flush.min_bytes")),),
        removed=("air.a",),
    )


def test_a_default_changes_the_tables_that_do_not_set_it() -> None:
    after = TABLES.replace("format: raw", "format: raw, start: earliest, flush: {interval: 2m}")
    changed = differs(HEAD + TABLES, HEAD + after).changed
    assert changed == (ChangedTable("air.a", ("start", "flush.interval")), ChangedTable("air.b", ("start",)))


def test_changed_columns_are_named() -> None:
    before = HEAD + "tables: [{table: air.a, topics: [a], columns: {x: int, y: int}}]"
    after = HEAD + "tables: [{table: air.a, topics: [a], columns: {x: bigint, y: int, z: int}}]"
    assert differs(before, after).changed == (ChangedTable("air.a", ("columns.x", "columns.z")),)
    swapped = HEAD + "tables: [{table: air.a, topics: [a], columns: {y: int, x: int}}]"
    assert differs(before, swapped).changed == (ChangedTable("air.a", ("columns",)),)


def test_patterns_for_tables_of_one_name_are_told_apart_by_their_order() -> None:
    both = "tables: [{table: 'r.{1}', pattern: 'a_(.*)'}, {table: 'r.{1}', pattern: 'b_(.*)'}]"
    before = HEAD + "defaults: {format: raw}\n" + both
    assert differs(before, before.replace("a_(.*)", "c_(.*)")).changed == (
        ChangedTable("r.{1}", ("pattern",)),
    )


def test_a_key_that_needs_a_restart_has_its_line_and_the_reason() -> None:
    after = HEAD.replace("secret", "other") + "trigger: 3s\nlimits: {epoch_records: 7, file_bytes: 1MiB}\n"
    found = differs(HEAD + TABLES, after + TABLES)
    assert found.keys == ("limits.epoch_records",)
    assert [(each.line, each.where) for each in found.restart] == [
        (2, "kafka.sasl.password"),
        (4, "trigger"),
        (5, "limits.file_bytes"),
    ]
    assert all(each.message.startswith("needs a restart: ") for each in found.restart)
    assert "other" not in repr(found) and "secret" not in repr(found)


def test_another_first_table_may_change_the_name_of_the_dead_letter_table() -> None:
    after = TABLES.replace("table: air.a", "table: sea.a")
    letters = differs(HEAD + TABLES, HEAD + after).restart
    assert [each.where for each in letters] == ["dead_letters.location", "dead_letters.table"]
    assert all("follows from the first table" in each.message for each in letters)


def test_every_key_of_the_map_has_a_decision() -> None:
    """`decisions` raises an error for a key without one; no top-level key is left out."""
    assert {path[0] for path in decisions()} == json_schema()["properties"].keys()
    assert "" in decisions().values() and any(decisions().values())
