"""Errors of one table, as its manifest tells them."""

import socket

import pyarrow as pa

from kafka2hive.model.errors import AccessRefused, ConfigError, SchemaDiffers, TableError
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.pipeline.values import TableFailure
from kafka2hive.storage.port import Denied, NoRoom, OutcomeUnknown, StorageError, Unavailable

TABLE_ERRORS = (StorageError, TableError, ConfigError, AccountingMismatch, pa.ArrowException)
"""Errors that one table's data, schema or place can cause; everything else ends the task."""

_STORAGE_CODES: dict[type[StorageError], str] = {
    Denied: "storage.denied",
    NoRoom: "storage.no_room",
    Unavailable: "storage.unavailable",
    OutcomeUnknown: "storage.outcome_unknown",
}


def on_this_host(error: AccessRefused | ConfigError) -> TableFailure:
    """What keeps a worker out of Kafka may be its host's own: files, clock, addresses."""
    return TableFailure(error.code, f"on {socket.gethostname()}: {error.message}", error.remedy)


def needs_spark(table: str) -> TableError:
    """Its rows are what its SELECT makes: never those of the records."""
    return TableError(
        "sql.needs_spark",
        f"{table} has sql, which Spark runs: this command decodes records in its own process and cannot make its rows",
        "`kafka2hive run` dumps it; see docs/sql.md for what else holds for such a table",
    )


def as_failure(error: Exception) -> TableFailure:
    match error:
        case StorageError():
            code = next(
                (c for kind, c in _STORAGE_CODES.items() if isinstance(error, kind)), "storage.surprise"
            )
            return TableFailure(code, str(error), error.remedy)
        case SchemaDiffers():
            return TableFailure(error.code, error.message, error.remedy, error.writer)
        case TableError() | ConfigError():
            return TableFailure(error.code, error.message, error.remedy)
        case AccountingMismatch():
            return TableFailure("task.account_mismatch", str(error))
        case _:
            return TableFailure("task.rows", f"{type(error).__name__}: {error}")
