"""The request for a run, and its result."""

import signal
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kafka2hive.model.errors import (
    ExitCode,
    Kafka2HiveError,
    ManualActionRequired,
    OwnedByLiveRun,
    ServiceUnavailable,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.service.tables.condition import RunEnd, Trouble

if TYPE_CHECKING:  # otherwise a run would wait for these imports before it launches its JVM
    from kafka2hive.observe.metrics import ServiceMetrics
    from kafka2hive.service.inspect.status import StatusResult
    from kafka2hive.service.tables.report import EpochReport
    from kafka2hive.service.tables.run_epoch import RunEpoch
    from kafka2hive.service.tables.table_state import Table
    from kafka2hive.service.wiring import Wiring


class RunListener(Protocol):
    """A tool that a run tells about its published epochs and its end. A bug in it stops nothing."""

    def __call__(self, report: "EpochReport") -> None: ...

    def end(self, ended_by: Exception | None) -> None:
        """Note the end of the run, and the error that ended it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """What stands around a run, which knows only these functions.

    - `status_text` returns the JSON document of `status` for a service and its state.
    - `page` makes what answers with the page, from the run's wiring, its newest epochs, and its news (see LivePage).
    - `listeners` make what hears of each epoch, from the run's wiring, its metrics and `once`.
    """

    status_text: "Callable[[str, StatusResult], str]"
    page: "Callable[[Wiring, Iterable[RunEpoch], Callable[[], object]], Callable[[], bytes]]"
    listeners: "Sequence[Callable[[Wiring, ServiceMetrics, bool], RunListener]]" = ()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """How to run: `once` dumps the records that Kafka holds, then ends; `take_over` fences the tables' live owners first."""

    tools: RunTools
    once: bool = False
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """Why the run ended. `set_aside` has the names and errors of the tables that were set aside.

    `unregistered` is the error of a `once` run whose committed partitions are not all registered in Hive.
    """

    exit_code: ExitCode
    error: Exception | None
    set_aside: tuple[tuple[str, Kafka2HiveError], ...]
    unregistered: ServiceUnavailable | None = None


def exit_code(
    error: Exception | None,
    interrupted_by: int | None,
    set_aside: Collection[Kafka2HiveError],
    unregistered: ServiceUnavailable | None = None,
) -> ExitCode:
    """Return the exit code of a run. The first argument that is set decides, in the order of the parameters.

    `error` is what ended the run, `interrupted_by` the number of a signal; `unregistered` is as in RunResult.
    """
    if error is not None:
        return error.exit_code if isinstance(error, Kafka2HiveError) else ExitCode.BUG
    if interrupted_by is not None:
        return ExitCode.INTERRUPTED if interrupted_by == signal.SIGINT else ExitCode.TERMINATED
    if any(isinstance(table_error, ManualActionRequired) for table_error in set_aside):
        return ExitCode.STOP
    if set_aside:
        is_kafka_away = all(
            isinstance(e, ServiceUnavailable) and e.code == "kafka.unavailable" for e in set_aside
        )
        return ExitCode.UNAVAILABLE if is_kafka_away else ExitCode.SET_ASIDE
    return ExitCode.DONE if unregistered is None else unregistered.exit_code


def no_table_can_go_on(tables: Collection["Table"]) -> bool:
    """Return whether every table waits for manual intervention, so that a run has nothing left to do."""
    return bool(tables) and all(table.needs_manual_action for table in tables)


def not_registered(unregistered: Collection[HivePartition], why: MetastoreUnavailable) -> ServiceUnavailable:
    """Return the error of a `--once` run that could not register all partitions in Hive whose rows are committed."""
    tables = ", ".join(sorted({partition.table for partition in unregistered}))
    return why.to_error(
        f"committed partitions of {tables} are not registered in Hive yet ({len(unregistered)}): {why}",
        "; the next run, or `kafka2hive recover -c MAP`, registers them",
    )


def end_of(ended: RunResult | BaseException) -> RunEnd | None:
    """Return a run's end for `status`. None if a live run owns the tables, or an interrupt ended this run."""
    match ended:
        case RunResult():
            error = ended.error or ended.unregistered
            return RunEnd(int(ended.exit_code), None if error is None else Trouble.of(error))
        case OwnedByLiveRun():
            return None
        case Exception():
            return RunEnd(int(exit_code(ended, None, ())), Trouble.of(ended))
        case _:
            return None
