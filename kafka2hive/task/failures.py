"""The errors that belong to one table, and their conversion to the table's failure."""

import socket
from types import TracebackType

import pyarrow as pa

from kafka2hive.model.errors import AccessRefused, ConfigError, SchemaDiffers, TableError
from kafka2hive.model.offsets import AccountingMismatch
from kafka2hive.plan.contract import TableFailure
from kafka2hive.storage.port import (
    Denied,
    ErasureCoded,
    NoRoom,
    OutcomeUnknown,
    StorageError,
    Unavailable,
)

TABLE_ERRORS = (StorageError, TableError, ConfigError, AccountingMismatch, pa.ArrowException)
"""Errors that the data, the schema or the storage of a single table can cause; any other error ends the task."""

_STORAGE_CODES: dict[type[StorageError], str] = {
    Denied: "storage.denied",
    NoRoom: "storage.no_room",
    ErasureCoded: "storage.erasure_coded",
    Unavailable: "storage.unavailable",
    OutcomeUnknown: "storage.outcome_unknown",
}


class TableErrors:
    """A context that catches a table's error and keeps it as `error`; every other error passes through.

    Errors of the types in `retried` also pass through, because Spark's next attempt may succeed.
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
    """Return the failure with this host's name, because the cause may be the host's files, clock or addresses."""
    return TableFailure(error.code, f"on {socket.gethostname()}: {error.message}", error.remedy)


def needs_spark(table: str) -> TableError:
    """Return the error for a table with a SELECT, because only Spark can make its rows."""
    return TableError(
        "sql.needs_spark",
        f"{table} has `sql`, which only Spark runs: this command decodes records without Spark and cannot make the rows",
        "`kafka2hive run -c MAP` dumps the table; docs/sql.md lists the limits of such tables",
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
