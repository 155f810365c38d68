"""Mistakes in messages of several rows: taking them apart, counting them, refusing them as a whole."""

from tests.mutants.text_mutant import TextMutant

TASK = "tests/unit/pipeline/task/test_task_several_rows.py"
CONTRACT = "tests/contract/test_several_rows.py"
CSV_LINES = "tests/contract/test_csv_lines.py"
AUDIT = "tests/unit/service/audit/test_audit_rows.py"
ARRAYS = "kafka2hive.pipeline.decode.rows.arrays"
DECODER = "kafka2hive.pipeline.decode.rows.decoder"
RUN = "kafka2hive.pipeline.task.table"
WHOLE = "kafka2hive.pipeline.task.rejections"
COMPARE = "kafka2hive.service.audit.rows.compare"

MUTANTS = (
    TextMutant(
        "the good rows of a refused message are written",
        DECODER,
        (("        if bad:\n            kept", "        if False:\n            kept"),),
        CONTRACT,
    ),
    TextMutant(
        "a message without rows is nowhere",
        DECODER,
        (
            (
                "            without_rows=pa.array(np.flatnonzero(has_none), pa.int32()),\n",
                "            without_rows=pa.array([], pa.int32()),\n",
            ),
        ),
        CONTRACT,
    ),
    TextMutant(
        "a row that the decoder loses is not missed",
        DECODER,
        (("            if len(good) + len(bad) + none != len(piece):\n", "            if False:\n"),),
        CONTRACT,
    ),
    TextMutant(
        "a quote behind an escaped escape does not end a text",
        ARRAYS,
        (("numbers, 0))) % 2 == 1", "numbers, 0))) > 0"),),
        CONTRACT,
    ),
    TextMutant(
        "two arrays are one",
        ARRAYS,
        (("    certain &= np.bincount(message[ends], minlength=len(values)) == 1\n", ""),),
        CONTRACT,
    ),
    TextMutant(
        "text before an array is left out",
        ARRAYS,
        (("(opened == bounds[:-1][some]) & ", ""),),
        CONTRACT,
    ),
    TextMutant(
        "blank lines are rows",
        "kafka2hive.pipeline.decode.rows.lines",
        (("    if not filled.all():\n", "    if False:\n"),),
        CONTRACT,
    ),
    TextMutant(
        "a message of any number of rows is held",
        DECODER,
        (("np.flatnonzero(found.counts > MOST_ROWS)", "np.flatnonzero(found.counts < 0)"),),
        CONTRACT,
    ),
    TextMutant(
        "as many rows as messages are one of each",
        "kafka2hive.pipeline.task.chunk",
        (
            (
                "np.array_equal(positions, np.arange(len(self.messages)))",
                "len(positions) == len(self.messages)",
            ),
        ),
        TASK,
    ),
    TextMutant(
        "rows beyond the first of a message are not counted",
        "kafka2hive.pipeline.task.accounts",
        (("                more_rows=more[number],\n", ""),),
        TASK,
    ),
    TextMutant(
        "a row without a bucket leaves its message's others in the files",
        RUN,
        (("            kept &= ~rows_of(every, bad[0])\n", ""),),
        TASK,
    ),
    TextMutant(
        "a message with rows in the wanted bucket and in others is filtered",
        RUN,
        (("filtered.append(np.setdiff1d(others, every[kept]))", "filtered.append(np.unique(others))"),),
        TASK,
    ),
    TextMutant(
        "a message without rows is in no account",
        RUN,
        (("            fates.filtered.append(decoded.without_rows)\n", ""),),
        TASK,
    ),
    TextMutant(
        "a message is refused once for each of its bad rows",
        WHOLE,
        (
            (
                "    messages, first = np.unique(positions[bad], return_index=True)\n",
                "    messages, first = positions[bad], np.arange(len(bad))\n",
            ),
        ),
        TASK,
    ),
    TextMutant(
        "rows that are good beside a bad key or time are written",
        WHOLE,
        (
            (
                "    kept = ~rows_of(positions, rejections[0])\n",
                "    kept = np.ones(len(positions), np.bool_)\n    kept[bad] = False\n",
            ),
        ),
        TASK,
    ),
    TextMutant(
        "the gate counts messages where files count rows",
        "kafka2hive.service.run.manifests",
        (("if f.kind is FileKind.DATA), total.rows)", "if f.kind is FileKind.DATA), total.written)"),),
        TASK,
    ),
    TextMutant(
        "rows of no written message pass",
        "kafka2hive.model.offset_accounting",
        (("        if a.more_rows and not a.written:\n", "        if False:\n"),),
        TASK,
    ),
    TextMutant(
        "an older program takes a snapshot with more rows for its own",
        "kafka2hive.ledger.snapshot.lines",
        (('"account.more_rows", since=3', '"account.more_rows", since=2'),),
        "tests/contract/test_snapshot_format.py",
    ),
    TextMutant(
        "of several rows of an offset the last one alone is compared",
        COMPARE,
        (("        if several:", "        if False:"),),
        f"{AUDIT}::test_several_rows_of_an_offset_are_compared_together_in_any_order",
    ),
    TextMutant(
        "one bad row of Canal leaves the others of its statement",
        "kafka2hive.pipeline.decode.change_logs.canal",
        (
            (
                "            good = ~np.isin(places, list(refused))\n",
                "            good[list(unfit)] = False\n",
            ),
        ),
        "tests/contract/test_canal.py",
    ),
    TextMutant(
        "a line break in quotes ends a record of CSV",
        "kafka2hive.pipeline.decode.rows.csv_lines",
        (("        if quotes.any():\n", "        if False:\n"),),
        CSV_LINES,
    ),
    TextMutant(
        "an escape in a record of CSV reaches into the next message",
        "kafka2hive.pipeline.decode.rows.csv_lines",
        (("np.maximum(before, starts - 1)", "before"),),
        CSV_LINES,
    ),
    TextMutant(
        "a message without rows behind a registry's head is nowhere",
        "kafka2hive.pipeline.decode.registered.framed",
        (("pa.array(places[decoded.without_rows.to_numpy()], pa.int32()),", "None,"),),
        CSV_LINES,
    ),
)
