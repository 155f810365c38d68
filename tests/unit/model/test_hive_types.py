"""Hive type texts and Arrow types map one to one."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.model.hive_type_parser import HiveTypeError
from kafka2hive.model.hive_types import hive_type_of, parse_hive_type, with_quoted_fields

_INTEGERS = [pa.int64(), pa.int32(), pa.int16(), pa.int8()]
_OTHERS = [pa.float64(), pa.float32(), pa.bool_(), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us")]
_LEAVES = st.sampled_from([*_INTEGERS, *_OTHERS]) | st.integers(1, 38).flatmap(
    lambda p: st.integers(0, p).map(lambda s: pa.decimal128(p, s))
)
_NAMES = st.one_of(
    st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), st.sampled_from(["date", "$x", "ü", "1st"])
)
TYPES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda value: pa.map_(pa.string(), value)),
        st.dictionaries(_NAMES, inner, min_size=1, max_size=4).map(lambda d: pa.struct(list(d.items()))),
    ),
    max_leaves=6,
)


@given(TYPES)
def test_every_type_comes_back_from_its_own_text(dtype: pa.DataType) -> None:
    assert parse_hive_type(hive_type_of(dtype)).equals(dtype)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("BIGINT", pa.int64()),
        (" int ", pa.int32()),
        ("integer", pa.int32()),
        ("varchar(20)", pa.string()),
        ("CHAR( 3 )", pa.string()),
        ("decimal", pa.decimal128(10, 0)),
        ("decimal(5)", pa.decimal128(5, 0)),
        ("numeric(5, 2)", pa.decimal128(5, 2)),
        ("timestamp", pa.timestamp("us")),
        ("array< struct<a:int, `order`:map<string , date>> >", None),
    ],
)
def test_common_spellings_of_types_are_accepted(text: str, dtype: pa.DataType | None) -> None:
    expected = dtype or pa.list_(pa.struct([("a", pa.int32()), ("order", pa.map_(pa.string(), pa.date32()))]))
    assert parse_hive_type(text).equals(expected)


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("long", 0, "bigint"),
        ("bigin", 0, "bigint"),
        ("array<text>", 6, "string"),
        ("", 0, "decimal(10,2)"),
        ("array<int", 9, ">"),
        ("int int", 4, "remove"),
        ("map<double,string>", 4, "map<string"),
        ("struct<a:int,A:int>", 13, "rename"),
        ("struct<>", 7, "name:type"),
        ("struct<a int>", 9, ":"),
        ("timestamp with local time zone", 10, "converted"),
        ("uniontype<int>", 0, "a column for each type"),
        ("decimal(5,7)", 0, "decimal(7,7)"),
        ("decimal(39,0)", 8, ""),
        ("varchar(0)", 8, ""),
        ("varchar(²)", 8, ""),
        ("int`", 3, ""),
        ("struct<us-gross:int>", 7, "from:"),
        ("array<struct<a:int,`us gross`:int>>", 19, "$.path['us gross']"),
        ("struct<`a.b`:int>", 7, "from:"),
    ],
)
def test_an_error_names_the_position_and_a_remedy(text: str, position: int, hint: str) -> None:
    with pytest.raises(HiveTypeError) as error:
        parse_hive_type(text)
    assert error.value.position == position
    assert hint in error.value.suggestion


def test_types_nested_without_end_are_refused_without_a_crash() -> None:
    with pytest.raises(HiveTypeError, match="deep"):
        parse_hive_type("array<" * 5000 + "int" + ">" * 5000)


@pytest.mark.parametrize(
    "dtype", [pa.uint64(), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.large_string()]
)
def test_an_arrow_type_that_hive_lacks_is_refused(dtype: pa.DataType) -> None:
    with pytest.raises(HiveTypeError):
        hive_type_of(dtype)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("bigint", "bigint"),
        (
            "struct<date:int,b:array<struct<order:varchar(3)>>>",
            "struct<`date`:int,`b`:array<struct<`order`:varchar(3)>>>",
        ),
        ("map<string, struct<`x`:int, день:int> >", "map<string, struct<`x`:int, `день`:int> >"),
    ],
)
def test_names_of_struct_fields_are_quoted_in_statements(text: str, quoted: str) -> None:
    assert with_quoted_fields(text) == quoted
    assert with_quoted_fields(quoted) == quoted
