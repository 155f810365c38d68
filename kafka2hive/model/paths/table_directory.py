"""What stands in a table's directories besides its rows: each name begins with `_`, so Hive does not see it."""

from kafka2hive.model.paths.data_file import ledger_tag
from kafka2hive.model.paths.path import join

STAGING_DIRECTORY = "_tmp"
OWNER_MARKER = "_kafka2hive_owner"
RESET_ASIDE = "_kafka2hive_reset"


def owner_marker(table_location: str) -> str:
    return join(table_location, OWNER_MARKER)


def owner_marker_draft(table_location: str, uuid: str) -> str:
    return join(table_location, f"{OWNER_MARKER}.{uuid}.in-progress")


def staging_directory(table_location: str) -> str:
    return join(table_location, STAGING_DIRECTORY)


def certificate_path(hive_partition: str, ledger_id: str, generation: int, epoch: int) -> str:
    """Where a complete Hive partition's certificate is, in the partition's own directory."""
    name = f"_kafka2hive_complete-{ledger_tag(ledger_id)}-g{generation:06d}-e{epoch:06d}.json"
    return join(hive_partition, name)


def reset_aside(directory: str, uuid: str) -> str:
    """Where a reset puts what lay in `directory`: beside it, hidden from Hive, in the same encryption zone."""
    return join(directory, RESET_ASIDE, uuid)


def probe_directory(place: str, uuid: str) -> str:
    """Where `validate --online` tries what it may do; Hive does not see it, and it is taken away at once."""
    return join(place, f"_kafka2hive_probe-{uuid}")
