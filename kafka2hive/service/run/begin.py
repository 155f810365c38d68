"""The beginning of a run: the JVM is launched first, all else that comes before the first session happens beside its start."""

import logging

from kafka2hive.config.keys import ServiceMap
from kafka2hive.service.run.result import RunOrder, RunResult, exit_code
from kafka2hive.service.run.signals import Interrupted, StopSignals
from kafka2hive.spark.jvm import launched

log = logging.getLogger(__name__)


def begin(service_map: ServiceMap, order: RunOrder) -> RunResult:
    """Run the service. A signal before Spark's session interrupts: the JVM is killed, and nothing was touched.

    Raises as Run.run; the JVM is killed then, too.
    """
    signals = StopSignals()
    signals.listen()
    try:
        with launched(service_map.spark, service_map.service) as jvm:
            signals.interrupt()  # not before: the JVM must be known to be killed
            # these imports take half a second
            from kafka2hive.service.run.service import Run
            from kafka2hive.service.wiring import wire

            return Run(wire(service_map), order, jvm, signals).run()
    except Interrupted:
        log.info("interrupted while Spark started: nothing was touched")
        return RunResult(exit_code(None, signals.number, ()), None, ())
