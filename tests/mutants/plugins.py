"""Mistakes in trusting plug-ins."""

from tests.mutants.text_mutant import TextMutant

TESTS = "tests/unit/test_plugins.py"
DECODER = "kafka2hive.pipeline.plugins.decoder"
BUCKETER = "kafka2hive.pipeline.plugins.bucketer"
FOUND = "kafka2hive.model.plugins"

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
        ((' if not _REASON.fullmatch(reason or "")', " if False"),),
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
)
