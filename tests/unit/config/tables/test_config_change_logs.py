"""Change logs in the map: their columns and contradictions."""

import pytest

from kafka2hive.config.keys import StartKind
from kafka2hive.config.keys.source import (
    CanalKeys,
    ChangeLog,
    FlatRows,
    canal_keys,
    change_log_of,
    decimal_encoding,
    flat_rows,
    marks_unavailable,
    placeholder_bytes,
    placeholder_of,
)
from tests.harness.map_text import FILMS, HEAD, films, problems_of

COLUMNS = "    columns: {id: bigint, name: string}\n"
ADDED = [("__op", "string"), ("__ts_ms", "bigint"), ("__source_position", "string")]


@pytest.mark.parametrize(
    "source", ["debezium", "maxwell", "canal", "{debezium: {}}", "{maxwell: {}}", "{canal: {}}"]
)
def test_an_unpacked_change_log_has_columns_of_the_change_and_begins_at_the_earliest_offset(
    source: str,
) -> None:
    table = films(f"    source: {source}\n{COLUMNS}    bucket: {{field: __ts_ms, unit: ms}}\n")
    assert [(c.name, c.type) for c in table.columns] == [("id", "bigint"), ("name", "string"), *ADDED]
    assert change_log_of(table.source) is ChangeLog(source.strip("{}").partition(":")[0])
    assert (table.start.kind, table.bucketing.field) == (StartKind.EARLIEST, "__ts_ms")


def test_the_row_before_a_change_is_a_struct_of_the_columns() -> None:
    table = films(f"    source: {{debezium: {{before: true}}}}\n{COLUMNS}")
    assert (table.columns[-1].name, table.columns[-1].type) == ("__before", "struct<id:bigint,name:string>")


def test_a_map_that_marks_values_that_are_not_there_gets_a_column_for_their_names() -> None:
    source = "{debezium: {before: true, unavailable: mark, placeholder: 'hex:5f5f'}}"
    table = films(f"    source: {source}\n{COLUMNS}")
    assert [column.name for column in table.columns[-2:]] == ["__before", "__unavailable"]
    assert table.columns[-1].type == "array<string>"
    assert marks_unavailable(table.source) and placeholder_of(table.source) == "hex:5f5f"
    assert placeholder_bytes("hex:5f5F") == b"__" == placeholder_bytes("__")
    plain = films(f"    source: debezium\n{COLUMNS}")
    assert not marks_unavailable(plain.source) and plain.columns[-1].name == "__source_position"


def test_decimals_follow_the_record_unless_the_map_sets_their_encoding() -> None:
    lines = "    source: {debezium: {before: true, decimals: base64}}\n    columns: {total: 'decimal(5,2)'}\n"
    assert decimal_encoding(films(lines).source) == "base64"
    assert decimal_encoding(films(lines.replace("base64", "text")).source) == "text"
    assert decimal_encoding(films(f"    source: debezium\n{COLUMNS}").source) is None
    assert decimal_encoding(films(f"    source: {{debezium: {{}}}}\n{COLUMNS}").source) is None


def test_a_change_log_that_is_not_unpacked_has_only_the_maps_columns() -> None:
    table = films(f"    source: binlog\n{COLUMNS}")
    assert [c.name for c in table.columns] == ["id", "name"]
    assert change_log_of(table.source) is None


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("    source: {}\n" + COLUMNS, "exactly one of debezium, maxwell and canal"),
        ("    source: {debezium: {}, maxwell: {}}\n" + COLUMNS, "exactly one of debezium, maxwell and canal"),
        ("    source: {canal: {}, maxwell: {}}\n" + COLUMNS, "exactly one of debezium, maxwell and canal"),
        (
            "    source: {debezium: {decimals: base64}}\n    columns: {id: 'array<decimal(5,2)>'}\n",
            "a decimal must be a column; id is array<decimal(5,2)>",
        ),
        (
            "    source: debezium\n    columns: {id: 'array<decimal(5,2)>'}\n",
            "id is array<decimal(5,2)>: set the encoding of its decimals",
        ),
        (
            "    source: {debezium: {decimals: base64}}\n    format: avro\n" + COLUMNS,
            "decimals: base64 applies only to JSON",
        ),
        ("    source: {debezium: {decimals: precise}}\n" + COLUMNS, "base64"),
        ("    source: canal\n    format: json_schema\n" + COLUMNS, "plain JSON: write format: json"),
        ("    source: canal\n    columns: {id: 'array<int>'}\n", "canal writes every value as text"),
        ("    source: canal\n    columns: {id: binary}\n", "source: {canal: {binary: latin1}}"),
        (
            "    source: {canal: {binary: latin1}}\n    columns: {id: 'array<binary>'}\n",
            "canal writes every value as text",
        ),
        ("    source: {canal: {binary: utf8}}\n" + COLUMNS, "refuse or latin1"),
        ("    source: canal\n    columns: {id: {type: int, from: $.a.b}}\n", "a row of canal is flat"),
        (
            "    source: debezium\n    format: raw\n",
            "format raw has no fields to unpack the envelope of debezium from",
        ),
        ("    source: {maxwell: {placeholder: x}}\n" + COLUMNS, "placeholder"),
        ("    source: {canal: {unavailable: mark}}\n" + COLUMNS, "unavailable"),
        ("    source: {debezium: {unavailable: nothing}}\n" + COLUMNS, "dead_letter"),
        ("    source: {debezium: {placeholder: ''}}\n" + COLUMNS, "placeholder"),
        ("    source: {debezium: {placeholder: 'hex:5'}}\n" + COLUMNS, "two hexadecimal digits"),
        ("    source: {debezium: {placeholder: 'hex:'}}\n" + COLUMNS, "two hexadecimal digits"),
        (
            "    source: {debezium: {unavailable: mark}}\n    columns: {id: bigint, __unavailable: string}\n",
            "is repeated",
        ),
        ("    source: debezim\n" + COLUMNS, "debezium"),
        ("    source: {debezium: {befor: true}}\n" + COLUMNS, "before"),
        ("    source: debezium\n    columns: {id: bigint, __op: string}\n", "is repeated"),
        ("    source: {debezium: {form: flat, before: true}}\n" + COLUMNS, "lack the row before the change"),
        ("    source: {debezium: {position: true}}\n" + COLUMNS, "is used only with form: flat"),
        (
            "    source: {debezium: {form: flat}}\n    schema_evolution: add\n" + COLUMNS,
            "has fields of the change among those of the row",
        ),
        (
            "    source: {debezium: {form: flat, position: true}}\n    tombstones: write\n"
            "    bucket: {time: record}\n" + COLUMNS,
            "a tombstone has no position",
        ),
        ("    source: {debezium: {form: plain}}\n" + COLUMNS, "envelope or flat"),
        (
            "    source: {debezium: {before: true}}\n    columns: {id: {type: bigint, from: $.x}}\n",
            "which therefore must not have from, unit, fraction",
        ),
    ],
)
def test_contradictions_are_reported(lines: str, message: str) -> None:
    text = "\n".join(map(str, problems_of(FILMS + lines)))
    assert message in text


def test_blobs_of_canal_fill_columns_of_binary_if_the_map_says_so() -> None:
    table = films(
        "    source: {canal: {binary: latin1, position: true}}\n    columns: {id: bigint, b: binary}\n"
    )
    assert canal_keys(table.source) == CanalKeys(binary="latin1", position=True)
    assert canal_keys("canal") == canal_keys("debezium") == CanalKeys()


def test_flat_rows_have_the_columns_of_envelopes() -> None:
    plain, with_position = (
        films(f"    source: {{debezium: {{form: flat{more}}}}}\n{COLUMNS}")
        for more in ("", ", position: true")
    )
    assert [(c.name, c.type) for c in plain.columns] == [("id", "bigint"), ("name", "string"), *ADDED]
    assert (flat_rows(plain.source), flat_rows(with_position.source)) == (FlatRows(False), FlatRows(True))
    assert flat_rows("debezium") is None and change_log_of(plain.source) is ChangeLog.DEBEZIUM


@pytest.mark.parametrize("key", ["$.id", None])
def test_a_view_that_tombstones_delete_from_takes_its_key_from_the_records_key(key: str | None) -> None:
    source = "    source: {debezium: {form: flat}}\n    tombstones: write\n    bucket: {time: record}\n"
    columns = f"    columns: {{id: {{type: bigint, {'key' if key else 'from'}: $.id}}, name: string}}\n"
    key_format = "    key_format: json\n" if key else ""
    lines = f"{source}{columns}{key_format}{PLACES}    latest: {{key: [ID]}}\n"
    if key:
        assert films(lines).latest is not None
    else:
        (problem,) = problems_of(HEAD + FILMS + lines)
        assert "a tombstone says only in its key which row is deleted: take id from there" in problem


PLACES = "    metadata: [partition, offset]\n"
LATEST = f"    source: debezium\n{COLUMNS}{PLACES}"


def test_the_view_of_newest_states_orders_by_the_position_unless_the_map_says_otherwise() -> None:
    table = films(f"{LATEST}    latest: {{key: [id]}}\n")
    assert table.latest is not None
    assert (table.latest.key, table.latest.order) == (("id",), "__source_position")
    other = films(f"{LATEST}    latest: {{key: [id, name], order: __ts_ms}}\n").latest
    assert other is not None and (other.key, other.order) == (("id", "name"), "__ts_ms")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (f"{COLUMNS}{PLACES}    latest: {{key: [id]}}\n", "is for tables with source: debezium"),
        (f"    source: binlog\n{COLUMNS}{PLACES}    latest: {{key: [id]}}\n", "whose rows have __op"),
        (
            f"{LATEST}    sql: SELECT id, name, __op, __ts_ms, __source_position FROM records\n    latest: {{key: [id]}}\n",
            "is not for tables with sql",
        ),
        (f"{LATEST}    latest: {{key: []}}\n", "key"),
        (f"{LATEST}    latest: {{order: id}}\n", "key"),
        (f"{LATEST}    latest: {{key: [nme]}}\n", "the table has no column nme"),
        (f"{LATEST}    latest: {{key: [id], order: __ts}}\n", "the table has no column __ts"),
        (
            f"    source: debezium\n{COLUMNS}    latest: {{key: [id]}}\n",
            "add partition, offset to metadata",
        ),
        (
            f"    source: canal\n{COLUMNS}{PLACES}    latest: {{key: [id]}}\n",
            "add ordinal to metadata",
        ),
    ],
)
def test_a_view_that_cannot_be_right_is_reported(lines: str, message: str) -> None:
    assert message in "\n".join(map(str, problems_of(HEAD + FILMS + lines)))


@pytest.mark.parametrize("source", ["topics: [films, more_films]", "pattern: films.*"])
def test_a_view_of_several_topics_is_reported(source: str) -> None:
    films_of = FILMS.replace("topics: [films]", source)
    assert films_of != FILMS
    text = "\n".join(map(str, problems_of(f"{HEAD}{films_of}{LATEST}    latest: {{key: [id]}}\n")))
    assert "latest: compares offsets, so the table must read only one topic" in text


def test_a_view_needs_a_hive_section() -> None:
    head = "".join(line for line in HEAD.splitlines(keepends=True) if not line.startswith("hive"))
    problems = problems_of(f"{head}{FILMS}{LATEST}    latest: {{key: [id]}}\n")
    assert "the map needs a hive section" in "\n".join(problems)
