"""Workers that decode in Python though the driver has the compiled library: told once a table, and in `status`."""

import logging

from kafka2hive.config.machine.native_library import SLOWER, DecoderInUse
from kafka2hive.model.quantities import counted
from kafka2hive.service.run.watch.report import EpochReport

log = logging.getLogger(__name__)

WARNED_BY = "decoder"


class DecoderWatch:
    """Hears of every epoch. Where the driver has none either, the run's first line has said so."""

    def __init__(self, driver: DecoderInUse) -> None:
        self._driver = driver

    def __call__(self, report: EpochReport) -> None:
        if not self._driver.is_compiled:
            return
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            warnings, slow = tables[part.table].warnings, part.outcome.fallback_tasks
            if slow and not warnings.get(WARNED_BY):
                text = (
                    "workers lack the compiled library that the driver has (kafka2hive-native) and decode in Python:"
                    f" {SLOWER}"
                )
                log.warning("%s: in %s %s", part.table, counted(slow, "task"), text)
                warnings[WARNED_BY] = (text,)
            elif not slow:
                warnings[WARNED_BY] = ()
