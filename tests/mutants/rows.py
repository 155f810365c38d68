"""Mistakes in what `verify --deep` compares: hashes of rows, and the places of rows in Kafka."""

from tests.mutants.text_mutant import TextMutant

HASH = "kafka2hive.service.audit.rows.row_hash"
_FILE = "tests/unit/service/audit/test_audit_rows.py"
BYTES = f"{_FILE}::test_values_around_the_length_of_a_word_are_told_apart"
CANCEL = f"{_FILE}::test_differences_in_two_columns_do_not_cancel"
ELSEWHERE = f"{_FILE}::test_a_row_of_elsewhere_has_no_place"

MUTANTS = (
    TextMutant(
        "values of one length that begin alike have one hash",
        HASH,
        (("    if long.any():\n", "    if False:\n"),),
        BYTES,
    ),
    TextMutant(
        "a short value's hash leaves out its length",
        HASH,
        ((" | lengths.astype(np.uint64) << np.uint64(56)", ""),),
        BYTES,
    ),
    TextMutant(
        "a value of eight bytes shares its last one with its length",
        HASH,
        (("_SHORT = 7 ", "_SHORT = 8 "),),
        BYTES,
    ),
    TextMutant(
        "values are hashed without a key",
        HASH,
        (("    result: Hashes = words * _KEY\n", "    result: Hashes = words.copy()\n"),),
        CANCEL,
    ),
    TextMutant(
        "differences of the highest bit cancel in two columns",
        HASH,
        (("    result ^= result >> _SHIFT\n", ""),),
        CANCEL,
    ),
    TextMutant(
        "rows without a topic have that of the first row",
        "kafka2hive.service.audit.rows.rows",
        (("    if len(column) and not column.null_count and ", "    if len(column) and "),),
        ELSEWHERE,
    ),
)
