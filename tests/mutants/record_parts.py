"""Mistakes in columns that are taken from a record's key and headers."""

from tests.mutants.text_mutant import TextMutant

PARTS = "tests/unit/pipeline/task/test_record_parts.py"
TEXTS = "tests/contract/test_texts.py"

MUTANTS = (
    TextMutant(
        "of several headers of a name the first counts",
        "kafka2hive.pipeline.task.record_columns",
        (
            (
                "                if name in found:\n",
                "                if name in found and found[name][place] is None:\n",
            ),
        ),
        PARTS,
    ),
    TextMutant(
        "a key that cannot be decoded is a row of nulls",
        "kafka2hive.pipeline.task.record_columns",
        (
            (
                "        return columns, dict(zip(bad, map(_of_key, decoded.reasons), strict=True))\n",
                "        return columns, dict(zip(bad[1:], map(_of_key, decoded.reasons[1:]), strict=True))\n",
            ),
        ),
        PARTS,
    ),
    TextMutant(
        "a record without a key takes the next one's",
        "kafka2hive.pipeline.task.record_columns",
        (
            (
                "        rows[places[decoded.accepted.to_numpy()]] = ",
                "        rows[decoded.accepted.to_numpy()] = ",
            ),
        ),
        PARTS,
    ),
    TextMutant(
        "rows of tombstones have no columns of their key",
        "kafka2hive.pipeline.task.chunk_decoder",
        (
            (
                "            nulls = rows_of_nulls(self._decoder.schema, len(tombstones))\n",
                "            nulls = rows_of_nulls(self._decoder.schema, len(tombstones))\n"
                "            tombstones = tombstones[:0]\n",
            ),
        ),
        PARTS,
    ),
    TextMutant(
        "numbers that only Arrow reads are numbers",
        "kafka2hive.pipeline.decode.texts.column",
        (
            (
                "        doubtful = doubtful | _mask(pc.not_equal(numbers.cast(pa.string()), texts))\n",
                "",
            ),
        ),
        TEXTS,
    ),
    TextMutant(
        "decimals of more than 38 digits are cast by Arrow",
        "kafka2hive.pipeline.decode.texts.column",
        (("'[0-9]{{1,{before}}}'", "'[0-9]+'"),),
        TEXTS,
    ),
)
WIRING = (
    TextMutant(
        "the characters of the map do not reach the decoder",
        "kafka2hive.pipeline.task.rows",
        (("        csv=table.csv,\n", ""),),
        "tests/unit/pipeline/task/test_task_formats.py",
    ),
    TextMutant(
        "decimals are texts whatever the map says",
        "kafka2hive.pipeline.task.rows",
        (("        decimals=told_decimals(table.source),\n", '        decimals="text",\n'),),
        "tests/unit/pipeline/task/test_task_formats.py",
    ),
)
