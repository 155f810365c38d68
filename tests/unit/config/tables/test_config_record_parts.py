"""Columns of headers and keys in the map, and their contradictions."""

import pytest

from kafka2hive.config.keys import Column, RecordPart
from kafka2hive.config.keys.leeway import PLAIN_WORDS, BooleanWords, NumberMarks
from kafka2hive.config.keys.source import Tombstones
from kafka2hive.config.load import load_text
from tests.harness.map_text import FILMS, HEAD, films, problems_of

REGISTRY = "registry: {url: 'http://registry:8081'}\n"


def test_a_column_is_taken_from_a_header_from_the_key_or_from_the_value() -> None:
    lines = (
        "    key_format: json\n    columns:\n      n: bigint\n      tenant: {type: string, header: tenant-id}\n"
        "      sent: {type: timestamp, header: $sent, unit: ms}\n      id: {type: bigint, key: $.a.id}\n"
    )
    assert films(lines).columns == (
        Column("n", "bigint"),
        Column("tenant", "string", ("tenant-id",), None, RecordPart.HEADER),
        Column("sent", "timestamp", ("$sent",), "ms", RecordPart.HEADER),
        Column("id", "bigint", ("a", "id"), None, RecordPart.KEY),
    )


def test_a_raw_key_is_one_column_next_to_a_raw_value() -> None:
    lines = "    format: raw\n    columns: {line: string, k: {type: bigint, key: $}}\n"
    assert films(lines).columns == (
        Column("line", "string"),
        Column("k", "bigint", (), None, RecordPart.KEY),
    )


@pytest.mark.parametrize(
    "bucket", ["{path: 't={tenant}'}", "{field: sent}", "{path: 't={tenant}/d=%Y', field: sent}"]
)
def test_the_bucket_of_a_tombstone_may_come_from_headers_and_key(bucket: str) -> None:
    lines = (
        f"    tombstones: write\n    bucket: {bucket}\n    key_format: json\n    columns:\n      n: bigint\n"
        "      sent: {type: timestamp, header: sent, unit: ms}\n      tenant: {type: string, key: $.t}\n"
    )
    assert films(lines).tombstones is Tombstones.WRITE


def test_the_whole_value_and_the_whole_key_of_avro_fill_any_column() -> None:
    lines = (
        "    format: avro\n    key_format: avro\n    columns:\n      v: {type: bigint, from: $}\n"
        "      k: {type: 'decimal(9,2)', key: $, quoted: accept}\n"
    )
    (table,) = load_text(HEAD + REGISTRY + FILMS + lines, "map.yaml", {}).tables
    assert [(column.name, column.path) for column in table.columns] == [("v", ()), ("k", ())]
    told = problems_of(HEAD + REGISTRY + FILMS + lines.replace("avro", "protobuf"))
    assert "$ is the whole value, which only a string" in told[0] and "$ names the whole key" in told[1]


@pytest.mark.parametrize("format", ["avro", "protobuf"])
def test_keys_in_avro_and_protobuf_use_the_registry(format: str) -> None:
    lines = f"    key_format: {format}\n    columns: {{n: bigint, id: {{type: bigint, key: $.id}}}}\n"
    (table,) = load_text(HEAD + REGISTRY + FILMS + lines, "map.yaml", {}).tables
    assert (table.format, table.key_format) == ("json", format)


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ("", "refuse"),
        (", unknown_enum: null", "null"),
        (", unknown_enum: 'null'", "null"),
        (", unknown_enum: name", "name"),
    ],
)
def test_a_column_of_an_enum_decides_about_numbers_without_a_name(keys: str, word: str) -> None:
    lines = (
        "    format: protobuf\n    key_format: protobuf\n"
        f"    columns: {{n: {{type: string{keys}}}, id: {{type: string, key: $.id{keys}}}}}\n"
    )
    (table,) = load_text(HEAD + REGISTRY + FILMS + lines, "map.yaml", {}).tables
    assert [column.leeway.unknown_enum for column in table.columns] == [word, word]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("format: avro\n    columns: {a: {type: string, unknown_enum: name}}", "applies only to Protobuf"),
        ("columns: {a: {type: string, unknown_enum: null}}", "applies only to Protobuf"),
        (
            "format: protobuf\n    columns: {a: {type: string, header: h, unknown_enum: name}, b: int}",
            "applies only to Protobuf",
        ),
        (
            "format: protobuf\n    columns: {a: {type: string, key: $, unknown_enum: name}, b: int}",
            "applies only to Protobuf",
        ),
        (
            "format: protobuf\n    columns: {a: {type: int, unknown_enum: name}}",
            "is used only with a string; a is int",
        ),
        ("format: protobuf\n    columns: {a: {type: string, unknown_enum: number}}", "expected refuse, name"),
    ],
)
def test_unknown_enum_is_for_columns_of_strings_in_protobuf(lines: str, message: str) -> None:
    text = "\n".join(map(str, problems_of(f"{REGISTRY}{FILMS}    {lines}\n")))
    assert message in text, text


@pytest.mark.parametrize("format", ["json", "json_schema", "avro", "protobuf"])
def test_a_column_of_strings_may_take_any_json(format: str) -> None:
    lines = (
        f"    format: {format}\n    key_format: json\n    columns:\n      a: {{type: string, json: text}}\n"
        "      b: {type: string, json: refuse}\n      c: {type: string, key: $.x, json: text}\n"
    )
    registry = REGISTRY if format in ("avro", "protobuf") else ""
    (table,) = load_text(HEAD + registry + FILMS + lines, "map.yaml", {}).tables
    assert [column.leeway.json for column in table.columns] == ["text", "refuse", "text"]


def test_a_column_of_strings_may_take_the_whole_value_or_key() -> None:
    lines = (
        "    key_format: json\n    columns:\n      a: {type: string, from: $, json: text}\n"
        "      b: {type: string, from: $.b, json: canonical}\n      c: {type: string, key: $, json: text}\n"
    )
    columns = films(lines).columns
    assert [(column.keys, column.is_whole) for column in columns[:2]] == [((), True), (("b",), False)]
    assert (columns[2].path, columns[2].part, columns[2].is_whole) == ((), RecordPart.KEY, False)


def test_numbers_may_be_in_quotes_and_empty_strings_null() -> None:
    lines = (
        "    columns:\n      a: {type: bigint, quoted: accept, empty: null}\n      b: {type: date, empty: 'null'}\n"
        "      c: {type: timestamp, unit: ms, quoted: accept}\n      d: int\n"
    )
    leeways = [(column.leeway.quoted, column.leeway.empty) for column in films(lines).columns]
    assert leeways == [("accept", "null"), ("refuse", "null"), ("accept", "refuse"), ("refuse", "refuse")]


def test_values_may_have_forms_that_people_write() -> None:
    lines = (
        "    key_format: json\n    columns:\n      a: {type: int, whole: accept}\n"
        "      b: {type: boolean, booleans: {true: [J, 1, 1.0], false: ['no', 0]}}\n"
        "      c: {type: 'decimal(9,2)', key: $.c, numbers: {thousands: ' ', decimal: ','}}\n"
        "      d: {type: float, non_finite: null}\n      e: {type: date, unit: d, beyond: clamp, whole: accept}\n"
        "      f: {type: boolean, booleans: words}\n      g: {type: timestamp, beyond: null}\n      h: int\n"
    )
    a, b, c, d, e, f, g, h = (column.leeway for column in films(lines).columns)
    assert b.booleans == BooleanWords(("J", "1", "1.0"), ("no", "0")) and f.booleans == PLAIN_WORDS
    assert (a.whole, e.whole, h.whole) == ("accept", "accept", "refuse")
    assert (c.numbers, h.numbers) == (NumberMarks(" ", ","), None)
    assert (d.non_finite, h.non_finite, e.beyond, g.beyond) == ("null", "refuse", "clamp", "null")


@pytest.mark.parametrize(
    ("column", "place", "message"),
    [
        ("{type: double, whole: accept}", "whole", "is used only with an integer or a unit; a is double"),
        ("{type: timestamp, whole: accept}", "whole", "is used only with an integer or a unit"),
        ("{type: int, booleans: words}", "booleans", "is used only with a boolean; a is int"),
        (
            "{type: boolean, booleans: {true: [x], false: [x]}}",
            "booleans.false",
            "'x' is also a word for true",
        ),
        ("{type: boolean, booleans: {true: [x], false: ['']}}", "booleans", "an empty string is no word"),
        ("{type: boolean, booleans: {true: ['false'], false: [x]}}", "booleans", "cannot change places"),
        ("{type: boolean, booleans: {true: [], false: [x]}}", "booleans.true", "must not be empty"),
        ("{type: boolean, booleans: {true: [x]}}", "booleans.false", "is required"),
        (
            "{type: boolean, booleans: {true: [yes], false: [x]}}",
            "booleans.true[0]",
            "YAML reads `yes` as true",
        ),
        ("{type: string, numbers: {decimal: ','}}", "numbers", "is used only with a number; a is string"),
        ("{type: int, numbers: {thousands: ','}, quoted: accept}", "numbers", "so quoted must not be set"),
        ("{type: int, numbers: {thousands: x}}", "numbers.thousands", "expected one of . , ' _ or a blank"),
        ("{type: int, numbers: {decimal: x}}", "numbers.decimal", "expected . or ,"),
        ("{type: int, numbers: {thousands: .}}", "numbers.thousands", "is the decimal mark too: ."),
        ("{type: 'decimal(9,2)', decimals: base64, numbers: {decimal: ','}}", "numbers", "decimals: base64"),
        ("{type: int, non_finite: keep}", "non_finite", "is used only with a double or a float"),
        ("{type: 'decimal(9,2)', non_finite: null}", "non_finite", "is used only with a double or a float"),
        ("{type: bigint, beyond: clamp}", "beyond", "is used only with a timestamp or a date"),
        ("{type: date, beyond: keep}", "beyond", "expected refuse, null or clamp"),
        (
            "{type: timestamp, beyond: clamp, fraction: truncate}",
            "beyond",
            "cannot be used with fraction: truncate",
        ),
    ],
)
def test_forms_that_a_column_cannot_use_are_refused_in_their_line(
    column: str, place: str, message: str
) -> None:
    problems = problems_of(f"{HEAD}{FILMS}    columns:\n      b: int\n      a: {column}\n")
    line = HEAD.count("\n") + FILMS.count("\n") + 3
    assert problems[0].startswith(f"map.yaml:{line}: tables[0].columns.a.{place}: "), problems
    assert message in problems[0]


@pytest.mark.parametrize("form", ["whole: accept", "numbers: {decimal: ','}"])
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("format: raw", "applies only to fields of values in json"),
        ("source: canal", "canal writes every value as text"),
        ("source: {debezium: {before: true}}", "must not have"),
    ],
)
def test_forms_are_for_json(table: str, message: str, form: str) -> None:
    text = f"{REGISTRY}{FILMS}    {table}\n    columns: {{a: {{type: int, {form}}}}}\n"
    assert message in "\n".join(map(str, problems_of(text)))


def test_forms_are_for_avro_headers_and_raw_keys_too() -> None:
    lines = (
        "    format: avro\n    columns:\n      a: {type: 'decimal(9,2)', quoted: accept, empty: null}\n"
        "      b: {type: bigint, whole: accept, non_finite: null}\n      c: {type: timestamp, beyond: clamp, empty: null}\n"
        "      d: {type: boolean, header: d, booleans: words, empty: null}\n"
        "      e: {type: 'decimal(9,2)', key: $, numbers: {decimal: ','}}\n      f: {type: date, header: f, beyond: null}\n"
    )
    (table,) = load_text(HEAD + REGISTRY + FILMS + lines, "map.yaml", {}).tables
    a, b, c, d, e, f = (column.leeway for column in table.columns)
    assert (a.quoted, a.empty, b.whole, b.non_finite) == ("accept", "null", "accept", "null")
    assert (c.beyond, d.booleans, e.numbers, f.beyond) == ("clamp", PLAIN_WORDS, NumberMarks("", ","), "null")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("{type: bigint, empty: null}", "no string fills the column: allow it with quoted, numbers"),
        ("{type: timestamp, unit: ms, beyond: null, empty: null}", "no string fills the column"),
        ("{type: binary, empty: null}", "a binary of avro and protobuf takes bytes and strings unchanged"),
        ("{type: bigint, non_finite: null}", "no float fills the column: allow it with whole: accept"),
        ("{type: double, non_finite: keep}", "NaN and infinities are values of avro and protobuf"),
        ("{type: bigint, non_finite: keep, whole: accept}", "is used only with a double or a float"),
    ],
)
def test_keys_without_an_effect_on_a_schema_s_values_are_refused(column: str, message: str) -> None:
    text = f"{REGISTRY}{FILMS}    format: avro\n    columns: {{a: {column}}}\n"
    assert message in "\n".join(map(str, problems_of(text)))


def test_forms_are_for_csv_too() -> None:
    lines = "    format: csv\n    columns:\n      a: {type: int, whole: accept, numbers: {decimal: ','}}\n"
    lines += "      b: {type: boolean, booleans: words}\n"
    a, b = (column.leeway for column in films(lines).columns)
    assert (a.whole, a.numbers, b.booleans) == ("accept", NumberMarks("", ","), PLAIN_WORDS)
    digits = f"{HEAD}{FILMS}{lines}    csv: {{booleans: digits}}\n"
    assert "csv has booleans: digits for all columns" in "\n".join(problems_of(digits))
    wrong = f"{HEAD}{FILMS}    format: csv\n    columns: {{a: {{type: int, booleans: words}}, b: {{type: int, empty: null}}}}\n"
    told = "\n".join(problems_of(wrong))
    assert "is used only with a boolean" in told and "empty: applies only to fields of values in json" in told


def test_decimals_of_debezium_have_no_marks() -> None:
    text = f"{FILMS}    source: debezium\n    columns: {{a: {{type: 'decimal(9,2)', numbers: {{decimal: ','}}}}}}\n"
    assert "which may be bytes in base64" in "\n".join(map(str, problems_of(text)))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("columns: {a: {type: bigint, json: text}}", "json: is used only with a string; a is bigint"),
        (
            "columns: {a: {type: string, quoted: accept}}",
            "quoted: is used only with a number, a boolean or a unit",
        ),
        (
            "columns: {a: {type: 'decimal(9,2)', quoted: accept}}",
            "is used only with a number, a boolean or a unit",
        ),
        (
            "columns: {a: {type: timestamp, quoted: accept}}",
            "is used only with a number, a boolean or a unit",
        ),
        ("columns: {a: {type: string, empty: null}}", "empty: is used only with a number, boolean, date,"),
        ("columns: {a: {type: 'array<int>', empty: null}}", "is used only with a number, boolean, date,"),
        ("format: csv\n    columns: {a: {type: int, empty: null}}", "applies only to fields of values"),
        (
            "columns: {a: {type: int, header: h, quoted: accept}, b: int}",
            "applies only to fields of values",
        ),
        (
            "columns: {a: {type: binary, header: h, empty: null}, b: int}",
            "a binary takes the bytes of a header or a raw key unchanged",
        ),
        ("source: canal\n    columns: {a: {type: int, quoted: accept}}", "canal writes every value as text"),
        ("columns: {a: {type: varchar(9), json: text}}", "is used only with a string; a is varchar(9)"),
        (
            "columns: {a: {type: 'array<string>', json: text}}",
            "is used only with a string; a is array<string>",
        ),
        ("columns: {a: {type: string, json: sorted}}", "expected refuse, text or canonical"),
        (
            "columns: {a: {type: string, from: $}}",
            "$ is the whole value, which only a string with json: text takes",
        ),
        ("columns: {a: {type: int, from: $, json: text}}", "json: is used only with a string; a is int"),
        ("columns: {a: {type: string, from: [$.a, $], json: text}}", "$ alone is the whole record"),
        ("columns: {a: {type: string, from: [$, $.a], json: text}}", "it needs no further paths"),
        (
            "source: debezium\n    columns: {a: {type: string, from: $, json: text}}",
            "$ is not used with change logs",
        ),
        (
            "key_format: json\n    columns: {a: {type: string, key: $}, b: int}",
            "which needs key_format raw, or a string with json: text",
        ),
        ("columns: {a: {type: string, header: h, json: text}, b: int}", "applies only to fields of values"),
        ("columns: {a: {type: string, key: $, json: text}, b: int}", "applies only to fields of values"),
        ("format: csv\n    columns: {a: {type: string, json: text}}", "applies only to fields of values"),
        ("format: raw\n    columns: {a: {type: string, json: text}}", "applies only to fields of values"),
        ("source: canal\n    columns: {a: {type: string, json: text}}", "canal writes every value as text"),
        (
            "source: {debezium: {before: true}}\n    columns: {a: {type: string, json: text}}",
            "therefore must not have from, unit, fraction, default, decimals, unknown_enum, json,"
            " quoted, empty, whole, booleans, numbers, non_finite or beyond",
        ),
    ],
)
def test_any_json_is_for_columns_of_strings_in_json(lines: str, message: str) -> None:
    problems = problems_of(f"{REGISTRY}{FILMS}    {lines}\n")
    text = "\n".join(map(str, problems))
    assert message in text, text


def test_the_row_before_a_change_has_the_columns_of_the_value() -> None:
    lines = "    source: {debezium: {before: true}}\n    columns: {a: int, id: {type: bigint, key: $.id}}\n    key_format: json\n"
    columns = films(lines).columns
    assert [(c.name, c.type) for c in columns[-1:]] == [("__before", "struct<a:int>")]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("columns: {a: {type: int, header: h, key: $}, b: int}", "columns.a: has header and key: keep one"),
        (
            "columns: [{name: a, type: int, header: h, from: $.x}, {name: b, type: int}]",
            "columns[0]: has from and header",
        ),
        ("columns: {a: {type: int, header: h}}", "at least one column must come from the record's value"),
        (
            "columns: {a: {type: 'array<int>', header: h}, b: int}",
            "a header holds a single value, but a is array<int>",
        ),
        ("columns: {a: {type: 'map<string,int>', key: $}, b: int}", "a raw key holds a single value"),
        (
            "columns: {a: {type: int, header: ''}, b: int}",
            "columns.a.header: must not be empty",
        ),
        (
            "columns: {a: {type: int, key: $.id}, b: int}",
            "without key_format, the column holds the whole key",
        ),
        ("key_format: json\n    columns: {a: {type: int, key: $}, b: int}", "$ names the whole key"),
        ("key_format: json\n    columns: {a: {type: int, key: id}, b: int}", "it begins with $, as in $.id"),
        ("key_format: json\n    columns: {b: int}", "key_format: is used only if a column has key"),
        (
            "key_format: avro\n    columns: {a: {type: int, key: $.id}, b: int}",
            "avro needs a registry section",
        ),
        (
            "key_format: protobuf\n    columns: {a: {type: int, key: $.id}, b: int}",
            "protobuf needs a registry section",
        ),
        ("columns: {a: {type: int, header: h, unit: ms}, b: int}", "is used only with a timestamp or a date"),
        ("format: raw\n    columns: {a: {type: int, header: h}}", "a raw table has exactly one column"),
        (
            "columns: {a: {type: timestamp, key: $}, b: int}\n    bucket: {field: $.a}",
            "no column takes $.a",
        ),
    ],
)
def test_contradictions_are_reported(lines: str, message: str) -> None:
    text = "\n".join(map(str, problems_of(f"{FILMS}    {lines}\n")))
    assert message in text


def test_a_registry_for_keys_alone_is_used_and_one_without_them_is_not() -> None:
    found = problems_of(
        HEAD + REGISTRY + FILMS + "    key_format: json\n    columns: {a: {type: int, key: $.i}, b: int}\n"
    )
    assert "no table uses it" in "\n".join(map(str, found))
