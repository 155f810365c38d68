"""Mistakes in tasks and service: each one was seen to be caught by the tests it names."""

from tests.mutants.text_mutant import TextMutant

FETCH = "kafka2hive.pipeline.task.fetch.fetch"
COUNTED = "kafka2hive.pipeline.task.fetch.counted"
DELIVERED = "kafka2hive.pipeline.delivered"
ACCOUNT = "kafka2hive.model.offset_accounting"
TABLE = "kafka2hive.pipeline.task.table"
ACCOUNTS = "kafka2hive.pipeline.task.accounts"
CHUNK_DECODER = "kafka2hive.pipeline.task.chunk_decoder"
WRITE = "kafka2hive.pipeline.task.write.table_writer"
STAGED_FILE = "kafka2hive.pipeline.task.write.staged_file"
BUCKET_TIMES = "kafka2hive.pipeline.task.bucket_times"
GATE = "kafka2hive.service.run.manifests"
VALUES = "kafka2hive.pipeline.values"
HOLDING = "kafka2hive.service.run.owned_tables"
READING = "kafka2hive.service.dead_letters"
SHARE = "kafka2hive.service.run.manifests"
REFUSALS = "kafka2hive.pipeline.task.dead_letters"
RECOVER = "kafka2hive.service.recover.table"

READS = "tests/unit/pipeline/task/test_task_reads.py"
ROWS = "tests/unit/pipeline/task/test_task_rows.py"
WRITES = "tests/unit/pipeline/task/write/test_write.py"
RETURNED = "tests/unit/pipeline/task/test_returned_manifests.py"
COMMIT_GATE = "tests/unit/service/run/test_commit_gate.py"
LETTERS_COMMAND = "tests/unit/cli/test_dead_letters_command.py"
LETTERS = "tests/unit/pipeline/task/test_dead_letter_share.py"
REGISTRATIONS = "tests/unit/service/recover/test_open_registrations.py"

BROKEN_FETCHES = (
    TextMutant(
        "the end of a range belongs to it",
        FETCH,
        (("bisect_left(run, end, ", "bisect_left(run, end + 1, "),),
        READS,
    ),
    TextMutant(
        "the last record of a range is dropped",
        FETCH,
        (
            ("        if last >= end:\n", "        if last >= end - 1:\n"),
            ("bisect_left(run, end, ", "bisect_left(run, end - 1, "),
        ),
        READS,
    ),
    TextMutant(
        "a range ends one record early",
        FETCH,
        (("        if reading.position >= end:", "        if reading.position >= end - 1:"),),
        READS,
    ),
    TextMutant(
        "any end of the log ends a range",
        FETCH,
        (("            if message.offset() >= reading.range.end:\n", "            if True:\n"),),
        READS,
    ),
    TextMutant(
        "the end of a log ends another topic partition's range, too",
        FETCH,
        (
            (
                "                yield from self._end(key)\n            else:\n",
                "                yield from self._end(key)\n"
                "                for other in list(self._readings)[-1:]:\n"
                "                    yield from self._end(other)\n"
                "            else:\n",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a record that was not requested is taken",
        FETCH,
        (
            (
                "        if reading is None:\n            return  # beyond",
                "        if reading is None:\n            key, reading = next(iter(self._readings.items()))\n"
                "        if reading is None:\n            return  # beyond",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a chunk is handed on twice",
        FETCH,
        (
            (
                "            yield from Chunk(table, tuple(held.segments), held.messages).split(2 * CHUNK_BYTES)\n",
                "            yield from Chunk(table, tuple(held.segments), held.messages).split(2 * CHUNK_BYTES)\n"
                "            yield from Chunk(table, tuple(held.segments), held.messages).split(2 * CHUNK_BYTES)\n",
            ),
        ),
        READS,
    ),
    TextMutant(
        "the last chunk of a table is not handed on",
        FETCH,
        (
            (
                "            yield from self._emit(table)\n            del self._open[table]",
                "            del self._open[table]",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a range is assigned behind its first record",
        FETCH,
        (
            (
                "[Assignment(topic, number, r.range.start) for",
                "[Assignment(topic, number, r.range.start + 1) for",
            ),
        ),
        READS,
    ),
    TextMutant(
        "the first record of a range is dropped",
        FETCH,
        (
            (
                "        reading.position = last + 1\n",
                "        if reading.position == reading.range.start:\n            run = run[1:]\n"
                "        reading.position = last + 1\n",
            ),
        ),
        READS,
    ),
    TextMutant(
        "a delivery of several topic partitions keeps the first one only",
        FETCH,
        (("        for run in delivery.runs:\n", "        for run in delivery.runs[:1]:\n"),),
        READS,
    ),
)

TEXT_MUTANTS = (
    TextMutant(
        "what an answer about offsets says is not there is not kept",
        "kafka2hive.pipeline.task.fetch.consumer",
        (("            elif answer.error.code() in ABOUT_ONE:\n", "            elif False:\n"),),
        "tests/contract/test_task_on_kafka.py::test_ranges_that_kafka_cannot_give_fail_their_table_and_no_other",
    ),
    TextMutant(
        "records come twice or backwards unnoticed",
        COUNTED,
        ((" or (len(offsets) > 1 and int(np.diff(offsets).min()) < 1)", ""),),
        READS,
    ),
    TextMutant(
        "a record before the next one is taken",
        COUNTED,
        (("        if first < count.next or (", "        if ("),),
        READS,
    ),
    TextMutant(
        "a topic partition that was not requested is passed over",
        COUNTED,
        (("        if count is None:\n", "        if count is None:\n            return\n"),),
        READS,
    ),
    TextMutant(
        "records behind the range are counted",
        COUNTED,
        (("int(np.searchsorted(offsets, count.range.end))", "len(offsets)"),),
        READS,
    ),
    TextMutant(
        "a reported end of the log proves nothing",
        COUNTED,
        (("            count.pass_to(count.log_end)\n", ""),),
        READS,
    ),
    TextMutant(
        "an earlier end of the log takes absent offsets back",
        COUNTED,
        (("        if offset > self.next:", "        if True:"),),
        READS,
    ),
    TextMutant(
        "where the client began is what it was told",
        COUNTED,
        (
            (
                "                count.begun = assigned.offset\n",
                "                count.begun = count.range.start\n",
            ),
        ),
        READS,
    ),
    TextMutant(
        "the client's position is not asked for",
        COUNTED,
        (
            (
                "position = max(NEVER, found.offset)",
                "position = self._counts[found.topic, found.partition].next",
            ),
        ),
        READS,
    ),
    TextMutant(
        "where the client began is not compared",
        DELIVERED,
        (("        if self.begun != self.range.start:", "        if False:"),),
        f"{READS} {COMMIT_GATE}",
    ),
    TextMutant(
        "where the client came to is not compared",
        DELIVERED,
        (("        if max(self.position, self.log_end) < self.range.end:", "        if False:"),),
        f"{READS} {COMMIT_GATE}",
    ),
    TextMutant(
        "any end of the log is an end of the range",
        DELIVERED,
        (
            (
                "max(self.position, self.log_end) < self.range.end",
                "max(self.position, self.log_end) < self.range.end and self.log_end < 0",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "what the client delivered is not compared",
        DELIVERED,
        (("        if (self.records, self.absent) != (read, absent):", "        if False:"),),
        f"{READS} {COMMIT_GATE}",
    ),
    TextMutant(
        "only the records delivered are compared",
        DELIVERED,
        (("        if (self.records, self.absent) != (read, absent):", "        if self.records != read:"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "only the absent offsets are compared",
        DELIVERED,
        (("        if (self.records, self.absent) != (read, absent):", "        if self.absent != absent:"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "a range that the client says nothing of is fine",
        DELIVERED,
        (
            (
                "        if len(account.range):\n            of_range[account.range].check(account)",
                "        if account.range in of_range:\n            of_range[account.range].check(account)",
            ),
            ("    if sorted(wanted) != sorted(one.range for one in delivered):", "    if False:"),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "a manifest that returns twice is taken twice",
        VALUES,
        (("    if planned != came:", "    if set(planned) != set(came):"),),
        RETURNED,
    ),
    TextMutant(
        "manifests are not compared with the plan",
        VALUES,
        (("    if planned != came:", "    if False:"),),
        RETURNED,
    ),
    TextMutant(
        "what is no manifest is passed over",
        VALUES,
        (("    if len(manifests) < len(returned):", "    if False:"),),
        RETURNED,
    ),
    TextMutant(
        "negative counts pass",
        ACCOUNT,
        (("        if min(a.counts()) < 0:", "        if False:"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "offsets of a range need not add up",
        ACCOUNT,
        (("        if len(self.range) != a.read + a.absent:", "        if False:"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "fewer offsets than the range has pass",
        ACCOUNT,
        (
            (
                "        if len(self.range) != a.read + a.absent:",
                "        if len(self.range) < a.read + a.absent:",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "records of a range need not add up",
        ACCOUNT,
        (
            (
                "        if a.read != a.written + a.filtered + a.tombstones + a.dead_lettered:",
                "        if False:",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "accounts are not checked at the gate",
        GATE,
        (("        check_accounts(manifest.accounts, manifest.delivered)\n", ""),),
        COMMIT_GATE,
    ),
    TextMutant(
        "accounts are added up only at the gate",
        GATE,
        (
            (
                "        check_accounts(manifest.accounts, manifest.delivered)\n",
                "        for account in manifest.accounts:\n            account.check()\n",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "a failed manifest is committed",
        GATE,
        (("        if manifest.failure:\n", "        if manifest.failure and not manifest.accounts:\n"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "the plan is not compared",
        GATE,
        (("    if sorted(a.range for a in accounts) != sorted(planned):", "    if False:"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "a part of the plan is enough",
        GATE,
        (
            (
                "    if sorted(a.range for a in accounts) != sorted(planned):",
                "    if not {a.range for a in accounts} <= set(planned):",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "more than the plan is fine",
        GATE,
        (
            (
                "    if sorted(a.range for a in accounts) != sorted(planned):",
                "    if not {a.range for a in accounts} >= set(planned):",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "a range may be accounted for twice",
        GATE,
        (
            (
                "    if sorted(a.range for a in accounts) != sorted(planned):",
                "    if {a.range for a in accounts} != set(planned):",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "rows are not compared at the gate",
        GATE,
        (("    if rows != accounted:", "    if False:"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "fewer rows than accounted for pass the gate",
        GATE,
        (("    if rows != accounted:", "    if rows > accounted:"),),
        COMMIT_GATE,
    ),
    TextMutant(
        "dead letters are not compared at the gate",
        GATE,
        (("    _check_rows(table, FileKind.DEAD_LETTER, dead, total.dead_lettered)\n", ""),),
        COMMIT_GATE,
    ),
    TextMutant(
        "the gate keeps the last leader epoch it meets",
        GATE,
        (
            (
                "            newest[topic_partition] = max(epoch, newest.get(topic_partition, -1))",
                "            newest[topic_partition] = epoch",
            ),
        ),
        COMMIT_GATE,
    ),
    TextMutant(
        "the first range gives the leader epoch",
        ACCOUNTS,
        (
            (
                "        if known is None or source.start >= known[0]:",
                "        if known is None or source.start <= known[0]:",
            ),
        ),
        ROWS,
    ),
    TextMutant(
        "the range met first gives the leader epoch",
        ACCOUNTS,
        (("        if known is None or source.start >= known[0]:", "        if known is None:"),),
        ROWS,
    ),
    TextMutant(
        "tombstones are written and not counted",
        CHUNK_DECODER,
        (
            (
                "        if len(tombstones) > len(skipped):\n",
                "        if len(tombstones):\n",
            ),
        ),
        ROWS,
    ),
    TextMutant(
        "tombstones are written and counted as skipped, too",
        CHUNK_DECODER,
        (
            (
                "            yield DecodedChunk(batches, refused, skipped, empty)\n",
                "            yield DecodedChunk(batches, refused, tombstones, empty)\n",
            ),
        ),
        ROWS,
    ),
    TextMutant(
        "the record's time is bucketed in the table's zone",
        BUCKET_TIMES,
        (
            (
                "                return _wall_clock(_micros(record_times(), 1_000), zone)",
                "                return _wall_clock(_micros(record_times(), 1_000), self.table_zone)",
            ),
        ),
        ROWS,
    ),
    TextMutant(
        "the record's time is bucketed in UTC",
        BUCKET_TIMES,
        (
            (
                "                return _wall_clock(_micros(record_times(), 1_000), zone)",
                '                return _wall_clock(_micros(record_times(), 1_000), "UTC")',
            ),
        ),
        ROWS,
    ),
    TextMutant(
        "data rows are not compared in the task",
        TABLE,
        (('        _check_rows("data", self._end.rows, sum(a.account.rows for a in accounts))\n', ""),),
        ROWS,
    ),
    TextMutant(
        "dead letters are not compared in the task",
        TABLE,
        (
            (
                '        _check_rows("dead-letter", self._letters.sink.rows, sum(a.account.dead_lettered for a in accounts))\n',
                "",
            ),
        ),
        ROWS,
    ),
    TextMutant(
        "accounts are not compared in the task",
        ACCOUNTS,
        (("        check_accounts(self.of_ranges(), self.delivered)\n", ""),),
        READS,
    ),
    TextMutant(
        "footers hold no accounts",
        TABLE,
        (("        self._sink.finish(accounts)\n", "        self._sink.finish()\n"),),
        ROWS,
    ),
    TextMutant(
        "rows in files are not compared by the writer",
        WRITE,
        (("        if written != self.rows:", "        if False:"),),
        WRITES,
    ),
    TextMutant(
        "a row of each row group is lost",
        STAGED_FILE,
        (
            (
                "        self._encoder.write(rows)",
                "        self._encoder.write(rows.slice(1))",
            ),
        ),
        WRITES,
    ),
    TextMutant(
        "the rows of a file are what it was given",
        STAGED_FILE,
        (("publish(), self.rows_in_footer)", "publish(), self.rows)"),),
        WRITES,
    ),
    TextMutant(
        "registered registrations are kept",
        HOLDING,
        (
            (
                "registered=table.owned.registered | confirmed)",
                "registered=table.owned.registered)",
            ),
        ),
        REGISTRATIONS,
    ),
    TextMutant(
        "an idle table does not say what is registered",
        "kafka2hive.service.run.table_steps",
        (
            (
                "bool(table.owned.registered) or self._owned_tables.newly_compared(table)",
                "self._owned_tables.newly_compared(table)",
            ),
        ),
        REGISTRATIONS,
    ),
    TextMutant(
        "a repair drops what is still to be registered",
        RECOVER,
        (
            (
                "        owned = publish(wiring.ports, owned, repair).owned\n",
                "        repair = replace(repair, registered=frozenset(owned.state.unregistered))\n"
                "        owned = publish(wiring.ports, owned, repair).owned\n",
            ),
        ),
        REGISTRATIONS,
    ),
    TextMutant(
        "a repair never tells what was registered",
        RECOVER,
        (("    if forgetting.outcome.left != pending:", "    if False:"),),
        REGISTRATIONS,
    ),
    TextMutant(
        "a small epoch is judged by its share",
        SHARE,
        ((" or (share > 0 and total.read < FLOOR_RECORDS)", ""),),
        LETTERS,
    ),
    TextMutant(
        "a small epoch may have dead letters where there may be none",
        SHARE,
        (("share > 0 and total.read < FLOOR_RECORDS", "total.read < FLOOR_RECORDS"),),
        LETTERS,
    ),
    TextMutant(
        "the share is judged of the dead letters alone",
        SHARE,
        (("total.read < FLOOR_RECORDS", "total.dead_lettered < FLOOR_RECORDS"),),
        LETTERS,
    ),
    TextMutant(
        "reasons of one task alone are named",
        SHARE,
        (("for manifest in manifests for refusal", "for manifest in manifests[:1] for refusal"),),
        LETTERS,
    ),
    TextMutant(
        "a reason's count is that of its last chunk",
        REFUSALS,
        (("self._found[key] = known.more(count)", "self._found[key] = known"),),
        LETTERS,
    ),
    TextMutant(
        "any dead letter of the topic partition is shown",
        READING,
        (('pc.equal(rows["offset"], place.offset)', 'pc.greater_equal(rows["offset"], 0)'),),
        LETTERS_COMMAND,
    ),
    TextMutant(
        "dead letters are those of the newest epoch",
        READING,
        (("replace(known, count=known.count + group.count)", "known"),),
        LETTERS_COMMAND,
    ),
    TextMutant(
        "dead letters of a table that was not asked for are shown",
        READING,
        ((" if only in (None, p.table)", ""),),
        LETTERS_COMMAND,
    ),
)
