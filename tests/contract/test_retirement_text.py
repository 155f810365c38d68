"""The text file at a retired place stays readable: a frozen one in tests/contract/ledgers, never to be written anew.

A query that Hive sends to the place fails on it, and a rebuilt ledger takes the deleted files' offsets from it.
"""

from pathlib import Path

from kafka2hive.ledger.retire import RetiredFile, retired_files, retirement_text
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, TopicPartition
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.model.snapshot import RetiredPartition
from kafka2hive.storage.port import FileStatus

FROZEN = Path(__file__).parent / "ledgers" / "moved-footer-2.txt"
TABLE = "hdfs://namenode:8020/warehouse/air.db/flights"
HOME = HivePartition("air.flights", "dt=2026-01-30", f"{TABLE}/dt=2026-01-30")
EARLY = f"{TABLE}/_open/dt=2026-01-30"
MARK = f"{EARLY}/moved-6b1f0c52-e000042.gz"
NAME = DataFileName(
    slug="dt=2026-01-30",
    task=1,
    ledger="6b1f0c52",
    generation=7,
    epoch=40,
    uuid="0e6f" * 8,
    extension="parquet",
)
FOOTER = Footer(
    kind=FileKind.DATA,
    ledger_id="6b1f0c52a0a94ad3b8b1f0aa2c7d9e11",
    table="air.flights",
    generation=7,
    epoch=40,
    task=1,
    attempt="1c9d" * 8,
    planned_at_ms=1_795_249_927_000,
    ranges=(OffsetRange(TopicPartition("flüge ost", 3), 100, 200),),
    rows=98,
    partition=HOME,
    accounts=(OffsetAccounting(read=99, written=98, dead_lettered=1, bytes=30_000),),
)


def test_the_text_names_the_deleted_files_with_their_footers_as_it_always_did() -> None:
    name = NAME.in_state("final")
    wanted = [RetiredFile(f"{EARLY}/{name}", NAME, 1234, FOOTER)]
    assert retired_files(MARK, FROZEN.read_bytes()) == wanted


def test_what_is_written_now_is_the_frozen_text() -> None:
    retired = RetiredPartition(partition=HOME, early=EARLY, through=40, epoch=42)
    status = FileStatus(f"{EARLY}/{NAME.in_state('final')}", 1234, False)
    assert retirement_text(retired, [(status, FOOTER)]) == FROZEN.read_bytes()
