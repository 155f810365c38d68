"""One line per epoch, as text and as fields of the same log record."""

import logging

from kafka2hive.model.quantities import counted, duration, size
from kafka2hive.observe.numbers import EpochNumbers, Totals

log = logging.getLogger("kafka2hive.progress")


def tell(epoch: EpochNumbers) -> None:
    """Log the epoch: the line on a terminal, its numbers as fields in JSON."""
    log.info("%s", line(epoch), extra={"fields": fields(epoch)})


def line(epoch: EpochNumbers) -> str:
    """`epoch 41: 3 tables, 120,000 records, 26.1 MB in 1.9 s (13.7 MB/s), 6 files, lag 0, fresh 2.4 s`."""
    rate = epoch.bytes / epoch.seconds if epoch.seconds > 0 else 0.0
    parts = [
        f"epoch {epoch.number}: {counted(len(epoch.tables), 'table')}",
        counted(epoch.records, "record"),
        f"{size(epoch.bytes)} in {epoch.seconds:.1f} s ({size(rate)}/s)",
        counted(epoch.files, "file"),
        f"lag {epoch.lag_records:,}",
    ]
    if epoch.freshness_seconds is not None:
        parts.append(f"fresh {duration(epoch.freshness_seconds)}")
    dead = sum(table.dead_letters for table in epoch.tables)
    if dead:
        parts.append(counted(dead, "dead letter"))
    overdue = sum(table.overdue for table in epoch.tables)
    if overdue:
        parts.append(f"{counted(overdue, 'partition')} not in Hive yet")
    if epoch.set_aside:
        parts.append(f"{counted(epoch.set_aside, 'table')} SET ASIDE")
    unaccounted = sum(table.moves.unaccounted for table in epoch.tables)
    if unaccounted:
        parts.append(f"{counted(unaccounted, 'file')} UNACCOUNTED FOR")
    return ", ".join(parts)


def total_line(
    totals: Totals, *, seconds: float, lag_records: int | None, unregistered: int, hive: bool, set_aside: int
) -> str:
    """`dumped 120,000 records (26.1 MB) into 6 files in 2 epochs and 12.3 s, lag 0`, and what is left to do.

    `hive`: the map names one. `lag_records` None: it was never known for some table.
    """
    parts = [
        f"dumped {counted(totals.records, 'record')} ({size(totals.bytes)}) into {counted(totals.files, 'file')}"
        f" in {counted(totals.epochs, 'epoch')} and {duration(seconds)}",
        "lag not known" if lag_records is None else f"lag {lag_records:,}",
    ]
    if totals.dead_letters:
        parts.append(counted(totals.dead_letters, "dead letter"))
    if unregistered and not hive:
        parts.append(yours_to_register(unregistered))
    elif unregistered:
        parts.append(
            f"{counted(unregistered, 'partition')} NOT REGISTERED in Hive: the next start tries again"
        )
    if set_aside:
        parts.append(f"{counted(set_aside, 'table')} SET ASIDE")
    return ", ".join(parts)


def yours_to_register(partitions: int) -> str:
    """The note on partitions that kafka2hive will never register."""
    return f"the map names no Hive: {counted(partitions, 'partition')} for you to register"


def fields(epoch: EpochNumbers) -> dict[str, object]:
    """The numbers of `line` under stable names."""
    return {
        "event": "epoch",
        "epoch": epoch.number,
        "seconds": round(epoch.seconds, 3),
        "records": epoch.records,
        "bytes": epoch.bytes,
        "files": epoch.files,
        "tasks": epoch.tasks,
        "most_tasks": epoch.most_tasks,
        "lag_records": epoch.lag_records,
        "freshness_seconds": epoch.freshness_seconds,
        "set_aside": epoch.set_aside,
        "phases": {name: round(seconds, 3) for name, seconds in epoch.phases.items()},
        "tables": {
            table.table: {
                "epoch": table.epoch,
                "records": table.records,
                "bytes": table.bytes,
                "files": table.files,
                "dead_letters": table.dead_letters,
                "lag_records": table.lag_records,
            }
            for table in epoch.tables
        },
    }
