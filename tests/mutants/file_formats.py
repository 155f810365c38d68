"""Mistakes in file formats: each one was seen to be caught by the tests it names."""

from tests.mutants.text_mutant import TextMutant

TAIL = "kafka2hive.formats.orc.tail"
ENCODING = "kafka2hive.formats.orc.encoding"
VALUES = "kafka2hive.formats.orc.values"
CHUNKS = "kafka2hive.formats.orc.chunks"
READER = "kafka2hive.formats.orc.reader"

ORC = "tests/unit/test_orc.py"
FORMATS_OF_TASKS = (
    "tests/unit/test_orc.py::test_a_task_writes_orc_with_its_footer_and_dead_letters_as_parquet"
)

MUTANTS = (
    TextMutant(
        "stripes stand where the single files had them",
        ENCODING,
        (("self._stripes.append(stripe.at(self._length))", "self._stripes.append(stripe)"),),
        ORC,
    ),
    TextMutant(
        "a joined footer has the rows of the first stripe",
        TAIL,
        (("rows=sum(tail.rows for tail in tails)", "rows=tails[0].rows"),),
        ORC,
    ),
    TextMutant(
        "statistics of several stripes are those of the first",
        TAIL,
        (("if len(tails) == 1 else _joined_statistics(tails)", "if tails else _joined_statistics(tails)"),),
        ORC,
    ),
    TextMutant(
        "days of ORC files are those of an unknown calendar",
        TAIL,
        (("            (_CALENDAR, _PROLEPTIC),\n", ""),),
        ORC,
    ),
    TextMutant(
        "slices of nested columns are written as they lie in memory",
        ENCODING,
        (("writer.write(_without_offsets(rows))", "writer.write(rows)"),),
        ORC,
    ),
    TextMutant(
        "times within lists are not looked at",
        VALUES,
        (("        inner = unwritable_rows(column.flatten())\n", "        inner = None\n"),),
        ORC,
    ),
    TextMutant(
        "times that Hive cannot read are written",
        "kafka2hive.pipeline.task.chunk_decoder",
        (("            rows, chosen, bad = held_by_orc(rows, chosen)\n", "            bad = None\n"),),
        FORMATS_OF_TASKS,
    ),
    TextMutant(
        "dead letters have the format of their table",
        "kafka2hive.pipeline.values",
        ((' if kind is FileKind.DATA else replace(self.writer, format="parquet")', ""),),
        FORMATS_OF_TASKS,
    ),
    TextMutant(
        "a footer longer than a chunk is one chunk",
        CHUNKS,
        (("    block = min(block, _MOST_IN_A_CHUNK - 1)\n", "    block = _MOST_IN_A_CHUNK - 1\n"),),
        ORC,
    ),
    TextMutant(
        "a long end is read as far as the first look goes",
        READER,
        (("    if len(data) < needed <= length:\n", "    if False:\n"),),
        ORC,
    ),
    TextMutant(
        "Hive's table may be of any format",
        "kafka2hive.hive.check",
        (("    if not found.input_format or spec.format in", "    if found.input_format or spec.format in"),),
        "tests/unit/test_hive_text.py",
    ),
)
