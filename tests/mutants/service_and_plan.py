"""Mistakes in the epoch loop, its tables, the planner and what Kafka says, that need no schedule to be seen."""

from tests.mutants.text_mutant import TextMutant

ONCE = "tests/unit/service/run/test_once.py"
OWNERSHIP = "tests/unit/service/shared/test_ownership.py tests/unit/ledger/test_marker.py"
SUSPECTS = "tests/unit/pipeline/test_failure_isolation.py"
POSITIONS = "tests/unit/kafka/test_positions.py"
PLAN = "tests/unit/pipeline/test_plan.py"
VIEW = "tests/unit/service/shared/test_kafka_view.py"
REPAIRS = "tests/unit/service/recover/test_recover_meanwhile.py"
REBUILD = "tests/unit/ledger/test_rebuild.py tests/unit/service/recover/test_rebuild_service.py"

MUTANTS = (
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
                "        if (service := self._service_of_live(process)) is not None:\n",
                "        if (service := None) is not None:\n",
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
                "Position(tp, 0, 0, view.id), logs, intent, found)",
                "Position(tp, 9, 9, view.id), logs, intent, found)",
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
)
