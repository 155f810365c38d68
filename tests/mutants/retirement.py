"""Mistakes in the looks at Hive's locations, and in what they decide before early files are deleted (K7, K8)."""

from tests.mutants.text_mutant import mistakes

COMMAND = "kafka2hive.service.compaction.command"
LOOKS = "kafka2hive.service.chores.command_owner"
RETIRE = "kafka2hive.ledger.retire"
CHORE = "kafka2hive.service.compaction.retirement"
KEPT_PLACES = "kafka2hive.service.hive.places"
EXPIRY = "kafka2hive.ledger.snapshot.expiry"
COMMAND_TEST = "tests/unit/service/compaction/test_compact_command.py"
RETIRE_TEST = "tests/unit/ledger/test_retire.py"
BOTH_TEST = "tests/unit/service/run/test_retention_beside_compaction.py"

RETIREMENT = (
    *mistakes(
        LOOKS,
        COMMAND_TEST,
        (
            "compact corrects a location before the ledger knows that it was put back",
            (", is_counted=self._counted.__contains__)", ")"),
        ),
        (
            "compact does not correct what it has recorded as put back",
            ("sorted(self._put_back - self._counted) or ", ""),
        ),
        (
            "compact does not record that a location was put back",
            (
                "LocationLook(check.right, check.put_back, asked_at)",
                "LocationLook(check.right, frozenset(), asked_at)",
            ),
        ),
        (
            "a look of compact counts from its end",
            (
                "LocationLook(check.right, check.put_back, asked_at)",
                "LocationLook(check.right, check.put_back, self._clock.epoch_ms() / 1000)",
            ),
        ),
        (
            "compact says nothing of a location that Hive does not correct",
            ("        self.refused |= check.refused\n", ""),
        ),
        ("compact does not notice an outage of Hive", ("        self.outage = check.outage\n", "")),
    ),
    *mistakes(
        COMMAND,
        COMMAND_TEST,
        (
            "compact ends well although Hive did not answer",
            ("error=None if outage is None else", "error=None if True else"),
        ),
        (
            "compact leaves the early files of what it has retired",
            ("        chore.delete_now()\n", ""),
        ),
        (
            "compact says nothing of a home that was changed",
            (", problems=self.result.problems + kept.problems)", ")"),
        ),
    ),
    *mistakes(
        RETIRE,
        COMMAND_TEST,
        (
            "a look counts for ever before early files are deleted",
            ("now - FRESH_SECONDS <= at <= now", "at <= now"),
        ),
        (
            "the time until early files are deleted begins before the look",
            ("right_at=utc_text(now)", "right_at=utc_text(now - FRESH_SECONDS)"),
        ),
        (
            "early files are deleted although their home was changed",
            ("            problems.append(error)\n", "            retired.append(each.partition)\n"),
        ),
    ),
    *mistakes(
        CHORE,
        "tests/unit/service/run/test_looks_of_a_run.py",
        (
            "a later look takes back that a location was put back",
            ("known.put_back | put_back)", "put_back)"),
        ),
        (
            "a run's look counts from the time at which it is applied",
            (
                "right = {p: event.at for p",
                "right = {p: self._wiring.ports.clock.epoch_ms() / 1000 for p",
            ),
        ),
        (
            "a look is used again in the next round",
            ("looks = self._looks.pop(table.name, Looks())", "looks = self._looks.get(table.name, Looks())"),
        ),
    ),
    *mistakes(
        EXPIRY,
        BOTH_TEST,
        (
            "an early partition is dropped when it expires",
            (
                '"it is not compacted yet") for each in state.early)',
                '"it is not compacted yet") for each in ())',
            ),
        ),
        (
            "a partition is dropped while its early place may still be read",
            ('are not deleted yet") for each in state.moved)', 'are not deleted yet") for each in ())'),
        ),
        (
            "a partition is dropped while its early files are deleted",
            ('are not deleted yet") for each in state.retired)', 'are not deleted yet") for each in ())'),
        ),
    ),
    *mistakes(
        KEPT_PLACES,
        BOTH_TEST,
        (
            "a table whose map has lost compact never expires",
            ("(CompactOptions() if rule.retain is not None else None)", "None"),
        ),
    ),
)
