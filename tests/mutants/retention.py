"""Mistakes in dropping expired partitions and in deleting their files, by a run and by the command."""

from tests.mutants.text_mutant import mistakes

RUN = "kafka2hive.service.retention.chore"
COMMAND = "kafka2hive.service.retention.command"
REGISTRAR = "kafka2hive.service.hive.registrar"
DROPPED = "kafka2hive.service.hive.dropped"
LEDGER = "kafka2hive.ledger.retention"
DROPPED_TEST = "tests/unit/service/hive/test_dropped_partitions.py"
LOCATIONS_TEST = "tests/unit/service/hive/test_kept_locations.py"
IN_RUN = "tests/unit/service/run/test_run_retention.py"
BY_COMMAND = "tests/unit/service/retention/test_retain_command.py"

LEDGER = "kafka2hive.ledger.retention"
LISTING = "kafka2hive.service.retention.expired"
RETIRE = "kafka2hive.ledger.retire"

RETENTION = (
    *mistakes(
        LEDGER,
        IN_RUN,
        (
            "a partition that cannot be deleted keeps all later ones",
            (
                "                error = error or failure\n                continue\n",
                "                error = error or failure\n                break\n",
            ),
        ),
        (
            "a partition that cannot be deleted is tried again at once",
            ("                self._turns.fail(partition, now)\n", ""),
        ),
        (
            "a partition is cleared although its empty directory is still there",
            ("        except (Unavailable, OutcomeUnknown):\n            raise\n", ""),
        ),
    ),
    *mistakes(
        LISTING,
        IN_RUN,
        (
            "a directory that cannot be listed stops the listing",
            (
                "            self.unreadable[directory] = first_line(error)\n            return ()\n",
                "            raise\n",
            ),
        ),
    ),
    *mistakes(
        RETIRE,
        "tests/unit/ledger/test_retire.py",
        (
            "partitions that cannot be retired keep all later ones",
            ("    due = [moved[p] for p in turns.due(over, now)]\n", "    due = [moved[p] for p in over]\n"),
        ),
    ),
    *mistakes(
        RUN,
        IN_RUN,
        (
            "a look that has not found a dropped partition counts for ever",
            ("if now - FRESH_SECONDS <= at <= now", "if at <= now"),
        ),
        (
            "a look in the future deletes",
            ("if now - FRESH_SECONDS <= at <= now", "if now - FRESH_SECONDS <= at"),
        ),
        (
            "a look from before a table was stopped deletes",
            ("self._progress.pop(table, None)", "self._of(table).looks = []"),
        ),
        (
            "a look from before a table was stopped is recorded",
            ("self._progress.pop(table, None)", "self._of(table).absent = {}"),
        ),
        (
            "a look that does not know where a partition is leaves the earlier one in force",
            ("    for home in (*look.present, *look.refused):\n", "    for home in look.present:\n"),
        ),
        ("the first of several looks decides", ("progress.looks.pop(0)", "progress.looks.pop()")),
        (
            "a run without a look deletes what was dropped before its map had Hive",
            ("absent = work.never_in_hive |", "absent = never_in_hive(work.owned.state) |"),
        ),
        (
            "what Hive once lacked is deleted without a further look",
            (
                "work.never_in_hive | progress.absent.keys()",
                "work.never_in_hive | {each.partition for each in work.owned.state.dropped}",
            ),
        ),
        (
            "a run drops a partition before its certificate is written",
            ("                certified=ledger.certified,\n", ""),
        ),
        (
            "a look that arrives after its table was stopped is kept",
            (" and event.table in self._dropping:", ":"),
        ),
        (
            "success files keep the directories of dropped partitions",
            ("            success_files(table.rule),\n", "            (),\n"),
        ),
    ),
    *mistakes(
        RUN,
        BY_COMMAND,
        (
            "retain drops what waits for Hive's confirmation",
            ("for each in expired.partitions if not each.waits]", "for each in expired.partitions]"),
        ),
        ("retain without Hive drops what Hive may have", ("has_hive=self._has_hive,", "has_hive=True,")),
    ),
    *mistakes(
        LEDGER,
        BY_COMMAND,
        ("retain deletes on the day on which it drops", ("KEEP_SECONDS = 86_400.0", "KEEP_SECONDS = 0.0")),
    ),
    *mistakes(
        COMMAND,
        BY_COMMAND,
        ("retain lists what has expired only if an hour has passed", ("    chore.ask(table)\n", "")),
        (
            "retain ends before it records its looks in Hive",
            ("        is_done = is_idle and (", "        is_done = True or ("),
        ),
        (
            "retain ends well although Hive did not answer",
            ("    if looks.outage is not None:\n", "    if False:\n"),
        ),
        ("the plan of retain drops", ("    if request.plan_only:\n", "    if False:\n")),
        ("retain fences a live run", ("take_over=request.take_over)", "take_over=True)")),
        (
            "what Hive refuses to drop does not show in the exit code",
            (
                "self.error is not None or self.refused or self.foreign",
                "self.error is not None or self.foreign",
            ),
        ),
        (
            "files of others in a dropped partition do not show in the exit code",
            (
                "self.error is not None or self.refused or self.foreign",
                "self.error is not None or self.refused",
            ),
        ),
        (
            "retain ends well although files could not be deleted",
            ("        if removal.error is not None:\n", "        if False:\n"),
        ),
    ),
    *mistakes(
        LEDGER,
        BY_COMMAND,
        (
            "a partition about which Hive refuses to answer is gone",
            (
                "                refused[home] = str(where)\n",
                "                gone.add(home)\n",
            ),
        ),
        (
            "a partition at a third place is dropped",
            (
                "            elif any(same_location(where, place) for place in _places(home)):",
                "            elif True:",
            ),
        ),
        (
            "files of another ledger are deleted",
            ("data.ledger == tag and data.epoch <= through", "data.epoch <= through"),
        ),
        (
            "files of later epochs are deleted",
            ("data.ledger == tag and data.epoch <= through", "data.ledger == tag"),
        ),
        (
            "staged files in a dropped partition are deleted",
            ('return stage == "final" and data', "return data"),
        ),
        (
            "a success file with content is deleted",
            ("child.name in success_files and not child.length]", "child.name in success_files]"),
        ),
    ),
    *mistakes(
        DROPPED,
        DROPPED_TEST,
        (
            "a look for dropped partitions counts from its end",
            ("    looks = [(first, at)]\n", "    looks = [(first, clock.epoch_ms() / 1000)]\n"),
        ),
    ),
    *mistakes(
        REGISTRAR,
        LOCATIONS_TEST,
        (
            "a partition that has moved is registered at its early place, too",
            ("self._unregistered.difference(before) | unregistered", "self._unregistered | unregistered"),
        ),
        (
            "a look at locations counts from its end",
            (
                "        for partition, why in check.refused.items():\n",
                "        asked_at = self._clock.epoch_ms() / 1000\n        for partition, why in check.refused.items():\n",
            ),
        ),
        (
            "only a look that has found something right says what was put back",
            ("            if check.right or check.put_back:\n", "            if check.right:\n"),
        ),
        (
            "a look goes on after an outage where it ended",
            ("        if check.outage is not None:\n            self._to_look_at = []\n", ""),
        ),
    ),
    *mistakes(
        DROPPED,
        DROPPED_TEST,
        (
            "partitions are dropped by a look without all answers",
            ("if to_drop and first.outage is None:", "if to_drop:"),
        ),
        (
            "a table is told what a look has found of other tables",
            ("gone = frozenset(home for home in look.gone if owners[home] == table)", "gone = look.gone"),
        ),
    ),
)
