"""Mistakes in the rooms beside the ledger's main path: early places, units, repairs, resets, certificates, replays, orders."""

from tests.mutants.text_mutant import mistakes

PLACES = "kafka2hive.ledger.snapshot.compaction"
UNITS = "kafka2hive.service.compaction.units"
COMPACTIONS = "kafka2hive.service.compaction.chore"
REPAIR = "kafka2hive.service.recover.repair"
REFETCH = "kafka2hive.service.recover.refetch"
HISTORY = "kafka2hive.ledger.history"
RESET = "kafka2hive.service.recover.reset"
PUT_AWAY = "kafka2hive.ledger.repair.reset"
CERTIFY = "kafka2hive.ledger.certify"
LETTERS = "kafka2hive.service.replay.letter_files"
ANSWERS = "kafka2hive.service.orders.answers"
DELIVERY = "kafka2hive.service.orders.delivery"
EARLY_TEST = "tests/unit/ledger/test_early_losses.py"
COMPACTION_TEST = "tests/unit/service/run/test_run_compaction.py"
EXPIRED_TEST = "tests/unit/service/recover/test_recover_expired.py"
RESET_TEST = "tests/unit/service/recover/test_reset.py"
ANSWERS_TEST = "tests/unit/service/orders/test_answers.py"
LETTERS_TEST = "tests/unit/service/replay/test_letter_files.py"

ROOMS = (
    *mistakes(
        PLACES,
        EARLY_TEST,
        (
            "an accepted loss leaves the counts of its early partition as they were",
            ("for loss in after.losses[len(before.losses) :]:", "for loss in ():"),
        ),
        (
            "an accepted loss leaves the rows of its early partition as they were",
            ("files=entry.files - 1, rows=entry.rows - loss.rows)", "files=entry.files - 1)"),
        ),
        (
            "each epoch subtracts the losses of early partitions again",
            ("for loss in after.losses[len(before.losses) :]:", "for loss in after.losses:"),
        ),
        (
            "an early partition without a file stays",
            ("                if not early[path].files:\n                    del early[path]\n", ""),
        ),
        (
            "a loss is that of each partition whose name its path begins with",
            (
                'loss.path.rpartition("/")[0] == entry.partition.location',
                "loss.path.startswith(entry.partition.location)",
            ),
        ),
        (
            "a partition moves although its registration was given up",
            ("not in withdrawn | given_up)", "not in withdrawn)"),
        ),
        (
            "a partition whose registration was given up is watched",
            (" for entry in places) - given_up", " for entry in places)"),
        ),
    ),
    *mistakes(
        UNITS,
        COMPACTION_TEST,
        (
            "units of a partition whose registration was given up are kept",
            (" and self.partition not in given_up", ""),
        ),
        ("units may lack rows of the ledger", ("        if rows != early.rows:\n", "        if False:\n")),
        (
            "a source may be replaced while it is compacted",
            ("        if list(listed[:known]) != self._sources:\n", "        if False:\n"),
        ),
        (
            "sources that a unit leaves out are forgotten",
            ("            self._waiting.insert(0, interval[written.sources :])\n", "            pass\n"),
        ),
    ),
    *mistakes(
        UNITS,
        "tests/unit/service/run/test_compaction_orders.py",
        (
            "an order waits for a partition whose registration was given up",
            (" | {e.partition.path for e in state.forgotten}", ""),
        ),
    ),
    *mistakes(
        COMPACTIONS,
        COMPACTION_TEST,
        (
            "only the first unit of a job may fail",
            (
                "next((each.failure for each in end if each.failure is not None), None)",
                "end[0].failure",
            ),
        ),
        (
            "only the last unit of a job may fail",
            (
                "next((each.failure for each in end if each.failure is not None), None)",
                "end[-1].failure",
            ),
        ),
        (
            "a unit that was written makes up for one that failed",
            (
                "        if failure is not None:\n",
                "        if failure is not None and not any(each.written for each in end):\n",
            ),
        ),
    ),
    *mistakes(
        REPAIR,
        EXPIRED_TEST,
        (
            "files of dropped partitions are losses",
            (
                "candidates.keys() - recorded - self._expired(ledger, candidates)",
                "candidates.keys() - recorded",
            ),
        ),
        (
            "files of partitions whose drop has ended are losses",
            ("for state in (ledger.state, *finals) for line", "for state in (ledger.state,) for line"),
        ),
        (
            "early files of dropped partitions are losses",
            (
                "for place in (home.location, other_place(home.location, home.path))",
                "for place in (home.location,)",
            ),
        ),
        (
            "a loss beside a dropped partition is none",
            ("if parent(path) in places}", "if places}"),
        ),
        (
            "a loss that is recorded is recorded again",
            ("candidates.keys() - recorded - self._expired", "candidates.keys() - self._expired"),
        ),
    ),
    *mistakes(
        REPAIR,
        EXPIRED_TEST,
        (
            "a retired file is a loss",
            (" and not was_retired(ports.files, ledger.state, file)", ""),
        ),
        (
            "a loss is recorded with the epoch before",
            ("accepted_at=now, epoch=owned.next_epoch\n", "accepted_at=now, epoch=owned.state.epoch\n"),
        ),
    ),
    *mistakes(
        "kafka2hive.ledger.history",
        LETTERS_TEST,
        (
            "a lost file of letters is replayed",
            ("self._gone = {loss.path for loss in newest.losses} | {", "self._gone = {"),
        ),
        (
            "letters are replayed whose partition was dropped long ago",
            (
                "            self._dropped.setdefault(line.partition.location, line.epoch)\n",
                "            pass\n",
            ),
        ),
    ),
    *mistakes(
        RESET,
        RESET_TEST,
        (
            "a reset that keeps the data leaves early files to the next ledger",
            ("view.state.early and not request.move_data:", "False:"),
        ),
        (
            "a reset that moves the data is refused because of early partitions",
            ("view.state.early and not request.move_data:", "view.state.early:"),
        ),
        (
            "only the plan of a reset names early partitions",
            ("view.state.early and not request.move_data:", "view.state.early and request.plan_only:"),
        ),
    ),
    *mistakes(
        PUT_AWAY,
        RESET_TEST,
        (
            "a reset that moves the data leaves the early files",
            ("if c.is_visible or c.name == EARLY_PLACES]", "if c.is_visible]"),
        ),
    ),
    *mistakes(
        CERTIFY,
        "tests/unit/service/verify/test_certify.py",
        (
            "a certificate counts a file that is not listed",
            ("path in given_up or base_name(path) not in names", "path in given_up"),
        ),
        (
            "a certificate looks only for the files of another partition",
            (
                "if f.hive_partition == certificate.partition]",
                "if f.hive_partition != certificate.partition]",
            ),
        ),
    ),
    *mistakes(
        LETTERS,
        LETTERS_TEST,
        (
            "a replay writes rows that have expired since",
            ("bounds=with_expiry(self.bounds, state)", "bounds=self.bounds"),
        ),
        (
            "a batch with a failed task replaces its other files",
            ("            return ReplayBatch(failure=manifest.failure)\n", "            continue\n"),
        ),
    ),
    *mistakes(
        ANSWERS,
        ANSWERS_TEST,
        (
            "an order is done again although a snapshot records it",
            ("        if find_recorded(state(), order.id) is None:\n", "        if True:\n"),
        ),
        (
            "the file of an order leaves the inbox before its line is committed",
            (
                "        if find_recorded(state(), order.id) is None:\n"
                "            publish(order)\n"
                "        if not inbox.move_to_done(order):\n",
                "        is_moved = inbox.move_to_done(order)\n"
                "        if find_recorded(state(), order.id) is None:\n"
                "            publish(order)\n"
                "        if not is_moved:\n",
            ),
        ),
        (
            "orders behind a file that cannot be moved are done",
            (
                "        if not inbox.move_to_done(order):\n            return\n",
                "        inbox.move_to_done(order)\n",
            ),
        ),
        (
            "a long order is answered before its work is done",
            (
                " and find_recorded(state, order.id) is None\n",
                " and find_recorded(state, order.id) is not None\n",
            ),
        ),
    ),
    *mistakes(
        "kafka2hive.service.replay.chore",
        "tests/unit/service/run/test_replay_orders.py",
        (
            "a replay counts as ended before a snapshot says so",
            (
                "        self._owner.carry_out(table, work.order, result)\n        del self._works[table.name]\n"
                "        self._ended.append(work.order)\n",
                "        self._ended.append(work.order)\n        self._owner.carry_out(table, work.order, result)\n"
                "        del self._works[table.name]\n",
            ),
        ),
        (
            "a replay that is refused leaves the inbox before a snapshot says so",
            (
                "            self._owner.carry_out(table, order, error)\n            self._ended.append(order)\n",
                "            self._ended.append(order)\n            self._owner.carry_out(table, order, error)\n",
            ),
        ),
    ),
    *mistakes(
        "kafka2hive.service.replay.command",
        "tests/unit/cli/test_dead_letters_command.py",
        (
            "a replay by the command stays under way in the ledger",
            (", compared=self.compared, running=None)", ", compared=self.compared)"),
        ),
        (
            "a replay that committed nothing names an epoch",
            ("        if table.owned.state.epoch != before:\n", "        if True:\n"),
        ),
        (
            "the command counts letters that it left unchanged as replayed",
            ("self.result.files, self.result.account = done.files, done.account", "self.result.files += 1"),
        ),
    ),
    *mistakes(
        COMPACTIONS,
        "tests/unit/service/run/test_compaction_orders.py",
        (
            "an order to compact leaves the inbox before a snapshot records its end",
            (
                "        if find_recorded(table.owned.state, order.id) is None:\n",
                "        self._ended.append(order)\n        if find_recorded(table.owned.state, order.id) is None:\n",
            ),
        ),
    ),
    *mistakes(
        DELIVERY,
        ANSWERS_TEST,
        (
            "a command records the orders of other tables",
            ("for o in waiting if o.table == paths.table and not", "for o in waiting if not"),
        ),
        (
            "a command answers orders that only a run can carry out",
            (" and not isinstance(o.instruction, _LEFT_TO_A_RUN)]", "]"),
        ),
    ),
    *mistakes(
        REFETCH,
        "tests/unit/service/recover/test_refetch.py",
        (
            "a refetched file of an early partition lands at the partition's home",
            ("    if not _is_early(lost):\n        return files\n", "    if True:\n        return files\n"),
        ),
        (
            "a refetched file of an early partition counts as one of its home",
            ("replace(f, hive_partition=place, final=", "replace(f, final="),
        ),
        (
            "a refetch commits however many rows Kafka gives now",
            ("    if found != rows:\n", "    if False:\n"),
        ),
        (
            "a refetch keeps files of other buckets",
            ("        only_bucket=bucket,\n", ""),
            (
                "        if f.kind is lost.kind and (f.kind is FileKind.DEAD_LETTER or f.hive_partition.path == bucket)\n",
                "",
            ),
        ),
        (
            "a refetch of dead letters keeps the rows of their records",
            (
                "        if f.kind is lost.kind and (f.kind is FileKind.DEAD_LETTER or f.hive_partition.path == bucket)\n",
                "",
            ),
        ),
        (
            "a file of a partition that has moved is fetched again",
            ("all(each.partition != partition for each in owned.state.early)", "False"),
        ),
    ),
    *mistakes(
        REPAIR,
        "tests/unit/service/recover/test_named_files.py",
        (
            "a pattern names files whose letters a pending epoch has replayed",
            ("(file for file in earlier if file.final not in replayed)", "earlier"),
        ),
    ),
    *mistakes(
        HISTORY,
        "tests/unit/service/recover/test_named_files.py",
        (
            "a pattern names files whose letters an epoch has replayed",
            ("        replayed |= {replayed_file.path for replayed_file in snapshot.replayed}\n", ""),
        ),
    ),
)
