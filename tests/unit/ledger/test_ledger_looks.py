"""If a ledger step and its look both have no answer, the step is retried, not the start."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.epoch import roll_forward
from kafka2hive.ledger.start import take_over
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.files import FileMoves
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, OutcomeUnknown, Unavailable
from tests.harness.cli_ledger import TABLE, pending_service
from tests.harness.clock import SkippedTime
from tests.harness.owner import new_owner


class UnclearRenames(LocalFileSystem):
    """The first rename to a path with `end` has no answer, and neither have the `silent` requests after it."""

    def __init__(self, end: str, done: bool, silent: int) -> None:
        super().__init__()
        self._end, self._done, self._silent = end, done, silent
        self._lost = False

    def rename(self, source: str, target: str) -> None:
        if self._lost or not target.endswith(self._end):
            super().rename(source, target)
            return
        self._lost = True
        if self._done:
            super().rename(source, target)
        raise OutcomeUnknown(source)

    def stat(self, path: str) -> FileStatus:
        self._ask(path)
        return super().stat(path)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        self._ask(path)
        return super().list(path)

    def _ask(self, path: str) -> None:
        if self._lost and self._silent:
            self._silent -= 1
            raise Unavailable(path)


def rolled_forward(tmp_path: Path, files: LocalFileSystem) -> tuple[FileMoves, list[float]]:
    """Return the moves of the pending epoch's files, and the waits."""
    service = pending_service(tmp_path)
    clock = SkippedTime()
    ports = replace(service.wiring.ports, files=files, clock=clock)
    owned = take_over(ports, service.wiring.paths(TABLE), new_owner())
    assert owned.pending
    published = roll_forward(ports, owned)
    assert not published.owned.pending
    for file in published.owned.state.files:
        assert LocalFileSystem().stat(file.final).length == file.length
    return published.moves, clock.waits


@pytest.mark.parametrize("end", ["parquet.final", "2.final"])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("silent", [1, 3])
def test_a_promote_and_a_finalise_go_on_when_their_looks_have_no_answer_at_first(
    tmp_path: Path, end: str, done: bool, silent: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    moves, waits = rolled_forward(tmp_path, UnclearRenames(end, done, silent))
    assert moves.created == moves.renamed + moves.already_there > 0
    assert waits, "it waits before it asks again"
    if done:  # an earlier rename or a lost response: nothing is wrong with the files
        told = [r.getMessage() for r in caplog.records if "moved before" in r.getMessage()]
        assert bool(told) == bool(moves.already_there)
        assert not [r for r in caplog.records if r.levelname == "WARNING" and "epoch" in r.getMessage()]


def test_a_look_that_never_has_an_answer_starts_the_table_afresh(tmp_path: Path) -> None:
    with pytest.raises(AmbiguousOutcome):
        rolled_forward(tmp_path, UnclearRenames("parquet.final", False, 999))


def test_a_listing_of_staged_files_without_an_answer_is_asked_for_again(tmp_path: Path) -> None:
    class SilentStaging(UnclearRenames):
        def list(self, path: str) -> tuple[FileStatus, ...]:
            if path.endswith("/_tmp") and self._silent:
                self._silent -= 1
                raise Unavailable(path)
            return super().list(path)

    moves, waits = rolled_forward(tmp_path, SilentStaging("nothing", False, 2))
    assert moves.renamed == moves.created > 0
    assert len(waits) == 2
