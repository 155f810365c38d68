"""Mistakes in unpacking the envelopes of change logs."""

from tests.mutants.text_mutant import TextMutant

CHANGE_LOGS = "tests/contract/test_change_logs.py"
MODULE = "kafka2hive.pipeline.decode.change_logs.decoder"

MUTANTS = (
    TextMutant(
        "a deletion is the row after it",
        MODULE,
        (("                if (images == number).any():\n", "                if False:\n"),),
        CHANGE_LOGS,
    ),
    TextMutant(
        "a change without its row is a row of nulls",
        MODULE,
        (("        if not len(at):\n", "        if True:\n"),),
        CHANGE_LOGS,
    ),
    TextMutant(
        "an image without values is not there",
        "kafka2hive.pipeline.decode.change_logs.presence",
        (
            (
                'missing = read.rows.column("image").is_null()',
                'missing = read.rows.column("image").is_valid()',
            ),
        ),
        CHANGE_LOGS,
    ),
    TextMutant(
        "an image is looked for at one of two places only",
        MODULE,
        (("            self._open_presence(place),\n", "            self._open_presence(0),\n"),),
        CHANGE_LOGS,
    ),
    TextMutant(
        "only the position of one connector is known",
        "kafka2hive.pipeline.decode.change_logs.envelopes",
        (("    if _there(commit_lsn):\n", "    if False:\n"),),
        CHANGE_LOGS,
    ),
    TextMutant(
        "rows stand in the order in which they were unpacked",
        "kafka2hive.pipeline.decode.change_logs.rows",
        (
            (
                '        order = np.argsort(places, kind="stable")\n',
                "        order = np.arange(len(places))\n",
            ),
        ),
        CHANGE_LOGS,
    ),
    TextMutant(
        "an envelope beside its schema is not looked for",
        MODULE,
        (("        if bare.any():\n", "        if False:\n"),),
        CHANGE_LOGS,
    ),
    TextMutant(
        "positions sort as texts of numbers",
        "kafka2hive.pipeline.decode.change_logs.envelopes",
        ((', digits, "0")\n', ', 1, "0")\n'),),
        CHANGE_LOGS,
    ),
)
CANAL = "kafka2hive.pipeline.decode.change_logs.canal"
CANAL_TESTS = "tests/contract/test_canal.py"
CANAL_MUTANTS = (
    TextMutant(
        "a row of Canal that is null among others is a row of nulls",
        CANAL,
        ((" & (missing == 0)", ""),),
        CANAL_TESTS,
    ),
    TextMutant(
        "the row beside a truncation is its row",
        CANAL,
        (("pc.not_equal(operations, _WITHOUT_ROW))\n", 'pc.not_equal(operations, "none"))\n'),),
        CANAL_TESTS,
    ),
    TextMutant(
        "a value that does not fill its column is null",
        CANAL,
        (
            (
                "                refused.setdefault(int(places[at]), with_ordinal(reason, ordinal))\n",
                "                pass\n",
            ),
        ),
        CANAL_TESTS,
    ),
)
DECIMALS = "kafka2hive.pipeline.decode.change_logs.decimals"
DECIMAL_IMAGES = "kafka2hive.pipeline.decode.change_logs.decimal_images"
TOLD = "kafka2hive.pipeline.decode.change_logs.told_decimals"
AMBIGUOUS = "kafka2hive.pipeline.decode.change_logs.ambiguous"
DECIMAL_TESTS = "tests/contract/test_debezium_decimals.py"
DECIMAL_MUTANTS = (
    TextMutant(
        "decimals in bytes have no sign",
        DECIMALS,
        (("np.where(negative, np.uint8(0xFF), np.uint8(0))", "np.zeros(len(values), np.uint8)"),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "more digits than the column has are kept",
        DECIMALS,
        (("    bad |= _beyond(digits, 10**dtype.precision)\n", ""),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "the scale in the record's schema is not looked at",
        DECIMAL_IMAGES,
        (("bad = (codes != UNTOLD) & (codes != one.type.scale)", "bad = (codes != UNTOLD) & (codes < 0)"),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "bytes are taken at the column's scale whatever the schema says",
        DECIMAL_IMAGES,
        (("rescaled(columns[one.name], kind, form)", "rescaled(columns[one.name], kind, kind.scale)"),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "the schema does not contradict decimals: text",
        DECIMAL_IMAGES,
        (("np.where(told >= LEAST_SCALE, np.int16(NUMBER), np.int16(TEXT))", "np.full_like(told, TEXT)"),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "all records of a batch are of the first one's schema",
        TOLD,
        (("left & pc.starts_with(values, pattern=text)", "left | pc.starts_with(values, pattern=text)"),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "a schema behind the payload is not looked for",
        TOLD,
        (("        if not mark or not message.startswith(_SCHEMA):\n", "        if not mark:\n"),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "a text that may be bytes is a number",
        AMBIGUOUS,
        (("        if len(text) % 4 == 0 and BOTH", "        if not text and BOTH"),),
        DECIMAL_TESTS,
    ),
    TextMutant(
        "a text that may be bytes is not seen behind an escape",
        AMBIGUOUS,
        (("[ \\t\\r\\n]*\"|{_ESCAPE}'", "[ \\t\\r\\n]*\"[0-9+]'"),),
        DECIMAL_TESTS,
    ),
)
