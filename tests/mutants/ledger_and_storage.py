"""Mistakes in the ledger, the publisher and the storage adapters that need no schedule to be seen."""

from tests.mutants.text_mutant import TextMutant

AUDIT_OF_DRAFTS = "tests/unit/ledger/test_audit_of_drafts.py"
DECISIONS = "tests/unit/ledger/test_decisions.py"

MUTANTS = (
    TextMutant(
        "the last debt of a full batch of 200 is forgotten",
        "kafka2hive.publish.register",
        (
            (
                "        yield partitions[start : start + _BATCH]",
                "        yield partitions[start : start + _BATCH - 1]",
            ),
        ),
        "tests/unit/hive/test_register.py",
    ),
    TextMutant(
        "a dropped partition counts as registered",
        "kafka2hive.publish.register",
        (
            (
                "                self.unavailable.add(partition)\n            elif same",
                "                self.registered.add(partition)\n            elif same",
            ),
        ),
        "tests/unit/hive/test_register.py",
    ),
    TextMutant(
        "the location that Hive has is not compared",
        "kafka2hive.publish.register",
        (("            elif same_location(where, partition.location):", "            elif where:"),),
        "tests/unit/hive/test_register.py",
    ),
    TextMutant(
        "local close without fsync",
        "kafka2hive.storage.local",
        (("                self._sync(descriptor)\n", "                pass\n"),),
        "tests/unit/storage/test_local_storage.py",
    ),
    TextMutant(
        "HDFS close without hsync",
        "kafka2hive.storage.hdfs_writer",
        (("            self._files.transfer(Operation.SYNC, self._path, raw.hsync)\n", ""),),
        "tests/unit/storage/test_hdfs_doubts.py",
    ),
    TextMutant(
        "orphans of the own generation are kept",
        "kafka2hive.ledger.cleanup",
        (("(parsed[0].generation, parsed[0].epoch) < mine:", "parsed[0].generation < mine[0]:"),),
        "tests/unit/ledger/test_cleanup.py",
    ),
    TextMutant(
        "junk pendings stay in the owner's directory",
        "kafka2hive.ledger.cleanup",
        (("if is_draft_name(child.name) or stale_pending:", "if is_draft_name(child.name):"),),
        "tests/unit/ledger/test_cleanup.py",
    ),
    TextMutant(
        "a start makes itself at home in another ledger's table",
        "kafka2hive.ledger.marker",
        (("        if owner != state.ledger_id:\n", "        if False:\n"),),
        "tests/unit/ledger/test_marker.py",
    ),
    TextMutant(
        "a damaged pending snapshot is left for the final one below it, by the take-over",
        "kafka2hive.ledger.take_over",
        (
            (
                "    path = join(directory, newest.name)\n    try:\n        state = read_state(files, paths, path)\n",
                "    path = join(directory, newest.name)\n    try:\n        try:\n"
                "            state = read_state(files, paths, path)\n        except ManualActionRequired:\n"
                "            newest = Newest(newest.epoch - 1, False)\n"
                "            state = read_state(files, paths, join(directory, newest.name))\n",
            ),
        ),
        "tests/unit/ledger/test_take_over.py",
    ),
    TextMutant(
        "a snapshot of another table is believed",
        "kafka2hive.ledger.take_over",
        (("    if state.table != paths.table:\n", "    if False:\n"),),
        "tests/unit/ledger/test_take_over.py",
    ),
    TextMutant(
        "a snapshot that says another epoch than its name is believed",
        "kafka2hive.ledger.take_over",
        (("    if named is not None and named[0] != snapshot.epoch:\n", "    if False:\n"),),
        "tests/unit/ledger/test_take_over.py",
    ),
    TextMutant(
        "a vanished ledger is begun anew",
        "kafka2hive.ledger.marker",
        (("if owner is not None and not is_there(files, table_directory):", "if False:"),),
        "tests/unit/ledger/test_marker.py",
    ),
    TextMutant(
        "the next accepted gap takes the place of the earlier ones",
        "kafka2hive.ledger.snapshot.draft",
        (("gaps=state.gaps + change.gaps", "gaps=change.gaps or state.gaps"),),
        DECISIONS,
    ),
    TextMutant(
        "the next accepted loss takes the place of the earlier ones",
        "kafka2hive.ledger.snapshot.draft",
        (("losses=state.losses + change.losses", "losses=change.losses or state.losses"),),
        DECISIONS,
    ),
    TextMutant(
        "a table without partitions is never owed to Hive",
        "kafka2hive.ledger.snapshot.draft",
        (
            (
                "    return frozenset(f.hive_partition for f in files)\n",
                "    return frozenset(f.hive_partition for f in files if f.hive_partition.path)\n",
            ),
        ),
        AUDIT_OF_DRAFTS,
    ),
    TextMutant(
        "rows of open partitions are those of the newest file",
        "kafka2hive.ledger.snapshot.completeness",
        (("        rows=known.rows + more.rows,\n", "        rows=more.rows,\n"),),
        AUDIT_OF_DRAFTS,
    ),
    TextMutant(
        "each late file renews the time at which a partition was opened",
        "kafka2hive.ledger.snapshot.completeness",
        (
            (
                "        known,\n        partition=more.partition,\n",
                "        more,\n        partition=more.partition,\n",
            ),
        ),
        "tests/unit/service/audit/test_certify.py",
    ),
    TextMutant(
        "a certificate names no given-up file",
        "kafka2hive.ledger.snapshot.completeness",
        (("for x in snapshot.losses if is_lost_from(x, place)", "for x in ()"),),
        "tests/unit/service/audit/test_certify.py",
    ),
    TextMutant(
        "a certificate counts a file that was given up with its epoch",
        "kafka2hive.ledger.certify",
        (("path in given_up or base_name(path) not in names", "False"),),
        "tests/unit/service/audit/test_certify.py",
    ),
    TextMutant(
        "a loss leaves the counts of open partitions as they were",
        "kafka2hive.ledger.snapshot.completeness",
        (("        _take_out(now, loss)\n", "        continue\n"),),
        "tests/unit/service/audit/test_certify.py",
    ),
)
