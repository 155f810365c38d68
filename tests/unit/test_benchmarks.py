"""The benchmarks judge outputs and costs rightly: a wrong fast peer is found out, no process is left out."""

import datetime
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.model.hive_types import parse_hive_type
from tests.benchmarks import aims
from tests.benchmarks.__main__ import Figures
from tests.benchmarks.aims import Aim, Rows
from tests.benchmarks.contestants import CONTESTANTS
from tests.benchmarks.data.content import batch_sum, content, expected, maps_as_lists
from tests.benchmarks.data.data_sets import DATA_SETS, DataSet
from tests.benchmarks.data.topics import COMPRESSIONS, FilledTopic
from tests.benchmarks.parts import PARTS, Part, copies_for
from tests.benchmarks.peers.flink.statements import flink_type
from tests.benchmarks.peers.shape import Shape, read_shape
from tests.benchmarks.plot import plot
from tests.benchmarks.process_tree import Cost, ProgramFailed, measured
from tests.benchmarks.report import report
from tests.benchmarks.throughput import Comparison, WrongOutput, check, decoded
from tests.benchmarks.verdict import add_rows, summary
from tests.oracle.tree import LocalTree
from tests.services.jars import ROOT

SHAPE = Shape(
    {"n": "bigint", "x": "double", "t": "timestamp", "s": "struct<a:string>", "l": "array<string>"},
    "t",
    "month",
)
JANUARY, MAY = datetime.datetime(2013, 1, 31, 23), datetime.datetime(2013, 5, 1)
ROWS: list[dict[str, Any]] = [
    {"n": 1, "x": 0.5, "t": JANUARY, "s": {"a": "b"}, "l": ["p", "q"]},
    {"n": 2, "x": None, "t": MAY, "s": {"a": None}, "l": []},
    {"n": None, "x": 1.0, "t": MAY, "s": None, "l": None},
]
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("t", pa.timestamp("us")),
        ("s", pa.struct([("a", pa.string())])),
        ("l", pa.list_(pa.string())),
    ]
)


SIZES = {
    **dict.fromkeys(("flights", "scattered", "random_keys", "two_orders"), (280, 330)),
    "wide": (1_300, 1_700),
    "narrow": (45, 65),
    "missing_keys": (230, 280),
    "doubles": (270, 310),
    "prices": (160, 200),
    "decimals": (85, 115),
    "maps": (165, 195),
    "binary": (300, 330),
    "log": (280, 340),
    "avro": (40, 70),
    "protobuf": (65, 95),
    "debezium": (550, 700),
}


def written(folder: Path, rows: list[dict[str, Any]], **options: Any) -> int:
    """The checksum of these rows as files, one for each month."""
    folder.mkdir()
    for month in {row["t"].strftime("%Y%m") for row in rows}:
        place = folder / f"dt={month}"
        place.mkdir()
        mine = [row for row in rows if row["t"].strftime("%Y%m") == month]
        pq.write_table(pa.Table.from_pylist(mine, SCHEMA), place / "a.parquet", **options)
    found = content(LocalTree(), folder.as_uri(), SHAPE, deep=True)
    assert found.rows == len(rows)
    return found.checksum


def truth(rows: list[dict[str, Any]], copies: int = 1) -> tuple[int, int]:
    count, checksum = expected(iter([pa.RecordBatch.from_pylist(rows, SCHEMA)]), SHAPE)
    return count * copies, checksum * copies % (1 << 64)


def test_order_and_the_type_of_timestamps_do_not_matter(tmp_path: Path) -> None:
    assert written(tmp_path / "a", ROWS) == truth(ROWS)[1]
    assert written(tmp_path / "b", ROWS[::-1], use_deprecated_int96_timestamps=True) == truth(ROWS)[1]
    assert truth(ROWS, 2) == truth(ROWS + ROWS)


@pytest.mark.parametrize(
    "wrong",
    [
        [*ROWS[:2], ROWS[1]],
        [*ROWS[:2], ROWS[2] | {"n": 0}],
        [ROWS[0] | {"l": ["q", "p"]}, *ROWS[1:]],
        [ROWS[0] | {"s": {"a": "c"}}, *ROWS[1:]],
        [ROWS[0] | {"t": JANUARY + datetime.timedelta(microseconds=1)}, *ROWS[1:]],
        [ROWS[0], ROWS[1] | {"l": None}, ROWS[2]],
        [ROWS[0], ROWS[1] | {"s": None}, ROWS[2]],
    ],
    ids=[
        "doubled and lost",
        "null made 0",
        "list order",
        "nested value",
        "microsecond",
        "empty list",
        "empty struct",
    ],
)
def test_a_changed_row_changes_the_checksum(tmp_path: Path, wrong: list[dict[str, Any]]) -> None:
    assert written(tmp_path / "wrong", wrong) != truth(ROWS)[1]


def test_a_row_in_another_bucket_changes_the_checksum(tmp_path: Path) -> None:
    right = written(tmp_path / "a", ROWS)
    (tmp_path / "a/dt=201305").rename(tmp_path / "a/dt=201306")
    assert content(LocalTree(), (tmp_path / "a").as_uri(), SHAPE, deep=True).checksum != right


@pytest.mark.parametrize("data", DATA_SETS.values(), ids=DATA_SETS)
def test_every_data_set_fits_its_shape(data: DataSet, tmp_path: Path) -> None:
    first = data.first(5_000)
    batch = next(decoded(first))
    required = {"flights": 1, "wide": 1, "narrow": 1, "scattered": 48}.get(data.name, 1)
    assert len(set(batch.column(data.shape.time).to_pylist())) >= required
    size = sum(map(len, first.records())) / len(batch)
    low, high = SIZES[data.name]
    assert low < size < high
    assert read_shape(data.shape.write(tmp_path / "shape.json")) == data.shape


JSON = {name: data for name, data in DATA_SETS.items() if data.shape.encoding == "json"}


@pytest.mark.parametrize("data", JSON.values(), ids=JSON)
def test_the_decoder_gives_what_every_data_set_holds(data: DataSet) -> None:
    first = data.first(2_000)
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in data.shape.columns.items()])
    decoded_here = make_decoder(DecoderSpec("json", schema, "UTC")).decode(
        pa.array(first.records(), pa.binary())
    )
    assert not len(decoded_here.rejected)
    assert expected(iter([decoded_here.rows]), data.shape) == expected(decoded(first), data.shape)


def test_the_bare_loop_takes_part_where_it_can_decode_the_records() -> None:
    reads = CONTESTANTS["bare_loop"].reads
    assert {name for name, data in DATA_SETS.items() if not reads(data.shape)} == {
        *("wide", "decimals", "maps", "binary", "avro", "protobuf", "debezium")
    }


def test_a_bare_fetch_must_have_read_every_record_and_byte(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("3 30")
    (tmp_path / "1").write_text("2 21")
    one = CONTESTANTS["bare_fetch"]
    counts = one.written(LocalTree(), tmp_path.as_uri(), SHAPE, True)
    check(one, counts, (5, 51), deep=True)
    for truth in ((6, 51), (5, 52)):
        with pytest.raises(WrongOutput):
            check(one, counts, truth, deep=True)


def test_maps_are_read_as_lists_of_pairs_where_a_file_calls_their_keys_optional(tmp_path: Path) -> None:
    shape = Shape({"m": "map<string,string>", "t": "timestamp"}, "t", "month")
    schema = pa.schema([("m", pa.map_(pa.string(), pa.string())), ("t", pa.timestamp("us"))])
    rows = pa.RecordBatch.from_pylist(
        [{"m": [("a", "b"), ("c", None)], "t": MAY}, {"m": [], "t": MAY}, {"m": None, "t": MAY}], schema
    )
    pq.write_table(pa.Table.from_batches([rows]), tmp_path / "a.parquet", store_schema=False)
    data = maps_as_lists((tmp_path / "a.parquet").read_bytes(), shape)
    (read,) = pq.ParquetFile(pa.BufferReader(data)).iter_batches()
    assert pa.types.is_list(read.schema.field("m").type)
    swapped = pa.array([[("c", None), ("a", "b")], [], None], schema.field("m").type)
    other = pa.RecordBatch.from_arrays([swapped, rows.column("t")], schema=schema)
    assert batch_sum(read, "x", shape) == batch_sum(rows, "x", shape) == batch_sum(other, "x", shape)


def test_keys_come_in_the_orders_that_a_data_set_names() -> None:
    orders = {
        name: Counter(tuple(orjson.loads(record)) for record in islice(DATA_SETS[name].each(), 2_000))
        for name in ("flights", "two_orders", "random_keys", "missing_keys")
    }
    assert len(orders["flights"]) == 1
    assert sorted(orders["two_orders"].values()) == [1_000, 1_000]
    assert len(orders["random_keys"]) == 2_000
    kept = sum(len(keys) * count for keys, count in orders["missing_keys"].items()) / 2_000
    assert 0.79 < (kept - 1) / 18 < 0.81


def test_nested_types_have_a_name_in_flink() -> None:
    assert (
        flink_type("array<struct<a:bigint,b:struct<c:string>>>")
        == "ARRAY<ROW<`a` BIGINT, `b` ROW<`c` STRING>>>"
    )
    assert flink_type("map<string,array<binary>>") == "MAP<STRING, ARRAY<BYTES>>"
    assert flink_type("decimal(18,4)") == "DECIMAL(18,4)"


CHILD = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
PARENT = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as pyspark's daemon: the child's time is added to nobody
subprocess.Popen([sys.executable, "-c", {CHILD!r}]).wait()
time.sleep(1.0)
"""


def test_the_cpu_of_a_process_that_nobody_waited_for_is_counted(tmp_path: Path) -> None:
    cost = measured([sys.executable, "-c", PARENT], tmp_path / "log")
    assert cost.cpu > 0.2
    assert cost.wall > 1.0
    assert 1 < cost.peak_mb < 200


def test_a_program_that_fails_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailed, match=r"ended with 3.*\n.*out of luck"):
        measured([sys.executable, "-c", "print('out of luck'); raise SystemExit(3)"], tmp_path / "log")


def test_the_report_names_both_ratios_and_the_smaller_one_counts(tmp_path: Path) -> None:
    data = DataSet("flights", SHAPE, lambda: (b"x" * 1_000_000,))
    comparison = Comparison(data, topics={n: FilledTopic("t", data, n) for n in (4, 16)})
    weighs = content(LocalTree(), tmp_path.as_uri(), SHAPE, deep=False)
    for name, wall, cpu in (
        ("kafka2hive", 20.0, 0.1),
        ("flink", 30.0, 0.5),
        ("bare_loop", 4.0, 0.08),
        ("bare_fetch", 2.0, 0.07),
    ):
        for copies in (4, 16):
            comparison.costs[name, copies] = [Cost(wall, cpu * copies, 100.0)] * 3
            size = 0 if name == "bare_fetch" else 1000
            comparison.contents[name, copies] = type(weighs)(4, size, 2, 0)
    figures = comparison.document()
    rows = Rows("flights")
    add_rows(rows, "flights", figures, "none")
    figures["rows"] = rows.made
    assert figures["ratios"]["flink"]["wall"] == 1.5
    assert figures["ratios"]["flink"]["marginal"] == 5.0
    assert figures["ratios"]["flink"]["speed"] == 1.5
    assert figures["ratios"]["bare_loop"]["speed"] == 0.8
    assert figures["ratios"]["bare_fetch"]["speed"] == 0.7
    assert figures["ratios"]["bare_fetch"]["file_bytes"] is None
    machine = {"cores": 2, "memory_gb": 24.0, "system": "Linux"}
    document = {"measured_at": "now", "machine": machine, "throughput": {"flights": figures}}
    text = report(document)
    assert "| against Flink SQL, marginal | 5.00 | >= 4.5 | yes |" in text
    assert "| against Flink SQL, wall x16 | 1.50 | >= 3 | **no** |" in text
    assert "| against bare loop, marginal | 0.80 | >= 1.5 | **no** |" in text
    assert "| against bare fetch (the limit), marginal | 0.70 | >= 0.65 | yes |" in text
    assert list(summary(document)) == [
        "weakest against Flink: flights, 5.00 (aim >= 2.5)",
        "3 of 5 aims reached",
        "missed: flights: against Flink SQL, wall x16: 1.50, aim >= 3",
        "missed: flights: against bare loop, marginal: 0.80, aim >= 1.5",
    ]
    assert ">10</text>" in plot(document)


def test_the_aims_stand_in_the_documentation_too() -> None:
    text = (ROOT / "docs/performance.md").read_text()
    table = text[text.index("## Aims") : text.index("## Figures")]
    declared = [aim for value in vars(aims).values() for aim in _aims_in(value)]
    assert len(declared) >= 20
    assert [str(aim) for aim in declared if str(aim) not in table] == []
    assert f"{aims.CALLS} + {aims.CALLS_PER_FILE} per data file" in table


def _aims_in(value: object) -> list[Aim]:
    if isinstance(value, dict):
        return [aim for aim in value.values() if isinstance(aim, Aim)]
    return [value] if isinstance(value, Aim) else []


def test_all_measures_every_data_set_and_compression_once() -> None:
    names = [part.name for part in PARTS.values() if part.in_all]
    assert set(DATA_SETS) - set(names) == {"scattered"}
    assert {f"flights-{way}" for way in COMPRESSIONS} - set(names) == {"flights-none"}
    assert copies_for(DATA_SETS["flights"], (100, 500)) == (1, 5)
    assert copies_for(DataSet("large", SHAPE, lambda: iter([b"x" * 10_000_000])), (1, 2)) == (1, 2)


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    part = Part("plan", "", "modes", lambda _room, _rounds: {"rows": []})
    figures = Figures(tmp_path / "bench.json")
    assert not figures.has(part)
    figures.note(part, {"rows": [{"what": "w", "measured": "2 s", "aim": "<= 1 s", "reached": False}]})
    again = Figures(tmp_path / "bench.json")
    assert again.has(part)
    assert list(summary(again.document)) == ["0 of 1 aims reached", "missed: plan: w: 2 s, aim <= 1 s"]
