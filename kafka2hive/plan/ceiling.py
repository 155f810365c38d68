"""The ceiling of a backfill: how fast a backlog may shrink, so that it leaves room on brokers, storage and cores.

What arrives is never held back. A table may read as many records as have come since its last epoch, plus its ceiling times the
time since then. So its lag never grows because of the ceiling, and shrinks by at most the ceiling.
"""

from collections.abc import Sequence
from dataclasses import replace

from kafka2hive.plan.epoch import TableBacklog, fair_shares, record_bytes

LONGEST_SECONDS = 300.0
"""A longer time since the last epoch (the table was set aside, or is new) does not allow more."""


def with_ceilings(backlogs: Sequence[TableBacklog], service_ceiling: int | None) -> list[TableBacklog]:
    """Return the backlogs with the number of records that each may read now.

    `service_ceiling` is in bytes a second; tables with old records share it max-min fairly, by the bytes of their backlogs.
    """
    if service_ceiling is None:
        return [_limited(backlog, None) for backlog in backlogs]
    shares = fair_shares([_old_bytes(backlog) for backlog in backlogs], service_ceiling)
    return [_limited(backlog, share) for backlog, share in zip(backlogs, shares, strict=True)]


def _old_bytes(backlog: TableBacklog) -> int:
    return int((backlog.records - backlog.fresh_records) * record_bytes(backlog))


def _limited(backlog: TableBacklog, share: int | None) -> TableBacklog:
    rates = [rate for rate in (backlog.flush.backfill_bytes, share) if rate is not None]
    if not rates or backlog.records == backlog.fresh_records:
        return backlog
    seconds = min(backlog.seconds_since_epoch, max(backlog.flush.longest_seconds, LONGEST_SECONDS))
    allowed = backlog.fresh_records + int(min(rates) * seconds / record_bytes(backlog))
    return replace(backlog, most_records=allowed) if allowed < backlog.records else backlog
