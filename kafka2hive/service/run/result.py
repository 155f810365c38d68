"""How a run is ordered, and what it ended with."""

import signal
from collections.abc import Collection
from dataclasses import dataclass

from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.hive.metastore import MetastoreUnavailable


@dataclass(frozen=True, slots=True)
class RunOrder:
    """How to run: `once` dumps what is there and ends, `take_over` fences those who own a table when it begins."""

    once: bool = False
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """Why the run ended; `set_aside` names the tables that could not go on, with their errors.

    `unregistered`: with `once`, what is committed and Hive was not told of.
    """

    exit_code: ExitCode
    error: Exception | None
    set_aside: tuple[tuple[str, Kafka2HiveError], ...]
    unregistered: ServiceUnavailable | None = None


def exit_code(
    error: Exception | None, interrupted_by: int | None, set_aside: Collection[Kafka2HiveError]
) -> ExitCode:
    """`error` ended the run, else the signal `interrupted_by`, else it ended by itself; `set_aside` by then."""
    if error is not None:
        return error.exit_code if isinstance(error, Kafka2HiveError) else ExitCode.BUG
    if interrupted_by is not None:
        return ExitCode.INTERRUPTED if interrupted_by == signal.SIGINT else ExitCode.TERMINATED
    if any(isinstance(one, ManualActionRequired) for one in set_aside):
        return ExitCode.STOP
    return ExitCode.SET_ASIDE if set_aside else ExitCode.DONE


def not_registered(untold: Collection[HivePartition], why: MetastoreUnavailable) -> ServiceUnavailable:
    """What a `--once` run ends with whose rows are committed, and are in partitions that Hive was not told of."""
    tables = ", ".join(sorted({partition.table for partition in untold}))
    return why.ending(
        f"{len(untold)} of the partitions that hold rows are not registered in Hive ({tables}), all rows are"
        f" committed: {why}",
        "; the next run, or `kafka2hive recover`, registers them",
    )
