"""Values of the ledger for tests that care for a few of their fields only."""

from typing import Any

from kafka2hive.ledger.look import NewestSnapshot, View
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.table_directory import DataFileName, ledger_tag
from kafka2hive.model.snapshot import Snapshot


def snapshot(**known: Any) -> Snapshot:
    """Epoch 1 of table d.t, or as far as something else is known."""
    plain = {"ledger_id": "l", "service": "s", "table": "d.t", "generation": 1, "owner": "me", "epoch": 1}
    return Snapshot(**{**plain, "written_at": "now", **known})


def data_file(**known: Any) -> DataFile:
    """One row of task 0 in an unpartitioned table d.t at w, or as far as something else is known."""
    where = {"staged": "staged", "final": "final", "hive_partition": HivePartition("d.t", "", "w")}
    what = {"kind": FileKind.DATA, "length": 1, "rows": 1, "checksum": "-", "task": 0, "ranges": ()}
    return DataFile(**{**where, **what, **known})


def file_name(ledger_id: str, generation: int, epoch: int, **known: Any) -> DataFileName:
    """The name of a file of task 0, or as far as something else is known."""
    plain = {"slug": "all", "task": 0, "uuid": "0" * 32, "extension": "parquet"}
    of = {"ledger": ledger_tag(ledger_id), "generation": generation, "epoch": epoch}
    return DataFileName(**{**plain, **of, **known})


def view_of(generation: str, **known: Any) -> View:
    """A ledger with a pending snapshot, as it is looked at."""
    parsed, state = Generation.parse(generation), snapshot(**known)
    assert parsed is not None
    return View(
        LedgerPaths("file:///l", state.table), parsed, NewestSnapshot(state.epoch, pending=True), state
    )
