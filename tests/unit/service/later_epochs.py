"""Further epochs for the small service of tests.harness.cli_ledger, each with one visible file on a day that the test names."""

from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import write_file
from tests.harness.cli_ledger import READ, TABLE
from tests.harness.owner import new_owner
from tests.harness.staged_epoch import CONTENT
from tests.harness.values import data_file, file_name

FLIGHTS = TopicPartition("flights", 0)


def take(wiring: Wiring) -> OwnedLedger:
    """Start the table without a check of its owner."""
    return start(wiring.ports, StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner))).owned


def stage(wiring: Wiring, owned: OwnedLedger, day: str) -> DataFile:
    """Stage a file for the ledger's next epoch with the next offsets of flights, partition 0."""
    location = owned.state.location
    position = owned.state.position(FLIGHTS)
    assert position is not None
    name = file_name(
        owned.state.ledger_id,
        owned.generation.number,
        owned.next_epoch,
        slug=f"dt={day}",
        uuid=wiring.ports.new_uuid(),
    )
    partition = HivePartition(TABLE, f"dt={day}", join(location, f"dt={day}"))
    staged = join(staging_directory(location), name.in_state("pending"))
    wiring.ports.files.mkdirs(staging_directory(location))
    write_file(wiring.ports.files, staged, CONTENT)
    ranges = (OffsetRange(FLIGHTS, position.end, position.end + READ),)
    final = join(partition.location, name.in_state("final"))
    return data_file(
        staged=staged,
        final=final,
        hive_partition=partition,
        length=len(CONTENT),
        rows=READ,
        checksum="crc32:00000000",
        ranges=ranges,
    )


def change_of(file: DataFile) -> DataEpoch:
    """Return the change of an epoch with this one file."""
    account = RangeAccounting(0, file.ranges[0], OffsetAccounting(read=READ, written=READ, bytes=300))
    return DataEpoch(files=(file,), accounts=(account,))


def epoch(wiring: Wiring, owned: OwnedLedger, day: str) -> OwnedLedger:
    """Publish one epoch, from staging to final."""
    return publish(wiring.ports, owned, change_of(stage(wiring, owned, day))).owned
