"""Mistakes in the tasks' accounts of offsets and in the count of deliveries."""

from tests.mutants.text_mutant import mistakes

SQL_ACCOUNTS = "kafka2hive.sql.accounts"
TASK_ACCOUNTS = "kafka2hive.task.accounts"
COUNTED = "kafka2hive.task.fetch.delivery_count"
WINDOWS_TEST = "tests/unit/task/test_window_tally.py"
BOUNDS_TEST = "tests/unit/task/test_event_bounds.py"

ACCOUNTS = (
    *mistakes(
        SQL_ACCOUNTS,
        "tests/unit/task/sql/test_sql_task.py",
        (
            "counts of two attempts around a SELECT are put together",
            (" and r.attempt == rows.attempt]", "]"),
        ),
        ("more rows may come out of a SELECT than went in", ("    if filtered < 0:\n", "    if False:\n")),
        (
            "rows of a SELECT without a bucket count as filtered",
            ("read.account.written - rows - refused\n", "read.account.written - rows\n"),
        ),
        (
            "Spark's own counts around a SELECT are not looked at",
            ("    if (rows_in, rows_out) != (into, out):\n", "    if False:\n"),
        ),
        (
            "a failure before a SELECT is not told",
            ("    if manifest.failure is not None:\n", "    if False:\n"),
        ),
        ("a failure behind a SELECT is not told", ("    if rows.failure is not None:\n", "    if False:\n")),
        (
            "Spark's counts are compared with those of another attempt",
            ("of_attempt[one.task, one.attempt] for one in written", "read[0].manifest for one in written"),
        ),
    ),
    *mistakes(
        TASK_ACCOUNTS,
        "tests/unit/task/test_task_reads.py",
        (
            "accounts are not compared in the task",
            ("        check_accounts(self.range_accounts(), self.delivered)\n", ""),
        ),
    ),
    *mistakes(
        TASK_ACCOUNTS,
        "tests/unit/task/test_task_rows.py",
        (
            "the first range gives the leader epoch",
            (
                "        if known is None or source.start >= known[0]:",
                "        if known is None or source.start <= known[0]:",
            ),
        ),
        (
            "the range met first gives the leader epoch",
            ("        if known is None or source.start >= known[0]:", "        if known is None:"),
        ),
    ),
    *mistakes(
        TASK_ACCOUNTS,
        "tests/unit/task/test_task_several_rows.py",
        (
            "rows beyond the first of a message are not counted",
            ("                more_rows=more[number],\n", ""),
        ),
    ),
    *mistakes(
        "kafka2hive.task.window_tally",
        WINDOWS_TEST,
        (
            "windows beyond the most are counted one by one",
            ("len(self._sums) >= MOST_WINDOWS", "False"),
        ),
        ("a window has the first offset of the chunk", ("first[groups[::-1]] = every[::-1]", "pass")),
        ("records after the year 9999 have a window", (" | (times >= _YEAR_10000_MS)", "")),
        ("ranges share their windows", ("sources * span + (windows - low)", "windows - low")),
    ),
    *mistakes(
        "kafka2hive.model.window_counts",
        WINDOWS_TEST,
        ("a window may be counted twice in a range", ("            or (source, window.start) in seen\n", "")),
        (
            "windows may hold fewer records than an account",
            ("    for account in accounts:\n        told", "    for account in ():\n        told"),
        ),
        (
            "a window may have offsets behind its range",
            ("<= window.last < source.end", "<= window.last"),
        ),
    ),
    *mistakes(
        "kafka2hive.service.tables.manifests",
        WINDOWS_TEST,
        (
            "counts by time are committed unchecked",
            ("    check_windows(accounts, windows)\n    return windows\n", "    return windows\n"),
        ),
        (
            "a task without counts by time is passed over",
            (
                "    if all(manifest.windows is None for manifest in manifests):\n",
                "    if any(manifest.windows is None for manifest in manifests):\n",
            ),
        ),
    ),
    *mistakes(
        COUNTED,
        "tests/unit/task/test_task_reads.py",
        (
            "records come twice or backwards unnoticed",
            (" or (len(offsets) > 1 and int(np.diff(offsets).min()) < 1)", ""),
        ),
        ("a record before the next one is taken", ("        if first < count.next or (", "        if (")),
        (
            "a topic partition that was not requested is passed over",
            ("        if count is None:\n", "        if count is None:\n            return\n"),
        ),
        (
            "records behind the range are counted",
            ("int(np.searchsorted(offsets, count.range.end))", "len(offsets)"),
        ),
        ("a reported end of the log proves nothing", ("            count.advance_to(count.log_end)\n", "")),
        (
            "an earlier end of the log takes absent offsets back",
            ("        if offset > self.next:", "        if True:"),
        ),
        (
            "where the client began is what it was told",
            (
                "                count.begun = assigned.offset\n",
                "                count.begun = count.range.start\n",
            ),
        ),
        (
            "the client's position is not asked for",
            (
                "position = max(NEVER, answer.offset)",
                "position = self._counts[answer.topic, answer.partition].next",
            ),
        ),
    ),
    *mistakes(
        "kafka2hive.task.fetch.reader",
        "tests/unit/task/test_task_reads.py",
        (
            "a table's ranges are read to their ends with its first wave",
            ("                    if not self._waves_left[table]:\n", "                    if True:\n"),
        ),
    ),
    *mistakes(
        "kafka2hive.task.sql.records",
        "tests/unit/task/sql/test_sql_task.py",
        ("footers before a SELECT hold accounts", ("    is_last = False\n", "    is_last = True\n")),
    ),
    *mistakes(
        "kafka2hive.task.failures",
        "tests/unit/task/test_table_errors.py",
        (
            "every error is the failure of a table",
            ("not isinstance(error, TABLE_ERRORS) or", "not isinstance(error, Exception) or"),
        ),
    ),
    *mistakes(
        "kafka2hive.task.write.bucket_times",
        BOUNDS_TEST,
        (
            "a producer's wrong clock is believed",
            ("        reference = np.minimum(reference, self._planned)\n", ""),
        ),
        (
            "a record without a timestamp is of 1970",
            ("pc.fill_null(written, self._planned)", "pc.fill_null(written, 0)"),
        ),
        ("only the future is bounded", (" | (reference - micros > self._past)", "")),
    ),
    *mistakes(
        "kafka2hive.task.write.bucketer",
        BOUNDS_TEST,
        ("a period is closed only after its end", ("end_ms <= self._before_ms", "end_ms < self._before_ms")),
        ("times out of range fill the caches", ("micros = np.where(refusals.mask, 0, micros)", "pass")),
    ),
    *mistakes(
        "kafka2hive.service.tables.manifests",
        BOUNDS_TEST,
        (
            "late records stop a table",
            ("    if total.bad <= share * total.read", "    if total.dead_lettered <= share * total.read"),
        ),
        (
            "late records need no bounds",
            ("    if bounds is None and (total.out_of_range or total.late):\n", "    if False:\n"),
        ),
    ),
    *mistakes(
        TASK_ACCOUNTS,
        BOUNDS_TEST,
        ("late records are bad records", ("                late=too_late[number],\n", "")),
    ),
    *mistakes(
        SQL_ACCOUNTS,
        "tests/unit/task/sql/test_sql_task.py",
        ("rows late after a SELECT are bad records", ("        late=written.late[number],\n", "")),
    ),
)
