"""Mistakes that turn a value into another one instead of a dead letter."""

from tests.mutants.text_mutant import TextMutant

EPOCHS = "tests/contract/test_epoch_numbers.py"
DAYS = "tests/contract/test_days.py"
FRACTIONS = "tests/contract/test_fractions.py"
ENUMS = "tests/contract/test_unknown_enums.py"
SEVERAL_PATHS = "tests/contract/test_several_paths.py"
CHUNKS = "tests/unit/pipeline/task/test_task_chunk.py"

MUTANTS = (
    TextMutant(
        "a number of days is an instant, and west of UTC the day before",
        "kafka2hive.pipeline.decode.epochs",
        (('    return "UTC" if unit == "d" else zone\n', "    return zone\n"),),
        DAYS,
    ),
    TextMutant(
        "days of Avro are instants",
        "kafka2hive.pipeline.decode.avro.fits",
        (('instant=unit != "d")', "instant=True)"),),
        DAYS,
    ),
    TextMutant(
        "an epoch number beyond a bigint is the last time there is",
        "kafka2hive.pipeline.decode.exact.times",
        (
            (
                "            raise out_of_range(pa.int64(), value, path)\n",
                '            value, number = Whole("0"), LATEST * divisor // factor\n',
            ),
        ),
        EPOCHS,
    ),
    TextMutant(
        "epoch numbers near the ends of a bigint wrap around",
        "kafka2hive.pipeline.decode.epochs",
        (("    bad = (values < max(low, -(2**63)))", "    bad = (values < -(2**63))"),),
        EPOCHS,
    ),
    TextMutant(
        "a record's timestamp wraps around",
        "kafka2hive.pipeline.task.bucket_times",
        (
            (
                "    return _wall_clock(_micros(times, 1_000), zone)\n",
                "    return _wall_clock(pc.multiply(times, 1_000), zone)\n",
            ),
        ),
        CHUNKS,
    ),
    TextMutant(
        "a record whose timestamp no column holds is written without it",
        "kafka2hive.pipeline.task.rows",
        (("    if not names or not rows.column", "    if True or not rows.column"),),
        CHUNKS,
    ),
    TextMutant(
        "numbers of nanoseconds are cut towards 1970",
        "kafka2hive.pipeline.decode.epochs",
        (
            (
                "    micros = np.where(bad, 0, values) * factor // divisor\n",
                "    micros = np.trunc(np.where(bad, 0, values) * factor / divisor).astype(np.int64)\n",
            ),
        ),
        FRACTIONS,
    ),
    TextMutant(
        "times that were cut are not counted",
        "kafka2hive.pipeline.decode.texts.column",
        (("            self._changes.add(FRACTION,", "            Changes().add(FRACTION,"),),
        FRACTIONS,
    ),
    TextMutant(
        "a stamp's nanoseconds are not judged where they are cut",
        "kafka2hive.pipeline.decode.registered.finer",
        (("        bad = (nanos < 0) | (nanos >= 10**9)\n", "        bad = nanos < 0\n"),),
        FRACTIONS,
    ),
    TextMutant(
        "numbers of enums without a name are not counted",
        "kafka2hive.pipeline.decode.protobuf.values",
        (("    changes.add(UNKNOWN_ENUM, 1)\n", "    Changes().add(UNKNOWN_ENUM, 1)\n"),),
        ENUMS,
    ),
    TextMutant(
        "an enum's number without a name is NULL where the map wants its digits",
        "kafka2hive.pipeline.decode.protobuf.values",
        (
            (
                "    return str(number) if as_digits else None\n",
                "    return str(number) if not as_digits else None\n",
            ),
        ),
        ENUMS,
    ),
    TextMutant(
        "numbers without a name are taken within arrays, too",
        "kafka2hive.pipeline.decode.protobuf.resolve",
        ((' and field.label != "repeated":\n', ":\n"),),
        ENUMS,
    ),
    TextMutant(
        "what a task counted that was given up is counted for the next one",
        "kafka2hive.pipeline.task.chunk_decoder",
        (("        self._changes.take()  # what", "        # what"),),
        CHUNKS,
    ),
    TextMutant(
        "of several paths the first value counts whatever the others have",
        "kafka2hive.pipeline.decode.several_paths",
        (
            (
                "                for row in np.flatnonzero(_differ(columns[number], other)).tolist():\n",
                "                for row in ():\n",
            ),
        ),
        SEVERAL_PATHS,
    ),
    TextMutant(
        "of several paths the one without a value counts",
        "kafka2hive.pipeline.decode.several_paths",
        (("    missing = column.is_null().", "    missing = column.is_valid()."),),
        SEVERAL_PATHS,
    ),
    TextMutant(
        "defaults are not counted",
        "kafka2hive.pipeline.decode.defaults",
        (
            (
                "            self._changes.add_defaults(self.schema.names[number], columns[number].null_count)\n",
                "",
            ),
        ),
        "tests/contract/test_defaults.py",
    ),
)
