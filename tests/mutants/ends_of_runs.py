"""Mistakes in what a run ends with, and in whose word `status` believes: each one was seen to be caught by the tests it names."""

from tests.mutants.text_mutant import TextMutant

RESULT = "kafka2hive.service.run.result"
EXIT_CODES = "tests/unit/service/run/test_exit_codes.py"
LIVE_RUNS = "tests/unit/service/test_live_runs.py"

MUTANTS = (
    TextMutant(
        "a run that needs a person ends like one that is tried again",
        RESULT,
        (("        return ExitCode.STOP\n", "        return ExitCode.SET_ASIDE\n"),),
        EXIT_CODES,
    ),
    TextMutant(
        "a signal hides the error that ended a run",
        RESULT,
        (("    if error is not None:\n", "    if error is not None and interrupted_by is None:\n"),),
        EXIT_CODES,
    ),
    TextMutant(
        "a bug ends a run as if a service were away",
        RESULT,
        (("ExitCode.BUG", "ExitCode.UNAVAILABLE"),),
        EXIT_CODES,
    ),
    TextMutant(
        "one table that needs a person ends the whole service",
        RESULT,
        (
            (
                "all(table.needs_manual_action for table in tables)",
                "any(table.needs_manual_action for table in tables)",
            ),
        ),
        EXIT_CODES,
    ),
    TextMutant(
        "any live run is believed about a table that another one has",
        "kafka2hive.service.conditions.table_state",
        (("[mine] if mine else sorted(self.live)", "sorted(self.live)"),),
        LIVE_RUNS,
    ),
    TextMutant(
        "the last run is one that another fenced",
        "kafka2hive.service.conditions.table_state",
        (("key=lambda run: (not run.was_fenced, run.at)", "key=lambda run: run.at"),),
        LIVE_RUNS,
    ),
    TextMutant(
        "a table with records behind a transaction is tried for ever",
        "kafka2hive.service.run.watch.liveness",
        ((" > table.held_records:", " > 0:"),),
        "tests/unit/service/run/test_conditions.py",
    ),
)
