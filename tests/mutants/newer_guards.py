"""Mistakes in what refuses a commit, a start or a location: the read-back of a commit, older ledgers, Hive's tables."""

from tests.mutants.text_mutant import TextMutant

COMMIT = "tests/unit/ledger/test_commit.py"
RESTORED = "tests/unit/service/shared/test_restored.py"
LOCATION = "tests/unit/service/shared/test_location.py"
GATE = "tests/unit/service/run/test_compare_gate.py"
VERIFY = "tests/unit/service/audit/test_verify.py"
LOGS = "tests/unit/service/run/test_observe.py"
COMPILED = "tests/contract/test_decode_compiled.py"

MUTANTS = (
    TextMutant(
        "changes of files that went well are logged at info",
        "kafka2hive.storage.logged",
        (('target: str = "", level: int = logging.DEBUG)', 'target: str = "", level: int = logging.INFO)'),),
        LOGS,
    ),
    TextMutant(
        "the audit log has no more than the log",
        "kafka2hive.observe.log",
        (("min(least, logging.DEBUG) if audit and name == _CHANGES else least", "least"),),
        LOGS,
    ),
    *(
        TextMutant(name, module, (edit,), tests)
        for name, module, edit, tests in (
            (
                "the rows of an epoch with a recorded loss are not audited",
                "kafka2hive.ledger.audit.audit",
                (
                    "        if rows != expected:\n",
                    "        if rows != expected and not _lost_now(snapshot):\n",
                ),
                "tests/unit/ledger/test_audit_of_losses.py",
            ),
            (
                "a file that was given up was dumped again, for verify",
                "kafka2hive.ledger.audit.audit",
                ("if x.remedy == REFETCH and x.path in named", "if x.path in named"),
                "tests/unit/ledger/test_audit_of_losses.py",
            ),
            (
                "a file of an epoch with a recorded loss may name any offsets",
                "kafka2hive.ledger.audit.lines",
                ("    if named not in again and not (", "    if not again and not ("),
                "tests/unit/ledger/test_audit_of_losses.py",
            ),
            (
                "verify takes an accepted location for an edit",
                "kafka2hive.ledger.audit.lines",
                (
                    '["location"] if after.files and not after.accounts else []',
                    '[] if after.accounts else ["location"]',
                ),
                "tests/unit/service/audit/test_certify.py",
            ),
            (
                "a certificate counts only the files of the newest location",
                "kafka2hive.ledger.snapshot.completeness",
                ("        files=known.files + more.files,\n", "        files=more.files,\n"),
                "tests/unit/service/audit/test_certify.py",
            ),
            (
                "a file that was dumped again explains rows that others lack",
                "kafka2hive.service.audit.units",
                ("if data is not None or file.final not in refetched", "if True"),
                "tests/unit/service/audit/test_deep_units.py",
            ),
        )
    ),
    TextMutant(
        "any certificate that is there already is taken for ours",
        "kafka2hive.ledger.certify",
        (
            (
                "            same = _in_place(files, path, state, certificate)\n        else",
                "            same = True\n        else",
            ),
        ),
        "tests/unit/ledger/test_certify_race.py",
    ),
    TextMutant(
        "a JVM that is gone first is printed",
        "kafka2hive.pipeline.spark_internals",
        (('    _of(context, "_accumulatorServer").handle_error = _say_nothing\n', ""),),
        "tests/unit/pipeline/test_spark_end.py",
    ),
    TextMutant(
        "verify is silent about files of others among the ledger's",
        "kafka2hive.service.audit.files",
        (("    if not found:\n        return []\n    more", "    if found:\n        return []\n    more"),),
        VERIFY,
    ),
    TextMutant(
        "verify notes files that Hive does not read",
        "kafka2hive.service.audit.files",
        ((' and base_name(path)[0] not in "_."\n', "\n"),),
        VERIFY,
    ),
    TextMutant(
        "verify notes files of partitions that are not the ledger's",
        "kafka2hive.service.audit.files",
        ((" and parent(path) in directories and", " and"),),
        VERIFY,
    ),
    TextMutant(
        "an unclear commit is not read back",
        "kafka2hive.ledger.commit",
        (("                _must_be_mine(ports, owned, pending, data)\n", ""),),
        COMMIT,
    ),
    TextMutant(
        "another snapshot under the pending name is taken for this one",
        "kafka2hive.ledger.commit",
        (("    if there != data:\n", "    if not there:\n"),),
        COMMIT,
    ),
    TextMutant(
        "what is held of a table is used for two commits",
        "kafka2hive.ledger.commit",
        (("    owned.spend()\n", ""),),
        COMMIT,
    ),
    TextMutant(
        "a commit that cannot be read back is unclear also to who was fenced",
        "kafka2hive.ledger.commit",
        (
            (
                "        list_own_directory(ports.files, owned)\n        raise StateUnknown(",
                "        raise AmbiguousOutcome(",
            ),
        ),
        COMMIT,
    ),
    TextMutant(
        "an older ledger that was put back is believed",
        "kafka2hive.ledger.repair.restored",
        (("    if not newer:\n        return\n    now =", "    if True:\n        return\n    now ="),),
        RESTORED,
    ),
    TextMutant(
        "a file that a run makes meanwhile is a sign of an older ledger",
        "kafka2hive.ledger.repair.restored",
        (
            (
                "        committed = view.state.epoch + (1 if self.staged else 0)\n",
                "        committed = view.state.epoch\n",
            ),
        ),
        RESTORED,
    ),
    TextMutant(
        "another ledger's file is a sign of an older ledger",
        "kafka2hive.ledger.repair.restored",
        (("    if name is not None and name.ledger == tag:\n", "    if name is not None:\n"),),
        RESTORED,
    ),
    TextMutant(
        "a later generation alone is no sign of an older ledger",
        "kafka2hive.ledger.repair.restored",
        ((" or self.generation > view.generation.number", ""),),
        RESTORED,
    ),
    TextMutant(
        "the group's offsets are not compared with a ledger that is there",
        "kafka2hive.service.shared.lost_ledger",
        (("        if not ahead:\n            return\n", "        if True:\n            return\n"),),
        RESTORED,
    ),
    TextMutant(
        "an accepted gap that went back does not excuse the group",
        "kafka2hive.service.shared.lost_ledger",
        (
            (
                "            if offset > positions.get(tp, 0) and tp not in went_back\n",
                "            if offset > positions.get(tp, 0)\n",
            ),
        ),
        RESTORED,
    ),
    TextMutant(
        "another table's damaged ledger is a verdict on a healthy one",
        "kafka2hive.service.shared.lost_ledger",
        (("        if may_explain:\n", "        if False:\n"),),
        RESTORED,
    ),
    TextMutant(
        "a silent consumer group is asked for every table",
        "kafka2hive.service.shared.lost_ledger",
        (("                self._silent = True\n", "                self._silent = False\n"),),
        RESTORED,
    ),
    TextMutant(
        "a directory that is no Hive partition is taken for the newest one",
        "kafka2hive.ledger.repair.restored",
        (('    return "=" in name and ', "    return "),),
        RESTORED,
    ),
    TextMutant(
        "a fenced run still commits group offsets",
        "kafka2hive.service.run.watch.metrics",
        (("            if isinstance(ended_by, Fenced | TakeOverLost):\n", "            if False:\n"),),
        "tests/unit/service/run/test_group_follower.py",
    ),
    TextMutant(
        "a ledger that has read nothing guards its location",
        "kafka2hive.ledger.repair.location",
        (("    if state.positions and state.location and", "    if state.location and"),),
        LOCATION,
    ),
    TextMutant(
        "a changed location is accepted in silence",
        "kafka2hive.ledger.repair.location",
        (
            (
                "    if state.positions and state.location and not same_location(state.location, location):\n",
                "    if False:\n",
            ),
        ),
        LOCATION,
    ),
    TextMutant(
        "the location is recorded before its marker is claimed",
        "kafka2hive.ledger.repair.location",
        (("    claim_location(ports, location, owned.state)\n", ""),),
        LOCATION,
    ),
    TextMutant(
        "the staging directory of the old location is left as it is",
        "kafka2hive.ledger.repair.location",
        (("    _refuse_left(ports, owned, staging_directory(old))\n", ""),),
        LOCATION,
    ),
    TextMutant(
        "the staging directory of the new location is left as it is",
        "kafka2hive.ledger.repair.location",
        (("    delete_orphans(ports, owned, staging_directory(location))\n", ""),),
        LOCATION,
    ),
    TextMutant(
        "a table that was never compared with Hive commits",
        "kafka2hive.service.run.compare.gate",
        (("                if spec not in _recorded(table):\n", "                if False:\n"),),
        GATE,
    ),
    TextMutant(
        "a table that Hive has otherwise commits",
        "kafka2hive.service.run.compare.gate",
        (
            (
                "                self.differs(name, error)\n                raise error\n",
                "                self.differs(name, error)\n",
            ),
        ),
        GATE,
    ),
    TextMutant(
        "what Hive refused is forgotten while it gives no answer",
        "kafka2hive.service.run.compare.gate",
        (("                if name in self._refused:\n                    raise self._refused[name]\n", ""),),
        GATE,
    ),
    TextMutant(
        "every table waits for the dead letters' table",
        "kafka2hive.service.run.compare.gate",
        (("        if table.name in self._with_letters:\n", "        if True:\n"),),
        GATE,
    ),
    TextMutant(
        "an epoch under way is not compared before its commit",
        "kafka2hive.service.run.owned_tables",
        (("            self._gate.check(table, change)\n", "            pass\n"),),
        GATE,
    ),
    TextMutant(
        "rows of messages in doubt stand behind the others",
        "kafka2hive.pipeline.decode.parts",
        (("rows = accepted[order], rows.take(pa.array(order))\n", "rows = accepted[order], rows\n"),),
        COMPILED,
    ),
    TextMutant(
        "a compiled decoder that panicked is asked again",
        "kafka2hive.pipeline.decode.compiled",
        (("                self._native = None\n", ""),),
        COMPILED,
    ),
    TextMutant(
        "a compiled decoder's instants are taken for wall clocks",
        "kafka2hive.pipeline.decode.compiled",
        (('tz="UTC")), self._zone)', 'tz="UTC")), "UTC")'),),
        COMPILED,
    ),
    TextMutant(
        "a compiled decoder of another version is used",
        "kafka2hive.config.machine.native_library",
        (("library is not None and library.INTERFACE == INTERFACE", "library is not None"),),
        COMPILED,
    ),
)
