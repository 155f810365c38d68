"""Mistakes in trusting plug-ins."""

from tests.mutants.text_mutant import TextMutant

TESTS = "tests/unit/pipeline/decode/test_plugins.py"
WRITER_TESTS = "tests/unit/formats/test_plugin_writers.py"
DECODER = "kafka2hive.pipeline.plugins.decoder"
BUCKETER = "kafka2hive.pipeline.plugins.bucketer"
FOUND = "kafka2hive.model.entry_points"

MUTANTS = (
    TextMutant(
        "what a decoder of others gives is taken as it is",
        DECODER,
        (("fault_of(decoded, self.schema, len(values))) is not None", "None) is not None"),),
        TESTS,
    ),
    TextMutant(
        "rows of another schema pass",
        DECODER,
        ((" or not decoded.rows.schema.equals(schema)", ""),),
        TESTS,
    ),
    TextMutant(
        "damaged rows pass",
        DECODER,
        (("        decoded.rows.validate(full=True)\n", "        decoded.rows.validate()\n"),),
        TESTS,
    ),
    TextMutant(
        "a message may be a row and a dead letter",
        DECODER,
        (("len(every) != messages or ", ""),),
        TESTS,
    ),
    TextMutant(
        "a message may be nowhere",
        DECODER,
        (
            (
                "    if len(every) != messages or len(np.unique(every)) != messages:\n",
                "    if len(every) > messages:\n",
            ),
        ),
        TESTS,
    ),
    TextMutant(
        "positions of other messages pass",
        DECODER,
        ((" and (places < messages).all()", ""),),
        TESTS,
    ),
    TextMutant(
        "rows in another order than their messages pass",
        DECODER,
        ((" and (steps >= int(once)).all()", ""),),
        TESTS,
    ),
    TextMutant(
        "a reason may be any text",
        DECODER,
        ((" if not _is_sound(reason)", " if False"),),
        TESTS,
    ),
    TextMutant(
        "a plug-in's exception ends the task",
        FOUND,
        (("        if error is None or isinstance", "        if error is not None or isinstance"),),
        TESTS,
    ),
    TextMutant(
        "one of several packages is taken",
        FOUND,
        (("    if names.count(name) == 1:\n", "    if name in names:\n"),),
        TESTS,
    ),
    TextMutant(
        "fewer buckets than rows pass",
        BUCKETER,
        (("        if len(found) != rows:\n", "        if len(found) > rows:\n"),),
        TESTS,
    ),
    *(
        TextMutant(name, module, (change,), WRITER_TESTS)
        for name, module, change in (
            (
                "rows that a writer of others loses pass",
                "kafka2hive.formats.plugin.encoding",
                ("found != self._rows:", "False:"),
            ),
            (
                "a writer of others may hide an error of the file system",
                "kafka2hive.formats.plugin.encoding",
                ("            if self._output.error is not None:\n", "            if False:\n"),
            ),
            (
                "an error of the file system becomes the writer's fault",
                "kafka2hive.formats.plugin.output",
                ("            self.error = self.error or error\n", ""),
            ),
            (
                "a full disk on the worker's host ends the task",
                "kafka2hive.formats.plugin.output",
                ("        except OSError as error:\n", "        except BufferError as error:\n"),
            ),
            (
                "bytes that come after the file was counted are in it",
                "kafka2hive.formats.plugin.output",
                ("        if self._ended:\n", "        if False:\n"),
            ),
            (
                "the failure of one table's writer is another table's",
                "kafka2hive.pipeline.task.write.limits",
                ("(StorageError, TableError, pa.ArrowException)", "(StorageError, pa.ArrowException)"),
            ),
            (
                "a statement to Hive may hold any text as a class",
                FOUND,
                (" or not _CLASS.fullmatch(value)", ""),
            ),
            (
                "damaged rows of a file pass",
                "kafka2hive.formats.plugin.reader",
                ("            batch.validate(full=True)\n", ""),
            ),
            (
                "a file of a package is taken for Parquet",
                "kafka2hive.formats.opened",
                (" and name not in get_args(FileFormat):", " and False:"),
            ),
            (
                "a writer may be called as a format of ours",
                "kafka2hive.config.checks.plugin",
                (" or name in get_args(FileFormat):", ":"),
            ),
            (
                "Hive's table of a plug-in may have other properties",
                "kafka2hive.hive.stored_as",
                ("        wanted = storage.serde_properties\n", "        wanted = {}\n"),
            ),
        )
    ),
)
