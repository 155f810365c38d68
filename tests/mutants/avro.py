"""Mistakes in the Avro decoder: guards of the encoding, of the columns, of schemas and of the messages' order."""

from tests.mutants.text_mutant import TextMutant

AVRO = "kafka2hive.pipeline.decode.avro"
TABLE = "tests/contract/test_avro_table.py"
SCHEMAS = "tests/contract/test_avro_schemas.py"
COMPILED = "tests/contract/test_avro_compiled.py"

MUTANTS = (
    TextMutant(
        "an avro number beyond its column is taken",
        "kafka2hive.pipeline.decode.registered.numbers",
        (("    if not -limit <= number < limit:\n", "    if number >= limit:\n"),),
        TABLE,
    ),
    TextMutant(
        "bytes behind an avro record are ignored",
        f"{AVRO}.exact",
        (("            if cursor.at != len(message):\n", "            if cursor.at > len(message):\n"),),
        TABLE,
    ),
    TextMutant(
        "the index of an avro branch may be negative",
        f"{AVRO}.cursor",
        (("        if not 0 <= index < count:\n", "        if not index < count:\n"),),
        TABLE,
    ),
    TextMutant(
        "a block need not be as long as it says",
        f"{AVRO}.cursor",
        (
            (
                "            if end is not None and self.at != end:\n",
                "            if end is not None and self.at > end:\n",
            ),
        ),
        TABLE,
    ),
    TextMutant(
        "a long has no limit of bits",
        f"{AVRO}.cursor",
        (("        if number >> bits:\n", "        if number >> bits + 7:\n"),),
        TABLE,
    ),
    TextMutant(
        "text that no column takes need not be UTF-8",
        f"{AVRO}.shapes",
        (('    "string": Cursor.text,\n', '    "string": Cursor.octets,\n'),),
        TABLE,
    ),
    TextMutant(
        "an avro decimal is rounded",
        "kafka2hive.pipeline.decode.registered.numbers",
        (("    if rest:\n", "    if False:\n"),),
        TABLE,
    ),
    TextMutant(
        "all messages of a batch are read with one schema",
        "kafka2hive.pipeline.decode.registered.frames",
        (
            (
                "np.flatnonzero(np.diff(keys[order])) + 1",
                "np.flatnonzero(np.diff(np.sign(keys[order]))) + 1",
            ),
        ),
        SCHEMAS,
    ),
    TextMutant(
        "rows of several schemas do not stand in the messages' order",
        "kafka2hive.pipeline.decode.parts",
        (("rows = accepted[order], rows.take(pa.array(order))\n", "rows = accepted[order], rows\n"),),
        SCHEMAS,
    ),
    TextMutant(
        "an id that the registry did not have is never asked for again",
        f"{AVRO}.decoder",
        (
            (
                '            return Reason("avro.schema", f"the schema registry has no schema of id {schema_id}{hint}")\n',
                "            self._readers[schema_id] = reason = "
                'Reason("avro.schema", f"the schema registry has no schema of id {schema_id}")  # type: ignore\n'
                "            return reason\n",
            ),
        ),
        SCHEMAS,
    ),
    TextMutant(
        "places of messages in doubt are those of the first messages",
        "kafka2hive.pipeline.decode.parts",
        (("pa.array(doubtful)), places[doubtful])", "pa.array(doubtful)), places[: len(doubtful)])"),),
        COMPILED,
    ),
)
