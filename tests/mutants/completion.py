"""Mistakes in saying that a Hive partition is complete."""

from tests.mutants.text_mutant import TextMutant

PERIOD = "kafka2hive.config.grammars.bucket_period"
POLICY = "kafka2hive.pipeline.completion.policy"
READ_THROUGH = "kafka2hive.pipeline.completion.read_through"
COMPLETION = "kafka2hive.service.run.completion"
OWNED_TABLES = "kafka2hive.service.run.owned_tables"
EPOCHS = "kafka2hive.service.run.epochs"
TABLE_STEPS = "kafka2hive.service.run.table_steps"
PERIOD_TESTS = "tests/unit/config/test_bucket_period.py"
POLICY_TESTS = "tests/unit/pipeline/test_completion_policy.py"
TESTS = "tests/unit/service/run/test_completion.py"

MUTANTS = (
    *(
        TextMutant(name, PERIOD, (edit,), PERIOD_TESTS)
        for name, edit in (
            (
                "an hour without its day has a period",
                ('        if not day or "H" not in codes:\n', '        if "H" not in codes:\n'),
            ),
            (
                "a minute without its hour has a period",
                ('        if not day or "H" not in codes:\n', "        if not day:\n"),
            ),
            (
                "a week is taken by the year of the date",
                ('codes >= {"G", "V"}', '"V" in codes and codes & {"G", "Y"}'),
            ),
            ("a day of the month without its month has a period", (' and not codes & {"d", "V", "G"}', "")),
            (
                "a bucket is over when it begins",
                ('return begin + datetime.timedelta(**{f"{unit}s": 1})', "return begin"),
            ),
            (
                "December has no end",
                (
                    "datetime.datetime(year + month // 12, month % 12 + 1, 1)",
                    "datetime.datetime(year, month + 1, 1)",
                ),
            ),
            ("a week ends with its first day", ("datetime.timedelta(weeks=1)", "datetime.timedelta(days=1)")),
            (
                "a thirteenth month has an end",
                ('month = datetime.datetime(year, numbers["m"], 1).month', 'month = numbers["m"]'),
            ),
            ("a year has any number of days", ("    if day.year != year:\n", "    if False:\n")),
            (
                "a day has any number of hours",
                (
                    'day.replace(hour=numbers.get("H", 0), minute=numbers.get("M", 0))',
                    'day + datetime.timedelta(hours=numbers.get("H", 0), minutes=numbers.get("M", 0))',
                ),
            ),
            (
                "an hour that happens twice is over after the first time",
                ("int(max(readings))", "int(min(readings))"),
            ),
            (
                "buckets end by the clock of UTC",
                ("self._zone = ZoneInfo(zone)", 'self._zone = ZoneInfo("UTC")'),
            ),
            (
                "a value of a partition is read as it is escaped",
                ("pattern.fullmatch(unescape_partition_value(value))", "pattern.fullmatch(value)"),
            ),
            ("a value that begins like a time is one", ("pattern.fullmatch(", "pattern.match(")),
            ("a code that stands twice may have two values", ("(?P={part.letter})", "[0-9]+")),
            ("two-digit years are of this century", ("1900 if year >= _TWO_DIGIT_YEARS else 2000", "2000")),
            (
                "a date that does not exist ends the run",
                ("except (ValueError, OverflowError):", "except OverflowError:"),
            ),
        )
    ),
    *(
        TextMutant(name, POLICY, (edit,), POLICY_TESTS)
        for name, edit in (
            (
                "a partition is complete without the delay",
                ("max(b.end, b.opened_at) + self._delay <= through", "max(b.end, b.opened_at) <= through"),
            ),
            (
                "a partition is complete a moment later",
                ("+ self._delay <= through", "+ self._delay < through"),
            ),
            (
                "what comes late is certified at once",
                ("max(b.end, b.opened_at) + self._delay", "b.end + self._delay"),
            ),
            ("a policy of others may answer for fewer partitions", ("len(found) != len(buckets) or ", "")),
            (
                "a policy of others may answer anything",
                (" or not all(type(yes) is bool for yes in found)", ""),
            ),
            (
                "a policy of others may change what it is given",
                ("complete(tuple(buckets), through)", "complete(buckets, through)"),
            ),
            (
                "an answer that cannot be shown ends the run",
                ('            told = f"{found!r:.200}"\n', '        told = f"{found!r:.200}"\n'),
            ),
            (
                "an answer that is computed late may raise anything",
                (
                    "            found = list(self._policy.complete(",
                    "            found = (self._policy.complete(",
                ),
            ),
            (
                "a policy of others that cannot be made ends the run",
                (
                    "        with foreign_code(PluginKind.COMPLETION_POLICY, name):\n            self._policy = make(context)\n",
                    "        self._policy = make(context)\n",
                ),
            ),
            (
                "a default partition is shown as an empty text",
                ("{name: value or None for", "{name: value for"),
            ),
        )
    ),
    TextMutant(
        "T taken after the metadata question",
        "kafka2hive.service.shared.kafka_view",
        (
            (
                "            asked_at_ms = self.clock.epoch_ms()\n            answer = self.kafka.cluster()\n",
                "            answer = self.kafka.cluster()\n            asked_at_ms = self.clock.epoch_ms()\n",
            ),
        ),
        "tests/unit/service/shared/test_kafka_view.py",
    ),
    TextMutant(
        "a run of --once ends with 0 behind an open transaction",
        "kafka2hive.service.run.once",
        (("return self._held.errors(now_ms) | self.missing", "return self.missing"),),
        "tests/unit/service/run/test_open_transactions.py",
    ),
    TextMutant(
        "an error without a text ends the run",
        "kafka2hive.model.entry_points",
        (("{type(error).__name__}: {_text(error)}", "{type(error).__name__}: {error}"),),
        POLICY_TESTS,
    ),
    *(
        TextMutant(name, module, (edit,), TESTS)
        for name, module, edit in (
            (
                "topic partitions that do not answer count as read",
                COMPLETION,
                ("if gone or len(ends) < len(wanted):", "if gone:"),
            ),
            (
                "what Kafka has lost counts as read",
                COMPLETION,
                ("if gone or len(ends) < len(wanted):", "if len(ends) < len(wanted):"),
            ),
            (
                "a topic that the map does not name stops certificates",
                COMPLETION,
                (" if _is_topic_of(table.rule, topic)", ""),
            ),
            (
                "a pattern takes what it begins like",
                COMPLETION,
                ("re.fullmatch(rule.pattern, topic)", "re.match(rule.pattern, topic)"),
            ),
            (
                "a partition is complete before Hive knows it",
                COMPLETION,
                ("if each.partition not in unknown]", "]"),
            ),
            (
                "a partition whose registration was given up is complete",
                COMPLETION,
                (
                    "(owned.open_registrations - table.in_hive) | {each.partition for each in owned.state.forgotten}",
                    "owned.open_registrations - table.in_hive",
                ),
            ),
            (
                "a policy is asked at each commit",
                COMPLETION,
                ("if not ending and now - owned.completion_asked < ASK_SECONDS:", "if False:"),
            ),
            ("a policy is not asked when the run ends", COMPLETION, ("if not ending and now", "if now")),
            (
                "that a policy was asked is forgotten",
                COMPLETION,
                ("            table.ownership = replace(owned, completion_asked=now)\n", ""),
            ),
            (
                "a policy is asked once more for the commit",
                COMPLETION,
                (" if change.completeness is None else change.completeness", ""),
            ),
            (
                "a policy that fails stops its table",
                COMPLETION,
                (
                    '            self._warn(table, _POLICY, str(error))\n            return frozenset(), ""\n',
                    "            raise\n",
                ),
            ),
            (
                "a policy that answers again leaves its warning",
                COMPLETION,
                ('        self._warn(table, _POLICY, "")\n', ""),
            ),
            (
                "what Kafka holds counts as read",
                COMPLETION,
                (".looked(Ends(at_ms, ends)).reached(positions)", ".looked(Ends(at_ms, ends)).reached(ends)"),
            ),
            (
                "what an epoch reads does not count in its snapshot",
                COMPLETION,
                ("{**_positions(owned), **_moved(change)}", "_positions(owned)"),
            ),
            (
                "of two ranges of a task the first counts",
                COMPLETION,
                (
                    "max(each.end, ends.get(each.topic_partition, 0))",
                    "ends.get(each.topic_partition, each.end)",
                ),
            ),
            (
                "a table that does not ask any more goes on",
                COMPLETION,
                ("return NotTracked() if owned.state.tracking is not None else None", "return None"),
            ),
            (
                "producers that run ahead move the target on",
                READ_THROUGH,
                ("        if target is None or any(ends", "        if target is None or True or any(ends"),
            ),
            (
                "a target that cannot be reached is kept",
                READ_THROUGH,
                (
                    "any(ends.offsets.get(tp, -1) < end for",
                    "any(False for",
                ),
            ),
            (
                "a log without a position counts as read",
                READ_THROUGH,
                ("positions.get(tp, -1) < end", "positions.get(tp, end) < end"),
            ),
            (
                "the last record of a log need not be read",
                READ_THROUGH,
                ("positions.get(tp, -1) < end", "positions.get(tp, -1) < end - 1"),
            ),
            (
                "one topic partition stands for all",
                READ_THROUGH,
                ("if target is None or any(positions", "if target is None or all(positions"),
            ),
            (
                "certificates that were not written are tried at each look",
                TABLE_STEPS,
                ("        elif table.owned.completion_asked > asked:\n", "        else:\n"),
            ),
            (
                "T is that of metadata renewed meanwhile",
                EPOCHS,
                ("offsets_of[table.name].asked_at_ms)", "self._kafka._asked_at_ms)"),
            ),
            (
                "the time of what was read is that of the plan, not of the look",
                EPOCHS,
                ("offsets_of[table.name].asked_at_ms)", "self._clock.epoch_ms())"),
            ),
            (
                "what is hidden behind an open transaction counts as read",
                COMPLETION,
                (
                    "{tp: logs.high[tp].offset for tp in wanted if tp in logs.high}",
                    "{tp: logs.latest[tp].offset for tp in wanted if tp in logs.latest}",
                ),
            ),
            (
                "a topic that the tables do not know yet counts as read",
                OWNED_TABLES,
                ("        return self._topics == frozenset(topics)\n", "        return True\n"),
            ),
        )
    ),
)
