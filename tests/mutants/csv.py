"""Mistakes in taking fields out of CSV."""

from tests.mutants.text_mutant import TextMutant

CSV = "tests/contract/test_csv.py"
HEADERS = "tests/contract/test_csv_headers.py"
FIELDS = "kafka2hive.pipeline.decode.csv.fields"
PARSED = "kafka2hive.pipeline.decode.csv.parsed"
DECODER = "kafka2hive.pipeline.decode.csv.decoder"

MUTANTS = (
    TextMutant(
        "text behind a closing quote is left out",
        FIELDS,
        (
            (
                '            raise Refused("csv.quote", f"field {number}: more text behind the closing quote")\n',
                "            end = len(text)\n",
            ),
        ),
        CSV,
    ),
    TextMutant(
        "two records of a message are one row",
        PARSED,
        (("        if special.any():\n", "        if False:\n"),),
        CSV,
    ),
    TextMutant(
        "a return at the end is a line break for the fast way",
        PARSED,
        (("{field}(?:\\\\r?\\\\n)?$", "{field}\\\\r?\\\\n?$"),),
        CSV,
    ),
    TextMutant(
        "the mark before the first message is left out",
        PARSED,
        (("        good[marked[raw[starts[marked]] == _MARK]] = False\n", ""),),
        CSV,
    ),
    TextMutant(
        "a quoted field of NULL's text is NULL",
        PARSED,
        (("quoted_strings_can_be_null=False", "quoted_strings_can_be_null=True"),),
        CSV,
    ),
    TextMutant(
        "a record of too few fields is a row",
        DECODER,
        (
            (
                "        if len(fields) != len(self._columns):\n",
                "        fields += [None] * (len(self._columns) - len(fields))\n"
                "        if len(fields) != len(self._columns):\n",
            ),
        ),
        CSV,
    ),
    TextMutant(
        "rows of both ways stand in the order in which they were read",
        DECODER,
        (
            (
                '        order = np.argsort(read, kind="stable")\n',
                "        order = np.arange(len(read))\n",
            ),
        ),
        CSV,
    ),
    TextMutant(
        "a record that only begins as the header is left out",
        DECODER,
        (("            is_header &= pc", "            is_header = pc"),),
        HEADERS,
    ),
    TextMutant(
        "a header line is nowhere",
        DECODER,
        (("            without_rows=pa.array(headers, pa.int32()) if len(headers) else None,\n", ""),),
        HEADERS,
    ),
    TextMutant(
        "digits are always booleans",
        DECODER,
        (("        if not (self._takes_digits and ", "        if not ("),),
        HEADERS,
    ),
    TextMutant(
        "a message of nothing but a header line is not counted",
        "kafka2hive.pipeline.task.chunk_decoder",
        ((" or decoded.without_rows is not None):", "):"),),
        "tests/unit/pipeline/task/test_task_several_rows.py",
    ),
)
