"""Columns with paths and units; event times within structs."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.json_path import parse_json_path, path_text
from tests.harness.map_text import FILMS, HEAD, films, problems_of


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("$.a", ("a",)),
        ("$.a.b-c.день", ("a", "b-c", "день")),
        ("$['US Gross']", ("US Gross",)),
        ('$.props["it\'s"].x', ("props", "it's", "x")),
        ("$['it''s']['a.b']", ("it's", "a.b")),
        ("$['$']", ("$",)),
    ],
)
def test_a_path_is_read(text: str, keys: tuple[str, ...]) -> None:
    assert parse_json_path(text) == keys


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_any_keys_can_be_written_as_a_path(keys: list[str]) -> None:
    assert parse_json_path(path_text(keys)) == tuple(keys)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.b", "begins with $, as in $.a.b"),
        ("$", "the whole record"),
        ("", "begins with $, as in $.name"),
        ("US Gross", "as in $['US Gross']"),
        ("props['US Gross']", "as in $.props['US Gross']"),
        ("['US Gross']", "as in $['US Gross']"),
        ("$.a[0]", "character 4: a path cannot select an element"),
        ("$..a", "character 2: wildcards"),
        ("$.a[*]", "wildcards"),
        ("$.a b", "character 4: a path is $"),
        ("$['a", "character 2: a path is $"),
        ("$['a'b']", "character 2"),
        ("$" + ".a" * 17, "at most 16 steps"),
    ],
)
def test_a_malformed_path_is_reported_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_json_path(text)


FORMS = [
    "    columns: {id: bigint, gross: {type: int, from: \"$['US Gross']\"}, at: {type: timestamp, unit: ms}}\n",
    "    columns:\n      - {name: id, type: bigint}\n      - {name: gross, type: int, from: \"$['US Gross']\"}\n"
    "      - {name: at, type: timestamp, unit: ms}\n",
]


@pytest.mark.parametrize("form", FORMS)
def test_both_forms_of_columns_mean_the_same(form: str) -> None:
    assert films(form).columns == (
        Column("id", "bigint"),
        Column("gross", "int", ("US Gross",)),
        Column("at", "timestamp", (), "ms"),
    )


@pytest.mark.parametrize(
    ("columns", "line", "words"),
    [
        ("{a: {type: strng, from: $.x}}", "columns.a", "did you mean string?"),
        ('{a: {type: string, form: "$.x"}}', "columns.a.form", "unknown key (did you mean from?)"),
        ("{a: {from: $.x}}", "columns.a.type", "is required"),
        ("{a: {type: string, from: x.y}}", "columns.a.from", "begins with $"),
        ('{a: {type: string, from: "$.x[0]"}}', "columns.a.from", "a path cannot select an element"),
        ("{a: {type: string, unit: ms}}", "columns.a.unit", "a is string"),
        ("{a: {type: timestamp, unit: m}}", "columns.a.unit", "expected d, s, ms, us or ns"),
        ("[{name: a, type: int}, {name: A, type: int}]", "columns[1]", "is repeated"),
        (
            "[{name: US Gross, type: int}]",
            "columns[0]",
            "write {name: us_gross, type: int, from: \"$['US Gross']\"}",
        ),
        (
            "{US Gross: bigint}",
            "columns['US Gross']",
            "at most 128 letters, digits and _; write us_gross: {type: bigint, from: \"$['US Gross']\"}",
        ),
        ("{日: bigint}", "columns['日']", "at most 128 letters, digits and _"),
        ("{s: 'struct<US Gross:int>'}", "columns.s", "cannot hold a struct field with ' ' in its name"),
        ("[{name: a, type: int, typ: int}]", "columns[0].typ", "did you mean type?"),
        ("[a]", "columns[0]", "expected keys with values"),
        ("7", "columns", "expected keys with values"),
        ("{s: 'struct<us-gross:int>'}", "columns.s", "cannot hold a struct field with '-'"),
    ],
)
def test_a_mistake_in_a_column_is_reported_with_its_place(columns: str, line: str, words: str) -> None:
    (first, *_) = problems_of(HEAD + FILMS + f"    columns: {columns}\n")
    assert f"tables[0].{line}: " in first and words in first
    assert first.startswith("map.yaml:8: ")


def test_an_unquoted_type_with_a_comma_must_be_quoted() -> None:
    found = problems_of(HEAD + FILMS + "    columns: {r: {type: decimal(10,2), from: $.r}}\n")
    assert any("['2)']: " in problem and 'as in {price: "decimal(10,2)"}' in problem for problem in found)


def test_a_raw_column_has_no_path() -> None:
    lines = "    format: raw\n    columns: {v: {type: string, from: $.x}}\n"
    assert "the whole value" in problems_of(HEAD + FILMS + lines)[0]


COLUMNS = {
    "props": "struct<at:timestamp,deep:struct<day:date>,word:string>",
    "at_number": {"type": "bigint", "from": "$.meta.at"},
    "at": {"type": "timestamp", "from": "$.meta.at", "unit": "ms"},
    "text": {"type": "string", "from": "$.meta['a word']"},
}


def with_field(field: str, **more: object) -> str:
    return yaml.safe_dump(
        {"columns": COLUMNS, "bucket": {"field": field, **more}}, sort_keys=False, allow_unicode=True
    )


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("field", "column", "inner"),
    [
        ("at", "at", ()),
        ("props.at", "props", ("at",)),
        ("props.deep.day", "props", ("deep", "day")),
        ("$.props.deep.day", "props", ("deep", "day")),
        ("$.meta.at", "at_number", ()),
        ("$['meta'].at", "at_number", ()),
    ],
)
def test_an_event_time_may_be_within_a_struct_or_at_a_path(
    field: str, column: str, inner: tuple[str, ...]
) -> None:
    bucketing = films(indented(with_field(field))).bucketing
    assert (bucketing.field, bucketing.inner) == (column, inner)


@pytest.mark.parametrize(
    ("field", "more", "words"),
    [
        ("props.att", {}, "props has no field att (did you mean at?)"),
        ("props.word", {}, "props.word is string; an event time is"),
        ("at.x", {}, "at is timestamp, not a struct"),
        ("$.meta.it", {}, "no column takes $.meta.it"),
        ("$.meta['a word']", {}, "is string; an event time is"),
        ("$.meta[0]", {}, "a path cannot select an element"),
        ("props.at", {"unit": "ms"}, "is used only with a bigint field, but props.at is timestamp"),
        ("prop.at", {}, "prop.at is not a column of the table"),
    ],
)
def test_an_impossible_event_time_is_refused(field: str, more: dict[str, object], words: str) -> None:
    assert words in problems_of(HEAD + FILMS + indented(with_field(field, **more)))[0]


def test_a_field_of_hives_struct_is_not_checked() -> None:
    rule = films("    create: false\n    bucket: {field: props.at}\n")
    assert (rule.bucketing.field, rule.bucketing.inner) == ("props", ("at",))
    path = "    create: false\n    bucket: {field: $.props.at}\n"
    assert "which declares none" in problems_of(HEAD + FILMS + path)[0]


def test_a_columns_leeway_is_refused_where_it_makes_no_sense() -> None:
    table = films(
        "    columns:\n      id: bigint\n      at: {type: timestamp, unit: ns, fraction: truncate}\n"
        "      sent: {type: timestamp, header: s, fraction: truncate}\n"
    )
    assert [column.leeway.fraction for column in table.columns] == ["exact", "truncate", "truncate"]
    for wrong, message in (
        ("{type: date, fraction: truncate}", "fraction: is used only with a timestamp; x is date"),
        (
            "{type: 'array<timestamp>', fraction: truncate}",
            "is used only with a timestamp; x is array<timestamp>",
        ),
        ("{type: timestamp, fraction: round}", "expected exact or truncate"),
    ):
        text = "\n".join(map(str, problems_of(f"{FILMS}    columns: {{id: bigint, x: {wrong}}}\n")))
        assert message in text, text


def test_a_column_may_have_several_paths() -> None:
    table = films(
        "    columns: {mail: {type: string, from: [$.mail, '$.e-mail', $.contact.mail]}, id: {type: int, from: [$.no]}}\n"
    )
    mail, number = table.columns
    assert (mail.path, mail.leeway.others) == (("mail",), (("e-mail",), ("contact", "mail")))
    assert (number.path, number.leeway.others) == (("no",), ())
    for lines, message in (
        ("columns: {x: {type: int, from: []}}", "must not be empty"),
        ("columns: {x: {type: int, from: [$.a, $.b, $.a]}}", "a path is repeated"),
        ("columns: {x: {type: int, from: [$.a, b]}}", "begins with $, as in $.b"),
        (
            "columns: {x: {type: int, from: [$.a, $.b]}}\n    source: debezium",
            "a column of a change log has only one path",
        ),
        (
            "columns: {x: {type: int, from: [$.a, $.b]}}\n    format: csv",
            "columns take the fields in the order of the map",
        ),
    ):
        text = "\n".join(map(str, problems_of(f"{FILMS}    {lines}\n")))
        assert message in text, text


@pytest.mark.parametrize(
    ("kind", "default", "message"),
    [
        ("string", "x", ""),
        ("string", "''", ""),
        ("int", "-2147483648", ""),
        ("int", "2147483648", "2147483648 is not a value of int"),
        ("int", "1.5", "1.5 is not a value of int"),
        ("int", "x", "'x' is not a number"),
        ("boolean", "true", ""),
        ("boolean", "1", "'1' is not a boolean"),
        ("double", "0.5", ""),
        ("double", "'1e999'", "1e999 is beyond double"),
        ("double", "9007199254740993", "9007199254740993 is not exact as double"),
        ("float", "1.1", ""),
        ("float", "16777216", ""),
        ("float", "16777217", "16777217 is not exact as float"),
        ("float", "'1e39'", "1e39 is beyond float"),
        ("'decimal(38,0)'", f"'{'9' * 38}'", ""),
        ("'decimal(38,0)'", f"'{'9' * 39}'", f"{'9' * 39} does not fit decimal(38,0)"),
        ("'decimal(38,30)'", f"'0.{'1' * 30}'", ""),
        ("'decimal(38,30)'", f"'0.{'1' * 31}'", f"0.{'1' * 31} does not fit decimal(38,30)"),
        ("'decimal(5,2)'", "'0.000'", ""),
        ("'decimal(5,2)'", "999.99", ""),
        ("'decimal(5,2)'", "1000", "1000 does not fit decimal(5,2)"),
        ("'decimal(5,2)'", "'1.005'", "1.005 does not fit decimal(5,2)"),
        ("date", "'2013-02-28'", ""),
        ("date", "'2013-02-29'", "is not a date"),
        ("timestamp", "'2013-02-28T00:00'", "not timestamp"),
        ("array<int>", "1", "not array<int>"),
    ],
)
def test_a_default_must_be_a_value_of_its_column(kind: str, default: str, message: str) -> None:
    columns = f"    columns: {{id: bigint, x: {{type: {kind}, default: {default}}}}}\n"
    if message:
        assert message in "\n".join(map(str, problems_of(FILMS + columns)))
    else:
        assert films(columns).columns[1].leeway.default == yaml.safe_load(default) or kind != "string"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("columns: {id: bigint, x: {type: int, header: h, default: 1}}", "applies only to fields of values"),
        ("columns: {x: {type: int, default: 1}}\n    format: csv", "applies only to fields of values"),
        ("columns: {x: {type: int, default: 1}}\n    source: debezium", "cannot be used with change logs"),
        (
            "columns: {x: {type: date, unit: d, default: '2013-01-01'}}",
            "cannot be used on columns with a unit",
        ),
    ],
)
def test_a_default_is_refused_where_it_makes_no_sense(lines: str, message: str) -> None:
    assert message in "\n".join(map(str, problems_of(f"{FILMS}    {lines}\n")))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("columns: {x: {type: 'decimal(5,2)', decimals: base64}}", ""),
        ("columns: {x: {type: int, decimals: base64}}", "is used only with a decimal; x is int"),
        (
            "columns: {x: {type: 'decimal(5,2)', decimals: base64}}\n    format: csv",
            "applies only to fields of values in json",
        ),
        (
            "columns: {x: {type: 'decimal(5,2)', decimals: base64}}\n    source: debezium",
            "source: {debezium: {decimals: base64}}",
        ),
        (
            "columns: {id: int, x: {type: 'decimal(5,2)', header: h, decimals: base64}}",
            "applies only to fields of values in json",
        ),
    ],
)
def test_decimals_as_bytes_are_for_columns_of_json(lines: str, message: str) -> None:
    if message:
        assert message in "\n".join(map(str, problems_of(f"{FILMS}    {lines}\n")))
    else:
        assert films(f"    {lines}\n").columns[0].leeway.decimals == "base64"
