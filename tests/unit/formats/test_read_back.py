"""Row groups are read back before their file is closed: different values are refused, equal ones are not."""

import datetime
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.contract.read_back import check_row_group, first_difference
from kafka2hive.formats.orc import OrcEncoder, writable
from kafka2hive.formats.parquet import ParquetEncoder, parquet_writer
from kafka2hive.model.errors import TableError

INNER = pa.struct([("r", pa.int64())])
OUTER = pa.struct([("q", INNER)])
NAN = float("nan")
OTHER_NAN: float = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]
TIME = datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999)


def chunks(*values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(one, kind) for one in values], kind)


@pytest.mark.parametrize(
    ("kind", "given", "written"),
    [
        (pa.int64(), [1, None], [1, 0]),
        (pa.float64(), [0.0], [-0.0]),
        (pa.float32(), [None, -0.0], [None, 0.0]),
        (pa.float64(), [NAN], [OTHER_NAN]),
        (pa.list_(pa.float64()), [[0.0]], [[-0.0]]),
        (pa.map_(pa.string(), pa.float64()), [[("k", 0.0)]], [[("k", -0.0)]]),
        (pa.decimal128(38, 10), [Decimal("0.0000000001")], [Decimal("0.0000000002")]),
        (pa.timestamp("us"), [TIME], [TIME - datetime.timedelta(microseconds=1)]),
        (pa.binary(), [b"a\0"], [b"a"]),
        (pa.string(), ["a", None], ["a", ""]),
        (pa.list_(pa.int8()), [[1], []], [[1], None]),
        (OUTER, [{"q": None}, {"q": {"r": 2}}], [{"q": None}, {"q": {"r": 0}}]),
        (OUTER, [{"q": None}], [{"q": {"r": None}}]),
    ],
)
def test_a_value_that_differs_is_found_at_its_row(
    kind: pa.DataType, given: list[Any], written: list[Any]
) -> None:
    before = given[:1] * 9
    for first, second in ((given, written), (written, given)):
        found = first_difference(chunks(before, first, kind=kind), chunks([*before, *second], kind=kind))
        wanted = next(
            n for n, (a, b) in enumerate(zip(first, second, strict=True)) if repr(a) != repr(b) or a != a
        )
        assert found == len(before) + wanted
    assert first_difference(chunks(before, given, kind=kind), chunks([*before, *given], kind=kind)) is None


def test_a_row_too_many_or_too_few_is_found() -> None:
    three, two = chunks([1, 2], [3], kind=pa.int8()), chunks([1, 2], kind=pa.int8())
    assert first_difference(three, two) == first_difference(two, three) == 2


def test_values_beneath_a_null_and_offsets_in_memory_do_not_matter() -> None:
    hidden = pa.StructArray.from_arrays([pa.array([7, 8, 9])], ["r"], mask=pa.array([False, True, False]))
    plain = pa.array([{"r": 8}, None, {"r": 9}], INNER)
    assert first_difference(pa.chunked_array([hidden.slice(1)]), pa.chunked_array([plain.slice(1)])) is None


def test_a_column_that_cannot_be_read_back_is_refused() -> None:
    def unreadable(_: int) -> pa.ChunkedArray:
        raise pa.ArrowInvalid("a broken stream")

    with pytest.raises(TableError, match=r"column n of a row group of 1 rows is unreadable: a broken stream"):
        check_row_group(pa.table({"n": [1]}), unreadable, "orc")


def damaged(rows: pa.Table) -> pa.Table:
    """Return the column `n` with another last value, in `deep` that of its field."""
    if "n" in rows.schema.names:
        last = pc.equal(pa.array(range(len(rows))), len(rows) - 1)
        return rows.set_column(0, "n", pc.if_else(last, pc.add(rows["n"], 1), rows["n"]))
    values = rows["deep"].to_pylist()
    other = pa.array([*values[:-1], {"q": {"r": -1}}], OUTER)
    return writable(rows.set_column(0, rows.schema.field("deep"), other))


def flat() -> pa.Table:
    return pa.table({"n": pa.array([None, *range(20_000)], pa.int64())})


def deep() -> pa.Table:
    return pa.table({"deep": pa.array([{"q": None}, *({"q": {"r": n}} for n in range(200))], OUTER)})


@pytest.mark.parametrize("make", [flat, deep])
def test_an_orc_writer_that_damages_a_value_fails_the_table(make: Callable[[], pa.Table]) -> None:
    rows = make()
    encoder = OrcEncoder(pa.BufferOutputStream(), rows.schema, "zstd", damaged)
    with pytest.raises(TableError) as caught:
        encoder.write(rows)
    assert caught.value.code == "file.differs"
    assert f"row {len(rows) - 1} of a row group of {len(rows)}, has another value" in caught.value.message


class DamagingWriter(pq.ParquetWriter):  # type: ignore[misc]  # pyarrow has no types
    def write_table(self, table: pa.Table, row_group_size: int | None = None) -> None:
        super().write_table(damaged(table), row_group_size)


def test_a_parquet_writer_that_damages_a_nested_value_fails_the_table() -> None:
    def make(sink: pa.NativeFile, schema: pa.Schema, *_: object) -> pq.ParquetWriter:
        return DamagingWriter(sink, schema)

    rows = deep()
    encoder = ParquetEncoder(pa.BufferOutputStream(), rows.schema, WriterOptions(), True, make)
    with pytest.raises(TableError, match=r"column deep, row 200 of a row group of 201, has another value"):
        encoder.write(rows)
    fine = ParquetEncoder(pa.BufferOutputStream(), rows.schema, WriterOptions(), True, parquet_writer)
    fine.write(rows)
    assert fine.end({}) == 201


def test_what_pyarrow_writes_wrong_is_refused() -> None:
    """pyarrow 26 writes a struct within a struct wrong, from its first NULL on."""
    rows = deep()
    encoder = OrcEncoder(pa.BufferOutputStream(), rows.schema, "zstd", lambda given: given)
    with pytest.raises(TableError, match=r"column deep, row 2 of"):
        encoder.write(rows)


@pytest.mark.parametrize("second", [TIME, datetime.datetime(1, 1, 1)])
def test_times_that_pyarrow_cannot_read_from_orc_are_not_a_difference(second: datetime.datetime) -> None:
    """Hive reads them. The other values of the column are still compared."""
    kind = pa.struct([("at", pa.list_(pa.timestamp("us"))), ("n", pa.int64())])
    rows = pa.table({"c": pa.array([{"at": [second, None], "n": 1}, None, {"at": None, "n": 2}], kind)})
    encoder = OrcEncoder(pa.BufferOutputStream(), rows.schema, "zstd")
    encoder.write(rows)
    assert encoder.end({}) == 3
    other = pa.table({"c": pa.array([{"at": [second, None], "n": 1}, None, {"at": None, "n": 3}], kind)})

    def exchanged(given: pa.Table) -> pa.Table:
        return other.cast(given.schema, safe=False)

    with pytest.raises(TableError, match="column c, row 2 of"):
        OrcEncoder(pa.BufferOutputStream(), rows.schema, "zstd", exchanged).write(rows)
