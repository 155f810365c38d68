"""Mistakes around Hive: what is compared before a commit, and what is registered or given up."""

from tests.mutants.text_mutant import TextMutant

GATE_TESTS = "tests/unit/service/run/test_compare_gate.py"
ASKING_TESTS = "tests/unit/service/run/test_compare_asking.py"
FORGET_TESTS = "tests/unit/service/recover/test_forget_registration.py"
ALTERED_TESTS = "tests/unit/hive/test_alterations.py"
CATALOGUE_TESTS = "tests/unit/service/shared/test_catalogue.py"
LINES_TESTS = "tests/unit/ledger/test_hive_lines.py"

HIVE = (
    TextMutant(
        "old partitions do not learn of a new column",
        "kafka2hive.hive.alterations",
        (('" CASCADE" if spec.partition_columns else ""', '""'),),
        ALTERED_TESTS,
    ),
    TextMutant(
        "a column is changed to any other type",
        "kafka2hive.hive.alterations",
        (("        and can_widen(spec, column.type, other.type)\n", ""),),
        ALTERED_TESTS,
    ),
    TextMutant(
        "a table that is another one otherwise is altered",
        "kafka2hive.hive.alterations",
        (("    check_table(spec, replace(found, columns=kept + added))\n", ""),),
        ALTERED_TESTS,
    ),
    TextMutant(
        "the order of columns does not count for ORC files",
        "kafka2hive.hive.check",
        (
            (
                "    if stored_as(spec.format, spec.storage).by_place and not differences:\n"
                "        differences += _order(spec, found)\n",
                "",
            ),
        ),
        ALTERED_TESTS,
    ),
    TextMutant(
        "digits before the point of a decimal may be lost",
        "kafka2hive.config.wider_types",
        (("            and new.precision - new.scale >= old.precision - old.scale\n", ""),),
        ALTERED_TESTS,
    ),
    TextMutant(
        "a table is altered although the map does not say so",
        "kafka2hive.service.shared.hive_schemas",
        (("if expected.alter and (statements", "if (statements"),),
        CATALOGUE_TESTS,
    ),
    TextMutant(
        "a table that was never compared is dumped without Hive",
        "kafka2hive.service.run.compare.gate",
        (("                if spec not in _recorded(table):", "                if False:"),),
        GATE_TESTS,
    ),
    TextMutant(
        "what was compared counts for another description of the table, too",
        "kafka2hive.service.run.compare.gate",
        (
            (
                "                if spec not in _recorded(table):",
                "                if spec.table not in {c.table for c in _recorded(table)}:",
            ),
        ),
        GATE_TESTS,
    ),
    TextMutant(
        "a refusal of Hive is forgotten when Hive is silent",
        "kafka2hive.service.run.compare.gate",
        (("                if name in self._refused:", "                if False:"),),
        GATE_TESTS,
    ),
    TextMutant(
        "a table that Hive has otherwise is admitted",
        "kafka2hive.service.run.compare.gate",
        (
            (
                "                self.differs(name, error)\n                raise error",
                "                self.differs(name, error)",
            ),
        ),
        GATE_TESTS,
    ),
    TextMutant(
        "the table of the dead letters is not compared",
        "kafka2hive.service.run.compare.gate",
        (
            (
                "        if any(f.hive_partition.table == self._dead_letters for f in files):",
                "        if False:",
            ),
        ),
        GATE_TESTS,
    ),
    TextMutant(
        "a table with dead letters is read again and again",
        "kafka2hive.service.run.compare.gate",
        (("            self._with_letters.add(table.name)\n", ""),),
        GATE_TESTS,
    ),
    TextMutant(
        "every table waits for the table of the dead letters",
        "kafka2hive.service.run.compare.gate",
        (("        if table.name in self._with_letters:", "        if True:"),),
        GATE_TESTS,
    ),
    TextMutant(
        "what Hive refuses later was compared before and stays admitted",
        "kafka2hive.service.run.compare.gate",
        (("        self._agreed.pop(hive_table, None)\n", ""),),
        GATE_TESTS,
    ),
    TextMutant(
        "a ledger is made before the table was compared",
        "kafka2hive.service.run.owned_tables",
        (("            self._gate.admit(table)  # not even", "            pass  # not even"),),
        GATE_TESTS,
    ),
    TextMutant(
        "a table is made in Hive before its ledger",
        "kafka2hive.service.run.compare.gate",
        (("conform=isinstance(table.ownership, Owned)", "conform=True"),),
        GATE_TESTS,
    ),
    TextMutant(
        "an epoch under way is committed although Hive refuses the table",
        "kafka2hive.service.run.owned_tables",
        (("        self._refuse_what_hive_refuses(table, change)\n", ""),),
        GATE_TESTS,
    ),
    TextMutant(
        "the ledger does not say what was compared",
        "kafka2hive.service.run.owned_tables",
        (("compared=self._gate.agreed(table), completeness", "completeness"),),
        GATE_TESTS,
    ),
    TextMutant(
        "an idle table never writes down what was compared",
        "kafka2hive.service.run.table_steps",
        ((" or self._owned_tables.newly_compared(table)", ""),),
        GATE_TESTS,
    ),
    TextMutant(
        "a table that was not admitted serves",
        "kafka2hive.service.shared.table_state",
        (
            (
                "return isinstance(ownership, Owned) and ownership.admitted",
                "return isinstance(ownership, Owned)",
            ),
        ),
        GATE_TESTS,
    ),
    TextMutant(
        "a table with a refused partition serves",
        "kafka2hive.service.shared.table_state",
        ((" and not self.refused and", " and"),),
        GATE_TESTS,
    ),
    TextMutant(
        "a registered partition stays refused",
        "kafka2hive.service.run.owned_tables",
        (("                del table.refused[partition]", "                pass"),),
        GATE_TESTS,
    ),
    TextMutant(
        "a table waits on although its partitions are registered",
        "kafka2hive.service.run.owned_tables",
        (('now", table.name)\n                table.state = table.ownership', 'now", table.name)'),),
        GATE_TESTS,
    ),
    TextMutant(
        "a registration that was given up is owed again",
        "kafka2hive.ledger.snapshot.draft",
        ((" - {\n        f.partition for f in changed.forgotten\n    }", ""),),
        LINES_TESTS,
    ),
    TextMutant(
        "a registration that was given up is forgotten by the next snapshot",
        "kafka2hive.ledger.snapshot.draft",
        (("forgotten=state.forgotten + change.forgotten", "forgotten=change.forgotten"),),
        LINES_TESTS,
    ),
    TextMutant(
        "what was compared is forgotten by the next snapshot",
        "kafka2hive.ledger.snapshot.draft",
        (("for c in state.compared + change.compared}", "for c in change.compared}"),),
        LINES_TESTS,
    ),
    TextMutant(
        "a registration is given up that Hive has not refused",
        "kafka2hive.service.recover.forget",
        (("given_up = sorted(wanted & outcome.refusals.keys())", "given_up = sorted(wanted)"),),
        FORGET_TESTS,
    ),
    TextMutant(
        "a registration that was not given up is told as given up",
        "kafka2hive.service.recover.forget",
        (("    if not unclear or refused is not None:", "    if True:"),),
        FORGET_TESTS,
    ),
    TextMutant(
        "a mistyped registration is accepted",
        "kafka2hive.service.recover.forget",
        (("        if not any(map(registration.names, known)):", "        if False:"),),
        FORGET_TESTS,
    ),
    TextMutant(
        "verify does not look at pending registrations",
        "kafka2hive.service.audit.registrations",
        (("    found += [\n", "    [] and [\n"),),
        FORGET_TESTS,
    ),
    TextMutant(
        "verify does not wait for a live run to register",
        "kafka2hive.service.audit.registrations",
        (("        clock.sleep(PENDING_SECONDS)\n", "        pass\n"),),
        FORGET_TESTS,
    ),
    TextMutant(
        "verify finds what was given up",
        "kafka2hive.service.audit.registrations",
        ((" - given_up\n", "\n"),),
        FORGET_TESTS,
    ),
    TextMutant(
        "a refused login is told as an outage",
        "kafka2hive.service.run.compare.gate",
        (("        return NoAnswer(str(error), error)\n", "        return NoAnswer(str(error))\n"),),
        GATE_TESTS,
    ),
    TextMutant(
        "a run ends without Hive's last word",
        "kafka2hive.service.shared.registrar",
        (("            self._no_answer = attempt.no_answer\n", ""),),
        "tests/unit/service/run/test_before_start.py",
    ),
    TextMutant(
        "status is silent about registrations that Hive does not take",
        "kafka2hive.service.run.table_steps",
        (("        why = self._registrar.no_answer\n", "        why = None\n"),),
        GATE_TESTS,
    ),
    TextMutant(
        "a silent Hive is silent for ever",
        "kafka2hive.service.run.compare.asking",
        (("            self._silent = None\n            self._since", "            self._since"),),
        ASKING_TESTS,
    ),
    TextMutant(
        "a refusal that nobody waited for is used later",
        "kafka2hive.service.run.compare.asking",
        (("(asked.answer is None or isinstance(asked.answer, Agrees))", "True"),),
        ASKING_TESTS,
    ),
    TextMutant(
        "a Hive table that agreed once is never compared again",
        "kafka2hive.service.run.compare.gate",
        (("        if self._agreed.get(name) == spec:\n", "        if name in self._agreed:\n"),),
        GATE_TESTS,
    ),
    TextMutant(
        "a Hive table that agreed in an earlier run is not compared in this one",
        "kafka2hive.service.run.compare.gate",
        (
            (
                "        if self._agreed.get(name) == spec:\n",
                "        if self._agreed.get(name) == spec or spec in _recorded(table):\n",
            ),
        ),
        GATE_TESTS,
    ),
    TextMutant(
        "columns of text files are widened",
        "kafka2hive.hive.check",
        (("spec.format not in _NOT_WIDENED and ", ""),),
        ALTERED_TESTS,
    ),
    TextMutant(
        "columns of Avro files are widened",
        "kafka2hive.hive.check",
        (('LINE_FORMATS | {"avro"}', "LINE_FORMATS"),),
        ALTERED_TESTS,
    ),
    TextMutant(
        "who loses the race to make a database gives up",
        "kafka2hive.service.shared.hive_schemas",
        (("_TRIES = 3\n", "_TRIES = 1\n"),),
        CATALOGUE_TESTS,
    ),
    TextMutant(
        "one table's failed statement is the answer to all",
        "kafka2hive.service.run.compare.asking",
        (
            (
                "        if isinstance(answer, NoAnswer) and not answer.alone:\n",
                "        if isinstance(answer, NoAnswer):\n",
            ),
        ),
        ASKING_TESTS,
    ),
)
