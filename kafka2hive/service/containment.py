"""Where unexpected errors (bugs) stop: work that belongs to one table, or only reports, must not end a whole run.

This is the one place that catches `Exception`.
"""

import logging
import traceback
from collections.abc import Callable
from typing import TypeVar

from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Containment:
    """Runs work and returns its unexpected errors as values. Each kind of error is logged once, with its traceback.

    A Kafka2HiveError or StorageError is expected, and passes through. So does a MemoryError, because it belongs to the process.
    """

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def attempt(self, subject: str, work: Callable[[], Result]) -> list[Result] | Exception:
        """Return the result of `work` in a list, or its unexpected error. `subject` names the work for the log."""
        try:
            return [work()]
        except (Kafka2HiveError, StorageError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  the one place for bugs of one table (docs/architecture.md)
            self._tell(subject, error)
            return error

    def _tell(self, subject: str, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        origin = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}"
        if (subject, origin) not in self._told:
            self._told.add((subject, origin))
            log.error("%s: a bug: %s", subject, error, exc_info=error)


def bug_in(table: str, error: Exception) -> TableError:
    """Return the error of a table whose work has raised an unexpected error."""
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return TableError(
        "bug",
        f"{table}: an unexpected error in the work on this table, {what}",
        "please report this bug with the traceback, which the log has once; the run drops what it knows of the table and takes"
        " it over again by itself",
    )
