"""Mistakes at both ends of a table with SQL: guards of coordinates, accounts, and of who may write its rows."""

from tests.mutants.text_mutant import TextMutant

TASK = "tests/unit/pipeline/task/sql/test_sql_task.py"
SELECTS = "tests/unit/service/test_selects.py"
SHUFFLED = "kafka2hive.pipeline.sql.shuffled"
SHUFFLE = "kafka2hive.pipeline.task.sql.shuffle"
WORKERS = "kafka2hive.pipeline.task.sql.workers"

MUTANTS = (
    TextMutant(
        "a row that comes again behind a SELECT is taken",
        "kafka2hive.pipeline.task.sql.coordinates",
        (("np.flatnonzero(at <= before)", "np.flatnonzero(at < before)"),),
        TASK,
    ),
    TextMutant(
        "a row of an earlier batch may come again behind a SELECT",
        "kafka2hive.pipeline.task.sql.coordinates",
        (("        self._next[number] = at[-1] + 1\n", ""),),
        TASK,
    ),
    TextMutant(
        "a SELECT may give offsets outside of the planned range",
        "kafka2hive.pipeline.task.sql.coordinates",
        (("        if at.max() >= source.end or at.min() < source.start:\n", "        if False:\n"),),
        TASK,
    ),
    TextMutant(
        "a SELECT may give a task the rows of another",
        "kafka2hive.pipeline.task.sql.coordinates",
        (("(tasks.to_numpy(zero_copy_only=False) != self._task).any()", "False"),),
        TASK,
    ),
    TextMutant(
        "counts of two attempts around a SELECT are put together",
        "kafka2hive.pipeline.sql.accounts",
        ((" and one.attempt == rows.attempt]", "]"),),
        TASK,
    ),
    TextMutant(
        "more rows may come out of a SELECT than went in",
        "kafka2hive.pipeline.sql.accounts",
        (("    if filtered < 0:\n", "    if False:\n"),),
        TASK,
    ),
    TextMutant(
        "rows of a SELECT without a bucket count as filtered",
        "kafka2hive.pipeline.sql.accounts",
        (("read.account.written - rows - refused\n", "read.account.written - rows\n"),),
        TASK,
    ),
    TextMutant(
        "Spark's own counts around a SELECT are not looked at",
        "kafka2hive.pipeline.sql.accounts",
        (("    if (given, came) != (into, out):\n", "    if False:\n"),),
        TASK,
    ),
    TextMutant(
        "a failure before a SELECT is not told",
        "kafka2hive.pipeline.sql.accounts",
        (("    if manifest.failure is not None:\n", "    if False:\n"),),
        TASK,
    ),
    TextMutant(
        "a failure behind a SELECT is not told",
        "kafka2hive.pipeline.sql.accounts",
        (("    if rows.failure is not None:\n", "    if False:\n"),),
        TASK,
    ),
    TextMutant(
        "a task without Spark writes the records of a table with SQL",
        "kafka2hive.pipeline.task.run",
        (("        if part.table.sql is not None:\n", "        if False:\n"),),
        TASK,
    ),
    TextMutant(
        "by record time a row of a SELECT is in the bucket of another",
        "kafka2hive.pipeline.task.sql.placed",
        (("lambda: times.take(pa.array(places))", "lambda: times.take(pa.array(places[::-1]))"),),
        TASK,
    ),
    TextMutant(
        "a late dead letter whose record has gone is left out",
        "kafka2hive.pipeline.task.sql.placed",
        (("        if found != len(self):\n", "        if False:\n"),),
        TASK,
    ),
    TextMutant(
        "Spark's counts are compared with those of another attempt",
        "kafka2hive.pipeline.sql.accounts",
        (("of_attempt[one.task, one.attempt] for one in written", "read[0].manifest for one in written"),),
        TASK,
    ),
    TextMutant(
        "a table with SQL stays in the tasks without it",
        "kafka2hive.pipeline.jobs",
        (("for task in plan.tables if not has_sql(task.table))", "for task in plan.tables)"),),
        TASK,
    ),
    TextMutant(
        "jobs of a SELECT begin after their epoch is abandoned",
        "kafka2hive.pipeline.query.dump",
        (("            if self._abandoning:\n                raise _Abandoned\n", ""),),
        "tests/unit/pipeline/test_query.py",
    ),
    TextMutant(
        "a table is taken over before its SELECT is checked",
        "kafka2hive.service.run.owned_tables",
        (
            (
                "        self.check_select(settings)  # a table whose rows cannot be made stays as it is, its ledger too\n",
                "",
            ),
        ),
        SELECTS,
    ),
    TextMutant(
        "a lookup on a cluster is read to validate a map without one",
        "kafka2hive.service.online.ask_spark",
        (("    if rule.columns and not away:\n", "    if rule.columns:\n"),),
        SELECTS,
    ),
    TextMutant(
        "a wrong SELECT is no mistake of the map",
        "kafka2hive.service.online.ask_spark",
        (("    if found := problems.all():\n", "    if False:\n"),),
        SELECTS,
    ),
    TextMutant(
        "a SELECT that cannot be dumped is right online",
        "kafka2hive.service.online.ask_spark",
        (("        return Failed(error)\n", "        return Warned(error)\n"),),
        SELECTS,
    ),
    TextMutant(
        "a shuffle without SQL is taken and does nothing",
        "kafka2hive.config.checks.sql",
        (('        if table.shuffle != "none":\n', "        if False:\n"),),
        "tests/unit/config/tables/test_config_sql.py",
    ),
    *(
        TextMutant(name, module, (change,), "tests/unit/pipeline/task/sql/test_sql_shuffle.py")
        for name, module, change in (
            (
                "rows may be lost or come twice in a shuffle",
                SHUFFLED,
                (
                    "        if found.pop(number, (0, 0)) != pair:\n",
                    "        if found.pop(number, None) is ...:\n",
                ),
            ),
            (
                "a lost row and a doubled one of a shuffle make up for each other",
                SHUFFLED,
                (
                    "        if found.pop(number, (0, 0)) != pair:\n",
                    "        if found.pop(number, (0, 0))[0] != pair[0]:\n",
                ),
            ),
            (
                "rows of two attempts behind a shuffle are put together",
                SHUFFLED,
                ("        if len(attempts) > 1:\n", "        if False:\n"),
            ),
            (
                "what another attempt sent counts behind a shuffle",
                SHUFFLED,
                ("one.attempt in attempts if attempts else", "True if attempts else"),
            ),
            (
                "a part that failed behind a shuffle is not told",
                SHUFFLED,
                (
                    "(one.failure for one in received if one.failure)",
                    "(one.failure for one in () if one.failure)",
                ),
            ),
            (
                "a part that gave nothing back is not missed",
                SHUFFLED,
                (
                    "    if sorted(one.part for one in received) != list(range(len(shares))):\n",
                    "    if False:\n",
                ),
            ),
            (
                "accounts of a shuffled table stay with tasks that did not write its files",
                SHUFFLED,
                ("replace(a, task=home) for one", "a for one"),
            ),
            (
                "a row may lose where it comes from in a shuffle",
                SHUFFLE,
                ("        if any(column.null_count for column in columns):\n", "        if False:\n"),
            ),
            (
                "a part takes rows of another one",
                SHUFFLE,
                ("(part.to_numpy() != self._part).any() or ", ""),
            ),
            (
                "leader epochs of all tasks but the first are dropped behind a shuffle",
                SHUFFLED,
                ("        leader_epochs=tuple(e for one in manifests for e in one.leader_epochs),\n", ""),
            ),
            (
                "refusals of all tasks but the first are dropped behind a shuffle",
                SHUFFLED,
                ("        refusals=tuple(r for one in manifests for r in one.refusals),\n", ""),
            ),
            (
                "the newest record behind a shuffle is the first task's",
                SHUFFLED,
                (
                    "        newest_ms=max((one.newest_ms for one in manifests if one.newest_ms is not None), default=None),\n",
                    "",
                ),
            ),
            (
                "a sender's marks are those of its last batch",
                SHUFFLE,
                ("self._marks += marks_of", "self._marks = marks_of"),
            ),
            (
                "a receiver's marks are those of its last batch",
                SHUFFLE,
                ("self._marks[attempt] += marks\n", "self._marks[attempt] = marks\n"),
            ),
            (
                "a receiver counts its last batch",
                SHUFFLE,
                ("self._counts[attempt] += counts\n", "self._counts[attempt] = counts\n"),
            ),
            (
                "a sender's failure is untold",
                WORKERS,
                (
                    "    tell(RowsWritten(attempt=attempt, task=share.index, failure=select.failure))\n",
                    "    tell(RowsWritten(attempt=attempt, task=share.index))\n",
                ),
            ),
            (
                "a receiver's failure is untold",
                WORKERS,
                (
                    "return RowsReceived(part=part, failure=select.failure)",
                    "return RowsReceived(part=part)",
                ),
            ),
            (
                "a large bucket is one task's alone",
                SHUFFLE,
                (" + place // self._together)", ")"),
            ),
        )
    ),
    TextMutant(
        "what came out of a shuffle is compared with nothing that was sent",
        SHUFFLED,
        (
            ("        if len(attempts) > 1:\n", "        if False:\n"),
            ("    _check_moved(table, whole_of(shares), chosen, received)\n", ""),
        ),
        "tests/unit/pipeline/task/sql/test_sql_attempts.py",
    ),
    TextMutant(
        "what the other tasks of a shuffle changed is not told",
        SHUFFLED,
        (("        changed=read.changed,\n", ""),),
        "tests/unit/pipeline/task/sql/test_sql_shuffle.py",
    ),
)
