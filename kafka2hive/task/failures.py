"""Errors of one table, and the one place where they become its failure."""

import socket
from types import TracebackType

import pyarrow as pa

from kafka2hive.model.errors import AccessRefused, ConfigError, SchemaDiffers, TableError
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.plan.contract import TableFailure
from kafka2hive.storage.port import Denied, NoRoom, OutcomeUnknown, StorageError, Unavailable

TABLE_ERRORS = (StorageError, TableError, ConfigError, AccountingMismatch, pa.ArrowException)
"""Errors that one table's data, schema or place can cause; everything else ends the task."""

_STORAGE_CODES: dict[type[StorageError], str] = {
    Denied: "storage.denied",
    NoRoom: "storage.no_room",
    Unavailable: "storage.unavailable",
    OutcomeUnknown: "storage.outcome_unknown",
}


class TableErrors:
    """A context that ends an error of its table and keeps it; every other error passes through.

    `retried`: errors of the table that pass through, too, because Spark's next attempt may succeed.
    """

    def __init__(self, retried: tuple[type[Exception], ...] = ()) -> None:
        self.error: Exception | None = None
        self._retried = retried

    @property
    def failure(self) -> TableFailure | None:
        return None if self.error is None else _as_failure(self.error)

    def __enter__(self) -> "TableErrors":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, TABLE_ERRORS) or isinstance(error, self._retried):
            return False
        self.error = error
        return True


def on_this_host(error: AccessRefused | ConfigError) -> TableFailure:
    """What keeps a worker out of Kafka may be specific to its host: files, clock, addresses."""
    return TableFailure(error.code, f"on {socket.gethostname()}: {error.message}", error.remedy)


def needs_spark(table: str) -> TableError:
    """The rows of a table with SQL are what its SELECT makes, never those of the records."""
    return TableError(
        "sql.needs_spark",
        f"{table} has sql, which Spark runs: this command decodes records in its own process and cannot make its rows",
        "`kafka2hive run` dumps it; see docs/sql.md for what else holds for such a table",
    )


def _as_failure(error: Exception) -> TableFailure:
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
