"""Mistakes in the epoch loop and its tables that need no schedule to be seen."""

from tests.mutants.text_mutant import mistakes

BACKLOGS = "kafka2hive.service.run.backlogs"
COMPACTION = "kafka2hive.service.compaction.chore"
COMPLETION = "kafka2hive.service.run.completion"
EPOCHS = "kafka2hive.service.run.epochs"
INBOX_WATCH = "kafka2hive.service.run.inbox_watch"
KAFKA_VIEW = "kafka2hive.service.topics.kafka_view"
MAP_RELOAD = "kafka2hive.service.run.map_reload"
LIVENESS = "kafka2hive.service.run.telemetry.liveness"
MANIFESTS = "kafka2hive.service.tables.manifests"
ONCE = "kafka2hive.service.run.once"
OWNED_TABLES = "kafka2hive.service.run.owned_tables"
PLAN = "kafka2hive.plan.epoch"
REPLAYS = "kafka2hive.service.replay.chore"
REPLAYED = "kafka2hive.service.replay.letter_files"
TABLE_GUARD = "kafka2hive.service.run.table_guard"
TABLE_STEPS = "kafka2hive.service.run.table_steps"

SERVICE_LOOP = (
    *mistakes(
        "kafka2hive.service.hive.lapsed",
        "tests/unit/service/run/test_created_again.py",
        (
            "partitions of a table that was created again are shown before their certificates",
            ("each.name for each in state.withheld}", "each.name for each in ()}"),
        ),
    ),
    *mistakes(
        COMPLETION,
        "tests/unit/service/run/test_completion.py",
        (
            "an idle table withholds partitions that the map registers with their first files",
            ("answer if table.owned.state.withheld and not answer.withholds else None", "None"),
        ),
        (
            "topic partitions that do not answer count as read",
            ("if gone or len(ends) < len(topic_partitions):", "if gone:"),
        ),
        (
            "a topic that older metadata do not list held nothing",
            ("absent.union(table.vanished)", "absent"),
        ),
        (
            "what Kafka has lost counts as read",
            ("if gone or len(ends) < len(topic_partitions):", "if len(ends) < len(topic_partitions):"),
        ),
        (
            "a topic that the map does not name stops certificates",
            (" if _is_topic_of(table.rule, topic)", ""),
        ),
        (
            "a pattern takes what it begins like",
            ("re.fullmatch(rule.pattern, topic)", "re.match(rule.pattern, topic)"),
        ),
        ("a partition is complete before Hive knows it", ("if entry.partition not in unknown]", "]")),
        (
            "a partition whose registration was given up is complete",
            ("return waiting | {entry.partition for entry in owned.state.forgotten}", "return waiting"),
        ),
        (
            "a policy is asked at each commit",
            ("if not ending and now - table.completion.asked_at < ASK_SECONDS:", "if False:"),
        ),
        ("a policy is not asked when the run ends", ("if not ending and now", "if now")),
        (
            "partitions without a certificate are left out of the next ones",
            (
                "            if complete and change is None:\n"
                "                complete |= self._to_certify_again(table, owned)\n",
                "",
            ),
        ),
        (
            "that a policy was asked is forgotten",
            ("            table.completion = replace(table.completion, asked_at=now)\n", ""),
        ),
        (
            "a policy is asked once more for the commit",
            (" if change.completeness is None else change.completeness", ""),
        ),
        (
            "a policy that fails stops its table",
            (
                ('            self._warn(table, _POLICY, str(error))\n            return frozenset(), ""\n'),
                "            raise\n",
            ),
        ),
        ("a policy that answers again leaves its warning", ('        self._warn(table, _POLICY, "")\n', "")),
        (
            "what Kafka holds counts as read",
            (
                ".with_target(Ends(at_ms, ends)).after(positions)",
                ".with_target(Ends(at_ms, ends)).after(ends)",
            ),
        ),
        (
            "what an epoch reads does not count in its snapshot",
            ("{**_positions(table.owned), **_new_positions(change)}", "_positions(table.owned)"),
        ),
        (
            "of two ranges of a task the first counts",
            (
                "max(entry.end, ends.get(entry.topic_partition, 0))",
                "ends.get(entry.topic_partition, entry.end)",
            ),
        ),
        (
            "a table that does not ask any more goes on",
            ("return NoTracking() if owned.state.tracking is not None else None", "return None"),
        ),
        (
            "what is hidden behind an open transaction counts as read",
            (
                "{tp: logs.high[tp].offset for tp in topic_partitions if tp in logs.high}",
                "{tp: logs.latest[tp].offset for tp in topic_partitions if tp in logs.latest}",
            ),
        ),
    ),
    *mistakes(
        EPOCHS,
        "tests/unit/service/run/test_completion.py",
        (
            "T is that of metadata renewed meanwhile",
            ("offsets_of[table.name].asked_at_ms)", "self._kafka._asked_at_ms)"),
        ),
        (
            "the time of what was read is that of the plan, not of the look",
            ("offsets_of[table.name].asked_at_ms)", "self._clock.epoch_ms())"),
        ),
    ),
    *mistakes(
        EPOCHS,
        "tests/unit/service/run/test_idle_tables.py",
        (
            "an idle table's ledger is written when no table has work",
            (
                "            self._record(backlogs)\n",
                "            if epoch is None:\n                self._record(backlogs)\n",
            ),
        ),
        ("a table without work stays set aside", ("            self._end_trials(backlogs)\n", "")),
    ),
    *mistakes(
        EPOCHS,
        "tests/unit/service/run/test_once.py",
        (
            "Spark is asked for its cores once",
            ("        most = self._slots()\n", "        most = self.most_tasks or self._slots()\n"),
        ),
        (
            "tables with SQL keep the others waiting",
            (
                ("            self._steps.start_due(with_sql=with_sql)\n            self.reload.conclude()"),
                "            self._steps.start_due()\n            self.reload.conclude()",
            ),
        ),
        (
            "once does not wait for a table that was set aside",
            ("self._next_try(self._once, round_began) if self._once is not None else None", "None"),
        ),
        (
            "a live run judges logs by topic ids that may be old",
            (
                "            offsets |= dict.fromkeys((t.name for t in doubtful), self._kafka.look_again(doubtful, seen))\n",
                "            self._kafka.look_again(doubtful, seen)\n",
            ),
        ),
    ),
    *mistakes(
        EPOCHS,
        "tests/unit/service/run/test_outages.py",
        ("the end of an outage is not noticed", ("            self.no_plan = None\n", "")),
        (
            "tables that waited for a system wait on when it answers",
            ("            self._owned_tables.end_waits(system)\n", "            pass\n"),
        ),
    ),
    *mistakes(
        EPOCHS,
        "tests/unit/service/run/test_run_evolution.py tests/unit/service/run/test_next_tries.py",
        (
            "records with new fields wait for the next interval, and so does each epoch that failed",
            (
                "self._clock.monotonic(), extra)\n        return self._in_flight.epoch",
                (
                    "self._clock.monotonic(), extra)\n"
                    "        for name in self._in_flight.tables:\n"
                    "            self._backlogs.note_epoch(self._owned_tables.tables[name], self._in_flight.began, ())\n"
                    "        return self._in_flight.epoch"
                ),
            ),
        ),
    ),
    *mistakes(
        MANIFESTS,
        "tests/unit/task/test_dead_letter_share.py",
        ("a small epoch is judged by its share", (" or (share > 0 and total.read < FLOOR_RECORDS)", "")),
        (
            "a small epoch may have dead letters where there may be none",
            ("share > 0 and total.read < FLOOR_RECORDS", "total.read < FLOOR_RECORDS"),
        ),
        (
            "the share is judged of the dead letters alone",
            ("total.read < FLOOR_RECORDS", "total.dead_lettered < FLOOR_RECORDS"),
        ),
        (
            "reasons of one task alone are named",
            ("for manifest in manifests for refusal", "for manifest in manifests[:1] for refusal"),
        ),
    ),
    *mistakes(
        MANIFESTS,
        "tests/unit/task/test_task_several_rows.py",
        (
            "the gate counts messages where files count rows",
            ("if f.kind is FileKind.DATA), total.rows)", "if f.kind is FileKind.DATA), total.written)"),
        ),
    ),
    *mistakes(
        MANIFESTS,
        "tests/unit/service/run/test_commit_gate.py",
        (
            "accounts are not checked at the gate",
            ("        check_accounts(manifest.accounts, manifest.delivered)\n", ""),
        ),
        (
            "accounts are added up only at the gate",
            (
                "        check_accounts(manifest.accounts, manifest.delivered)\n",
                ("        for account in manifest.accounts:\n            account.check()\n"),
            ),
        ),
        (
            "a failed manifest is committed",
            ("        if manifest.failure:\n", "        if manifest.failure and not manifest.accounts:\n"),
        ),
        (
            "the plan is not compared",
            ("    if sorted(a.range for a in accounts) != sorted(planned):", "    if False:"),
        ),
        (
            "a part of the plan is enough",
            (
                "    if sorted(a.range for a in accounts) != sorted(planned):",
                "    if not {a.range for a in accounts} <= set(planned):",
            ),
        ),
        (
            "more than the plan is fine",
            (
                "    if sorted(a.range for a in accounts) != sorted(planned):",
                "    if not {a.range for a in accounts} >= set(planned):",
            ),
        ),
        (
            "a range may be accounted for twice",
            (
                "    if sorted(a.range for a in accounts) != sorted(planned):",
                "    if {a.range for a in accounts} != set(planned):",
            ),
        ),
        ("rows are not compared at the gate", ("    if rows != accounted:", "    if False:")),
        (
            "fewer rows than accounted for pass the gate",
            ("    if rows != accounted:", "    if rows > accounted:"),
        ),
        (
            "dead letters are not compared at the gate",
            ("    _check_rows(table, FileKind.DEAD_LETTER, dead, total.dead_lettered)\n", ""),
        ),
        (
            "the gate keeps the last leader epoch it meets",
            (
                "            newest[topic_partition] = max(epoch, newest.get(topic_partition, -1))",
                "            newest[topic_partition] = epoch",
            ),
        ),
    ),
    *mistakes(
        MANIFESTS,
        "tests/unit/service/run/test_once.py",
        (
            "an epoch's number is not compared with the ledger's",
            (
                "if (written := (m.generation, m.epoch)) != next_up]:",
                "if (written := (m.generation, m.epoch)) == ()]:",
            ),
        ),
    ),
    *mistakes(
        ONCE,
        "tests/unit/service/run/test_once.py",
        (
            "once plans beyond the end that it saw first",
            ("        self.ends = ends | self.ends\n", "        self.ends = ends\n"),
        ),
        ("once tries a table that is refused for ever", ("            and aside.times < TRIES\n", "")),
        (
            "what Kafka gives no offsets of is forgotten",
            ("        self.missing.note(tables, kafka_offsets)\n", ""),
        ),
    ),
    *mistakes(
        ONCE,
        "tests/unit/service/run/test_open_transactions.py",
        (
            "a run of --once ends with 0 behind an open transaction",
            ("return paused | self._held.errors(now_ms) | self.missing", "return paused | self.missing"),
        ),
    ),
    *mistakes(
        OWNED_TABLES,
        "tests/unit/service/recover/test_open_registrations.py",
        (
            "registered registrations are kept",
            ("registered=table.owned.registered | confirmed)", "registered=table.owned.registered)"),
        ),
    ),
    *mistakes(
        OWNED_TABLES,
        "tests/unit/service/run/test_compare_gate.py",
        (
            "a ledger is made before the table was compared",
            ("            self._gate.admit(table)\n", ""),
        ),
        (
            "an epoch under way is committed although Hive refuses the table",
            ("        self._refuse_what_hive_refuses(table, change)\n", ""),
        ),
        (
            "the ledger does not say what was compared",
            ("change, compared=compared, lapsed", "change, lapsed"),
        ),
        (
            "a registered partition stays refused",
            (
                "after_registration(partitions, confirmed)",
                "after_registration(frozenset(), confirmed)",
            ),
        ),
        (
            "a table waits on although its partitions are registered",
            (
                'of its partitions", table.name)\n            table.state = table.ownership',
                'refuses", table.name)',
            ),
        ),
        (
            "an epoch under way is not compared before its commit",
            ("            self._gate.check(table, change)\n", "            pass\n"),
        ),
    ),
    *mistakes(
        OWNED_TABLES,
        "tests/unit/service/run/test_completion.py",
        (
            "a topic that the tables do not know yet counts as read",
            ("        return self._topics == frozenset(topics)\n", "        return True\n"),
        ),
    ),
    *mistakes(
        OWNED_TABLES,
        "tests/unit/service/run/test_run_evolution.py",
        (
            "a start does not know the columns that were added",
            (
                (
                    "        if started.owned.state.added != table.in_map.added:\n"
                    "            settings = self.resolve(table)\n"
                ),
                "",
            ),
        ),
    ),
    *mistakes(
        OWNED_TABLES,
        "tests/unit/service/run/test_shared_names.py tests/unit/config/test_config_route.py",
        (
            "a table of which nobody knows whose it is gets a ledger",
            ("        self._refuse_undecided(table)\n", ""),
        ),
        (
            "a run ends with 0 over a topic that is not read",
            (
                (
                    "        return aside + tuple((conflict.table, conflict.error) for conflict in"
                    " self.conflicts)\n"
                ),
                "        return aside\n",
            ),
        ),
    ),
    *mistakes(
        OWNED_TABLES,
        "tests/unit/service/test_selects.py",
        (
            "a table is taken over before its SELECT is checked",
            (
                "        self.check_select(settings)  # before the take-over: a table whose rows cannot be made is left alone\n",
                "",
            ),
        ),
    ),
    *mistakes(
        TABLE_STEPS,
        "tests/unit/service/recover/test_open_registrations.py",
        (
            "an idle table does not say what is registered",
            (
                "bool(table.owned.registered) or self._owned_tables.newly_compared(table)",
                "self._owned_tables.newly_compared(table)",
            ),
        ),
    ),
    *mistakes(
        TABLE_STEPS,
        "tests/unit/service/run/test_compare_gate.py",
        (
            "an idle table never writes down what was compared",
            (" or self._owned_tables.newly_compared(table)", ""),
        ),
    ),
    *mistakes(
        TABLE_STEPS,
        "tests/unit/service/run/test_completion.py",
        (
            "certificates that were not written are tried at each look",
            ("elif table.completion.asked_at > asked_at and self._", "elif self._"),
        ),
    ),
    *mistakes(
        TABLE_STEPS,
        "tests/unit/service/run/test_idle_tables.py",
        (
            "idle tables delay each epoch of the busy ones",
            (" and now - self._recorded_at < RECORD_SECONDS", " and now < self._recorded_at"),
        ),
        (
            "a partition of a table whose records wait for their interval is complete with its next epoch",
            ("        self.map_tables(waiting, lambda table: self._record(table, is_new=False))\n", ""),
        ),
    ),
    *mistakes(
        "kafka2hive.service.run.inbox_watch",
        "tests/unit/service/run/test_replay_orders.py",
        (
            "an order that cannot be read is withdrawn",
            ("waiting = unread | {order.id for order in orders}", "waiting = {o.id for o in orders}"),
        ),
    ),
    *mistakes(
        "kafka2hive.service.orders.answers",
        "tests/unit/service/run/test_replay_orders.py",
        ("another replay is begun while one is unread", ("    if running in unread:\n", "    if False:\n")),
    ),
    *mistakes(
        TABLE_STEPS,
        "tests/unit/service/run/test_once.py",
        (
            "a run looks whether it was fenced at tables that it has stopped",
            (
                "in_turn(self._owned_tables.serving(), self._next_look)",
                (
                    "in_turn([t for t in self._owned_tables.tables.values() if not"
                    " isinstance(t.ownership, Unowned)], self._next_look)"
                ),
            ),
        ),
    ),
    *mistakes(
        TABLE_STEPS,
        "tests/unit/service/run/test_run_evolution.py",
        (
            "tasks are not told of an added column",
            (
                (
                    "(table, change)\n"
                    "            self.settings[table.name] = self._owned_tables.resolve(table)\n"
                ),
                "(table, change)\n            self._owned_tables.resolve(table)\n",
            ),
        ),
        (
            "a column is added that no ledger knows",
            (
                "            self.publish(table, change)\n            self.settings",
                "            self.settings",
            ),
        ),
        (
            "a table that stopped for its schema does not see that Hive was altered",
            (
                "        if table.aside is not None:  # somebody may have altered Hive's table meanwhile\n",
                "        if False:\n",
            ),
        ),
    ),
    *mistakes(
        REPLAYS,
        "tests/unit/service/run/test_replay_orders.py",
        (
            "the replay given first is begun, not the one under way",
            ("next_replay(orders, unread, table.owned.state)", "next(iter(orders), None)"),
        ),
        (
            "letters always come before records",
            ("work.untouched, work.records_next = untouched, True", "work.untouched = untouched"),
        ),
        ("a batch has all files", ("islice(work.files, slots)", "work.files")),
        ("letters that must be alone never rest", ("if name in taken or work.alone:", "if name in taken:")),
        (
            "letters whose tasks died are tried with all others",
            ("            work.alone = True\n", ""),
        ),
        (
            "a search begins again after an error",
            (
                "self._new_search(ledger, work.letters)",
                "self._new_search(ledger, Letters(ledger.state, 9**9))",
            ),
        ),
        (
            "letters whose tasks die are tried for ever",
            ("if was_alone and set(tables) == {name}:", "if False:"),
        ),
        ("letters that died alone by chance end their order", ("if was_alone and ", "if ")),
        ("an outage of the storage ends an order", ("work.outages < _MOST_TRIES", "False")),
        ("letters are alone for ever", ("work.alone, work.outages = False, 0", "work.outages = 0")),
        ("an order that was withdrawn goes on", ("if work.order.id not in waiting:", "if False:")),
        ("an order that is refused stays in the inbox", ("            self._ended.append(order)\n", "")),
        (
            "a failure of letters sets the table aside",
            (
                "            self._refuse(work, batch.failure.error, table)\n            return\n",
                "            raise batch.failure.error\n",
            ),
        ),
        (
            "what was replayed before a failure is not said",
            (' ({before})"', '"'),
        ),
        (
            "letters of a table with sql are decoded",
            (
                '        if table.rule.sql is not None:\n            raise ConfigError(\n                "sql',
                '        if False:\n            raise ConfigError(\n                "sql',
            ),
        ),
        (
            "what could not be read is not logged",
            ("untouched.not_read[len(work.untouched.not_read) :]", "work.untouched.not_read"),
        ),
    ),
    *mistakes(
        EPOCHS,
        "tests/unit/service/run/test_replay_orders.py",
        (
            "records come before letters",
            ("self.chores.tables_with_turn() if only is None else frozenset[str]()", "frozenset[str]()"),
        ),
        (
            "a failed epoch with letters blames the tables of records",
            (
                "            if self.chores.failed(in_flight.tables, reason):\n                return\n",
                "            self.chores.failed(in_flight.tables, reason)\n",
            ),
        ),
        (
            "a run of --once ends before its next order",
            ("            if epoch is None and ended:\n", "            if False:\n"),
        ),
        ("letters alone are planned with one slot", (" and not self.chores.is_waiting:", ":")),
    ),
    *mistakes(
        "kafka2hive.service.run.chores",
        "tests/unit/service/run/test_replay_orders.py",
        (
            "letters are chosen before what has expired is dropped",
            (
                "            retention,  # before",
                "            replay,\n            retention,  # before",
            ),
            ("            replay,  # before compaction for no reason: they share nothing\n", ""),
        ),
    ),
    *mistakes(
        "kafka2hive.service.run.chores",
        "tests/unit/service/run/test_compaction_orders.py",
        ("no chore takes orders to compact", ("ordered=(replay, compaction)", "ordered=(replay,)")),
    ),
    *mistakes(
        "kafka2hive.service.chores.chores",
        "tests/unit/service/run/test_looks_of_a_run.py",
        (
            "the last answers of Hive are not recorded at the end of a run",
            ("            if chore in self.looking:\n", "            if False:\n"),
        ),
    ),
    *mistakes(
        REPLAYED,
        "tests/unit/service/run/test_replay_orders.py",
        ("rules do not include where dead letters go", ("{dead.table} {dead.location} ", "")),
        (
            "all files that could not be read are in the ledger",
            ("untouched.not_read[:_MOST_NAMED]", "untouched.not_read"),
        ),
        (
            "a file whose letters stay counts as replayed",
            ("if account.dead_lettered < account.read:", "if True:"),
        ),
    ),
    *mistakes(
        COMPLETION,
        "tests/unit/service/run/test_flush_auto.py",
        (
            "a plug-in's open partitions wait for the longest interval",
            ("bool(rest) if options.plugin is not None else ", ""),
        ),
        (
            "a certificate waits for the longest interval",
            ("            self._note_awaited(", "            () and self._note_awaited("),
        ),
    ),
    *mistakes(
        BACKLOGS,
        "tests/unit/service/run/test_flush_auto.py",
        (
            "a table without a measured size waits for the longest interval",
            ("may_wait=table.record_sizes.is_measured and ", "may_wait="),
        ),
    ),
    *mistakes(
        PLAN,
        "tests/unit/service/run/test_flush_auto.py",
        (
            "a burst waits for the interval",
            (" or backlog.bytes >= flush.bytes:", ":"),
        ),
        (
            "bytes that are worth a file do not wait for the interval",
            ("return waited >= flush.interval_seconds and (", "return (waited >= 0.0) and ("),
        ),
    ),
    *mistakes(
        COMPACTION,
        "tests/unit/service/run/test_compaction_orders.py",
        (
            "an order to compact waits for the time of day",
            ("        if self._ordered(table) is not None:\n            return True\n", ""),
        ),
        (
            "an order compacts what is complete later, too",
            ("if each.partition.path in work.ordered.left]", "if True]"),
        ),
        (
            "the end of an order is recorded twice after an unclear commit",
            ("if find_recorded(table.owned.state, order.id) is None:", "if True:"),
        ),
        (
            "an order waits until a failed partition has moved",
            ("            work.ordered.note_failed(path, error)\n", "            pass\n"),
        ),
        (
            "a run goes on with an order that was withdrawn",
            ("                self._forget(self._owner.tables[name], work)\n", ""),
        ),
        (
            "an order waits for the retry of a failed partition",
            ("work.failures[path].until = -math.inf", "pass"),
        ),
    ),
    *mistakes(
        "kafka2hive.service.compaction.units",
        "tests/unit/service/run/test_compaction_orders.py",
        (
            "an order waits for a partition that late data have opened again",
            ("self.left &= early - stay", "self.left &= early"),
        ),
    ),
    *mistakes(
        COMPACTION,
        "tests/unit/service/run/test_run_compaction.py",
        (
            "a job of units begins although a table lags",
            ("if is_due(b) and sum(map", "if False and sum(map"),
        ),
        (
            "a job of units begins while another one is under way",
            ("if self._job is not None or lagging:", "if lagging:"),
        ),
        (
            "a paused table is compacted",
            ("if table.owned.state.paused is not None and not self._alone:\n", "if False:\n"),
        ),
        (
            "the window of compaction is looked up by the minute of the hour",
            ("options.at.has(now.hour * 60 + now.minute)", "options.at.has(now.minute)"),
        ),
        (
            "a share of nothing is a share",
            ("not options.share:\n            return", "False:\n            return"),
        ),
        ("a run compacts on its only core", ("        if cores < 2:\n", "        if False:\n")),
        ("compaction takes all cores", ("max(1, int(cores * options.share))", "cores")),
        ("a share of all cores leaves none to epochs", ("min(cores - 1, ", "min(cores, ")),
        (
            "a partition that is open again keeps its units",
            (
                "any(e.partition == work.units.partition for e in may_move_now)",
                "True",
            ),
        ),
        (
            "epochs may have the cores that units hold",
            ("return 0 if self._job is None else len(", "return 0 if True else len("),
        ),
        ("cleanup does not learn of units", (", table.units_since = units, units.since", " = units")),
        (
            "units are kept after a failure",
            (
                "        self._give_up(table, work)\n        self._show_failures(table, work)\n",
                "        self._show_failures(table, work)\n",
            ),
        ),
        ("a partition that failed is tried again at once", ("if now < each.until}", "if False}")),
        (
            "the warning of a partition stays after it has moved",
            (
                "for path, each in work.failures.items() if path in early}",
                "for path, each in work.failures.items()}",
            ),
        ),
        (
            "units of an earlier generation are moved",
            ("        if not units.is_of(owned.ledger):\n", "        if False:\n"),
        ),
        (
            "a job that has ended counts as under way",
            ("            job, self._job = self._job, None\n", "            job = self._job\n"),
        ),
        (
            "an early place that was changed by hand sets the table aside",
            (
                "        except (TableError, AmbiguousOutcome) as error:\n            why = error\n",
                "        except (TableError, AmbiguousOutcome):\n            raise\n",
            ),
        ),
        (
            "the failure of one unit goes unnoticed",
            ("        if failure is not None:\n", "        if False:\n"),
        ),
    ),
    *mistakes(
        KAFKA_VIEW,
        "tests/unit/service/topics/test_kafka_view.py",
        (
            "partitions that older metadata do not list are forgotten",
            ("view.after(self._listed.get(name))", "view"),
        ),
    ),
    *mistakes(
        OWNED_TABLES,
        "tests/unit/service/run/test_shared_names.py",
        (
            "a table that two new topics claim is decided once and for ever",
            ("DECIDE_SECONDS if self._undecided else math.inf", "math.inf"),
        ),
    ),
    *mistakes(
        TABLE_STEPS,
        "tests/unit/service/run/test_table_guard.py",
        (
            "a run ends where somebody else has taken a stopped table",
            (
                "            except (Fenced, TakeOverLost, OwnedByLiveRun) as taken:\n",
                "            except OwnedByLiveRun as taken:\n",
            ),
        ),
    ),
    *mistakes(
        LIVENESS,
        "tests/unit/service/run/test_conditions.py",
        (
            "a table that stops again has stopped when it stopped first",
            ("        if error is not aside.error:\n", "        if error is None:\n"),
        ),
    ),
    *mistakes(
        INBOX_WATCH,
        "tests/unit/service/run/test_orders.py",
        (
            "an order to a table that the run does not hold is put aside",
            ("            elif self._may_be_ours_or_buggy(order.table):\n", "            elif False:\n"),
        ),
        (
            "an order to a table of another service waits for ever",
            ("        return state.service == self._wiring.map.service\n", "        return True\n"),
        ),
    ),
    *mistakes(
        MAP_RELOAD,
        "tests/unit/service/run/test_map_reload.py",
        (
            "a map with a key that needs a restart is applied",
            ("refusal = _restart_needed(new, found) if found.restart else ", "refusal = "),
        ),
        ("a refused map is applied", ("        if prepared.refusal is not None:\n", "        if False:\n")),
        ("a plan is carried out", ("        elif request.is_plan:\n", "        elif False:\n")),
        (
            "another file than the operator's is applied",
            ('if request.fingerprint not in ("", new.fingerprint):', "if False:"),
        ),
        (
            "a second order takes the place of the first",
            ("            elif under_way is None:\n", "            elif True:\n"),
        ),
        (
            "a signal during a reload is lost",
            (
                "        if self._signalled and self._under_way is None:\n            self._signalled = False\n",
                "        signalled, self._signalled = self._signalled, False\n"
                "        if signalled and self._under_way is None:\n",
            ),
        ),
        (
            "topics that came before the reload count as born later",
            (
                "        return self._kafka.born_later - self._born_before.get(table.name, frozenset())\n",
                "        return self._kafka.born_later\n",
            ),
        ),
        (
            "tables are released before Kafka's topics are known",
            ("        topics = self._kafka.cluster(fresh=True).topics\n", ""),
            (
                "        self._owned_tables.refresh(topics)\n",
                "        self._owned_tables.refresh(self._kafka.cluster(fresh=True).topics)\n",
            ),
        ),
        (
            "a removal waits for Hive for ever",
            ("        if now >= under_way.settles_until:\n            return True\n", ""),
        ),
        (
            "a removed table does not wait for Hive",
            (
                "            return False\n        return True\n",
                "            return True\n        return True\n",
            ),
        ),
        (
            "a table that waits to be removed gets more records",
            ("            under_way.leaving = self._fates(prepared)[0]\n", ""),
        ),
        (
            "an unchanged table is taken over again",
            ("if name in rules and rules[name] != table.rule)", "if name in rules)"),
        ),
        (
            "a table that was added again counts as released",
            ("for each in released if each.table not in self._owned_tables.tables)", "for each in released)"),
        ),
        (
            "the added tables that were set aside are not told",
            (
                "for table in of_reload if table.aside is not None]",
                "for table in () if table.aside is not None]",
            ),
        ),
    ),
    *mistakes(
        "kafka2hive.config.difference",
        "tests/unit/config/test_difference.py",
        (
            "columns that are added do not count as changes",
            (
                "names = [name for name in {**earlier, **later} if earlier.get(name) != later.get(name)]\n    below",
                "names = [name for name in earlier if earlier.get(name) != later.get(name)]\n    below",
            ),
        ),
        ("patterns for tables of one name are one", ("        seen[rule.table] += 1\n", "")),
        (
            "a key of Kafka counts as one that is reloaded",
            ("        return key.key.change\n    reason", "        return IN_PLACE\n    reason"),
        ),
    ),
    *mistakes(
        TABLE_GUARD,
        "tests/unit/service/run/test_table_guard.py",
        (
            "a table that is lost to a command ends the run",
            ("if owner is not None and not is_of_command(owner):", "if True:"),
        ),
    ),
    *mistakes(
        "kafka2hive.ledger.history",
        "tests/unit/service/run/test_replay_orders.py",
        (
            "a replay decodes letters of later epochs",
            ("            and snapshot.epoch <= self._through\n", ""),
        ),
    ),
    *mistakes(
        REPLAYS,
        "tests/unit/service/run/test_replay_orders.py",
        (
            "a replay that another run has begun starts its counts again",
            ("        if known is None or known.order != order.id:\n", "        if True:\n"),
        ),
    ),
)
