"""Parts of a repair that a test does not expect to be used."""

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.repair.compacted import DamagedUnit
from kafka2hive.model.files import DataFile
from kafka2hive.service.recover.compacted import UnitSources


def no_rewrite(_owned: OwnedLedger, unit: DamagedUnit, _sources: UnitSources) -> tuple[DataFile, ...]:
    """Fail, because no compacted file is lost."""
    raise AssertionError(f"nobody lost a file of {unit.home.location}")
