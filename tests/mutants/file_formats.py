"""Mistakes in file formats: each one was seen to be caught by the tests it names."""

from tests.mutants.text_mutant import TextMutant

TAIL = "kafka2hive.formats.orc.tail"
ENCODING = "kafka2hive.formats.orc.encoding"
NESTED = "kafka2hive.formats.orc.nested"
TIMES = "kafka2hive.formats.times"
CHUNKS = "kafka2hive.formats.orc.chunks"
READER = "kafka2hive.formats.orc.reader"
STORED_AS = "kafka2hive.hive.stored_as"

PARQUET_ENCODING = "kafka2hive.formats.parquet.encoding"

ORC = "tests/unit/formats/test_orc.py"
PARQUET = "tests/unit/formats/test_parquet.py"
READ_BACK = "tests/unit/formats/test_read_back.py"
UNMAPPED = "tests/unit/service/run/test_unmapped_fields.py"
LINES = "tests/unit/formats/test_lines.py"
AVRO = "tests/unit/formats/test_avro_files.py"
FORMATS_OF_TASKS = (
    "tests/unit/formats/test_orc.py::test_a_task_writes_orc_with_its_footer_and_dead_letters_as_parquet"
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
        "ORC gets values that lie beneath a NULL",
        NESTED,
        (("_without_hidden(rows.column(number).combine_chunks())", "rows.column(number)"),),
        ORC,
    ),
    TextMutant(
        "a row group of ORC is not read back",
        ENCODING,
        (("        self._read_back(rows, data)\n", ""),),
        READ_BACK,
    ),
    TextMutant(
        "nested columns of Parquet are not read back",
        PARQUET_ENCODING,
        (
            (
                "        if not nested.num_columns or not len(nested):\n            return\n",
                "        return\n",
            ),
        ),
        READ_BACK,
    ),
    TextMutant(
        "a JSON field that only few records have is not looked for",
        "kafka2hive.pipeline.task.unmapped_fields",
        (("        for name in decoded.new_keys:\n", "        for name in ():\n"),),
        UNMAPPED,
    ),
    TextMutant(
        "status takes every run's map for its own",
        "kafka2hive.service.conditions.table_state",
        (("        return bool(maps - {fingerprint})\n", "        return False\n"),),
        "tests/unit/cli/test_status.py",
    ),
    TextMutant(
        "a field's share is of the records of one epoch",
        "kafka2hive.service.run.watch.unmapped_fields",
        (("self.looked_at += unmapped.looked_at", "self.looked_at = unmapped.looked_at"),),
        UNMAPPED,
    ),
    TextMutant(
        "0.0 read back is taken for -0.0",
        "kafka2hive.formats.read_back",
        (("    return _BITS.get(kind, kind)", "    return kind"),),
        READ_BACK,
    ),
    TextMutant(
        "rows that are read back too many are not counted",
        "kafka2hive.formats.read_back",
        (("None if start == len(written) else start", "None"),),
        READ_BACK,
    ),
    TextMutant(
        "times within lists are not looked at",
        TIMES,
        (("        inner = rows_with(column.flatten(), bad_times)\n", "        inner = None\n"),),
        ORC,
    ),
    TextMutant(
        "times that Hive cannot read are written",
        "kafka2hive.pipeline.task.chunk_decoder",
        (
            (
                "            unwritable, reasons = rows_not_held(rows, self._unwritable)\n",
                "            reasons: list[str] = []\n",
            ),
        ),
        FORMATS_OF_TASKS,
    ),
    TextMutant(
        "dead letters have the format of their table",
        "kafka2hive.config.values.table",
        ((" if kind is FileKind.DATA else self.writer.of_dead_letters()", ""),),
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
        "the state is a name's last suffix whatever its codec",
        "kafka2hive.model.paths.data_file",
        (('.removesuffix(codec)}.{state}{codec}"', '}.{state}"'),),
        "tests/unit/model/test_layout.py",
    ),
    TextMutant(
        "line ends stand in JSON and text as they are",
        "kafka2hive.formats.lines.texts",
        (("        if there[ord(plain)]:\n", '        if there[ord(plain)] and plain != "\\n":\n'),),
        LINES,
    ),
    TextMutant(
        "decimals are numbers in JSON",
        "kafka2hive.formats.json_lines.values",
        (
            (
                "if pa.types.is_integer(kind) or pa.types.is_boolean(kind) else",
                "if not pa.types.is_temporal(kind) and not pa.types.is_binary(kind) else",
            ),
        ),
        LINES,
    ),
    TextMutant(
        "minus zero is the integer",
        "kafka2hive.formats.lines.texts",
        (('pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)', "texts"),),
        LINES,
    ),
    TextMutant(
        "the rows of lines are those that were given",
        "kafka2hive.formats.lines.reader",
        (("            if end.rows != len(self._lines):\n", "            if False:\n"),),
        LINES,
    ),
    TextMutant(
        "names in a damaged schema are found damaged by whoever asks for them",
        "kafka2hive.formats.schema_text",
        (("        list(_names(schema))", "        pass"),),
        LINES,
    ),
    TextMutant(
        "only a schema's own columns are looked at for damaged names",
        "kafka2hive.formats.schema_text",
        (("        yield from _names(", "        list("),),
        LINES,
    ),
    TextMutant(
        "a value may have the text of NULL",
        "kafka2hive.formats.delimited.values",
        (("if pc.any(same).as_py() else None", "if False else None"),),
        LINES,
    ),
    TextMutant(
        "files without compression prove a ledger as if they were compressed",
        "kafka2hive.formats.lines.codec",
        (
            (
                '        return LineCodec("", lambda data: data, None)\n',
                '        return LineCodec("", lambda data: data, gzip_trailer)\n',
            ),
        ),
        LINES,
    ),
    TextMutant(
        "a long trailer is read as far as the first look goes",
        "kafka2hive.formats.trailer",
        (("    if len(data) < whole <= length:\n", "    if False:\n"),),
        LINES,
    ),
    TextMutant(
        "fields of text may be read by another delimiter",
        STORED_AS,
        (('    elif format == "text":\n', "    elif False:\n"),),
        "tests/unit/hive/test_hive_text.py",
    ),
    TextMutant(
        "lists are fields of text",
        "kafka2hive.config.checks.writer",
        (("    for name in nested:\n", "    for name in nested[:0]:\n"),),
        "tests/unit/config/test_config_load.py",
    ),
    TextMutant(
        "timestamps are written in the default form",
        PARQUET_ENCODING,
        (('options.timestamps == "int96",', "False,"),),
        PARQUET,
    ),
    TextMutant(
        "times of int96 are read as nanoseconds",
        "kafka2hive.formats.parquet.reader",
        (('coerce_int96_timestamp_unit="us"', 'coerce_int96_timestamp_unit="ns"'),),
        PARQUET,
    ),
    TextMutant(
        "parts of a millisecond are no reason to refuse a row",
        "kafka2hive.pipeline.decode.writable",
        (('return _MILLIS if options.timestamps == "millis" else None', "return None"),),
        PARQUET,
    ),
    TextMutant(
        "rows stay as they came in spite of sorted_by",
        "kafka2hive.formats.sorting",
        (("self._inner.write(rows.take(", "self._inner.write(rows) or (rows.take("),),
        PARQUET,
    ),
    TextMutant(
        "the footer takes the number of a column for that of its leaf",
        "kafka2hive.formats.parquet.columns",
        (("leaves.index(name)", "schema.get_field_index(name)"),),
        PARQUET,
    ),
    TextMutant(
        "Bloom filters have room for few values",
        "kafka2hive.formats.parquet.columns",
        (("max(1, most)", "10"),),
        PARQUET,
    ),
    TextMutant(
        "what the map says of a dictionary holds until the sample is measured",
        PARQUET_ENCODING,
        (
            (
                "if self._given_of(path, without[path] >= size * _WORTH_IT)",
                "if without[path] >= size * _WORTH_IT",
            ),
        ),
        PARQUET,
    ),
    TextMutant(
        "columns that are not in the files pass in sorted_by, dictionary and bloom_filter",
        "kafka2hive.config.checks.writer",
        (("        if name not in types:\n", "        if False:\n"),),
        "tests/unit/config/test_config_load.py",
    ),
    TextMutant(
        "Hive's table may be of any format",
        STORED_AS,
        (
            (
                "        if self.input_format not in found",
                "        if False and self.input_format not in found",
            ),
        ),
        "tests/unit/hive/test_hive_text.py",
    ),
    TextMutant(
        "rows of text files may be read by any class",
        STORED_AS,
        (("        if self.serdes and found.serde not in", "        if False and found.serde not in"),),
        "tests/unit/hive/test_hive_text.py",
    ),
    TextMutant(
        "Avro files do not say that their days are of the Gregorian calendar",
        "kafka2hive.formats.avro.encoding",
        ((', "writer.proleptic": b"true"', ""),),
        AVRO,
    ),
    TextMutant(
        "columns of Avro files keep their capital letters",
        "kafka2hive.formats.avro.schema",
        (("field.with_name(field.name.lower())", "field"),),
        AVRO,
    ),
    TextMutant(
        "finer times are no dead letters of a table of Avro files",
        "kafka2hive.pipeline.decode.writable",
        (("        return _AVRO\n", "        return None\n"),),
        AVRO,
    ),
    TextMutant(
        "the rows of Avro files are not compared with the trailer",
        "kafka2hive.formats.avro.reader",
        (("if has_trailer and self.rows !=", "if False and self.rows !="),),
        AVRO,
    ),
    TextMutant(
        "a trailer of zstd is data of the codec",
        "kafka2hive.formats.avro.trailer",
        (('_NOTHING if codec == "gzip" else', "_NOTHING if codec else"),),
        AVRO,
    ),
    TextMutant(
        "the columns of an Avro file need not be those of its schema",
        "kafka2hive.formats.avro.reader",
        (("!= avro_schema(found)", "== 0"),),
        AVRO,
    ),
    TextMutant(
        "fields of structs in Avro files may have capital letters",
        "kafka2hive.config.avro_columns",
        (("        if own != own.lower():\n", "        if False:\n"),),
        "tests/unit/config/tables/test_avro_columns.py",
    ),
    TextMutant(
        "a table of Avro files with structs may be of others",
        "kafka2hive.hive.check",
        (('    if spec.format == "avro" and found.ledger is None:\n', "    if False:\n"),),
        "tests/unit/hive/test_hive_text.py",
    ),
    TextMutant(
        "Avro's timestamps need not be milliseconds",
        "kafka2hive.config.checks.avro_files",
        (('or (has_times and writer.timestamps != "millis")', ""),),
        "tests/unit/config/test_config_load.py",
    ),
    TextMutant(
        "a field that Avro files cannot hold becomes a column",
        "kafka2hive.pipeline.decode.written_fields.differences",
        (('self._is_avro = table.writer.format == "avro"', "self._is_avro = False"),),
        "tests/unit/pipeline/decode/test_written_fields.py",
    ),
    TextMutant(
        "lines are counted by the rows given, not by the line ends written",
        "kafka2hive.formats.lines.encoding",
        (("int(np.count_nonzero(np.frombuffer(text, np.uint8) == _LINE_END))", "len(batch)"),),
        LINES,
    ),
)
