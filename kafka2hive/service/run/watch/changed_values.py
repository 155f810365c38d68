"""Values that were changed because the map's columns allow it: counted for metrics, `status` and the log."""

import logging
from collections import Counter

from kafka2hive.model.quantities import counted
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.run.watch.report import EpochReport

log = logging.getLogger(__name__)

WORDS = {
    "default": "missing or null, so the column's default",
    "unknown_enum": "numbers that their enum has no name for (unknown_enum)",
    "fraction": "times cut to microseconds (fraction: truncate)",
}


class ChangedValuesWatch:
    """Hears of every epoch; `status` shows the counts since the start, the log the first of each kind."""

    def __init__(self, metrics: ServiceMetrics) -> None:
        self._metrics = metrics
        self._changed: dict[str, Counter[str]] = {}

    def __call__(self, report: EpochReport) -> None:
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            if not part.outcome.changed:
                continue
            so_far = self._changed.setdefault(part.table, Counter())
            for kind, values in part.outcome.changed.items():
                self._metrics.observe_changed(part.table, kind, values)
                if kind not in so_far:
                    log.info("%s: %s in this epoch: %s", part.table, counted(values, "value"), WORDS[kind])
            so_far.update(part.outcome.changed)
            tables[part.table].warnings["changed"] = tuple(
                f"since the start {counted(values, 'value')}: {WORDS[kind]}"
                for kind, values in sorted(so_far.items())
            )
