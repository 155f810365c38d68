"""The errors that belong to one table, and their conversion to the table's failure."""

import socket
from types import TracebackType

import pyarrow as pa

from kafka2hive.model.errors import AccessRefused, ConfigError, SchemaDiffers, TableError
from kafka2hive.model.offsets import AccountingMismatch
from kafka2hive.plan.contract import TableFailure
from kafka2hive.storage.port import Denied, NoRoom, OutcomeUnknown, StorageError, Unavailable

TABLE_ERRORS = (StorageError, TableError, ConfigError, AccountingMismatch, pa.ArrowException)
"""Errors that one table's data, schema or storage can cause; any other error ends the task."""

_STORAGE_CODES: dict[type[StorageError], str] = {
    Denied: "storage.denied",
    NoRoom: "storage.no_room",
    Unavailable: "storage.unavailable",
    OutcomeUnknown: "storage.outcome_unknown",
}


class TableErrors:
    """A context that catches and keeps an error of its table; every other error passes through.

    Errors of the types `retried` also pass through, because Spark's next attempt may succeed.
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
    """Return the failure with this host's name: files, clock or addresses of a host may keep it out of Kafka."""
    return TableFailure(error.code, f"on {socket.gethostname()}: {error.message}", error.remedy)


def needs_spark(table: str) -> TableError:
    """Return the error for a table whose rows only Spark can make, because they are the result of its SELECT."""
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
