"""The comparison of rows: only equal rows have equal hashes, and every kind of difference is reported as such."""

import datetime
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.formats.row_hash import comparable, row_hashes
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.service.verify.row_comparison import BucketDifference, compare_as_multisets, compare_by_place
from kafka2hive.service.verify.rows import OUTSIDE, PlaceColumns, RowArrays, RowHashes, Span
from tests.harness.task_files import offsets

DECIMAL = pa.decimal128(20, 3)
PAIRS = pa.map_(pa.string(), pa.int64())
NESTED = pa.list_(pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]))
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False).filter(lambda f: f != 0 or math.copysign(1, f) > 0),
    pa.string(): st.text(max_size=5),
    pa.dictionary(pa.int32(), pa.string()): st.text(max_size=5),
    pa.binary(): st.binary(max_size=12),
    pa.date32(): st.dates(datetime.date(1, 1, 1)),
    pa.timestamp("us"): st.datetimes(),
    DECIMAL: st.decimals(-(10**16), 10**16, places=3),
    PAIRS: st.dictionaries(st.text(max_size=3), st.none() | st.integers(-3, 3), max_size=3).map(
        lambda d: sorted(d.items())
    ),
    NESTED: st.lists(
        st.none()
        | st.fixed_dictionaries(
            {"a": st.none() | st.integers(-2, 2), "b": st.none() | st.lists(st.sampled_from(["", "x", "yy"]))}
        ),
        max_size=3,
    ),
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(st.data())
def test_hashes_are_equal_exactly_where_values_are(kind: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=12))
    start = data.draw(st.integers(0, len(values) - 1))
    column = pa.array(values, kind)
    hashes = row_hashes([("c", column)], len(values)).tolist()
    for one, first in zip(values, hashes, strict=True):
        for other, second in zip(values, hashes, strict=True):
            assert (first == second) == (one == other)
    assert row_hashes([("c", column.slice(start))], len(values) - start).tolist() == hashes[start:]


DISTINCT = [
    b"a",
    b"a\0",
    b"1234567",
    b"1234567\0",
    b"12345678",
    b"1234567p",
    b"1234567x",
    b"12345678p",
    b"12345678x",
]


@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_values_around_the_length_of_a_word_are_told_apart(kind: pa.DataType) -> None:
    values: list[Any] = DISTINCT if kind == pa.binary() else [value.decode() for value in DISTINCT]
    hashes = row_hashes([("c", pa.array(values, kind))], len(values)).tolist()
    assert len(set(hashes)) == len(values)
    again = [row_hashes([("c", pa.array([value], kind))], 1).item() for value in values]
    assert again == hashes


@pytest.mark.parametrize("size", [1, 5, 200])
def test_a_part_of_a_dictionary_has_the_hashes_of_its_values(size: int) -> None:
    values = [None if number % 7 == 0 else f"value {number % 90}" for number in range(200)]
    part = pa.array(values).dictionary_encode().slice(3, size)
    plain = pa.array(values[3 : 3 + size], pa.string())
    hashes = row_hashes([("c", part)], len(part)).tolist()
    assert hashes == row_hashes([("c", plain)], len(plain)).tolist()


CANCELLING: list[tuple[pa.DataType, tuple[Any, Any], tuple[Any, Any]]] = [
    (pa.binary(), (b"a000228", b"a000278"), (b"y?\xb2/\x19Sx", b"e'\x1e\xf7\xe0\xc1\x0f")),
    (pa.int64(), (0, 0), (-9223372034707292160,) * 2),
    (pa.int64(), (0, 0), (-(2**63),) * 2),
    (pa.int64(), (0, 0), (-(2**63) + 2**21,) * 2),
    (pa.float64(), (0.0, 0.0), (-0.0, -0.0)),
    (DECIMAL, (decimal.Decimal(0),) * 2, (decimal.Decimal(-(2**63)) / 1000,) * 2),
    (pa.list_(pa.int64()), ([0], [0]), ([-(2**63)], [-(2**63)])),
]


@pytest.mark.parametrize(("kind", "one", "other"), CANCELLING, ids=str)
def test_differences_in_two_columns_do_not_cancel(
    kind: pa.DataType, one: tuple[Any, Any], other: tuple[Any, Any]
) -> None:
    columns = zip("ab", zip(one, other, strict=True), strict=True)
    first, second = row_hashes([(name, pa.array(values, kind)) for name, values in columns], 2).tolist()
    assert first != second


def test_a_column_of_a_type_that_is_never_written_is_a_named_bug() -> None:
    with pytest.raises(Kafka2HiveError) as ended:
        row_hashes([("c", pa.array([1], pa.duration("s")))], 1)
    assert ended.value.code == "audit.column_type"


def test_columns_are_told_apart_by_name_and_not_by_order() -> None:
    one, two = pa.array([1, 2]), pa.array([2, 1])
    there = row_hashes([("a", one), ("b", two)], 2)
    assert (there == row_hashes([("b", two), ("a", one)], 2)).all()
    assert (there != row_hashes([("a", two), ("b", one)], 2)).all()


def test_widths_of_numbers_and_names_within_lists_do_not_matter() -> None:
    assert (
        row_hashes([("a", pa.array([5, None], pa.int8()))], 2)
        == row_hashes([("a", pa.array([5, None], pa.int64()))], 2)
    ).all()
    element, item = (pa.list_(pa.field(name, pa.int32())) for name in ("element", "item"))
    assert comparable(element) == comparable(item) == comparable(pa.list_(pa.int64()))
    assert comparable(DECIMAL) != comparable(pa.decimal128(20, 2))


PLACE = PlaceColumns("o", "t", "p")
SPAN = Span([offsets("b", 0, 5, 8), offsets("a", 1, 10, 14), offsets("a", 0, 3, 3)])


def batch(*rows: tuple[str | None, int | None, int | None]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    kinds = (pa.string(), pa.int32(), pa.int64())
    return pa.record_batch([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], list("tpo"))


def test_places_are_dense_and_lead_back_to_their_offsets() -> None:
    rows = [("a", 1, 10), ("a", 1, 13), ("b", 0, 5), ("b", 0, 7)]
    places = SPAN.places(PLACE, batch(*rows))
    assert (places.tolist(), SPAN.length) == ([0, 3, 4, 6], 7)
    assert [(tp.topic, tp.number, o) for tp, o in map(SPAN.at, places.tolist())] == rows
    assert list(map(str, SPAN.runs(places))) == ["a-1@[10, 11)", "a-1@[13, 14)", "b-0@[5, 6)", "b-0@[7, 8)"]
    assert list(map(str, SPAN.runs(np.arange(7)))) == ["a-1@[10, 14)", "b-0@[5, 8)"]


@pytest.mark.parametrize(
    "row",
    [("a", 1, 14), ("a", 1, 9), ("a", 2, 11), ("c", 0, 5), (None, 1, 11), ("a", None, 11), ("a", 1, None)],
)
def test_a_row_of_elsewhere_has_no_place(row: tuple[str | None, int | None, int | None]) -> None:
    assert SPAN.places(PLACE, batch(row, ("a", 1, 11))).tolist() == [OUTSIDE, 1]
    assert SPAN.places(PLACE, batch(("a", 1, 11), row)).tolist() == [1, OUTSIDE]


def test_one_topic_partition_needs_no_further_columns() -> None:
    lone = Span([offsets("a", 1, 10, 14)])
    only = PlaceColumns("o")
    assert only.tells_apart(lone.ranges) and not only.tells_apart(SPAN.ranges)
    assert lone.places(only, batch(("a", 1, 12))).tolist() == [2]


def side(*rows: tuple[int, int, int]) -> RowArrays:
    """Each row is (place, hash, bucket), in a file of its own."""
    result = RowHashes()
    for number, (place, row_hash, bucket) in enumerate(rows):
        result.add(
            np.array([place]), np.array([row_hash], np.uint64), np.array([bucket], np.int32), file=number
        )
    return result.whole()


def test_every_kind_of_difference_has_its_place() -> None:
    expected = side((0, 10, 0), (1, 11, 0), (2, 12, 0), (3, 13, 1), (5, 15, 0))
    actual = side((0, 10, 0), (2, 99, 0), (3, 13, 0), (4, 14, 0), (5, 15, 0), (5, 15, 0), (OUTSIDE, 1, 1))
    found = compare_by_place(6, expected, actual)
    assert [
        p.tolist() for p in (found.lost, found.extra, found.doubled, found.different, found.misplaced)
    ] == [
        [1],
        [4],
        [5],
        [2],
        [3],
    ]
    assert found.files[[2, 4]].tolist() == [1, 3]
    assert compare_by_place(6, expected, actual, buckets=False).misplaced.tolist() == []
    found = compare_by_place(6, expected, expected)
    assert not any(map(len, (found.lost, found.extra, found.doubled, found.different, found.misplaced)))


def test_several_rows_of_an_offset_are_compared_together_in_any_order() -> None:
    expected = side((0, 10, 0), (0, 11, 1), (1, 12, 0), (2, 13, 0), (2, 13, 0), (4, 15, 0), (4, 16, 0))
    actual = side((0, 11, 1), (0, 10, 0), (1, 12, 0), (2, 13, 0), (2, 13, 0), (4, 16, 0), (4, 15, 0))
    found = compare_by_place(6, expected, actual)
    assert not any(map(len, (found.lost, found.extra, found.doubled, found.different, found.misplaced)))
    wrong = side(
        (0, 9, 0),
        (0, 11, 1),
        (1, 12, 0),
        (1, 12, 0),
        (2, 13, 0),
        (3, 1, 0),
        (3, 2, 0),
        (4, 16, 1),
        (4, 15, 0),
    )
    found = compare_by_place(6, expected, wrong)
    differences = (found.lost, found.extra, found.doubled, found.different, found.misplaced)
    assert [places.tolist() for places in differences] == [[2], [3], [1], [0], [4]]


def test_multisets_count_what_is_lost_and_extra_in_each_bucket() -> None:
    expected = side((-1, 7, 0), (-1, 7, 0), (-1, 8, 1), (-1, 9, 1))
    actual = side((-1, 7, 0), (-1, 8, 0), (-1, 9, 1), (-1, 9, 1))
    assert compare_as_multisets(expected, actual) == [BucketDifference(0, 1, 1), BucketDifference(1, 1, 1)]
    assert compare_as_multisets(expected, actual, buckets=False) == [BucketDifference(0, 1, 1)]
    assert compare_as_multisets(expected, expected) == compare_as_multisets(side(), side()) == []


def test_decimals_differ_in_their_high_half_too() -> None:
    values = [decimal.Decimal(2**64), decimal.Decimal(0)]
    first, second = row_hashes([("d", pa.array(values, pa.decimal128(38, 0)))], 2).tolist()
    assert first != second
