"""Mistakes in the epoch loop, its tables, the planner and what Kafka says, that need no schedule to be seen."""

from tests.mutants.text_mutant import TextMutant

ONCE = "tests/unit/service/run/test_once.py"
OWNERSHIP = "tests/unit/service/shared/test_ownership.py tests/unit/ledger/test_marker.py"
SUSPECTS = "tests/unit/pipeline/test_failure_isolation.py"
POSITIONS = "tests/unit/kafka/test_positions.py"
PLAN = "tests/unit/pipeline/test_plan.py"
VIEW = "tests/unit/service/shared/test_kafka_view.py"
REPAIRS = "tests/unit/service/recover/test_recover_meanwhile.py"
IDLE_TABLES = "tests/unit/service/run/test_idle_tables.py"
NAMES = "tests/unit/service/run/test_shared_names.py tests/unit/config/test_config_route.py"
SIZES = "tests/unit/service/shared/test_record_sizes.py"
REBUILD = "tests/unit/ledger/test_rebuild.py tests/unit/service/recover/test_rebuild_service.py"

MUTANTS = (
    TextMutant(
        "Spark is asked for its cores once",
        "kafka2hive.service.run.epochs",
        (("        most = self._slots()\n", "        most = self.most_tasks or self._slots()\n"),),
        ONCE,
    ),
    TextMutant(
        "tables with SQL keep the others waiting",
        "kafka2hive.service.run.epochs",
        (
            (
                "            self._steps.start_due(with_sql=with_sql)\n            if self._once is None",
                "            self._steps.start_due()\n            if self._once is None",
            ),
        ),
        ONCE,
    ),
    TextMutant(
        "a run that hangs lives",
        "kafka2hive.observe.endpoint",
        (("self._stops or self._now() - self._progress <= SILENT_SECONDS", "True"),),
        "tests/unit/service/run/test_observe.py",
    ),
    TextMutant(
        "growing records are followed half-way",
        "kafka2hive.service.shared.table_state",
        (
            (
                "max((self.most_bytes_per_record + bound) / 2, bound)",
                "(self.most_bytes_per_record + bound) / 2",
            ),
        ),
        SIZES,
    ),
    TextMutant(
        "an epoch is planned by the mean of all topic partitions",
        "kafka2hive.service.shared.table_state",
        (("        bound = max(largest, 1.0) * _GROWTH\n", "        bound = mean * _GROWTH\n"),),
        SIZES,
    ),
    TextMutant(
        "once plans beyond the end that it saw first",
        "kafka2hive.service.run.once",
        (("        self.ends = ends | self.ends\n", "        self.ends = ends\n"),),
        ONCE,
    ),
    TextMutant(
        "once does not wait for a table that was set aside",
        "kafka2hive.service.run.epochs",
        (("self._next_try(self._once, round_began) if self._once is not None else None", "None"),),
        ONCE,
    ),
    TextMutant(
        "once tries a table that is refused for ever",
        "kafka2hive.service.run.once",
        (("            and aside.times < TRIES\n", ""),),
        ONCE,
    ),
    TextMutant(
        "an epoch's number is not compared with the ledger's",
        "kafka2hive.service.run.manifests",
        (("if (at := (m.generation, m.epoch)) != next_up]:", "if (at := (m.generation, m.epoch)) == ()]:"),),
        ONCE,
    ),
    TextMutant(
        "what Kafka gives no offsets of is forgotten",
        "kafka2hive.service.run.once",
        (("        self.missing.note(tables, kafka_offsets)\n", ""),),
        ONCE,
    ),
    TextMutant(
        "a live owner is fenced without being asked to",
        "kafka2hive.service.shared.ownership",
        (
            (
                "        if live is None or self._is_left(live, view):\n",
                "        if True:\n",
            ),
        ),
        OWNERSHIP,
    ),
    TextMutant(
        "takeover fences who comes later, too",
        "kafka2hive.service.shared.ownership",
        (("        self._take_over = False\n", "        pass\n"),),
        OWNERSHIP,
    ),
    TextMutant(
        "takeover forgets at a later try whom it was to fence",
        "kafka2hive.service.shared.ownership",
        (("            self._to_fence.add(process)\n", "            return view.generation\n"),),
        OWNERSHIP,
    ),
    TextMutant(
        "the look before a start accepts another ledger's marker",
        "kafka2hive.service.shared.ownership",
        (("        if marked is not None and marked != view.state.ledger_id:\n", "        if False:\n"),),
        OWNERSHIP,
    ),
    TextMutant(
        "a stop of an earlier generation leaves a table to a command",
        "kafka2hive.service.conditions.stopped",
        (('        and digits_of(state.since) >= digits_of(generation.started or "")\n', ""),),
        "tests/unit/cli/test_status.py",
    ),
    TextMutant(
        "a stopped table is tried again and again for one repair",
        "kafka2hive.service.run.stopped_tables",
        (("None if mine or self._noticed.get(table.name) == generation else", "None if mine else"),),
        "tests/unit/service/run/test_stopped_tables.py",
    ),
    TextMutant(
        "a stopped table is taken from a command that is alive",
        "kafka2hive.service.run.stopped_tables",
        (("        alive = self._beats.look() if taken else {}\n", "        alive = {}\n"),),
        "tests/unit/service/run/test_stopped_tables.py",
    ),
    TextMutant(
        "a run ends where it meets a repair",
        "kafka2hive.service.shared.ownership",
        (("        if live.repairs:\n", "        if False:\n"),),
        OWNERSHIP,
    ),
    TextMutant(
        "a table that stopped is tried again",
        "kafka2hive.service.shared.table_state",
        (("        wait = math.inf if isinstance(error, ManualActionRequired) else wait\n", ""),),
        "tests/unit/service/shared/test_set_aside.py",
    ),
    TextMutant(
        "waits of a table that fails do not grow",
        "kafka2hive.service.shared.table_state",
        (("        self.failures += 1\n", "        self.failures = 1\n"),),
        "tests/unit/service/shared/test_set_aside.py",
    ),
    TextMutant(
        "one failure of a job is enough to accuse",
        "kafka2hive.pipeline.failure_isolation",
        (("        if self.failed_once:\n", "        if True:\n"),),
        SUSPECTS,
    ),
    TextMutant(
        "the second half of the suspects is let go",
        "kafka2hive.pipeline.failure_isolation",
        (
            (
                "frozenset(names[:middle]), frozenset(names[middle:]), *rest",
                "frozenset(names[:middle]), *rest",
            ),
        ),
        SUSPECTS,
    ),
    TextMutant(
        "an epoch of other tables clears those that failed",
        "kafka2hive.pipeline.failure_isolation",
        (("failed_once=self.failed_once - tables, groups", "failed_once=_NONE, groups"),),
        SUSPECTS,
    ),
    TextMutant(
        "a position beyond the log's end is read on from",
        "kafka2hive.kafka.positions",
        (("    if at.end > latest:\n", "    if False:\n"),),
        POSITIONS,
    ),
    TextMutant(
        "records that aged out unread are passed over",
        "kafka2hive.kafka.positions",
        (("    elif at.end < earliest:\n", "    elif False:\n"),),
        POSITIONS,
    ),
    TextMutant(
        "a recreated topic is read on",
        "kafka2hive.kafka.positions",
        (("    if ids and view.id != UNKNOWN_ID:\n", "    if False:\n"),),
        POSITIONS,
    ),
    TextMutant(
        "another cluster is read on",
        "kafka2hive.kafka.positions",
        (("UNKNOWN_ID not in (before, now) and before != now:", "False:"),),
        POSITIONS,
    ),
    TextMutant(
        "a log that was truncated and rewritten is read on",
        "kafka2hive.kafka.positions",
        (
            (
                "    elif (rewrite := _rewrite(position, logs)) is not None:\n",
                "    elif (rewrite := None) is not None:\n",
            ),
        ),
        POSITIONS,
    ),
    TextMutant(
        "a new topic partition begins at its end",
        "kafka2hive.kafka.positions",
        (
            (
                "Position(tp, 0, 0, view.id), logs=logs, intent=intent, found=found",
                "Position(tp, 9, 9, view.id), logs=logs, intent=intent, found=found",
            ),
        ),
        POSITIONS,
    ),
    TextMutant(
        "a topic begins although Kafka answers for some of its partitions only",
        "kafka2hive.kafka.positions",
        (
            (
                "    if not all(_answered(tp, logs) and (tp in logs.at_start",
                "    if not any(_answered(tp, logs) and (tp in logs.at_start",
            ),
        ),
        POSITIONS,
    ),
    TextMutant(
        "an accepted gap goes beyond its end",
        "kafka2hive.kafka.acceptance",
        (("and (self.up_to is None or resumes_at <= self.up_to)", ""),),
        POSITIONS,
    ),
    TextMutant(
        "a log in a newer epoch is not asked for the record read last",
        "kafka2hive.service.shared.kafka_view",
        (("        and latest[p.topic_partition].leader_epoch > p.leader_epoch\n", "        and False\n"),),
        VIEW,
    ),
    TextMutant(
        "what cannot be checked is read all the same",
        "kafka2hive.service.shared.kafka_view",
        (
            (
                "            unknown[table.name] = records.keys() - answers.keys()\n",
                "            unknown[table.name] = set()\n",
            ),
        ),
        VIEW,
    ),
    TextMutant(
        "a cut table loses a record between its pieces",
        "kafka2hive.pipeline.plan.packing",
        (
            (
                "                rest = OffsetRange(rest.topic_partition, middle, rest.end)\n",
                "                rest = OffsetRange(rest.topic_partition, middle + 1, rest.end)\n",
            ),
        ),
        PLAN,
    ),
    TextMutant(
        "an epoch takes all that waits",
        "kafka2hive.pipeline.plan.epoch",
        (("    if sum(demands) <= records:\n", "    if True:\n"),),
        PLAN,
    ),
    TextMutant(
        "a small table waits for the big ones",
        "kafka2hive.pipeline.plan.epoch",
        (
            (
                "OffsetRange(r.topic_partition, r.start, r.start + max(1, share))",
                "OffsetRange(r.topic_partition, r.start, r.start + share)",
            ),
        ),
        PLAN,
    ),
    TextMutant(
        "a file that another recover has repaired is repaired again",
        "kafka2hive.service.recover.repair",
        (
            (
                "        for path in sorted(set(remedies) - recorded):\n",
                "        for path in sorted(set(remedies)):\n",
            ),
        ),
        REPAIRS,
    ),
    TextMutant(
        "a rebuilt ledger takes two attempts of one task",
        "kafka2hive.ledger.repair.tasks",
        (
            (
                "        elif earlier.epoch < attempt.epoch or not _places(earlier) & _places(attempt):\n",
                "        elif True:\n",
            ),
        ),
        REBUILD,
    ),
    TextMutant(
        "visible files are listed before the staged ones",
        "kafka2hive.service.recover.rebuild",
        (
            (
                "    staging = children(files, staging_directory(location))\n    pending =",
                "    below = list(files_below(files, wiring.ports.concurrency, (location, letters)))\n"
                "    staging = children(files, staging_directory(location))\n    pending =",
            ),
            (
                "    below = list(files_below(files, wiring.ports.concurrency, (location, letters)))\n    there =",
                "    there =",
            ),
        ),
        REBUILD.rpartition(" ")[2],
    ),
    TextMutant(
        "a rebuilt ledger does not see the numbers of certificates",
        "kafka2hive.service.recover.rebuild",
        (("_used([*staging, *below], ledger_id)", "_used(staging, ledger_id)"),),
        REBUILD.rpartition(" ")[2],
    ),
    TextMutant(
        "a certificate is no sign of an older ledger",
        "kafka2hive.ledger.repair.restored",
        (
            (
                "    name = CertificateName.parse(child.name) if parsed is None else parsed[0]\n",
                "    name = None if parsed is None else parsed[0]\n",
            ),
        ),
        "tests/unit/service/shared/test_restored.py",
    ),
    TextMutant(
        "a rebuilt ledger passes over holes",
        "kafka2hive.ledger.repair.rebuild",
        (("            if taken.start > at:\n", "            if False:\n"),),
        REBUILD,
    ),
    TextMutant(
        "a rebuilt ledger believes a task whose files are not all there",
        "kafka2hive.ledger.repair.tasks",
        (("            if rows != wanted:\n", "            if False:\n"),),
        REBUILD,
    ),
    TextMutant(
        "a rebuilt ledger lets offsets go back",
        "kafka2hive.ledger.repair.rebuild",
        (("            if taken.start < at:\n", "            if False:\n"),),
        REBUILD,
    ),
    TextMutant(
        "a ledger is rebuilt over one that is there",
        "kafka2hive.ledger.repair.place",
        (
            (
                "        files.stat(paths.table_directory)\n    except NotFound:\n        return\n    raise _there(paths)\n",
                "        files.stat(paths.table_directory)\n    except NotFound:\n        return\n",
            ),
        ),
        REBUILD,
    ),
    TextMutant(
        "a partition that this epoch brought counts as not in Hive yet",
        "kafka2hive.service.run.watch.metrics",
        ((" & r.unregistered_before) if hive", ") if hive"),),
        "tests/unit/service/run/test_observe.py",
    ),
    TextMutant(
        "a run does not warn of topics that it may not read",
        "kafka2hive.service.online.before_start",
        (('            log.warning("%s", warned.error)\n', "            pass\n"),),
        "tests/unit/service/run/test_before_start.py",
    ),
    TextMutant(
        "the time of the next try moves with the wall clock",
        "kafka2hive.service.run.watch.liveness",
        (
            (
                "        if known is not None and known[0] == (aside.times, aside.until):\n",
                "        if known is not None and False:\n",
            ),
        ),
        "tests/unit/service/run/test_conditions.py",
    ),
    TextMutant(
        "a table that never showed a row is as fresh as can be",
        "kafka2hive.service.run.watch.metrics",
        (("default=first_seen", "default=now"),),
        "tests/contract/test_alerts.py",
    ),
    TextMutant(
        "a quiet topic's first record makes its table as stale as what it showed last",
        "kafka2hive.service.run.watch.metrics",
        (("[self._caught_up[table.name]] if table.name in self._caught_up else []", "[]"),),
        "tests/unit/service/run/test_observe.py",
    ),
    TextMutant(
        "workers that decode in Python are not told of",
        "kafka2hive.service.run.watch.decoders",
        (("            if slow and not warnings.get(WARNED_BY):\n", "            if False:\n"),),
        "tests/unit/service/run/test_decoders.py",
    ),
    TextMutant(
        "an outage that lasts is told at each look",
        "kafka2hive.service.run.watch.outages",
        (("sorted(away.keys() - self._outages.keys())", "sorted(away)"),),
        "tests/unit/service/run/test_outages.py",
    ),
    TextMutant(
        "the end of an outage is not noticed",
        "kafka2hive.service.run.epochs",
        (("            self._tell_outages(None)\n", ""),),
        "tests/unit/service/run/test_outages.py",
    ),
    TextMutant(
        "status is well without Kafka",
        "kafka2hive.service.status",
        (("            codes.add(ExitCode.UNAVAILABLE)\n", "            pass\n"),),
        "tests/unit/cli/test_status.py",
    ),
    TextMutant(
        "how the run before ended is deleted before this one could say how it did",
        "kafka2hive.ledger.reading.board",
        (
            (
                "            if not self._leave(outcome):\n                return\n            self._delete_all(earlier)\n",
                "            self._delete_all(earlier)\n            if not self._leave(outcome):\n                return\n",
            ),
        ),
        "tests/unit/service/run/test_conditions.py",
    ),
    TextMutant(
        "a STOP of a run long gone is told of a table that was recovered since",
        "kafka2hive.service.conditions.table_state",
        (("and digits_of(at) < digits_of(generation.started)", "and False"),),
        "tests/unit/cli/test_status.py",
    ),
    TextMutant(
        "what the last run left a table in changes no exit code",
        "kafka2hive.service.conditions.table_state",
        (("            return exit_code_of(last.condition.state)\n", "            return ExitCode.DONE\n"),),
        "tests/unit/cli/test_status.py",
    ),
    TextMutant(
        "a plan does not see that a log was written anew",
        "kafka2hive.service.conditions.derive",
        (
            (
                "            return with_last_read(self._kafka, view.state, logs)\n",
                "            return logs\n",
            ),
        ),
        "tests/unit/cli/test_status.py::test_a_log_that_was_written_anew_below_the_position_is_a_stop_ahead",
    ),
    TextMutant(
        "reasons of dead letters come by name, however frequent",
        "kafka2hive.service.dead_letters",
        (("key=lambda g: (-g.count, g.table", "key=lambda g: (g.table"),),
        "tests/unit/cli/test_dead_letters_command.py",
    ),
    TextMutant(
        "the registry's password and token stand in the log",
        "kafka2hive.cli.outcome",
        (("    if service_map.registry:\n", "    if False:\n"),),
        "tests/unit/config/test_config_secrets.py",
    ),
    TextMutant(
        "an idle table's ledger is written when no table has work",
        "kafka2hive.service.run.epochs",
        (
            (
                "            self._record(backlogs)\n",
                "            if epoch is None:\n                self._record(backlogs)\n",
            ),
        ),
        IDLE_TABLES,
    ),
    TextMutant(
        "idle tables delay each epoch of the busy ones",
        "kafka2hive.service.run.table_steps",
        ((" and now - self._recorded_at < RECORD_SECONDS", " and now < self._recorded_at"),),
        IDLE_TABLES,
    ),
    TextMutant(
        "a partition of a table whose records wait for their interval is complete with its next epoch",
        "kafka2hive.service.run.table_steps",
        (("        self.each(waiting, lambda table: self._record(table, is_new=False))\n", ""),),
        IDLE_TABLES,
    ),
    TextMutant(
        "validate --online finds a ledger right that a start would stop at",
        "kafka2hive.service.online.ask_ledger",
        (("        if would.stop is not None:\n", "        if False:\n"),),
        "tests/unit/service/online/test_validate_online.py",
    ),
    TextMutant(
        "what a ledger reads does not keep its table",
        "kafka2hive.config.route",
        (("    readers = [claim for claim in claims if claim.read]\n", "    readers: list[_Claim] = []\n"),),
        NAMES,
    ),
    TextMutant(
        "groups that make one name when they are joined are one",
        "kafka2hive.config.route",
        (("    return groups, written, legal.lower()\n", "    return (written,), written, legal.lower()\n"),),
        NAMES,
    ),
    TextMutant(
        "a start by time stops where its first record came after the look at the end",
        "kafka2hive.kafka.positions",
        (("return min(at_start, latest) if", "return at_start if"),),
        "tests/unit/kafka/test_positions.py",
    ),
    TextMutant(
        "a transaction is open for ever for a table that is set aside meanwhile",
        "kafka2hive.service.run.open_transactions",
        (("        for table in others:\n", "        for table in ():\n"),),
        "tests/unit/service/run/test_open_transactions.py",
    ),
    TextMutant(
        "of two new topics that make one name the first is read",
        "kafka2hive.config.route",
        (("    return claims[0] if all(claim.rule", "    return claims[0] if True or all(claim.rule"),),
        NAMES,
    ),
    TextMutant(
        "a topic that is gone leaves its table to another",
        "kafka2hive.config.route",
        (
            (
                "            if names is not None and names[2] == table:\n",
                "            if names is not None and topic in known:\n",
            ),
        ),
        NAMES,
    ),
    TextMutant(
        "ledgers are not asked which topics they read",
        "kafka2hive.service.shared.tables",
        (("    known.update(wiring.side_by_side.map(_LedgerTopics(wiring).of, unknown))\n", ""),),
        NAMES,
    ),
    TextMutant(
        "a table of which nobody knows whose it is gets a ledger",
        "kafka2hive.service.run.owned_tables",
        (("        self._refuse_undecided(table)\n", ""),),
        NAMES,
    ),
    TextMutant(
        "a run ends with 0 over a topic that is not read",
        "kafka2hive.service.run.owned_tables",
        (
            (
                "        return aside + tuple((conflict.table, conflict.error) for conflict in self.conflicts)\n",
                "        return aside\n",
            ),
        ),
        NAMES,
    ),
    TextMutant(
        "validate does not look at owner markers",
        "kafka2hive.service.online.validate",
        (
            (
                "    checks += check_ledgers(wiring, tables_behind(places, tables), kafka if answers else None)\n",
                "",
            ),
        ),
        "tests/unit/service/online/test_validate_online.py",
    ),
    TextMutant(
        "a live run judges logs by topic ids that may be old",
        "kafka2hive.service.run.epochs",
        (
            (
                "        return {table.name: again.get(table.name, seen) for table in tables}\n",
                "        return {table.name: seen for table in tables}\n",
            ),
        ),
        ONCE,
    ),
    TextMutant(
        "a plan resumes where the table stands, whatever is accepted",
        "kafka2hive.service.recover.table",
        (("(*view.state.positions, *repair.positions)}\n", "view.state.positions}\n"),),
        "tests/unit/service/recover/test_recover_plan.py",
    ),
    TextMutant(
        "a stop that was repaired since is told as it was",
        "kafka2hive.service.conditions.table_state",
        (
            (
                "        return Repaired(by) if is_newer else None\n",
                "        return None\n",
            ),
        ),
        "tests/unit/cli/test_status.py",
    ),
    TextMutant(
        "the command for one table is about all of them",
        "kafka2hive.kafka.problems",
        (('    command = f"{RECOVER} --table {table}"\n', "    command = RECOVER\n"),),
        POSITIONS,
    ),
    TextMutant(
        "a run looks whether it was fenced at tables that it has stopped",
        "kafka2hive.service.run.table_steps",
        (
            (
                "        self.each(self._owned_tables.serving(), lambda table: list_own",
                "        self.each(\n            [t for t in self._owned_tables.tables.values() if not"
                " isinstance(t.ownership, Unowned)],"
                " lambda table: list_own",
            ),
        ),
        ONCE,
    ),
)
