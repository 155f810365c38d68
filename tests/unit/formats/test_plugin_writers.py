"""Files of a plug-in's writer: rows are counted before and after it, its errors set the table aside, and files are read back."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from kafka2hive.config.keys import Column, MetadataColumn, PluginOptions, TableSettings, WriterOptions
from kafka2hive.formats.files import UNREADABLE, encoding_of, end_of, open_reader
from kafka2hive.formats.lines.files import PlainLines
from kafka2hive.formats.plugin import storage_of
from kafka2hive.hive.check import check_table
from kafka2hive.hive.tables import compared_table, create_statement
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind
from kafka2hive.model.paths.table_directory import extension_of
from kafka2hive.plan.contract import TableManifest
from kafka2hive.plugins import HiveStorage
from kafka2hive.service.verify.files import damage_of
from kafka2hive.storage.port import OutcomeUnknown
from kafka2hive.task.write.limits import TaskLimits
from tests.harness.fake_consumer import FakeLog
from tests.harness.map_text import HEAD, problems_of
from tests.harness.one_task import run_task_of, total
from tests.harness.package import lay_out
from tests.harness.task_files import MemoryFiles, offsets, table_settings
from tests.unit.decode.test_plugins import TABLE
from tests.unit.hive.test_hive_text import FOUND, WISH

MODULE = '''
import pyarrow as pa
from kafka2hive.plugins import HiveStorage

READS = dict(serde="a.b.Serde", input_format="a.b.In", output_format="a.b.Out", serde_properties={"it's": "{}"})

class Streams:
    """Writes Arrow's streams, which Hive does not read: the tests check only the bytes."""
    def __init__(self, context):
        self.wrong = wrong = context.options.get("wrong", "")
        if wrong == "made":
            raise OSError("no licence")
        self.hive = HiveStorage(**READS | ({"serde": "a b"} if wrong == "class" else {}))
        if wrong == "properties":
            self.hive = HiveStorage(**READS | {"serde_properties": {"a": 1}})
        if wrong == "no storage":
            self.hive = "STORED AS ARROW"

    def open(self, output, schema):
        return Stream(output, schema, self.wrong)

    def count(self, source):
        if self.wrong == "count":
            return "2"
        return pa.ipc.open_stream(source).read_all().num_rows

    def read(self, source, schema):
        if self.wrong == "damaged":
            bad = pa.StringArray.from_buffers(1, pa.py_buffer(bytes([0] * 4 + [1] + [0] * 3)), pa.py_buffer(b"\\xff"))
            return [pa.record_batch({"n": bad})]
        if self.wrong == "lists":
            return [[1, 2]]
        return pa.ipc.open_stream(source)

class Stream:
    def __init__(self, output, schema, wrong):
        self.output, self.wrong = output, wrong
        self.file = pa.ipc.new_stream(pa.PythonFile(output, "w"), schema)

    def write(self, rows):
        if self.wrong == "raises":
            raise KeyError("n")
        if self.wrong == "loses":
            rows = rows.slice(1)
        if self.wrong == "late":
            return
        self.file.write_batch(rows)

    def close(self):
        self.file.close()

class Swallows:
    def __init__(self, context):
        self.output = None
    def open(self, output, schema):
        self.output, self.rows = output, 0
        return self
    def write(self, rows):
        self.rows += len(rows)
        try:
            self.output.write(b"x" * len(rows))
        except Exception:
            pass
    def close(self):
        pass
    def count(self, source):
        return self.rows
'''
ENTRIES = "[kafka2hive.writers]\nstreams = some_files:Streams\nswallows = some_files:Swallows\n"
SCHEMA = pa.schema([("n", pa.int64())])


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, "some_files", ENTRIES, MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


def options(wrong: str = "", name: str = "streams") -> WriterOptions:
    return WriterOptions(format="plugin", plugin=PluginOptions(name=name, options=(("wrong", wrong),)))


def table(wrong: str = "", name: str = "streams") -> TableSettings:
    settings = table_settings(
        "db.t", "json", (), ((MetadataColumn.OFFSET, "o"),), writer=options(wrong, name)
    )
    return replace(settings, columns=(Column("n", "bigint"),))


def run_of(settings: TableSettings) -> tuple[TableManifest, MemoryFiles]:
    values = {n: b'{"n": %d}' % n for n in range(5)} | {2: b"x"}
    return run_task_of({("t", 0): FakeLog(values, 5)}, settings, [offsets("t", 0, 0, 5)])


def test_a_task_writes_files_with_a_plug_in_and_dead_letters_without() -> None:
    manifest, files = run_of(table())
    assert manifest.failure is None, manifest.failure
    data, letters = sorted(manifest.files, key=lambda file: file.kind is FileKind.DEAD_LETTER)
    assert [extension_of(file.staged) for file in (data, letters)] == ["streams", "parquet"]
    content = files.content[data.staged]
    reader = open_reader(content, "streams", PlainLines(SCHEMA, options()))
    assert reader.rows == data.rows == 4 and reader.schema.names == ["n", "o"]
    assert reader.filled_columns() == {"n", "o"}
    rows = [row for batch in reader.batches(["o", "n"], 3) for row in batch.to_pylist()]
    assert rows == [{"o": n, "n": n} for n in (0, 1, 3, 4)]
    assert max(len(batch) for batch in reader.batches(["n"], 3)) == 3
    assert total(manifest).written == 4
    # what `verify` sees: the same bytes, other rows than committed, and a footer that says nothing of the ledger
    assert damage_of(data, data.final, content) is None
    found = damage_of(replace(data, rows=5), data.final, content)
    assert found is not None and found.code == "verify.rows"
    assert end_of("streams", len(content), lambda most: content[-most:]) is None


@pytest.mark.parametrize(
    ("wrong", "code", "message"),
    [
        ("made", "plugin.failed", "kafka2hive.writers streams: OSError: no licence"),
        ("raises", "plugin.failed", "kafka2hive.writers streams: KeyError: 'n'"),
        ("loses", "plugin.result", "it was given 4 rows and counts 3 in the file"),
        ("late", "plugin.result", "it was given 4 rows and counts 0 in the file"),
        ("count", "plugin.result", "it was given 4 rows and counts '2' in the file"),
    ],
)
def test_a_wrong_writer_is_an_error_of_its_table(wrong: str, code: str, message: str) -> None:
    manifest, files = run_of(table(wrong))
    assert manifest.failure is not None and manifest.failure.code == code
    assert message in manifest.failure.message
    assert not manifest.files and not any(path.endswith("streams.pending") for path in files.content)


class Broken:
    """A stream whose write gets no response."""

    def write(self, data: bytes) -> int:
        raise OutcomeUnknown("write", "/t/file")


@pytest.mark.parametrize("name", ["streams", "swallows"])
def test_an_error_of_the_file_is_raised_even_if_the_writer_catches_it(name: str) -> None:
    rows = pa.table({"n": [1, 2]}, SCHEMA)
    with pytest.raises(
        OutcomeUnknown
    ):  # a writer that begins with bytes of its own meets it when it opens the file
        encoder = encoding_of(options(name=name)).open(cast("pa.NativeFile", Broken()), rows)
        with ExitStack() as stack:
            stack.callback(encoder.abandon)
            encoder.write(rows)


def test_a_full_disk_below_the_copy_is_named() -> None:
    rows = pa.table({"n": [1, 2]}, SCHEMA)
    encoder = cast("Any", encoding_of(options()).open(pa.BufferOutputStream(), rows))

    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            """Nothing is held."""

    encoder._output._copy.close()
    encoder._output._copy = Full()
    with pytest.raises(TableError, match="No space left on device") as failed:
        encoder.write(rows)
    assert failed.value.code == "plugin.disk"
    encoder.abandon()


def test_an_ended_file_accepts_no_bytes_and_an_abandoned_one_ignores_them() -> None:
    rows = pa.table({"n": [1, 2]}, SCHEMA)
    stream = pa.BufferOutputStream()
    encoder = cast("Any", encoding_of(options(name="swallows")).open(stream, rows))
    encoder.write(rows)
    encoder._output.take_copy()
    with ExitStack() as stack:
        stack.callback(encoder.abandon)
        with pytest.raises(ValueError, match="the file is ended"):
            encoder._output.write(b"late")
    assert encoder._output.write(b"late") == 4
    assert stream.getvalue().to_pybytes() == b"xx"


class Other:
    """The writer of another table, which fails when it must free memory for this one."""

    buffered_bytes = 10

    def __init__(self, limits: TaskLimits) -> None:
        self.limits = limits
        self.failure: Exception | None = None

    def relieve(self) -> None:
        raise TableError("plugin.failed", "wrong", "")

    def end_file(self, bucket: int) -> None:
        raise TableError("plugin.failed", "wrong", "")

    def fail(self, error: Exception) -> None:
        self.limits.buffered_bytes, self.failure = 0, error


def test_a_failure_of_another_tables_writer_is_not_this_ones_error() -> None:
    for act in ("settle", "opening"):
        limits = TaskLimits(memory_bytes=5, open_files=1, file_bytes=100)
        other = Other(limits)
        limits.join(other)
        limits.buffered_bytes = 10
        if act == "settle":
            limits.settle()
        else:
            limits.note_opening(other, 0)
            limits.note_opening(Other(limits), 0)
        assert isinstance(other.failure, TableError), act


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("class", "hive.serde is not the full name of a Java class: 'a b'"),
        ("properties", "hive.serde_properties is not a mapping of strings to strings: {'a': 1}"),
        ("no storage", "hive is str instead of HiveStorage"),
    ],
)
def test_the_hive_storage_is_checked_before_any_statement(wrong: str, message: str) -> None:
    with pytest.raises(TableError) as refused:
        storage_of(PluginOptions(name="streams", options=(("wrong", wrong),)))
    assert (refused.value.code, message in refused.value.message) == ("plugin.result", True)


def test_hives_table_is_created_and_recognised_by_the_plug_ins_classes() -> None:
    storage = storage_of(PluginOptions(name="streams"))
    wish = replace(WISH, format="plugin", storage=storage)
    clause = (
        r"ROW FORMAT SERDE 'a.b.Serde' WITH SERDEPROPERTIES ('it\'s'='{}')"
        " STORED AS INPUTFORMAT 'a.b.In' OUTPUTFORMAT 'a.b.Out' LOCATION"
    )
    assert clause in create_statement(wish, "led")
    plain = HiveStorage(serde="a.b.Serde", input_format="a.b.In", output_format="a.b.Out")
    assert "ROW FORMAT SERDE 'a.b.Serde' STORED AS" in create_statement(replace(wish, storage=plain), "led")
    assert compared_table(wish).format != compared_table(replace(wish, storage=plain)).format
    same = replace(FOUND, input_format="a.b.In", serde="a.b.Serde", serde_properties={"it's": "{}"})
    check_table(wish, same)
    for other, message in (
        (replace(same, serde="a.b.Other"), "its rows are not read as Serde but by a.b.Other"),
        (replace(same, input_format="a.b.Text"), "it does not hold Serde files"),
        (replace(same, serde_properties={}), "its SerDe property it's is None"),
        (replace(same, columns=same.columns[::-1]), "Hive reads Serde files by the order of their columns"),
    ):
        with pytest.raises(TableError) as refused:
            check_table(wish, other)
        assert message in refused.value.message


def written(wrong: str = "") -> bytes:
    rows = pa.table({"n": [1, 2]}, SCHEMA)
    stream = pa.BufferOutputStream()
    encoder = encoding_of(options(wrong)).open(stream, rows)
    encoder.write(rows)
    encoder.end({})
    return bytes(stream.getvalue().to_pybytes())


@pytest.mark.parametrize(
    ("extension", "wrong", "message"),
    [
        ("stream", "", "no package offers stream in kafka2hive.writers"),
        ("streams", "made", "OSError: no licence"),
        ("streams", "damaged", "Invalid UTF8"),
        ("streams", "lists", "read did not return record batches of one schema"),
    ],
)
def test_a_file_that_its_plug_in_cannot_read_is_unreadable(extension: str, wrong: str, message: str) -> None:
    with pytest.raises(UNREADABLE, match=message):
        _ = open_reader(written(), extension, PlainLines(SCHEMA, options(wrong))).schema


def test_a_file_without_the_map_has_rows_but_no_columns() -> None:
    reader = open_reader(written(), "streams")
    assert reader.rows == 2
    with pytest.raises(UNREADABLE, match="the file does not contain its columns"):
        _ = reader.schema
    with pytest.raises(UNREADABLE):
        _ = open_reader(b"no stream", "streams").rows
    with pytest.raises(UNREADABLE, match="count returned str"):
        _ = open_reader(written(), "streams", PlainLines(SCHEMA, options("count"))).rows


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("writer: {format: plugin}", "is missing: format plugin requires the name of a writer"),
        (
            "writer: {plugin: {name: streams}}",
            "is used only with format plugin; the writer's format is parquet",
        ),
        ("writer: {format: plugin, plugin: {name: stream}}", "installed here: streams, swallows"),
        ("writer: {format: plugin, plugin: {name: orc}}", "and no built-in format"),
        ("writer: {format: plugin, plugin: {name: a.gz}}", "1 to 16 letters a-z and digits"),
        ("writer: {format: plugin, plugin: {name: streams}, level: 3}", "is not passed to a plug-in"),
        (
            "schema_evolution: add\n    writer: {format: plugin, plugin: {name: streams}}",
            "add cannot be used with a plug-in's files",
        ),
        (
            "writer: {format: plugin, plugin: {name: streams}, page_index: true}",
            "is an option of Parquet files",
        ),
    ],
)
def test_validate_refuses_a_writer_that_is_missing_or_does_not_fit(lines: str, message: str) -> None:
    found = problems_of(f"{HEAD}{TABLE}    {lines}\n")
    assert any(message in problem for problem in found), found
