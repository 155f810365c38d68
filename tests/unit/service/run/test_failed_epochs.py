"""An epoch that is not committed leaves no staged files, which would use up the table's quota with each further try."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.ledger import is_draft_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.plan.contract import PlannedEpoch, TableManifest
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem, OutcomeUnknown, StorageWriter, children, write_file
from tests.harness.cli_ledger import wired
from tests.harness.epoch_loop import (
    AtOnce,
    Clock,
    Kafka,
    accounts_of,
    make_loop_and_tables,
    next_epoch,
    only_tombstones,
)
from tests.harness.values import data_file, file_name


class CommitsFail:
    """A file system that answers no rename of a draft; whether it was done is unknown."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self.fails = False

    def rename(self, source: str, target: str) -> None:
        if self.fails and is_draft_name(base_name(source)):
            raise OutcomeUnknown(source, "no answer")
        self._files.rename(source, target)

    def create(self, path: str) -> StorageWriter:
        return self._files.create(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def made(folder: Path) -> tuple[Wiring, EpochLoop, Table, CommitsFail]:
    rule = "{table: air.early, topics: [early], format: raw, start: earliest, dead_letter_share: 0}"
    real = wired(folder, f"tables: [{rule}]", service="failed")
    files = CommitsFail(real.ports.files)
    wiring = replace(real, ports=replace(real.ports, files=files, clock=Clock()))
    loop, tables = make_loop_and_tables(wiring, Kafka(), once=False, schemas=AtOnce())
    return wiring, loop, tables.tables["air.early"], files


def stage(wiring: Wiring, table: Table, state: str = "pending") -> str:
    """Write a file as a task of the table's next epoch does, and return its path."""
    owned = table.owned.ledger
    name = file_name(
        owned.state.ledger_id, owned.generation.number, owned.next_epoch, uuid=wiring.ports.new_uuid()
    )
    path = join(staging_directory(table.location), name.in_state(state))
    wiring.ports.files.mkdirs(staging_directory(table.location))
    write_file(wiring.ports.files, path, b"rows")
    return path


def staged_now(wiring: Wiring, table: Table) -> set[str]:
    return {child.path for child in children(wiring.ports.files, staging_directory(table.location))}


def dead_letters(epoch: PlannedEpoch, path: str) -> list[TableManifest]:
    """The manifests of tasks that could decode no record; one file has the letters."""
    (manifest,) = accounts_of(epoch, lambda r: OffsetAccounting(read=len(r), dead_lettered=len(r)))
    return [replace(manifest, files=(data_file(kind=FileKind.DEAD_LETTER, staged=path, rows=7),))]


def try_again(wiring: Wiring, table: Table) -> None:
    """Wait until the table may be tried again."""
    assert table.aside is not None
    wiring.ports.clock.sleep(table.aside.until - wiring.ports.clock.monotonic())


def test_however_often_an_epoch_is_refused_its_files_are_deleted(tmp_path: Path) -> None:
    wiring, loop, table, _ = made(tmp_path)
    for _ in range(3):
        epoch = next_epoch(loop)
        reported = stage(wiring, table)
        stage(wiring, table)  # of an attempt that ran twice
        stage(wiring, table, "in-progress")  # of an attempt that was killed
        loop.on_epoch(epoch.number, dead_letters(epoch, reported))
        assert table.aside is not None and table.aside.error.code == "dead_letters.too_many"
        assert staged_now(wiring, table) == set()
        try_again(wiring, table)


def test_an_epoch_whose_job_fails_leaves_no_files(tmp_path: Path) -> None:
    wiring, loop, table, _ = made(tmp_path)
    epoch = next_epoch(loop)
    stage(wiring, table)
    loop.on_failed(epoch.number, "SIGKILL")
    assert staged_now(wiring, table) == set()


def test_while_units_of_compaction_are_under_way_only_reported_files_are_deleted(tmp_path: Path) -> None:
    wiring, loop, table, _ = made(tmp_path)
    epoch = next_epoch(loop)
    reported, of_a_unit = stage(wiring, table), stage(wiring, table)
    table.units_since = table.owned.ledger.next_epoch
    loop.on_epoch(epoch.number, dead_letters(epoch, reported))
    assert staged_now(wiring, table) == {of_a_unit}


def test_the_files_of_an_epoch_that_may_be_committed_stay_until_a_start_has_decided(tmp_path: Path) -> None:
    wiring, loop, table, files = made(tmp_path)
    epoch = next_epoch(loop)
    path = stage(wiring, table)
    files.fails = True
    loop.on_epoch(epoch.number, only_tombstones(epoch))
    assert table.aside is not None and table.aside.error.code == "ledger.no_answer"
    assert staged_now(wiring, table) == {path}
    files.fails = False
    try_again(wiring, table)
    assert loop.plan() is not None
    assert staged_now(wiring, table) == set()
