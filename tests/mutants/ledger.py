"""Mistakes in ledger and publishing that need no schedule to be seen."""

from tests.mutants.text_mutant import mistakes

AUDIT = "kafka2hive.service.verify.history"
LINES = "kafka2hive.service.verify.snapshot_lines"
FILE_LINES = "kafka2hive.service.verify.file_lines"
CERTIFY = "kafka2hive.ledger.certify"
CLEANUP = "kafka2hive.ledger.cleanup"
COMMIT = "kafka2hive.ledger.epoch"
MARKER = "kafka2hive.ledger.location"
CONDITION_FILES = "kafka2hive.ledger.condition_files"
LOCATION = "kafka2hive.ledger.location"
PLACE = "kafka2hive.ledger.init"
REBUILD = "kafka2hive.ledger.repair.rebuild"
RESTORED = "kafka2hive.ledger.repair.older_ledger"
TASKS = "kafka2hive.ledger.repair.rebuild"
RETRY = "kafka2hive.ledger.ports"
COMPLETENESS = "kafka2hive.ledger.snapshot.completeness"
DRAFT = "kafka2hive.ledger.draft"
SNAPSHOT_LINES = "kafka2hive.ledger.snapshot.lines"
TAKE_OVER = "kafka2hive.ledger.start"
REGISTER = "kafka2hive.ledger.register"

LEDGER = (
    *mistakes(
        AUDIT,
        "tests/unit/ledger/test_audit_of_losses.py",
        (
            "the rows of an epoch with a recorded loss are not audited",
            ("        if rows != expected:\n", "        if rows != expected and not _lost_now(snapshot):\n"),
        ),
        (
            "a file that was given up was dumped again, for verify",
            ("if x.remedy == REFETCH and x.path in earlier", "if x.path in earlier"),
        ),
    ),
    *mistakes(
        FILE_LINES,
        "tests/unit/ledger/test_audit_of_losses.py",
        (
            "a file of an epoch with a recorded loss may name any offsets",
            ("    if ranges not in (*refetched, *replayed) and not (", "    if not refetched and not ("),
        ),
    ),
    *mistakes(
        LINES,
        "tests/unit/service/verify/test_certify.py",
        (
            "verify takes an accepted location for an edit",
            (
                '["location"] if after.files and not after.accounts else []',
                '[] if after.accounts else ["location"]',
            ),
        ),
    ),
    *mistakes(
        LINES,
        "tests/unit/service/verify/test_verify.py",
        (
            "an edit of added columns is not told",
            ("line.life is Life.CUMULATIVE]", 'line.life is Life.CUMULATIVE and line.tag != "added"]'),
        ),
    ),
    *mistakes(
        CERTIFY,
        "tests/unit/ledger/test_certify_race.py",
        (
            "any certificate that is there already is taken for ours",
            (
                ("            same = _in_place(files, path, state, certificate)\n        else"),
                "            same = True\n        else",
            ),
        ),
        (
            "drafts are deleted before the certificate is in place",
            (
                "        draft = join(",
                "        _delete_drafts(files, state, directory, names)\n        draft = join(",
            ),
        ),
    ),
    *mistakes(
        CERTIFY,
        "tests/unit/service/verify/test_certify.py",
        (
            "a certificate counts a file that was given up with its epoch",
            ("path in given_up or base_name(path) not in names", "False"),
        ),
        (
            "a certificate names no given-up file",
            ("for x in snapshot.losses if is_lost_from(x, partition)", "for x in ()"),
        ),
    ),
    *mistakes(
        CLEANUP,
        "tests/unit/ledger/test_cleanup.py",
        (
            "orphans of the own generation are kept",
            ("(name.generation, name.epoch) < current", "name.generation < current[0]"),
        ),
        (
            "the staged files of an epoch that failed stay",
            ("(name.generation, name.epoch) == failed and", "False and"),
        ),
        (
            "an epoch that failed takes the files of units under way with it",
            ("(units_since is None or path in staged)", "True"),
        ),
        (
            "an epoch whose commit was tried counts as failed",
            ("    if owned.is_spent:\n        return 0\n", ""),
        ),
        (
            "files of other attempts beside a pending epoch stay",
            ("name.generation < owned.generation.number and", "False and"),
        ),
        (
            "a start without room deletes what its pending epoch names",
            (" and base_name(path) not in named", ""),
        ),
        (
            "junk pendings stay in the owner's directory",
            ("if is_draft_name(child.name) or stale_pending:", "if is_draft_name(child.name):"),
        ),
    ),
    *mistakes(
        COMMIT,
        "tests/unit/ledger/test_commit.py",
        (
            "an unclear commit is not read back",
            ("                _check_is_mine(ports, owned, pending, data)\n", ""),
        ),
        (
            "another snapshot under the pending name is taken for this one",
            ("    if committed != data:\n", "    if not committed:\n"),
        ),
        ("what is held of a table is used for two commits", ("    owned.spend()\n", "")),
        (
            "a commit that cannot be read back is unclear also to who was fenced",
            (
                ("        list_own_directory(ports.files, owned)\n        raise StateUnknown("),
                "        raise AmbiguousOutcome(",
            ),
        ),
    ),
    *mistakes(
        MARKER,
        "tests/unit/ledger/test_marker.py",
        (
            "a start makes itself at home in another ledger's table",
            ("        if owner != state.ledger_id:\n", "        if False:\n"),
        ),
        (
            "a vanished ledger is begun anew",
            ("if owner is not None and not is_there(files, table_directory):", "if False:"),
        ),
    ),
    *mistakes(
        CONDITION_FILES,
        "tests/unit/service/run/test_conditions.py",
        (
            "how the run before ended is deleted before this one could say how it did",
            (
                (
                    "            if not self._write_outcome(outcome):\n"
                    "                return\n"
                    "            self._delete(earlier)\n"
                ),
                (
                    "            self._delete(earlier)\n"
                    "            if not self._write_outcome(outcome):\n"
                    "                return\n"
                ),
            ),
        ),
    ),
    *mistakes(
        LOCATION,
        "tests/unit/service/tables/test_location.py",
        (
            "a ledger that has read nothing guards its location",
            ("    if state.positions and state.location and", "    if state.location and"),
        ),
        (
            "a changed location is accepted in silence",
            (
                (
                    "    if state.positions and state.location and not same_location(state.location,"
                    " location):\n"
                ),
                "    if False:\n",
            ),
        ),
        (
            "the location is recorded before its marker is claimed",
            ("    claim_location(ports, location, owned.state)\n", ""),
        ),
        (
            "the staging directory of the old location is left as it is",
            ("    _refuse_staged_files(ports, owned, staging_directory(old))\n", ""),
        ),
        (
            "the staging directory of the new location is left as it is",
            ("    delete_orphans(ports, owned, staging_directory(location))\n", ""),
        ),
    ),
    *mistakes(
        PLACE,
        "tests/unit/ledger/test_rebuild.py tests/unit/service/recover/test_rebuild_service.py",
        (
            "a ledger is rebuilt over one that is there",
            (
                (
                    "        files.stat(paths.table_directory)\n"
                    "    except NotFound:\n"
                    "        return\n"
                    "    raise _ledger_exists(paths)\n"
                ),
                ("        files.stat(paths.table_directory)\n    except NotFound:\n        return\n"),
            ),
        ),
    ),
    *mistakes(
        REBUILD,
        "tests/unit/ledger/test_rebuild.py tests/unit/service/recover/test_rebuild_service.py",
        (
            "a rebuilt ledger passes over holes",
            ("            if source.start > at:\n", "            if False:\n"),
        ),
        (
            "a rebuilt ledger lets offsets go back",
            ("            if source.start < at:\n", "            if False:\n"),
        ),
    ),
    *mistakes(
        RESTORED,
        "tests/unit/service/start/test_restored.py",
        (
            "an older ledger that was put back is believed",
            ("    if not newer:\n        return\n    now =", "    if True:\n        return\n    now ="),
        ),
        (
            "a file that a run makes meanwhile is a sign of an older ledger",
            (
                "        committed = view.state.epoch + (1 if self.staged else 0)\n",
                "        committed = view.state.epoch\n",
            ),
        ),
        (
            "another ledger's file is a sign of an older ledger",
            ("    if name is not None and name.ledger == tag:\n", "    if name is not None:\n"),
        ),
        (
            "a later generation alone is no sign of an older ledger",
            (" or self.generation > view.generation.number", ""),
        ),
        (
            "a directory that is no Hive partition is taken for the newest one",
            ('    return "=" in name and ', "    return "),
        ),
        (
            "a certificate is no sign of an older ledger",
            (
                "    name = CertificateName.parse(child.name) if parsed is None else parsed[0]\n",
                "    name = None if parsed is None else parsed[0]\n",
            ),
        ),
    ),
    *mistakes(
        TASKS,
        "tests/unit/ledger/test_rebuild.py tests/unit/service/recover/test_rebuild_service.py",
        (
            "a rebuilt ledger takes two attempts of one task",
            (
                ("        elif earlier.epoch < attempt.epoch or not _places(earlier) & _places(attempt):\n"),
                "        elif True:\n",
            ),
        ),
        (
            "a rebuilt ledger takes the rows of a replay for proof",
            ("        if any(f.footer.replay for f in self.every_file):\n", "        if False:\n"),
        ),
        (
            "a rebuilt ledger believes a task whose files are not all there",
            ("            if rows != expected:\n", "            if False:\n"),
        ),
    ),
    *mistakes(
        RETRY,
        "tests/unit/ledger/test_ledger_looks.py",
        (
            "a ledger step whose look has no answer starts the table afresh",
            ("            answer = Answer.AGAIN\n        match", "            raise\n        match"),
        ),
        (
            "a ledger step whose look has no answer counts as done",
            (
                "            answer = Answer.AGAIN\n        match",
                "            answer = Answer.DONE\n        match",
            ),
        ),
    ),
    *mistakes(
        COMPLETENESS,
        "tests/unit/ledger/test_audit_of_drafts.py",
        (
            "rows of open partitions are those of the newest file",
            ("        rows=known.rows + more.rows,\n", "        rows=more.rows,\n"),
        ),
    ),
    *mistakes(
        COMPLETENESS,
        "tests/unit/service/verify/test_certify.py",
        (
            "each late file renews the time at which a partition was opened",
            (
                "        known,\n        partition=more.partition,\n",
                "        more,\n        partition=more.partition,\n",
            ),
        ),
        (
            "a loss leaves the counts of open partitions as they were",
            ("        _subtract(now, loss)\n", "        continue\n"),
        ),
        (
            "a certificate counts only the files of the newest location",
            ("        files=known.files + more.files,\n", "        files=more.files,\n"),
        ),
    ),
    *mistakes(
        DRAFT,
        "tests/unit/ledger/test_audit_of_drafts.py",
        (
            "a table without partitions is never owed to Hive",
            (
                "    return frozenset(f.hive_partition for f in files)\n",
                "    return frozenset(f.hive_partition for f in files if f.hive_partition.path)\n",
            ),
        ),
    ),
    *mistakes(
        DRAFT,
        "tests/unit/ledger/test_decisions.py",
        (
            "the next accepted gap takes the place of the earlier ones",
            ("gaps=state.gaps + change.gaps", "gaps=change.gaps or state.gaps"),
        ),
        (
            "the next accepted loss takes the place of the earlier ones",
            ("losses=state.losses + change.losses", "losses=change.losses or state.losses"),
        ),
    ),
    *mistakes(
        DRAFT,
        "tests/unit/ledger/test_hive_lines.py",
        (
            "a registration that was given up is owed again",
            (" - given_up - frozenset", " - frozenset"),
        ),
        (
            "a registration that was given up is forgotten by the next snapshot",
            ("forgotten=state.forgotten + change.forgotten", "forgotten=change.forgotten"),
        ),
        (
            "what was compared is forgotten by the next snapshot",
            ("{each.table: each for each in state.compared}", "{}"),
        ),
    ),
    *mistakes(
        SNAPSHOT_LINES,
        "tests/contract/test_snapshot_format.py",
        (
            "an older program takes a snapshot with more rows for its own",
            ('"account.more_rows", since=3', '"account.more_rows", since=2'),
        ),
    ),
    *mistakes(
        SNAPSHOT_LINES,
        "tests/unit/ledger/test_hive_lines.py",
        ("a snapshot with added columns says that older versions may read it", ("    since=2,\n", "")),
    ),
    *mistakes(
        TAKE_OVER,
        "tests/unit/ledger/test_take_over.py",
        (
            "a damaged pending snapshot is left for the final one below it, by the take-over",
            (
                (
                    "    path = join(directory, newest.name)\n"
                    "    try:\n"
                    "        state = read_state(files, paths, path)\n"
                ),
                (
                    "    path = join(directory, newest.name)\n"
                    "    try:\n"
                    "        try:\n"
                    "            state = read_state(files, paths, path)\n"
                    "        except Kafka2HiveError:\n"
                    "            newest = type(newest)(newest.epoch - 1, False)\n"
                    "            state = read_state(files, paths, join(directory, newest.name))\n"
                ),
            ),
        ),
    ),
    *mistakes(
        "kafka2hive.ledger.look",
        "tests/unit/ledger/test_take_over.py",
        (
            "a snapshot of another table is believed",
            ("    if state.table != paths.table:\n", "    if False:\n"),
        ),
        (
            "a snapshot that says another epoch than its name is believed",
            ("    if name is not None and name[0] != snapshot.epoch:\n", "    if False:\n"),
        ),
    ),
    *mistakes(
        REGISTER,
        "tests/unit/hive/test_register.py",
        (
            "the last debt of a full batch of 200 is forgotten",
            (
                "        yield partitions[start : start + _BATCH]",
                "        yield partitions[start : start + _BATCH - 1]",
            ),
        ),
        (
            "a dropped partition counts as registered",
            (
                "                    self.unavailable.add(partition)\n                elif same",
                "                    self.registered.add(partition)\n                elif same",
            ),
        ),
        (
            "the location that Hive has is not compared",
            ("elif same_location(where, partition.location):", "elif where:"),
        ),
    ),
    *mistakes(
        "kafka2hive.ledger.history",
        "tests/unit/service/verify/test_deep_units.py",
        (
            "replayed letters have the bounds of another topic with their offsets",
            ("origin = replayed.get(file.task, file.ranges[0])", "origin = file.ranges[0]"),
        ),
    ),
    *mistakes(
        "kafka2hive.ledger.history",
        "tests/unit/ledger/test_audit_of_replays.py",
        (
            "letters that are replayed are letters to replay",
            ("            and file.final not in self._gone\n", ""),
        ),
        (
            "letters have no bounds",
            ("                self.bounds[path] = snapshot.bounds\n", "                pass\n"),
        ),
    ),
    *mistakes(
        "kafka2hive.service.verify.snapshot_lines",
        "tests/unit/ledger/test_audit_of_replays.py",
        (
            "a replay under way may say anything",
            (
                '    if now != expected:\n        yield of_epoch(after, "verify.order", f"replaying',
                '    if False:\n        yield of_epoch(after, "verify.order", f"replaying',
            ),
        ),
    ),
)
