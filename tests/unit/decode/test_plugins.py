"""Plug-ins found by their entry points: what they give is checked, what they raise is the table's error."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import Bucketing, BucketTime, Column, MetadataColumn, PluginOptions, TableSettings
from kafka2hive.decode.plugin import PluginDecoder, fault_of
from kafka2hive.model.entry_points import PluginKind, load, plugin_names
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind
from kafka2hive.plan.contract import TableManifest
from kafka2hive.plugins import Decoded, DecoderContext, Reason
from tests.harness.fake_consumer import FakeLog
from tests.harness.map_text import HEAD, problems_of
from tests.harness.one_task import run_task_of, total
from tests.harness.package import lay_out
from tests.harness.task_files import MemoryFiles, offsets, read_rows, table_settings

MODULE = '''
import sys
import pyarrow as pa
from kafka2hive.plugins import Decoded, Reason

class Numbers:
    """A row for each number of a message, as `1 2 3`."""
    def __init__(self, context):
        self.schema, self.wrong = context.schema, context.options.get("wrong", "")
        if self.wrong == "made":
            raise OSError("no licence")

    def decode(self, values):
        if self.wrong == "raises":
            raise KeyError("b")
        if self.wrong == "exits":
            sys.exit(3)
        rows, accepted, rejected, empty = [], [], [], []
        for place, value in enumerate(values.to_pylist()):
            try:
                found = [int(word) for word in value.split()]
            except ValueError:
                rejected.append(place)
                continue
            rows += found
            accepted += [place] * len(found)
            if not found:
                empty.append(place)
        if self.wrong == "loses":
            rows, accepted = rows[:-1], accepted[:-1]
        kind = pa.int32() if self.wrong == "schema" else pa.int64()
        return Decoded(
            pa.record_batch({"n": pa.array(rows, kind)}), pa.array(accepted, pa.int32()),
            pa.array(rejected, pa.int32()), [Reason("numbers.text", "no number")] * len(rejected),
            pa.array(empty, pa.int32()))

class Parity:
    def __init__(self, context):
        self.wrong = context.options.get("wrong", "")

    def fields(self, rows):
        if self.wrong == "raises":
            raise ZeroDivisionError("parity")
        names = [("even", "odd")[n % 2] if n else None for n in rows.column("n").to_pylist()]
        return pa.record_batch({"p": pa.array(names[1:] if self.wrong == "short" else names, pa.string())})
'''
ENTRIES = """[kafka2hive.decoders]
numbers = some_numbers:Numbers
gone = some_numbers:Missing

[kafka2hive.bucketers]
parity = some_numbers:Parity
"""


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, "some_numbers", ENTRIES, MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


def table(wrong: str = "", wrong_bucket: str = "", name: str = "numbers") -> TableSettings:
    bucket = PluginOptions(name="parity", options=(("wrong", wrong_bucket),))
    return replace(
        table_settings("db.t", "json", (), ((MetadataColumn.OFFSET, "o"), (MetadataColumn.ORDINAL, "i"))),
        format="plugin",
        plugin=PluginOptions(name=name, options=(("wrong", wrong),)),
        columns=(Column("n", "bigint"),),
        bucketing=Bucketing("p={p}", BucketTime.RECORD, plugin=bucket),
    )


def run_of(settings: TableSettings) -> tuple[TableManifest, MemoryFiles]:
    values = {0: b"1 2 3", 1: b"x", 2: b"", 3: b"4", 4: None, 5: b"0"}
    return run_task_of({("t", 0): FakeLog(values, 6)}, settings, [offsets("t", 0, 0, 6)])


def test_a_task_decodes_and_buckets_by_plug_ins() -> None:
    manifest, files = run_of(table())
    assert manifest.failure is None, manifest.failure
    rows = sorted((row["o"], row["i"], row["n"], row["_path"]) for row in read_rows(files, manifest))
    default = "p=__HIVE_DEFAULT_PARTITION__"
    assert rows == [
        (0, 0, 1, "p=odd"),
        (0, 1, 2, "p=even"),
        (0, 2, 3, "p=odd"),
        (3, 0, 4, "p=even"),
        (5, 0, 0, default),
    ]
    (letter,) = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert (letter["offset"], letter["reason"], letter["detail"]) == (1, "numbers.text", "no number")
    assert total(manifest).counts()[:5] == (6, 3, 1, 1, 1) and total(manifest).rows == 5


@pytest.mark.parametrize(
    ("settings", "code", "told"),
    [
        (table(wrong="made"), "plugin.failed", "kafka2hive.decoders numbers: OSError: no licence"),
        (table(wrong="raises"), "plugin.failed", "kafka2hive.decoders numbers: KeyError: 'b'"),
        (table(wrong="exits"), "plugin.failed", "kafka2hive.decoders numbers: SystemExit: 3"),
        (
            table(wrong="schema"),
            "plugin.result",
            "rows have the schema (n int32), but the table's is (n int64)",
        ),
        (table(wrong="loses"), "plugin.result", "5 messages, but the result names 4 of them"),
        (table(name="number"), "plugin.missing", "no package offers number in kafka2hive.decoders"),
        (table(name="gone"), "plugin.failed", "AttributeError"),
        (table(wrong_bucket="raises"), "plugin.failed", "kafka2hive.bucketers parity: ZeroDivisionError"),
        (table(wrong_bucket="short"), "plugin.result", "fields() returned 4 rows for a batch of 5 rows"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_a_plug_in_that_is_wrong_is_an_error_of_its_table(
    settings: TableSettings, code: str, told: str
) -> None:
    manifest, _ = run_of(settings)
    assert manifest.failure is not None and manifest.failure.code == code
    assert told in manifest.failure.message


def test_a_name_that_two_packages_offer_is_refused(tmp_path: Path) -> None:
    lay_out(tmp_path, "other_numbers", ENTRIES, "")
    assert plugin_names(PluginKind.DECODER) == ("gone", "gone", "numbers", "numbers")
    with pytest.raises(TableError, match="several packages offer numbers"):
        load(PluginKind.DECODER, "numbers")


SCHEMA = pa.schema([("n", pa.int64())])


def decoded(**parts: Any) -> Decoded:
    """Of four messages: one row, two rows, a rejection, and none."""
    result = Decoded(
        rows=pa.record_batch({"n": pa.array([1, 2, 3], pa.int64())}),
        accepted=pa.array([0, 1, 1], pa.int32()),
        rejected=pa.array([2], pa.int32()),
        reasons=[WHY],
        without_rows=pa.array([3], pa.int32()),
    )
    return replace(result, **parts)


WHY = Reason("a.b", "c")


def numbers(*values: int | None) -> pa.Int32Array:
    return pa.array(values, pa.int32())


BAD_TEXT = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))


def test_a_sound_result_passes() -> None:
    assert fault_of(decoded(), SCHEMA, 4) is None
    assert fault_of(decoded(without_rows=None), SCHEMA, 3) is None


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, "decode gave NoneType"),
        (decoded(rows=None), "the table's is (n int64)"),
        (
            decoded(rows=pa.record_batch({"m": pa.array([1, 2, 3], pa.int64())})),
            "rows have the schema (m int64)",
        ),
        (decoded(accepted=numbers(0, 1)), "3 rows, but 2 accepted"),
        (decoded(accepted=numbers(1, 0, 1)), "accepted are not indices"),
        (decoded(accepted=numbers(0, 1, 4)), "accepted are not indices"),
        (decoded(accepted=numbers(-1, 1, 1)), "accepted are not indices"),
        (decoded(accepted=numbers(0, 1, None)), "accepted are not indices"),
        (decoded(accepted=pa.array([0, 1, 1], pa.int64())), "accepted are not indices"),
        (decoded(accepted=numbers(0, 1, 2)), "4 messages, but the result names 4 of them, 5 times"),
        (decoded(rejected=numbers(2, 2), reasons=[WHY] * 2), "rejected are not indices"),
        (decoded(without_rows=None), "4 messages, but the result names 3 of them, 3 times"),
        (decoded(without_rows=numbers(3, 3)), "without_rows are not indices"),
        (decoded(reasons=[WHY, WHY]), "reasons are not one Reason for each of 1"),
        (decoded(reasons=pa.array(["a.b: c"])), "reasons are not one Reason"),
        (decoded(reasons=["a.b: c"]), "a reason is not a Reason"),
        (decoded(reasons=[Reason("a.b", "\ud800")]), "a reason is not a Reason"),
        (decoded(reasons=[Reason("no code", "c")]), "a reason is not a Reason with a code of dotted words"),
        (
            decoded(reasons=[Reason("a.b", "")]),
            "a reason is not a Reason with a code of dotted words and a text",
        ),
    ],
)
def test_a_result_that_does_not_hold_together_is_named(result: Any, told: str) -> None:
    fault = fault_of(result, SCHEMA, 4)
    assert fault is not None and told in fault


def test_texts_that_are_no_utf_8_never_reach_a_file() -> None:
    rows = pa.record_batch({"t": BAD_TEXT})
    found = Decoded(rows, numbers(0), numbers(), [])
    fault = fault_of(found, rows.schema, 1)
    assert fault is not None and fault.startswith("rows are damaged: ")


def test_options_and_the_table_are_told_to_the_plug_in() -> None:
    context = DecoderContext(table="db.t", schema=SCHEMA, zone="UTC", options={"wrong": "raises"})
    with pytest.raises(TableError, match="KeyError"):
        PluginDecoder("numbers", context).decode(pa.array([b"1"]))


TABLE = "tables:\n  - table: air.t\n    topics: [t]\n    columns: {n: bigint}\n"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("format: plugin", "plugin needs a section plugin with the decoder's name"),
        ("plugin: {name: numbers}", "only format plugin has this key; the table's format is json"),
        (
            "format: plugin\n    plugin: {name: nubmers}",
            "no package offers nubmers in kafka2hive.decoders; installed here: gone, numbers",
        ),
        (
            "format: plugin\n    plugin: {name: numbers}\n    source: debezium",
            "the decoder unpacks debezium itself",
        ),
        ("bucket: {path: 'p={p}', plugin: {name: numbers}}", "installed here: parity"),
        ("bucket: {path: 'dt=%Y', plugin: {name: parity}}", "is not used: the path has no {field}"),
    ],
)
def test_validate_refuses_what_is_not_installed_or_does_not_belong(lines: str, told: str) -> None:
    found = problems_of(f"{HEAD}{TABLE}    {lines}\n")
    assert any(told in problem for problem in found), found
