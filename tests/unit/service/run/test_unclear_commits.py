"""A run whose commit has no clear answer: it takes the table over afresh, and no record is read twice or left out."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import look
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.model.paths.path import base_name
from kafka2hive.service.tables.table_state import Unowned
from kafka2hive.service.verify.history import audit_history
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem, OutcomeUnknown, StorageError
from tests.harness.epoch_loop import EARLY, Kafka, make_loop_and_tables, make_wiring, next_epoch, planned, run

TABLE = "air.early"


class LateCommit:
    """The commits of epoch 2 are lost; the first one is carried out when `arrives` says so, and nobody hears of it."""

    def __init__(self, files: FileSystem, arrives: Callable[[str, str], bool]) -> None:
        self._files = files
        self._arrives = arrives
        self._sent: tuple[str, str] | None = None
        self.arrived = False

    def rename(self, source: str, target: str) -> None:
        self._arrive("rename", source)
        if TABLE in target and target.endswith("e000002.pending") and not self.arrived:
            self._sent = self._sent or (source, target)
            raise OutcomeUnknown(source)
        self._files.rename(source, target)

    def create(self, path: str) -> Any:
        self._arrive("create", path)
        return self._files.create(path)

    def _arrive(self, operation: str, path: str) -> None:
        if self._sent is not None and not self.arrived and self._arrives(operation, path):
            self.arrived = True
            with suppress(StorageError):  # nobody hears the answer
                self._files.rename(*self._sent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def before_the_next_take_over(operation: str, path: str) -> bool:
    return operation == "rename" and Generation.parse(base_name(path)) is not None


def with_the_next_draft(operation: str, path: str) -> bool:
    """Only somebody who goes on from memory writes a draft before there was another take-over."""
    return operation == "create" and "/e000002." in path


@pytest.mark.parametrize("arrives", [before_the_next_take_over, with_the_next_draft])
def test_after_an_unclear_commit_the_table_is_taken_over_afresh_and_dumped_exactly(
    tmp_path: Path, arrives: Callable[[str, str], bool]
) -> None:
    kafka = Kafka()
    real = make_wiring(tmp_path)
    files = LateCommit(real.ports.files, arrives)
    wiring = replace(real, ports=replace(real.ports, files=files))
    loop, owned_tables = make_loop_and_tables(wiring, kafka)
    first = next_epoch(loop)
    assert planned(first) == [OffsetRange(EARLY, 0, 7)]

    run(loop, first)

    forgotten = owned_tables.tables[TABLE].ownership
    assert isinstance(forgotten, Unowned), "it is remembered although nobody knows what was committed"
    while (epoch := loop.plan()) is not None:
        run(loop, epoch)
    assert_dumped_once(real)


def assert_dumped_once(wiring: Wiring) -> None:
    files, paths = wiring.ports.files, wiring.paths(TABLE)
    history = list(final_snapshots(files, paths, look(files, paths).directory))[::-1]
    assert audit_history(history) == ()
    assert [a.range for s in history for a in s.accounts] == [OffsetRange(EARLY, 0, 7)]
